"""Answers by mail: reads a reply, records its answer, and writes back.

Source: API.md §4; facts on mail §B3, §F.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from functools import partial
from typing import assert_never

import structlog
from pydantic import JsonValue

from bot.inbound.mail.bounces import CHANNEL, MOST_AN_HOUR, TOO_MANY
from bot.inbound.mail.echoes import Echo, echo_mail, page_mail
from bot.inbound.mail.identity import MailIdentity
from bot.inbound.mail.texts import (
    barred_mail,
    claimed_mail,
    confirmation_mail,
    link_only_mail,
    not_held_mail,
    open_first_mail,
    partly_mail,
    too_late_mail,
    unverified_mail,
)
from channels.email.authentication import SenderAuth
from channels.email.called_lines import offer_of
from channels.email.classify import MailKind
from channels.email.inbound import Inbound, MailRules, read_reply, with_language
from channels.grammar.forms import as_lines, form_schema_of
from channels.grammar.phrases import first_known
from channels.grammar.reader import Circumstances, ClaimWord, Matched, Nothing, Reading, Unclear, first_line
from core.domain.answers import GivenAnswer
from core.domain.field_words import shown_with
from core.domain.notice import Message, Proposal, shown_choices
from core.domain.reception import (
    AlreadyYours,
    Counted,
    HeldByAnother,
    NotAnAnswer,
    NotYours,
    Recorded,
    TooLate,
    Unclaimed,
)
from core.domain.signature_lines import NOTHING_CALLED, KnownLines, SignatureOffer
from core.domain.suspension import Suspension, Via
from core.domain.wording import AgentTold, okay_is_yes
from core.engine.engine import Engine
from core.engine.queries import Holder
from core.engine.signature_lines import SignatureLines
from core.errors import NotShownWhole
from core.inbound.correspondence import MOST_ECHOES, Correspondence, Offered, TimelineEntry, Understood, WriteBack

log = structlog.get_logger(__name__)

SENT_BY_ANOTHER = "sent_by_another"
"""Somebody who may not answer has sent it in the writer's name."""
NOTHING_MORE: Mapping[str, JsonValue] = {}
SOMEBODY_ELSE = "somebody else"
_LOOKED_AT = 2_000
"""Characters of somebody's words that are shown in part."""
_STRANGERS = "?"
"""Among whom a mail counts whose sender is not known: they never use up what a person may send."""


Words = Callable[[Suspension], Message]
"""Writes a mail about a question, which is given as it may be quoted in a mail."""


@dataclass(frozen=True, slots=True)
class _Reaction:
    """``reason`` says why nothing was recorded, ``None`` if something was; ``kind`` names the mail to write back, in
    ``words`` about the question ``about``."""

    reason: str | None
    kind: str
    about: Suspension
    words: Words
    again: Words | None = None
    """What they get in place of one of that kind too many within the hour: the page's link."""
    offered: SignatureOffer | None = None


class MailAnswers:
    """Understands a reply, and records its answer."""

    def __init__(self, engine: Engine, mail: Correspondence, rules: MailRules, signatures: SignatureLines) -> None:
        self._engine = engine
        self._permissions = engine.permissions
        self._queries = engine.queries
        self._channel_views = engine.channel_views
        self._mail = mail
        self._signatures = signatures
        self._senders = MailIdentity(engine.queries, engine.permissions, mail, rules)

    async def understood(self, mail: Inbound) -> Understood:
        """An answer or a claim is recorded already; the caller records everything else together with the mail itself.

        Raises :class:`core.errors.DatabaseUnavailable`.
        """
        held = await self._senders.holders(mail)
        if not held:
            log.info("mail.ignored", mail=mail.digest[:12], reason="unknown_token" if mail.tokens else "no_token")
            return Understood(CHANNEL, (mail.digest,))
        mine = self._senders.written_by(mail, held)
        distrust = await self._senders.distrust(mail, mine)
        if distrust is not None:
            return await self._unverified(mail, mine or held, distrust)
        barred = self._senders.barred(mail, mine[0])
        if barred is not None:
            return await self._unverified(mail, mine, SENT_BY_ANOTHER, barred)
        return await self._trusted(mail, [*mine, *await self._senders.others(mail, mine[0])])

    async def _trusted(self, mail: Inbound, mine: Sequence[Holder]) -> Understood:
        """``mine`` are the sender's own questions that the mail answers, its first recipient's first."""
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
        identity, offered = holder.actor.identity, reaction.offered
        lines = () if reaction.reason is None else _lines(mine, reaction.reason, identity)
        offer = None if offered is None else Offered(holder.suspension.id, identity, offered)
        written = await self._written(reaction, holder)
        return Understood(CHANNEL, keys, lines, written=written, groups=(group,), offered=offer)

    async def _unverified(
        self, mail: Inbound, held: Sequence[Holder], reason: str, barred: str | None = None
    ) -> Understood:
        """Nothing is recorded. The token's owner may have written it, and is told where to answer. So are the
        readers of a shared mailbox. ``barred`` sent it in the person's name."""
        holder = held[0]
        is_shared = self._permissions.is_shared_mailbox(holder.suspension, holder.address)
        group = _group(holder, _STRANGERS)
        lately = await self._mail.lately(CHANNEL, group)
        details = {} if barred is None else {"sent_by": self._called(barred)}
        why = TOO_MANY if lately == MOST_AN_HOUR else reason
        lines = _lines(held, why, details=details) if lately <= MOST_AN_HOUR else ()
        suspension, written = holder.suspension, None
        if suspension.is_open and (is_shared or self._permissions.refusal(suspension, holder.actor) is None):
            must_open = await self._channel_views.must_open(CHANNEL, suspension)
            if reason == SenderAuth.LINK_ONLY:
                words: Words = link_only_mail
            elif barred is not None:
                words = partial(barred_mail, by=self._called(barred), must_open=must_open)
            else:
                words = partial(unverified_mail, must_open=must_open, is_shared=is_shared)
            written = await self._written(_Reaction(reason, "link", suspension, words), holder)
        return Understood(CHANNEL, (mail.digest,), lines, written=written, groups=(group,))

    def _called(self, identity: str) -> str:
        """Their name. Only people of the directory are named: the field may hold anything."""
        return identity if self._permissions.responders.is_known(identity) else SOMEBODY_ELSE

    # --- What does it say? ----------------------------------------------------------------------------------------

    async def _react(self, mail: Inbound, mine: Sequence[Holder]) -> _Reaction:
        holder = mine[0]
        if len({one.suspension.id for one in mine}) > 1:
            return await self._echo(mail, Unclear("two_questions"), holder)
        known = await self._known(mail, holder)
        called = NOTHING_CALLED if self._is_shared(holder) else await self._signatures.known(holder.actor.identity)
        reading = _reading(mail, holder.suspension, await self._shown(holder.suspension), known, called)
        log.info("mail.read", mail=mail.digest[:12], ref=holder.suspension.ask.ref, reading=_name(reading))
        return await self._carry_out(mail, reading, holder, known)

    async def _carry_out(self, mail: Inbound, reading: Reading, holder: Holder, known: Circumstances) -> _Reaction:
        match reading:
            case Matched():
                return await self._answer(mail, reading, holder)
            case ClaimWord():
                claimed = await self._engine.claim(holder.suspension.id, holder.actor, CHANNEL)
                if not isinstance(claimed, Suspension):
                    return await self._refused(claimed, holder)
                return _Reaction(None, "claimed", claimed, partial(claimed_mail, zone=self._zone(holder)))
            case Unclear():
                return await self._echo(mail, reading, holder, known)
            case Nothing():
                return await self._echo(mail, Unclear("empty"), holder)
            case _ as unknown:
                assert_never(unknown)

    # --- Asking once more -----------------------------------------------------------------------------------------

    async def _known(self, mail: Inbound, holder: Holder) -> Circumstances:
        """What the person may have had before their eyes: the mail that this one answers, and the last one to them.
        If it answers no echo, also the question itself. An echo is answered in its own language, any other mail in
        the one that the directory has for them."""
        told = await self._mail.echoed(holder.suspension.id, holder.address)
        answered = [one for one in told if one.delivery in mail.answers_to][-1:]
        seen = [one.proposal for one in (*answered, *told[-1:])]
        directory = self._permissions.responders.language(holder.actor.identity)
        language = answered[0].language if answered else directory
        return Circumstances(seen if answered else [None, *seen], language, okay_is_yes(holder.suspension.ask))

    def _is_shared(self, holder: Holder) -> bool:
        """Whether several people write from there: one person's signature would be another's words."""
        return self._permissions.is_shared_mailbox(holder.suspension, holder.address)

    async def _echo(
        self, mail: Inbound, reading: Unclear, holder: Holder, known: Circumstances | None = None
    ) -> _Reaction:
        """Nothing is recorded, and the person is asked once more. ``known`` is what their words were read with."""
        current = await self._queries.get(holder.suspension.id)
        if current is not None and not current.is_open:
            return await self._too_late(current, holder)
        suspension = holder.suspension
        must_open = await self._channel_views.must_open(CHANNEL, suspension)
        shown = await self._shown(suspension)
        echo, offered = self._read_as(mail, reading, shown, must_open=must_open), None
        if known is not None and not self._is_shared(holder):
            known = with_language(mail.words, known)
            offered = offer_of(mail.words, shown_choices(shown.ask), reading.first, known)
        echo = replace(echo, zone=self._zone(holder), offers=offered is not None)
        words, instead = partial(echo_mail, echo=echo), partial(page_mail, language=echo.language)
        return _Reaction(reading.reason, "echo", suspension, words, instead, offered)

    def _read_as(self, mail: Inbound, reading: Unclear, shown: Suspension, *, must_open: bool) -> Echo:
        """The reading, as a mail may show it."""
        words = mail.words
        own = words.lines or words.beside
        return Echo(
            reading.reason,
            own=self._text("\n".join(own)[:_LOOKED_AT]),
            first=self._text(first_line(own)[:_LOOKED_AT]),
            proposal=_proposal(reading, shown, must_open=must_open),
            fields=None if reading.meant is None else self._text(as_lines(reading.meant)),
            unfit=None if reading.said is None else shown_with(reading.said, self._text),
            language=first_known((*own, *words.named, *words.signed), shown.ask.question.splitlines()),
            must_open=must_open,
        )

    def _text(self, text: str) -> str:
        return self._channel_views.text_on(CHANNEL, text)

    async def _answer(self, mail: Inbound, reading: Matched, holder: Holder) -> _Reaction:
        value = reading.value if reading.index is None else None
        given = GivenAnswer(
            holder.suspension.id,
            holder.actor,
            CHANNEL,
            value=value,
            choice=reading.index,
            reason=reading.reason,
            via=_via(mail, self._senders.sent_by(mail, holder)),
        )
        done = await self._engine.respond(given, holder.suspension)
        match done:
            case Recorded(now) | Counted(now) | AlreadyYours(now):  # their own, once more, is confirmed once more
                if now.is_open:
                    return _Reaction(None, "partly", now, partial(partly_mail, identity=holder.actor.identity))
                told = await self._queries.agent_told(now.id)
                if isinstance(done, Recorded) and told is AgentTold.TOLD:
                    told = AgentTold.NOT_YET  # by the commit that this confirms it was not, and may be as this goes out
                return _Reaction(None, "recorded", now, partial(confirmation_mail, told=told))
            case _:
                return await self._refused(done, holder)

    async def _refused(self, refusal: TooLate | Unclaimed, holder: Holder) -> _Reaction:
        error = refusal.error
        match refusal:
            case TooLate(now) if now.undoable is not None:
                return await self._ask_again(holder, error.message, error.code)
            case TooLate(ended):
                return await self._too_late(ended, holder)
            case HeldByAnother(now):
                return _Reaction(error.code, "not_held", now, partial(not_held_mail, why=error.message))
            case NotAnAnswer(error=NotShownWhole()):
                return _open_first(holder, error.code)
            case NotYours() | NotAnAnswer():
                return await self._ask_again(holder, shown_with(error.message, self._text), error.code)

    async def _ask_again(self, holder: Holder, why: str, code: str) -> _Reaction:
        """The answer is clear, but not allowed here."""
        suspension = holder.suspension
        must_open = await self._channel_views.must_open(CHANNEL, suspension)
        language = first_known((await self._shown(suspension)).ask.question.splitlines())
        echo = Echo(code, unfit=why, language=language, zone=self._zone(holder), must_open=must_open)
        return _Reaction(code, "clarification", suspension, partial(echo_mail, echo=echo))

    async def _too_late(self, ended: Suspension, holder: Holder) -> _Reaction:
        told = await self._queries.agent_told(ended.id)
        return _Reaction("too_late", "too_late", ended, partial(too_late_mail, told=told, zone=self._zone(holder)))

    def _zone(self, holder: Holder) -> tzinfo | None:
        """The holder's time zone."""
        return self._permissions.responders.time_zone(holder.actor.identity)

    async def _written(self, reaction: _Reaction, holder: Holder) -> WriteBack:
        shown, again = await self._shown(reaction.about), reaction.again
        person, suspension_id = _mark(holder.actor.identity), holder.suspension.id
        to, most = holder.address, 1 if again is None else MOST_ECHOES
        instead = None if again is None else WriteBack("page", again(shown), to, person, suspension_id)
        return WriteBack(reaction.kind, reaction.words(shown), to, person, suspension_id, instead, most)

    async def _shown(self, suspension: Suspension) -> Suspension:
        """The question as a mail may quote it."""
        return await self._channel_views.shown_on(CHANNEL, suspension)


def _via(mail: Inbound, sender: str | None) -> Via:
    """The evidence of the answer: the mail itself, our mail that it names, and its sender if that is not its author."""
    return Via(CHANNEL, mail.sender, next(iter(mail.answers_to), None), mail.message_id or None, sender=sender)


def _open_first(holder: Holder, reason: str) -> _Reaction:
    """No reply can answer the question, whatever it says."""
    return _Reaction(reason, "link", holder.suspension, open_first_mail)


def _reading(
    mail: Inbound, suspension: Suspension, shown: Suspension, known: Circumstances, called: KnownLines
) -> Reading:
    """Choices have their shown names; a form's fields are those of the agent."""
    ask = suspension.ask
    schema = form_schema_of(ask.form_schema, ask.context)
    choices = shown_choices(shown.ask)
    return read_reply(mail.words, ask.response_type, choices, schema, shown.ask.question, known, called)


def _proposal(reading: Unclear, shown: Suspension, *, must_open: bool) -> Proposal | None:
    """The proposal that a bare yes takes; never an answer that no reply can give."""
    if reading.meant is not None:
        return None if must_open else Proposal(None, reading.meant)
    if reading.first is None:
        return None
    choice = shown_choices(shown.ask)[reading.first]
    return Proposal(choice.index, choice.value) if choice.negative or not must_open else None


def _name(reading: Reading) -> str:
    return reading.reason if isinstance(reading, Unclear) else type(reading).__name__.lower()


def _name_of(mail: Inbound, holder: Holder) -> tuple[str, ...]:
    """The ids that recognise a mail that comes by two ways, with different trace fields. Only an authentic mail has
    them: so nobody suppresses another's reply by sending one of the same name first."""
    if not mail.message_id:
        return ()
    named = "\n".join((mail.message_id, holder.actor.identity, holder.suspension.id))
    return (f"message-id:{hashlib.sha256(named.encode()).hexdigest()}",)


def _group(holder: Holder, who: str) -> str:
    return f"{holder.suspension.id}:{who}"


def _mark(identity: str) -> str:
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


def _lines(
    held: Sequence[Holder], reason: str, by: str | None = None, details: Mapping[str, JsonValue] = NOTHING_MORE
) -> tuple[TimelineEntry, ...]:
    """One timeline entry for each question."""
    each = {one.suspension.id: one for one in reversed(held)}.values()
    kind = MailKind.REPLY.value
    return tuple(TimelineEntry(one.suspension.id, kind, reason, one.actor.identity, by, details) for one in each)
