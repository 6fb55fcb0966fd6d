"""What a run has found, for people: counts, invariants, and for what is wrong the question's ref and its story's
types. No question, answer or address is printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.chaos.evidence import Evidence, Story
from tests.chaos.invariants import Finding
from tests.chaos.partition_invariants import Finding as Partitioned
from tests.chaos.run import Mode

_MOST_SHOWN = 5


def show(mode: Mode, seed: int, evidence: Evidence, findings: Sequence[Finding]) -> bool:
    """Print it all; whether every invariant holds."""
    print(f"\n{mode.name}, seed {seed}")
    for name, count in _happened(evidence).items():
        print(f"  {count:>6}  {name}")
    print()
    for finding in findings:
        said = "WRONG" if finding.wrong else "ok" if finding.checked else "-"  # a mode may have nothing to look at
        print(f"  {said:<5} {finding.checked:>6}  {finding.invariant}")
    for finding in findings:
        _show_wrong(finding, evidence)
    return not any(finding.wrong for finding in findings)


def show_partition(title: str, findings: Sequence[Partitioned]) -> bool:
    """Print what was found of a replica that was cut off; whether every invariant holds."""
    print(f"\n{title}", flush=True)
    for finding in findings:
        worst = "" if finding.worst is None else f"at worst {finding.worst:5.1f} s"
        print(f"  {'ok   ' if not finding.wrong else 'WRONG'} {finding.checked:>6}  {worst:<17}  {finding.invariant}")
        for wrong, times in Counter(finding.wrong).most_common(_MOST_SHOWN):
            print(f"                {times} × {wrong}")
    return not any(finding.wrong for finding in findings)


def _happened(evidence: Evidence) -> dict[str, int]:
    records = evidence.records
    ends = Counter(f"suspensions {story.suspension.status}" for story in evidence.stories.values())
    accepted = Counter(f"accepted by {given.act.way}" for given in records.given if given.firm or given.kept)
    rows = Counter(f"{row.kind} rows {row.status}" for row in evidence.rows.values())
    statuses = {f"replies {status}": count for status, count in sorted(records.statuses.items())}
    return {
        "201s": len(records.asked),
        **dict(sorted(ends.items())),
        **dict(sorted(accepted.items())),
        **statuses,
        **dict(sorted(rows.items())),
        "tries beyond the first": sum(max(0, row.tries - 1) for row in evidence.rows.values()),
        "came twice under one id": sum(n > 1 for n in Counter(one.delivery for one in evidence.arrivals).values()),
        "in flight at a kill": len(records.in_flight),
        "spoiled after they had happened": len(evidence.spoiled),
        "kills": len(records.kills),
        **dict(sorted(records.happened.items())),
    }


def _show_wrong(finding: Finding, evidence: Evidence) -> None:
    for ref, wrong in finding.wrong[:_MOST_SHOWN]:
        print(f"\n  {finding.invariant}:\n    {ref}: {wrong}")
        if (story := evidence.story(ref)) is not None:
            _show_story(story)
    if (more := len(finding.wrong) - _MOST_SHOWN) > 0:
        print(f"\n  … and {more} more of the same invariant")


def _show_story(story: Story) -> None:
    lines = [(event.created_at, event.type, _number(event.payload.get("attempt"))) for event in story.events]
    for row in story.rows:
        doubt = ", in doubt" if row.ambiguous else ""
        what = f"{row.kind} by {row.channel}: {row.status} after {row.tries} tries{doubt} ({row.reason})"
        lines.append((row.created_at, what, _number(row.attempt)))
        if row.settled_at is not None:
            lines.append((row.settled_at, f"settled: {row.kind} by {row.channel}", _number(row.attempt)))
    for at, what, attempt in sorted(lines):
        print(f"      {at:%H:%M:%S.%f}  {what} {attempt}".rstrip())


def _number(attempt: object) -> str:
    return "" if attempt is None else f"[{attempt}]"
