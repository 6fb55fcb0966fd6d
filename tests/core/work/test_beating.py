"""A worker's pulse: who lives keeps what it has in hand, who has gone loses it, whatever the hosts' clocks say."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest

from core.database.database import Database
from core.hub import Hub
from core.store import outbox, workers
from core.store.outbox import RowStatus
from core.store.workers import Seen
from core.work.distributed import DistributedWork
from core.work.embedded import EmbeddedWork
from core.work.presence import WorkerPresence, WorkerPulse, WorkerWatch
from tests.clock import START, ManualClock
from tests.core.store_examples import in_hand, write_rows

SILENT = timedelta(seconds=20)
SECOND = timedelta(seconds=1)


def seen(beats: int, at: datetime = START, worker: str = "other") -> list[Seen]:
    return [Seen(worker, beats, at)]


def test_who_beats_is_there_however_wrong_its_clock_is() -> None:
    watch = WorkerWatch(SILENT)
    for number in range(20):
        assert watch.gone(seen(number, START - 60 * SECOND), START, tick=number * 5.0) == []


def test_who_has_not_beaten_for_long_as_far_as_one_has_seen_is_gone() -> None:
    watch = WorkerWatch(SILENT)
    assert watch.gone(seen(7), START, tick=100.0) == []
    assert watch.gone(seen(7), START, tick=119.9) == []
    assert watch.gone(seen(7), START, tick=120.0) == ["other"]


def test_a_jump_of_ones_own_clock_makes_nobody_gone() -> None:
    watch = WorkerWatch(SILENT)
    assert watch.gone(seen(7), START, tick=100.0) == []
    assert watch.gone(seen(7), START + 60 * SECOND, tick=105.0) == []
    assert watch.gone(seen(8), START + timedelta(days=1), tick=110.0) == [], "it has just beaten, by the old time"


def test_whoever_comes_back_is_there_again() -> None:
    watch = WorkerWatch(SILENT)
    watch.gone(seen(7), START, tick=100.0)
    assert watch.gone(seen(7), START, tick=130.0) == ["other"]
    assert watch.gone(seen(8), START, tick=131.0) == []


def test_a_death_that_nobody_saw_is_known_by_its_age() -> None:
    assert WorkerWatch(SILENT).gone(seen(7, START - timedelta(hours=1)), START, tick=0.0) == ["other"]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def beating(database: Database, clock: ManualClock) -> AsyncIterator[WorkerPresence]:
    work = EmbeddedWork(clock) if database.dialect == "sqlite" else DistributedWork(database, clock, Hub())
    pulse = WorkerPulse(database, clock, "me", "worker", None)
    beating = WorkerPresence(database, clock, work, pulse, timedelta(hours=1), SILENT)
    yield beating
    await beating.stop()


async def status_of(database: Database, row_id: str) -> RowStatus:
    row = await database.read(lambda conn: outbox.get(conn, row_id))
    assert row is not None
    return row.status


async def test_the_only_process_of_a_file_takes_over_at_once_and_one_of_many_does_not(
    database: Database, beating: WorkerPresence
) -> None:
    await write_rows(database, [in_hand("theirs")], owner="other")
    await database.write(lambda tx: workers.beat(tx, "other", "worker", START))
    await beating.start()
    wanted = RowStatus.PENDING if database.dialect == "sqlite" else RowStatus.SENDING
    assert await status_of(database, "theirs") is wanted


async def test_who_was_last_seen_long_ago_loses_what_it_had_in_hand(
    database: Database, beating: WorkerPresence, clock: ManualClock
) -> None:
    await write_rows(database, [in_hand("theirs")], owner="other")
    await write_rows(database, [in_hand("mine")], owner="me")
    await database.write(lambda tx: workers.beat(tx, "other", "worker", START))
    clock.move_by(timedelta(hours=1))
    await beating.start()
    assert await status_of(database, "theirs") is RowStatus.PENDING
    assert await status_of(database, "mine") is RowStatus.SENDING
    assert [worker.id for worker in await database.read(workers.seen)] == ["me"]


async def test_the_last_beat_is_when_it_stopped(
    database: Database, beating: WorkerPresence, clock: ManualClock
) -> None:
    await beating.start()
    clock.move_by(3 * SECOND)
    await beating.stop()
    assert await database.read(workers.latest_beat) == START + 3 * SECOND
