"""RFC-0026 §2 rule 2: a suspended intent is not completed; those that depend on it stay blocked until it is."""

from __future__ import annotations

import pytest

from tests.family import complete, depend, lines, make, move, refused, status, suspend
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_suspended_does_not_satisfy_the_completion_gate(any_room: World) -> None:
    upstream, one = await make(any_room), await make(any_room)
    await depend(any_room, one, upstream)
    await suspend(any_room, one)  # so that it is not blocked yet, and its own wait ends below
    asked = await suspend(any_room, upstream)
    other = await make(any_room)
    added = await depend(any_room, other, upstream)
    assert added.json()["status"] == "blocked"
    refused(await move(any_room, other, "active"), 409, "dependencies_incomplete")
    await any_room.answer(asked, "approve")
    refused(await move(any_room, other, "active"), 409, "dependencies_incomplete")


async def test_an_active_dependent_becomes_blocked_when_its_upstream_suspends(any_room: World) -> None:
    upstream, one = await make(any_room), await make(any_room)
    await depend(any_room, one, upstream)
    assert await status(any_room, one) == "active"
    await suspend(any_room, upstream)
    assert await status(any_room, one) == "blocked"
    [said] = await lines(any_room, one, "status_changed")
    assert said == {"from": "active", "to": "blocked", "reason": "upstream_suspended", "upstream_intent_id": upstream}


async def test_unblocking_fires_at_the_completion_and_not_at_the_resume(any_room: World) -> None:
    upstream, one = await make(any_room), await make(any_room)
    await depend(any_room, one, upstream)
    asked = await suspend(any_room, upstream)
    await any_room.answer(asked, "approve")
    assert (await status(any_room, upstream), await status(any_room, one)) == ("active", "blocked")
    await complete(any_room, upstream)
    assert await status(any_room, one) == "active"


async def test_a_dependent_of_a_blocked_one_is_not_blocked(any_room: World) -> None:
    upstream, one, further = [await make(any_room) for _ in range(3)]
    await depend(any_room, one, upstream)
    await depend(any_room, further, one)
    await suspend(any_room, upstream)
    assert await status(any_room, further) == "active"
