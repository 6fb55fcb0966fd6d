"""The sandbox as a process of its own: ``python -m bot.sandbox --service-url http://127.0.0.1:8080``.

On standard output it says in lines of JSON where it is and what happens on its page: ``ready``, with the page's
signed-in URL and the sections of the service's configuration, ``opened`` when somebody first looks at it, ``ask`` for
each sample that is asked for, and ``silence`` for each question whose time shall pass.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
from typing import Any

from bot.sandbox.world import World


def _say(event: str, **fields: Any) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


async def _serve(service_url: str, port: int, smtp_port: int) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    world = World(
        service_url,
        ask=lambda sample: _say("ask", sample=sample),
        stay_silent=lambda ref: _say("silence", ref=ref),
        opened=lambda: _say("opened"),
    )
    async with world.serving(port, smtp_port) as place:
        _say("ready", url=place.url, page=place.page, settings=world.settings(place))
        await stopped.wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bot.sandbox", description="A pretend Slack, mailbox and pager.")
    parser.add_argument("--service-url", required=True, help="where the service listens")
    parser.add_argument("--port", type=int, default=0, help="for HTTP; a free one by default")
    parser.add_argument("--smtp-port", type=int, default=0, help="for mail; a free one by default")
    given = parser.parse_args()
    asyncio.run(_serve(given.service_url.rstrip("/"), given.port, given.smtp_port))


if __name__ == "__main__":
    main()
