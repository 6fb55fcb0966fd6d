"""Answers in PagerDuty: notes, and the custom field for decisions.

Every way ends in ``Engine.respond``. The writer learns the result from a note on the incident. An answer that may never
count is noted on the question's timeline, with a stable reason.

Source: facts on channels §C6, §F; docs/decisions/0024.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, auto
from functools import partial

import structlog

from bot.inbound.pagerduty import texts as words
from bot.inbound.pagerduty.identity import CHANNEL, PagerDutyPeople
from bot.inbound.pagerduty.incident_lookup import Certainty, FoundQuestions, Lookup
from channels.grammar.forms import as_lines
from channels.grammar.reader import NOT_PROPOSED, Circumstances, ClaimWord, Matched, Reading, Unclear, first_line
from channels.pagerduty.incidents import incident_place
from channels.pagerduty.webhooks import (
    Annotated,
    FieldsSet,
    IncidentNote,
    UncountedReply,
    Webhook,
    Where,
    read_answer_in,
    read_note,
)
from core.domain.answers import GivenAnswer
from core.domain.field_words import shown_with
from core.domain.incident_claims import IncidentChange, Move
from core.domain.notice import Message, Proposal, shown_choices
from core.domain.people import Actor, Address
from core.domain.reception import AlreadyYours, Counted, NotAnAnswer, NotYours, Recorded, TooLate
from core.domain.suspension import Suspension, Via
from core.domain.wording import okay_is_yes
from core.engine.channel_views import ChannelViews
from core.engine.engine import Engine
from core.engine.permissions import Permissions
from core.errors import NotShownWhole
from core.inbound.correspondence import Correspondence
from core.inbound.incidents import Heard, Incidents, Saying
from core.inbound.reports import InboundReports
from core.store import incidents as kept
from core.store.markers import Marker
from core.store.outbox import Row, tell_row

log = structlog.get_logger(__name__)


class Taken(Enum):
    """The result of an event."""

    DONE = auto()
    TOO_EARLY = auto()
    """Nobody knows yet what its incident is about."""


def unless_early(found: FoundQuestions) -> Taken:
    """Whether there is nothing to do for good, or only for now."""
    if found.known:
        return Taken.DONE
    return Taken.TOO_EARLY


@dataclass(frozen=True, slots=True)
class WebhookEvent:
    """A webhook's event in progress. Its ``ids`` recognise a repeat."""

    webhook: Webhook
    ids: Sequence[str]
    at: datetime

    @property
    def key(self) -> str:
        return self.ids[-1] if self.ids else f"{self.at.isoformat()} {type(self.webhook.happening).__name__}"


@dataclass(frozen=True, slots=True)
class PagerDutyAnswers:
    """``public_url`` is the base of our pages. ``decision_field`` is the name or id of the custom field that
    answers; ``assignees_may``: everybody to whom an incident is assigned may answer its questions."""

    engine: Engine
    permissions: Permissions
    channel_views: ChannelViews
    incoming: InboundReports
    correspondence: Correspondence
    incidents: Incidents
    lookup: Lookup
    people: PagerDutyPeople
    public_url: str
    decision_field: str | None = None
    assignees_may: bool = False

    # --- Notes ----------------------------------------------------------------------------------------------------

    async def note(self, event: WebhookEvent, said: Annotated) -> Taken:
        note = read_note(said.text)
        found = await self.lookup.questions(said.where, Certainty.ANSWER)
        if not found.questions:
            return unless_early(found)
        waiting = tuple(one for one in found.questions if one.is_open)
        # One that has ended still counts as one that may be meant: its author may not have heard of the end.
        meant = [one for one in found.questions if _means(note, one)]
        if len(meant) == 1:
            await self._read(event, said, note, meant[0])
        else:
            log.info("pagerduty.note_ignored", reason="which_question")
            await self._which(event.ids, said, waiting)
        return Taken.DONE

    async def _read(self, event: WebhookEvent, said: Annotated, note: IncidentNote, question: Suspension) -> None:
        ask, shown = question.ask, await self.shown(question)
        choices = shown_choices(shown.ask)
        place = Address(CHANNEL, incident_place(said.where.incident))
        latest = [one.proposal for one in (await self.correspondence.echoed(question.id, place))[-1:]]
        of_fields = bool(latest) and latest[0] is not None and latest[0].index is None
        known = Circumstances(tuple(latest) if of_fields else (None, *latest), okay=okay_is_yes(ask))
        reading = read_answer_in(note, ask.response_type, choices, ask.form_schema, shown.ask.question, known)
        person = await self.people.person(said.user)
        if person is None:
            await self.turn_away((question,), f"{CHANNEL}:{said.user}", "unknown_person")
            await self.incidents.remember(event.ids)
        elif isinstance(reading, Matched):
            person = await self.with_assignment(person, said.user, said.where, [question])
            value = reading.value if reading.index is None else None
            via = Via(CHANNEL, said.user, message_id=event.key)
            given = GivenAnswer(question.id, person, CHANNEL, value, reading.index, reading.reason, via=via)
            await self.give(event.ids, said.where.incident, question, given)
        elif isinstance(reading, ClaimWord):
            await self._claim(event, said, question, person)
        else:
            log.info("pagerduty.note_ignored", ref=ask.ref, reason=getattr(reading, "reason", "empty"))
            person = await self.with_assignment(person, said.user, said.where, [question])
            echo = await self._echo(note, reading, question, person)
            unfit = reading.said if isinstance(reading, Unclear) else None
            why = "" if unfit is None else shown_with(unfit, partial(self.channel_views.text_on, CHANNEL))
            unclear = words.unclear(shown, await self.only_at(question), why)
            sayings = self._help(said.where.incident, "unclear", question, unclear)
            if echo is not None:
                whose = hashlib.sha256(person.identity.encode()).hexdigest()[:16]
                rows = [self._row(said.where.incident, question, echo)]
                sayings = (Saying(rows, echoed=(question.id, whose)), *sayings)
            await self.incidents.remember(event.ids, *(sayings if question.is_open else ()))

    async def _echo(self, note: IncidentNote, reading: Reading, question: Suspension, person: Actor) -> Message | None:
        """The proposal that one more note may confirm; ``None`` if the first line is not an option, or the writer
        may not answer. A remark is not an answer: people also talk there."""
        if self.permissions.refusal(question, person) is not None or not isinstance(reading, Unclear):
            return None
        shown, page = await self.shown(question), await self.only_at(question)
        if reading.reason == NOT_PROPOSED:
            return words.not_proposed(shown, page)
        if reading.meant is not None:
            said = self.channel_views.text_on(CHANNEL, as_lines(reading.meant))
            return words.proposed_own(shown, Proposal(None, reading.meant), said, page)
        if reading.first is None:
            return None
        first = self.channel_views.text_on(CHANNEL, first_line(note.text.splitlines()))
        return words.proposed(shown, reading.first, first, page)

    async def _claim(self, event: WebhookEvent, said: Annotated, question: Suspension, person: Actor) -> None:
        """A note that only says "I'm on it" does what an acknowledgement of that question does, from the time of the
        note."""
        person = await self.with_assignment(person, said.user, said.where, [question], event.at)
        move = Move(event.key, event.at, IncidentChange.ACKNOWLEDGED, person.identity)
        done = await self.incidents.moved(Heard(said.where.incident, event.ids, [question.id], move, person))
        for code in done.refused.values():
            await self.turn_away((question,), person.identity, code)

    async def _which(self, ids: Sequence[str], said: Annotated, waiting: Sequence[Suspension]) -> None:
        pages = {one.ask.ref: await self.only_at(one) for one in waiting}
        message = words.which(await self.shown(waiting[0]), pages) if waiting else None
        if waiting and await self.people.person(said.user) is None:
            message = None
            await self.turn_away(waiting, f"{CHANNEL}:{said.user}", "unknown_person")
        sayings = self._help(said.where.incident, "which", waiting[0] if waiting else None, message)
        await self.incidents.remember(ids, *sayings)

    def _help(
        self, incident: str, lack: str, question: Suspension | None, message: Message | None
    ) -> tuple[Saying, ...]:
        """How to answer: once for each incident and lack, because people also talk there."""
        if message is None or question is None:
            return ()
        return (Saying([self._row(incident, question, message)], once=(Marker.HELPED, f"{incident} {lack}")),)

    # --- The decision field ---------------------------------------------------------------------------------------

    async def fields(self, event: WebhookEvent, said: FieldsSet) -> Taken:
        """A choice from a list, or a text, in the configured custom field."""
        value = said.fields.get(self.decision_field) if self.decision_field is not None else None
        if value is None:
            return Taken.DONE
        if said.user is None:
            return await self.nobody(event.ids, UncountedReply(said.where, None, "not_a_person"))
        found = await self.lookup.questions(said.where, Certainty.ANSWER)
        if not found.questions:
            return unless_early(found)
        # A field holds one value for the whole incident: it answers where only one question can be meant.
        if len(found.questions) > 1:
            log.info("pagerduty.field_ignored", reason="which_question")
            waiting = tuple(one for one in found.questions if one.is_open)
            await self._which(event.ids, Annotated(said.where, said.user, value), waiting)
            return Taken.DONE
        note, tagged = IncidentNote(found.questions[0].ask.ref, value), read_note(value)
        if tagged.ref is not None:
            note = tagged
        if _means(note, found.questions[0]):
            await self._read(event, Annotated(said.where, said.user, value), note, found.questions[0])
        else:
            await self.incidents.remember(event.ids)
        return Taken.DONE

    # --- What never counts ----------------------------------------------------------------------------------------

    async def nobody(self, ids: Sequence[str], said: UncountedReply) -> Taken:
        found = await self.lookup.questions(said.where, Certainty.CLAIM)
        by = CHANNEL if said.by is None else f"{CHANNEL}:{said.by}"
        log.info("pagerduty.note_ignored", reason=said.reason)
        await self.turn_away(found.questions, by, said.reason)
        if found.questions:
            await self.incidents.remember(ids)
        return unless_early(found)

    async def turn_away(self, questions: Iterable[Suspension], by: str, reason: str) -> None:
        """An entry on the timeline of each open question, once for each person and reason."""
        for question in questions:
            if question.is_open:
                await self.incoming.turned_away(question.id, by, CHANNEL, reason)

    # --- Answering ------------------------------------------------------------------------------------------------

    async def give(self, ids: Sequence[str], incident: str, question: Suspension, given: GivenAnswer) -> None:
        """After a crash the answer is repeated and found to be recorded: its author is told once."""
        message = await self._told(question, given)
        if message is None:
            await self.incidents.remember(ids)
        else:
            await self.incidents.remember(ids, Saying([self._row(incident, question, message)]))

    async def _told(self, question: Suspension, given: GivenAnswer) -> Message | None:
        ref, identity = question.ask.ref, given.by.identity
        done = await self.engine.respond(given, question)
        now = done.suspension or question
        shown = await self.shown(now)
        if isinstance(done, Recorded | Counted):
            log.info("pagerduty.answer_recorded", ref=ref)
        else:
            log.info("pagerduty.answer_refused", ref=ref, code=done.error.code)
        match done:
            case Recorded() | Counted() | AlreadyYours():  # its end is told by its withdrawal
                return words.recorded(shown, identity) if now.is_open else None
            case TooLate(error=error) if now.undoable is not None:
                return words.not_recorded(shown, identity, error.message)
            case TooLate():
                return words.too_late(shown, identity, await self.engine.queries.agent_told(now.id))
            case NotAnAnswer(error=NotShownWhole()):
                return words.open_first(shown, identity, self._page(now))
            case NotYours(error=error):
                await self.turn_away((now,), identity, error.code)
                return words.not_recorded(shown, identity, error.message)
            case NotAnAnswer(error=error):
                return words.not_recorded(shown, identity, self.channel_views.text_on(CHANNEL, error.message))

    def _row(self, incident: str, question: Suspension, message: Message) -> Row:
        return tell_row(message, Address(CHANNEL, incident_place(incident)), self.incidents.clock.now(), question.id)

    # --- Who may ----------------------------------------------------------------------------------------------------

    async def with_assignment(
        self, person: Actor, user: str, where: Where, questions: Iterable[Suspension], at: datetime | None = None
    ) -> Actor:
        """``person`` with the rights of an assignee: they may answer every question asked through PagerDuty. ``at`` is
        the time of ``where``, if it names the assignees.

        Only people whom this service may ask anyway: anybody can be made a user of PagerDuty's.
        """
        if not self.assignees_may or not self.permissions.responders.allowed(person.identity):
            return person
        incident = await self.incidents.database.read(lambda conn: kept.get(conn, where.incident))
        known, known_at = (incident.assignees, incident.assigned_at) if incident is not None else ((), None)
        newer = at is not None and (known_at is None or known_at <= at)
        newest = where.assignees if newer and where.assignees is not None else known
        if user not in newest:
            return person
        asked = (step for one in questions for step in one.ask.attempts[: one.attempt] if step.channel == CHANNEL)
        return replace(person, proven=person.proven | {name for step in asked for name in step.recipients})

    async def only_at(self, question: Suspension) -> str | None:
        """The question's page, if the incident shows only a part of it and no note can answer it."""
        return self._page(question) if await self.channel_views.must_open(CHANNEL, question) else None

    def _page(self, question: Suspension) -> str:
        return f"{self.public_url}/q/{question.ask.ref}"

    async def shown(self, question: Suspension) -> Suspension:
        return await self.channel_views.shown_on(CHANNEL, question)


def _means(note: IncidentNote, question: Suspension) -> bool:
    return note.ref in {None, question.ask.ref}
