"""The end comes in time, whatever hangs on the way to it."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta

import pytest

from bot.wiring.shutdown import Shutdown, Steps
from core.errors import DatabaseUnavailable

PATIENCE = 30.0
SOON, NEVER = timedelta(seconds=0.05), timedelta(hours=1)


class End:
    """The end of a process, which these tests outlive."""

    def __init__(self) -> None:
        self.came = threading.Event()
        self.status: int | None = None

    def __call__(self, status: int) -> None:
        self.status = status
        self.came.set()


def test_a_process_that_does_not_end_is_ended() -> None:
    end = End()
    Shutdown(SOON, end).begin()
    assert end.came.wait(PATIENCE)
    assert end.status == 0


def test_why_it_ends_is_printed_in_any_case(capfd: pytest.CaptureFixture[str]) -> None:
    end = End()
    Shutdown(SOON, end).begin(2, "handraise: the database was deleted.")
    assert end.came.wait(PATIENCE)
    assert end.status == 2
    assert "handraise: the database was deleted.\n" in capfd.readouterr().err


def test_being_told_again_changes_nothing() -> None:
    end = End()
    ending = Shutdown(SOON, end)
    ending.begin(2, "gone")
    ending.begin(0)
    assert end.came.wait(PATIENCE)
    assert end.status == 2


def test_what_is_left_counts_from_when_it_was_told() -> None:
    ending = Shutdown(NEVER, End())
    assert ending.left == NEVER
    ending.begin()
    assert timedelta() < ending.left <= NEVER


async def test_a_step_that_hangs_or_fails_costs_the_others_nothing() -> None:
    ended: list[str] = []

    async def ends() -> None:
        ended.append("well")

    async def hangs() -> None:
        await asyncio.get_running_loop().create_future()

    async def fails() -> None:
        raise ZeroDivisionError

    async def is_away() -> None:
        raise DatabaseUnavailable("away")

    steps = Steps(timedelta(seconds=0.2))
    async with asyncio.timeout(PATIENCE):
        for one in (hangs, fails, is_away, hangs, ends):
            await steps.take(one.__name__, one())
    assert ended == ["well"]
