"""The mail inbox, for every way in: each mail is read, and acted upon once.

A mail is taken whatever it says: it has to come again only if the database is away. Mail is only ever written to the
person that a token was made for, and never because of a bounce, an automatic reply, a list or our own mail.

A mail is understood first and recorded last, in one transaction (``core/inbound/correspondence.py``). After a crash
before that the mail may come again, and the engine knows the answer already.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field, replace

import structlog

from bot.inbound.mail.answers import MailAnswers
from bot.inbound.mail.bounces import CHANNEL, MailBounces
from channels.email.authentication import LAST_REPLY, LastReply
from channels.email.classify import MailKind
from channels.email.inbound import Inbound, MailRules, read_mail, unreadable
from core.domain.tokens import TokenPurpose
from core.engine.engine import Engine
from core.engine.signature_lines import SignatureLines
from core.errors import DatabaseUnavailable
from core.inbound.correspondence import Correspondence, Understood
from core.ports import UNOBSERVED, Clock, Observer
from core.store.quarantine import Quarantined

log = structlog.get_logger(__name__)

_READ_ASIDE = 100_000
"""A mail of more bytes is parsed in a thread, so that nobody else waits for it."""
CRASHED = "crashed"
"""Why a mail is kept whose reading met a mistake of ours."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One mail as it came in. ``raw`` is RFC 5322. ``sender`` is MAIL FROM (empty for ``<>``) and ``recipients``
    RCPT TO, ``None`` and empty if unknown; the envelope takes precedence over the headers. ``door`` names the way
    in: ``webhook``, ``lmtp``, ``imap``."""

    raw: bytes = field(repr=False)
    door: str
    sender: str | None = None
    recipients: tuple[str, ...] = ()


class MailInbox:
    """Takes mail from every way in."""

    def __init__(
        self,
        engine: Engine,
        mail: Correspondence,
        clock: Clock,
        rules: MailRules,
        signatures: SignatureLines,
        observer: Observer = UNOBSERVED,
    ) -> None:
        self._mail = mail
        self._observer = observer
        self._clock = clock
        self._rules = rules
        self._replies = MailAnswers(engine, mail, rules, signatures)
        self._returns = MailBounces(engine.queries, mail, rules)

    async def take(self, arrived: Arrival) -> None:
        """Act upon a mail once, however often and by however many ways it comes. Raises only
        :class:`core.errors.DatabaseUnavailable`: nothing was lost then, and the same mail may come again."""
        mail = await self._read(arrived)
        if await self._mail.is_settled(CHANNEL, (mail.digest,)):
            log.info("mail.ignored", mail=mail.digest[:12], reason="duplicate")
            return
        kind, understood = mail.kind, await self._understood(mail)
        if understood is None:
            kind, understood = MailKind.UNREADABLE, await self._kept(mail, arrived)
        if kind is MailKind.REPLY:
            last = LastReply.of(mail.results, self._clock.now())
            understood = replace(understood, learned={LAST_REPLY: last.written()})
        if await self._mail.settle(understood):
            self._observer.received(CHANNEL, arrived.door, kind.value)

    async def knows(self, address: str) -> bool:
        """Whether a mail to ``address`` (RCPT TO) can concern us: the reply address of a question, open or ended (a
        late writer is told the truth), or the envelope sender of our mail.

        One look-up by key. Raises :class:`core.errors.DatabaseUnavailable`.
        """
        ours = self._rules.ours
        token, delivery = ours.token_in(address), ours.delivery_in(address) or ours.delivery_mentioned(address)
        if token is not None:
            return await self._mail.knows_token(token, TokenPurpose.MAIL)
        return delivery is not None and await self._mail.knows_delivery(delivery, CHANNEL)

    async def _read(self, arrived: Arrival) -> Inbound:
        if len(arrived.raw) > _READ_ASIDE:
            return await asyncio.to_thread(self._read_now, arrived)
        return self._read_now(arrived)

    def _read_now(self, arrived: Arrival) -> Inbound:
        try:
            return read_mail(arrived.raw, self._rules, arrived.sender, arrived.recipients)
        except Exception as bug:  # as in :meth:`_understood`
            digest = hashlib.sha256(arrived.raw).hexdigest()
            log.exception("mail.crashed", mail=digest[:12], error=type(bug).__name__)
            return Inbound(digest, MailKind.UNREADABLE, unfit=CRASHED)

    async def _understood(self, mail: Inbound) -> Understood | None:
        """The meaning of a mail; ``None`` to keep it for an operator: it can't be read, or it triggers a bug of
        ours, as it would every time."""
        try:
            match mail.kind:
                case MailKind.UNREADABLE:
                    return None
                case MailKind.REPLY:
                    return await self._replies.understood(mail)
                case _:
                    return await self._returns.understood(mail)
        except DatabaseUnavailable:
            raise
        except Exception as bug:
            log.exception("mail.crashed", mail=mail.digest[:12], error=type(bug).__name__)
            return None

    async def _kept(self, mail: Inbound, arrived: Arrival) -> Understood:
        """The mail unchanged; noted on the question whose address the envelope names, if any."""
        now, reason = self._clock.now(), mail.unfit or CRASHED
        raw, until = arrived.raw, now + self._rules.quarantine
        kept = Quarantined(mail.digest, CHANNEL, arrived.door, reason, len(raw), now, until, raw)
        by_envelope = unreadable(mail.digest, reason, self._rules.ours, arrived.recipients)
        return replace(await self._returns.understood(by_envelope), kept=kept)
