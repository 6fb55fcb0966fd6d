"""The head of a mail: parse its fields and addresses once, and trust none of them. Pure.

Encoded words (RFC 2047) are decoded only in fields that people read. In an address, or in our own mail server's fields,
they mean nothing (RFC 2047 §5).

Source: facts on mail §B1, §B3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from itertools import islice

from core.domain.people import small

_LONGEST_FIELD = 4_000
_LONGEST_SUBJECT = 200
_LONGEST_ID = 500
_MOST_FIELDS = 20
"""Of one name that are looked at."""
_ADDRESSED = ("Delivered-To", "X-Original-To", "Envelope-To", "X-Gm-Original-To", "To", "Cc")
_SENT_BY = ("Sender", "Resent-From", "Resent-Sender", "X-Google-Sender-Delegation")
"""Who has sent a mail in place of whoever is in From. Exchange writes Sender for a mail that is sent on behalf of
somebody, and no other field; for one that is sent *as* somebody there is none (MS-OXCMAIL). Gmail's web mail writes
Sender and the last one, each with the account's own address. RFC 5322 §3.6.2, §3.6.6."""
_READ = {
    name.casefold(): name
    for name in (
        *_ADDRESSED,
        "From",
        *_SENT_BY,
        "Subject",
        "Auto-Submitted",
        "Precedence",
        "Return-Path",
        "Message-ID",
        "Authentication-Results",
        "In-Reply-To",
        "References",
    )
}
_ADDRESS = re.compile(r"(?<![^\s<>()\[\],;:\"@])[^\s<>()\[\],;:\"@]+@[^\s<>()\[\],;:\"@]+")
"""Begins at the beginning of a word, so that a long one is gone through once."""
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*(?:"|(\\?)\Z)', re.DOTALL)
"""A quoted string, or one that does not end: then all of the rest, so that it is gone through once."""


@dataclass(frozen=True, slots=True)
class MailHead:
    """The parsed head. Nothing in it is verified.

    ``report_type`` is ``delivery-status``, ``disposition-notification`` or ``feedback-report``, empty if it is not a
    report. ``names`` are those of all fields, in lower case. ``writer`` is the first From with its name (``Alice Doe
    <alice@example.com>``), ``author`` the one address in it; ``sender`` is the same if there is only one From.
    ``submitted`` is the keyword of Auto-Submitted. ``results`` are the fields Authentication-Results, top to bottom.
    ``to`` are the addresses in To if there is one such field. ``answers_to`` are the Message-IDs in In-Reply-To and
    References, as written.
    """

    content_type: str
    report_type: str
    names: frozenset[str]
    writer: str
    author: str | None
    sender: str | None
    subject: str
    submitted: str
    precedence: str
    return_path: str
    message_id: str
    results: Sequence[str]
    to: Sequence[str]
    answers_to: str
    sent_by: Sequence[str]
    """The addresses in the fields that say who has sent it in place of whoever is in From; an empty one for a field
    that names nobody who can be read."""
    addresses: Mapping[str, Sequence[str]]
    """By the name of a field that says where a mail went, all in it."""

    def addressed(self, *names: str) -> list[str]:
        """Every address in these fields."""
        return [one for name in names for one in self.addresses[name]]


def read_head(message: Message) -> MailHead:
    fields = _fields(message)

    def first(name: str) -> str:
        return _decoded(fields[name][0]) if fields[name] else ""

    def only(name: str) -> str:
        """The field of this name; empty if there are two. A signature covers the lower one, and another person may
        have added the upper one (RFC 6376 §5.4.2; RFC 5322 §3.6 allows one)."""
        return fields[name][0] if len(fields[name]) == 1 else ""

    writer = first("From")
    return MailHead(
        message.get_content_type(),
        _report_type(message),
        frozenset(name.lower() for name in message),
        writer=writer,
        author=mailbox_in(writer),
        sender=mailbox_in(only("From")),
        subject=first("Subject")[:_LONGEST_SUBJECT],
        submitted=first("Auto-Submitted").partition(";")[0].strip().casefold(),
        precedence=first("Precedence").strip().casefold(),
        return_path=first("Return-Path").strip(),
        message_id=first("Message-ID").strip()[:_LONGEST_ID],
        results=fields["Authentication-Results"],
        to=mailboxes_in(only("To")),
        answers_to=" ".join(map(only, ("In-Reply-To", "References"))),
        sent_by=[one for name in _SENT_BY for value in fields[name] for one in _senders_in(value)],
        addresses={name: [one for value in fields[name] for one in mailboxes_in(value)] for name in _ADDRESSED},
    )


def _fields(message: Message) -> Mapping[str, list[str]]:
    """The first fields of each name that is read, top to bottom, as :func:`raw_values`, in one pass over the head."""
    fields: dict[str, list[str]] = {name: [] for name in _READ.values()}
    for found, value in message.raw_items():
        name = _READ.get(found.casefold())
        if name is not None and len(fields[name]) < _MOST_FIELDS:
            fields[name].append(_unfolded(value))
    return fields


def _report_type(message: Message) -> str:
    if message.get_content_type() in {"message/delivery-status", "message/global-delivery-status"}:
        return "delivery-status"
    if message.get_content_type() != "multipart/report":
        return ""
    named = message.get_param("report-type")
    return named.strip().casefold() if isinstance(named, str) else ""


def raw_values(message: Message, name: str) -> list[str]:
    """The first fields of this name, top to bottom, unfolded and cut to a sane length. Encoded words are kept."""
    mine = (value for found, value in message.raw_items() if found.casefold() == name.casefold())
    return [_unfolded(value) for value in islice(mine, _MOST_FIELDS)]


def header_values(message: Message, name: str) -> list[str]:
    """:func:`raw_values` for fields that people read: encoded words are decoded."""
    return [_decoded(value) for value in raw_values(message, name)]


def header(message: Message, name: str) -> str:
    """The first field of this name, empty if there is none."""
    return next(iter(header_values(message, name)), "")


def _unfolded(value: object) -> str:
    raw = str(value).encode("utf-8", "surrogateescape").decode("utf-8", "replace")  # fields of bare UTF-8 (RFC 6532)
    return re.sub(r"\r?\n[ \t]*", " ", raw)[:_LONGEST_FIELD]


def _decoded(raw: str) -> str:
    if "=?" not in raw:
        return raw
    try:
        parts = decode_header(raw)
        return "".join(
            part.decode(charset or "ascii", "replace") if isinstance(part, bytes) else part for part, charset in parts
        )
    except (HeaderParseError, LookupError, ValueError):
        return raw


# --- Addresses in a field -------------------------------------------------------------------------------------------


def is_address(text: str) -> bool:
    """Whether ``text`` is one address and nothing else."""
    return _ADDRESS.fullmatch(text) is not None


def mailboxes_in(value: str) -> list[str]:
    """Every address in a field, lower case, names and comments left out."""
    return [small(found) for found in _ADDRESS.findall(_unquoted(value))]


def _senders_in(value: str) -> Sequence[str]:
    return mailboxes_in(value) or ([""] if value.strip() else [])


def _unquoted(value: str) -> str:
    """``value`` without quoted strings; an unclosed quote is an ordinary character."""
    return _QUOTED.sub(lambda quoted: " " if quoted[1] is None else f" {quoted[0][1:]}", value)


def mailbox_in(value: str) -> str | None:
    """The one address of a From field, lower case; ``None`` if it has none, or could mean more than one.

    Stricter than RFC 5322 on purpose: a field that two programs read differently authenticates nobody.
    """
    bare = _unquoted(value).strip()
    angle = re.fullmatch(r"([^<>,;]*)<\s*([^<>\s]+)\s*>\s*(?:\([^()]*\))?", bare)
    address = angle[2] if angle else re.sub(r"\([^()]*\)\Z", "", bare).strip()
    return small(address) if is_address(address) else None
