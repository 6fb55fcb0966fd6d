"""What the ladder does next if nobody answers, as one sentence for whoever is asked now. Pure.

Source: RFC-0026 §4.1 (the ladder), API.md §3 (its times).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import tzinfo

from core.domain.moments import told_at
from core.domain.people import RecipientKind, parse_recipient
from core.domain.progress import too_few
from core.domain.suspension import PlannedAttempt, Suspension

_HOW: Mapping[str, str] = {"slack": "on Slack", "email": "by mail", "pagerduty": "through PagerDuty"}
_MOST_NAMED = 3


def next_step(
    suspension: Suspension, attempt: int, reader: str | None = None, zone: tzinfo | None = None
) -> str | None:
    """Who is asked next, how and when; ``None`` where nobody is, or where it is not certain: while somebody is on it,
    and while the agent is asked back. ``reader`` is the identity of whoever reads it.
    """
    if suspension.claim is not None or suspension.asks_back is not None:
        return None
    step = _following(suspension, max(attempt, suspension.attempt))
    if step is None:
        return None
    assignee = () if suspension.assigned_to is None else (suspension.assigned_to,)
    given = {one.by for one in suspension.answers}
    people = list(_named([one for one in (*step.recipients, *assignee) if one not in given], reader))
    how = _HOW.get(step.channel, f"on {step.channel}")
    whom = f"to {_listed(people)}, {how}" if people else how
    when = told_at(suspension.due_at(step.number), zone)
    unless = too_few(suspension, "has answered", "have answered")
    return f"If {unless} by {when}, the question goes out again: {whom}."


def _following(suspension: Suspension, attempt: int) -> PlannedAttempt | None:
    """The attempt that comes after ``attempt``; one that gives way to a later one never comes."""
    ask = suspension.ask
    later = range(attempt + 1, ask.max_attempts + 1)
    return next((ask.planned(number) for number in later if not ask.gives_way(number)), None)


def _named(references: Iterable[str], reader: str | None) -> Iterator[str]:
    """People and groups by name; the ids of shared places say nothing to a person, so the channel stands for them."""
    for reference in dict.fromkeys(references):
        recipient = parse_recipient(reference)
        match recipient.kind:
            case RecipientKind.PERSON | RecipientKind.EMAIL:
                yield "you" if recipient.value == reader else recipient.value
            case RecipientKind.GROUP:
                yield f"the group {recipient.value}"
            case _:
                continue


def _listed(people: list[str]) -> str:
    if len(people) > _MOST_NAMED:
        return f"{', '.join(people[: _MOST_NAMED - 1])} and {len(people) - _MOST_NAMED + 1} others"
    return " and ".join(filter(None, (", ".join(people[:-1]), people[-1])))
