"""``handraise demo``: the service, a pretend Slack, mailbox and pager on one page, and agents that wait.

Service, sandbox and agents are processes of their own on loopback, with a temporary folder for their data. Answers
enter as signed Slack payloads, signed mails and signed webhooks, as in production.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from typing import Any

from bot.demo.acts import AN_HOUR, AUTO, FAST, automatic, interactive
from bot.demo.stage import DemoFailed


def run(*, fast: bool, auto: bool) -> int:
    """Play the demo until it is over or interrupted.

    Returns the exit status: 1 if something failed, or if ``auto`` was interrupted, else 0.
    """
    playing = automatic(AUTO) if auto else interactive(FAST if fast else AN_HOUR)
    try:
        return asyncio.run(_until_interrupted(playing))
    except DemoFailed as failure:
        print(f"\nhandraise demo: {failure}", file=sys.stderr)
    except asyncio.CancelledError:
        print("\nEnded. Nothing of it is left.")
        return 1 if auto else 0
    except BrokenPipeError:
        # Nobody reads any more, as behind `| head`; what is still to be flushed at exit goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1


async def _until_interrupted(playing: Coroutine[Any, Any, int]) -> int:
    """Ctrl-C, a closed terminal and SIGTERM end it; a second one does not cut the cleanup short."""
    task = asyncio.create_task(playing)

    def interrupt() -> None:
        if not task.cancelling():
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, interrupt)
    return await task
