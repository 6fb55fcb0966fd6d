"""Short messages about a question that stays open: an answer that counts but is not enough yet, and what the agent has
clarified. Every channel says the same. Pure.
"""

from __future__ import annotations

from datetime import tzinfo

from core.domain.notice import Message, Purpose, shown_value
from core.domain.quorum import answer_of
from core.domain.suspension import Given, Suspension
from core.domain.wording import remaining, told_at

_LONGEST_QUOTED = 200
_LONGEST_SHOWN = 500
"""A long answer is recorded in whole and confirmed by its beginning."""


def in_brief(value: str) -> str:
    """As much of an answer as a short message shows."""
    return value if len(value) <= _LONGEST_SHOWN else value[: _LONGEST_SHOWN - 1] + "…"


def recorded_partly(suspension: Suspension, identity: str) -> str:
    """The answer of ``identity`` counts, and more are needed. They must have given one."""
    given = answer_of(suspension, identity)
    shown = in_brief(shown_value(suspension, given.value)) if given is not None else ""
    count = f"{len(suspension.answers)} of {suspension.ask.answers_required}"
    return f"Recorded ({count}): “{shown}”. {remaining(suspension)}"


def disagreement(suspension: Suspension, identity: str) -> str:
    """Why another answer by ``identity`` does not count beside those of ``suspension``, which may be as it is shown."""
    own = answer_of(suspension, identity)
    if own is not None:
        return f"You have already answered “{_briefly(suspension, own)}”; an answer counts once and stays."
    first, *others = suspension.answers
    names = f"{first.by} and {len(others)} more" if others else first.by
    return f"{names} answered “{_briefly(suspension, first)}”; only equal answers count together."


def _briefly(suspension: Suspension, given: Given) -> str:
    text = shown_value(suspension, given.value)
    return text if len(text) <= _LONGEST_QUOTED else text[: _LONGEST_QUOTED - 1] + "…"


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
