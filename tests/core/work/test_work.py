"""What every work engine promises (``core.ports.Work``): it looks when it should, one look at a time, until it stops.

Real, short times: the port is about real time. Both engines are run through the same tests.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from core.database.database import Database, Tx
from core.errors import AlreadyRunning, DatabaseUnavailable
from core.hub import Hub
from core.ports import Clock, Work
from core.work import looking
from core.work.distributed import DistributedWork
from core.work.embedded import EmbeddedWork

PATIENCE = 30.0
SOON = timedelta(seconds=0.12)
NEVER = timedelta(hours=1)
OFTEN = timedelta(seconds=0.08)
EARLY = timedelta(seconds=0.01)
"""How much earlier than asked a timer of the operating system may ring."""


class RealClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


CLOCK = RealClock()


class Looker:
    """Remembers when it looked; says when to look again; may be slow, or fail."""

    def __init__(self) -> None:
        self.times: list[datetime] = []
        self.following: list[datetime | None] = []
        self.failures: list[Exception] = []
        self.running = 0
        self.finished = 0
        self.most_at_once = 0
        self.may_finish = asyncio.Event()
        self.may_finish.set()
        self._looked = asyncio.Event()

    async def __call__(self) -> datetime | None:
        self.times.append(CLOCK.now())
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        self._looked.set()
        try:
            await self.may_finish.wait()
        finally:
            self.running -= 1
        self.finished += 1
        if self.failures:
            raise self.failures.pop(0)
        return self.following.pop(0) if self.following else None

    async def until(self, looks: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while len(self.times) < looks:
                self._looked.clear()
                await self._looked.wait()

    async def stays_at(self, looks: int, during: timedelta = SOON) -> None:
        """No further look within ``during``."""
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(during.total_seconds()):
                while len(self.times) <= looks:
                    self._looked.clear()
                    await self._looked.wait()
        assert len(self.times) == looks


@pytest.fixture
async def look() -> Looker:
    return Looker()


Engine = Callable[[Clock, timedelta], Work]


@pytest.fixture(params=["sqlite", "postgresql"], ids=["embedded", "distributed"])
def database_url(request: pytest.FixtureRequest) -> str:
    """Where the rows are that an engine looks at: on SQLite the embedded one, on PostgreSQL the distributed."""
    url: str = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")
    return url


@pytest.fixture
def engine(database: Database) -> Engine:
    def made(clock: Clock, sweep: timedelta) -> Work:
        if database.dialect == "sqlite":
            return EmbeddedWork(clock, sweep)
        return DistributedWork(database, clock, Hub(), sweep)

    return made


@pytest.fixture
async def work(engine: Engine) -> AsyncIterator[Work]:
    """An engine whose sweep does not come within a test."""
    work = engine(CLOCK, NEVER)
    yield work
    await work.stop()


@pytest.fixture
async def sweeping(engine: Engine) -> AsyncIterator[Work]:
    work = engine(CLOCK, OFTEN)
    yield work
    await work.stop()


async def test_it_looks_at_once_when_it_starts(work: Work, look: Looker) -> None:
    await work.start(look)
    await look.until(1)
    await look.stays_at(1)


@pytest.mark.parametrize("ago", [timedelta(0), timedelta(seconds=1), timedelta(days=400)])
async def test_what_is_due_already_is_looked_at_at_once(work: Work, look: Looker, ago: timedelta) -> None:
    await work.start(look)
    await look.until(1)
    work.nudge(CLOCK.now() - ago)
    await look.until(2)


async def test_what_will_be_due_is_looked_at_then_and_not_before(work: Work, look: Looker) -> None:
    await work.start(look)
    await look.until(1)
    at = CLOCK.now() + SOON
    work.nudge(at)
    await look.until(2)
    assert look.times[1] >= at - EARLY


async def test_it_looks_again_at_the_instant_that_a_look_returns(work: Work, look: Looker) -> None:
    at = CLOCK.now() + SOON
    look.following = [at]
    await work.start(look)
    await look.until(2)
    assert look.times[1] >= at - EARLY


async def test_an_instant_that_has_passed_when_a_look_returns_it_is_looked_at_at_once(work: Work, look: Looker) -> None:
    look.following = [CLOCK.now() - timedelta(seconds=1)]
    await work.start(look)
    await look.until(2)
    await look.stays_at(2)


async def test_an_earlier_nudge_comes_before_a_later_one(work: Work, look: Looker) -> None:
    await work.start(look)
    await look.until(1)
    at = CLOCK.now() + SOON
    work.nudge(at + NEVER)
    work.nudge(at)
    work.nudge(at + NEVER)
    await look.until(2)
    assert look.times[1] >= at - EARLY


async def test_a_later_return_does_not_put_off_an_earlier_nudge(work: Work, look: Looker) -> None:
    look.following = [None, CLOCK.now() + NEVER]
    await work.start(look)
    await look.until(1)
    work.nudge(CLOCK.now())
    await look.until(2)
    work.nudge(CLOCK.now() + SOON)
    await look.until(3)


async def test_what_is_due_in_a_year_does_no_harm(work: Work, look: Looker) -> None:
    look.following = [CLOCK.now() + timedelta(days=365)]
    await work.start(look)
    await look.until(1)
    work.nudge(CLOCK.now() + timedelta(days=36_500))
    await look.stays_at(1)
    work.nudge(CLOCK.now())
    await look.until(2)


async def test_what_a_transaction_writes_is_looked_at_when_it_is_due(
    work: Work, look: Looker, database: Database
) -> None:
    await work.start(look)
    await look.until(1)
    at = CLOCK.now() + SOON
    await database.write(lambda tx: work.within(tx, at))
    await look.until(2)
    assert look.times[1] >= at - EARLY


async def test_what_a_transaction_writes_that_is_due_already_is_looked_at_after_the_commit(
    work: Work, look: Looker, database: Database
) -> None:
    await work.start(look)
    await look.until(1)
    seen: list[int] = []

    def job(tx: Tx) -> None:
        work.within(tx, CLOCK.now())
        time.sleep(0.05)
        seen.append(len(look.times))

    await database.write(job)
    assert seen == [1]
    await look.until(2)


async def test_what_a_transaction_takes_back_is_not_looked_at(work: Work, look: Looker, database: Database) -> None:
    await work.start(look)
    await look.until(1)

    def job(tx: Tx) -> None:
        work.within(tx, CLOCK.now())
        work.within(tx, CLOCK.now() + SOON)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await database.write(job)
    await look.stays_at(1, during=timedelta(seconds=1.2))


async def test_what_nobody_said_is_found_by_the_sweep(sweeping: Work, look: Looker) -> None:
    await sweeping.start(look)
    await look.until(3)


async def test_looks_never_overlap_and_a_nudge_meanwhile_is_not_lost(sweeping: Work, look: Looker) -> None:
    look.may_finish.clear()
    await sweeping.start(look)
    await look.until(1)
    for _ in range(5):
        sweeping.nudge(CLOCK.now())
    await look.stays_at(1, during=OFTEN * 3)
    look.may_finish.set()
    await look.until(2)
    assert look.most_at_once == 1


async def test_many_nudges_meanwhile_are_one_look(work: Work, look: Looker) -> None:
    look.may_finish.clear()
    await work.start(look)
    await look.until(1)
    for _ in range(50):
        work.nudge(CLOCK.now())
    look.may_finish.set()
    await look.until(2)
    await look.stays_at(2)


async def test_a_database_that_is_away_is_looked_at_again_by_the_sweep(sweeping: Work, look: Looker) -> None:
    look.failures = [DatabaseUnavailable("away"), DatabaseUnavailable("still away")]
    await sweeping.start(look)
    await look.until(3)


async def test_a_look_that_fails_is_not_the_last(sweeping: Work, look: Looker) -> None:
    look.failures = [AlreadyRunning("another process has the clock"), ZeroDivisionError()]
    await sweeping.start(look)
    await look.until(3)


async def test_the_sweep_does_not_mind_a_clock_that_is_set_back(engine: Engine, look: Looker) -> None:
    with time_machine.travel(CLOCK.now() + NEVER, tick=True):
        work = engine(CLOCK, OFTEN)
        await work.start(look)
        await look.until(2)
    looks = len(look.times)
    await look.until(looks + 2)
    await work.stop()


async def test_after_a_stop_nothing_is_looked_at_any_more(sweeping: Work, look: Looker) -> None:
    await sweeping.start(look)
    await look.until(2)
    sweeping.nudge(CLOCK.now() + SOON)
    await sweeping.stop()
    looks = len(look.times)
    sweeping.nudge(CLOCK.now())
    await look.stays_at(looks, during=OFTEN * 2)


async def test_a_stop_returns_when_no_look_is_under_way_any_more(work: Work, look: Looker) -> None:
    look.may_finish.clear()
    await work.start(look)
    await look.until(1)
    asyncio.get_running_loop().call_later(0.05, look.may_finish.set)
    async with asyncio.timeout(PATIENCE):
        await work.stop()
    assert (look.running, look.finished) == (0, 1)


async def test_stopping_twice_or_before_the_start_is_harmless(work: Work, look: Looker) -> None:
    await work.stop()
    work.nudge(CLOCK.now())
    await work.start(look)
    await look.until(1)
    await work.stop()
    await work.stop()
    assert len(look.times) == 1


async def test_a_look_that_hangs_is_given_up_and_begun_anew(
    work: Work, look: Looker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "LIMIT", timedelta(seconds=0.05))
    monkeypatch.setattr(looking, "AGAIN", timedelta(seconds=0.05))
    look.may_finish.clear()
    await work.start(look)
    await look.until(3)
    assert look.most_at_once == 1
    look.may_finish.set()


async def test_after_a_look_that_failed_the_next_one_does_not_wait_for_the_sweep(
    work: Work, look: Looker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "AGAIN", timedelta(seconds=0.05))
    look.failures = [DatabaseUnavailable("away")]
    await work.start(look)
    await look.until(2)
