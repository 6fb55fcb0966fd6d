"""Subscriptions under ``kill -9`` and with several workers: every event once for each, none left out."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.sandbox.serving import serving
from tests.process import ServiceProcess, service_process
from tests.subscriber import EventReceiver
from tests.world import KEYS, WEBHOOK_SECRET, config

pytestmark = pytest.mark.kills

PATIENCE = 120
AGENT = {"X-API-Key": KEYS["agent"]}


def settings(database_url: str) -> dict[str, Any]:
    return config(database_url, {}) | {
        "suspension": {},
        "work": {"beat_seconds": 1, "silent_seconds": 3},
        "resume": {"allow_networks": ["127.0.0.0/8"], "retry": {"base_delay_ms": 50, "max_delay_ms": 200}},
    }


async def posted(http: httpx.AsyncClient, url: str, body: dict[str, Any]) -> dict[str, Any]:
    response = await http.post(url, json=body, headers=AGENT)
    assert response.is_success, response.text
    made: dict[str, Any] = response.json()
    return made


async def prepared(http: httpx.AsyncClient, api: str, receiver: EventReceiver) -> tuple[str, Sequence[str]]:
    """An intent, and three subscriptions to what is noted there."""
    intent = await posted(http, f"{api}/v1/intents", {"title": "Release", "status": "active"})
    wanted = {"webhook_url": receiver.url, "event_types": ["release.noted"]}
    made = [await posted(http, f"{api}/v1/subscriptions", wanted) for _ in range(3)]
    return intent["id"], [one["id"] for one in made]


async def note(http: httpx.AsyncClient, api: str, intent_id: str) -> str:
    made = await posted(http, f"{api}/v1/intents/{intent_id}/events", {"event_type": "release.noted"})
    return str(made["id"])


def each_once(receiver: EventReceiver, noted: Sequence[str], subscriptions: Sequence[str]) -> None:
    """Every event under one id for each subscription. A process that was killed may have sent one twice."""
    heard = {(one.body["subscription_id"], one.event["id"], one.webhook_id) for one in receiver.accepted}
    pairs = Counter((subscription, event) for subscription, event, _ in heard)
    assert set(pairs) == {(subscription, event) for subscription in subscriptions for event in noted}
    assert set(pairs.values()) == {1}


async def test_killed_again_and_again_while_it_follows_it_leaves_no_event_out(
    tmp_path: Path, database_url: str
) -> None:
    receiver = EventReceiver(WEBHOOK_SECRET)
    async with AsyncExitStack() as stack:
        receiver.url = f"{await stack.enter_async_context(serving(receiver.app))}/events"
        http = await stack.enter_async_context(httpx.AsyncClient(trust_env=False, timeout=30))
        service = await stack.enter_async_context(service_process(tmp_path / "one", settings(database_url)))
        await service.start()
        intent_id, subscriptions = await prepared(http, service.url, receiver)
        noted: list[str] = []
        for _ in range(3):
            noted += await asyncio.gather(*(note(http, service.url, intent_id) for _ in range(20)))
            await service.kill()
            await service.start()
        async with asyncio.timeout(PATIENCE):
            while len({one.webhook_id for one in receiver.accepted}) < len(noted) * len(subscriptions):
                await asyncio.sleep(0.05)  # another process's work: only real time shows it
        each_once(receiver, noted, subscriptions)


async def test_of_several_workers_one_follows_and_another_goes_on_when_it_is_killed(
    tmp_path: Path, postgres_url: str
) -> None:
    receiver = EventReceiver(WEBHOOK_SECRET)
    async with AsyncExitStack() as stack:
        receiver.url = f"{await stack.enter_async_context(serving(receiver.app))}/events"
        http = await stack.enter_async_context(httpx.AsyncClient(trust_env=False, timeout=30))
        started: list[ServiceProcess] = []
        for number, role in enumerate(("api", "api", "worker", "worker", "worker")):
            folder = tmp_path / f"replica-{number}"
            process = service_process(folder, settings(postgres_url), role)
            started.append(await stack.enter_async_context(process))
        await asyncio.gather(*(process.start() for process in started))
        one, two, first, second, _ = started
        intent_id, subscriptions = await prepared(http, one.url, receiver)
        noted: list[str] = []
        for killed in (first, second, None):
            apis = (one.url, two.url)
            noted += await asyncio.gather(*(note(http, apis[number % 2], intent_id) for number in range(30)))
            if killed is not None:
                await killed.kill()
        async with asyncio.timeout(PATIENCE):
            while len({one.webhook_id for one in receiver.accepted}) < len(noted) * len(subscriptions):
                await asyncio.sleep(0.05)  # other processes' work: only real time shows it
        each_once(receiver, noted, subscriptions)
