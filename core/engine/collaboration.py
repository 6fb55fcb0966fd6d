"""Collaboration: hand a question over, ask the agent back, clarify.

Each is one transition of the machine. Its conditions are checked here, in the same transaction.

Source: API.md §2, ``assign``, ``clarify``, ``clarification``; docs/decisions/0009, 0010.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue

from core.database.database import Tx
from core.domain import clarification, quorum
from core.domain.channels import RecipientKind
from core.domain.intent import Intent
from core.domain.people import Actor, Person, Role
from core.domain.suspension import Kind, Suspension
from core.domain.vocabulary import OPENED, REVEALED, AskedBack, Assigned, Clarified, Event
from core.domain.wire import instant
from core.engine.engine import Engine
from core.engine.permissions import Permissions, check_claim
from core.engine.planning import parse_named
from core.engine.queries import Queries
from core.engine.reception import check_unanswered
from core.engine.recipients import personal_address
from core.engine.transitions import Transitions
from core.errors import (
    AlreadyAnswered,
    ClarificationOpen,
    ClarificationsSpent,
    InvalidRecipient,
    NoRecipient,
    NotFound,
    NothingToClarify,
    RecipientNotAllowed,
    SuspensionEnded,
)
from core.idempotency import IdempotentRequest, Replayed
from core.store import event_log


@dataclass(frozen=True, slots=True)
class Collaboration:
    """``engine`` moves suspensions; ``transitions`` writes them down."""

    engine: Engine
    permissions: Permissions
    queries: Queries
    transitions: Transitions

    async def assign(
        self, suspension_id: str, by: Actor, to: str, once: IdempotentRequest | None = None
    ) -> Suspension | Replayed:
        """Hand over to one person, who is asked at once and may answer from now on.

        The person is one of the directory, or has a key that is named like their e-mail. By whoever may answer, or an
        admin. Raises :class:`NotAResponder`, :class:`ClaimedByAnother` if somebody else is on it,
        :class:`InvalidRecipient`, :class:`RecipientNotAllowed` or :class:`NoRecipient`.
        """
        recipient = parse_named(to, "to")
        if recipient.kind is not RecipientKind.PERSON:
            raise InvalidRecipient("A question is handed over to one person: give an e-mail.", recipient=to, path="to")
        person = self.permissions.responders.identity_of(recipient.value)

        def change(tx: Tx, suspension: Suspension, intent: Intent, now: datetime) -> Suspension:
            check_unanswered(suspension)
            if not by.has(Role.ADMIN):
                self.permissions.check(suspension, by)
                check_claim(suspension, by, now)
            signal = Assigned(person, by.identity, self._channel_of(suspension, person))
            return self.transitions.move(tx, suspension, signal, intent, now).suspension

        return await self.engine.change(suspension_id, by, change, once)

    def others(self, suspension: Suspension, by: Actor) -> list[Person]:
        """To whom of the directory ``by``, who is in it too, could hand the question over now; for :meth:`assign`.

        Nobody else is shown who is in the directory: a link may have gone to any mailbox.
        """
        if by.person is None or not suspension.is_open:
            return []
        everybody = self.permissions.responders.everybody()
        return [one for one in everybody if one.email != by.identity and self._could_be_asked(suspension, one.email)]

    def _could_be_asked(self, suspension: Suspension, person: str) -> bool:
        try:
            self._channel_of(suspension, person)
        except (RecipientNotAllowed, NoRecipient):
            return False
        return True

    def _channel_of(self, suspension: Suspension, person: str) -> str:
        """Where the person is asked; on the channel of the attempt that is out, if they can be."""
        responders = self.permissions.responders
        if not responders.is_known(person):
            message = f"{person} is not in the directory, and has no key: a question is handed over to somebody known."
            raise RecipientNotAllowed(message, path="to")
        if not responders.allowed(person):
            message = f"{person} is not among the recipients that this service may ask."
            raise RecipientNotAllowed(message, path="to")
        if self.permissions.asks_for_itself(suspension, responders.actor(person)) and not self.permissions.allow_self:
            raise RecipientNotAllowed(
                f"{person} asked this question, or it is asked on their behalf: they may not answer it.", path="to"
            )
        if quorum.answer_of(suspension, person) is not None:
            raise RecipientNotAllowed(f"{person} has already answered.", path="to")
        current = suspension.ask.planned(suspension.attempt).channel
        channels = self.transitions.channels
        ways = {name: one for name, one in channels.items() if one.takes_messages or name == current}
        address = personal_address(responders, ways, person, current)
        if address is None:
            raise NoRecipient(f"{person} can't be reached in person on any channel.", path="to")
        return address.channel

    async def clarify(
        self, suspension_id: str, by: Actor, question: str, once: IdempotentRequest | None = None
    ) -> Suspension | Replayed:
        """Ask the agent back: the clock holds until it says more, for a bounded time.

        By whoever may answer. Raises :class:`NotAResponder`, :class:`ClarificationOpen` or
        :class:`ClarificationsSpent`.
        """

        def change(tx: Tx, suspension: Suspension, intent: Intent, now: datetime) -> Suspension:
            check_unanswered(suspension)
            self.permissions.check(suspension, by)
            _check_may_ask_back(suspension)
            return self.transitions.move(tx, suspension, AskedBack(question, by.identity), intent, now).suspension

        return await self.engine.change(suspension_id, by, change, once)

    async def opened(self, suspension: Suspension, by: Actor) -> None:
        """Somebody who may answer has a veto's page before them: the log says who, once for each. Of other questions,
        and of those that have ended, nothing is noted."""
        if suspension.ask.kind is not Kind.VETO or not suspension.is_open:
            return
        if by.identity in await self.engine.database.read(lambda conn: event_log.opened_by(conn, suspension)):
            return

        def change(tx: Tx, found: Suspension, intent: Intent, now: datetime) -> Suspension:
            if by.identity not in event_log.opened_by(tx.conn, found):
                payload: dict[str, JsonValue] = {"suspension_id": found.id, "opened_by": by.identity}
                self.transitions.note(tx, found, (Event(OPENED, payload, by.identity),), intent, now)
            return found

        with contextlib.suppress(AlreadyAnswered, SuspensionEnded):
            await self.engine.change(suspension.id, by, change)

    async def reveal(self, suspension_id: str, by: Actor) -> Suspension | Replayed:
        """Somebody who may answer is about to see what redaction hides: the log says who, and when.

        Raises :class:`NotAResponder`, :class:`SelfResponseForbidden`, or the truth about a question that has ended.
        """

        def change(tx: Tx, suspension: Suspension, intent: Intent, now: datetime) -> Suspension:
            self.permissions.check(suspension, by)
            payload = {"suspension_id": suspension.id, "revealed_to": by.identity}
            self.transitions.note(tx, suspension, (Event(REVEALED, payload, by.identity),), intent, now)
            return suspension

        return await self.engine.change(suspension_id, by, change)

    async def clarification(
        self, suspension_id: str, by: Actor, text: str, once: IdempotentRequest | None = None
    ) -> Suspension | Replayed:
        """Record what the agent says to a question back: the clock goes on, and whoever asked is told.

        By the creator, or an admin; :class:`NotFound` for anybody else. Raises :class:`NothingToClarify`.
        """
        found = await self.queries.get(suspension_id)
        if found is None or not (by.key == found.ask.created_by or by.has(Role.ADMIN)):
            raise NotFound("There is no such suspension.")

        def change(tx: Tx, suspension: Suspension, intent: Intent, now: datetime) -> Suspension:
            if clarification.awaited(suspension) is None:
                raise NothingToClarify("Nobody has asked back, or it is answered already.")
            return self.transitions.move(tx, suspension, Clarified(text, by.identity), intent, now).suspension

        return await self.engine.change(suspension_id, by, change, once)


def _check_may_ask_back(suspension: Suspension) -> None:
    asked = suspension.asks_back
    if asked is not None:
        message = f"{asked.by} has asked the agent back already."
        raise ClarificationOpen(message, asked_by=asked.by, held_until=instant(asked.until))
    if len(suspension.clarifications) >= clarification.MOST:
        raise ClarificationsSpent(f"A question can be asked back {clarification.MOST} times at most.")
