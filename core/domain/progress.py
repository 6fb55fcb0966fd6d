"""What has happened to an open question among people, in sentences that are shown under it on every channel.

Who has answered is said, what they answered is not: whoever answers next should make up their own mind.
"""

from __future__ import annotations

from datetime import datetime, tzinfo

from core.domain.moments import told_at
from core.domain.suspension import Clarification, Suspension


def notes(suspension: Suspension, zone: tzinfo | None = None) -> tuple[str, ...]:
    """Nothing where one person is asked and nobody has done anything yet. ``zone`` is the one reader's."""
    clarified = (_clarified(one, zone) for one in suspension.clarifications)
    return (*_answers(suspension), *_hand_over(suspension), *clarified)


def claimed(suspension: Suspension, now: datetime) -> tuple[str, ...]:
    """Who is on it, where somebody is."""
    claim = suspension.claim
    if claim is None or claim.until <= now:
        return ()
    return (f"{claim.by} is on it until {told_at(claim.until)}.",)


def too_few(suspension: Suspension, one: str, several: str) -> str:
    """Whose silence it is that counts: ``nobody answers``; ``fewer than 2 people answer`` where one is not enough.
    ``one`` and ``several`` are the verb."""
    needed = suspension.ask.answers_required
    return f"nobody {one}" if needed == 1 else f"fewer than {needed} people {several}"


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


def _clarified(asked: Clarification, zone: tzinfo | None) -> str:
    if asked.text is not None:
        return f"{asked.by} asked the agent: {asked.question}\nThe agent: {asked.text}"
    if asked.closed_at is not None:
        return f"{asked.by} asked the agent: {asked.question}\nThe agent has not answered."
    until = told_at(asked.until, zone)
    return f"{asked.by} has asked the agent: {asked.question}\nThe clock holds until it answers, {until} at the latest."
