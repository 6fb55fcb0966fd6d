"""The pretend mail server, told how to fail, and what machines and other mail servers send back.

It offers what a mail server may offer: a log-in, TLS, delivery reports and UTF-8 addresses. What comes back is shaped
after Outlook's out-of-office and postfix's delivery report.

Source: RFC 3834 §3, RFC 3464 §2.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.message import EmailMessage
from email.policy import SMTP as WIRE
from email.utils import format_datetime
from weakref import WeakSet

import httpx

from bot.sandbox import mailbox as sandbox
from bot.sandbox.mailbox import HOSTNAME, arrived, domain_of, numbers, passing, reply, sign
from bot.sandbox.vendor import wall_clock
from tests.patience import PATIENCE
from tests.vendors.smtp import NO_SUCH_USER, PLAIN, FaultySmtp, Offers, SmtpFault, SmtpFaults, Stage

__all__ = ["Mail", "Mailbox", "auto_reply", "bounce", "domain_of", "passing", "reply", "sign"]


@dataclass(frozen=True)
class Mail(sandbox.Mail):
    """``acknowledged`` tells whether the sender heard at once that it was taken; ``wishes`` are what it wants to hear
    later (RFC 3461)."""

    acknowledged: bool = True
    wishes: tuple[str, ...] = ()

    @property
    def links(self) -> list[str]:
        return re.findall(r"https?://[^\s<>\"]+", self.text)


class Mailbox(sandbox.Mailbox):
    mails: list[Mail]

    def __init__(
        self, *, login: tuple[str, str] | None = None, now: Callable[[], datetime] = wall_clock, offers: Offers = PLAIN
    ) -> None:
        super().__init__(now=now)
        self.connections = 0
        self._connections: WeakSet[FaultySmtp] = WeakSet()
        self._login = login
        self._offers = offers
        self._faults = SmtpFaults()

    # --- Taking mail ----------------------------------------------------------------------------------------------

    async def start(self, port: int = 0) -> None:
        tls = self._offers.certificate if self._offers.implicit else None
        self._server = await asyncio.get_running_loop().create_server(self._connected, "127.0.0.1", port, ssl=tls)

    @property
    def smtp_url(self) -> str:
        who = f"{self._login[0]}:{self._login[1]}@" if self._login else ""
        return f"{'smtps' if self._offers.implicit else 'smtp'}://{who}127.0.0.1:{self.port}"

    def _connected(self) -> FaultySmtp:
        self.connections += 1
        connection = FaultySmtp(self._faults, self._store, self._login, self._offers)
        self._connections.add(connection)
        return connection

    def _store(self, sender: str, recipient: str, raw: bytes, acknowledged: bool, wishes: tuple[str, ...] = ()) -> None:
        number = len(self.mails) + 1
        self.mails.append(Mail(number, self._now(), sender, recipient.lower(), raw, acknowledged, wishes))
        self.touch()

    async def expect(
        self,
        *,
        to: str | None = None,
        subject: str = "",
        where: Callable[[Mail], bool] = lambda mail: True,
        seconds: float = PATIENCE,
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

    @property
    def open_connections(self) -> int:
        """How many there are just now; of ``connections``, all that there were."""
        return sum(connection.is_open for connection in list(self._connections))

    def hang_up(self) -> None:
        """Close every connection, as a server does with idle ones."""
        for connection in list(self._connections):
            connection.hang_up()

    def refuse_connections(self) -> int:
        """Nobody listens any more; kept connections stay. Returns the port, to :meth:`start` there again."""
        assert self._server is not None, "the mailbox is not started"
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


def auto_reply(mail: Mail, text: str, *, sender: str, at: datetime, authentication: str | None) -> bytes:
    """An out-of-office note. RFC 3834 §4 sends it to the envelope sender; Exchange, as here, to Reply-To."""
    message = arrived(mail, sender, mail.answers_to, at, authentication)
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
    report["Message-ID"] = f"<{next(numbers)}.bounce@{mail_server}>"
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
