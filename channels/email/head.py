"""The head of a mail, read once and without trust: the fields by which anything is decided here. Pure.

Encoded words (RFC 2047) are decoded in words that people read alone. In an address, or in what our own mail server
wrote, they mean nothing (RFC 2047 §5).

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

from channels.email.addressing import mailbox_in, mailboxes_in

_LONGEST_FIELD = 4_000
_LONGEST_SUBJECT = 200
_LONGEST_ID = 500
_MOST_FIELDS = 20
"""Of one name that are looked at."""
_ADDRESSED = ("Delivered-To", "X-Original-To", "Envelope-To", "X-Gm-Original-To", "To", "Cc")


@dataclass(frozen=True, slots=True)
class MailHead:
    """Nothing in it is verified.

    ``report_type`` is ``delivery-status``, ``disposition-notification`` or ``feedback-report``, empty for what is no
    report. ``names`` are those of all fields, in lower case. ``author`` is the one address in the first From,
    ``sender`` the same if there is one From alone. ``submitted`` is the keyword of Auto-Submitted. ``results`` are the
    fields Authentication-Results, top to bottom. ``to`` are the addresses in To if there is one such field,
    ``answers_to`` the Message-IDs in In-Reply-To and References as they stand there.
    """

    content_type: str
    report_type: str
    names: frozenset[str]
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
    addresses: Mapping[str, Sequence[str]]
    """By the name of a field that says where a mail went, all in it."""

    def addressed(self, *names: str) -> list[str]:
        """Every address in these fields."""
        return [one for name in names for one in self.addresses[name]]


def read_head(message: Message) -> MailHead:
    senders = raw_values(message, "From")
    return MailHead(
        message.get_content_type(),
        _report_type(message),
        frozenset(name.lower() for name in message),
        author=mailbox_in(header(message, "From")),
        sender=mailbox_in(senders[0]) if len(senders) == 1 else None,
        subject=header(message, "Subject")[:_LONGEST_SUBJECT],
        submitted=header(message, "Auto-Submitted").partition(";")[0].strip().casefold(),
        precedence=header(message, "Precedence").strip().casefold(),
        return_path=header(message, "Return-Path").strip(),
        message_id=header(message, "Message-ID").strip()[:_LONGEST_ID],
        results=raw_values(message, "Authentication-Results"),
        to=mailboxes_in(_only(message, "To")),
        answers_to=" ".join(_only(message, name) for name in ("In-Reply-To", "References")),
        addresses={
            name: [one for value in raw_values(message, name) for one in mailboxes_in(value)] for name in _ADDRESSED
        },
    )


def _report_type(message: Message) -> str:
    if message.get_content_type() in {"message/delivery-status", "message/global-delivery-status"}:
        return "delivery-status"
    if message.get_content_type() != "multipart/report":
        return ""
    named = message.get_param("report-type")
    return named.strip().casefold() if isinstance(named, str) else ""


def _only(message: Message, name: str) -> str:
    """The one field of this name; empty if there are two. A signature covers the lower one, and what somebody has
    put on top of it later is not its writer's (RFC 6376 §5.4.2; RFC 5322 §3.6 allows one)."""
    values = raw_values(message, name)
    return values[0] if len(values) == 1 else ""


def raw_values(message: Message, name: str) -> list[str]:
    """The first fields of this name, top to bottom, unfolded and cut to a sane length, encoded words as they are."""
    mine = (value for found, value in message.raw_items() if found.casefold() == name.casefold())
    return [_unfolded(value) for value in islice(mine, _MOST_FIELDS)]


def header_values(message: Message, name: str) -> list[str]:
    """As :func:`raw_values`, for words that people read: encoded words are decoded."""
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
