"""The three levels of the policy, field by field, with where each came from (RFC-0026 §5, API.md §3)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.world import World, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENTS = "/v1/agents/refund-agent/default-retry-policy"
RUNG = {"attempt": 1, "channel_hint": "email", "notify_to": None}
PLATFORM: dict[str, Any] = {
    "max_attempts": 4,
    "interval_seconds": 3600,
    "escalation_ladder": [RUNG],
    "final_fallback_policy": "complete_with_fallback",
}
AGENT: dict[str, Any] = {
    "max_attempts": 5,
    "interval_seconds": 1800,
    "escalation_ladder": [{**RUNG, "channel_hint": "pagerduty"}],
    "final_fallback_policy": "use_default_and_continue",
}
DEFAULTS: dict[str, Any] = {
    "max_attempts": 1,
    "interval_seconds": 7200,
    "escalation_ladder": [],
    "final_fallback_policy": "fail",
}
"""What each field comes to where nobody says anything and the call has a timeout of two hours."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """A platform that says something about every field."""
    folder = tmp_path_factory.mktemp("house")
    suspension = {"default_channel": "slack", "default_retry_policy": PLATFORM}
    async with running(folder, f"sqlite+aiosqlite:///{folder}/handraise.db", suspension=suspension) as world:
        yield world


async def policy(world: World, agent: dict[str, Any], call: dict[str, Any]) -> dict[str, Any]:
    await world.call("PUT", AGENTS, json=agent)
    body = {"question": "?", "response_type": "confirm", "timeout_seconds": 7200, "fallback_value": "no"}
    response = await world.call("POST", "/v1/suspensions/preview", json={**body, "retry_policy": call})
    await world.call("PUT", AGENTS, json={})
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()["policy"]
    return found


@pytest.mark.parametrize("field", DEFAULTS)
async def test_each_field_comes_from_the_nearest_level_that_says_anything(house: World, field: str) -> None:
    for agent, call, expected in (
        ({}, {}, (PLATFORM[field], "platform")),
        ({field: AGENT[field]}, {}, (AGENT[field], "agent")),
        ({field: AGENT[field]}, {field: PLATFORM[field]}, (PLATFORM[field], "call")),
    ):
        found = await policy(house, agent, call)
        assert (found[field]["value"], found[field]["from"]) == expected
        others = set(DEFAULTS) - {field}
        assert {found[other]["from"] for other in others} == {"platform"}


@pytest.mark.parametrize("field", DEFAULTS)
async def test_what_is_given_beats_what_is_inherited_even_at_the_value_of_a_default(house: World, field: str) -> None:
    by_call = await policy(house, {field: AGENT[field]}, {field: DEFAULTS[field]})
    assert by_call[field] == {"value": DEFAULTS[field], "from": "call"}
    by_agent = await policy(house, {field: DEFAULTS[field]}, {})
    assert by_agent[field] == {"value": DEFAULTS[field], "from": "agent"}


@pytest.mark.parametrize("field", DEFAULTS)
async def test_a_null_says_nothing(house: World, field: str) -> None:
    found = await policy(house, {field: AGENT[field]}, {field: None})
    assert found[field] == {"value": AGENT[field], "from": "agent"}


async def test_the_calls_own_fallback_policy_counts_before_what_is_inherited(house: World) -> None:
    body = {"question": "?", "response_type": "confirm", "timeout_seconds": 7200, "fallback_policy": "fail"}
    shown = (await house.call("POST", "/v1/suspensions/preview", json=body)).json()
    assert shown["policy"]["final_fallback_policy"] == {"value": "fail", "from": "call"}


@pytest.mark.parametrize("field", DEFAULTS)
async def test_where_nobody_says_anything_it_is_the_default(room: World, field: str) -> None:
    found = await policy(room, {}, {})
    source = "call" if field == "interval_seconds" else "default"  # the interval is the call's timeout
    assert found[field] == {"value": DEFAULTS[field], "from": source}
