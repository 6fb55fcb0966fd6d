"""RFC-0026 §2 rule 2: a suspended intent is not completed; those that depend on it stay blocked until it is."""

from __future__ import annotations

from tests.family import complete, depend, lines, make, move, refused, status, suspend
from tests.world import World


async def test_suspended_does_not_satisfy_the_completion_gate(any_world: World) -> None:
    upstream, one = await make(any_world), await make(any_world)
    await depend(any_world, one, upstream)
    await suspend(any_world, one)  # so that it is not blocked yet, and its own wait ends below
    asked = await suspend(any_world, upstream)
    other = await make(any_world)
    added = await depend(any_world, other, upstream)
    assert added.json()["status"] == "blocked"
    refused(await move(any_world, other, "active"), 409, "dependencies_incomplete")
    await any_world.answer(asked, "approve")
    refused(await move(any_world, other, "active"), 409, "dependencies_incomplete")


async def test_an_active_dependent_becomes_blocked_when_its_upstream_suspends(any_world: World) -> None:
    upstream, one = await make(any_world), await make(any_world)
    await depend(any_world, one, upstream)
    assert await status(any_world, one) == "active"
    await suspend(any_world, upstream)
    assert await status(any_world, one) == "blocked"
    [said] = await lines(any_world, one, "status_changed")
    assert said == {"from": "active", "to": "blocked", "reason": "upstream_suspended", "upstream_intent_id": upstream}


async def test_unblocking_fires_at_the_completion_and_not_at_the_resume(any_world: World) -> None:
    upstream, one = await make(any_world), await make(any_world)
    await depend(any_world, one, upstream)
    asked = await suspend(any_world, upstream)
    await any_world.answer(asked, "approve")
    assert (await status(any_world, upstream), await status(any_world, one)) == ("active", "blocked")
    await complete(any_world, upstream)
    assert await status(any_world, one) == "active"


async def test_a_dependent_of_a_blocked_one_is_not_blocked(any_world: World) -> None:
    upstream, one, further = [await make(any_world) for _ in range(3)]
    await depend(any_world, one, upstream)
    await depend(any_world, further, one)
    await suspend(any_world, upstream)
    assert await status(any_world, further) == "active"
