"""RFC-0026 §5: per call over per agent over platform, field by field."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.world import World, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

PLATFORM: dict[str, Any] = {
    "max_attempts": 3,
    "interval_seconds": 3600,
    "escalation_ladder": [
        {"attempt": 2, "channel_hint": "email"},
        {"attempt": 3, "channel_hint": "pagerduty", "notify_to": "bob@example.com"},
    ],
    "final_fallback_policy": "fail",
}
AGENT = "/v1/agents/refund-agent/default-retry-policy"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """A service whose configuration has a default policy."""
    folder = tmp_path_factory.mktemp("house")
    suspension = {"default_channel": "slack", "default_retry_policy": PLATFORM}
    async with running(folder, f"sqlite+aiosqlite:///{folder}/handraise.db", suspension=suspension) as world:
        yield world


@pytest_asyncio.fixture(loop_scope="module")
async def platform(house: World) -> World:
    """The same, with no policy of the agent's left over."""
    assert (await house.call("PUT", AGENT, json={})).status_code == 200
    return house


async def resolved(world: World, **fields: Any) -> dict[str, Any]:
    asked = await world.ask(**{"timeout_seconds": 7200, "fallback_value": "deny", **fields})
    policy: dict[str, Any] = asked["suspension"]["retry_policy"]
    return policy


async def set_agent(world: World, **fields: Any) -> None:
    assert (await world.call("PUT", AGENT, json=fields)).status_code == 200


# --- the platform's level ---------------------------------------------------------------------------------------------


async def test_the_platforms_policy_is_public(platform: World) -> None:
    for prefix in ("/v1", "/api/v1"):
        response = await platform.call("GET", f"{prefix}/server/config", None)
        assert response.status_code == 200
        shown = response.json()["suspension"]["default_retry_policy"]
        assert {name: shown[name] for name in ("max_attempts", "interval_seconds", "final_fallback_policy")} == {
            "max_attempts": 3,
            "interval_seconds": 3600,
            "final_fallback_policy": "fail",
        }
        assert [rung["channel_hint"] for rung in shown["escalation_ladder"]] == ["email", "pagerduty"]


async def test_the_platforms_policy_is_read_only(platform: World) -> None:
    for method in ("PUT", "POST", "PATCH", "DELETE"):
        assert (await platform.call(method, "/v1/server/config", "admin", json={})).status_code == 405


async def test_a_call_that_says_nothing_inherits_the_platforms_policy(platform: World) -> None:
    policy = await resolved(platform)
    assert (policy["max_attempts"], policy["interval_seconds"], policy["final_fallback_policy"]) == (3, 3600, "fail")
    assert [rung["attempt"] for rung in policy["escalation_ladder"]] == [2, 3]


# --- the agent's level ------------------------------------------------------------------------------------------------


async def test_an_agents_fields_go_before_the_platforms_one_by_one(platform: World) -> None:
    await set_agent(platform, max_attempts=2, interval_seconds=1800)
    policy = await resolved(platform)
    assert (policy["max_attempts"], policy["interval_seconds"], policy["final_fallback_policy"]) == (2, 1800, "fail")
    assert [rung["attempt"] for rung in policy["escalation_ladder"]] == [2]


async def test_an_agents_policy_can_be_read_and_is_replaced_as_a_whole(platform: World) -> None:
    await set_agent(platform, max_attempts=2, interval_seconds=1800)
    await set_agent(platform, final_fallback_policy="complete_with_fallback")
    shown = (await platform.call("GET", AGENT)).json()["default_retry_policy"]
    assert shown["final_fallback_policy"] == "complete_with_fallback"
    assert shown.get("max_attempts") is None and shown.get("interval_seconds") is None
    policy = await resolved(platform)
    assert (policy["max_attempts"], policy["final_fallback_policy"]) == (3, "complete_with_fallback")


async def test_an_empty_policy_clears_the_agents(platform: World) -> None:
    await set_agent(platform, max_attempts=9)
    await set_agent(platform)
    assert (await resolved(platform))["max_attempts"] == 3


@pytest.mark.parametrize(("role", "status"), [("agent", 200), ("admin", 200), ("other_agent", 403), ("operator", 403)])
async def test_an_agents_policy_is_its_own_and_an_admins(platform: World, role: str, status: int) -> None:
    response = await platform.call("PUT", AGENT, role, json={"max_attempts": 5})
    assert response.status_code == status, response.text
    assert (await resolved(platform))["max_attempts"] == (5 if status == 200 else 3)


async def test_an_agents_policy_is_for_its_own_questions_only(platform: World) -> None:
    await set_agent(platform, max_attempts=7)
    body = {"question": "Whose policy?", "response_type": "confirm", "timeout_seconds": 7200}
    response = await platform.call("POST", "/v1/suspensions", "other_agent", json=body)
    assert response.json()["suspension"]["max_attempts"] == 3


@pytest.mark.parametrize(
    "policy",
    [
        {"max_attempts": 0},
        {"max_attempts": 51},
        {"max_attempts": True},
        {"interval_seconds": 0},
        {"interval_seconds": 1.5},
        {"interval_seconds": "60"},
        {"interval_seconds": 31_536_001},
        {"strategy": "exponential"},
        {"final_fallback_policy": "retry"},
        {"escalation_ladder": [{"channel_hint": "email"}]},
        {"escalation_ladder": "email"},
        {"surprise": 1},
    ],
)
async def test_a_wrong_policy_of_an_agent_is_refused_and_the_old_one_stays(
    platform: World, policy: dict[str, Any]
) -> None:
    await set_agent(platform, max_attempts=4)
    response = await platform.call("PUT", AGENT, json=policy)
    assert response.status_code == 422
    assert response.json()["detail"]["fields"]
    assert (await resolved(platform))["max_attempts"] == 4


# --- the call's level -------------------------------------------------------------------------------------------------


async def test_the_calls_fields_go_before_everything(platform: World) -> None:
    await set_agent(platform, max_attempts=2, interval_seconds=1800)
    policy = await resolved(platform, retry_policy={"max_attempts": 1, "interval_seconds": 300})
    assert (policy["max_attempts"], policy["interval_seconds"], policy["final_fallback_policy"]) == (1, 300, "fail")


async def test_what_is_given_goes_before_what_is_inherited_even_where_it_is_the_default(platform: World) -> None:
    policy = await resolved(platform, retry_policy={"max_attempts": 1, "escalation_ladder": []})
    assert (policy["max_attempts"], policy["escalation_ladder"]) == (1, [])


async def test_null_is_not_given(platform: World) -> None:
    nulls = dict.fromkeys(PLATFORM) | {"strategy": None}
    assert (await resolved(platform, retry_policy=nulls)) == await resolved(platform)


async def test_the_calls_fallback_policy_goes_before_what_the_cascade_has(platform: World) -> None:
    policy = await resolved(platform, fallback_policy="complete_with_fallback")
    assert policy["final_fallback_policy"] == "complete_with_fallback"


async def test_a_final_fallback_policy_in_the_call_goes_before_its_fallback_policy(platform: World) -> None:
    policy = await resolved(
        platform,
        fallback_policy="fail",
        retry_policy={"final_fallback_policy": "complete_with_fallback"},
    )
    assert policy["final_fallback_policy"] == "complete_with_fallback"


async def test_an_inherited_interval_is_capped_at_the_timeout(platform: World) -> None:
    asked = await platform.ask(timeout_seconds=600)
    assert asked["suspension"]["retry_policy"]["interval_seconds"] == 600
    assert [rung["due_at"][14:16] for rung in asked["ladder"]] == ["00", "10", "20"]


async def test_inherited_rungs_beyond_the_last_attempt_are_dropped(platform: World) -> None:
    policy = await resolved(platform, retry_policy={"max_attempts": 2})
    assert [rung["attempt"] for rung in policy["escalation_ladder"]] == [2]


async def test_without_a_timeout_of_the_call_the_inherited_interval_counts(platform: World) -> None:
    asked = await platform.ask(timeout_seconds=None)
    assert (asked["expires_at"][11:16], len(asked["ladder"])) == ("13:00", 3)


async def test_the_preview_says_where_each_field_comes_from(platform: World) -> None:
    await set_agent(platform, interval_seconds=1800)
    body = {"question": "From where?", "response_type": "confirm", "timeout_seconds": 7200}
    body["retry_policy"] = {"max_attempts": 2}
    preview = (await platform.call("POST", "/v1/suspensions/preview", json=body)).json()
    assert preview["policy"]["max_attempts"] == {"value": 2, "from": "call"}
    assert preview["policy"]["interval_seconds"] == {"value": 1800, "from": "agent"}
    assert preview["policy"]["final_fallback_policy"] == {"value": "fail", "from": "platform"}
