"""What must be true of a service one of whose replicas is cut off from the database without being told. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

ANSWERED_WITHIN = 10.0
ON_TIME_WITHIN = 15.0
SAID_WITHIN = 20.0
ENDS_WITHIN = 12.0
WELL_WITHIN = 10.0
"""Seconds; issue 12, "Done means"."""

_DEAD = frozenset({"half open", "stuck"})


@dataclass(frozen=True, slots=True)
class Create:
    """One question, asked ``at`` whom; ``status`` is ``None`` where no answer came. ``began`` is monotonic."""

    at: str
    began: float
    took: float
    status: int | None
    suspension_id: str | None


@dataclass(frozen=True, slots=True)
class Glance:
    """The statuses of ``/readyz`` and ``/healthz`` of the replica that is cut off."""

    at: float
    ready: int | None
    alive: int | None


@dataclass(slots=True)
class Silence:
    """A time in which the line was not well. ``well``: so many seconds after it the replica was, ``None`` for never."""

    manner: str
    pool: str
    since: datetime
    began: float
    ended: float = 0.0
    well: float | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """``late``: seconds from when it was due until it was made; ``delivered``: until its mail was."""

    suspension_id: str
    number: int
    late: float
    delivered: float | None


@dataclass(slots=True)
class Evidence:
    """``kept`` are the ids of all questions in the database; ``end`` is how long SIGTERM took, and the exit status."""

    creates: list[Create] = field(default_factory=list)
    glances: list[Glance] = field(default_factory=list)
    silences: list[Silence] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    kept: set[str] = field(default_factory=set)
    end: tuple[float, int | None] | None = None


@dataclass(slots=True)
class Finding:
    """``worst`` is in seconds, where the invariant is about time."""

    invariant: str
    checked: int = 0
    worst: float | None = None
    wrong: list[str] = field(default_factory=list)


Look = tuple[float | None, str | None]
"""What was measured, and what is wrong with it."""


def judge(evidence: Evidence) -> list[Finding]:
    """A finding for each invariant."""
    findings = []
    for name, check in INVARIANTS.items():
        finding = Finding(name)
        for measured, wrong in check(evidence):
            finding.checked += 1
            if measured is not None:
                finding.worst = measured if finding.worst is None else max(finding.worst, measured)
            if wrong is not None:
                finding.wrong.append(wrong)
        findings.append(finding)
    return findings


def _cut_off_answers(evidence: Evidence) -> Iterator[Look]:
    for one in evidence.creates:
        if one.at != "whole":
            if one.took > ANSWERED_WITHIN or one.status not in {201, 503}:
                yield one.took, f"{one.status} after {one.took:.1f} s at the one that is {one.at}"
            else:
                yield one.took, None


def _whole_takes_all(evidence: Evidence) -> Iterator[Look]:
    for one in evidence.creates:
        if one.at == "whole":
            good = one.status == 201 and one.took <= ANSWERED_WITHIN
            yield one.took, None if good else f"{one.status} after {one.took:.1f} s"


def _unready_is_said(evidence: Evidence) -> Iterator[Look]:
    """Where the silence lasts long enough for it, and until it is over."""
    for silence in evidence.silences:
        if silence.manner not in _DEAD:
            continue
        said = [one.at for one in evidence.glances if silence.began <= one.at <= silence.ended and one.ready == 503]
        took = min(said) - silence.began if said else None
        if took is None:
            lasted = silence.ended - silence.began
            yield lasted, f"never, in {lasted:.0f} s of a line that is {silence.manner}"
        else:
            yield took, None if took <= SAID_WITHIN else f"after {took:.1f} s"
            later = [one for one in evidence.glances if min(said) < one.at < silence.ended and one.ready == 200]
            yield None, f"ready again {later[0].at - silence.began:.1f} s into it" if later else None


def _alive_all_the_time(evidence: Evidence) -> Iterator[Look]:
    for one in evidence.glances:
        yield None, None if one.alive == 200 else f"/healthz {one.alive}"


def _attempts_are_on_time(evidence: Evidence) -> Iterator[Look]:
    for one in evidence.attempts:
        yield one.late, None if one.late <= ON_TIME_WITHIN else f"attempt {one.number} {one.late:.1f} s late"


def _none_is_left_out(evidence: Evidence) -> Iterator[Look]:
    numbers: dict[str, list[int]] = defaultdict(list)
    for one in evidence.attempts:
        numbers[one.suspension_id].append(one.number)
    for made in numbers.values():
        whole = sorted(made) == list(range(2, len(made) + 2))
        yield None, None if whole else f"attempts {sorted(made)}"


def _sigterm_ends_it(evidence: Evidence) -> Iterator[Look]:
    if evidence.end is not None:
        took, status = evidence.end
        good = took <= ENDS_WITHIN and status == 0
        yield took, None if good else f"status {status} after {took:.1f} s"


def _well_again(evidence: Evidence) -> Iterator[Look]:
    for silence in evidence.silences:
        good = silence.well is not None and silence.well <= WELL_WITHIN
        after = "never" if silence.well is None else f"after {silence.well:.1f} s"
        yield silence.well, None if good else f"{after}, of a line that was {silence.manner}"


def _every_201_is_there(evidence: Evidence) -> Iterator[Look]:
    for one in evidence.creates:
        if one.status == 201:
            yield None, None if one.suspension_id in evidence.kept else "a question is not there"


INVARIANTS: dict[str, Callable[[Evidence], Iterator[Look]]] = {
    f"whoever asks the one that is cut off hears 201 or 503 within {ANSWERED_WITHIN:.0f} s": _cut_off_answers,
    f"the other one takes every question within {ANSWERED_WITHIN:.0f} s": _whole_takes_all,
    f"/readyz is 503 within {SAID_WITHIN:.0f} s and stays so": _unready_is_said,
    "/healthz is 200 all the time": _alive_all_the_time,
    f"every attempt is made within {ON_TIME_WITHIN:.0f} s of its time": _attempts_are_on_time,
    "no attempt is left out": _none_is_left_out,
    f"SIGTERM ends a process that is cut off within {ENDS_WITHIN:.0f} s": _sigterm_ends_it,
    f"all is well {WELL_WITHIN:.0f} s after the line is": _well_again,
    "every 201 is there": _every_201_is_there,
}
