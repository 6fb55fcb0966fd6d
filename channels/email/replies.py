"""A mail that came in, as a value: what kind it is, which token it bears, who wrote it and in which words. Pure.

Never raises, whatever the bytes: what can't be read is :attr:`MailKind.UNREADABLE`.
Source: facts on mail §B1 (where the token is looked for), §B3, §F.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from email import message_from_bytes
from email.errors import MessageError
from email.message import Message
from email.policy import compat32

from channels.email.addressing import Mailboxes, header, mailbox_in, mailboxes_in, raw_values
from channels.email.authentication import SenderAuth, is_authentic
from channels.email.body import body_words
from channels.email.classify import MailKind, classify, is_away
from channels.email.reports import Report, read_report
from channels.email.sanity import unfit
from channels.email.trim import OwnWords

_TOKEN_FIELDS = (
    ("Delivered-To",),
    ("X-Original-To", "Envelope-To", "X-Gm-Original-To"),
    ("To", "Cc"),
)
"""Behind the envelope: from what our MX wrote down to what the sender wrote. The first that bears a token decides."""
_LONGEST_ID = 500

_BROKEN = (MessageError, LookupError, ValueError, TypeError, AttributeError, AssertionError, RecursionError)
"""What the standard library's parser is known to raise on hostile bytes."""


BROKEN = "broken"
"""Why a mail is unreadable that the parser gave up on."""


@dataclass(frozen=True, slots=True)
class MailRules:
    """How this installation reads its mail. ``away_advances``: a recipient who is away counts as refused.
    ``quarantine`` is how long a mail is kept that can't be read."""

    ours: Mailboxes
    sender_auth: SenderAuth
    authserv_id: str
    away_advances: bool = False
    quarantine: timedelta = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Inbound:
    """One mail. ``digest`` names it; ``sender`` is ``None`` unless there is exactly one. Nothing in it is verified
    but ``authentic``: that ``sender`` wrote it.

    ``tokens`` are those of the most trustworthy place that bears any, ``addressed`` those in To and Cc; ``replied_to``
    those in To where there is one such field, ``is_to_us`` whether any address in it is ours. ``deliveries`` are the
    delivery ids of the envelope senders of ours that it came to, ``answers_to`` those of the mails and ``refs`` the
    questions that it answers by In-Reply-To and References. ``unfit`` says why it is unreadable.
    """

    digest: str
    kind: MailKind
    tokens: tuple[str, ...] = ()
    sender: str | None = None
    authentic: bool = False
    words: OwnWords = field(default_factory=OwnWords)
    addressed: tuple[str, ...] = ()
    replied_to: tuple[str, ...] = ()
    is_to_us: bool = False
    deliveries: tuple[str, ...] = ()
    answers_to: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()
    message_id: str = ""
    report: Report | None = None
    is_away: bool = False
    unfit: str | None = None


def read_mail(raw: bytes, rules: MailRules, sender: str | None = None, recipients: Sequence[str] = ()) -> Inbound:
    """What ``raw`` (RFC 5322) says, brought under the envelope ``sender`` (MAIL FROM) and ``recipients`` (RCPT TO)."""
    digest = hashlib.sha256(raw).hexdigest()
    reason = unfit(raw)
    if reason is None:
        try:
            return _read(digest, message_from_bytes(raw, policy=compat32), rules, sender, recipients)
        except _BROKEN:
            reason = BROKEN
    return unreadable(digest, rules.ours, recipients, reason)


def unreadable(digest: str, ours: Mailboxes, recipients: Sequence[str], reason: str) -> Inbound:
    """A mail of which only the envelope can be read."""
    tokens = _tokens_of(recipients, ours)
    return Inbound(digest, MailKind.UNREADABLE, tokens, deliveries=_deliveries_of(recipients, ours), unfit=reason)


def _read(digest: str, message: Message, rules: MailRules, sender: str | None, recipients: Sequence[str]) -> Inbound:
    ours = rules.ours
    kind = classify(message, ours, sender, recipients)
    references = " ".join(_only(message, name) for name in ("In-Reply-To", "References"))
    to = mailboxes_in(_only(message, "To"))
    mail = Inbound(
        digest,
        kind,
        _tokens(message, ours, recipients),
        addressed=_tokens_of(_addresses(message, ("To", "Cc")), ours),
        replied_to=_tokens_of(to, ours),
        is_to_us=any(map(ours.is_ours, to)),
        deliveries=_deliveries_of([*recipients, *_addresses(message, ("Delivered-To", "X-Original-To", "To"))], ours),
        answers_to=tuple(ours.deliveries_named(references)),
        refs=tuple(ours.refs_named(references)),
        message_id=header(message, "Message-ID").strip()[:_LONGEST_ID],
    )
    if kind is MailKind.REPLY:
        return replace(_with_sender(mail, message, rules), words=body_words(message))
    if kind is MailKind.AUTO:
        return replace(_with_sender(mail, message, rules), is_away=is_away(message))
    if kind in {MailKind.BOUNCE, MailKind.RECEIPT, MailKind.COMPLAINT}:
        return replace(mail, report=read_report(message))
    return mail


def _with_sender(mail: Inbound, message: Message, rules: MailRules) -> Inbound:
    senders = raw_values(message, "From")
    sender = mailbox_in(senders[0]) if len(senders) == 1 else None
    authentic = sender is not None and is_authentic(message, sender, rules.sender_auth, rules.authserv_id)
    return replace(mail, sender=sender, authentic=authentic)


def _tokens(message: Message, ours: Mailboxes, recipients: Sequence[str]) -> tuple[str, ...]:
    """The reply tokens of the most trustworthy place that bears any, each once."""
    places = [recipients, *(_addresses(message, names) for names in _TOKEN_FIELDS)]
    return next((found for addresses in places if (found := _tokens_of(addresses, ours))), ())


def _tokens_of(addresses: Sequence[str], ours: Mailboxes) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(ours.token_in, addresses))))


def _deliveries_of(addresses: Sequence[str], ours: Mailboxes) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(ours.delivery_in, addresses))))


def _only(message: Message, name: str) -> str:
    """The one field of this name; empty where there are two. A signature covers the lower one, and what somebody has
    put on top of it later is not its writer's (RFC 6376 §5.4.2; RFC 5322 §3.6 allows one)."""
    values = raw_values(message, name)
    return values[0] if len(values) == 1 else ""


def _addresses(message: Message, names: Sequence[str]) -> list[str]:
    return [one for name in names for value in raw_values(message, name) for one in mailboxes_in(value)]
