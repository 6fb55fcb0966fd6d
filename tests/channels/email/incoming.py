"""Raw mail as our MX leaves it, for the tests of what reads it."""

from __future__ import annotations

from collections.abc import Mapping

from channels.email.addressing import Mailboxes
from channels.email.authentication import SenderAuth
from channels.email.inbound import Inbound, MailRules, read_mail

TOKEN = "abcdefghijklmnopqrstuvwx27"
OTHER_TOKEN = "zyxwvutsrqponmlkjihgfedc72"
TO = f"answers+r.{TOKEN}@example.com"
OURS = Mailboxes.of("Handraise <handraise@example.com>", "answers@example.com", key=b"mail")
RULES = MailRules(OURS, SenderAuth.DMARC, "mx.example.com")
PASS = "mx.example.com; dmarc=pass (p=none) header.from=example.org"

_USUAL = {
    "Return-Path": "<alice@example.org>",
    "Delivered-To": TO,
    "Authentication-Results": PASS,
    "From": "Alice <alice@example.org>",
    "To": TO,
    "Subject": "Re: [HR-7F3K] Refund order 12345?",
    "Message-ID": "<CA+1@mail.example.org>",
    "Content-Type": "text/plain; charset=utf-8",
}


def raw(
    body: str | bytes = "Approve\n", changes: Mapping[str, str | None] | None = None, *, more: tuple[str, ...] = ()
) -> bytes:
    """A reply. ``changes`` replaces fields or (``None``) leaves them out; ``more`` are further lines on top."""
    fields = {**_USUAL, **(changes or {})}
    lines = [*more, *(f"{name}: {value}" for name, value in fields.items() if value is not None), "", ""]
    return "\r\n".join(lines).encode() + (body if isinstance(body, bytes) else body.encode())


def read(
    body: str | bytes = "Approve\n",
    changes: Mapping[str, str | None] | None = None,
    *,
    rules: MailRules = RULES,
    more: tuple[str, ...] = (),
) -> Inbound:
    return read_mail(raw(body, changes, more=more), rules)
