"""Short messages about a question that stays open: an answer that counts and is not enough, and what the agent
clarified. Every channel says the same.
"""

from __future__ import annotations

from core.domain.notice import Message, Purpose, shown_value
from core.domain.progress import remaining
from core.domain.quorum import answer_of
from core.domain.suspension import Suspension

_LONGEST_SHOWN = 500
"""A long answer is recorded in whole and confirmed by its beginning."""


def recorded_partly(suspension: Suspension, identity: str) -> str:
    """The answer of ``identity`` counts, and more are needed. They must have given one."""
    given = answer_of(suspension, identity)
    value = shown_value(suspension, given.value) if given is not None else ""
    shown = value if len(value) <= _LONGEST_SHOWN else value[: _LONGEST_SHOWN - 1] + "…"
    count = f"{len(suspension.answers)} of {suspension.ask.answers_required}"
    return f"Recorded ({count}): “{shown}”. {remaining(suspension)}"


def about(suspension: Suspension, purpose: Purpose, text: str) -> Message:
    """A message under the question's own subject, so that mail programs thread it."""
    ask = suspension.ask
    return Message(purpose, f"Re: [{ask.ref}] {ask.question}", text, ref=ask.ref)


def clarified_message(suspension: Suspension) -> Message:
    """To whoever asked back: what the agent said, or that it said nothing in time."""
    asked = suspension.clarifications[-1]
    if asked.text is not None:
        came = f"{suspension.ask.created_by} answered:\n{asked.text}"
    else:
        came = f"{suspension.ask.created_by} has not answered by {asked.until:%Y-%m-%d %H:%M} UTC. The clock goes on."
    text = (
        f"You asked: {asked.question}\n\n{came}\n\nThe question still waits for an answer:\n{suspension.ask.question}"
    )
    return about(suspension, Purpose.CLARIFIED, text)
