"""``GET /suspensions/{id}/wait`` (API.md §2): held until the question has ended, or until patience has."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


def wait(world: World, asked: dict[str, Any], seconds: Any = 30, role: str = "agent") -> Any:
    path = f"/v1/suspensions/{asked['suspension_id']}/wait"
    return world.call("GET", path, role, params={"timeout_seconds": seconds})


async def waiting(world: World, asked: dict[str, Any], role: str = "agent") -> asyncio.Task[httpx.Response]:
    """Somebody who waits, and whom other requests have passed meanwhile."""
    task: asyncio.Task[httpx.Response] = asyncio.create_task(wait(world, asked, role=role))
    for _ in range(5):
        await world.show(asked)
    assert not task.done()
    return task


async def test_what_has_ended_is_returned_at_once(room: World) -> None:
    asked = await room.ask()
    await room.answer(asked, "approve")
    async with asyncio.timeout(40):
        response = await wait(room, asked, 55)
    assert response.status_code == 200
    assert (response.json()["resolution"], response.json()["response"]) == ("responded", "approve")


async def test_an_answer_wakes_everybody_who_waits(room: World) -> None:
    asked = await room.ask()
    tasks = [await waiting(room, asked), await waiting(room, asked, "operator")]
    await room.answer(asked, "deny")
    async with asyncio.timeout(20):
        first, second = await asyncio.gather(*tasks)
    assert first.status_code == second.status_code == 200
    assert {**first.json(), "resume": None, "signal_payload": None} == second.json()  # those are its creator's alone
    assert (first.json()["id"], first.json()["response"]) == (asked["suspension_id"], "deny")


async def test_the_end_of_time_and_a_cancellation_wake_too(room: World) -> None:
    late = await room.ask(timeout_seconds=60)
    cancelled = await room.ask()
    tasks = [await waiting(room, late), await waiting(room, cancelled)]
    await room.advance(seconds=60)
    await room.call("POST", f"/v1/suspensions/{cancelled['suspension_id']}/cancel", json={})
    async with asyncio.timeout(20):
        replies = await asyncio.gather(*tasks)
    assert [reply.json()["resolution"] for reply in replies] == ["expired", "cancelled"]


async def test_a_further_attempt_or_a_claim_wakes_nobody(room: World) -> None:
    asked = await room.ask(timeout_seconds=60, retry_policy={"max_attempts": 3})
    task = await waiting(room, asked)
    await room.advance(seconds=60)
    await room.call("POST", f"/v1/suspensions/{asked['suspension_id']}/claim", "operator", json={})
    assert not task.done()
    await room.answer(asked, "approve")
    async with asyncio.timeout(20):
        assert (await task).json()["response"] == "approve"


async def test_patience_ends_with_204_and_no_body(room: World) -> None:
    asked = await room.ask()
    response = await wait(room, asked, 1)
    assert (response.status_code, response.content) == (204, b"")


@pytest.mark.parametrize("seconds", [0, 56, -1, 1.5, "soon", "", "1e1", 10**30])
async def test_patience_is_one_to_fifty_five_seconds(room: World, seconds: Any) -> None:
    asked = await room.ask()
    assert (await wait(room, asked, seconds)).status_code == 422
