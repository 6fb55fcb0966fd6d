"""RFC-0025 §6: what happens to the intent and to its agent where nobody answers in time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def left_alone(world: World, **fields: Any) -> dict[str, Any]:
    asked = await world.ask(timeout_seconds=3600, **fields)
    await world.advance(hours=1)
    return asked


@pytest.mark.parametrize("fields", [{"fallback_policy": "fail"}, {}])
async def test_fail_abandons_the_intent_and_tells_the_agent_that_time_ran_out(
    room: World, fields: dict[str, Any]
) -> None:
    asked = await left_alone(room, **fields)
    assert (await room.intent(asked))["status"] == "abandoned"
    shown = await room.show(asked)
    assert (shown["status"], shown["resolution"], shown["response"]) == ("expired", "expired", None)
    told = await room.told(asked)
    assert told["type"] == "intent.suspension_expired"
    data = told["data"]
    assert (data["resolution"], data["error"], data["value"]) == ("expired", "input_timeout", None)
    assert (data["responded_by"], data["responded_at"]) == (None, None)


@pytest.mark.parametrize("policy", ["complete_with_fallback", "use_default_and_continue"])
async def test_the_fallback_lets_the_agent_go_on_with_its_value(room: World, policy: str) -> None:
    asked = await left_alone(room, fallback_policy=policy, fallback_value="deny")
    assert (await room.intent(asked))["status"] == "active"
    assert (await room.show(asked))["resolution"] == "expired"
    told = await room.told(asked)
    assert told["type"] == "intent.resumed"
    data = told["data"]
    assert (data["resolution"], data["value"], data["error"]) == ("expired", "deny", None)
    assert (data["responded_by"], data["responded_at"]) == (None, None)


@pytest.mark.parametrize(
    ("response_type", "value"),
    [("confirm", "no"), ("text", "nothing to say"), ("form", {"amount": 0}), ("text", {"any": ["value"]})],
)
async def test_the_fallback_value_of_each_response_type_reaches_the_agent(
    room: World, response_type: str, value: Any
) -> None:
    asked = await left_alone(
        room, response_type=response_type, fallback_policy="complete_with_fallback", fallback_value=value
    )
    assert (await room.told(asked))["data"]["value"] == value


@pytest.mark.parametrize("policy", ["complete_with_fallback", "use_default_and_continue"])
@pytest.mark.parametrize("given", [{}, {"fallback_value": None}])
async def test_a_policy_that_goes_on_needs_a_value_to_go_on_with(
    room: World, policy: str, given: dict[str, Any]
) -> None:
    body = {"question": "Deploy?", "response_type": "confirm", "timeout_seconds": 60, "fallback_policy": policy}
    response = await room.call("POST", "/v1/suspensions", json={**body, **given})
    assert response.status_code == 422


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"response_type": "confirm"}, "maybe"),
        ({"response_type": "confirm"}, True),
        ({"choices": [{"value": "a", "label": "A"}]}, "b"),
        ({"choices": [{"value": "a", "label": "A"}]}, ["a"]),
    ],
)
async def test_a_fallback_value_must_be_an_answer_to_the_question(
    room: World, fields: dict[str, Any], value: Any
) -> None:
    body = {"question": "Deploy?", "timeout_seconds": 60, "fallback_value": value, **fields}
    body["fallback_policy"] = "complete_with_fallback"
    assert (await room.call("POST", "/v1/suspensions", json=body)).status_code == 422


@pytest.mark.parametrize("policy", ["retry", "FAIL", "", 1, True])
async def test_there_are_no_other_policies(room: World, policy: Any) -> None:
    body = {"question": "Deploy?", "response_type": "confirm", "timeout_seconds": 60, "fallback_policy": policy}
    response = await room.call("POST", "/v1/suspensions", json=body)
    assert response.status_code == 422
    assert response.json()["detail"]["fields"][0]["path"] == "fallback_policy"


async def test_an_answer_just_in_time_keeps_the_fallback_from_firing(room: World) -> None:
    asked = await room.ask(timeout_seconds=60, fallback_policy="complete_with_fallback", fallback_value="deny")
    await room.advance(seconds=59)
    assert (await room.answer(asked, "approve")).status_code == 200
    await room.advance(hours=1)
    assert (await room.told(asked))["data"]["value"] == "approve"


async def test_an_answer_at_the_very_end_is_too_late_even_before_the_clock_was_looked_at(room: World) -> None:
    asked = await room.ask(timeout_seconds=60, fallback_policy="complete_with_fallback", fallback_value="deny")
    room.clock.move_by(timedelta(seconds=60))
    response = await room.answer(asked, "approve")
    assert (response.status_code, response.json()["detail"]["error"]) == (409, "suspension_ended")
    assert (await room.told(asked))["data"]["value"] == "deny"
