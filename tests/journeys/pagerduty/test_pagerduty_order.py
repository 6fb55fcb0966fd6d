"""Webhooks late, twice, swapped, too early, and while we are killed: each changes what it should, once.

Source: facts on channels §C2, §C4, §F; docs/decisions/0024.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.sandbox.pagerduty.webhooks import Delivery, envelope, incident_data, note_data
from bot.sandbox.pagerduty.world import Incident, User
from bot.sandbox.serving import serving
from tests.process import service_process
from tests.vendors.pagerduty import PagerDutySandbox
from tests.world import KEYS, ROUTING_KEY, World, config

ALICE = User("PALICE", "Alice", "alice@example.com")
BOB = User("PBOB", "Bob", "bob@example.com")
PATIENCE = 90
HOURLY = {"max_attempts": 3, "interval_seconds": 3600}
PEOPLE = ["alice@example.com", "bob@example.com"]
PAGE = {"channel_hint": "pagerduty", "notify_to": "pagerduty:default", "responders": PEOPLE}


async def page(world: World, question: str = "Refund?", **fields: Any) -> tuple[dict[str, Any], Incident]:
    asked = await world.ask(question, **PAGE, retry_policy=HOURLY, **fields)
    return asked, await world.pager.expect_incident(asked["ref"])


async def early(world: World) -> tuple[dict[str, Any], Incident]:
    """A page whose alerts PagerDuty's own list does not have yet, and of which no webhook has told."""
    door, world.pager.webhooks.url = world.pager.webhooks.url, None
    asked, incident = await page(world)
    world.pager.webhooks.url = door
    incident.title = "Refund?"
    return asked, incident


async def say(world: World, incident: Incident, what: str, who: User | None, ago: float) -> None:
    """The webhook of something that happened so many seconds ago."""
    at = world.clock.now() - timedelta(seconds=ago)
    response = await world.pager.webhooks.send(envelope(f"incident.{what}", incident_data(incident), who, at))
    assert response.status_code == 202


async def claimed_by(world: World, asked: dict[str, Any]) -> str | None:
    return (await world.show(asked))["claimed_by"]  # type: ignore[no-any-return]


# --- Order --------------------------------------------------------------------------------------------------------


async def test_an_acknowledgement_older_than_its_return_that_was_seen_already_claims_nothing(any_world: World) -> None:
    asked, incident = await page(any_world)

    await say(any_world, incident, "unacknowledged", ALICE, ago=1)
    await say(any_world, incident, "acknowledged", ALICE, ago=2)

    assert await claimed_by(any_world, asked) is None


async def test_a_return_older_than_the_acknowledgement_that_was_seen_already_releases_nothing(any_world: World) -> None:
    asked, incident = await page(any_world)

    await say(any_world, incident, "acknowledged", BOB, ago=1)
    await say(any_world, incident, "unacknowledged", ALICE, ago=2)

    assert await claimed_by(any_world, asked) == "bob@example.com"


async def test_the_first_to_acknowledge_has_it_whoever_was_told_first(any_world: World) -> None:
    asked, incident = await page(any_world)

    await say(any_world, incident, "acknowledged", BOB, ago=1)
    await say(any_world, incident, "acknowledged", ALICE, ago=2)

    assert await claimed_by(any_world, asked) == "alice@example.com"


async def test_resolved_told_before_acknowledged_is_the_same(any_world: World) -> None:
    asked, incident = await page(any_world)

    await say(any_world, incident, "resolved", BOB, ago=1)
    await say(any_world, incident, "acknowledged", ALICE, ago=2)

    assert await claimed_by(any_world, asked) == "alice@example.com"


async def note(world: World, incident: Incident, who: User, ago: float) -> None:
    """The webhook of "I'm on it", written into the incident so many seconds ago."""
    written = note_data(incident, world.pager.account.annotate(incident, who, "I'm on it"))
    at = world.clock.now() - timedelta(seconds=ago)
    assert (await world.pager.webhooks.send(envelope("incident.annotated", written, who, at))).status_code == 202


async def test_a_note_that_claims_counts_from_when_it_was_written(any_world: World) -> None:
    asked, incident = await page(any_world)

    await say(any_world, incident, "unacknowledged", ALICE, ago=1)
    await note(any_world, incident, ALICE, ago=2)
    assert await claimed_by(any_world, asked) is None

    await note(any_world, incident, BOB, ago=0)
    assert await claimed_by(any_world, asked) == "bob@example.com"
    await say(any_world, incident, "unacknowledged", BOB, ago=0)
    assert await claimed_by(any_world, asked) is None


@pytest.mark.parametrize("seed", range(4))
async def test_shuffled_and_repeated_webhooks_end_as_the_ordered_ones(world: World, seed: int) -> None:
    """Three incidents, each with its own story; a note answers the second."""
    ordered, shuffled = [[await page(world, f"{run} {number}?") for number in range(3)] for run in ("a", "b")]
    luck = random.Random(seed)
    told = [await _story(world, [incident for _, incident in run]) for run in (ordered, shuffled)]

    for delivery in told[0]:
        assert (await world.pager.webhooks.deliver(delivery)).status_code == 202
    again = [*told[1], *luck.sample(told[1], len(told[1]) // 3)]
    luck.shuffle(again)
    for delivery in again:
        assert (await world.pager.webhooks.deliver(delivery)).status_code == 202

    ends = [[await _end(world, asked) for asked, _ in run] for run in (ordered, shuffled)]
    assert ends[0] == ends[1]
    assert ends[0][1][0] == "responded"


async def _story(world: World, incidents: list[Incident]) -> list[Delivery]:
    first, second, third = incidents
    note = note_data(second, world.pager.account.annotate(second, BOB, "approve"))
    steps = [
        ("acknowledged", incident_data(first), ALICE),
        ("acknowledged", incident_data(second), ALICE),
        ("acknowledged", incident_data(third), ALICE),
        ("unacknowledged", incident_data(first), None),
        ("annotated", note, BOB),
        ("acknowledged", incident_data(third), BOB),
        ("acknowledged", incident_data(first), BOB),
        ("unacknowledged", incident_data(third), None),
        ("resolved", incident_data(first), ALICE),
    ]
    world.pager.webhooks.hold_back()
    now, before = world.clock.now(), len(world.pager.webhooks.deliveries)
    for number, (what, data, who) in enumerate(steps):
        at = now - timedelta(seconds=60 - number)
        await world.pager.webhooks.send(envelope(f"incident.{what}", data, who, at))
    await world.pager.webhooks.release(lambda _held: ())
    return world.pager.webhooks.deliveries[before:]


async def _end(world: World, asked: dict[str, Any]) -> tuple[Any, ...]:
    shown = await world.show(asked)
    return tuple(shown[name] for name in ("status", "claimed_by", "claim_until", "response", "responded_by"))


# --- Too early ----------------------------------------------------------------------------------------------------


async def test_an_event_before_its_incident_is_known_waits_for_that(any_world: World) -> None:
    asked, incident = await early(any_world)
    alerts, incident.alerts = incident.alerts, []

    assert (await any_world.pager.add_note(incident, BOB, "approve")).status_code == 202
    assert (await any_world.intent(asked))["status"] == "suspended_awaiting_input"
    incident.alerts = alerts
    await any_world.advance(minutes=1)

    assert (await any_world.told(asked))["data"]["responded_by"] == "bob@example.com"


async def test_what_waited_comes_before_what_came_later(world: World) -> None:
    asked, incident = await early(world)
    alerts, incident.alerts = incident.alerts, []
    await world.pager.add_note(incident, BOB, "deny")
    incident.alerts = alerts

    await world.pager.add_note(incident, ALICE, "approve")

    assert (await world.told(asked))["data"]["value"] == "deny"


async def test_after_ten_minutes_an_unknown_incidents_event_is_dropped(world: World) -> None:
    asked, incident = await early(world)
    alerts, incident.alerts = incident.alerts, []
    await world.pager.add_note(incident, BOB, "approve")

    await world.advance(minutes=10, seconds=1)
    incident.alerts = alerts
    await world.advance(minutes=30)

    assert (await world.intent(asked))["status"] == "suspended_awaiting_input"
    assert [one.statuses for one in world.pager.webhooks.deliveries if "annotated" in one.event["event_type"]] == [
        [202]
    ]


async def test_somebody_elses_incident_is_not_waited_for(world: World) -> None:
    await page(world)
    event = {"routing_key": ROUTING_KEY, "event_action": "trigger", "dedup_key": "disk"}
    payload = {"summary": "Disk full", "source": "db1", "severity": "critical"}
    foreign = world.pager.account.trigger({**event, "payload": payload}).incident
    await world.pager.acknowledge(foreign, ALICE)
    asked_before = len(world.pager.rest.calls)

    await world.advance(minutes=11)

    assert len([one for one in world.pager.rest.calls[asked_before:] if foreign.id in one]) == 0


# --- Killed -------------------------------------------------------------------------------------------------------

STUCK = """
import asyncio, pathlib
from bot.inbound.pagerduty.webhook import PagerDutyDoor

reached = pathlib.Path({reached!r})
take = PagerDutyDoor.receive

async def stuck(self, raw, headers):
    status = await take(self, raw, headers)
    if reached.exists() or b"incident.triggered" in raw:
        return status
    reached.touch()
    await asyncio.Event().wait()

PagerDutyDoor.receive = stuck
"""
"""Read by the interpreter as it starts: the first webhook is kept, and its 202 never comes."""


@pytest.mark.kills
@pytest.mark.parametrize("early", [False, True], ids=["answered", "parked"])
async def test_killed_between_the_commit_and_the_202_nothing_is_lost_and_nothing_done_twice(
    tmp_path: Path, early: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = PagerDutySandbox({"default": ROUTING_KEY}, [ALICE, BOB])
    reached, patch = tmp_path / "reached", tmp_path / "patch"
    patch.mkdir()
    (patch / "sitecustomize.py").write_text(STUCK.format(reached=str(reached)))
    monkeypatch.setenv("PYTHONPATH", str(patch))
    async with (
        serving(sandbox.app) as url,
        service_process(tmp_path / "service", _settings(tmp_path, sandbox, url)) as service,
    ):
        await service.start()
        incident = await _asked(service.url, sandbox)
        alerts = incident.alerts
        if early:
            incident.alerts, incident.title = [], "Go on?"
        sandbox.webhooks.url = f"{service.url}/pagerduty/webhooks"
        answering = asyncio.create_task(sandbox.add_note(incident, BOB, "yes"))
        async with asyncio.timeout(PATIENCE):
            while not reached.exists():
                await asyncio.sleep(0.01)
        await service.kill()
        await asyncio.gather(answering, return_exceptions=True)
        incident.alerts = alerts

        await service.start()
        sandbox.webhooks.url = f"{service.url}/pagerduty/webhooks"
        [lost] = [one for one in sandbox.webhooks.deliveries if "annotated" in one.event["event_type"]]
        assert (await sandbox.webhooks.deliver(lost)).status_code == 202
        async with asyncio.timeout(PATIENCE):
            while _statuses(tmp_path) != ["responded"]:
                await asyncio.sleep(0.05)
        assert await service.terminate() == 0
    await sandbox.close()
    with closing(sqlite3.connect(tmp_path / "handraise.db")) as database:
        [(answers,)] = database.execute("SELECT count(*) FROM events WHERE type = 'intent.resumed'")
        [(parked,)] = database.execute("SELECT count(*) FROM parked")
    assert (answers, parked) == (1, 0)


async def _asked(url: str, sandbox: PagerDutySandbox) -> Incident:
    body = {"question": "Go on?", "response_type": "confirm", **PAGE}
    async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
        asked = await http.post(f"{url}/v1/suspensions", json=body, headers={"X-API-Key": KEYS["agent"]})
    assert asked.status_code == 201, asked.text
    return await sandbox.expect_incident(asked.json()["ref"], within=PATIENCE)


def _settings(folder: Path, sandbox: PagerDutySandbox, url: str) -> dict[str, Any]:
    section = {
        "routing_key": ROUTING_KEY,
        "events_url": url,
        "api_url": url,
        "api_token": sandbox.rest.token,
        "webhook_secrets": list(sandbox.webhooks.secrets),
    }
    return config(f"sqlite+aiosqlite:///{folder / 'handraise.db'}", {"pagerduty": section}) | {
        "suspension": {"default_channel": "pagerduty"}
    }


def _statuses(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "handraise.db")) as database:
        return [status for (status,) in database.execute("SELECT status FROM suspensions")]
