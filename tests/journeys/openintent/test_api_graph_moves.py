"""What a move does to those around an intent, through every way in which one can move (RFC-0002; RFC-0026 §2)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.family import child, complete, depend, lines, make, move, read, refused, send, status, suspend, undepend
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

Way = Callable[[World, str], Awaitable[Any]]


async def waiting_for(world: World, upstream: str) -> str:
    """An active intent that depends on ``upstream``."""
    one = await make(world)
    assert (await depend(world, one, upstream)).json()["status"] == "active"
    return one


# --- Becoming blocked, and free again ---------------------------------------------------------------------------------


async def test_a_draft_with_unmet_dependencies_is_blocked_when_it_is_activated(any_room: World) -> None:
    upstream = await make(any_room)
    one = await make(any_room, on=[upstream], status="draft")
    activated = await move(any_room, one, "active")
    assert (activated.status_code, activated.json()["status"]) == (200, "blocked")
    refused(await move(any_room, one, "active"), 409, "dependencies_incomplete")
    await complete(any_room, upstream)
    assert await status(any_room, one) == "active"
    assert [line["reason"] for line in await lines(any_room, one, "status_changed")][1:] == [
        "dependencies_incomplete",
        "dependencies_completed",
    ]


async def test_a_draft_with_completed_dependencies_is_active_at_once(any_room: World) -> None:
    upstream = await make(any_room)
    await complete(any_room, upstream)
    one = await make(any_room, on=[upstream], status="draft")
    assert (await move(any_room, one, "active")).json()["status"] == "active"


async def test_whoever_follows_an_intent_hears_at_once_that_an_upstream_has_moved_it(any_room: World) -> None:
    upstream = await make(any_room)
    one = await waiting_for(any_room, upstream)
    with any_room.service.services.running.hub.subscribe(one) as news:
        await suspend(any_room, upstream)
        assert news.is_set()
    assert await status(any_room, one) == "blocked"


async def test_what_its_owner_has_blocked_is_not_completed_either(any_room: World) -> None:
    one = await make(any_room)
    assert (await move(any_room, one, "blocked")).status_code == 200
    refused(await move(any_room, one, "completed"), 409, "dependencies_incomplete")
    assert (await move(any_room, one, "active")).status_code == 200
    await complete(any_room, one)


async def test_nobody_completes_before_its_dependencies_and_children(any_room: World) -> None:
    upstream, root = await make(any_room), await make(any_room)
    below = await child(any_room, root)
    assert (await depend(any_room, root, upstream)).status_code == 200
    gate = await move(any_room, root, "completed")
    refused(gate, 409, "dependencies_incomplete")
    said = gate.json()["detail"]
    assert (said["incomplete_dependencies"], said["incomplete_children"]) == (1, 1)
    await complete(any_room, upstream)
    await suspend(any_room, below)
    refused(await move(any_room, root, "completed"), 409, "dependencies_incomplete")
    assert await status(any_room, root) == "active"


async def test_a_diamond_is_free_at_the_last_completion(any_room: World) -> None:
    top = await make(any_room)
    sides = [await waiting_for(any_room, top) for _ in range(2)]
    bottom = await make(any_room)
    for side in sides:
        await depend(any_room, bottom, side)
    asked = await suspend(any_room, top)
    assert [await status(any_room, one) for one in (*sides, bottom)] == ["blocked", "blocked", "active"]
    assert (await any_room.answer(asked, "approve")).status_code == 200
    assert [await status(any_room, one) for one in sides] == ["blocked", "blocked"]
    await complete(any_room, top)
    assert [await status(any_room, one) for one in sides] == ["active", "active"]
    first = await suspend(any_room, sides[0])
    assert await status(any_room, bottom) == "blocked"
    await any_room.answer(first, "approve")
    await complete(any_room, sides[0])
    assert await status(any_room, bottom) == "blocked"
    await complete(any_room, sides[1])
    assert await status(any_room, bottom) == "active"
    assert len(await lines(any_room, bottom, "status_changed")) == 2


async def test_a_block_of_the_agents_own_is_never_lifted_by_us(any_room: World) -> None:
    upstream = await make(any_room)
    one = await waiting_for(any_room, upstream)
    await move(any_room, one, "blocked")
    asked = await suspend(any_room, upstream)
    await any_room.answer(asked, "approve")
    await complete(any_room, upstream)
    assert await status(any_room, one) == "blocked"
    assert (await move(any_room, one, "active")).json()["status"] == "active"


async def test_the_agents_own_block_becomes_ours_when_it_is_lifted_under_a_suspended_upstream(any_room: World) -> None:
    upstream = await make(any_room)
    one = await waiting_for(any_room, upstream)
    await move(any_room, one, "blocked")
    asked = await suspend(any_room, upstream)
    assert (await move(any_room, one, "active")).json()["status"] == "blocked"
    await any_room.answer(asked, "approve")
    await complete(any_room, upstream)
    assert await status(any_room, one) == "active"


async def test_a_dependent_that_waits_itself_is_blocked_when_its_own_wait_ends(any_room: World) -> None:
    upstream = await make(any_room)
    one = await waiting_for(any_room, upstream)
    own = await suspend(any_room, one)
    theirs = await suspend(any_room, upstream)
    assert await status(any_room, one) == "suspended_awaiting_input"
    await any_room.answer(theirs, "approve")  # resumed is not completed
    await any_room.answer(own, "approve")
    assert await status(any_room, one) == "blocked"
    await complete(any_room, upstream)
    assert await status(any_room, one) == "active"


async def test_a_new_dependency_that_is_suspended_blocks_at_once_or_after_the_own_wait(
    any_room: World,
) -> None:
    upstream, one, other = [await make(any_room) for _ in range(3)]
    own = await suspend(any_room, other)
    await suspend(any_room, upstream)
    added = await depend(any_room, one, upstream)
    assert (added.json()["status"], added.json()["version"]) == ("blocked", 2)
    assert (await lines(any_room, one, "status_changed"))[-1]["upstream_intent_id"] == upstream
    await depend(any_room, other, upstream)
    await any_room.answer(own, "approve")
    assert await status(any_room, other) == "blocked"
    removed = await undepend(any_room, one, upstream)
    assert (removed.json()["status"], removed.json()["version"]) == ("active", 3)


async def test_the_removal_of_a_dependency_lifts_our_own_block_and_never_the_agents(any_room: World) -> None:
    first, second = await make(any_room), await make(any_room)
    ours = await make(any_room, on=[first, second])
    theirs = await make(any_room)
    await depend(any_room, theirs, first)
    await move(any_room, theirs, "blocked")
    assert (await undepend(any_room, ours, first)).json()["status"] == "blocked"
    await complete(any_room, second)
    assert await status(any_room, ours) == "active"
    assert (await undepend(any_room, theirs, first)).json()["status"] == "blocked"


async def test_whom_nobody_depends_on_any_longer_blocks_nobody(any_room: World) -> None:
    upstream = await make(any_room)
    one = await waiting_for(any_room, upstream)
    await undepend(any_room, one, upstream)
    await suspend(any_room, upstream)
    assert await status(any_room, one) == "active"
    await complete(any_room, one)


# --- Every way to move ------------------------------------------------------------------------------------------------


async def _the_clients_steps(world: World, intent_id: str) -> None:
    taken = await move(world, intent_id, "suspended_awaiting_input")
    assert taken.status_code == 200, taken.text


async def _its_record(world: World, intent_id: str) -> None:
    await _the_clients_steps(world, intent_id)
    record = {"id": f"record-{intent_id}", "question": "Go?", "response_type": "confirm", "channel_hint": "slack"}
    patches = [{"op": "set", "path": "_suspension", "value": record}]
    opened = await send(world, "POST", intent_id, "state", {"patches": patches})
    assert opened.status_code == 200, opened.text


async def _a_veto(world: World, intent_id: str) -> None:
    await suspend(world, intent_id, kind="veto", timeout_seconds=60, choices=None)


@pytest.mark.parametrize("way", [suspend, _the_clients_steps, _its_record, _a_veto])
async def test_however_an_intent_is_suspended_its_dependents_are_blocked(any_room: World, way: Way) -> None:
    upstream = await make(any_room)
    one = await waiting_for(any_room, upstream)
    await way(any_room, upstream)
    assert await status(any_room, upstream) == "suspended_awaiting_input"
    assert await status(any_room, one) == "blocked"


async def _answered(world: World, intent_id: str) -> None:
    await world.answer(await suspend(world, intent_id), "approve")


async def _cancelled(world: World, intent_id: str) -> None:
    asked = await suspend(world, intent_id)
    await world.call("POST", f"/v1/suspensions/{asked['suspension_id']}/cancel", json={})


async def _no_record(world: World, intent_id: str) -> None:
    await _the_clients_steps(world, intent_id)
    await world.advance(minutes=2)


async def _expired(world: World, intent_id: str) -> None:
    await suspend(world, intent_id, timeout_seconds=60, fallback_policy="complete_with_fallback", fallback_value="deny")
    await world.advance(minutes=2)


async def _not_vetoed(world: World, intent_id: str) -> None:
    await _a_veto(world, intent_id)
    await world.advance(minutes=2)


@pytest.mark.parametrize("way", [_answered, _cancelled, _no_record, _expired, _not_vetoed])
async def test_however_a_wait_ends_dependents_stay_blocked_until_the_completion(any_room: World, way: Way) -> None:
    upstream = await make(any_room)
    one = await waiting_for(any_room, upstream)
    await way(any_room, upstream)
    assert (await status(any_room, upstream), await status(any_room, one)) == ("active", "blocked")
    await complete(any_room, upstream)
    assert await status(any_room, one) == "active"


async def _failed(world: World, intent_id: str) -> None:
    await suspend(world, intent_id, timeout_seconds=60, fallback_policy="fail")
    await world.advance(minutes=2)


async def _given_up_by_an_admin(world: World, intent_id: str) -> None:
    await suspend(world, intent_id)
    assert (await move(world, intent_id, "abandoned", "admin")).status_code == 200


async def _given_up_before_its_record(world: World, intent_id: str) -> None:
    await _the_clients_steps(world, intent_id)
    assert (await move(world, intent_id, "abandoned", "admin")).status_code == 200


async def _given_up(world: World, intent_id: str) -> None:
    assert (await move(world, intent_id, "abandoned")).status_code == 200


@pytest.mark.parametrize("way", [_failed, _given_up_by_an_admin, _given_up_before_its_record, _given_up])
async def test_however_an_intent_is_abandoned_its_dependents_stay_and_their_logs_say_why(
    any_room: World, way: Way
) -> None:
    upstream = await make(any_room)
    one = await make(any_room, on=[upstream])
    await way(any_room, upstream)
    assert (await status(any_room, upstream), await status(any_room, one)) == ("abandoned", "blocked")
    [said] = await lines(any_room, one, "intent.dependency_failed")
    assert (said["dependency_id"], said["status"]) == (upstream, "abandoned")
    refused(await move(any_room, one, "active"), 409, "dependencies_incomplete")
    assert (await undepend(any_room, one, upstream)).json()["status"] == "active"


async def test_what_is_suspended_is_not_completed_by_a_fallback_or_anyone(any_room: World) -> None:
    upstream = await make(any_room)
    one = await make(any_room, on=[upstream])
    await suspend(
        any_room, upstream, timeout_seconds=60, fallback_policy="use_default_and_continue", fallback_value="deny"
    )
    refused(await move(any_room, upstream, "completed"), 409, "invalid_transition")
    await any_room.advance(minutes=2)
    assert await status(any_room, one) == "blocked"


# --- Composite intents (issue 186) -----------------------------------------------------------------------------------


async def test_each_step_of_a_composite_intent_yields_by_itself(any_room: World) -> None:
    """Issue 186, the last open question: multi-step chains where step 2 needs approval."""
    root = await make(any_room, "Close the month")
    first, second, beside = [await child(any_room, root, title) for title in ("Collect", "Refund", "Report")]
    last = await child(any_room, root, "Archive")
    await depend(any_room, last, second)
    await complete(any_room, first)
    asked = await suspend(any_room, second)
    parent = await read(any_room, root)
    assert parent["status"] == "active" and parent["version"] == 1
    counts = {name: number for name, number in parent["aggregate_status"]["by_status"].items() if number}
    assert counts == {"completed": 1, "suspended_awaiting_input": 1, "active": 1, "blocked": 1}
    await complete(any_room, beside)
    await any_room.answer(asked, "approve")
    await complete(any_room, second)
    assert await status(any_room, last) == "active"
    refused(await move(any_room, root, "completed"), 409, "dependencies_incomplete")
    await complete(any_room, last)
    await complete(any_room, root)


# --- At once ---------------------------------------------------------------------------------------------------------


async def test_two_additions_at_once_never_make_a_cycle(any_room: World) -> None:
    """They lock different intents; what is there already joins the two."""
    for _ in range(10):
        one, other = await make(any_room), await make(any_room)
        after_one, after_other = await make(any_room, on=[one]), await make(any_room, on=[other])
        replies = await asyncio.gather(
            depend(any_room, one, after_other, version=1), depend(any_room, other, after_one, version=1)
        )
        assert sorted(reply.status_code for reply in replies) == [200, 400]


async def test_a_suspension_and_a_new_dependency_at_once_leave_nobody_active_under_a_suspended_one(
    any_room: World,
) -> None:
    for _ in range(10):
        upstream, one = await make(any_room), await make(any_room)
        added, _asked = await asyncio.gather(depend(any_room, one, upstream, version=1), suspend(any_room, upstream))
        assert added.status_code == 200
        assert await status(any_room, one) == "blocked"


@pytest.mark.slow
async def test_the_last_upstreams_complete_at_once_and_free_the_dependent(any_room: World) -> None:
    for _ in range(12):
        ups = [await make(any_room) for _ in range(3)]
        one = await make(any_room, on=ups)
        await asyncio.gather(*(complete(any_room, up) for up in ups))
        assert await status(any_room, one) == "active"
