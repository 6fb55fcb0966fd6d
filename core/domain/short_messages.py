"""Short messages about a question that stays open: an answer that counts but is not enough yet, and what the agent has
clarified. Every channel says the same. Pure.
"""

from __future__ import annotations

from datetime import tzinfo

from core.domain.notice import Message, Purpose, shown_value
from core.domain.quorum import answer_of
from core.domain.suspension import Suspension
from core.domain.wording import so_far, told_at

_LONGEST_SHOWN = 500
"""A long answer is recorded in whole and confirmed by its beginning."""


def in_brief(value: str) -> str:
    """As much of an answer as a short message shows."""
    return value if len(value) <= _LONGEST_SHOWN else value[: _LONGEST_SHOWN - 1] + "…"


def recorded_partly(suspension: Suspension, identity: str) -> str:
    """The answer of ``identity`` is kept, and more are needed. They must have given one."""
    given = answer_of(suspension, identity)
    shown = in_brief(shown_value(suspension, given.value)) if given is not None else ""
    return f"Recorded: “{shown}”. {so_far(suspension)} You can change your answer until the question ends."


def about(suspension: Suspension, purpose: Purpose, text: str) -> Message:
    """A message under the question's own subject, so that mail programs thread it."""
    ask = suspension.ask
    return Message(purpose, f"Re: [{ask.ref}] {ask.question}", text, ref=ask.ref)


def clarified_message(suspension: Suspension, zone: tzinfo | None = None) -> Message:
    """To whoever asked back, in their ``zone``: what the agent said, or that it said nothing in time."""
    asked = suspension.clarifications[-1]
    if asked.text is not None:
        came = f"{suspension.ask.created_by} answered:\n{asked.text}"
    else:
        until = told_at(asked.until, zone)
        came = f"{suspension.ask.created_by} has not answered by {until}. Reminders and the deadline go on."
    text = (
        f"You asked: {asked.question}\n\n{came}\n\nThe question still waits for an answer:\n{suspension.ask.question}"
    )
    return about(suspension, Purpose.CLARIFIED, text)
