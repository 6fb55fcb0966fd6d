"""Who was away, and for how long, read off the beats, and what a clock that is set means (API.md §3)."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
import sqlalchemy as sa

from core.database.database import Database
from core.errors import DatabaseUnavailable
from core.store import outages, outbox, workers
from core.store.outbox import Row, RowKind
from core.store.tables import outages as outages_table
from core.work.presence import WorkerPulse
from tests.clock import START, ManualClock

GRACE = timedelta(seconds=60)
BEAT = timedelta(seconds=5)
HOUR = timedelta(hours=1)


class Host:
    """A host with a clock on its wall, which may be set, and seconds since its start, which may not."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.since_start = timedelta(days=40)

    def passes(self, time: timedelta) -> None:
        self.clock.move_by(time)
        self.since_start += time

    def is_set(self, by: timedelta) -> None:
        self.clock.is_set(by)

    def worker(self, database: Database, name: str, grace: timedelta | None = GRACE) -> WorkerPulse:
        return WorkerPulse(database, self.clock, name, "worker", grace, lambda: self.since_start)


async def lengths(database: Database) -> list[timedelta]:
    found = sa.select(outages_table.c.length).order_by(outages_table.c.id)
    return await database.read(lambda conn: list(conn.scalars(found)))


async def test_a_new_process_finds_for_how_long_nobody_was_there(database: Database) -> None:
    host = Host()
    await host.worker(database, "one").beat()
    assert await lengths(database) == []
    host.passes(HOUR)
    await host.worker(database, "two").beat()
    assert await lengths(database) == [HOUR]


async def test_a_process_that_slept_finds_it_too(database: Database) -> None:
    host = Host()
    worker = host.worker(database, "one")
    await worker.beat()
    host.passes(HOUR)
    await worker.beat()
    assert await lengths(database) == [HOUR]


async def test_a_clock_set_forward_by_more_than_the_grace_is_an_outage(database: Database) -> None:
    host = Host()
    worker = host.worker(database, "one")
    await worker.beat()
    host.passes(BEAT)
    host.is_set(2 * HOUR)
    await worker.beat()
    assert await lengths(database) == [2 * HOUR], "what it was there for was waited for"
    assert host.clock.now() == START + BEAT + 2 * HOUR
    assert await database.read(workers.latest_beat) == START + BEAT + 2 * HOUR


async def test_a_clock_set_forward_within_the_grace_is_followed_and_no_outage(database: Database) -> None:
    host = Host()
    worker = host.worker(database, "one")
    await worker.beat()
    host.passes(BEAT)
    host.is_set(GRACE)
    await worker.beat()
    assert await lengths(database) == []
    assert host.clock.now() == START + BEAT + GRACE


async def test_the_time_is_set_only_once_the_outage_stands_in_the_database(
    database: Database, other_database: Database
) -> None:
    host = Host()
    worker = host.worker(database, "one")
    await worker.beat()
    await other_database.close()
    worker.database = other_database
    host.is_set(2 * HOUR)
    with pytest.raises(DatabaseUnavailable):
        await worker.beat()
    assert host.clock.now() == START, "nothing may end by a time that is about to move"
    worker.database = database
    await worker.beat()
    assert (await lengths(database), host.clock.now()) == ([2 * HOUR], START + 2 * HOUR)


async def test_a_process_that_begins_takes_the_time_as_it_is(database: Database) -> None:
    host = Host()
    await host.worker(database, "one").beat()
    host.passes(BEAT)
    host.is_set(2 * HOUR)
    await host.worker(database, "two").beat()
    assert await lengths(database) == [BEAT + 2 * HOUR], "it can't know; the beats tell how long nobody was there"


async def test_a_clock_set_forward_during_an_outage_is_part_of_it(database: Database) -> None:
    host = Host()
    worker = host.worker(database, "one")
    await worker.beat()
    host.passes(timedelta(minutes=10))
    host.is_set(2 * HOUR)
    await worker.beat()
    assert await lengths(database) == [timedelta(minutes=10) + 2 * HOUR]


async def test_where_the_clock_that_all_go_by_is_set_one_of_several_says_so(
    database: Database, other_database: Database
) -> None:
    hosts = [Host(), Host()]
    workers_ = [host.worker(db, name) for host, db, name in zip(hosts, (database, other_database), "ab", strict=True)]
    for step, found in ((2 * HOUR, [2 * HOUR]), (-2 * HOUR, [2 * HOUR, -2 * HOUR])):
        for worker in workers_:
            await worker.beat()
        for host in hosts:
            host.is_set(step)
        for worker in workers_:
            await worker.beat()
        assert await lengths(database) == found
        assert {host.clock.now() for host in hosts} == {START + max(step, timedelta(0))}


async def test_a_clock_that_was_wrong_and_is_set_right_takes_off_what_it_had_added(database: Database) -> None:
    host = Host()
    worker = host.worker(database, "one")
    await worker.beat()
    host.is_set(24 * HOUR)
    await worker.beat()
    host.passes(HOUR)
    await worker.beat()
    host.is_set(-25 * HOUR)
    await worker.beat()
    assert await lengths(database) == [24 * HOUR, HOUR, -24 * HOUR], "no more than it had added"
    assert host.clock.now() == START


async def test_a_clock_set_back_is_no_outage_for_anybody(database: Database) -> None:
    host = Host()
    worker = host.worker(database, "one")
    await worker.beat()
    host.passes(BEAT)
    host.is_set(-2 * HOUR)
    await worker.beat()
    assert host.clock.now() == START + BEAT - 2 * HOUR
    await host.worker(database, "two").beat()
    host.passes(HOUR)
    await host.worker(database, "three").beat()
    assert await lengths(database) == []


async def test_where_others_were_there_one_that_slept_was_not_missed(database: Database) -> None:
    host = Host()
    one, two = host.worker(database, "one"), host.worker(database, "two")
    await one.beat()
    host.passes(HOUR - BEAT)
    await two.beat()
    assert await lengths(database) == [HOUR - BEAT]
    host.passes(BEAT)
    await one.beat()
    assert await lengths(database) == [HOUR - BEAT]


async def test_of_several_that_come_back_at_once_one_says_so(database: Database, other_database: Database) -> None:
    host = Host()
    await host.worker(database, "one").beat()
    host.passes(HOUR)
    back = [host.worker(db, f"{db is database} {n}") for n in range(4) for db in (database, other_database)]
    await asyncio.gather(*(worker.beat() for worker in back))
    assert await lengths(database) == [HOUR]


async def test_a_database_that_is_away_is_an_outage_once_it_is_back(
    database: Database, other_database: Database
) -> None:
    host = Host()
    worker = host.worker(database, "one")
    await worker.beat()
    await other_database.close()
    worker.database = other_database
    for _ in range(12):
        host.passes(timedelta(minutes=1))
        with pytest.raises(DatabaseUnavailable):
            await worker.beat()
    worker.database = database
    await worker.beat()
    assert await lengths(database) == [timedelta(minutes=12)]


async def test_without_a_grace_nothing_is_an_outage(database: Database) -> None:
    host = Host()
    await host.worker(database, "one", grace=None).beat()
    host.passes(HOUR)
    await host.worker(database, "two", grace=None).beat()
    assert await lengths(database) == []
    assert await database.read(workers.latest_beat) == START + HOUR


async def test_when_the_clock_is_set_back_what_waits_for_another_try_does_not_wait_twice(database: Database) -> None:
    host = Host()
    worker = host.worker(database, "one")
    await worker.beat()
    now = host.clock.now()
    waits = Row(RowKind.RESUME, outbox.AGENTS, now, now + timedelta(seconds=30), tries=3)
    opens = Row(RowKind.NOTIFY, "slack", now, now + HOUR)
    await database.write(lambda tx: outbox.insert(tx, [waits, opens], "one"))
    host.passes(BEAT)
    host.is_set(-2 * HOUR)
    await worker.beat()
    rows = [await database.read(lambda conn, row=row: outbox.get(conn, row.id)) for row in (waits, opens)]
    assert [row.due_at for row in rows if row] == [host.clock.now(), now + HOUR]


async def test_a_question_meets_only_as_much_of_an_outage_as_it_lived_through(database: Database) -> None:
    outage = outages.Outage(1, START, START + HOUR, HOUR)
    assert outage.since(START - HOUR) == HOUR
    assert outage.since(START + timedelta(minutes=40)) == timedelta(minutes=20)
    assert outage.since(START + timedelta(minutes=40, seconds=0.5)) == timedelta(minutes=20)
