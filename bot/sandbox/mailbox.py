"""A pretend mail server with everybody's mailbox: takes mail by SMTP, shows it, and posts replies to the service.

The mailboxes know nothing of Handraise: people can do here only what they could do with any mail program. A reply is
raw MIME as our own MX leaves it, shaped after Gmail's replies.

Source: RFC 5322 §3.6.4; RFC 8601 §2 (Authentication-Results).
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import html as htmllib
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP as WIRE
from email.policy import default
from email.utils import format_datetime
from functools import cached_property

import httpx
from aiosmtpd.smtp import SMTP, Envelope, Session

from bot.sandbox.serving import loopback_client
from bot.sandbox.vendor import Watched, wall_clock
from core.domain.people import named_mailbox

HOSTNAME = "mx.sandbox.test"
LARGEST = 10 * 1024 * 1024


@dataclass(frozen=True)
class Mail:
    """One mail in one mailbox: the envelope, the bytes, and the view of a mail program."""

    id: int
    at: datetime
    sender: str
    recipient: str
    raw: bytes

    @cached_property
    def message(self) -> EmailMessage:
        parsed = message_from_bytes(self.raw, policy=default)
        assert isinstance(parsed, EmailMessage)  # noqa: S101 (what the policy makes)
        return parsed

    def header(self, name: str) -> str:
        return str(self.message.get(name, ""))

    @property
    def subject(self) -> str:
        return self.header("Subject")

    @property
    def message_id(self) -> str:
        return self.header("Message-ID")

    @property
    def answers_to(self) -> str:
        """The address to which a mail program sends a reply."""
        return named_mailbox(self.header("Reply-To") or self.header("From"))[1]

    @cached_property
    def text(self) -> str:
        return self._part("plain")

    @cached_property
    def html(self) -> str:
        return self._part("html")

    def _part(self, kind: str) -> str:
        body = self.message.get_body((kind,))
        return str(body.get_content()).replace("\r\n", "\n") if isinstance(body, EmailMessage) else ""


class Mailbox(Watched):
    """The mail server. :meth:`start` it, send to :attr:`smtp_url`, and set the service's address with
    :meth:`answer_at`."""

    def __init__(self, *, now: Callable[[], datetime] = wall_clock) -> None:
        super().__init__()
        self.mails: list[Mail] = []
        self._now = now
        self._server: asyncio.Server | None = None
        self._door: tuple[str, str] | None = None

    # --- Taking mail ----------------------------------------------------------------------------------------------

    async def start(self, port: int = 0) -> None:
        """Listen on loopback; port 0 takes a free one."""
        self._server = await asyncio.get_running_loop().create_server(self._connected, "127.0.0.1", port)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
            self._server = None

    @property
    def port(self) -> int:
        assert self._server is not None, "the mailbox is not started"  # noqa: S101
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def smtp_url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"

    def _connected(self) -> SMTP:
        return SMTP(self, hostname=HOSTNAME, data_size_limit=LARGEST, loop=asyncio.get_running_loop())

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802 (aiosmtpd's)
        """Called before the reply to the final dot."""
        for recipient in envelope.rcpt_tos:
            number, sender = len(self.mails) + 1, (envelope.mail_from or "").removeprefix("<>")
            raw = envelope.original_content or b""
            self.mails.append(Mail(number, self._now(), sender, recipient.lower(), raw))
        self.touch()
        return "250 2.0.0 Ok: queued"

    def of(self, address: str) -> list[Mail]:
        """One person's mailbox, oldest first."""
        return [mail for mail in self.mails if mail.recipient == address.lower()]

    # --- What people do with it ----------------------------------------------------------------------

    def answer_at(self, url: str, secret: str) -> None:
        """Where the MX posts mail for the service: its ``/email/inbound`` and the secret for the signature."""
        self._door = (url, secret)

    async def reply(
        self, mail: Mail, text: str, *, sender: str | None = None, html: str | None = None
    ) -> httpx.Response:
        """Press reply, write ``text`` above the quote, send. The MX finds the sender authentic."""
        sender = sender or mail.recipient
        verdict = passing(domain_of(mail.header("From")), sender)
        raw = reply(mail, text, sender=sender, at=self._now(), authentication=verdict, html=html)
        return await self.post(raw)

    async def post(self, raw: bytes, signature: str | None = None) -> httpx.Response:
        """Post raw MIME to the service, signed as our MX signs unless ``signature`` is given."""
        assert self._door is not None, "the mailbox does not know the door"  # noqa: S101
        url, secret = self._door
        signature = signature if signature is not None else sign(raw, secret, self._now())
        async with loopback_client(timeout=10) as client:
            headers = {"Content-Type": "message/rfc822", "X-Handraise-Signature": signature}
            return await client.post(url, content=raw, headers=headers)


def sign(raw: bytes, secret: str, at: datetime) -> str:
    """The signature of a posted mail (API.md §6)."""
    moment = int(at.timestamp())
    return f"t={moment},v1={hmac.new(secret.encode(), f'{moment}.'.encode() + raw, hashlib.sha256).hexdigest()}"


numbers = itertools.count(1)


def domain_of(address: str) -> str:
    return written_from(address).rpartition("@")[2].lower()


def written_from(sender: str) -> str:
    """The address that a mail of ``sender`` is sent from: the first, if its From names several."""
    return named_mailbox(sender.partition(",")[0])[1]


def passing(authserv_id: str, sender: str) -> str:
    """Our MX's Authentication-Results for a genuine sender."""
    domain = domain_of(sender)
    return (
        f"{authserv_id}; dkim=pass header.d={domain}; spf=pass smtp.mailfrom={domain}; dmarc=pass header.from={domain}"
    )


def reply(
    mail: Mail, text: str, *, sender: str, at: datetime, authentication: str | None, html: str | None = None
) -> bytes:
    """``text`` written above the quoted ``mail``. ``authentication`` is the MX's verdict, ``None`` for none at all."""
    message = arrived(mail, sender, mail.answers_to, at, authentication)
    message["Subject"] = mail.subject if mail.subject.lower().startswith("re:") else f"Re: {mail.subject}"
    message["In-Reply-To"] = mail.message_id
    message["References"] = " ".join(filter(None, (mail.header("References"), mail.message_id)))
    said = f"On {at:%a, %b %-d, %Y at %-I:%M %p} {mail.header('From')} wrote:"
    quoted = "\n".join(f"> {line}".rstrip() for line in mail.text.splitlines())
    message.set_content(f"{text}\n\n{said}\n\n{quoted}\n", cte="quoted-printable")
    own = html if html is not None else htmllib.escape(text).replace("\n", "<br>")
    message.add_alternative(
        f'<div dir="ltr">{own}</div><br><div class="gmail_quote gmail_quote_container">'
        f'<div dir="ltr" class="gmail_attr">{htmllib.escape(said)}<br></div>'
        f'<blockquote class="gmail_quote" style="margin:0 0 0 .8ex;border-left:1px solid #ccc;padding-left:1ex">'
        f"{mail.html or htmllib.escape(mail.text)}</blockquote></div>",
        subtype="html",
        cte="quoted-printable",
    )
    return message.as_bytes(policy=WIRE)


def arrived(mail: Mail, sender: str, to: str, at: datetime, authentication: str | None) -> EmailMessage:
    """A message with the trace fields that the servers on its way have added."""
    number = next(numbers)
    message = EmailMessage(policy=WIRE)
    message["Return-Path"] = f"<{written_from(sender)}>"
    message["Delivered-To"] = to
    if authentication is not None:
        message["Authentication-Results"] = authentication
    message["Received"] = (
        f"from mail.{domain_of(sender)} by mx.{domain_of(to)} with ESMTPS id {number}; {format_datetime(at)}"
    )
    message["From"] = sender
    message["To"] = to
    message["Date"] = format_datetime(at)
    message["Message-ID"] = f"<CA+{number:08d}@mail.{domain_of(sender)}>"
    return message
