"""What runs beside a response to Slack: it goes on when nobody waits for it any more, and nothing of it is kept."""

from __future__ import annotations

import asyncio
import gc
import weakref
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.inbound.slack.background import BackgroundWork
from channels.slack.client import web_client


class Outcome:
    """Something that a weak reference can point to."""


@pytest.fixture
def background() -> BackgroundWork:
    return BackgroundWork(web_client("xoxb-nobody"), lambda: datetime.now(UTC))


async def hung_up_on(background: BackgroundWork, work: Any) -> None:
    """Whoever waited for ``work`` goes away before it ends."""
    caller = asyncio.create_task(background.in_time(work))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller


async def test_work_whose_caller_went_away_ends_and_is_not_kept(background: BackgroundWork) -> None:
    may_end, ended = asyncio.Event(), asyncio.Event()
    made: list[weakref.ref[Outcome]] = []

    async def work() -> Outcome:
        await may_end.wait()
        outcome = Outcome()
        made.append(weakref.ref(outcome))
        ended.set()
        return outcome

    await hung_up_on(background, work())
    may_end.set()
    await ended.wait()
    await background.close()
    gc.collect()
    assert made[0]() is None


async def test_a_failure_that_nobody_waits_for_is_noted_by_its_kind_alone(
    background: BackgroundWork, capsys: pytest.CaptureFixture[str]
) -> None:
    unheard: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: unheard.append(context))
    may_end = asyncio.Event()

    async def work() -> None:
        await may_end.wait()
        raise RuntimeError("the answer was yes")

    await hung_up_on(background, work())
    may_end.set()
    await background.close()
    del background
    gc.collect()
    logged = capsys.readouterr().out
    assert "RuntimeError" in logged
    assert "the answer was yes" not in logged
    assert unheard == []
