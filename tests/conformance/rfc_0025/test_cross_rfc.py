"""RFC-0025, "Cross-RFC Interactions": what suspensions are to subscribers. Where the rest of the table is tested:
``docs/reference/conformance.md``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.sandbox.serving import serving
from tests.subscriber import EventReceiver
from tests.world import WEBHOOK_SECRET, World, running

LADDER: dict[str, Any] = {
    "max_attempts": 2,
    "interval_seconds": 60,
    "escalation_ladder": [{"attempt": 2, "channel_hint": "email"}],
}


@pytest.fixture
async def subscriber(tmp_path: Path, sqlite_url: str) -> AsyncIterator[tuple[World, EventReceiver]]:
    """A service, and a receiver that is subscribed to all of its events."""
    receiver = EventReceiver(WEBHOOK_SECRET)
    async with serving(receiver.app) as url, running(tmp_path, sqlite_url) as world:
        receiver.url = f"{url}/events"
        response = await world.call("POST", "/v1/subscriptions", json={"webhook_url": receiver.url})
        assert response.status_code == 200, response.text
        yield world, receiver


async def test_every_event_of_a_suspension_reaches_a_subscriber(subscriber: tuple[World, EventReceiver]) -> None:
    """RFC-0006: "All suspension events propagate via existing subscription infrastructure"."""
    world, receiver = subscriber
    answered, expired = await world.ask(), await world.ask(timeout_seconds=60, retry_policy=LADDER)
    await world.answer(answered, "approve")
    await world.call("POST", f"/v1/intents/{answered['intent_id']}/engagement", json={"risk": 0.9})
    await world.advance(minutes=3)
    logged = [one["event_type"] for asked in (answered, expired) for one in await world.events(asked)]
    await receiver.expect(len(logged))
    assert receiver.types == sorted(logged)
    assert set(logged) >= {
        "intent.suspended",
        "intent.resumed",
        "intent.suspension_renotified",
        "intent.suspension_escalated",
        "intent.suspension_expired",
        "engagement.decision",
    }
