"""RFC-0010, "Retry Policy Model": every field, in both spellings, its default and its limits."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.rfc_0010.failing import set_policy
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

WHOLE: dict[str, Any] = {
    "strategy": "linear",
    "max_retries": 7,
    "base_delay_ms": 250,
    "max_delay_ms": 5000,
    "fallback_agent_id": "agent-backup",
    "failure_threshold": 4,
}
CAMEL = {
    "max_retries": "maxRetries",
    "base_delay_ms": "baseDelayMs",
    "max_delay_ms": "maxDelayMs",
    "fallback_agent_id": "fallbackAgentId",
    "failure_threshold": "failureThreshold",
}


async def refused(world: World, policy: Any) -> list[str]:
    """The fields that the refusal names; nothing is stored."""
    intent = await world.active_intent()
    response = await set_policy(world, intent, **policy)
    assert response.status_code == 422, response.text
    assert (await world.call("GET", f"/v1/intents/{intent['id']}/retry-policy")).status_code == 404
    return [one["path"] for one in response.json()["detail"]["fields"]]


@pytest.mark.parametrize("camel", [False, True])
async def test_every_field_is_kept_in_either_spelling(room: World, camel: bool) -> None:
    intent = await room.active_intent()
    given = {CAMEL.get(name, name): value for name, value in WHOLE.items()} if camel else WHOLE
    put = await set_policy(room, intent, **given)
    assert put.status_code == 200, put.text
    shown = (await room.call("GET", f"/v1/intents/{intent['id']}/retry-policy")).json()
    assert shown == put.json()
    assert shown.items() >= {**WHOLE, "intent_id": intent["id"]}.items()
    assert shown.items() >= {CAMEL.get(name, name): value for name, value in WHOLE.items()}.items()
    assert shown["intentId"] == intent["id"]
    assert shown["id"] and shown["createdAt"] == shown["created_at"] and shown["updatedAt"] == shown["updated_at"]


async def test_what_is_absent_or_null_is_as_in_the_example(room: World) -> None:
    intent = await room.active_intent()
    example = {
        "strategy": "exponential",
        "max_retries": 3,
        "base_delay_ms": 1000,
        "max_delay_ms": 60000,
        "fallback_agent_id": None,
        "failure_threshold": None,
    }
    nothing = dict.fromkeys(name for name in WHOLE if name != "strategy")
    for given in ({}, nothing):
        shown = (await set_policy(room, intent, strategy="exponential", **given)).json()
        assert shown.items() >= example.items()


@pytest.mark.parametrize("strategy", ["none", "fixed", "exponential", "linear"])
async def test_the_four_strategies_are_known(room: World, strategy: str) -> None:
    intent = await room.active_intent()
    assert (await set_policy(room, intent, strategy=strategy)).json()["strategy"] == strategy


async def test_a_policy_may_be_sent_back_as_it_was_read(room: World) -> None:
    intent = await room.active_intent()
    first = (await set_policy(room, intent, **WHOLE)).json()
    read = {name: first[name] for name in ("id", "intent_id", *WHOLE)}
    assert (await set_policy(room, intent, **read)).json()["id"] == first["id"]
    assert await refused(room, {**WHOLE, "intent_id": "another"}) == ["intent_id"]


WRONG: list[tuple[str, Any]] = [
    ("strategy", "sometimes"),
    ("strategy", None),
    ("strategy", 5),
    ("max_retries", 1_000_000_000),
    ("max_retries", 101),
    ("max_retries", -1),
    ("max_retries", "3"),
    ("max_retries", 2.5),
    ("max_retries", True),
    ("base_delay_ms", -1),
    ("base_delay_ms", 0),
    ("base_delay_ms", 10**30),
    ("max_delay_ms", -1),
    ("max_delay_ms", 31_536_000_001),
    ("fallback_agent_id", ""),
    ("fallback_agent_id", "   "),
    ("fallback_agent_id", "me"),
    ("fallback_agent_id", "a\nb"),
    ("fallback_agent_id", "x" * 256),
    ("failure_threshold", 0),
    ("failure_threshold", 101),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
async def test_a_value_that_can_not_be_is_refused_by_name(room: World, name: str, value: Any) -> None:
    assert await refused(room, {**WHOLE, name: value}) == [name]


@pytest.mark.parametrize("value", [0, 100])
async def test_the_limits_of_max_retries_are_allowed(room: World, value: int) -> None:
    intent = await room.active_intent()
    assert (await set_policy(room, intent, **{**WHOLE, "max_retries": value})).json()["max_retries"] == value


async def test_a_policy_without_a_strategy_is_none(room: World) -> None:
    assert await refused(room, {}) == ["strategy"]
    assert await refused(room, {"max_retries": 3}) == ["strategy"]


async def test_a_first_delay_above_the_longest_is_refused(room: World) -> None:
    assert await refused(room, {"strategy": "fixed", "base_delay_ms": 2000, "max_delay_ms": 1999}) == ["base_delay_ms"]
    assert await refused(room, {"strategy": "fixed", "base_delay_ms": 60_001}) == ["base_delay_ms"]


async def test_a_field_that_nobody_knows_or_that_is_there_twice_is_refused(room: World) -> None:
    assert await refused(room, {**WHOLE, "jitter": True}) == ["jitter"]
    assert await refused(room, {**WHOLE, "maxRetries": 8}) == ["maxRetries"]
