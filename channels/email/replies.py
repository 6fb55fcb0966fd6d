"""A mail that came in, as a value: what kind it is, which token it bears, who wrote it and in which words. Pure.

Never raises, whatever the bytes: what can't be read is :attr:`MailKind.UNREADABLE`.
Source: facts on mail §B1 (where the token is looked for), §B3, §F.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from email import message_from_bytes
from email.errors import MessageError
from email.message import Message
from email.policy import compat32

from channels.email.addressing import Mailboxes, header_values, mailbox_in, mailboxes_in
from channels.email.authentication import SenderAuth, is_authentic
from channels.email.body import body_words
from channels.email.classify import MailKind, classify
from channels.email.trim import OwnWords

_MOST_NESTED = 40
"""Multipart and message heads in one mail. Real replies have under ten; each costs the parser a recursion."""
_LONGEST_HEAD = 256 * 1024
_NESTING = re.compile(rb"^content-type:\s*(?:multipart|message)/", re.IGNORECASE | re.MULTILINE)

_TOKEN_FIELDS = (
    ("Delivered-To",),
    ("X-Original-To", "Envelope-To", "X-Gm-Original-To"),
    ("To", "Cc"),
)
"""From what our MX wrote down to what the sender wrote; the first of these that bears a token decides."""

_BROKEN = (MessageError, LookupError, ValueError, TypeError, AttributeError, AssertionError, RecursionError)
"""What the standard library's parser is known to raise on hostile bytes."""


@dataclass(frozen=True, slots=True)
class MailRules:
    """How this installation reads its mail."""

    ours: Mailboxes
    sender_auth: SenderAuth
    authserv_id: str


@dataclass(frozen=True, slots=True)
class Inbound:
    """One mail. ``digest`` names it; ``sender`` is ``None`` unless there is exactly one. Nothing in it is verified
    but ``authentic``: that ``sender`` wrote it.
    """

    digest: str
    kind: MailKind
    tokens: tuple[str, ...] = ()
    sender: str | None = None
    authentic: bool = False
    words: OwnWords = field(default_factory=OwnWords)


def read_mail(raw: bytes, rules: MailRules) -> Inbound:
    """What ``raw`` (RFC 5322) says."""
    digest = hashlib.sha256(raw).hexdigest()
    try:
        if not _is_sane(raw):
            return Inbound(digest, MailKind.UNREADABLE)
        return _read(digest, message_from_bytes(raw, policy=compat32), rules)
    except _BROKEN:
        return Inbound(digest, MailKind.UNREADABLE)


def _is_sane(raw: bytes) -> bool:
    head = re.search(rb"\r?\n\r?\n", raw[: _LONGEST_HEAD + 4])
    return (head is not None or len(raw) <= _LONGEST_HEAD) and len(_NESTING.findall(raw)) <= _MOST_NESTED


def _read(digest: str, message: Message, rules: MailRules) -> Inbound:
    kind = classify(message, rules.ours)
    tokens = _tokens(message, rules.ours)
    if kind is not MailKind.REPLY:
        return Inbound(digest, kind, tokens)
    senders = header_values(message, "From")
    sender = mailbox_in(senders[0]) if len(senders) == 1 else None
    authentic = sender is not None and is_authentic(message, sender, rules.sender_auth, rules.authserv_id)
    return Inbound(digest, kind, tokens, sender, authentic, body_words(message))


def _tokens(message: Message, ours: Mailboxes) -> tuple[str, ...]:
    """The reply tokens of the most trustworthy field that bears any, each once."""
    for names in _TOKEN_FIELDS:
        addresses = [one for name in names for value in header_values(message, name) for one in mailboxes_in(value)]
        tokens = [token for address in addresses if (token := ours.token_in(address)) is not None]
        if tokens:
            return tuple(dict.fromkeys(tokens))
    return ()
