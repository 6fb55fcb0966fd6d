"""RFC-0026 §2, rules 1 and 3: a suspension is its intent's own; its tasks wait with it."""

from __future__ import annotations

import pytest

from tests.conformance.rfc_0026.containers import get, intent, running_task, shown, suspend
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_1_a_parent_stays_as_it_is_while_its_child_waits(room: World) -> None:
    parent = await intent(room, "Quarterly report")
    child = await intent(room, parent_intent_id=parent)
    before = await shown(room, parent)
    await suspend(room, child)
    after = await shown(room, parent)
    assert (after["status"], after["version"]) == ("active", before["version"])
    assert "_suspension" not in after["state"]


async def test_3_a_running_task_is_blocked_with_its_intent_and_runs_on_after_the_answer(room: World) -> None:
    review = await intent(room)
    task = await running_task(room, review)
    asked = await suspend(room, review)
    blocked = await get(room, f"/v1/tasks/{task}")
    assert (blocked["status"], blocked["blocked_reason"], blocked["suspended_intent_id"]) == (
        "blocked",
        "intent_suspended",
        review,
    )
    await room.answer(asked, "yes")
    running = await get(room, f"/v1/tasks/{task}")
    assert (running["status"], running["blocked_reason"], running["suspended_intent_id"]) == ("running", None, None)
