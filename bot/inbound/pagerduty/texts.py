"""Texts of our notes on an incident, for its readers in PagerDuty. Pure.

The mark of our own notes is added when a note is written (``channels.pagerduty.render.note``). A note at the resolve
says how a question has ended. Names are identities (e-mails) of the directory: the incident's readers work with these
people. A question's text is the one that PagerDuty may be shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from channels.grammar.reader import way_to_write
from channels.pagerduty.render import note_that_answers
from core.domain.notice import Message, Proposal, Purpose, build_ending, shown_choices
from core.domain.short_messages import about, recorded_partly
from core.domain.suspension import Suspension
from core.domain.wording import AgentTold, shortened

_FIRST_LINE = 60
"""Characters of a note that are repeated."""


def recorded(shown: Suspension, identity: str) -> Message:
    """Their answer counts, and the question waits for more: what was recorded, and by whom."""
    return _note(shown, Purpose.CONFIRMATION, f"{shown.ask.ref}, {identity}: {recorded_partly(shown, identity)}")


def too_late(shown: Suspension, identity: str, told: AgentTold) -> Message:
    """For an answer after the end: who answered, what silence did, and whether the agent knows."""
    text = f"{shown.ask.ref} had ended before {identity} answered, and nothing was changed. "
    ending = build_ending(shown, told=told)
    return _note(shown, Purpose.TOO_LATE, f"{text}{ending.sentence} {ending.agent}")


def not_recorded(shown: Suspension, identity: str, why: str) -> Message:
    text = f"the answer of {identity} to {shown.ask.ref} was not recorded: {why} The question stays open."
    return _note(shown, Purpose.CLARIFICATION, text)


def open_first(shown: Suspension, identity: str, page: str) -> Message:
    """The incident shows only a part of the question (``answers.require_open_when_cut``)."""
    text = (
        f"the answer of {identity} to {shown.ask.ref} was not recorded: the question is longer than what is shown "
        f"here. Read all of it and answer at {page}"
    )
    return _note(shown, Purpose.CLARIFICATION, text)


def undecided(shown: Suspension, page: str | None, pages_again: str) -> Message:
    """The incident was resolved, which decides nothing. ``pages_again`` is a sentence, or empty."""
    text = (
        f"the incident was resolved, but {shown.ask.ref} still needs a decision: resolving does not answer. "
        f"{how(shown, page)}{pages_again}"
    )
    return _note(shown, Purpose.CLARIFICATION, text)


def unclear(shown: Suspension, page: str | None, why: str = "") -> Message:
    """A note was not a clear answer. ``why`` is a sentence about one of its fields, or empty."""
    because = f" {why}" if why else ""
    text = (
        f"that note was not read as an answer to {shown.ask.ref}, and nothing was recorded.{because} {how(shown, page)}"
    )
    return _note(shown, Purpose.CLARIFICATION, text)


def proposed(shown: Suspension, index: int, first: str, page: str | None) -> Message:
    """A note decided nothing, and its ``first`` line is one option by itself: one more note takes it, or its page."""
    choice = shown_choices(shown.ask)[index]
    number = way_to_write(shown_choices(shown.ask), index) or choice.label
    said = shortened(" ".join(first.split()), _FIRST_LINE)
    take = f"Add a note with “{number}”, and nothing else, to take it. " if page is None else ""
    text = (
        f"nothing has been recorded for {shown.ask.ref}. You wrote “{said}”, and more around it. "
        f"{take}{how(shown, page)}"
    )
    proposal = Proposal(index, choice.value) if page is None else None
    return replace(_note(shown, Purpose.CLARIFICATION, text), proposal=proposal)


def proposed_own(shown: Suspension, proposal: Proposal, said: str, page: str | None) -> Message:
    """:func:`proposed` for a form or a text; ``said`` is the proposal for display."""
    ref = shown.ask.ref
    confirm = f"Add a note “{ref} ok” to confirm it." if page is None else how(shown, page)
    text = f"nothing has been recorded for {ref}. This was read:\n{said}\n{confirm}"
    return replace(_note(shown, Purpose.CLARIFICATION, text), proposal=proposal)


def not_proposed(shown: Suspension, page: str | None) -> Message:
    """A bare yes or no can mean two things, to the question and to the proposal."""
    text = (
        f"nothing has been recorded for {shown.ask.ref}: a bare yes or no can mean two things now. {how(shown, page)}"
    )
    return _note(shown, Purpose.CLARIFICATION, text)


def which(shown: Suspension, waiting: Mapping[str, str | None]) -> Message:
    """Several questions share the incident, and the note did not say which is meant. ``waiting`` are the open ones,
    by their refs, with the page of each that no note can answer."""
    by_note = [ref for ref, page in waiting.items() if page is None]
    listed = ", ".join(ref if page is None else f"{ref} (only at {page})" for ref, page in waiting.items())
    example = f" Begin the note with the one that is meant, for example: {by_note[0]} approve" if by_note else ""
    said = "this incident holds several questions, so nothing was recorded. What waits for an answer:"
    text = f"{said} {listed}.{example}"
    return _note(shown, Purpose.CLARIFICATION, text)


def how(shown: Suspension, page: str | None) -> str:
    """How to answer this question: by a note; or only at its ``page``, if the incident shows only a part of it
    (``answers.require_open_when_cut``)."""
    ask = shown.ask
    if page is not None:
        return f"The question is longer than what is shown here: read all of it and answer at {page}"
    choices = ", ".join(f"{number} for “{choice.label}”" for number, choice in enumerate(ask.choices, 1))
    return f"Add {note_that_answers(ask.ref, ask.response_type, choices)}"


def _note(shown: Suspension, purpose: Purpose, text: str) -> Message:
    return about(shown, purpose, text)
