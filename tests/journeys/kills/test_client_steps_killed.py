"""``kill -9`` at every step of the published client's suspend: none stays suspended without a record (API.md §7)."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.clock import ManualClock
from tests.journeys.kills.test_crashes import AGENT, settings
from tests.journeys.openintent.test_api_client_suspends import record
from tests.process import ServiceProcess, service_process
from tests.vendors.mail import Mailbox
from tests.world import World, running

pytestmark = pytest.mark.kills

STEPS = ["status", "state", "events"]
AGENTS, ROUNDS = 12, 4


@pytest.fixture
async def mailbox() -> Any:
    box = Mailbox()
    await box.start()
    yield box
    await box.stop()


class Asking:
    """One intent, as far as its agent has come; ``done`` are the steps that were acknowledged."""

    def __init__(self, service: ServiceProcess, http: httpx.AsyncClient) -> None:
        self._service, self._http = service, http
        self.record = record(channel_hint="email")
        self.done: list[str] = []
        self.intent: dict[str, Any] = {}

    async def create(self) -> None:
        body = {"title": "t", "status": "active"}
        made = await self._http.post(f"{self._service.url}/api/v1/intents", json=body, headers=AGENT)
        assert made.status_code == 201, made.text
        self.intent = made.json()

    async def take(self, *steps: str) -> None:
        """In order; raises where the service is gone."""
        bodies: dict[str, Any] = {
            "status": {"status": "suspended_awaiting_input"},
            "state": {"patches": [{"op": "set", "path": "_suspension", "value": self.record}]},
            "events": {"event_type": "intent.suspended", "payload": {"suspension_id": self.record["id"]}},
        }
        for step in steps:
            headers = AGENT | {"If-Match": str(self.intent["version"])}
            url = f"{self._service.url}/api/v1/intents/{self.intent['id']}/{step}"
            response = await self._http.post(url, json=bodies[step], headers=headers)
            assert response.status_code == 200, response.text
            if step != "events":
                self.intent = response.json()
            self.done.append(step)


async def assert_none_is_stuck(folder: Path, database_url: str, asking: list[Asking]) -> None:
    """A minute and a bit later, and with the service back: what was acknowledged stands, and the rest is active."""
    clock = ManualClock(datetime.now(UTC) + timedelta(seconds=61))
    async with running(folder, database_url, clock) as world:
        await world.settle()
        for one in asking:
            if one.intent:
                await _assert_not_stuck(world, one)


async def _assert_not_stuck(world: World, one: Asking) -> None:
    intent = await world.intent({"intent_id": one.intent["id"]})
    kept = intent["state"].get("_suspension")
    if "state" in one.done:
        assert kept is not None
    assert intent["status"] == ("active" if kept is None else "suspended_awaiting_input")
    if kept is None:
        return
    assert (kept["id"], kept["resolution"]) == (one.record["id"], None)
    answered = await world.answer({"intent_id": intent["id"], "suspension_id": kept["id"]}, "approve")
    assert answered.status_code == 200, answered.text


@pytest.mark.parametrize("last", STEPS)
async def test_killed_after_each_step_what_was_acknowledged_stands(
    tmp_path: Path, database_url: str, mailbox: Mailbox, last: str
) -> None:
    taken = STEPS[: STEPS.index(last) + 1]
    async with (
        service_process(tmp_path, settings(database_url, mailbox)) as service,
        httpx.AsyncClient(timeout=30) as http,
    ):
        await service.start()
        one = Asking(service, http)
        await one.create()
        await one.take(*taken)
        await service.kill()
        await service.start()
        found = (await http.get(f"{service.url}/api/v1/intents/{one.intent['id']}", headers=AGENT)).json()
        assert (found["status"], found["version"]) == ("suspended_awaiting_input", one.intent["version"])
        if last == "status":  # the client goes on where it stood
            await one.take("state", "events")
        await service.kill()
    await assert_none_is_stuck(tmp_path, database_url, [one])


async def test_killed_after_the_first_step_alone_the_intent_is_active_again(
    tmp_path: Path, database_url: str, mailbox: Mailbox
) -> None:
    async with (
        service_process(tmp_path, settings(database_url, mailbox)) as service,
        httpx.AsyncClient(timeout=30) as http,
    ):
        await service.start()
        one = Asking(service, http)
        await one.create()
        await one.take("status")
        await service.kill()
    await assert_none_is_stuck(tmp_path, database_url, [one])


async def test_killed_in_the_middle_of_any_of_them_none_is_stuck(
    tmp_path: Path, database_url: str, mailbox: Mailbox
) -> None:
    asking: list[Asking] = []
    async with (
        service_process(tmp_path, settings(database_url, mailbox)) as service,
        httpx.AsyncClient(timeout=30) as http,
    ):
        for _ in range(ROUNDS):
            await service.start()
            now = [Asking(service, http) for _ in range(AGENTS)]
            asking += now
            await asyncio.gather(*(one.create() for one in now))
            going = [asyncio.create_task(one.take(*STEPS)) for one in now]
            await asyncio.sleep(random.uniform(0, 0.15))
            await service.kill()
            for ended in await asyncio.gather(*going, return_exceptions=True):
                assert ended is None or isinstance(ended, httpx.TransportError), ended
    await assert_none_is_stuck(tmp_path, database_url, asking)
