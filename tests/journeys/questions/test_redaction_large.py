"""Large questions cost their sender time and nobody else: redaction never holds the service up."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from channels.email.examples import FIRST
from channels.email.render import cut
from core.domain.action import ShownAction
from core.domain.redaction.redaction import Redaction
from tests.world import running

pytestmark = pytest.mark.slow

LOOKS_LIKE_CARDS = "4111 " * 30_000
"""The most expensive thing there is to look through."""
LARGE: dict[str, Any] = {
    "response_type": "confirm",
    "responders": ["group:finance"],
    "notify_to": "slack:C0OPS",
    "context": {"log": LOOKS_LIKE_CARDS},
    "action": {"log": LOOKS_LIKE_CARDS},
    "resume": {"state": {"log": "x" * 400_000}},
}


class Watch:
    """How long the event loop came to nothing else: seconds of its own work, however busy the machine is."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def run(self) -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.005)
            self.longest = max(self.longest, time.thread_time() - before)


@pytest.fixture
def nothing_is_collected() -> Iterator[None]:
    """Python's own collector takes longer than what is watched, where many tests have been before."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("nothing_is_collected")
@pytest.mark.parametrize("policy", ["redact", "reject"])
async def test_ten_of_the_largest_questions_at_once_hold_nobody_up(
    policy: str, tmp_path: Path, sqlite_url: str
) -> None:
    async with running(tmp_path, sqlite_url, redaction={"policy": policy}) as world:
        watch = Watch()
        watching = asyncio.create_task(watch.run())
        posts = (world.call("POST", "/v1/suspensions", json={"question": f"{n}?", **LARGE}) for n in range(10))
        assert {reply.status_code for reply in await asyncio.gather(*posts)} == {201}
        await world.settle()
        watching.cancel()
        assert watch.longest < 2 * looking_through(LARGE["context"], LARGE["action"])


@pytest.mark.usefixtures("nothing_is_collected")
async def test_ten_previews_of_the_largest_mail_at_once_hold_nobody_up(tmp_path: Path, sqlite_url: str) -> None:
    action = {"log": "漢" * 80_000}
    large = {"response_type": "confirm", "channel_hint": "email", "action": action}
    async with running(tmp_path, sqlite_url) as world:
        watch = Watch()
        posts = [world.call("POST", "/v1/suspensions/preview", json={"question": f"{n}?", **large}) for n in range(10)]
        watching = asyncio.create_task(watch.run())
        replies = await asyncio.gather(*posts)
        watching.cancel()
        assert [one.json()["notices"]["email"]["cut"] for one in replies] == [True] * 10
        assert watch.longest < looking_whether_it_is_cut(action)


def looking_whether_it_is_cut(action: dict[str, Any]) -> float:
    """The seconds of work that one such look takes, here and now."""
    before = time.thread_time()
    assert cut(replace(FIRST, action=ShownAction(action, "1a2b3c4d")))
    return time.thread_time() - before


def looking_through(*values: dict[str, str]) -> float:
    """The seconds of work that it takes here and now. A loop that does it itself does it three times for a question."""
    before = time.thread_time()
    for value in values:
        Redaction().text_on("page", value["log"])
    return time.thread_time() - before
