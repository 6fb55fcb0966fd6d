"""Mail that has come in through any door: read, answered once.

Whatever a mail says, it is taken: only the database being away is a reason to bring it again. Nothing is
ever written to anybody but the person a token was made for, and nothing because of a bounce, an automatic reply, a
list or our own mail.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import assert_never

import structlog

from bot.mail_words import (
    claimed_mail,
    clarification_mail,
    confirmation_mail,
    not_counted_mail,
    not_held_mail,
    partly_mail,
    too_late_mail,
)
from channels.email.authentication import SenderAuth
from channels.email.classify import MailKind
from channels.email.replies import Inbound, MailRules, read_mail
from channels.forms import form_schema_of
from channels.grammar import ClaimWord, Matched, Nothing, Reading, Unclear, read_answer
from core.domain.answering import GivenAnswer
from core.domain.notice import Message, Purpose, shown_choices
from core.domain.people import canonical
from core.domain.suspension import Suspension
from core.engine import Engine, Holder
from core.errors import (
    AlreadyAnswered,
    AnswersDisagree,
    CallerError,
    ClaimedByAnother,
    SuspensionEnded,
    SuspensionError,
)
from core.ports import Clock
from core.tokens import TokenPurpose

log = structlog.get_logger(__name__)

CHANNEL = "email"
_MOST_TOKENS = 5
"""Tokens of one mail that are looked up."""
_READ_ASIDE = 100_000
"""A mail of more bytes is parsed in a thread, so that nobody else waits for it."""


@dataclass(frozen=True, slots=True)
class _Told:
    """What to write back, and to whom."""

    message: Message
    holder: Holder


@dataclass(frozen=True, slots=True)
class Arrival:
    """One mail as a door took it in. ``raw`` is RFC 5322. ``sender`` is MAIL FROM (empty for ``<>``) and
    ``recipients`` RCPT TO, ``None`` and empty where the door does not know them; the envelope stands above the
    headers. ``door`` names the way in: ``webhook``, ``lmtp``, ``imap``.
    """

    raw: bytes = field(repr=False)
    door: str
    sender: str | None = None
    recipients: tuple[str, ...] = ()


class MailInbox:
    """Takes mail in, for every door. ``page`` gives the answer page of the person a token was made for."""

    def __init__(self, engine: Engine, clock: Clock, rules: MailRules, page: Callable[[Holder], str]) -> None:
        self._engine = engine
        self._clock = clock
        self._rules = rules
        self._page = page

    async def take(self, arrived: Arrival) -> None:
        """Act upon a mail, once, however often and through however many doors it comes. Raises only
        :class:`core.errors.DatabaseUnavailable`: nothing was lost then, and the same mail may come again.
        """
        raw = arrived.raw
        mail = await asyncio.to_thread(read_mail, raw, self._rules) if len(raw) > _READ_ASIDE else self._read(raw)
        if await self._engine.was_seen(CHANNEL, mail.digest):
            log.info("mail.ignored", mail=mail.digest[:12], reason="duplicate")
            return
        told = await self._act(mail)
        # Remembered only now: a crash before this lets the mail come again, and the engine knows the answer already.
        is_first = not await self._engine.seen(CHANNEL, mail.digest)
        if told is not None and is_first and await self._may_write(told):
            await self._engine.tell(told.message, told.holder.address, told.holder.suspension.id)

    async def knows(self, address: str) -> bool:
        """Whether a mail to ``address`` (RCPT TO) can concern anything here: the reply address of a question that is
        open or has ended (who comes late is told the truth), or the envelope sender of a mail that we sent.

        One look-up by key. Raises :class:`core.errors.DatabaseUnavailable`.
        """
        ours, incoming = self._rules.ours, self._engine.incoming
        token, delivery = ours.token_in(address), ours.delivery_in(address)
        if token is not None:
            return await incoming.knows_token(token, TokenPurpose.MAIL)
        return delivery is not None and await incoming.knows_delivery(delivery, CHANNEL)

    def _read(self, raw: bytes) -> Inbound:
        return read_mail(raw, self._rules)

    # --- Who is it, and about what? -------------------------------------------------------------------------------

    async def _act(self, mail: Inbound) -> _Told | None:
        holder = await self._recipient(mail)
        if isinstance(holder, str):
            log.info("mail.ignored", mail=mail.digest[:12], reason=holder)
            return None
        if self._rules.sender_auth is SenderAuth.LINK_ONLY:
            return await self._unclear(holder, "link_only")
        return await self._take(mail, holder)

    async def _recipient(self, mail: Inbound) -> Holder | str:
        """Whose reply it is, or why it is nobody's. The order is that of the facts on mail §B3."""
        if mail.kind is not MailKind.REPLY:
            return mail.kind.value
        held = [one for token in mail.tokens[:_MOST_TOKENS] if (one := await self._holder(token)) is not None]
        if not held:
            return "unknown_token" if mail.tokens else "no_token"
        mine = [one for one in held if _is_from(mail, one)]
        if not mine:
            return "sender_is_not_the_recipient"
        if len({one.suspension.id for one in mine}) > 1:
            return "two_questions"
        if not mail.authentic and self._rules.sender_auth is not SenderAuth.LINK_ONLY:
            return "not_authenticated"
        return mine[0]

    async def _holder(self, token: str) -> Holder | None:
        return await self._engine.find_by_token(token, TokenPurpose.MAIL)

    # --- What does it say? ----------------------------------------------------------------------------------------

    async def _take(self, mail: Inbound, holder: Holder) -> _Told | None:
        reading = _reading(mail, holder.suspension, self._shown(holder.suspension))
        log.info("mail.read", mail=mail.digest[:12], ref=holder.suspension.ask.ref, reading=_name(reading))
        try:
            return await self._carry_out(reading, holder)
        except (AlreadyAnswered, SuspensionEnded) as late:
            return await self._too_late(holder, late)
        except AnswersDisagree as differs:
            return _Told(not_counted_mail(holder.suspension, differs.message), holder)
        except ClaimedByAnother as held:
            return _Told(not_held_mail(self._shown(holder.suspension), held.message), holder)
        except (SuspensionError, CallerError) as refused:
            log.info("mail.refused", ref=holder.suspension.ask.ref, code=refused.code)
            why = self._engine.redaction.text_on(CHANNEL, refused.message)
            return _Told(clarification_mail(self._shown(holder.suspension), why, self._page(holder)), holder)

    async def _carry_out(self, reading: Reading, holder: Holder) -> _Told | None:
        match reading:
            case Matched():
                return await self._answer(reading, holder)
            case ClaimWord():
                claimed = await self._engine.claim(holder.suspension.id, holder.actor, CHANNEL)
                return _Told(claimed_mail(self._shown(claimed)), holder)
            case Unclear(reason):
                return await self._unclear(holder, reason)
            case Nothing():
                return await self._unclear(holder, "empty")
            case _ as unknown:
                assert_never(unknown)

    async def _answer(self, reading: Matched, holder: Holder) -> _Told | None:
        value = reading.value if reading.index is None else None
        given = GivenAnswer(
            holder.suspension.id, holder.actor, CHANNEL, value=value, choice=reading.index, reason=reading.reason
        )
        done = await self._engine.respond(given)
        shown = self._shown(done)
        said = partly_mail(shown, holder.actor.identity) if done.is_open else confirmation_mail(shown)
        return _Told(said, holder)

    async def _too_late(self, holder: Holder, late: SuspensionError) -> _Told | None:
        ended = await self._engine.get(holder.suspension.id)
        if ended is None:
            return None
        repeated = late.details.get("same_answer") is True
        shown = self._shown(ended)
        if ended.is_open:
            again = partly_mail(shown, holder.actor.identity)
            return _Told(again if repeated else not_counted_mail(shown, late.message), holder)
        return _Told(confirmation_mail(shown) if repeated else too_late_mail(shown), holder)

    async def _unclear(self, holder: Holder, reason: str) -> _Told | None:
        current = await self._engine.get(holder.suspension.id)
        if current is not None and not current.is_open:
            return _Told(too_late_mail(self._shown(current)), holder)
        return _Told(clarification_mail(self._shown(holder.suspension), reason, self._page(holder)), holder)

    def _shown(self, suspension: Suspension) -> Suspension:
        """As it may be quoted in a mail."""
        return self._engine.redaction.shown_on(CHANNEL, suspension)

    async def _may_write(self, told: _Told) -> bool:
        """At most one clarification for a person, a question and an hour (facts on mail §B3)."""
        if told.message.purpose is not Purpose.CLARIFICATION:
            return True
        hour = int(self._clock.now().timestamp()) // 3600
        who = hashlib.sha256(told.holder.actor.identity.encode()).hexdigest()[:16]
        return not await self._engine.seen(CHANNEL, f"clarified:{told.holder.suspension.id}:{who}:{hour}")


def _is_from(mail: Inbound, holder: Holder) -> bool:
    """The token's own recipient wrote it: a forwarded mail leaks the token, not the mailbox."""
    return mail.sender is not None and mail.sender in {canonical(holder.address.value), holder.actor.identity}


def _reading(mail: Inbound, suspension: Suspension, shown: Suspension) -> Reading:
    """Choices are named as they were shown; a form's fields are those that the agent asked for."""
    ask = suspension.ask
    schema = form_schema_of(ask.form_schema, ask.context)
    reading = read_answer(mail.words.lines, ask.response_type, shown_choices(shown.ask.choices), schema)
    return Unclear("below_quote") if isinstance(reading, Nothing) and mail.words.below else reading


def _name(reading: Reading) -> str:
    return reading.reason if isinstance(reading, Unclear) else type(reading).__name__.lower()
