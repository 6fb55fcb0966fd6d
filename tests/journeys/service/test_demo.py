"""``handraise demo``, run as people run it: its own processes, real sockets, real signatures."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.demo.acts import FAST, agents_on_demand, while_it_stands
from bot.demo.auto import ExpectedEnding, problem
from bot.demo.board import Card
from bot.demo.samples import PARCEL, REFUND, Sample
from bot.demo.show import Show
from bot.demo.stage import DemoFailed, staged

pytestmark = pytest.mark.kills

A_MINUTE = 60.0


@asynccontextmanager
async def demo(folder: Path, *options: str) -> AsyncIterator[Process]:
    """The demo, with ``folder`` for whatever it keeps. It is ended with the test, however that ends."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "handraise", "demo", *options),
        env={**os.environ, "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"},
        stdout=PIPE,
        stderr=STDOUT,
    )
    try:
        async with asyncio.timeout(A_MINUTE):
            yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
            await process.wait()


async def said(process: Process, pattern: str) -> re.Match[str]:
    """The first line that fits, as soon as the demo says it."""
    assert process.stdout is not None
    heard = []
    async for line in process.stdout:
        heard.append(line.decode())
        if found := re.search(pattern, heard[-1]):
            return found
    raise AssertionError(f"the demo never said {pattern!r}, only:\n{''.join(heard)}")


async def test_played_by_itself_every_agent_is_called_back_with_the_right_answer(tmp_path: Path) -> None:
    async with demo(tmp_path, "--auto") as process:
        output, _ = await process.communicate()
    transcript = output.decode()

    assert process.returncode == 0, transcript
    lines = [line for line in transcript.splitlines() if line.startswith("agent resumed with")]
    assert sorted(re.sub(r", [0-9.]+ s .*", "", line) for line in lines) == [
        'agent resumed with "approve" by you via slack',
        'agent resumed with "ask_back" by you via email',
        'agent resumed with "no" as nobody answered',
        'agent resumed with "yes" by you via pagerduty',
    ]
    assert list(tmp_path.iterdir()) == []


async def test_an_agent_waits_already_and_the_page_opens_only_with_its_secret(tmp_path: Path) -> None:
    async with demo(tmp_path) as process, httpx.AsyncClient(trust_env=False, timeout=30) as browser:
        page = httpx.URL((await said(process, r"(http://\S+\?key=\S+)"))[1])
        await said(process, r"refund-agent +asks “Refund order 12345\?” on Slack \(1 of 3")
        origin = page.copy_with(query=None)

        assert (await browser.get(origin)).status_code == 403
        assert (await browser.get(origin.copy_with(path="/world"))).status_code == 403
        assert (await browser.get(page.copy_with(query=b"key=guessed"))).status_code == 403

        assert (await browser.get(page, follow_redirects=True)).status_code == 200
        async with asyncio.timeout(A_MINUTE):
            while not (posted := in_slack(world := (await browser.get(origin.copy_with(path="/world"))).json())):
                await asyncio.sleep(0.02)  # it was asked, and is on its way
        assert "Refund order 12345?" in posted[0]
        assert world["board"]["agents"][0]["state"] == "waiting"


def in_slack(world: dict[str, Any]) -> list[str]:
    return [item["text"] for conversation in world["slack"]["conversations"] for item in conversation["items"]]


async def test_hours_that_are_seconds_begin_when_the_page_is_opened(tmp_path: Path) -> None:
    async with asyncio.timeout(A_MINUTE), staged(tmp_path) as stage:
        show = Show(stage, interval=FAST)
        playing = asyncio.create_task(while_it_stands(show, agents_on_demand(show, when_opened=True)))

        async def asked(sample: Sample) -> None:
            while not any(card.sample is sample and card.asked for card in show.board.cards):
                assert not playing.done()
                await asyncio.sleep(0.02)

        stage.asks.put_nowait(PARCEL.name)
        await asked(PARCEL)
        assert [card.sample.name for card in show.board.cards] == [PARCEL.name]

        await stage.page.get("/world")

        await asked(REFUND)
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)


async def test_ctrl_c_ends_everything_and_leaves_nothing(tmp_path: Path) -> None:
    async with demo(tmp_path) as process:
        page = (await said(process, r"(http://\S+)/\?key="))[1]
        service = (await said(process, r"The service is at (http://\S+)\."))[1]
        await said(process, r"refund-agent +asks")

        process.send_signal(signal.SIGINT)
        await process.communicate()

        assert process.returncode == 0
        assert list(tmp_path.iterdir()) == []
        async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
            for url in (page, service):
                with pytest.raises(httpx.ConnectError):
                    await client.get(url)


@pytest.mark.parametrize("name", ["service", "sandbox"])
async def test_a_process_that_dies_is_named_and_ends_the_demo(tmp_path: Path, name: str) -> None:
    async with asyncio.timeout(A_MINUTE), staged(tmp_path) as stage:
        show = Show(stage, interval=3600)
        playing = asyncio.create_task(while_it_stands(show, agents_on_demand(show)))
        await show.connected()

        {"service": stage.service, "sandbox": stage.sandbox}[name].process.kill()

        with pytest.raises(DemoFailed, match=f"The {name} was ended by signal 9. Its last lines:"):
            await playing


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"value": "approve", "channel": "slack"}, None),
        ({"value": "deny", "channel": "slack"}, "called back with .*deny.*, not with .*approve"),
        ({"value": "approve", "channel": "web"}, "called back with .*web.*, not with .*slack"),
        ({"value": "approve", "channel": "slack", "resolution": "expired"}, "called back with .*expired"),
        (None, "not called back"),
    ],
)
def test_an_agent_that_was_told_something_else_fails_the_demo(told: dict[str, str] | None, says: str | None) -> None:
    expected = ExpectedEnding("approve", "responded", "slack", "you@example.com")
    usual = {"resolution": "responded", "responded_by": "you@example.com"}
    card = Card(1, REFUND, resumed=None if told is None else {**usual, **told})

    found = problem(card, expected)

    assert found is None if says is None else re.search(says, found or "")
