"""A pretend mail server with everybody's mailbox: takes mail by SMTP, shows it, and sends replies to the door.

The mailboxes know nothing of Handraise: what a person can do here, they could do with any mail program. What people,
machines and mail servers send back is raw MIME as our own MX leaves it, shaped after Gmail's replies, Outlook's
out-of-office and postfix's delivery report.

Source: RFC 5322 §3.6.4, RFC 3834 §3, RFC 3464 §2; RFC 8601 §2 (Authentication-Results).
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import html as htmllib
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP as WIRE
from email.policy import default
from email.utils import format_datetime, parseaddr
from functools import cached_property
from weakref import WeakSet

import httpx

from bot.sandbox.mail.smtp import HOSTNAME, NO_SUCH_USER, PLAIN, Offers, SandboxSmtp, SmtpFault, SmtpFaults, Stage
from bot.sandbox.serving import loopback_client
from bot.sandbox.vendor import Watched, wall_clock


@dataclass(frozen=True)
class Mail:
    """One mail in one mailbox: the envelope, the bytes, and what a mail program makes of them.

    ``acknowledged`` tells whether the sender heard at once that it was taken; ``wishes`` are what it wants to hear
    later (RFC 3461).
    """

    id: int
    at: datetime
    sender: str
    recipient: str
    raw: bytes
    acknowledged: bool = True
    wishes: tuple[str, ...] = ()

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
        """Where a mail program sends a reply."""
        return parseaddr(self.header("Reply-To") or self.header("From"))[1]

    @cached_property
    def text(self) -> str:
        return self._part("plain")

    @cached_property
    def html(self) -> str:
        return self._part("html")

    @property
    def links(self) -> list[str]:
        return re.findall(r"https?://[^\s<>\"]+", self.text)

    def _part(self, kind: str) -> str:
        body = self.message.get_body((kind,))
        return str(body.get_content()).replace("\r\n", "\n") if isinstance(body, EmailMessage) else ""


class Mailbox(Watched):
    """The mail server. :meth:`start` it, send to :attr:`smtp_url`, and tell it the door with :meth:`answer_at`."""

    def __init__(
        self, *, login: tuple[str, str] | None = None, now: Callable[[], datetime] = wall_clock, offers: Offers = PLAIN
    ) -> None:
        super().__init__()
        self.mails: list[Mail] = []
        self.connections = 0
        self._connections: WeakSet[SandboxSmtp] = WeakSet()
        self._login = login
        self._offers = offers
        self._now = now
        self._faults = SmtpFaults()
        self._server: asyncio.Server | None = None
        self._door: tuple[str, str] | None = None

    # --- Taking mail ----------------------------------------------------------------------------------------------

    async def start(self, port: int = 0) -> None:
        """Listen on loopback; port 0 takes a free one."""
        tls = self._offers.certificate if self._offers.implicit else None
        self._server = await asyncio.get_running_loop().create_server(self._connected, "127.0.0.1", port, ssl=tls)

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
        who = f"{self._login[0]}:{self._login[1]}@" if self._login else ""
        return f"{'smtps' if self._offers.implicit else 'smtp'}://{who}127.0.0.1:{self.port}"

    def _connected(self) -> SandboxSmtp:
        self.connections += 1
        connection = SandboxSmtp(self._faults, self._store, self._login, self._offers)
        self._connections.add(connection)
        return connection

    def _store(self, sender: str, recipient: str, raw: bytes, acknowledged: bool, wishes: tuple[str, ...] = ()) -> None:
        number = len(self.mails) + 1
        self.mails.append(Mail(number, self._now(), sender, recipient.lower(), raw, acknowledged, wishes))
        self.touch()

    def of(self, address: str) -> list[Mail]:
        """One person's mailbox, oldest first."""
        return [mail for mail in self.mails if mail.recipient == address.lower()]

    async def expect(
        self,
        *,
        to: str | None = None,
        subject: str = "",
        where: Callable[[Mail], bool] = lambda mail: True,
        seconds: float = 30.0,
    ) -> Mail:
        """The first mail that fits, waited for if it must be. ``AssertionError`` says what came instead."""

        def look() -> Mail | None:
            fitting = (mail for mail in self.mails if to in {None, mail.recipient} and subject in mail.subject)
            return next(filter(where, fitting), None)

        try:
            return await self.until(look, seconds)
        except TimeoutError:
            came = [f"{mail.recipient}: {mail.subject}" for mail in self.mails]
            raise AssertionError(f"no such mail (to {to}, subject {subject!r}) in {seconds} s; came: {came}") from None

    # --- Failing as told ------------------------------------------------------------------------------------------

    def refuse(self, address: str, reply: str = NO_SUCH_USER) -> None:
        """Nobody of that name here, from now on."""
        self._faults.add(SmtpFault(Stage.RCPT, reply, address=address.lower(), left=None))

    def say_next(self, stage: Stage, reply: str, times: int = 1) -> None:
        """Give this reply instead of the usual one: ``451 4.3.0 Try again later``."""
        self._faults.add(SmtpFault(stage, reply, left=times))

    def drop_next(self, stage: Stage, times: int = 1) -> None:
        """Cut the connection: before the content at ``DATA``, with the mail stored but not acknowledged at ``DOT``."""
        self._faults.add(SmtpFault(stage, drops=True, left=times))

    def delay_next(self, stage: Stage, delay: timedelta, times: int = 1) -> None:
        self._faults.add(SmtpFault(stage, delay=delay, left=times))

    def hang_up(self) -> None:
        """Close every connection, as a server does with idle ones."""
        for connection in list(self._connections):
            connection.hang_up()

    def refuse_connections(self) -> int:
        """Nobody listens any more; kept connections stay. Returns the port, to :meth:`start` there again."""
        assert self._server is not None, "the mailbox is not started"  # noqa: S101
        port, server = self.port, self._server
        self._server = None
        server.close()
        return port

    @property
    def faults_to_come(self) -> int:
        return len(self._faults)

    def behave(self) -> None:
        """No more faults."""
        self._faults.clear()

    # --- What people and machines do with it ----------------------------------------------------------------------

    def answer_at(self, url: str, secret: str) -> None:
        """Where the MX brings mail for the service: its ``/email/inbound`` and the secret that signs it."""
        self._door = (url, secret)

    async def reply(
        self, mail: Mail, text: str, *, sender: str | None = None, html: str | None = None
    ) -> httpx.Response:
        """Press reply, write ``text`` above the quote, send. The MX finds the sender authentic."""
        sender = sender or mail.recipient
        verdict = passing(domain_of(mail.header("From")), sender)
        raw = reply(mail, text, sender=sender, at=self._now(), authentication=verdict, html=html)
        return await self.post(raw)

    async def forge_reply(self, mail: Mail, text: str, *, sender: str, verdict: str | None = None) -> httpx.Response:
        """The same by somebody who knows the address to answer at; ``verdict`` is what the MX found, if it looked."""
        raw = reply(mail, text, sender=sender, at=self._now(), authentication=verdict)
        return await self.post(raw)

    async def auto_reply(self, mail: Mail, text: str = "I am out of the office until Monday.") -> httpx.Response:
        """The person's mail program answers by itself."""
        verdict = passing(domain_of(mail.header("From")), mail.recipient)
        raw = auto_reply(mail, text, sender=mail.recipient, at=self._now(), authentication=verdict)
        return await self.post(raw)

    async def bounce(self, mail: Mail) -> httpx.Response:
        """The person's mail server gives the mail back."""
        return await self.post(bounce(mail, at=self._now(), mail_server=HOSTNAME))

    async def post(self, raw: bytes, signature: str | None = None) -> httpx.Response:
        """Bring raw MIME to the door, signed as our MX signs unless ``signature`` is given."""
        assert self._door is not None, "the mailbox does not know the door"  # noqa: S101
        url, secret = self._door
        signature = signature if signature is not None else sign(raw, secret, self._now())
        async with loopback_client(timeout=10) as client:
            headers = {"Content-Type": "message/rfc822", "X-Handraise-Signature": signature}
            return await client.post(url, content=raw, headers=headers)


def sign(raw: bytes, secret: str, at: datetime) -> str:
    """The signature that the door asks for (API.md §6)."""
    moment = int(at.timestamp())
    return f"t={moment},v1={hmac.new(secret.encode(), f'{moment}.'.encode() + raw, hashlib.sha256).hexdigest()}"


_numbers = itertools.count(1)


def domain_of(address: str) -> str:
    return parseaddr(address)[1].rpartition("@")[2].lower()


def passing(authserv_id: str, sender: str) -> str:
    """What our MX writes about a mail whose sender is who they say."""
    domain = domain_of(sender)
    return (
        f"{authserv_id}; dkim=pass header.d={domain}; spf=pass smtp.mailfrom={domain}; dmarc=pass header.from={domain}"
    )


def reply(
    mail: Mail, text: str, *, sender: str, at: datetime, authentication: str | None, html: str | None = None
) -> bytes:
    """``text`` written above the quoted ``mail``. ``authentication`` is the MX's verdict, ``None`` for none at all."""
    message = _arrived(mail, sender, mail.answers_to, at, authentication)
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


def auto_reply(mail: Mail, text: str, *, sender: str, at: datetime, authentication: str | None) -> bytes:
    """An out-of-office note. RFC 3834 §4 sends it to the envelope sender; Exchange, as here, to Reply-To."""
    message = _arrived(mail, sender, mail.answers_to, at, authentication)
    message["Subject"] = f"Automatic reply: {mail.subject}"
    message["In-Reply-To"] = mail.message_id
    message["Auto-Submitted"] = "auto-generated"
    message["X-Auto-Response-Suppress"] = "All"
    message.set_content(f"{text}\n")
    return message.as_bytes(policy=WIRE)


def bounce(mail: Mail, *, at: datetime, mail_server: str) -> bytes:
    """A delivery report to the envelope sender: nobody of that name here."""
    report = EmailMessage(policy=WIRE)
    report["Return-Path"] = "<>"
    report["Delivered-To"] = mail.sender
    report["From"] = f"Mail Delivery System <MAILER-DAEMON@{mail_server}>"
    report["To"] = mail.sender
    report["Subject"] = "Undelivered Mail Returned to Sender"
    report["Date"] = format_datetime(at)
    report["Message-ID"] = f"<{next(_numbers)}.bounce@{mail_server}>"
    report["Auto-Submitted"] = "auto-replied"
    report["Content-Type"] = "multipart/report; report-type=delivery-status"
    words = EmailMessage()
    words.set_content(f"<{mail.recipient}>: host {mail_server} said: 550 5.1.1 User unknown\n")
    status = EmailMessage()
    status["Content-Type"] = "message/delivery-status"
    fields = (
        (("Reporting-MTA", f"dns; {mail_server}"),),
        (("Final-Recipient", f"rfc822; {mail.recipient}"), ("Action", "failed"), ("Status", "5.1.1")),
    )
    for group in fields:
        part = EmailMessage()
        for name, value in group:
            part[name] = value
        status.attach(part)
    original = EmailMessage()
    original.set_content(mail.message)
    for part in (words, status, original):
        report.attach(part)
    return report.as_bytes(policy=WIRE)


def _arrived(mail: Mail, sender: str, to: str, at: datetime, authentication: str | None) -> EmailMessage:
    """A message with the trace fields that the servers on its way have put on top."""
    number = next(_numbers)
    message = EmailMessage(policy=WIRE)
    message["Return-Path"] = f"<{parseaddr(sender)[1]}>"
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
