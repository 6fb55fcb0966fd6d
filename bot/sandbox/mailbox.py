"""A pretend mail server with everybody's mailbox: takes mail by SMTP, shows it, and sends replies to the door.

The mailboxes know nothing of Handraise: what a person can do here, they could do with any mail program.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from email.utils import parseaddr
from functools import cached_property
from weakref import WeakSet

import httpx

from bot.sandbox import mail_replies
from bot.sandbox.mail_smtp import HOSTNAME, NO_SUCH_USER, PLAIN, Fault, Faults, Offers, SandboxSmtp, Stage
from bot.sandbox.serving import loopback_client

_PATIENCE = 5.0


def wall_clock() -> datetime:
    return datetime.now(UTC)


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


class Mailbox:
    """The mail server. :meth:`start` it, send to :attr:`smtp_url`, and tell it the door with :meth:`answer_at`."""

    def __init__(
        self,
        *,
        login: tuple[str, str] | None = None,
        now: Callable[[], datetime] = wall_clock,
        offers: Offers = PLAIN,
    ) -> None:
        self.mails: list[Mail] = []
        self.connections = 0
        self._connections: WeakSet[SandboxSmtp] = WeakSet()
        self._login = login
        self._offers = offers
        self._now = now
        self._faults = Faults()
        self._waiting: set[asyncio.Future[None]] = set()
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
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)

    def of(self, address: str) -> list[Mail]:
        """One person's mailbox, oldest first."""
        return [mail for mail in self.mails if mail.recipient == address.lower()]

    async def expect(
        self,
        *,
        to: str | None = None,
        subject: str = "",
        where: Callable[[Mail], bool] = lambda mail: True,
        seconds: float = _PATIENCE,
    ) -> Mail:
        """The first mail that fits, waited for if it must be. ``AssertionError`` says what came instead."""

        def fits(mail: Mail) -> bool:
            return to in {None, mail.recipient} and subject in mail.subject and where(mail)

        try:
            async with asyncio.timeout(seconds):
                while not any(fits(mail) for mail in self.mails):
                    await self._arrival()
        except TimeoutError:
            came = [f"{mail.recipient}: {mail.subject}" for mail in self.mails]
            raise AssertionError(f"no such mail (to {to}, subject {subject!r}) in {seconds} s; came: {came}") from None
        return next(mail for mail in self.mails if fits(mail))

    async def _arrival(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.add(waiter)
        try:
            await waiter
        finally:
            self._waiting.discard(waiter)

    # --- Failing as told ------------------------------------------------------------------------------------------

    def refuse(self, address: str, reply: str = NO_SUCH_USER) -> None:
        """Nobody of that name here, from now on."""
        self._faults.add(Fault(Stage.RCPT, reply, address=address.lower(), left=None))

    def say_next(self, stage: Stage, reply: str, times: int = 1) -> None:
        """Give this reply instead of the usual one: ``451 4.3.0 Try again later``."""
        self._faults.add(Fault(stage, reply, left=times))

    def drop_next(self, stage: Stage, times: int = 1) -> None:
        """Cut the connection: before the content at ``DATA``, with the mail stored but not acknowledged at ``DOT``."""
        self._faults.add(Fault(stage, drops=True, left=times))

    def delay_next(self, stage: Stage, delay: timedelta, times: int = 1) -> None:
        self._faults.add(Fault(stage, delay=delay, left=times))

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
        self,
        mail: Mail,
        text: str,
        *,
        sender: str | None = None,
        html: str | None = None,
        authserv_id: str | None = None,
    ) -> httpx.Response:
        """Press reply, write ``text`` above the quote, send. The MX finds the sender authentic."""
        sender = sender or mail.recipient
        verdict = mail_replies.passing(authserv_id or mail_replies.domain_of(mail.header("From")), sender)
        raw = mail_replies.reply(mail, text, sender=sender, at=self._now(), authentication=verdict, html=html)
        return await self.post(raw)

    async def forge_reply(self, mail: Mail, text: str, *, sender: str, verdict: str | None = None) -> httpx.Response:
        """The same by somebody who knows the address to answer at; ``verdict`` is what the MX found, if it looked."""
        raw = mail_replies.reply(mail, text, sender=sender, at=self._now(), authentication=verdict)
        return await self.post(raw)

    async def auto_reply(self, mail: Mail, text: str = "I am out of the office until Monday.") -> httpx.Response:
        """The person's mail program answers by itself."""
        authserv_id = mail_replies.domain_of(mail.header("From"))
        verdict = mail_replies.passing(authserv_id, mail.recipient)
        raw = mail_replies.auto_reply(mail, text, sender=mail.recipient, at=self._now(), authentication=verdict)
        return await self.post(raw)

    async def bounce(self, mail: Mail) -> httpx.Response:
        """The person's mail server gives the mail back."""
        return await self.post(mail_replies.bounce(mail, at=self._now(), mail_server=HOSTNAME))

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
