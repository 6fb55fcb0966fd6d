"""Acts of the demo, the two ways to play it: with a person at the page, or by itself."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bot.demo.auto import Play
from bot.demo.samples import REFUND, SAMPLES
from bot.demo.show import Show, faint, say, strong
from bot.demo.stage import staged

AN_HOUR = 3600
FAST = 8
AUTO = 2
"""Seconds between attempts: as in earnest, as fast as a person can follow, as fast as nobody needs to."""

AUTO_SECONDS = 50.0
"""By then ``--auto`` has ended, one way or the other; what is left of its minute is for clearing up."""


async def interactive(interval: int) -> int:
    """One agent waits already; others start when their button is pressed on the page. Ends when cancelled.

    If hours are seconds, the first one waits until the page is looked at: its ladder would be over before.
    """
    async with _show(interval) as show:
        if interval < AN_HOUR:
            say(faint("The first question is asked when you open the page: its hours are seconds.\n"))
        await while_it_stands(show, agents_on_demand(show, when_opened=interval < AN_HOUR))
    return 0


async def agents_on_demand(show: Show, *, when_opened: bool = False) -> None:
    """An agent for each button pressed on the page, and a first one: at once, or ``when_opened``."""
    await show.connected()
    try:
        async with asyncio.TaskGroup() as agents:
            agents.create_task(_first(show, when_opened))
            agents.create_task(_silences(show))
            while True:
                agents.create_task(show.ask(SAMPLES[await show.stage.asks.get()]))
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


async def _first(show: Show, when_opened: bool) -> None:
    if when_opened:
        await show.stage.opened.wait()
    await show.ask(REFUND)


async def _silences(show: Show) -> None:
    while True:
        await show.stage.let_silence_pass(await show.stage.silences.get())


async def automatic(interval: int) -> int:
    """Without a person. 0 only if every agent was called back as it should be."""
    play: Play | None = None
    try:
        async with asyncio.timeout(AUTO_SECONDS), _show(interval) as show:
            play = Play(show)
            await while_it_stands(show, play.run())
    except TimeoutError:
        say(f"\nThat took more than {AUTO_SECONDS:.0f} s.")
    problems = play.problems() if play else ["The service and the sandbox were not ready in time."]
    for problem in problems:
        print(f"handraise demo: {problem}", file=sys.stderr)
    if not problems:
        say(strong("\nEvery agent was called back with the right answer."))
    return 1 if problems else 0


@asynccontextmanager
async def _show(interval: int) -> AsyncIterator[Show]:
    """Sets the stage, and prints where to look."""
    say(faint("Starting the service, a Slack, a mailbox and a pager …"))
    with tempfile.TemporaryDirectory(prefix="handraise-demo-") as folder:
        async with staged(Path(folder)) as stage:
            say(f"\nYour Slack, your mailbox and your pager:  {strong(stage.page_url)}")
            say(faint(f"The service is at {stage.service_url}. Ctrl-C ends everything.\n"))
            yield Show(stage, interval)


async def while_it_stands(show: Show, playing: Coroutine[Any, Any, None]) -> None:
    """Play, and print what happens, until the play is over; raises :class:`DemoFailed` if a process is gone."""
    tasks = [asyncio.create_task(one) for one in (playing, show.tell_events(), show.tell_page(), show.stage.broken())]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
