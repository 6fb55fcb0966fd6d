"""PagerDuty events, and what each means for the questions of its incident.

An acknowledgement is a claim, or the answer that the agent has marked. A note or the decision field may be an answer.
Resolving decides nothing. Claims are computed from everything that was done to the incident
(``core.domain.incident_claims``), so that late, repeated and swapped events change nothing twice.

Source: API.md §3, §6; facts on channels §C5, §C6, §F; docs/decisions/0024.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

import structlog

from bot.inbound.pagerduty.answers import PagerDutyAnswers, Taken, WebhookEvent, unless_early
from bot.inbound.pagerduty.identity import CHANNEL, PagerDutyPeople
from bot.inbound.pagerduty.incident_lookup import Certainty, FoundQuestions, Lookup
from bot.inbound.pagerduty.texts import undecided
from channels.pagerduty.incidents import incident_place
from channels.pagerduty.webhooks import (
    Acknowledged,
    Annotated,
    FieldsSet,
    Happening,
    Ignored,
    Mentioned,
    Merged,
    Reassigned,
    Resolved,
    Unacknowledged,
    UncountedReply,
    Where,
)
from core.database.database import Tx
from core.delivery.lost_withdrawals import Sighting, Sign
from core.domain.answers import GivenAnswer
from core.domain.incident_claims import IncidentChange, Move
from core.domain.people import Actor, Address
from core.domain.suspension import Suspension, Via
from core.inbound.incidents import Also, Heard, Incidents, nothing
from core.store.markers import Marker
from core.store.outbox import Row, tell_row

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Rules:
    """The configured rules (``pagerduty.…``)."""

    retrigger_when_resolved: bool = False
    assignees_may_answer: bool = False


@dataclass(frozen=True, slots=True)
class PagerDutyMeaning:
    """Takes events one at a time; any number of replicas may do so at once."""

    incidents: Incidents
    lookup: Lookup
    people: PagerDutyPeople
    answers: PagerDutyAnswers
    rules: Rules = field(default_factory=Rules)

    async def take(self, event: WebhookEvent) -> Taken:
        """Raises ``ApiUnavailable`` or ``DatabaseUnavailable``: then nothing was remembered, and it may come again."""
        happening = event.webhook.happening
        if isinstance(happening, Merged):  # before it is forgotten what they were about
            await self._sight(event, happening.where, Sign.GONE, happening.into)
        taken = await self._take(event)
        if taken is Taken.DONE and not isinstance(happening, Merged | Ignored):
            await self._sight(event, happening.where, _sign(happening))
        return taken

    async def _sight(self, event: WebhookEvent, where: Where, sign: Sign, into: str | None = None) -> None:
        """Whether the incident still asks its questions, in case they have ended."""
        questions = await self.lookup.kept(where)
        await self.incidents.sighted(Sighting(where.incident, questions, sign, event.at, into))

    async def _take(self, event: WebhookEvent) -> Taken:  # noqa: PLR0911 (one for each kind of event)
        happening = event.webhook.happening
        match happening:
            case Acknowledged(where, user):
                return await self._acknowledged(event, where, user)
            case Unacknowledged(where):
                return await self._given_back(
                    event, where, IncidentChange.REOPENED if happening.reopened else IncidentChange.GIVEN_BACK
                )
            case Resolved(where, user):
                return await self._resolved(event, where, user)
            case Merged(where, into):
                await self.incidents.merged(event.ids, (where.incident, into))
            case Reassigned(where):
                return await self._assigned(event, where)
            case Annotated():
                return await self.answers.note(event, happening)
            case FieldsSet():
                return await self.answers.fields(event, happening)
            case UncountedReply():
                return await self.answers.nobody(event.ids, happening)
            case Mentioned():
                pass
            case Ignored(reason):
                log.info("pagerduty.webhook_ignored", reason=reason)
            case _ as unknown:
                assert_never(unknown)
        return Taken.DONE

    # --- Who is on it ---------------------------------------------------------------------------------------------

    async def _acknowledged(self, event: WebhookEvent, where: Where, user: str) -> Taken:
        found = await self.lookup.questions(where, Certainty.CLAIM)
        if not found.questions:
            return unless_early(found)
        person = await self.people.person(user)
        marked = await self._marked(where, found)
        if person is None:
            await self.answers.turn_away(found.questions, f"{CHANNEL}:{user}", "unknown_person")
        elif marked is not None:
            question, choice = marked
            person = await self.answers.with_assignment(person, user, where, [question], event.at)
            via = Via(CHANNEL, user, message_id=event.key)
            given = GivenAnswer(question.id, person, CHANNEL, choice=choice, via=via)
            await self.answers.give(event.ids, where.incident, question, given)
            return Taken.DONE
        await self._move(event, where, found, IncidentChange.ACKNOWLEDGED, person, user)
        return Taken.DONE

    async def _marked(self, where: Where, found: FoundQuestions) -> tuple[Suspension, int] | None:
        """The question and the one choice that an acknowledgement stands for, if both are beyond doubt."""
        if len(found.questions) != 1 or (marked := _marked(found.questions[0])) is None:
            return None
        ask = found.questions[0].ask
        is_negative = ask.is_negative(ask.choices[marked].value)
        if not is_negative and await self.answers.only_at(found.questions[0]) is not None:
            return None  # nobody has been told there that it answers
        sure = await self.lookup.questions(where, Certainty.ANSWER)
        choice = _marked(sure.questions[0]) if len(sure.questions) == 1 else None
        return None if choice is None else (sure.questions[0], choice)

    async def _given_back(self, event: WebhookEvent, where: Where, did: IncidentChange) -> Taken:
        found = await self.lookup.questions(where, Certainty.CLAIM)
        if not found.questions:
            return unless_early(found)
        await self._move(event, where, found, did, None, None)
        return Taken.DONE

    async def _resolved(self, event: WebhookEvent, where: Where, user: str | None) -> Taken:
        """The person who resolves it has seen it. Open questions still need a decision, and the incident says so
        once; if so configured, it pages once more."""
        found = await self.lookup.questions(where, Certainty.CLAIM)
        if not found.questions:
            return unless_early(found)
        person = await self.people.person(user) if user is not None else None
        shown = {one.id: await self.answers.shown(one) for one in found.questions}
        pages = {one.id: await self.answers.only_at(one) for one in found.questions}

        def say_so(tx: Tx, question: Suspension) -> Sequence[Row]:
            if not self.incidents.once(tx, Marker.UNDECIDED, f"{where.incident} {question.id}"):
                return ()
            again: Sequence[Row] = ()
            if self.rules.retrigger_when_resolved and self.incidents.once(tx, Marker.PAGED_AGAIN, question.id):
                again = self.incidents.page_again(tx, question)
            message = undecided(shown[question.id], pages[question.id], " It is paged once more." if again else "")
            place = Address(CHANNEL, incident_place(where.incident))
            return (tell_row(message, place, self.incidents.clock.now(), question.id), *again)

        await self._move(event, where, found, IncidentChange.RESOLVED, person, user, say_so)
        return Taken.DONE

    async def _move(
        self,
        event: WebhookEvent,
        where: Where,
        found: FoundQuestions,
        did: IncidentChange,
        person: Actor | None,
        user: str | None,
        also: Also = nothing,
    ) -> None:
        if person is not None and user is not None:
            person = await self.answers.with_assignment(person, user, where, found.questions, event.at)
        move = Move(event.key, event.at, did, None if person is None else person.identity)
        assignees = where.assignees if self.rules.assignees_may_answer else None
        heard = Heard(where.incident, event.ids, found.ids, move, person, assignees)
        done = await self.incidents.moved(heard, also)
        log.info("pagerduty.moved", did=did.value, repeated=done.repeated, refused=sorted(set(done.refused.values())))
        for question in found.questions:
            code = done.refused.get(question.ask.ref)
            if code is not None and person is not None:
                await self.answers.turn_away((question,), person.identity, code)

    # --- Whose it is ----------------------------------------------------------------------------------------------

    async def _assigned(self, event: WebhookEvent, where: Where) -> Taken:
        """For a new incident the look-up is enough: it is known from then on, and its page has arrived."""
        found = await self.lookup.questions(where, Certainty.CLAIM)
        if found.questions and self.rules.assignees_may_answer and where.assignees is not None:
            await self.incidents.assigned(where.incident, event.ids, where.assignees, event.at)
        return unless_early(found)


def _sign(happening: Happening) -> Sign:
    match happening:
        case Resolved():
            return Sign.GONE
        case Acknowledged() | Unacknowledged() | Reassigned():
            return Sign.ASKS
        case _:
            return Sign.MENTIONED


def _marked(question: Suspension) -> int | None:
    """The index of the one choice that an acknowledgement stands for; ``None`` if there would be two."""
    marked = [index for index, choice in enumerate(question.ask.choices) if choice.on_acknowledge]
    return marked[0] if len(marked) == 1 else None
