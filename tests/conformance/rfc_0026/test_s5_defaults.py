"""RFC-0026 §4.1, §5: where no level says anything, and what a call may not say."""

from __future__ import annotations

from typing import Any

import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_where_no_level_says_anything_the_defaults_of_the_rfc_hold(room: World) -> None:
    body = {"question": "Deploy?", "response_type": "confirm", "timeout_seconds": 60}
    policy = (await room.call("POST", "/v1/suspensions/preview", json=body)).json()["policy"]
    assert policy["max_attempts"] == {"value": 1, "from": "default"}
    assert policy["escalation_ladder"] == {"value": [], "from": "default"}
    assert policy["final_fallback_policy"] == {"value": "fail", "from": "default"}


async def test_where_no_level_says_anything_the_strategy_is_fixed(room: World) -> None:
    asked = await room.ask(timeout_seconds=900, retry_policy={"max_attempts": 2})
    assert asked["suspension"]["retry_policy"]["strategy"] == "fixed"


async def test_the_interval_is_the_timeout_where_none_is_given(room: World) -> None:
    asked = await room.ask(timeout_seconds=900, retry_policy={"max_attempts": 3})
    assert asked["suspension"]["retry_policy"]["interval_seconds"] == 900
    assert asked["expires_at"] == "2026-03-24T10:45:00Z"


async def test_an_interval_alone_is_enough(room: World) -> None:
    asked = await room.ask(retry_policy={"max_attempts": 2, "interval_seconds": 600})
    assert asked["expires_at"] == "2026-03-24T10:20:00Z"


async def test_no_platform_policy_is_shown_as_none(room: World) -> None:
    config = (await room.call("GET", "/v1/server/config", None)).json()
    assert config["suspension"] == {"default_retry_policy": None}


@pytest.mark.parametrize(
    ("policy", "path"),
    [
        ({"max_attempts": 0}, "retry_policy.max_attempts"),
        ({"max_attempts": 51}, "retry_policy.max_attempts"),
        ({"max_attempts": -1}, "retry_policy.max_attempts"),
        ({"max_attempts": 2.0}, "retry_policy.max_attempts"),
        ({"max_attempts": "2"}, "retry_policy.max_attempts"),
        ({"max_attempts": True}, "retry_policy.max_attempts"),
        ({"strategy": "exponential"}, "retry_policy.strategy"),
        ({"final_fallback_policy": "give_up"}, "retry_policy.final_fallback_policy"),
        ({"interval_seconds": 901}, "retry_policy.interval_seconds"),
        ({"unknown": 1}, "retry_policy.unknown"),
        ({"max_attempts": 2, "escalation_ladder": [{"attempt": 0, "channel_hint": "email"}]}, None),
        ({"max_attempts": 2, "escalation_ladder": [{"attempt": 3, "channel_hint": "email"}]}, None),
        ({"max_attempts": 2, "escalation_ladder": [{"attempt": 2}, {"attempt": 2, "channel_hint": "email"}]}, None),
        ({"max_attempts": 2, "escalation_ladder": [{"attempt": 2, "channel_hint": "fax"}]}, None),
        ({"max_attempts": 2, "escalation_ladder": [{"attempt": "2", "channel_hint": "email"}]}, None),
        ({"max_attempts": 2, "escalation_ladder": [{"attempt": True, "channel_hint": "email"}]}, None),
        ({"escalation_ladder": [{"attempt": 2, "channel_hint": "email"}]}, None),
    ],
)
async def test_a_policy_that_can_not_be_is_refused(room: World, policy: dict[str, Any], path: str | None) -> None:
    body = {"question": "Never asked", "response_type": "confirm", "timeout_seconds": 900, "retry_policy": policy}
    response = await room.call("POST", "/v1/suspensions", json=body)
    assert response.status_code == 422, response.text
    fields = response.json()["detail"]["fields"]
    assert path in {None, fields[0]["path"]}
    assert fields[0]["path"].startswith("retry_policy")
    stored = await room.call("GET", "/v1/suspensions", "admin", params={"q": "Never asked"})
    assert stored.json()["items"] == []


async def test_more_than_one_attempt_needs_a_timeout_or_an_interval(room: World) -> None:
    body = {"question": "When?", "response_type": "confirm", "retry_policy": {"max_attempts": 2}}
    assert (await room.call("POST", "/v1/suspensions", json=body)).status_code == 422


async def test_an_interval_may_be_as_long_as_the_timeout(room: World) -> None:
    asked = await room.ask(timeout_seconds=900, retry_policy={"max_attempts": 2, "interval_seconds": 900})
    assert asked["expires_at"] == "2026-03-24T10:30:00Z"
