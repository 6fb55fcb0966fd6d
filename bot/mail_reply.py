"""What a reply by mail does: what it says, what is recorded and what is written back.

Source: API.md §4; facts on mail §B3, §F.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import assert_never

import structlog

from bot.mail_return import CHANNEL, MOST_AN_HOUR, TOO_MANY
from bot.mail_senders import Senders, is_from
from bot.mail_words import (
    answered_before_mail,
    claimed_mail,
    clarification_mail,
    confirmation_mail,
    disagreeing_mail,
    not_held_mail,
    partly_mail,
    too_late_mail,
    unverified_mail,
)
from channels.email.authentication import SenderAuth
from channels.email.classify import MailKind
from channels.email.replies import Inbound, MailRules
from channels.forms import form_schema_of
from channels.grammar import ClaimWord, Matched, Nothing, Reading, Unclear, read_answer
from core.correspondence import Line, Understood, Written
from core.domain.answering import GivenAnswer
from core.domain.notice import Message, shown_choices
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

log = structlog.get_logger(__name__)

_STRANGERS = "?"
"""Among whom a mail counts whose sender is not known: they never use up what a person may send."""


@dataclass(frozen=True, slots=True)
class _Reaction:
    """``reason`` says why nothing was recorded, ``None`` where something was; ``kind`` names what is written back."""

    reason: str | None
    kind: str
    message: Message


class Replies:
    """Says, and does, what a reply amounts to."""

    def __init__(self, engine: Engine, rules: MailRules, page: Callable[[Holder], str]) -> None:
        self._engine = engine
        self._mail = engine.correspondence
        self._senders = Senders(engine, rules)
        self._page = page

    async def understood(self, mail: Inbound) -> Understood:
        """An answer or a claim is recorded by now; everything else is left to be written down with the mail itself.

        Raises :class:`core.errors.DatabaseUnavailable`.
        """
        held = await self._senders.holders(mail)
        if not held:
            log.info("mail.ignored", mail=mail.digest[:12], reason="unknown_token" if mail.tokens else "no_token")
            return Understood(CHANNEL, (mail.digest,))
        mine = [one for one in held if is_from(mail, one)]
        distrust = await self._senders.distrust(mail, mine)
        if distrust is not None:
            return await self._unverified(mail, mine or held, distrust)
        return await self._trusted(mail, [*mine, *await self._senders.others(mail, mine[0])])

    async def _trusted(self, mail: Inbound, mine: Sequence[Holder]) -> Understood:
        """``mine`` are the sender's own questions that the mail is a reply to, the one that it was brought to first."""
        holder = mine[0]
        keys = (mail.digest, *_name_of(mail, holder))
        if await self._mail.is_settled(CHANNEL, keys):
            log.info("mail.ignored", mail=mail.digest[:12], reason="duplicate")
            return Understood(CHANNEL, keys)
        group = _group(holder, _mark(holder.actor.identity))
        lately = await self._mail.lately(CHANNEL, group)
        if lately >= MOST_AN_HOUR:
            lines = _lines([holder], TOO_MANY) if lately == MOST_AN_HOUR else ()
            return Understood(CHANNEL, keys, lines, groups=(group,))
        reaction = await self._react(mail, mine)
        lines = () if reaction.reason is None else _lines(mine, reaction.reason, holder.actor.identity)
        return Understood(CHANNEL, keys, lines, written=_written(reaction, holder), groups=(group,))

    async def _unverified(self, mail: Inbound, held: Sequence[Holder], reason: str) -> Understood:
        """Nothing is recorded. The person whose token it is may have written it, and is told where to answer."""
        holder = held[0]
        group = _group(holder, _STRANGERS)
        lately = await self._mail.lately(CHANNEL, group)
        lines = _lines(held, TOO_MANY if lately == MOST_AN_HOUR else reason) if lately <= MOST_AN_HOUR else ()
        suspension, written = holder.suspension, None
        if suspension.is_open and self._engine.may_answer(suspension, holder.actor) is None:
            shown, page = self._shown(suspension), self._page(holder)
            link_only = reason == SenderAuth.LINK_ONLY
            message = clarification_mail(shown, reason, page) if link_only else unverified_mail(shown, page)
            written = _written(_Reaction(reason, "link", message), holder)
        return Understood(CHANNEL, (mail.digest,), lines, written=written, groups=(group,))

    # --- What does it say? ----------------------------------------------------------------------------------------

    async def _react(self, mail: Inbound, mine: Sequence[Holder]) -> _Reaction:
        holder = mine[0]
        if len({one.suspension.id for one in mine}) > 1:
            return await self._unclear(holder, "two_questions")
        reading = _reading(mail, holder.suspension, self._shown(holder.suspension))
        log.info("mail.read", mail=mail.digest[:12], ref=holder.suspension.ask.ref, reading=_name(reading))
        try:
            return await self._carry_out(reading, holder)
        except (AlreadyAnswered, SuspensionEnded) as late:
            return await self._too_late(holder, late)
        except AnswersDisagree as differs:
            current = await self._engine.get(holder.suspension.id) or holder.suspension
            return _Reaction(differs.code, "not_counted", disagreeing_mail(self._shown(current)))
        except ClaimedByAnother as held:
            said = not_held_mail(self._shown(holder.suspension), held.message)
            return _Reaction(held.code, "not_held", said)
        except (SuspensionError, CallerError) as refused:
            why = self._engine.redaction.text_on(CHANNEL, refused.message)
            return self._ask_again(holder, why, refused.code)

    async def _carry_out(self, reading: Reading, holder: Holder) -> _Reaction:
        match reading:
            case Matched():
                return await self._answer(reading, holder)
            case ClaimWord():
                claimed = await self._engine.claim(holder.suspension.id, holder.actor, CHANNEL)
                return _Reaction(None, "claimed", claimed_mail(self._shown(claimed), self._zone(holder)))
            case Unclear(reason):
                return await self._unclear(holder, reason)
            case Nothing():
                return await self._unclear(holder, "empty")
            case _ as unknown:
                assert_never(unknown)

    async def _answer(self, reading: Matched, holder: Holder) -> _Reaction:
        value = reading.value if reading.index is None else None
        given = GivenAnswer(
            holder.suspension.id, holder.actor, CHANNEL, value=value, choice=reading.index, reason=reading.reason
        )
        return self._recorded(await self._engine.respond(given), holder)

    def _recorded(self, done: Suspension, holder: Holder) -> _Reaction:
        shown = self._shown(done)
        if done.is_open:
            return _Reaction(None, "partly", partly_mail(shown, holder.actor.identity))
        return _Reaction(None, "recorded", confirmation_mail(shown))

    async def _too_late(self, holder: Holder, late: SuspensionError) -> _Reaction:
        """The truth; where it is the person's own answer that comes again, that it was recorded."""
        current = await self._engine.get(holder.suspension.id) or holder.suspension
        if late.details.get("same_answer") is True:
            return self._recorded(current, holder)
        if current.is_open:
            said = answered_before_mail(self._shown(current), holder.actor.identity)
            return _Reaction(late.code, "not_counted", said)
        return _Reaction("too_late", "too_late", too_late_mail(self._shown(current), self._zone(holder)))

    async def _unclear(self, holder: Holder, reason: str) -> _Reaction:
        current = await self._engine.get(holder.suspension.id)
        if current is not None and not current.is_open:
            return _Reaction("too_late", "too_late", too_late_mail(self._shown(current), self._zone(holder)))
        return self._ask_again(holder, reason, reason)

    def _ask_again(self, holder: Holder, why: str, reason: str) -> _Reaction:
        return _Reaction(
            reason, "clarification", clarification_mail(self._shown(holder.suspension), why, self._page(holder))
        )

    def _zone(self, holder: Holder) -> tzinfo | None:
        """Whose times they read."""
        return self._engine.responders.time_zone(holder.actor.identity)

    def _shown(self, suspension: Suspension) -> Suspension:
        """As it may be quoted in a mail."""
        return self._engine.redaction.shown_on(CHANNEL, suspension)


def _reading(mail: Inbound, suspension: Suspension, shown: Suspension) -> Reading:
    """Choices are named as they were shown; a form's fields are those that the agent asked for."""
    ask = suspension.ask
    schema = form_schema_of(ask.form_schema, ask.context)
    reading = read_answer(mail.words.lines, ask.response_type, shown_choices(shown.ask.choices), schema)
    return Unclear("below_quote") if isinstance(reading, Nothing) and mail.words.below else reading


def _name(reading: Reading) -> str:
    return reading.reason if isinstance(reading, Unclear) else type(reading).__name__.lower()


def _name_of(mail: Inbound, holder: Holder) -> tuple[str, ...]:
    """By what a mail is known that comes by two doors, with other trace fields in each. Only an authentic one is known
    by it: nobody takes somebody else's reply away by sending one of the same name first."""
    if not mail.message_id:
        return ()
    named = "\n".join((mail.message_id, holder.actor.identity, holder.suspension.id))
    return (f"message-id:{hashlib.sha256(named.encode()).hexdigest()}",)


def _group(holder: Holder, who: str) -> str:
    return f"{holder.suspension.id}:{who}"


def _mark(identity: str) -> str:
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


def _lines(held: Sequence[Holder], reason: str, by: str | None = None) -> tuple[Line, ...]:
    """One for each question."""
    each = {one.suspension.id: one for one in reversed(held)}.values()
    return tuple(Line(one.suspension.id, MailKind.REPLY.value, reason, one.actor.identity, by) for one in each)


def _written(reaction: _Reaction, holder: Holder) -> Written:
    person = _mark(holder.actor.identity)
    return Written(reaction.kind, reaction.message, holder.address, person, holder.suspension.id)
