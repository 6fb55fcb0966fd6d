"""News between processes: an event in one wakes the waiters in all others, by PostgreSQL's LISTEN and NOTIFY.

Each process listens on one connection, which bypasses any pooler. A notification is sent in its event's transaction, so
that it goes out with the commit or not at all. It names topics and never holds content. After a lost connection all
waiters look again, since nobody knows what was missed. A server that takes no writes can't notify: its connection
counts as lost, too.

Source: https://www.postgresql.org/docs/current/sql-notify.html
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa
import structlog

from core.database.database import Database, Tx
from core.database.prepared import Prepared
from core.errors import DatabaseUnavailable
from core.hub import Hub
from core.work.health import Health

if TYPE_CHECKING:  # loaded if PostgreSQL is used
    from core.database.postgres import AsyncConnection

log = structlog.get_logger(__name__)

CHANNEL = "handraise"
MOST_BYTES = 7_900
"""PostgreSQL takes payloads of less than 8,000 bytes."""

ALIVE_EVERY = timedelta(seconds=5)
"""How often a silent connection is asked whether it still stands."""

_AGAIN = 0.5
_NOTIFY = Prepared(sa.select(sa.func.pg_notify(CHANNEL, sa.bindparam("payload", type_=sa.Text)).label("notified")))


class News:
    """Implements :class:`core.hub.OtherProcesses`, and tells ``hub`` the news of other processes."""

    def __init__(
        self, database: Database, hub: Hub, alive_every: timedelta = ALIVE_EVERY, health: Health | None = None
    ) -> None:
        self._database = database
        self._hub = hub
        self._alive_every = alive_every.total_seconds()
        self._health = health
        self._me = uuid.uuid4().hex[:12]
        self._task: asyncio.Task[None] | None = None

    def spread(self, tx: Tx, topics: tuple[str, ...]) -> None:
        """Called in the transaction's thread."""
        for payload in payloads(self._me, topics):
            _NOTIFY.run(tx.conn, {"payload": payload})

    async def start(self) -> None:
        """Returns when this process hears everything from now on; raises :class:`DatabaseUnavailable`."""
        listening = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(listening), name="news")
        await listening

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError, DatabaseUnavailable):
                await self._task
            self._task = None
        if self._health is not None:
            self._health.ends("news")

    async def _run(self, listening: asyncio.Future[None]) -> None:
        import psycopg

        while True:
            self._begins()
            try:
                async with await self._connect() as conn:
                    await self._listen(conn, listening)
            except (psycopg.Error, OSError, TimeoutError) as failure:
                if not listening.done():
                    reason = type(failure).__name__
                    unavailable = DatabaseUnavailable(f"The database is not available: {reason}.")
                    unavailable.__cause__ = failure
                    listening.set_exception(unavailable)
                    return
                log.warning("news.connection_lost", reason=type(failure).__name__)
            await asyncio.sleep(_AGAIN)

    async def _connect(self) -> AsyncConnection:
        from core.database.postgres import async_connections

        connections = async_connections(self._database.deadlines)
        return await connections.connect(self._database.direct_conninfo, autocommit=True)

    async def _listen(self, conn: AsyncConnection, listening: asyncio.Future[None]) -> None:
        from core.database.postgres import check_takes_writes

        await conn.execute(f"LISTEN {CHANNEL}")
        if listening.done():
            log.info("news.connected_again")
            self._hub.tell_everybody()
        else:
            listening.set_result(None)
        while True:
            self._begins()
            async for notification in conn.notifies(timeout=self._alive_every):
                self._heard(notification.payload)
            await check_takes_writes(conn)  # by the deadline of every statement

    def _begins(self) -> None:
        if self._health is not None:
            self._health.begins("news")

    def _heard(self, payload: str) -> None:
        sender, *topics = payload.split(" ")
        if sender != self._me:  # our own were told when the commit stood
            self._hub.tell(*topics)


def payloads(sender: str, topics: Sequence[str]) -> Iterator[str]:
    """``sender`` and the topics, separated by spaces, in as many parts as they need."""
    part = sender
    for topic in topics:
        if len(part.encode()) + len(topic.encode()) >= MOST_BYTES and part != sender:
            yield part
            part = sender
        part = f"{part} {topic}"
    yield part
