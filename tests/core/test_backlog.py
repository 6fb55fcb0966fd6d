"""What is due and lies in the database: a lane that is full or rests hides nobody else's rows, and fills no memory."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from core.database.database import Database
from core.delivery.backlog import Backlog
from core.delivery.lanes import Lanes
from core.delivery.turns import ALL_LANES, CAPACITY, LaneWidth
from core.store import outbox
from core.store.outbox import Row
from tests.clock import ManualClock
from tests.core.store_examples import a_row, row_of, write_rows

AGENTS = outbox.AGENTS
SECOND = timedelta(seconds=1)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def lanes() -> Lanes:
    lanes = Lanes({AGENTS: LaneWidth(64, 8), "email": LaneWidth(4)})
    lanes.open()
    return lanes


@pytest.fixture
def backlog(database: Database, lanes: Lanes, clock: ManualClock) -> Backlog:
    return Backlog(database, lanes, clock)


def due(clock: ManualClock, lane: str, count: int = 1, *, late: timedelta = SECOND, channel: str = AGENTS) -> list[Row]:
    at = clock.now() - late
    return [a_row(f"{lane} {number}", channel=channel, lane=lane, due_at=at, created_at=at) for number in range(count)]


def taken(lanes: Lanes) -> list[str]:
    """The lane of each row in hand."""
    return [row_id.partition(" ")[0] for row_id in lanes.held]


async def send(lanes: Lanes, took: timedelta = timedelta(milliseconds=5)) -> Row:
    row = await lanes.next(AGENTS)
    lanes.answered(row, took)
    lanes.done(row)
    return row


async def test_thousands_of_rows_of_one_lane_hide_nobody_elses(
    database: Database, lanes: Lanes, backlog: Backlog, clock: ManualClock
) -> None:
    await write_rows(database, due(clock, "silent", 2 * ALL_LANES, late=10 * SECOND))
    await write_rows(database, [*due(clock, "one"), *due(clock, "two")])
    assert await backlog.look() is None
    assert sorted(taken(lanes)) == ["one", "silent", "two"], "one of each whose answer is not known yet"


async def test_a_lane_that_answers_takes_more_of_what_it_left(
    database: Database, lanes: Lanes, backlog: Backlog, clock: ManualClock
) -> None:
    await write_rows(database, due(clock, "many", 1000))
    await backlog.look()
    row = await send(lanes)
    assert backlog.has_room_again(row)
    assert not backlog.has_room_again(row), "said once"
    await backlog.look()
    assert len(lanes.held) == CAPACITY
    sent = 1
    while lanes.held:
        if backlog.has_room_again(await send(lanes)):
            await backlog.look()
        sent += 1
    assert sent == 1000


async def test_what_is_due_first_leaves_first_however_many_come_meanwhile(
    database: Database, lanes: Lanes, backlog: Backlog, clock: ManualClock
) -> None:
    """One comes for each that leaves: a place that is free again is for what has waited longest."""
    left: list[int] = []
    coming = iter(range(2 * CAPACITY))

    async def comes(number: int) -> None:
        clock.move_to(clock.now() + timedelta(milliseconds=1))
        row = a_row(str(number), channel="email", due_at=clock.now(), created_at=clock.now())
        if lanes.has_room(row):
            lanes.hand_over([row])
        else:
            await write_rows(database, [row])

    for _ in range(CAPACITY + 10):
        await comes(next(coming))
    while lanes.held:
        row = await lanes.next("email")
        lanes.done(row)
        left.append(int(row.id))
        if (number := next(coming, None)) is not None:
            await comes(number)
        if backlog.has_room_again(row):
            await backlog.look()
    assert left == list(range(2 * CAPACITY))
    late = a_row("late", channel="email", due_at=clock.now(), created_at=clock.now())
    assert lanes.has_room(late), "nothing waits any more, so it needs no look"


async def test_nothing_of_a_lane_that_rests_is_taken_until_its_rest_is_over(
    database: Database, lanes: Lanes, backlog: Backlog, clock: ManualClock
) -> None:
    await write_rows(database, due(clock, "silent", 10))
    await backlog.look()
    row = await lanes.next(AGENTS)
    until = lanes.silent(row, clock.now(), SECOND)
    lanes.done(row)
    assert until is not None
    assert await backlog.look() == until
    assert lanes.held == frozenset()
    clock.move_to(until)
    await backlog.look()
    assert taken(lanes) == ["silent"]


async def test_what_is_due_later_is_said_beside_a_lane_that_is_full(
    database: Database, lanes: Lanes, backlog: Backlog, clock: ManualClock
) -> None:
    await write_rows(database, [*due(clock, "full", 5), *due(clock, "later", late=-60 * SECOND)])
    assert await backlog.look() == clock.now() + 60 * SECOND


async def test_a_lane_that_has_left_nothing_is_looked_at_by_time_again(
    database: Database, lanes: Lanes, backlog: Backlog, clock: ManualClock
) -> None:
    await write_rows(database, due(clock, "two", 2))
    await backlog.look()
    assert backlog.has_room_again(await send(lanes))
    await backlog.look()
    await send(lanes)
    await backlog.look()
    statements: list[str] = []
    sa.event.listen(database.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    await write_rows(database, due(clock, "next"))
    await backlog.look()
    assert lanes.held == {"next 0"}
    assert not [one for one in statements if "WITH RECURSIVE" in one]


async def test_channels_do_not_wait_for_each_others_lanes(
    database: Database, lanes: Lanes, backlog: Backlog, clock: ManualClock
) -> None:
    await write_rows(database, [*due(clock, "silent", 500), *due(clock, "", 3, channel="email")])
    await backlog.look()
    assert sorted(taken(lanes)) == ["", "", "", "silent"]


async def test_the_lanes_with_waiting_rows_are_found_by_steps_down_an_index(
    database: Database, clock: ManualClock
) -> None:
    """However many rows each has: with a scan a hundred thousand of one agent would cost every look."""
    await write_rows(database, [row for number in range(3) for row in due(clock, f"{number}", 200)])
    statement = outbox._HEADS.statement
    with database.engine.connect() as conn:
        text = str(statement.compile(conn, compile_kwargs={"literal_binds": False}))
        if database.dialect == "sqlite":
            steps = conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", tuple([AGENTS] * text.count("?"))).all()
            plan = [step.detail for step in steps]
            reads = [step for step in plan if "outbox" in step or "first" in step or "after" in step or "head" in step]
            assert len(reads) == 3
            assert all("SEARCH" in step and "ix_outbox_lanes" in step for step in reads), plan
        else:
            conn.exec_driver_sql("SET enable_seqscan = off")
            conn.exec_driver_sql("SET enable_bitmapscan = off")
            found = list(conn.exec_driver_sql(f"EXPLAIN {text}", {"channel": AGENTS}).scalars())
            plan = [step for step in found if " on outbox" in step]
            assert plan and all("Index Only Scan using ix_outbox_lanes" in step for step in plan), found
            assert not any("cost=1000000" in step for step in found), "a scan would cost as much"
        heads = outbox.heads(conn, AGENTS)
    assert heads == [(f"{number}", clock.now() - SECOND) for number in range(3)]


async def test_the_rows_of_one_lane_are_found_by_that_index(database: Database, clock: ManualClock) -> None:
    await write_rows(database, due(clock, "one", 50))
    seen: list[tuple[str, object]] = []
    sa.event.listen(database.engine, "before_cursor_execute", lambda *given: seen.append((given[2], given[3])))
    found = await database.write(lambda tx: outbox.due(tx, AGENTS, now=clock.now(), limit=5, lane="one"))
    assert len(found) == 5
    [(statement, values)] = [one for one in seen if "FROM outbox" in one[0]]
    explain = "EXPLAIN QUERY PLAN" if database.dialect == "sqlite" else "EXPLAIN"
    with database.engine.connect() as conn:
        if database.dialect != "sqlite":
            conn.exec_driver_sql("SET enable_seqscan = off")
        plan = "\n".join(str(step) for step in conn.exec_driver_sql(f"{explain} {statement}", values))  # type: ignore[arg-type]
    assert "ix_outbox_lanes" in plan, plan


async def test_what_was_not_taken_stays_anybodys(
    database: Database, lanes: Lanes, backlog: Backlog, clock: ManualClock
) -> None:
    await write_rows(database, due(clock, "silent", 3))
    await backlog.look()
    other = Lanes({AGENTS: LaneWidth(64, 8)})
    other.open()
    await Backlog(database, other, clock).look()
    assert (len(lanes.held), len(other.held), lanes.held & other.held) == (1, 1, frozenset())
    [left] = {f"silent {number}" for number in range(3)} - lanes.held - other.held
    assert (await row_of(database, left)).status is outbox.RowStatus.PENDING
