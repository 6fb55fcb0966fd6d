"""The sandbox as its own process: ``python -m bot.sandbox --config handraise.yaml``, to try the service.

With ``--config`` it writes a configuration that connects the service to this world, prints its page's address, and runs
until it is interrupted. Without it, a program has started the sandbox and reads lines of JSON: ``ready``, with the
page's signed-in URL and the sections of the service's configuration; ``opened`` when the page is first looked at;
``ask`` for each requested sample; and ``silence`` for each question whose time shall pass.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import signal
from pathlib import Path
from typing import Any

from bot.sandbox.world import World


def _say(event: str, **fields: Any) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


async def _serve(service_url: str, port: int, smtp_port: int, config: Path | None) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    world = World(
        service_url,
        ask=lambda sample: _say("ask", sample=sample) if config is None else None,
        stay_silent=lambda ref: _say("silence", ref=ref) if config is None else None,
        opened=lambda: _say("opened") if config is None else None,
    )
    async with world.serving(port, smtp_port) as place:
        if config is None:
            _say("ready", url=place.url, page=place.page, settings=world.settings(place))
        else:
            _write(config, world.settings(place))
            print(f"A Slack, a mailbox and a pager:  {place.page}", flush=True)
            print(f"{config} makes the service a part of them. The agent's key in it is {AGENT_KEY}.", flush=True)
            print("Ctrl-C ends them.", flush=True)
        await stopped.wait()


AGENT_KEY = "agent-key-1"


def _write(config: Path, world: dict[str, Any]) -> None:
    """YAML readable only by its owner, with a key for an agent and one for an admin. Never overwrites a file."""
    keys = [
        {"name": "refund-agent", "key": AGENT_KEY, "roles": ["agent"]},
        {"name": "admin", "key": secrets.token_urlsafe(24), "roles": ["admin"]},
    ]
    lines = [f"{name}: {json.dumps(section)}" for name, section in {"api_keys": keys, **world}.items()]
    with os.fdopen(os.open(config, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bot.sandbox", description="A pretend Slack, mailbox and pager.")
    parser.add_argument("--service-url", default="http://127.0.0.1:8080", help="where the service listens")
    parser.add_argument("--port", type=int, default=0, help="for HTTP; a free one by default")
    parser.add_argument("--smtp-port", type=int, default=0, help="for mail; a free one by default")
    parser.add_argument("--config", type=Path, help="the configuration to write for the service; it must not be there")
    given = parser.parse_args()
    if given.config is not None and given.config.exists():
        parser.error(f"{given.config} is there already; move it away, or name another file")
    asyncio.run(_serve(given.service_url.rstrip("/"), given.port, given.smtp_port, given.config))


if __name__ == "__main__":
    main()
