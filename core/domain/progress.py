"""What has happened to an open question among people, in sentences that are shown under it on every channel.

Who has answered is said, what they answered is not: whoever answers next should make up their own mind.
"""

from __future__ import annotations

from datetime import datetime

from core.domain.suspension import Clarification, Suspension


def notes(suspension: Suspension) -> tuple[str, ...]:
    """Nothing where one person is asked and nobody has done anything yet."""
    return (*_answers(suspension), *_hand_over(suspension), *map(_clarified, suspension.clarifications))


def claimed(suspension: Suspension, now: datetime) -> tuple[str, ...]:
    """Who is on it, where somebody is."""
    claim = suspension.claim
    if claim is None or claim.until <= now:
        return ()
    return (f"{claim.by} is on it until {claim.until:%Y-%m-%d %H:%M} UTC.",)


def remaining(suspension: Suspension) -> str:
    """How many answers are missing, as a sentence."""
    missing = suspension.ask.answers_required - len(suspension.answers)
    people = "1 more person gives" if missing == 1 else f"{missing} more people give"
    return f"The question stays open until {people} the same answer."


def _answers(suspension: Suspension) -> tuple[str, ...]:
    needed = suspension.ask.answers_required
    if needed == 1:
        return ()
    people = ", ".join(one.by for one in suspension.answers) or "nobody"
    return (f"{needed} people have to give the same answer. So far: {people}.",)


def _hand_over(suspension: Suspension) -> tuple[str, ...]:
    if not suspension.assigned:
        return ()
    latest = suspension.assigned[-1]
    return (f"Handed over to {latest.to} by {latest.by}.",)


def _clarified(asked: Clarification) -> str:
    if asked.text is not None:
        return f"{asked.by} asked the agent: {asked.question}\nThe agent: {asked.text}"
    if asked.closed_at is not None:
        return f"{asked.by} asked the agent: {asked.question}\nThe agent has not answered."
    until = f"{asked.until:%Y-%m-%d %H:%M} UTC"
    return f"{asked.by} has asked the agent: {asked.question}\nThe clock holds until it answers, {until} at the latest."
