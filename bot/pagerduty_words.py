"""What a note on an incident says to the people who look at it there. Pure. That it is ours is put before it as it is
written (``channels.pagerduty.render.note``), and how a question has ended is said there where it is resolved.

Names are identities (e-mails), as the directory has them: whoever reads the incident works with these people. What is
shown of a question is what PagerDuty may be shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from channels.pagerduty.render import note_that_answers
from core.domain.notice import Message, Purpose, build_ending
from core.domain.suspension import Suspension
from core.domain.told import about, recorded_partly


def recorded(shown: Suspension, identity: str) -> Message:
    """Their answer counts, and the question waits for more: what was recorded, and by whom."""
    return _note(shown, Purpose.CONFIRMATION, f"{shown.ask.ref}, {identity}: {recorded_partly(shown, identity)}")


def too_late(shown: Suspension, identity: str) -> Message:
    """The truth to whoever came after the end: who answered, and what the agent went on with."""
    text = f"{shown.ask.ref} had ended before {identity} answered, and nothing was changed. "
    return _note(shown, Purpose.TOO_LATE, text + build_ending(shown).sentence)


def not_recorded(shown: Suspension, identity: str, why: str) -> Message:
    text = f"the answer of {identity} to {shown.ask.ref} was not recorded: {why} The question stays open."
    return _note(shown, Purpose.CLARIFICATION, text)


def undecided(shown: Suspension, pages_again: str) -> Message:
    """The incident was resolved, and that decides nothing. ``pages_again`` is a sentence, or empty."""
    text = (
        f"the incident was resolved, but {shown.ask.ref} still needs a decision: resolving does not answer. "
        f"{how(shown)}{pages_again}"
    )
    return _note(shown, Purpose.CLARIFICATION, text)


def unclear(shown: Suspension) -> Message:
    """A note was no answer that is beyond doubt."""
    text = f"that note was not read as an answer to {shown.ask.ref}, and nothing was recorded. {how(shown)}"
    return _note(shown, Purpose.CLARIFICATION, text)


def which(shown: Suspension, refs: Sequence[str]) -> Message:
    """Several questions share the incident, and nothing said which of them was meant. ``refs`` are those that wait."""
    text = (
        f"this incident holds several questions, so nothing was recorded. What waits for an answer: {', '.join(refs)}. "
        f"Begin the note with the one that is meant, for example: {refs[0]} approve"
    )
    return _note(shown, Purpose.CLARIFICATION, text)


def how(shown: Suspension) -> str:
    """How a note answers this question."""
    ask = shown.ask
    choices = ", ".join(f"{number} for “{choice.label}”" for number, choice in enumerate(ask.choices, 1))
    return f"Add {note_that_answers(ask.ref, ask.response_type, choices)}"


def _note(shown: Suspension, purpose: Purpose, text: str) -> Message:
    return about(shown, purpose, text)
