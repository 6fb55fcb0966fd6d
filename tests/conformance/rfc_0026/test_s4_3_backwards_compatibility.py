"""RFC-0026 §4.3: ``fallback_policy`` alone is one attempt; inside a retry policy the final one takes precedence."""

from __future__ import annotations

from typing import Any

import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def ask(world: World, **fields: Any) -> dict[str, Any]:
    return await world.ask(timeout_seconds=60, fallback_value="deny", **fields)


async def ended(world: World, asked: dict[str, Any]) -> tuple[str, Any]:
    """The intent's status and what the agent went on with, after everything has run out."""
    await world.advance(minutes=5)
    return (await world.intent(asked))["status"], (await world.told(asked))["data"]["value"]


@pytest.mark.parametrize("retry_policy", [None, {}, {"max_attempts": 1}])
async def test_without_a_retry_policy_there_is_one_attempt(room: World, retry_policy: Any) -> None:
    asked = await ask(room, fallback_policy="complete_with_fallback", retry_policy=retry_policy)
    assert (asked["suspension"]["max_attempts"], len(asked["ladder"])) == (1, 1)
    assert await ended(room, asked) == ("active", "deny")
    assert "intent.suspension_renotified" not in await room.event_types(asked)


@pytest.mark.parametrize(
    ("final", "call", "expected"),
    [
        ("fail", "complete_with_fallback", ("abandoned", None)),
        ("complete_with_fallback", "fail", ("active", "deny")),
        ("use_default_and_continue", None, ("active", "deny")),
        (None, "complete_with_fallback", ("active", "deny")),
        (None, "fail", ("abandoned", None)),
        (None, None, ("abandoned", None)),
    ],
)
async def test_the_final_policy_goes_before_the_calls_own(
    room: World, final: str | None, call: str | None, expected: tuple[str, Any]
) -> None:
    policy = {"max_attempts": 2, "interval_seconds": 60, "final_fallback_policy": final}
    asked = await ask(room, fallback_policy=call, retry_policy=policy)
    assert await ended(room, asked) == expected
