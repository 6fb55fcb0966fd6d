"""A pretend mail server's SMTP side: takes mail on loopback, and fails the way it is told to.

Source: RFC 5321 §4.2 (replies), §4.3.2 (which reply may come when).
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session, syntax

HOSTNAME = "mx.sandbox.test"
LARGEST = 10 * 1024 * 1024
NEEDS_LOGIN = "530 5.7.0 Authentication required"
NO_SUCH_USER = "550 5.1.1 No such user here"


Store = Callable[[str, str, bytes, bool], None]
"""Envelope sender, recipient, content, and whether the sender is told at once that it was taken."""


class Stage(StrEnum):
    """Where in the conversation something happens. ``DOT`` is behind the content: the mail is stored by then."""

    MAIL = "mail"
    RCPT = "rcpt"
    DATA = "data"
    DOT = "dot"


@dataclass(slots=True)
class Fault:
    """What goes wrong at ``stage``: a ``reply``, a dropped connection where that is ``None``, or only a ``delay``.

    ``left`` counts down; ``None`` is for ever. ``address`` narrows it to one recipient.
    """

    stage: Stage
    reply: str | None = None
    drops: bool = False
    delay: timedelta = timedelta(0)
    address: str | None = None
    left: int | None = 1


class Faults:
    """The faults that are still to come, in the order they were ordered."""

    def __init__(self) -> None:
        self._coming: list[Fault] = []

    def add(self, fault: Fault) -> None:
        self._coming.append(fault)

    def __len__(self) -> int:
        return len(self._coming)

    def clear(self) -> None:
        self._coming.clear()

    def take(self, stage: Stage, address: str | None = None) -> Fault | None:
        for fault in self._coming:
            if fault.stage is stage and fault.address in {None, address}:
                if fault.left is not None:
                    fault.left -= 1
                    if not fault.left:
                        self._coming.remove(fault)
                return fault
        return None


class SandboxSmtp(SMTP):
    """One connection. ``store`` keeps a mail; it is called before the reply to the final dot."""

    def __init__(self, faults: Faults, store: Store, login: tuple[str, str] | None) -> None:
        self.faults = faults
        super().__init__(
            _Handler(faults, store, NEEDS_LOGIN if login else None),
            hostname=HOSTNAME,
            data_size_limit=LARGEST,
            auth_require_tls=False,
            authenticator=_authenticator(login) if login else None,
            loop=asyncio.get_running_loop(),
        )

    @syntax("DATA")
    async def smtp_DATA(self, arg: str) -> None:  # noqa: N802
        reply = await _happen(self, self.faults.take(Stage.DATA))
        if reply is None:
            await super().smtp_DATA(arg)
        else:
            await self.push(reply)


class _Handler:
    """What aiosmtpd asks along the way; the method names are its own."""

    def __init__(self, faults: Faults, store: Store, to_strangers: str | None) -> None:
        self._faults = faults
        self._store = store
        self._to_strangers = to_strangers

    async def handle_MAIL(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        reply = await _happen(server, self._faults.take(Stage.MAIL))
        if reply is None and not session.authenticated:
            reply = self._to_strangers
        if reply is None:
            envelope.mail_from = address
            envelope.mail_options.extend(options)
        return reply or "250 2.1.0 Ok"

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        reply = await _happen(server, self._faults.take(Stage.RCPT, address.lower()))
        if reply is None:
            envelope.rcpt_tos.append(address)
        return reply or "250 2.1.5 Ok"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        fault = self._faults.take(Stage.DOT)
        content = envelope.original_content or b""
        if fault is None or fault.reply is None:
            for recipient in envelope.rcpt_tos:
                self._store((envelope.mail_from or "").removeprefix("<>"), recipient, content, fault is None)
        return await _happen(server, fault) or "250 2.0.0 Ok: queued"


async def _happen(server: SMTP, fault: Fault | None) -> str | None:
    """Let the fault happen. The reply to give instead of the usual one, where there is one."""
    if fault is None:
        return None
    await asyncio.sleep(fault.delay.total_seconds())
    if fault.drops and isinstance(server.transport, asyncio.Transport):
        server.transport.abort()
        await asyncio.get_running_loop().create_future()  # cancelled as soon as the loop sees the connection gone
    return fault.reply


def _authenticator(login: tuple[str, str]) -> Callable[..., AuthResult]:
    expected = tuple(one.encode() for one in login)

    def check(server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
        given = (data.login, data.password) if isinstance(data, LoginPassword) else (b"", b"")
        right = all(hmac.compare_digest(one, other) for one, other in zip(given, expected, strict=True))
        return AuthResult(success=right, handled=False)

    return check
