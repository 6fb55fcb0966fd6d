"""Who may read what, and the timeline of a suspension (API.md §1, §2)."""

from __future__ import annotations

import pytest

from bot.sandbox.slack.faults import RateLimited
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_what_an_agent_may_not_read_is_not_there(room: World) -> None:
    asked = await room.ask()
    suspension, intent = f"/v1/suspensions/{asked['suspension_id']}", f"/v1/intents/{asked['intent_id']}"
    for path in (
        suspension,
        suspension + "/timeline",
        suspension + "/wait?timeout_seconds=1",
        intent,
        intent + "/events",
        intent + "/subscribe",
    ):
        response = await room.call("GET", path, "other_agent")
        assert (response.status_code, response.json()["detail"]["error"]) == (404, "not_found"), path


@pytest.mark.parametrize("role", ["agent", "operator", "second_operator", "admin"])
async def test_its_agent_and_all_operators_read_it(room: World, role: str) -> None:
    asked = await room.ask()
    suspension, intent = f"/v1/suspensions/{asked['suspension_id']}", f"/v1/intents/{asked['intent_id']}"
    for path in (suspension, suspension + "/timeline", intent, intent + "/events"):
        assert (await room.call("GET", path, role)).status_code == 200


@pytest.mark.parametrize("suspension_id", ["3f0c1b1e-0000-4000-8000-000000000000", "HR-7F3K", "x"])
async def test_an_unknown_suspension_is_404(room: World, suspension_id: str) -> None:
    for path in ("", "/timeline", "/wait?timeout_seconds=1"):
        response = await room.call("GET", f"/v1/suspensions/{suspension_id}{path}", "admin")
        assert (response.status_code, response.json()["detail"]["error"]) == (404, "not_found")


async def test_the_timeline_tells_the_whole_story_in_order(room: World) -> None:
    policy = {
        "max_attempts": 2,
        "interval_seconds": 600,
        "escalation_ladder": [{"attempt": 2, "channel_hint": "email", "notify_to": "bob@example.com"}],
    }
    asked = await room.ask(timeout_seconds=600, retry_policy=policy)
    await room.advance(seconds=700)
    await room.answer(asked, "approve")
    await room.settle()
    items = await room.timeline(asked)
    instants = [item["at"] for item in items]
    assert instants == sorted(instants)
    told = [(item["kind"], item.get("type") or item.get("channel")) for item in items]
    assert told[:3] == [("event", "intent.suspended"), ("attempt", "slack"), ("delivery", "slack")]
    assert told[3:7] == [
        ("event", "intent.suspension_renotified"),
        ("event", "intent.suspension_escalated"),
        ("attempt", "email"),
        ("delivery", "email"),
    ]
    assert told[7] == ("event", "intent.resumed")
    assert {kind for kind, _ in told[8:]} >= {"callback"}
    deliveries = [item for item in items if item["kind"] == "delivery"]
    assert [(one["status"], one["tries"]) for one in deliveries] == [("delivered", 1), ("delivered", 1)]
    assert all(one["receipt"] for one in deliveries)
    [callback] = [item for item in items if item["kind"] == "callback"]
    assert (callback["status"], callback["tries"]) == ("delivered", 1)


async def test_the_timeline_shows_every_try_of_a_delivery(room: World) -> None:
    room.slack.fail_next(RateLimited(retry_after=30), "chat.postMessage")
    asked = await room.ask()
    await room.advance(seconds=60)
    [delivery] = [item for item in await room.timeline(asked) if item["kind"] == "delivery"]
    assert (delivery["status"], delivery["tries"]) == ("delivered", 2)
