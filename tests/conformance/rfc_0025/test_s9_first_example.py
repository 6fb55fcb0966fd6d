"""RFC-0025 §9.1: the two calls of ``request_input()``, as HTTP."""

from __future__ import annotations

from typing import Any

from tests.world import World

REFUND: dict[str, Any] = {
    "question": "Should we refund order #12345?",
    "response_type": "choice",
    "choices": [
        {
            "value": "approve",
            "label": "Approve refund",
            "description": "Issue full refund to original payment method",
            "style": "primary",
        },
        {"value": "deny", "label": "Deny refund", "description": "Reject and close the case", "style": "danger"},
        {"value": "escalate", "label": "Escalate", "description": "Route to a senior operator"},
    ],
    "context": {"order_id": "12345", "amount": 499.99},
    "channel_hint": "slack",
    "timeout_seconds": 3600,
    "fallback_policy": "complete_with_fallback",
    "fallback_value": "deny",
    "confidence": 0.55,
}


async def test_the_refund_is_asked_on_slack_answered_and_told_to_the_agent(any_world: World) -> None:
    world = any_world
    asked = await world.ask(**REFUND)
    message = await world.slack.expect_message("Should we refund order #12345?")
    assert message.channel == "C0OPS"
    await world.advance(seconds=60)

    answered = await world.answer(asked, "escalate")
    assert answered.status_code == 200
    assert answered.json()["choice_label"] == "Escalate"
    assert answered.json()["choice_description"] == "Route to a senior operator"
    assert answered.json()["responded_at"] == "2026-03-24T10:01:00Z"

    told = await world.told(asked)
    assert (told["type"], told["data"]["value"]) == ("intent.resumed", "escalate")
    assert (await world.intent(asked))["status"] == "active"


async def test_left_alone_for_an_hour_the_refund_is_denied(world: World) -> None:
    asked = await world.ask(**REFUND)
    await world.advance(seconds=3600)
    told = await world.told(asked)
    assert (told["data"]["resolution"], told["data"]["value"]) == ("expired", "deny")
    assert (await world.intent(asked))["status"] == "active"


async def test_a_confirmation_answers_yes_or_no_and_fails_after_ten_minutes(world: World) -> None:
    deploy: dict[str, Any] = {
        "question": "Deploy to production?",
        "response_type": "confirm",
        "timeout_seconds": 600,
        "fallback_policy": "fail",
    }
    first, second = await world.ask(**deploy), await world.ask(**deploy)
    assert (await world.answer(first, "no")).json()["value"] == "no"
    await world.advance(seconds=600)
    assert (await world.told(first))["data"]["value"] == "no"
    assert (await world.told(second))["data"]["error"] == "input_timeout"
    assert (await world.intent(second))["status"] == "abandoned"
