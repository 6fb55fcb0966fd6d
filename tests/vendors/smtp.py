"""A pretend mail server's SMTP side: takes mail on loopback, and fails the way it is told to.

Source: RFC 5321 §4.2 (replies), §4.3.2 (which reply may come when).
"""

from __future__ import annotations

import asyncio
import hmac
import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, cast

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session, syntax

from bot.sandbox.mailbox import HOSTNAME, LARGEST

NEEDS_LOGIN = "530 5.7.0 Authentication required"
NO_SUCH_USER = "550 5.1.1 No such user here"


Store = Callable[[str, str, bytes, bool, tuple[str, ...]], None]
"""Envelope sender, recipient, content, whether the sender is told at once that it was taken, and what it wishes to be
told later (``RET=HDRS``, ``NOTIFY=…``)."""


@dataclass(frozen=True, slots=True)
class Offers:
    """What the server says after EHLO. ``certificate`` makes it speak TLS: from the first byte where ``implicit``,
    else after STARTTLS. ``reports`` is DSN (RFC 3461), ``utf8`` SMTPUTF8 (RFC 6531)."""

    certificate: ssl.SSLContext | None = None
    implicit: bool = False
    reports: bool = False
    utf8: bool = False
    login_by: tuple[str, ...] = ("LOGIN", "PLAIN")

    @property
    def starttls(self) -> ssl.SSLContext | None:
        return None if self.implicit else self.certificate


PLAIN = Offers()
_REPORTS = re.compile(r" (RET|ENVID|NOTIFY|ORCPT)=(\S+)", re.IGNORECASE)


class Stage(StrEnum):
    """Where in the conversation something happens. ``DOT`` is behind the content: the mail is stored by then."""

    MAIL = "mail"
    RCPT = "rcpt"
    DATA = "data"
    DOT = "dot"


@dataclass(slots=True)
class SmtpFault:
    """What goes wrong at ``stage``: a ``reply``, a dropped connection if that is ``None``, or only a ``delay``.

    ``left`` counts down; ``None`` is for ever. ``address`` narrows it to one recipient.
    """

    stage: Stage
    reply: str | None = None
    drops: bool = False
    delay: timedelta = timedelta(0)
    address: str | None = None
    left: int | None = 1


class SmtpFaults:
    """The faults that are still to come, in the order they were ordered."""

    def __init__(self) -> None:
        self._coming: list[SmtpFault] = []

    def add(self, fault: SmtpFault) -> None:
        self._coming.append(fault)

    def __len__(self) -> int:
        return len(self._coming)

    def clear(self) -> None:
        self._coming.clear()

    def take(self, stage: Stage, address: str | None = None) -> SmtpFault | None:
        for fault in self._coming:
            if fault.stage is stage and fault.address in {None, address}:
                if fault.left is not None:
                    fault.left -= 1
                    if not fault.left:
                        self._coming.remove(fault)
                return fault
        return None


class FaultySmtp(SMTP):
    """One connection. ``store`` keeps a mail; it is called before the reply to the final dot."""

    def __init__(self, faults: SmtpFaults, store: Store, login: tuple[str, str] | None, offers: Offers = PLAIN) -> None:
        self.faults = faults
        self.offers = offers
        self.wishes: tuple[str, ...] = ()
        super().__init__(
            _Handler(faults, store, NEEDS_LOGIN if login else None),
            tls_context=offers.starttls,
            enable_SMTPUTF8=offers.utf8,
            auth_exclude_mechanism={"LOGIN", "PLAIN"} - set(offers.login_by),
            hostname=HOSTNAME,
            data_size_limit=LARGEST,
            auth_require_tls=False,
            authenticator=_authenticator(login) if login else None,
            loop=asyncio.get_running_loop(),
        )

    @syntax("MAIL FROM: <address>", extended=" [SP <mail-parameters>]")
    async def smtp_MAIL(self, arg: str) -> None:
        self.wishes = ()
        await super().smtp_MAIL(self._without_wishes(arg))

    @syntax("RCPT TO: <address>", extended=" [SP <mail-parameters>]")
    async def smtp_RCPT(self, arg: str) -> None:
        await super().smtp_RCPT(self._without_wishes(arg))

    def _without_wishes(self, arg: str) -> str:
        """``arg`` as aiosmtpd, which knows no DSN, can read it."""
        if not (self.offers.reports and arg):
            return arg
        self.wishes += tuple(f"{name.upper()}={value}" for name, value in _REPORTS.findall(arg))
        return _REPORTS.sub("", arg)

    @property
    def is_open(self) -> bool:
        wire = _wire(self)
        return wire is not None and not wire.is_closing()

    def hang_up(self) -> None:
        """As servers do with a connection that nobody uses (RFC 5321 §3.8)."""
        wire = _wire(self)
        if wire is not None and not wire.is_closing():
            wire.write(b"421 4.4.2 Idle for too long\r\n")
            wire.close()

    @syntax("DATA")
    async def smtp_DATA(self, arg: str) -> None:
        reply = await _happen(self, self.faults.take(Stage.DATA))
        if reply is None:
            await super().smtp_DATA(arg)
        else:
            await self.push(reply)


class _Handler:
    """What aiosmtpd asks along the way; the method names are its own."""

    def __init__(self, faults: SmtpFaults, store: Store, to_strangers: str | None) -> None:
        self._faults = faults
        self._store = store
        self._to_strangers = to_strangers

    async def handle_EHLO(
        self, server: FaultySmtp, session: Session, envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        session.host_name = hostname
        return [*responses[:-1], *(["250-DSN"] if server.offers.reports else []), responses[-1]]

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        reply = await _happen(server, self._faults.take(Stage.MAIL))
        if reply is None and not session.authenticated:
            reply = self._to_strangers
        if reply is None:
            envelope.mail_from = address
            envelope.mail_options.extend(options)
        return reply or "250 2.1.0 Ok"

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        reply = await _happen(server, self._faults.take(Stage.RCPT, address.lower()))
        if reply is None:
            envelope.rcpt_tos.append(address)
        return reply or "250 2.1.5 Ok"

    async def handle_DATA(self, server: FaultySmtp, session: Session, envelope: Envelope) -> str:
        fault = self._faults.take(Stage.DOT)
        content = envelope.original_content or b""
        if fault is None or fault.reply is None:
            for recipient in envelope.rcpt_tos:
                self._store(
                    (envelope.mail_from or "").removeprefix("<>"), recipient, content, fault is None, server.wishes
                )
        return await _happen(server, fault) or "250 2.0.0 Ok: queued"


async def _happen(server: SMTP, fault: SmtpFault | None) -> str | None:
    """Let the fault happen. The reply to give instead of the usual one, if there is one."""
    if fault is None:
        return None
    await asyncio.sleep(fault.delay.total_seconds())
    if fault.drops and (wire := _wire(server)) is not None:
        wire.abort()
        await asyncio.get_running_loop().create_future()  # cancelled as soon as the loop sees the connection gone
    return fault.reply


def _wire(server: SMTP) -> asyncio.WriteTransport | None:
    """Its transport, ``None`` once the connection is gone. uvloop's are no asyncio transports, so nothing asks."""
    return cast("asyncio.WriteTransport | None", server.transport)


def _authenticator(login: tuple[str, str]) -> Callable[..., AuthResult]:
    expected = tuple(one.encode() for one in login)

    def check(server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
        given = (data.login, data.password) if isinstance(data, LoginPassword) else (b"", b"")
        right = all(hmac.compare_digest(one, other) for one, other in zip(given, expected, strict=True))
        return AuthResult(success=right, handled=False)

    return check
