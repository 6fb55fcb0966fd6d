"""Which time a process goes by: on one database all go by the database's, whatever one host's clock says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bot.wiring.roles import SystemClock
from core.database.database import Database
from core.work.presence import Timekeeping

DAY = timedelta(days=1)
CLOSE = timedelta(seconds=2)


class Wall:
    """A host's clock, which may be wrong."""

    def __init__(self) -> None:
        self.wrong_by = timedelta(0)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.wrong_by


def is_wrong(clock: SystemClock) -> bool:
    return abs(clock.now() - datetime.now(UTC)) > CLOSE


def test_setting_the_hosts_clock_moves_nobodys_time_before_it_is_followed() -> None:
    wall = Wall()
    clock = SystemClock(wall)
    wall.wrong_by = DAY
    assert not is_wrong(clock)


async def test_where_several_share_a_database_one_whose_clock_jumps_goes_on_by_the_databases(
    database: Database,
) -> None:
    """Alone on a file there is no other clock than the host's."""
    wall = Wall()
    clock = SystemClock(wall)
    time = Timekeeping(database, clock)
    await time.follow()
    wall.wrong_by = DAY
    alone = database.dialect == "sqlite"
    assert abs(await time.step() - (DAY if alone else 0 * DAY)) < CLOSE
    await time.follow()
    assert is_wrong(clock) == alone


async def test_one_that_begins_with_a_wrong_clock_goes_by_the_databases(database: Database) -> None:
    wall = Wall()
    wall.wrong_by = -DAY
    clock = SystemClock(wall)
    assert is_wrong(clock)
    await Timekeeping(database, clock).follow()
    assert is_wrong(clock) == (database.dialect == "sqlite")
