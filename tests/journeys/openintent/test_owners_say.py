"""What is the owner's stays the owner's: no member ends an intent's question, and none writes the server's events
(API.md §7)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.test_reference_pages import EVENTS, rows
from tests.world import World

SOON = 2
FROM_CLIENTS_TOO = {
    *("intent.suspended", "intent.suspension_renotified", "intent.suspension_escalated", "engagement.decision"),
}
"""The published client posts these of its own ladder and its own decisions."""


async def post(world: World, role: str, path: str, body: Any, **headers: str) -> Any:
    return await world.call("POST", f"/v1{path}", role, json=body, headers=headers)


async def an_intent_of_two(world: World) -> str:
    """Of ``refund-agent``; ``other-agent`` is a member."""
    intent = (await post(world, "agent", "/intents", {"title": "Refund"})).json()["id"]
    joined = await post(world, "agent", f"/intents/{intent}/agents", {"agent_id": "other-agent", "role": "helper"})
    assert joined.status_code < 300, joined.text
    return str(intent)


async def a_portfolio(world: World, role: str, *, deadline: bool) -> str:
    at = (world.clock.now() + timedelta(seconds=SOON)).isoformat()
    body = {"name": "Soon", "governance_policy": {"deadline": at}} if deadline else {"name": "Open"}
    made = await post(world, role, "/portfolios", body)
    assert made.status_code < 300, made.text
    return str(made.json()["id"])


async def suspended(world: World, intent: str) -> Any:
    shown = (await world.call("GET", f"/v1/intents/{intent}", "agent")).json()
    body = {"question": "Refund?", "response_type": "confirm", "timeout_seconds": 3600}
    if shown["status"] == "draft":
        moved = await post(world, "agent", f"/intents/{intent}/status", {"status": "active"}, **{"If-Match": "1"})
        assert moved.status_code == 200, moved.text
    asked = await post(world, "agent", f"/intents/{intent}/suspend", body)
    assert asked.status_code == 201, asked.text
    return asked.json()


async def test_a_member_ends_no_question_by_a_portfolio_with_a_deadline(any_world: World) -> None:
    world = any_world
    intent = await an_intent_of_two(world)
    asked = await suspended(world, intent)
    portfolio = await a_portfolio(world, "other_agent", deadline=True)
    refused = await post(world, "other_agent", f"/portfolios/{portfolio}/intents", {"intent_id": intent})
    assert (refused.status_code, refused.json()["detail"]["error"]) == (403, "forbidden")
    await world.advance(seconds=SOON + 1)
    assert (await world.show(asked))["status"] == "open"


async def test_a_member_puts_it_into_one_without_a_deadline(world: World) -> None:
    intent = await an_intent_of_two(world)
    portfolio = await a_portfolio(world, "other_agent", deadline=False)
    added = await post(world, "other_agent", f"/portfolios/{portfolio}/intents", {"intent_id": intent})
    assert added.status_code == 200, added.text


@pytest.mark.parametrize("role", ["agent", "admin"])
async def test_its_owner_and_admins_put_it_into_one_with_a_deadline(world: World, role: str) -> None:
    intent = await an_intent_of_two(world)
    asked = await suspended(world, intent)
    portfolio = await a_portfolio(world, role, deadline=True)
    added = await post(world, role, f"/portfolios/{portfolio}/intents", {"intent_id": intent})
    assert added.status_code == 200, added.text
    await world.advance(seconds=SOON + 1)
    assert (await world.show(asked))["resolution"] == "expired"


async def test_an_operator_reads_it_and_puts_it_into_none(world: World) -> None:
    intent = await an_intent_of_two(world)
    made = await post(world, "operator", "/portfolios", {"name": "Mine"})
    if made.status_code < 300:
        added = await post(world, "operator", f"/portfolios/{made.json()['id']}/intents", {"intent_id": intent})
        assert added.status_code == 403


@pytest.mark.parametrize(
    "event_type", ["action.reported", "action.edited", "notice.revealed", "rule.decided", "rule.mine", "notice.x"]
)
async def test_events_of_ours_are_written_by_the_server_alone(world: World, event_type: str) -> None:
    intent = await an_intent_of_two(world)
    for role in ("agent", "other_agent"):
        body = {"event_type": event_type, "payload": {}}
        assert (await post(world, role, f"/intents/{intent}/events", body)).status_code == 403
    assert (await post(world, "agent", f"/intents/{intent}/events", {"event_type": "actions.x"})).status_code == 200


async def test_no_client_writes_what_the_page_of_events_lists(world: World) -> None:
    intent = (await world.active_intent())["id"]
    taken = set()
    for event_type in rows(EVENTS):
        answered = await post(world, "agent", f"/intents/{intent}/events", {"event_type": event_type, "payload": {}})
        taken |= set() if answered.status_code == 403 else {event_type}
    assert taken == FROM_CLIENTS_TOO


# --- Tasks and dependents ---------------------------------------------------------------------------------------------


async def test_a_task_that_was_only_claimed_waits_with_its_intent_and_runs_when_it_goes_on(any_world: World) -> None:
    world = any_world
    intent = (await post(world, "agent", "/intents", {"title": "Refund"})).json()["id"]
    task = (await post(world, "agent", "/tasks", {"name": "refund", "intent_id": intent})).json()
    plan = await post(world, "agent", "/plans", {"intent_id": intent, "tasks": [task["id"]]})
    assert plan.status_code < 300, plan.text
    claimed = await post(world, "agent", f"/tasks/{task['id']}/claim", {})
    assert claimed.json()["status"] == "claimed", claimed.text

    asked = await suspended(world, intent)
    waiting = (await world.call("GET", f"/v1/tasks/{task['id']}", "agent")).json()
    assert (waiting["status"], waiting["suspended_intent_id"]) == ("blocked", intent)
    shown = (await world.call("GET", f"/v1/plans/{plan.json()['id']}", "agent")).json()
    assert [one["task_id"] for one in shown["progress"]["suspended_tasks"]] == [task["id"]]

    await world.answer(asked, "yes")
    goes_on = (await world.call("GET", f"/v1/tasks/{task['id']}", "agent")).json()
    assert goes_on["status"] == "running"
    assert goes_on["started_at"] is not None


@pytest.mark.parametrize("status", ["active", "blocked"])
async def test_what_waits_for_an_upstream_is_not_completed_whatever_its_status(world: World, status: str) -> None:
    first, second = [(await post(world, "agent", "/intents", {"title": one})).json()["id"] for one in "ab"]
    for intent in (first, second):
        await post(world, "agent", f"/intents/{intent}/status", {"status": "active"}, **{"If-Match": "1"})
    added = await post(world, "agent", f"/intents/{second}/dependencies", {"dependency_id": first}, **{"If-Match": "2"})
    assert added.status_code < 300, added.text
    if status == "blocked":
        await suspended(world, first)
    shown = (await world.call("GET", f"/v1/intents/{second}", "agent")).json()
    assert shown["status"] == status
    version = {"If-Match": str(shown["version"])}
    refused = await post(world, "agent", f"/intents/{second}/status", {"status": "completed"}, **version)
    assert (refused.status_code, refused.json()["detail"]["error"]) == (409, "dependencies_incomplete")
