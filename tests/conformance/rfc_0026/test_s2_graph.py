"""RFC-0026 §2, rules 2 and 4, for graphs: dependents wait for what is completed, and parents show who waits."""

from __future__ import annotations

import pytest

from tests.conformance.rfc_0026.containers import complete, depends, intent, move, post, shown, status, suspend
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_2_an_active_dependent_is_blocked_until_its_upstream_has_resumed_and_completed(room: World) -> None:
    upstream, dependent = await intent(room), await intent(room, "Report")
    await depends(room, dependent, upstream)
    assert await status(room, dependent) == "active"
    asked = await suspend(room, upstream)
    assert await status(room, dependent) == "blocked"
    await room.answer(asked, "yes")
    assert (await status(room, upstream), await status(room, dependent)) == ("active", "blocked")
    await complete(room, upstream)
    assert await status(room, dependent) == "active"


async def test_2_what_waits_does_not_satisfy_the_completion_gate(room: World) -> None:
    upstream, dependent = await intent(room), await intent(room, "Report")
    await depends(room, dependent, upstream)
    await suspend(room, upstream)
    code, body = await move(room, dependent, "active")
    assert (code, body["detail"]["error"]) == (409, "dependencies_incomplete")
    draft = await post(room, "/v1/intents", title="Summary", depends_on=[upstream])
    assert (await move(room, draft["id"], "active"))[1]["status"] == "blocked"
    parent = await intent(room, "Quarterly report")
    await suspend(room, await intent(room, parent_intent_id=parent))
    code, body = await move(room, parent, "completed")
    assert (code, body["detail"]["error"]) == (409, "dependencies_incomplete")


async def test_4_a_parent_shows_how_many_of_its_children_wait(room: World) -> None:
    parent = await intent(room, "Quarterly report")
    done, waiting, _going = [await intent(room, parent_intent_id=parent) for _ in range(3)]
    await complete(room, done)
    await suspend(room, waiting)
    aggregate = (await shown(room, parent))["aggregate_status"]
    assert aggregate["total"] == 3
    by_status = {name: count for name, count in aggregate["by_status"].items() if count}
    assert by_status == {"completed": 1, "active": 1, "suspended_awaiting_input": 1}
