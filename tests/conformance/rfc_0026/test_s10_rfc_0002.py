"""RFC-0026 §10, the patches to RFC-0002; §2 rule 4, the aggregate of a parent."""

from __future__ import annotations

import pytest

from tests.family import child, complete, depend, make, move, read, refused, status, suspend
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_the_aggregate_of_a_parent_counts_suspended_children(any_room: World) -> None:
    parent = await make(any_room)
    children = [await child(any_room, parent) for _ in range(6)]
    for one in children[:3]:
        await complete(any_room, one)
    await suspend(any_room, children[3])
    shown = (await read(any_room, parent))["aggregate_status"]
    assert shown["total"] == 6
    expected = {"completed": 3, "active": 2, "blocked": 0, "suspended_awaiting_input": 1}
    assert {name: shown["by_status"][name] for name in expected} == expected
    assert shown["completion_percentage"] == 50


async def test_the_completion_gate_stays_shut_while_a_child_is_suspended(any_room: World) -> None:
    parent = await make(any_room)
    below = await child(any_room, parent)
    asked = await suspend(any_room, below)
    refused(await move(any_room, parent, "completed"), 409, "dependencies_incomplete")
    await any_room.answer(asked, "approve")
    await complete(any_room, below)
    await complete(any_room, parent)


async def test_an_active_intent_is_blocked_by_the_suspension_of_its_upstream(any_room: World) -> None:
    upstream, one = await make(any_room), await make(any_room)
    await depend(any_room, one, upstream)
    await suspend(any_room, upstream)
    assert await status(any_room, one) == "blocked"
