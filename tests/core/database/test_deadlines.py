"""No call waits for a database for ever: one behind a dead line, one that is stuck, a disk that does not come back."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from core.database import postgres
from core.database.call_deadlines import LONG, Deadlines
from core.database.database import Database, Tx, open_database
from core.errors import DatabaseUnavailable, Unavailable
from core.work.distributed import DistributedWork
from tests.chaos.proxy import Manner, Proxy

PATIENCE = 30.0
SOON = Deadlines(timedelta(seconds=0.3), timedelta(seconds=0.6))


def asked(conn: sa.Connection) -> int | None:
    return conn.scalar(sa.text("SELECT 1"))


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[Proxy]:
    proxy = Proxy(Path(str(sa.make_url(postgres_url).query["host"])))
    with proxy.up():
        yield proxy


@pytest.fixture
async def remote(proxy: Proxy, postgres_url: str) -> AsyncIterator[Database]:
    """A database behind the proxy."""
    database = open_database(proxy.url(sa.make_url(postgres_url).database or ""), SOON)
    yield database
    proxy.be(Manner.WELL)
    await database.close()


async def refused(database: Database) -> list[Unavailable]:
    """Why neither a write nor a read came through."""
    reasons = []
    async with asyncio.timeout(PATIENCE):
        for call in (database.write(lambda tx: asked(tx.conn)), database.read(asked)):
            with pytest.raises(DatabaseUnavailable) as unavailable:
                await call
            reasons.append(unavailable.value.reason)
    return reasons


@pytest.mark.slow
@pytest.mark.parametrize("manner", [Manner.HALF_OPEN, Manner.STUCK])
@pytest.mark.parametrize("pool", ["warm", "cold"])
async def test_a_database_that_says_nothing_is_given_up_and_used_again_when_it_speaks(
    remote: Database, proxy: Proxy, manner: Manner, pool: str
) -> None:
    if pool == "warm":
        many = [remote.write(lambda tx: asked(tx.conn), within=LONG) for _ in range(20)]
        await asyncio.gather(*many, remote.read(asked, within=LONG))
    proxy.be(manner)
    assert await refused(remote) == [Unavailable.NO_ANSWER, Unavailable.NO_ANSWER]
    proxy.be(Manner.WELL)
    assert await remote.write(lambda tx: asked(tx.conn), within=LONG) == 1
    assert await remote.read(asked, within=LONG) == 1


async def test_more_than_there_are_threads_for_are_told_so_too(remote: Database, proxy: Proxy) -> None:
    proxy.be(Manner.HALF_OPEN)
    calls = [remote.write(lambda tx: asked(tx.conn)) for _ in range(60)] + [remote.read(asked) for _ in range(60)]
    async with asyncio.timeout(PATIENCE):
        told = await asyncio.gather(*calls, return_exceptions=True)
    assert {type(one) for one in told} == {DatabaseUnavailable}


@pytest.mark.slow
async def test_a_slow_line_is_no_dead_one(proxy: Proxy, postgres_url: str) -> None:
    database = open_database(proxy.url(sa.make_url(postgres_url).database or ""))
    proxy.be(Manner.SLOW)
    assert await database.write(lambda tx: asked(tx.conn)) == 1
    await database.close()


async def test_an_answer_that_came_while_the_whole_process_stood_still_counts(sqlite_url: str) -> None:
    """Frozen for longer than a call may take, it finds the answer and the deadline at once."""
    database = open_database(sqlite_url, SOON)
    reading = asyncio.create_task(database.read(asked))
    await asyncio.sleep(0)
    time.sleep(2 * SOON.call.total_seconds())
    assert await reading == 1
    await database.close()


async def test_a_connection_that_has_rested_on_a_dead_line_costs_no_call(
    remote: Database, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked first whether it lives, and replaced."""
    monkeypatch.setattr(postgres, "_ASK_AFTER", 0.0)
    monkeypatch.setattr(postgres, "_ASK_SECONDS", 1.0)
    await remote.read(asked, within=LONG)
    before = proxy.connections
    proxy.deafen()
    assert await remote.read(asked, within=LONG) == 1
    assert proxy.connections == before + 1


async def test_a_statement_that_takes_too_long_is_ended_by_the_server_too(remote: Database) -> None:
    def sleep(tx: Tx) -> None:
        tx.conn.execute(sa.text("SELECT pg_sleep(60)"))

    with pytest.raises(DatabaseUnavailable):
        await remote.write(sleep)
    sleeping = sa.text("SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%' AND state = 'active'")
    async with asyncio.timeout(PATIENCE):
        while await remote.read(lambda conn: conn.scalar(sleeping), within=LONG) != 1:  # this very question
            await asyncio.sleep(0.05)


async def test_a_call_may_be_given_more_time(remote: Database) -> None:
    nap = sa.text("SELECT pg_sleep(0.9)")
    await remote.write(lambda tx: tx.conn.execute(nap), within=timedelta(seconds=30))
    with pytest.raises(DatabaseUnavailable):
        await remote.write(lambda tx: tx.conn.execute(nap))


async def test_what_the_operator_has_set_for_the_server_stays(postgres_url: str) -> None:
    url = sa.make_url(postgres_url).update_query_dict({"options": "-c statement_timeout=1234"})
    database = open_database(url.render_as_string(hide_password=False))
    told = await database.read(
        lambda conn: [
            conn.scalar(sa.text(f"SHOW {name}"))
            for name in ("statement_timeout", "idle_in_transaction_session_timeout")
        ]
    )
    await database.close()
    assert told == ["1234ms", "8s"]


def test_dead_lines_are_looked_for_by_tcp_too_unless_the_url_says_otherwise() -> None:
    database = open_database("postgresql+psycopg://u@db.example/h?keepalives_idle=77&connect_timeout=3")
    said = dict(part.split("=") for part in database.conninfo.split())
    assert {name: said[name] for name in ("keepalives", "keepalives_idle", "tcp_user_timeout", "connect_timeout")} == {
        "keepalives": "1",
        "keepalives_idle": "77",
        "tcp_user_timeout": "10000",
        "connect_timeout": "3",
    }


def test_of_several_hosts_none_takes_up_the_time_of_the_others() -> None:
    hosts = "host=one.example:5432&host=two.example:5433&target_session_attrs=read-write"
    database = open_database(f"postgresql+psycopg://u@/h?{hosts}")
    said = dict(part.split("=") for part in database.conninfo.split())
    assert {name: said[name] for name in ("host", "port", "target_session_attrs", "connect_timeout")} == {
        "host": "one.example,two.example",
        "port": "5432,5433",
        "target_session_attrs": "read-write",
        "connect_timeout": "2",
    }


@pytest.mark.slow
async def test_taking_jobs_ends_at_once_behind_a_dead_line(remote: Database, proxy: Proxy) -> None:
    """Whoever is cancelled does not wait for a server that says nothing."""
    from core.hub import Hub
    from tests.clock import ManualClock

    work = DistributedWork(remote, ManualClock(), Hub())

    async def look() -> None:
        return None

    before = proxy.connections
    await work.start(look)
    async with asyncio.timeout(PATIENCE):
        while proxy.connections == before:
            await asyncio.sleep(0.01)
    proxy.be(Manner.HALF_OPEN)
    async with asyncio.timeout(10):
        await work.stop()


# --- SQLite ---------------------------------------------------------------------------------------------------------


@pytest.fixture
async def local(sqlite_url: str) -> AsyncIterator[Database]:
    database = open_database(sqlite_url, SOON)
    yield database
    await database.close()


class DeadDisk:
    """A call to the disk that comes back when it is told to."""

    def __init__(self) -> None:
        self.met, self.back = threading.Event(), threading.Event()

    def __call__(self, *_: object) -> str:
        self.met.set()
        assert self.back.wait(PATIENCE)
        return "late"


async def test_a_disk_that_does_not_come_back_holds_up_nobody_who_waits(local: Database) -> None:
    disk, begun = DeadDisk(), []
    async with asyncio.timeout(PATIENCE):
        told = await asyncio.gather(
            local.write(disk), *(local.write(lambda _tx: begun.append(1)) for _ in range(5)), return_exceptions=True
        )
    assert [type(one) for one in told] == [DatabaseUnavailable] * 6
    disk.back.set()
    assert await local.write(lambda tx: asked(tx.conn), within=LONG) == 1
    assert begun == [], "what was told to have failed was done all the same"


async def test_readers_that_are_stuck_hold_up_nobody_who_waits(local: Database) -> None:
    disk, begun = DeadDisk(), []
    async with asyncio.timeout(PATIENCE):
        stuck = [local.read(disk) for _ in range(4)]
        told = await asyncio.gather(*stuck, local.read(lambda _conn: begun.append(1)), return_exceptions=True)
    assert [type(one) for one in told] == [DatabaseUnavailable] * 5
    disk.back.set()
    assert await local.read(asked, within=LONG) == 1
    assert begun == []


@pytest.mark.slow
async def test_a_call_is_given_up_whatever_became_of_those_before_it(local: Database) -> None:
    disk = DeadDisk()
    for _ in range(2):
        assert await local.read(asked) == 1
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(DatabaseUnavailable):
                await local.read(disk)
    disk.back.set()


async def test_what_follows_a_commit_that_came_late_happens_all_the_same(local: Database) -> None:
    """Nobody was told that it stands, so a row that it leased has to come into somebody's hands by itself."""
    disk, happened = DeadDisk(), asyncio.Event()

    def job(tx: Tx) -> None:
        tx.after_commit(happened.set)
        disk()

    with pytest.raises(DatabaseUnavailable):
        await local.write(job)
    assert not happened.is_set()
    disk.back.set()
    async with asyncio.timeout(PATIENCE):
        await happened.wait()


async def test_closing_leaves_behind_what_is_stuck(sqlite_url: str) -> None:
    database, disk = open_database(sqlite_url, SOON), DeadDisk()
    with pytest.raises(DatabaseUnavailable):
        await database.write(disk)
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(DatabaseUnavailable, match="did not close in time"):
            await database.close(timedelta(seconds=0.1))
    disk.back.set()
    await database.close()
