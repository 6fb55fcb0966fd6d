"""A row that has waited in memory is asked for before it is sent: its lease may be somebody else's by now."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from core.database.database import Database
from core.delivery.lanes import Lanes
from core.delivery.leases import BEAT, LeaseLost, Leases
from core.delivery.turns import LaneWidth
from core.engine.transitions import LEASE
from core.store import outbox
from tests.clock import ManualClock
from tests.core.store_examples import in_hand, row_of, write_rows

ANOTHER = "another-worker"


class Uptime:
    """Time since the host was started: it goes on while the process is frozen."""

    def __init__(self) -> None:
        self.now = timedelta(hours=1)

    def __call__(self) -> timedelta:
        return self.now

    def pass_by(self, time: timedelta) -> None:
        self.now += time


@pytest.fixture
def uptime() -> Uptime:
    return Uptime()


@pytest.fixture
async def lanes(uptime: Uptime) -> Lanes:
    lanes = Lanes({"slack": LaneWidth(1)}, uptime)
    lanes.open()
    return lanes


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def leases(database: Database, lanes: Lanes, clock: ManualClock) -> Leases:
    return Leases(database, lanes, clock)


async def in_lane(database: Database, lanes: Lanes, *ids: str) -> None:
    rows = [in_hand(one) for one in ids]
    await write_rows(database, rows, lanes.owner)
    lanes.hand_over(rows)


async def taken_over(database: Database, clock: ManualClock, *ids: str) -> None:
    def job(tx: outbox.Tx) -> None:
        moved = outbox.outbox.update().where(outbox.outbox.c.id.in_(ids)).values(lease_owner=ANOTHER)
        tx.conn.execute(moved)

    await database.write(job)


def statements(database: Database) -> list[str]:
    seen: list[str] = []
    sa.event.listen(database.engine, "before_cursor_execute", lambda *given: seen.append(given[2]))
    return seen


async def test_a_row_that_is_sent_at_once_asks_nothing(
    database: Database, lanes: Lanes, leases: Leases, uptime: Uptime
) -> None:
    await in_lane(database, lanes, "a")
    seen = statements(database)
    uptime.pass_by(BEAT)
    await leases.ensure(await lanes.next("slack"))
    assert seen == []


async def test_a_row_that_has_waited_is_asked_for_and_its_lease_goes_on(
    database: Database, lanes: Lanes, leases: Leases, uptime: Uptime, clock: ManualClock
) -> None:
    await in_lane(database, lanes, "a")
    uptime.pass_by(BEAT * 2)
    await leases.ensure(await lanes.next("slack"))
    assert (await row_of(database, "a")).lease_until == clock.now() + LEASE


async def test_a_row_that_somebody_else_has_is_not_sent(
    database: Database, lanes: Lanes, leases: Leases, uptime: Uptime, clock: ManualClock
) -> None:
    await in_lane(database, lanes, "a")
    await taken_over(database, clock, "a")
    uptime.pass_by(BEAT * 2)
    with pytest.raises(LeaseLost):
        await leases.ensure(await lanes.next("slack"))


async def test_one_question_is_for_all_that_wait(
    database: Database, lanes: Lanes, leases: Leases, uptime: Uptime, clock: ManualClock
) -> None:
    await in_lane(database, lanes, *(f"{number:02}" for number in range(40)))
    await taken_over(database, clock, *(f"{number:02}" for number in range(1, 40, 2)))
    uptime.pass_by(BEAT * 2)
    seen = statements(database)
    sent = []
    while lanes.held:
        row = await lanes.next("slack")
        await leases.ensure(row)
        sent.append(row.id)
        lanes.done(row)
    assert sent == [f"{number:02}" for number in range(0, 40, 2)], "what others have is let go"
    assert len([one for one in seen if one.startswith("UPDATE")]) == 1


async def test_whoever_is_frozen_while_it_asks_asks_again(
    database: Database, lanes: Lanes, leases: Leases, uptime: Uptime, clock: ManualClock
) -> None:
    await in_lane(database, lanes, "a")
    uptime.pass_by(BEAT * 2)
    row = await lanes.next("slack")
    answered = outbox.extend

    def frozen_behind(*given: object) -> set[str]:
        ours = answered(*given)  # type: ignore[arg-type]
        if uptime.now < timedelta(hours=2):
            uptime.pass_by(timedelta(hours=1))
        return ours

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outbox, "extend", frozen_behind)
        await leases.ensure(row)
    assert lanes.waits_since(row) == timedelta(0)


async def test_a_row_was_known_to_be_ours_when_it_was_asked_for_and_not_when_it_came(
    database: Database, lanes: Lanes, leases: Leases, uptime: Uptime
) -> None:
    """A process may be frozen between the commit that leased it and its lane."""
    before = uptime.now
    row = in_hand("a")
    await write_rows(database, [row], ANOTHER)
    uptime.pass_by(BEAT * 2)
    lanes.hand_over([row], before)
    with pytest.raises(LeaseLost):
        await leases.ensure(await lanes.next("slack"))
