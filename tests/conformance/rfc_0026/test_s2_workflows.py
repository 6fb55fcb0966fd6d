"""RFC-0026 §2 rule 4, for workflows: a phase that waits is shown."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.rfc_0026.containers import get, post, shown, status, suspend
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

PHASES: list[dict[str, Any]] = [
    {"name": "compliance_review", "outputs": {"verdict": "string"}},
    {"name": "generate_report", "inputs": {"verdict": "compliance_review.verdict"}},
]


async def workflow(world: World) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Its id, and its two phases, the first of which is active."""
    made = await post(world, "/v1/workflows", name="Compliance", phases=PHASES)
    review, report = made["phases"]
    for phase in (review, report):
        if await status(world, phase["intent_id"]) == "draft":
            headers = {"If-Match": str((await shown(world, phase["intent_id"]))["version"])}
            path = f"/v1/intents/{phase['intent_id']}/status"
            await world.call("POST", path, json={"status": "active"}, headers=headers)
    return made["id"], review, report


async def test_4_a_workflow_lists_its_phases_that_wait(room: World) -> None:
    flow, review, _ = await workflow(room)
    asked = await suspend(room, review["intent_id"], timeout_seconds=3600)
    assert (await get(room, f"/v1/workflows/{flow}"))["progress"]["suspended_phases"] == [
        {
            "phase_name": "compliance_review",
            "intent_id": review["intent_id"],
            "suspended_since": asked["suspended_at"],
            "expires_at": asked["expires_at"],
        }
    ]
    await room.answer(asked, "yes")
    assert (await get(room, f"/v1/workflows/{flow}"))["progress"]["suspended_phases"] == []
