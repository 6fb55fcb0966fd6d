"""Words in PagerDuty that may be an answer: notes, and the field that was made for decisions.

Every way through ends in ``Engine.respond``. Whoever wrote is told by a note on the incident what came of it; what
may never count is a line on the question's timeline, with a stable reason.

Source: facts on channels §C6, §F; docs/decisions/0024.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, auto

import structlog

from bot import pagerduty_words as words
from bot.pagerduty_lookup import Found, Lookup, Needs
from bot.pagerduty_people import CHANNEL, PagerDutyPeople
from channels.grammar import Matched
from channels.pagerduty.places import incident_place
from channels.pagerduty.replies import Annotated, FieldsSet, NobodysWord, Note, Where, read_answer_in, read_note
from core.domain.answering import GivenAnswer
from core.domain.notice import Message, shown_choices
from core.domain.people import Actor, Address
from core.domain.suspension import Suspension
from core.engine import Engine
from core.errors import (
    AlreadyAnswered,
    CallerError,
    NotAResponder,
    SelfResponseForbidden,
    SuspensionEnded,
    SuspensionError,
)
from core.incidents import Incidents
from core.store import incidents as kept
from core.transitions import tell_row

log = structlog.get_logger(__name__)


class Taken(Enum):
    """What became of an event."""

    DONE = auto()
    TOO_EARLY = auto()
    """Nobody knows yet what its incident is about."""


def unless_early(found: Found) -> Taken:
    """There is nothing to do: for good, or for now."""
    if found.known:
        return Taken.DONE
    return Taken.TOO_EARLY


@dataclass(frozen=True, slots=True)
class PagerDutyAnswers:
    """``decision_field`` is the name or id of the custom field that answers; ``assignees_may`` whether everybody to
    whom an incident is assigned may answer what it asks."""

    engine: Engine
    incidents: Incidents
    lookup: Lookup
    people: PagerDutyPeople
    decision_field: str | None = None
    assignees_may: bool = False

    # --- Notes ----------------------------------------------------------------------------------------------------

    async def note(self, ids: Sequence[str], said: Annotated) -> Taken:
        note = read_note(said.text)
        found = await self.lookup.questions(said.where, Needs.ANSWER)
        if not found.questions:
            return unless_early(found)
        waiting = tuple(one for one in found.questions if one.is_open)
        # One that has ended still counts as one that may be meant: its author may not have heard of the end.
        meant = [one for one in found.questions if _means(note, one)]
        if len(meant) == 1:
            await self._read(ids, said, note, meant[0])
        else:
            log.info("pagerduty.note_ignored", reason="which_question")
            await self._which(ids, said, waiting)
        return Taken.DONE

    async def _read(self, ids: Sequence[str], said: Annotated, note: Note, question: Suspension) -> None:
        ask, shown = question.ask, self.shown(question)
        reading = read_answer_in(note, ask.response_type, shown_choices(shown.ask.choices), ask.form_schema)
        person = await self.people.person(said.user)
        if person is None:
            await self.turn_away((question,), f"{CHANNEL}:{said.user}", "unknown_person")
            await self.incidents.remember(ids)
        elif isinstance(reading, Matched):
            person = await self.with_assignment(person, said.user, said.where, [question])
            value = reading.value if reading.index is None else None
            given = GivenAnswer(question.id, person, CHANNEL, value, reading.index, reading.reason)
            await self.give(ids, said.where.incident, question, given)
        else:
            log.info("pagerduty.note_ignored", ref=ask.ref, reason=getattr(reading, "reason", "empty"))
            message = words.unclear(shown) if question.is_open else None
            await self._help(ids, said.where.incident, "unclear", question, message)

    async def _which(self, ids: Sequence[str], said: Annotated, waiting: Sequence[Suspension]) -> None:
        refs = [one.ask.ref for one in waiting]
        message = words.which(self.shown(waiting[0]), refs) if waiting else None
        if waiting and await self.people.person(said.user) is None:
            message = None
            await self.turn_away(waiting, f"{CHANNEL}:{said.user}", "unknown_person")
        await self._help(ids, said.where.incident, "which", waiting[0] if waiting else None, message)

    async def _help(
        self, ids: Sequence[str], incident: str, lack: str, question: Suspension | None, message: Message | None
    ) -> None:
        """Say how to answer: once for each incident and lack, since people also talk there."""
        if message is None or question is None:
            await self.incidents.remember(ids)
        else:
            await self._say(ids, incident, question, message, once=("helped", f"{incident} {lack}"))

    # --- The decision field ---------------------------------------------------------------------------------------

    async def fields(self, ids: Sequence[str], said: FieldsSet) -> Taken:
        """A value out of a list of choices, or text, in the field that the configuration names."""
        value = said.fields.get(self.decision_field) if self.decision_field is not None else None
        if value is None:
            return Taken.DONE
        if said.user is None:
            return await self.nobody(ids, NobodysWord(said.where, None, "not_a_person"))
        found = await self.lookup.questions(said.where, Needs.ANSWER)
        if not found.questions:
            return unless_early(found)
        # A field holds one value for the whole incident: it answers where only one question can be meant.
        if len(found.questions) > 1:
            log.info("pagerduty.field_ignored", reason="which_question")
            waiting = tuple(one for one in found.questions if one.is_open)
            await self._which(ids, Annotated(said.where, said.user, value), waiting)
            return Taken.DONE
        note, tagged = Note(found.questions[0].ask.ref, value), read_note(value)
        if tagged.ref is not None:
            note = tagged
        if _means(note, found.questions[0]):
            await self._read(ids, Annotated(said.where, said.user, value), note, found.questions[0])
        else:
            await self.incidents.remember(ids)
        return Taken.DONE

    # --- What never counts ----------------------------------------------------------------------------------------

    async def nobody(self, ids: Sequence[str], said: NobodysWord) -> Taken:
        found = await self.lookup.questions(said.where, Needs.CLAIM)
        by = CHANNEL if said.by is None else f"{CHANNEL}:{said.by}"
        log.info("pagerduty.note_ignored", reason=said.reason)
        await self.turn_away(found.questions, by, said.reason)
        if found.questions:
            await self.incidents.remember(ids)
        return unless_early(found)

    async def turn_away(self, questions: Iterable[Suspension], by: str, reason: str) -> None:
        """A line on the timeline of each open question, once for each person and reason."""
        for question in questions:
            if question.is_open:
                await self.engine.incoming.turned_away(question.id, by, CHANNEL, reason)

    # --- Answering ------------------------------------------------------------------------------------------------

    async def give(self, ids: Sequence[str], incident: str, question: Suspension, given: GivenAnswer) -> None:
        """A crash after the answer repeats it, and finds that it is there: whoever gave it is told once."""
        message = await self._told(question, given)
        if message is None:
            await self.incidents.remember(ids)
        else:
            await self._say(ids, incident, question, message)

    async def _told(self, question: Suspension, given: GivenAnswer) -> Message | None:
        ref, identity = question.ask.ref, given.by.identity
        try:
            done = await self.engine.respond(given)
        except (SuspensionError, CallerError) as refusal:
            log.info("pagerduty.answer_refused", ref=ref, code=refusal.code)
            return await self._refused(question, identity, refusal)
        log.info("pagerduty.answer_recorded", ref=ref)
        return words.recorded(self.shown(done), identity) if done.is_open else None  # its end is told by its withdrawal

    async def _refused(
        self, question: Suspension, identity: str, refusal: SuspensionError | CallerError
    ) -> Message | None:
        now = await self.engine.get(question.id) or question
        shown = self.shown(now)
        if isinstance(refusal, AlreadyAnswered) and refusal.details.get("same_answer") is True:
            return words.recorded(shown, identity) if now.is_open else None
        if isinstance(refusal, NotAResponder | SelfResponseForbidden):
            await self.turn_away((now,), identity, refusal.code)
        if not now.is_open:
            late = isinstance(refusal, AlreadyAnswered | SuspensionEnded) and now.ended is not None
            return words.too_late(shown, identity) if late else None
        return words.not_recorded(shown, identity, self.engine.redaction.text_on(CHANNEL, refusal.message))

    async def _say(
        self,
        ids: Sequence[str],
        incident: str,
        question: Suspension,
        message: Message,
        once: tuple[str, str] | None = None,
    ) -> None:
        place = Address(CHANNEL, incident_place(incident))
        row = tell_row(message, place, self.incidents.clock.now(), question.id)
        await self.incidents.remember(ids, [row], once)

    # --- Who may ----------------------------------------------------------------------------------------------------

    async def with_assignment(
        self, person: Actor, user: str, where: Where, questions: Iterable[Suspension], at: datetime | None = None
    ) -> Actor:
        """``person`` with what being assigned to the incident lets them answer: whatever was asked through PagerDuty.
        ``at`` is when it was as ``where`` says, where it says to whom it was assigned.

        Only people whom this service may ask anyway: anybody can be made a user of PagerDuty's.
        """
        if not self.assignees_may or not self.engine.responders.allowed(person.identity):
            return person
        incident = await self.incidents.database.read(lambda conn: kept.get(conn, where.incident))
        known, known_at = (incident.assignees, incident.assigned_at) if incident is not None else ((), None)
        newer = at is not None and (known_at is None or known_at <= at)
        newest = where.assignees if newer and where.assignees is not None else known
        if user not in newest:
            return person
        asked = (step for one in questions for step in one.ask.attempts[: one.attempt] if step.channel == CHANNEL)
        return replace(person, proven=person.proven | {name for step in asked for name in step.recipients})

    def shown(self, question: Suspension) -> Suspension:
        return self.engine.redaction.shown_on(CHANNEL, question)


def _means(note: Note, question: Suspension) -> bool:
    return note.ref in {None, question.ask.ref}
