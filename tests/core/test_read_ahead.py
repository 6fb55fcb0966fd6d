"""The questions of notices that wait for their turn: read a few together, and good for a moment."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from core.database.database import Database, Tx
from core.delivery.queues import FRESH, Lanes
from core.delivery.read_ahead import AHEAD, ReadAhead
from core.delivery.turns import CAPACITY, Width
from core.domain.suspension import Suspension
from core.store import suspensions
from core.store.outbox import Row
from tests.core.examples import answered
from tests.core.store_examples import in_hand, keep, numbered


class Elapsed:
    """Time since the host was started."""

    now = timedelta(0)

    def __call__(self) -> timedelta:
        return self.now


@pytest.fixture
def elapsed() -> Elapsed:
    return Elapsed()


@pytest.fixture
async def lanes(elapsed: Elapsed) -> Lanes:
    lanes = Lanes({"slack": Width(CAPACITY)}, elapsed)
    lanes.open()
    return lanes


@pytest.fixture
async def rows(database: Database, lanes: Lanes) -> list[Row]:
    """Notices of as many questions, one more than are read together."""
    kept = [numbered(number) for number in range(AHEAD + 2)]
    await keep(database, *kept)
    rows = [in_hand(one.id, suspension_id=one.id) for one in kept]
    lanes.hand_over(rows)
    return rows


async def end(database: Database, row: Row) -> None:
    def job(tx: Tx) -> None:
        found = suspensions.get(tx.conn, row.suspension_id or "")
        assert found is not None
        ended = answered(found, found.ask.suspended_at).suspension
        suspensions.update(tx, ended, version=found.version)

    await database.write(job)


def is_open(suspension: Suspension | None) -> bool:
    return suspension is not None and suspension.is_open


async def next_of(lanes: Lanes, read_ahead: ReadAhead) -> Suspension | None:
    return await read_ahead.question(await lanes.next("slack"))


async def test_the_questions_that_come_next_are_read_with_it(database: Database, lanes: Lanes, rows: list[Row]) -> None:
    read_ahead = ReadAhead(database, lanes)
    first = await next_of(lanes, read_ahead)
    assert first is not None
    assert first.id == rows[0].suspension_id
    for row in rows[1:]:
        await end(database, row)
    found = [await next_of(lanes, read_ahead) for _ in rows[1:]]
    assert [one and one.id for one in found] == [row.suspension_id for row in rows[1:]]
    assert [is_open(one) for one in found] == [True] * AHEAD + [False]


async def test_what_was_read_is_good_for_a_moment(
    database: Database, lanes: Lanes, rows: list[Row], elapsed: Elapsed
) -> None:
    read_ahead = ReadAhead(database, lanes)
    await next_of(lanes, read_ahead)
    await end(database, rows[1])
    elapsed.now += FRESH * 2
    assert not is_open(await next_of(lanes, read_ahead))


async def test_a_question_that_is_gone_is_none(database: Database, lanes: Lanes) -> None:
    lanes.hand_over([in_hand("gone", suspension_id="gone")])
    assert await next_of(lanes, ReadAhead(database, lanes)) is None


async def under_way(*, but: asyncio.Task[object] | None = None) -> asyncio.Task[object]:
    """The task that reads questions, once there is one (``but`` the one before) and it has begun."""
    async with asyncio.timeout(30):
        while True:
            for task in asyncio.all_tasks():
                if task.get_name() == "relay-questions" and task is not but:
                    await asyncio.sleep(0)
                    return task
            await asyncio.sleep(0)


@pytest.fixture
async def alone(database: Database, elapsed: Elapsed) -> Lanes:
    """Nobody else writes. A notice of question 1 is in hand."""
    await keep(database, numbered(1))
    alone = Lanes({"slack": Width(CAPACITY)}, elapsed, alone=True)
    alone.open()
    alone.hand_over([in_hand(suspension_id=numbered(1).id)])
    return alone


async def test_what_is_written_while_it_is_read_counts(database: Database, alone: Lanes, elapsed: Elapsed) -> None:
    question, asked = asyncio.create_task(next_of(alone, ReadAhead(database, alone))), numbered(1)
    await under_way()
    ended = replace(answered(asked, asked.ask.suspended_at).suspension, version=asked.version + 1)
    alone.wrote({asked.id: ended}, elapsed())
    assert not is_open(await question)


async def test_what_is_changed_unseen_while_it_is_read_is_read_once_more(
    database: Database, alone: Lanes, elapsed: Elapsed
) -> None:
    question = asyncio.create_task(next_of(alone, ReadAhead(database, alone)))
    first = await under_way()
    elapsed.now += timedelta(milliseconds=1)
    alone.wrote_unseen()
    await under_way(but=first)
    assert is_open(await question)
