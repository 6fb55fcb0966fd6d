"""Coordinators: named, changed, heard of (RFC-0013; API.md §7)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.journeys.openintent.coordinating import coordinate
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_coordinator_is_named_by_the_intents_owner_and_shown(room: World) -> None:
    intent = await room.active_intent()
    guardrails = {"auto_escalate_after_failures": 3}
    made = await coordinate(room, intent_id=intent["id"], guardrails=guardrails, supervisor_id="alice@example.com")
    assert {**made, "id": "", "granted_at": ""} == {
        "id": "",
        "intent_id": intent["id"],
        "portfolio_id": None,
        "agent_id": "other-agent",
        "role": "coordinator",
        "supervisor_id": "alice@example.com",
        "coordinator_type": "llm",
        "scope": "intent",
        "status": "active",
        "suspension_policy": "isolate",
        "guardrails": guardrails,
        "heartbeat_interval_seconds": 60,
        "last_heartbeat": None,
        "granted_at": "",
        "expires_at": None,
        "version": 1,
        "created_by": "refund-agent",
        "lease_metadata": {},
        "metadata": {},
    }
    assert (await room.call("GET", f"/v1/coordinators/{made['id']}")).json() == made
    assert (await room.call("GET", f"/v1/intents/{intent['id']}/coordinators")).json() == [made]
    listed = (await room.call("GET", "/v1/coordinators", "other_agent")).json()
    assert made["id"] in [one["id"] for one in listed]


async def test_who_coordinates_an_intent_is_a_member_of_it(room: World) -> None:
    intent = await room.active_intent()
    assert (await room.call("GET", f"/v1/intents/{intent['id']}", "other_agent")).status_code == 404
    await coordinate(room, intent_id=intent["id"])
    assert (await room.call("GET", f"/v1/intents/{intent['id']}", "other_agent")).status_code == 200
    members = (await room.call("GET", f"/v1/intents/{intent['id']}/agents")).json()
    assert "other-agent" in str(members) and "coordinator" in str(members)


async def test_a_member_names_none_and_a_stranger_finds_none(room: World) -> None:
    intent = await room.active_intent()
    body = {"agent_id": "other-agent", "intent_id": intent["id"]}
    assert (await room.call("POST", "/v1/coordinators", "other_agent", json=body)).status_code == 404
    made = await coordinate(room, intent_id=intent["id"])
    assert (await room.call("POST", "/v1/coordinators", "other_agent", json=body)).status_code == 403
    path, match = f"/v1/coordinators/{made['id']}", {"If-Match": "1"}
    refused = await room.call("PATCH", path, "other_agent", json={"status": "paused"}, headers=match)
    assert refused.status_code == 403
    theirs = await room.active_intent(role="admin")
    foreign = await room.call("POST", "/v1/coordinators", "admin", json={"agent_id": "x", "intent_id": theirs["id"]})
    assert (await room.call("GET", f"/v1/coordinators/{foreign.json()['id']}")).status_code == 404
    assert foreign.json()["id"] not in [one["id"] for one in (await room.call("GET", "/v1/coordinators")).json()]


async def test_a_coordinator_is_unresponsive_after_two_missed_heartbeats(room: World) -> None:
    intent = await room.active_intent()
    made = await coordinate(room, intent_id=intent["id"], heartbeat_interval_seconds=30)
    path = f"/v1/coordinators/{made['id']}"

    async def status() -> Any:
        return (await room.call("GET", path)).json()["status"]

    await room.advance(seconds=60)
    assert await status() == "active"
    await room.advance(seconds=1)
    assert await status() == "unresponsive"
    refused = await room.call("POST", f"{path}/heartbeat")
    assert refused.status_code == 403
    beat = await room.call("POST", f"{path}/heartbeat", "other_agent")
    shown = (await room.call("GET", path)).json()
    assert (beat.status_code, beat.json()["status"], shown["status"]) == (200, "ok", "active")
    assert beat.json()["next_heartbeat_at"] > shown["last_heartbeat"]


async def test_a_coordinator_is_changed_until_it_is_done(room: World) -> None:
    intent = await room.active_intent()
    made = await coordinate(room, intent_id=intent["id"])
    path = f"/v1/coordinators/{made['id']}"
    after = await room.call("PATCH", path, json={"suspension_policy": "escalate"}, headers={"If-Match": "1"})
    assert (after.json()["suspension_policy"], after.json()["version"]) == ("escalate", 2)
    stale = await room.call("PATCH", path, json={"status": "paused"}, headers={"If-Match": "1"})
    assert (stale.status_code, stale.json()["detail"]["current_version"]) == (409, 2)
    assert (await room.call("PATCH", path, json={"status": "paused"})).status_code == 428
    done = await room.call("PATCH", path, json={"status": "completed"}, headers={"If-Match": "2"})
    assert done.json()["status"] == "completed"
    again = await room.call("PATCH", path, json={"status": "active"}, headers={"If-Match": "3"})
    assert (again.status_code, again.json()["detail"]["error"]) == (409, "invalid_transition")
    assert (await room.call("POST", f"{path}/heartbeat", "other_agent")).status_code == 409


async def test_a_coordinator_is_done_at_its_end(room: World) -> None:
    intent = await room.active_intent()
    early = {"agent_id": "other-agent", "intent_id": intent["id"], "expires_at": "2020-01-01T00:00:00Z"}
    assert (await room.call("POST", "/v1/coordinators", json=early)).status_code == 422
    neither = await room.call("POST", "/v1/coordinators", json={"agent_id": "other-agent"})
    assert (neither.status_code, neither.json()["detail"]["fields"][0]["path"]) == (422, "intent_id")


async def test_a_portfolios_coordinator_is_named_by_its_creator(room: World) -> None:
    portfolio = (await room.call("POST", "/v1/portfolios", json={"name": "March"})).json()
    body = {"agent_id": "other-agent", "portfolio_id": portfolio["id"]}
    assert (await room.call("POST", "/v1/coordinators", "other_agent", json=body)).status_code == 404
    made = await coordinate(room, portfolio_id=portfolio["id"])
    assert (made["scope"], made["portfolio_id"]) == ("portfolio", portfolio["id"])
    for role, status in (("agent", 200), ("other_agent", 200), ("admin", 200)):
        assert (await room.call("GET", f"/v1/coordinators/{made['id']}", role)).status_code == status
