"""1,000 reminders over one SMTP host: how soon all are there, over how many connections, and beside what a bare client
needs for the same bytes over as many connections.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.bench import bare_mail, measures, rows
from tests.bench.crowd import MAILBOX, open_question
from tests.bench.reminders import CONNECTIONS, TWO_ATTEMPTS
from tests.bench.service import Caller, around, serving, write_config
from tests.bench.sheet import Sheet

COUNT = 1_000
HEAD_START = timedelta(seconds=6)
"""Between the loading and the instant at which all are due, for the service to start in."""
PATIENCE_SECONDS = 120


@dataclass
class Host:
    """A mail server that keeps what comes, and counts the connections that are open at once."""

    port: int = 0
    open_now: int = 0
    most_open: int = 0
    contents: dict[str, bytes] = field(default_factory=dict)
    last_at: float = 0

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        self.contents[envelope.rcpt_tos[0]] = envelope.original_content or b""
        self.last_at = time.time()
        return "250 taken"


class Counted(SMTP):
    """One connection to ``host``."""

    def __init__(self, host: Host) -> None:
        super().__init__(host, hostname="host.example")
        self.host = host

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.host.open_now += 1
        self.host.most_open = max(self.host.most_open, self.host.open_now)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self.host.open_now -= 1
        super().connection_lost(error)


@asynccontextmanager
async def listening() -> AsyncIterator[Host]:
    host = Host()
    server = await asyncio.get_running_loop().create_server(lambda: Counted(host), "127.0.0.1", 0)
    host.port = server.sockets[0].getsockname()[1]
    try:
        yield host
    finally:
        server.close()


async def sqlite(folder: Path, sheet: Sheet) -> None:
    """The reminders, then the bare client."""
    path = folder / "mails.db"
    async with around() as here, aiohttp.ClientSession() as http, listening() as host, listening() as bare:
        config, url = write_config(folder, f"sqlite+aiosqlite:///{path}", here.smtp_port)
        asked = await open_question(http, config, url, here, timeout_seconds=7200, retry_policy=TWO_ATTEMPTS)
        original = rows.read_original(f"sqlite:///{path}", asked, MAILBOX)
        due = datetime.now(UTC) + HEAD_START
        moved = due - (datetime.fromisoformat(original.instants[0]) + timedelta(hours=1))
        rows.load(f"sqlite:///{path}", original, COUNT, lambda _number: moved)
        config, url = write_config(folder, f"sqlite+aiosqlite:///{path}", host.port)
        with serving(config):
            await measures.until_ready(Caller(http, url), time.monotonic())
            sheet.note("ready this long before all were due", due.timestamp() - time.time(), "s")
            await arrived(host)
        took = host.last_at - due.timestamp()
        ceiling = await bare_mail.seconds_for(bare.port, list(host.contents.items()), CONNECTIONS)
        sheet.exactly("reminders sent", len(host.contents), COUNT, "")
        sheet.at_most("the last mail, after all were due", took, 10, "s")
        sheet.at_most("connections open at once", host.most_open, CONNECTIONS, "")
        sheet.note("a bare aiosmtplib with the same bytes and connections", ceiling, "s")
        sheet.note("of the bare client's speed", 100 * ceiling / took, "%")


async def arrived(host: Host) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(host.contents) < COUNT:
            await asyncio.sleep(0.05)
