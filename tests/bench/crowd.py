"""A database with a crowd in it, made before the service is started on it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import aiohttp

from tests.bench import measures
from tests.bench.service import Around, Caller, serving

MAILBOX = "original@example.com"


async def open_question(http: aiohttp.ClientSession, config: Path, url: str, here: Around, **fields: Any) -> Any:
    """Ask one question of a service that runs for it alone; its first notice has arrived."""
    with serving(config):
        caller = Caller(http, url)
        await measures.until_ready(caller, time.monotonic())
        asked = await caller.ask(here.callback_url, MAILBOX, **fields)
        await here.mail_to(MAILBOX)
        return asked


async def ended_question(http: aiohttp.ClientSession, config: Path, url: str, here: Around, **fields: Any) -> Any:
    """As :func:`open_question`, answered and called back."""
    with serving(config):
        caller = Caller(http, url)
        await measures.until_ready(caller, time.monotonic())
        asked = await caller.ask(here.callback_url, MAILBOX, **fields)
        await here.mail_to(MAILBOX)
        await caller.answer(asked)
        await here.callback(asked["suspension_id"])
        return asked
