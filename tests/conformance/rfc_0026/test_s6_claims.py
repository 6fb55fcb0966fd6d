"""RFC-0026 §6: a task is not claimed while a phase that it takes its inputs from waits."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.rfc_0026.containers import complete, get, shown, suspend
from tests.conformance.rfc_0026.test_s2_workflows import workflow
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def give(world: World, phase: dict[str, Any], **outputs: Any) -> None:
    headers = {"If-Match": str((await shown(world, phase["intent_id"]))["version"])}
    patches = [{"op": "set", "path": name, "value": value} for name, value in outputs.items()]
    path = f"/v1/intents/{phase['intent_id']}/state"
    assert (await world.call("POST", path, json={"patches": patches}, headers=headers)).status_code == 200


@pytest.mark.parametrize("timeout", [3600, None])
async def test_6_a_task_whose_inputs_come_from_a_phase_that_waits_is_not_claimed_before_it_resumes(
    room: World, timeout: int | None
) -> None:
    _, review, report = await workflow(room)
    asked = await suspend(room, review["intent_id"], timeout_seconds=timeout)
    path = f"/v1/tasks/{report['task_id']}/claim"
    refused = await room.call("POST", path)
    assert refused.status_code == 409, refused.text
    detail = refused.json()["detail"]
    assert detail["error"] == "upstream_intent_suspended"
    assert {name: detail[name] for name in ("task_id", "phase_name", "suspended_intent_id", "expected_resume_at")} == {
        "task_id": report["task_id"],
        "phase_name": "generate_report",
        "suspended_intent_id": review["intent_id"],
        "expected_resume_at": asked["expires_at"],
    }
    task = await get(room, f"/v1/tasks/{report['task_id']}")
    assert task["status"] in {"pending", "ready"}
    await room.answer(asked, "yes")
    await give(room, review, verdict="compliant")
    await complete(room, review["intent_id"])
    claimed = await room.call("POST", path)
    assert (claimed.status_code, claimed.json()["status"]) == (200, "claimed")
