"""RFC-0026 §3: what a coordinator's suspension policy does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.journeys.openintent.coordinating import calls, coordinate, put_question
from tests.workflows import make_workflow, phase_of, shown_workflow
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

PHASES: list[dict[str, Any]] = [
    {"name": "fetch", "outputs": {"rows": "array"}},
    {"name": "review", "inputs": {"rows": "fetch.rows"}},
]


async def suspended_under(world: World, **fields: Any) -> tuple[str, str, list[dict[str, Any]]]:
    """A coordinator's policy, the status of the phase downstream, and what the coordinator was told."""
    parent = await world.active_intent()
    coordinator = await coordinate(world, intent_id=parent["id"], **fields)
    made = await make_workflow(world, PHASES, parent_intent_id=parent["id"])
    fetch = phase_of(made, "fetch")["intent_id"]
    await put_question(world, fetch)
    after = await shown_workflow(world, made)
    assert (await world.intent({"intent_id": parent["id"]}))["status"] == "active"
    return coordinator["suspension_policy"], phase_of(after, "review")["status"], await calls(world, fetch)


async def test_isolate_is_the_default_and_does_nothing(room: World) -> None:
    assert await suspended_under(room) == ("isolate", "active", [])


async def test_block_dependents_pauses_the_wired_phases_downstream(room: World) -> None:
    assert await suspended_under(room, suspension_policy="block_dependents") == ("block_dependents", "blocked", [])


async def test_escalate_emits_escalation_required(room: World) -> None:
    policy, downstream, told = await suspended_under(room, suspension_policy="escalate")
    assert (policy, downstream, len(told)) == ("escalate", "active", 1)


async def test_any_other_policy_is_refused(room: World) -> None:
    intent = await room.active_intent()
    body = {"agent_id": "other-agent", "intent_id": intent["id"], "suspension_policy": "ignore"}
    refused = await room.call("POST", "/v1/coordinators", json=body)
    assert (refused.status_code, refused.json()["detail"]["fields"][0]["path"]) == (422, "suspension_policy")
