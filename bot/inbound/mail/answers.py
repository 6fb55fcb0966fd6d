"""Answers by mail: what a reply says, what is recorded, and what is written back.

Source: API.md §4; facts on mail §B3, §F.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from typing import assert_never

import structlog
from pydantic import JsonValue

from bot.inbound.mail.bounces import CHANNEL, MOST_AN_HOUR, TOO_MANY
from bot.inbound.mail.identity import Senders
from bot.inbound.mail.texts import (
    barred_mail,
    claimed_mail,
    clarification_mail,
    confirmation_mail,
    echo_mail,
    echo_own_mail,
    echo_to_open_mail,
    link_mail,
    not_held_mail,
    open_first_mail,
    partly_mail,
    too_late_mail,
    unverified_mail,
)
from bot.inbound.proposals import Proposals, beside_proposals
from channels.email.authentication import SenderAuth
from channels.email.classify import MailKind
from channels.email.inbound import Inbound, MailRules, read_reply
from channels.grammar.forms import as_lines, form_schema_of
from channels.grammar.reader import ClaimWord, Matched, Nothing, Reading, Unclear
from core.domain.answers import GivenAnswer
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
from core.domain.suspension import Suspension, Via
from core.domain.wording import AgentTold
from core.engine.engine import Engine
from core.engine.queries import Holder
from core.errors import NotShownWhole
from core.inbound.settle import Correspondence, TimelineEntry, Understood, WriteBack

log = structlog.get_logger(__name__)

SENT_BY_ANOTHER = "sent_by_another"
"""Somebody who may not answer has sent it in the writer's name."""
NOTHING_MORE: Mapping[str, JsonValue] = {}
SOMEBODY_ELSE = "somebody else"
_STRANGERS = "?"
"""Among whom a mail counts whose sender is not known: they never use up what a person may send."""


Words = Callable[[Suspension], Message]
"""Writes a mail about a question, which is given as it may be quoted in a mail."""


@dataclass(frozen=True, slots=True)
class _Reaction:
    """``reason`` says why nothing was recorded, ``None`` if something was; ``kind`` names what is written back, in
    ``words`` about the question ``about``."""

    reason: str | None
    kind: str
    about: Suspension
    words: Words
    again: Words | None = None
    """What they get in place of a second one of that kind within the hour: the page's link."""


class Replies:
    """Says, and does, what a reply amounts to."""

    def __init__(
        self, engine: Engine, mail: Correspondence, rules: MailRules, proposals: Proposals | None = None
    ) -> None:
        self._engine = engine
        self._permissions = engine.permissions
        self._queries = engine.queries
        self._channel_views = engine.channel_views
        self._proposals = proposals or Proposals()
        self._mail = mail
        self._senders = Senders(engine.queries, engine.permissions, mail, rules)

    async def understood(self, mail: Inbound) -> Understood:
        """An answer or a claim is recorded by now; everything else is left to be written down with the mail itself.

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
        return Understood(CHANNEL, keys, lines, written=await self._written(reaction, holder), groups=(group,))

    async def _unverified(
        self, mail: Inbound, held: Sequence[Holder], reason: str, barred: str | None = None
    ) -> Understood:
        """Nothing is recorded. The person whose token it is may have written it, and is told where to answer. So are
        those who read a mailbox of several people. ``barred`` is who sent it in the person's name."""
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
                words: Words = partial(clarification_mail, why=reason)
            elif barred is not None:
                words = partial(barred_mail, by=self._called(barred), must_open=must_open)
            else:
                words = partial(unverified_mail, must_open=must_open, is_shared=is_shared)
            written = await self._written(_Reaction(reason, "link", suspension, words), holder)
        return Understood(CHANNEL, (mail.digest,), lines, written=written, groups=(group,))

    def _called(self, identity: str) -> str:
        """Who that is: nobody but people of the directory is named, as anything may stand in such a field."""
        return identity if self._permissions.responders.is_known(identity) else SOMEBODY_ELSE

    # --- What does it say? ----------------------------------------------------------------------------------------

    async def _react(self, mail: Inbound, mine: Sequence[Holder]) -> _Reaction:
        holder = mine[0]
        if len({one.suspension.id for one in mine}) > 1:
            return await self._unclear(holder, "two_questions")
        reading = _reading(mail, holder.suspension, await self._shown(holder.suspension))
        proposals = await self._proposals_to(mail, holder)
        if proposals and mail.words.doubt is None:
            reading = beside_proposals(reading, proposals, mail.words.lines)
        log.info("mail.read", mail=mail.digest[:12], ref=holder.suspension.ask.ref, reading=_name(reading))
        return await self._carry_out(mail, reading, holder)

    async def _carry_out(self, mail: Inbound, reading: Reading, holder: Holder) -> _Reaction:
        match reading:
            case Matched():
                return await self._answer(mail, reading, holder)
            case ClaimWord():
                claimed = await self._engine.claim(holder.suspension.id, holder.actor, CHANNEL)
                if not isinstance(claimed, Suspension):
                    return await self._refused(claimed, holder)
                return _Reaction(None, "claimed", claimed, partial(claimed_mail, zone=self._zone(holder)))
            case Unclear(reason, said=said):
                why = None if said is None else self._channel_views.text_on(CHANNEL, said)
                return await self._echo(mail, reading, holder) or await self._unclear(holder, reason, why)
            case Nothing():
                return await self._unclear(holder, "empty")
            case _ as unknown:
                assert_never(unknown)

    # --- What may it mean? ----------------------------------------------------------------------------------------

    async def _proposals_to(self, mail: Inbound, holder: Holder) -> Sequence[Proposal]:
        """What the person was asked to confirm: last of all, and by the mail that this one answers."""
        told = await self._mail.proposed(holder.suspension.id, holder.address)
        answered = [proposal for delivery, proposal in told if delivery in mail.answers_to]
        return [*answered[-1:], *(proposal for _, proposal in told[-1:])]

    async def _echo(self, mail: Inbound, reading: Unclear, holder: Holder) -> _Reaction | None:
        """Nothing is recorded, and what was probably meant is asked about; ``None`` if nothing is named."""
        suspension = holder.suspension
        if not suspension.is_open:
            return None
        proposal, said = await self._proposal(mail, reading, suspension)
        if proposal is None:
            return None
        if await self._channel_views.must_open(CHANNEL, suspension):
            words: Words = partial(echo_to_open_mail, proposal=proposal, said=said)
        elif said is not None:
            words = partial(echo_own_mail, proposal=proposal, said=said)
        else:
            words = partial(echo_mail, proposal=proposal)
        return _Reaction(reading.reason, "echo", suspension, words, link_mail)

    async def _proposal(
        self, mail: Inbound, reading: Unclear, suspension: Suspension
    ) -> tuple[Proposal | None, str | None]:
        """What it seems to mean, and a form's fields or a text as they may be shown."""
        if reading.meant is not None:
            return Proposal(None, reading.meant), self._channel_views.text_on(CHANNEL, as_lines(reading.meant))
        words = "\n".join(mail.words.lines or mail.words.beside)
        shown = await self._shown(suspension)
        return await self._proposals.of(words, shown_choices(shown.ask)), None

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
            case TooLate(ended):
                return await self._too_late(ended, holder)
            case HeldByAnother(now):
                return _Reaction(error.code, "not_held", now, partial(not_held_mail, why=error.message))
            case NotAnAnswer(error=NotShownWhole()):
                return _open_first(holder, error.code)
            case NotYours() | NotAnAnswer():
                why = self._channel_views.text_on(CHANNEL, error.message)
                return await self._ask_again(holder, why, error.code)

    async def _too_late(self, ended: Suspension, holder: Holder) -> _Reaction:
        told = await self._queries.agent_told(ended.id)
        return _Reaction("too_late", "too_late", ended, partial(too_late_mail, told=told, zone=self._zone(holder)))

    async def _unclear(self, holder: Holder, reason: str, why: str | None = None) -> _Reaction:
        current = await self._queries.get(holder.suspension.id)
        if current is not None and not current.is_open:
            return await self._too_late(current, holder)
        return await self._ask_again(holder, why or reason, reason)

    async def _ask_again(self, holder: Holder, why: str, reason: str) -> _Reaction:
        if await self._channel_views.must_open(CHANNEL, holder.suspension):
            return _open_first(holder, reason)
        return _Reaction(reason, "clarification", holder.suspension, partial(clarification_mail, why=why))

    def _zone(self, holder: Holder) -> tzinfo | None:
        """Whose times they read."""
        return self._permissions.responders.time_zone(holder.actor.identity)

    async def _written(self, reaction: _Reaction, holder: Holder) -> WriteBack:
        shown, again = await self._shown(reaction.about), reaction.again
        person, suspension_id = _mark(holder.actor.identity), holder.suspension.id
        instead = None if again is None else WriteBack("page", again(shown), holder.address, person, suspension_id)
        return WriteBack(reaction.kind, reaction.words(shown), holder.address, person, suspension_id, instead)

    async def _shown(self, suspension: Suspension) -> Suspension:
        """As it may be quoted in a mail."""
        return await self._channel_views.shown_on(CHANNEL, suspension)


def _via(mail: Inbound, sender: str | None) -> Via:
    """The evidence of what it answers: the mail itself, the one of ours that it names, and who has sent it for its
    author."""
    return Via(CHANNEL, mail.sender, next(iter(mail.answers_to), None), mail.message_id or None, sender=sender)


def _open_first(holder: Holder, reason: str) -> _Reaction:
    """No reply can answer it, whatever it says."""
    return _Reaction(reason, "link", holder.suspension, open_first_mail)


def _reading(mail: Inbound, suspension: Suspension, shown: Suspension) -> Reading:
    """Choices are named as they were shown; a form's fields are those that the agent asked for."""
    ask = suspension.ask
    schema = form_schema_of(ask.form_schema, ask.context)
    choices = shown_choices(shown.ask)
    return read_reply(mail.words, ask.response_type, choices, schema, shown.ask.question)


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


def _lines(
    held: Sequence[Holder], reason: str, by: str | None = None, details: Mapping[str, JsonValue] = NOTHING_MORE
) -> tuple[TimelineEntry, ...]:
    """One for each question."""
    each = {one.suspension.id: one for one in reversed(held)}.values()
    kind = MailKind.REPLY.value
    return tuple(TimelineEntry(one.suspension.id, kind, reason, one.actor.identity, by, details) for one in each)
