"""What is done again and again is done again, whatever became of it before."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from core.errors import DatabaseUnavailable
from core.work import every
from core.work.every import Every
from core.work.health import Health

OFTEN, RARELY = timedelta(seconds=0.01), timedelta(hours=1)
PATIENCE = 30.0


class Deed:
    """Counts its calls; the first ones end as ``failures`` say, or hang."""

    def __init__(self, *failures: BaseException | None) -> None:
        self.failures = list(failures)
        self.calls = 0
        self.thrice = asyncio.Event()

    async def __call__(self) -> None:
        self.calls += 1
        if self.calls >= 3:
            self.thrice.set()
        if self.failures and (failure := self.failures.pop(0)) is not None:
            raise failure

    async def hang(self) -> None:
        await self()
        await asyncio.get_running_loop().create_future()


async def comes_thrice(deed: Deed) -> None:
    async with asyncio.timeout(PATIENCE):
        await deed.thrice.wait()


async def test_a_call_that_fails_is_not_the_last() -> None:
    deed = Deed(DatabaseUnavailable("away"), ZeroDivisionError())
    periodic = Every("deed", OFTEN, deed)
    periodic.start()
    await comes_thrice(deed)
    await periodic.stop()


async def test_a_call_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(every, "LIMIT", OFTEN)
    deed = Deed()
    periodic = Every("deed", OFTEN, deed.hang)
    periodic.start()
    await comes_thrice(deed)
    await periodic.stop()


async def test_after_a_failure_the_next_one_comes_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(every, "AGAIN", OFTEN)
    deed = Deed(*[DatabaseUnavailable("away")] * 3)
    periodic = Every("deed", timedelta(seconds=0.2), deed)
    periodic.start()
    await comes_thrice(deed)
    await periodic.stop()


async def test_health_hears_of_each_round_and_of_the_end() -> None:
    seconds = 0.0
    health = Health(lambda: None, tick=lambda: seconds)
    deed = Deed()
    periodic = Every("deed", OFTEN, deed, health)
    periodic.start()
    seconds = 1_000_000.0
    await comes_thrice(deed)
    assert health.stalled() == {}
    seconds += 1_000_000
    await periodic.stop()
    assert health.stalled() == {}
