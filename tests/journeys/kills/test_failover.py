"""One PostgreSQL hands over to another, or dies: asks work again within five seconds of a server that takes writes.

Two real servers, of which one streams to the other. A middle box, several hosts in the URL, or a pooler lead to them.

Source: docs/decisions/0084-databases-behind-a-pooler.md.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from core.database.database import open_database
from core.store import schema
from tests.chaos.proxy import Proxy
from tests.journeys.kills.replicas import AGENT, PATIENCE, Replicas, replicas_on
from tests.pgbouncer import pgbouncer
from tests.postgres import Cluster, cluster, standby
from tests.process import ServiceProcess

pytestmark = pytest.mark.pooler

WITHIN = 5
"""Seconds from a server that takes writes to the first ask that works."""

OURS = sa.text(
    "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
)
BEHIND = sa.text("SELECT pg_current_wal_lsn() <> replay_lsn FROM pg_stat_replication")
STANDBYS = sa.text("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")


@dataclass
class Pair:
    """``first`` takes writes and streams them to ``second``, until one of the methods."""

    first: Cluster
    second: Cluster

    def url(self, of: Cluster) -> str:
        return f"postgresql+psycopg://postgres@/postgres{of.query}"

    def ask(self, of: Cluster, statement: sa.TextClause) -> Any:
        engine = sa.create_engine(self.url(of), poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as conn:
            return conn.scalar(statement)

    async def until(self, statement: sa.TextClause, wanted: object) -> None:
        """Until ``first`` says so."""
        async with asyncio.timeout(PATIENCE):
            while await asyncio.to_thread(self.ask, self.first, statement) != wanted:
                await asyncio.sleep(0.05)

    async def is_left(self, replicas: Replicas) -> None:
        """Until no connection stands on ``first`` any more, while the processes work."""
        async with asyncio.timeout(PATIENCE):
            while await asyncio.to_thread(self.ask, self.first, OURS):
                await cycle(replicas)

    async def close_first(self) -> None:
        """It takes no more writes; its connections stand."""
        engine = sa.create_engine(self.url(self.first), poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as conn:
            conn.exec_driver_sql("ALTER SYSTEM SET default_transaction_read_only = on")
            conn.exec_driver_sql("SELECT pg_reload_conf()")
        await self.until(sa.text("SHOW default_transaction_read_only"), "on")
        await self.until(BEHIND, False)

    async def kill_first(self) -> None:
        await asyncio.to_thread(self.first.stop, signal.SIGQUIT)

    async def promote(self) -> None:
        await asyncio.to_thread(self.second.promote)


@pytest.fixture
def pair() -> Iterator[Pair]:
    with cluster() as first:
        database = open_database(f"postgresql+psycopg://postgres@/postgres{first.query}")
        schema.migrate(database)
        database.engine.dispose()
        with standby(first) as second:
            pair = Pair(first, second)
            asyncio.run(pair.until(STANDBYS, 1))
            yield pair


@pytest.fixture
def hosts_url(pair: Pair) -> Iterator[str]:
    """Both of them are named."""
    with ExitStack() as stack:
        proxies = [Proxy(one.sockets) for one in (pair.first, pair.second)]
        for proxy in proxies:
            stack.enter_context(proxy.up())
        hosts = "&".join(f"host=127.0.0.1:{proxy.port}" for proxy in proxies)
        yield f"postgresql+psycopg://postgres@/postgres?{hosts}&target_session_attrs=read-write"


@asynccontextmanager
async def two_processes(folder: Path, url: str, direct_url: str | None = None) -> AsyncIterator[Replicas]:
    """They work, and every connection that they need has been made."""
    async with replicas_on(folder, url, direct_url) as replicas:
        await asyncio.gather(replicas.start(), replicas.start())
        for _ in range(2):
            await asyncio.gather(*(cycle(replicas) for _ in range(6)))
        yield replicas


async def cycle(replicas: Replicas) -> None:
    """Asked and waited for at one process, answered at the other."""
    one, two = replicas.started
    asked = await replicas.ask(one)
    waiting = asyncio.create_task(replicas.wait(one, asked))
    answered = await replicas.answer(two, asked)
    assert answered.status_code == 200, answered.text
    assert (await waiting).json()["response"] == "yes"


async def tries(replicas: Replicas, at: ServiceProcess) -> int:
    body = {"question": "Go on?", "response_type": "confirm"}
    response = await replicas.http.post(f"{at.url}/v1/suspensions", json=body, headers=AGENT)
    if response.status_code == 503:
        assert response.json()["detail"]["error"] == "database_unavailable"
    return response.status_code


async def is_away(replicas: Replicas) -> None:
    """Nobody can ask, and is told so."""
    for process in replicas.started:
        for _ in range(6):
            assert await tries(replicas, process) == 503


async def works_again(replicas: Replicas, asked_before: dict[str, Any]) -> None:
    """Soon; what was asked before is there; and the processes hear of each other."""
    for process in replicas.started:
        async with asyncio.timeout(WITHIN):
            while await tries(replicas, process) != 201:
                await asyncio.sleep(0.05)
    one, two = replicas.started
    assert (await replicas.answer(two, asked_before)).status_code == 200
    for process in replicas.started:
        async with asyncio.timeout(PATIENCE):
            while (await replicas.http.get(f"{process.url}/readyz")).status_code != 200:
                await asyncio.sleep(0.05)
    already = len(replicas.agent.resumed)
    await asyncio.gather(*(cycle(replicas) for _ in range(6)))
    await replicas.agent.expect(already + 6, within=PATIENCE)
    for process in (one, two):
        assert "Traceback" not in process.written


async def test_behind_a_middle_box_that_is_switched_while_old_connections_stand(tmp_path: Path, pair: Pair) -> None:
    proxy = Proxy(pair.first.sockets)
    with proxy.up():
        async with two_processes(tmp_path, proxy.url()) as replicas:
            before = await replicas.ask(replicas.started[0])
            await pair.close_first()
            await is_away(replicas)
            await pair.promote()
            proxy.lead_to(pair.second.sockets)
            await works_again(replicas, before)
            await pair.is_left(replicas)  # by who listens, who takes jobs and who only reads, too


async def test_by_several_hosts_in_the_url_if_the_first_of_them_dies(
    tmp_path: Path, pair: Pair, hosts_url: str
) -> None:
    async with two_processes(tmp_path, hosts_url) as replicas:
        before = await replicas.ask(replicas.started[0])
        await pair.until(BEHIND, False)
        await pair.kill_first()
        await is_away(replicas)
        await pair.promote()
        await works_again(replicas, before)


async def test_by_several_hosts_in_the_url_if_the_first_of_them_takes_no_more_writes(
    tmp_path: Path, pair: Pair, hosts_url: str
) -> None:
    async with two_processes(tmp_path, hosts_url) as replicas:
        before = await replicas.ask(replicas.started[0])
        await pair.close_first()
        await is_away(replicas)
        await pair.promote()
        await works_again(replicas, before)
        await pair.is_left(replicas)


async def test_behind_a_pooler_that_is_led_to_the_other_server(tmp_path: Path, pair: Pair) -> None:
    direct = "&".join(f"host={one.sockets}" for one in (pair.first, pair.second))
    direct_url = f"postgresql+psycopg://postgres@/postgres?{direct}&target_session_attrs=read-write"
    with pgbouncer(pair.url(pair.first)) as bouncer:
        async with two_processes(tmp_path, bouncer.url(pair.url(pair.first)), direct_url) as replicas:
            before = await replicas.ask(replicas.started[0])
            await pair.close_first()
            await is_away(replicas)
            await pair.promote()
            bouncer.lead_to(str(pair.second.sockets))
            await works_again(replicas, before)
            await pair.is_left(replicas)
