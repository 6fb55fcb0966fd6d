"""A mail that came in, as a value: what kind it is, which token it bears, who wrote it and in which words. Pure.

Never raises, whatever the bytes: what can't be read is :attr:`MailKind.UNREADABLE`.
Source: facts on mail §B1 (where the token is looked for), §B3, §F.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from dataclasses import dataclass, field
from email import message_from_bytes
from email.errors import MessageError
from email.message import Message
from email.policy import compat32

from channels.email.addressing import Mailboxes, header, header_values, mailbox_in, mailboxes_in
from channels.email.authentication import SenderAuth, is_authentic
from channels.email.classify import MailKind, classify
from channels.email.html import html_as_text
from channels.email.trim import OwnWords, own_words

_MOST_NESTED = 40
"""Multipart and message heads in one mail. Real replies have under ten; each costs the parser a recursion."""
_MOST_PARTS = 200
_LONGEST_HEAD = 256 * 1024
_LONGEST_PART = 500_000
"""Bytes of a text part that are decoded. The person's own words are at its top."""
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
    return Inbound(digest, kind, tokens, sender, authentic, _own_words(message))


def _tokens(message: Message, ours: Mailboxes) -> tuple[str, ...]:
    """The reply tokens of the most trustworthy field that bears any, each once."""
    for names in _TOKEN_FIELDS:
        addresses = [one for name in names for value in header_values(message, name) for one in mailboxes_in(value)]
        tokens = [token for address in addresses if (token := ours.token_in(address)) is not None]
        if tokens:
            return tuple(dict.fromkeys(tokens))
    return ()


# --- Words --------------------------------------------------------------------------------------------------------


def _own_words(message: Message) -> OwnWords:
    """The person's own words: of the plain text, else of the HTML where the plain text has none."""
    plain, html = _text_parts(message)
    words = own_words(_decoded(plain)) if plain is not None else OwnWords()
    if words.lines or words.below or html is None:
        return words
    return own_words(html_as_text(_decoded(html)))


def _text_parts(message: Message) -> tuple[Message | None, Message | None]:
    """The first plain and the first HTML part of the body; attachments and mails inside the mail are left out."""
    found: dict[str, Message] = {}
    waiting, seen = [message], 0
    while waiting and seen < _MOST_PARTS:
        part = waiting.pop(0)
        seen += 1
        kind = part.get_content_type()
        if part.get_content_maintype() == "multipart":
            inner = part.get_payload()
            waiting[:0] = [one for one in inner if isinstance(one, Message)] if isinstance(inner, list) else []
        elif kind in {"text/plain", "text/html"} and not _is_attached(part):
            found.setdefault(kind, part)
    return found.get("text/plain"), found.get("text/html")


def _is_attached(part: Message) -> bool:
    return header(part, "Content-Disposition").strip().casefold().startswith("attachment") or bool(part.get_filename())


def _decoded(part: Message) -> str:
    payload = part.get_payload(decode=True)
    data = payload[:_LONGEST_PART] if isinstance(payload, bytes) else b""
    text = data.decode(_codec(part.get_content_charset()), "replace")
    return _unflowed(text) if str(part.get_param("format", "")).casefold() == "flowed" else text


def _codec(charset: str | None) -> str:
    """A text codec that Python knows and that takes no more than linear time; UTF-8 for everything else."""
    try:
        name = codecs.lookup(charset or "utf-8").name
        b" ".decode(name, "replace")  # refuses what is no text encoding, such as "zlib"
    except (LookupError, ValueError):
        return "utf-8"
    return "utf-8" if name in {"punycode", "idna", "undefined"} else name


def _unflowed(text: str) -> str:
    """Lines that the mail program wrapped, as they were typed. Source: RFC 3676 §4.1, §4.2."""
    lines: list[str] = []
    flowing = False
    for raw in text.splitlines():
        line = raw[1:] if raw.startswith(" ") else raw
        if flowing and not line.startswith(">"):
            lines[-1] += line
        else:
            lines.append(line)
        flowing = line.endswith(" ") and line != "-- " and not line.startswith(">")
    return "\n".join(lines)
