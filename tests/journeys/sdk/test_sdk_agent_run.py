"""``run()`` of the SDK's agents: it does what ``main()`` says, and ends cleanly."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import Any

import pytest
from handraise import BaseAgent, RequestRefused, on_input_requested

from tests.conformance.watching import soon, watching
from tests.world import KEYS, World

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROGRAM = """
from handraise import Agent, on_input_requested

@Agent("refund-agent")
class RefundAgent:
    @on_input_requested
    def notify(self, intent, suspension):
        print("asked:", suspension.question, flush=True)

    {main}

{run}
"""
MAIN = """async def main(self):
        print(await self.request_input(None, "Go on?", response_type="confirm"), flush=True)
"""


LISTEN = """async def main(self):
        print("ready", flush=True)
        await super().main()
"""


async def running(room: World, main: str, run: str = "RefundAgent.run()") -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PROGRAM.format(main=main, run=run),
        env={"HANDRAISE_URL": room.url, "HANDRAISE_API_KEY": KEYS["agent"]},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def ended(process: asyncio.subprocess.Process) -> tuple[int | None, bytes, bytes]:
    async with asyncio.timeout(60):
        printed, complained = await process.communicate()
    return process.returncode, printed, complained


@pytest.mark.parametrize("run", ["RefundAgent.run()", "RefundAgent().run()"])
async def test_run_does_what_main_says_and_ends_with_it(room: World, run: str) -> None:
    async with watching(room) as watch:
        process = await running(room, MAIN, run)
        await room.answer(await watch.asked(), "yes")
        status, printed, complained = await ended(process)
    assert (status, complained) == (0, b"")
    assert sorted(printed.splitlines()) == [b"asked: Go on?", b"yes"], "the hook holds no answer back"


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(("main", "line"), [(MAIN, b"asked: Go on?\n"), (LISTEN, b"ready\n")])
async def test_a_signal_ends_it_cleanly(room: World, how: signal.Signals, main: str, line: bytes) -> None:
    process = await running(room, main)
    assert process.stdout is not None
    assert await soon(asyncio.create_task(process.stdout.readline())) == line
    process.send_signal(how)
    assert await ended(process) == (0, b"", b"")


async def test_run_ends_when_it_is_told_to_and_when_the_server_says_no(room: World) -> None:
    started = asyncio.Event()
    loop = asyncio.get_running_loop()

    class Waiting(BaseAgent):
        @on_input_requested
        def requested(self, intent: Any, suspension: Any) -> None: ...

        async def main(self) -> None:
            loop.call_soon_threadsafe(started.set)
            await super().main()

    agent = Waiting(room.url, KEYS["agent"])
    running = asyncio.create_task(asyncio.to_thread(agent.run))
    await asyncio.wait_for(started.wait(), 30)
    agent.stop()
    await soon(running)
    agent.stop()

    refused = asyncio.create_task(asyncio.to_thread(Waiting.run, room.url, "nobody's"))
    with pytest.raises(RequestRefused):
        await soon(refused)


async def test_run_ends_when_the_key_is_revoked(room: World) -> None:
    started = asyncio.Event()
    loop = asyncio.get_running_loop()

    class Waiting(BaseAgent):
        @on_input_requested
        def requested(self, intent: Any, suspension: Any) -> None: ...

        async def main(self) -> None:
            loop.call_soon_threadsafe(started.set)
            await super().main()

    running = asyncio.create_task(asyncio.to_thread(Waiting(room.url, KEYS["agent"]).run))
    await asyncio.wait_for(started.wait(), 30)
    await room.call("DELETE", "/v1/keys/refund-agent", "admin")
    with pytest.raises(RequestRefused) as refused:
        await soon(running)
    assert refused.value.status == 401
