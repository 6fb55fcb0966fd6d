"""Intents as far as suspensions need them (API.md §7): create, read, move, patch, and events of one's own."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def create(world: World, **fields: Any) -> dict[str, Any]:
    response = await world.call("POST", "/v1/intents", json={"title": "t", **fields})
    assert response.status_code == 201, response.text
    intent: dict[str, Any] = response.json()
    return intent


async def change(world: World, intent: dict[str, Any], what: str, body: Any, role: str = "agent") -> httpx.Response:
    current = await world.intent({"intent_id": intent["id"]})
    headers = {"If-Match": str(current["version"])}
    return await world.call("POST", f"/v1/intents/{intent['id']}/{what}", role, json=body, headers=headers)


async def patched(world: World, intent: dict[str, Any], *patches: dict[str, Any]) -> Any:
    response = await change(world, intent, "state", {"patches": list(patches)})
    assert response.status_code == 200, response.text
    return response.json()["state"]


async def test_an_intent_is_created_and_shown(room: World) -> None:
    fields = {
        "title": "Close the month",
        "description": "All of it",
        "state": {"page": 1},
        "constraints": {"budget": 5},
        "confidence": 70,
    }
    intent = await create(room, **fields)
    assert {name: intent[name] for name in fields} == fields
    assert (intent["status"], intent["created_by"]) == ("draft", "refund-agent")
    assert intent["parent_id"] is None and intent["parent_intent_id"] is None
    assert intent["abandonment_reason"] is None
    assert (await room.call("GET", f"/v1/intents/{intent['id']}")).json() == intent


async def test_who_creates_an_intent_is_its_creator_whatever_it_says(room: World) -> None:
    assert (await create(room, created_by="somebody-else"))["created_by"] == "refund-agent"


async def test_what_an_intent_is_a_part_of_and_depends_on_is_kept_and_shown(room: World) -> None:
    parent, upstream = await create(room), await create(room)
    policy = {"completion_mode": "auto", "deadline": "2027-01-01T00:00:00Z"}
    said = {"parent_intent_id": parent["id"], "depends_on": [upstream["id"], upstream["id"]]}
    intent = await create(room, **said, governance_policy=policy)
    assert (intent["parent_id"], intent["parent_intent_id"]) == (parent["id"], parent["id"])
    assert (intent["depends_on"], intent["governance_policy"]) == ([upstream["id"]], policy)
    assert (await room.call("GET", f"/v1/intents/{intent['id']}")).json() == intent
    moved = await change(room, intent, "status", {"status": "active"})
    assert (moved.json()["depends_on"], moved.json()["parent_id"]) == ([upstream["id"]], parent["id"])


@pytest.mark.parametrize("known", [False, True], ids=["unknown", "anothers"])
async def test_an_intent_that_the_caller_does_not_find_is_named_by_none_of_its_own(room: World, known: bool) -> None:
    theirs = await room.active_intent(role="other_agent")
    named = theirs["id"] if known else "no-such-intent"
    own = await create(room)
    for fields, path in (
        ({"parent_intent_id": named}, "parent_intent_id"),
        ({"depends_on": [own["id"], own["id"], named]}, "depends_on.2"),
    ):
        refused = await room.call("POST", "/v1/intents", json={"title": "t", **fields})
        assert refused.status_code == 422
        assert [one["path"] for one in refused.json()["detail"]["fields"]] == [path]
        assert "such intent" in refused.json()["detail"]["message"]


@pytest.mark.parametrize(
    "fields",
    [
        {"title": ""},
        {"title": None},
        {"title": 5},
        {"status": "completed"},
        {"no": 1},
        {"depends_on": "a"},
        {"governance_policy": []},
    ],
)
async def test_an_intent_that_can_not_be_is_refused(room: World, fields: dict[str, Any]) -> None:
    assert (await room.call("POST", "/v1/intents", json={"title": "t", **fields})).status_code == 422


MOVES = {
    "draft": {"active", "abandoned", "suspended_awaiting_input"},
    "active": {"blocked", "completed", "abandoned", "suspended_awaiting_input"},
    "blocked": {"active", "abandoned"},
    "completed": set(),
    "abandoned": set(),
}
WAYS = {
    "draft": [],
    "active": ["active"],
    "blocked": ["active", "blocked"],
    "completed": ["active", "completed"],
    "abandoned": ["abandoned"],
}


@pytest.mark.parametrize("start", MOVES)
@pytest.mark.parametrize("wanted", [*MOVES, "suspended_awaiting_input"])
async def test_an_intent_moves_as_its_lifecycle_has_it(room: World, start: str, wanted: str) -> None:
    """RFC-0001; RFC-0025 §2."""
    intent = await create(room)
    for status in WAYS[start]:
        assert (await change(room, intent, "status", {"status": status})).status_code == 200
    response = await change(room, intent, "status", {"status": wanted})
    assert response.status_code == (200 if wanted in MOVES[start] else 409), response.text
    after = await room.intent({"intent_id": intent["id"]})
    assert after["status"] == (wanted if wanted in MOVES[start] else start)


async def test_a_status_that_nobody_knows_is_422(room: World) -> None:
    intent = await create(room)
    assert (await change(room, intent, "status", {"status": "paused"})).status_code == 422


async def test_the_state_is_patched_by_paths(room: World) -> None:
    intent = await create(room, state={"cart": [1], "nested": {"a": 1, "b": 2}})
    state = await patched(
        room,
        intent,
        {"op": "set", "path": "/nested/a", "value": {"deep": True}},
        {"op": "append", "path": "cart", "value": 2},
        {"op": "remove", "path": "nested/b"},
        {"op": "set", "path": "/new", "value": None},
    )
    assert state == {"cart": [1, 2], "nested": {"a": {"deep": True}}, "new": None}


async def test_patches_that_lead_nowhere_change_nothing_at_all(room: World) -> None:
    intent = await create(room, state={"cart": 5})
    patches = [{"op": "set", "path": "ok", "value": 1}, {"op": "append", "path": "cart", "value": 2}]
    assert (await change(room, intent, "state", {"patches": patches})).status_code == 422
    wrong: list[Any] = [{"patches": []}, {"patches": [{"op": "move", "path": "a"}]}, {}, {"patches": [], "state": {}}]
    for body in wrong:
        assert (await change(room, intent, "state", body)).status_code == 422
    assert (await room.intent({"intent_id": intent["id"]}))["state"] == {"cart": 5}


@pytest.mark.parametrize("what", ["status", "state"])
async def test_another_agents_intent_can_not_be_changed(room: World, what: str) -> None:
    intent = await create(room)
    bodies: dict[str, Any] = {"status": {"status": "active"}, "state": {"state": {}}}
    assert (await change(room, intent, what, bodies[what], "other_agent")).status_code == 404
    assert (await change(room, intent, what, bodies[what], "admin")).status_code == 200


# --- events -----------------------------------------------------------------------------------------------------------


async def post_event(world: World, intent: dict[str, Any], event_type: str, **payload: Any) -> httpx.Response:
    body = {"event_type": event_type, "payload": payload, "actor": "somebody"}
    return await world.call("POST", f"/v1/intents/{intent['id']}/events", json=body)


async def types(world: World, intent: dict[str, Any], prefix: str = "/v1", **params: Any) -> list[str]:
    response = await world.call("GET", f"{prefix}/intents/{intent['id']}/events", params=params)
    return [event["event_type"] for event in response.json()["events"]]


async def test_an_agent_adds_events_of_its_own(room: World) -> None:
    intent = await create(room)
    response = await post_event(room, intent, "cart.filled", items=3)
    assert response.status_code == 200
    event = (await room.events({"intent_id": intent["id"]}))[-1]
    assert (event["event_type"], event["payload"], event["actor"]) == ("cart.filled", {"items": 3}, "refund-agent")


@pytest.mark.parametrize(
    "event_type",
    [
        "intent.resumed",
        "intent.suspension_expired",
        "intent.suspension_cancelled",
        "intent.suspension_claimed",
        "intent.anything",
        "portfolio.member_suspended",
        "task.blocked",
        "coordinator.escalation_required",
        "engagement.other",
        "status_changed",
        "intent_created",
        "agent_assigned",
        "agent_unassigned",
        "dependency_added",
        "lease_acquired",
        "lease_expired",
        "failure_recorded",
        "fallback_triggered",
    ],
)
async def test_what_the_server_alone_writes_can_not_be_forged(room: World, event_type: str) -> None:
    intent = await create(room)
    response = await post_event(room, intent, event_type)
    assert (response.status_code, response.json()["detail"]["error"]) == (403, "forbidden")
    assert await types(room, intent) == ["intent_created"]


@pytest.mark.parametrize(
    "event_type", ["intent.suspended", "intent.suspension_renotified", "intent.suspension_escalated"]
)
async def test_what_the_published_client_posts_of_its_ladder_is_acknowledged_and_does_not_count(
    room: World, event_type: str
) -> None:
    asked = await room.ask()
    intent = {"id": asked["intent_id"]}
    before = await types(room, intent)
    assert (await post_event(room, intent, event_type, attempt=9)).status_code == 200
    assert await types(room, intent) == before


async def test_an_engagement_decision_may_be_posted(room: World) -> None:
    intent = await create(room)
    assert (await post_event(room, intent, "engagement.decision", mode="autonomous")).status_code == 200
    assert await types(room, intent) == ["intent_created", "engagement.decision"]


async def test_events_are_filtered_by_type_and_number(room: World) -> None:
    intent = await create(room)
    for number in range(3):
        await post_event(room, intent, "cart.filled", number=number)
    assert await types(room, intent, event_type="cart.filled") == ["cart.filled"] * 3
    assert await types(room, intent, event_type="intent_created") == ["intent_created"]
    assert len(await types(room, intent, limit=2)) == 2


async def test_the_published_client_is_spared_types_that_it_does_not_know(room: World) -> None:
    asked = await room.ask()
    intent = {"id": asked["intent_id"]}
    await post_event(room, intent, "cart.filled")
    path = f"/v1/suspensions/{asked['suspension_id']}/claim"
    await room.call("POST", path, "operator", json={})
    ours, theirs = await types(room, intent), await types(room, intent, "/api/v1")
    assert {"cart.filled", "intent.suspension_claimed"} <= set(ours)
    assert not {"cart.filled", "intent.suspension_claimed"} & set(theirs)
    assert "intent.suspended" in theirs


async def test_an_abandoned_intent_says_why(room: World) -> None:
    asked = await room.ask(timeout_seconds=60)
    await room.advance(seconds=60)
    intent = await room.intent(asked)
    assert (intent["status"], bool(intent["abandonment_reason"])) == ("abandoned", True)
