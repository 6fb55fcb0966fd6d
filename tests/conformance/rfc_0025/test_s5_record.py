"""RFC-0025 §5: the SuspensionRecord, in the outcome, on the suspension and in ``intent.state._suspension``."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

FIELDS = {
    "id",
    "question",
    "response_type",
    "choices",
    "context",
    "channel_hint",
    "suspended_at",
    "timeout_seconds",
    "expires_at",
    "fallback_value",
    "fallback_policy",
    "retry_policy",
    "confidence_at_suspension",
    "decision_record",
    "response",
    "responded_at",
    "resolution",
}


async def test_the_record_holds_what_the_agent_said(room: World) -> None:
    decision = {"mode": "request_input", "should_ask": True}
    start = room.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    asked = await room.ask(
        "Refund order 12345?",
        context={"order_id": "12345", "amount": 499.99},
        channel_hint="email",
        timeout_seconds=86_400,
        fallback_policy="complete_with_fallback",
        fallback_value="deny",
        confidence=0.55,
        decision_record=decision,
    )
    record = asked["suspension"]
    assert set(record) >= FIELDS
    assert str(uuid.UUID(record["id"])) == asked["suspension_id"]
    expected: dict[str, Any] = {
        "question": "Refund order 12345?",
        "response_type": "choice",
        "context": {"order_id": "12345", "amount": 499.99},
        "channel_hint": "email",
        "suspended_at": start,
        "timeout_seconds": 86_400,
        "fallback_value": "deny",
        "fallback_policy": "complete_with_fallback",
        "confidence_at_suspension": 0.55,
        "decision_record": decision,
        "response": None,
        "responded_at": None,
        "resolution": None,
    }
    assert {name: record[name] for name in expected} == expected


async def test_the_record_is_in_the_intents_state_and_on_the_suspension(room: World) -> None:
    asked = await room.ask(context={"order_id": "1"})
    mirrored = (await room.intent(asked))["state"]["_suspension"]
    assert {name: mirrored[name] for name in FIELDS} == {name: asked["suspension"][name] for name in FIELDS}
    shown = await room.show(asked)
    assert {name: shown[name] for name in FIELDS} == {name: mirrored[name] for name in FIELDS}


async def test_the_mirrored_record_shows_the_answer(room: World) -> None:
    asked = await room.ask()
    answered = (await room.answer(asked, "approve")).json()
    mirrored = (await room.intent(asked))["state"]["_suspension"]
    assert mirrored["id"] == asked["suspension_id"]
    assert (mirrored["response"], mirrored["resolution"]) == ("approve", "responded")
    assert mirrored["responded_at"] == answered["responded_at"]
    assert mirrored["responded_by"] == "alice@example.com"


async def test_a_record_without_a_timeout_never_expires(room: World) -> None:
    asked = await room.ask(timeout_seconds=None)
    assert (asked["suspension"]["timeout_seconds"], asked["suspension"]["expires_at"]) == (None, None)


async def test_without_a_retry_policy_it_expires_after_the_timeout(room: World) -> None:
    asked = await room.ask(timeout_seconds=900)
    shown = asked["suspension"]
    assert asked["expires_at"] == shown["expires_at"] == "2026-03-24T10:15:00Z"
    assert (shown["attempt"], shown["max_attempts"], shown["next_attempt_at"]) == (1, 1, None)


async def test_with_a_retry_policy_it_expires_after_interval_times_attempts(room: World) -> None:
    policy = {"max_attempts": 4, "interval_seconds": 600}
    asked = await room.ask(timeout_seconds=900, retry_policy=policy)
    assert asked["suspension"]["timeout_seconds"] == 900
    assert asked["expires_at"] == asked["suspension"]["expires_at"] == "2026-03-24T10:40:00Z"


async def test_the_fallback_policy_is_the_final_one_of_the_retry_policy(room: World) -> None:
    policy = {"max_attempts": 2, "interval_seconds": 600, "final_fallback_policy": "complete_with_fallback"}
    asked = await room.ask(timeout_seconds=900, retry_policy=policy, fallback_policy="fail", fallback_value="deny")
    assert asked["suspension"]["fallback_policy"] == "complete_with_fallback"
    assert asked["suspension"]["retry_policy"]["final_fallback_policy"] == "complete_with_fallback"


@pytest.mark.parametrize("confidence", [0, 1, 0.0, 1.0, 0.55])
async def test_confidence_is_between_nothing_and_one(room: World, confidence: float) -> None:
    asked = await room.ask(confidence=confidence)
    assert asked["suspension"]["confidence_at_suspension"] == confidence


@pytest.mark.parametrize("confidence", [-0.01, 1.01, "0.5", True, [0.5]])
async def test_any_other_confidence_is_refused(room: World, confidence: Any) -> None:
    body = {"question": "Deploy?", "response_type": "confirm", "confidence": confidence}
    response = await room.call("POST", "/v1/suspensions", json=body)
    assert response.status_code == 422
    assert response.json()["detail"]["fields"][0]["path"] == "confidence"


@pytest.mark.parametrize("context", ["text", ["a"], 5])
async def test_context_is_an_object(room: World, context: Any) -> None:
    body = {"question": "Deploy?", "response_type": "confirm", "context": context}
    response = await room.call("POST", "/v1/suspensions", json=body)
    assert response.status_code == 422
    assert response.json()["detail"]["fields"][0]["path"] == "context"


@pytest.mark.parametrize("path", ["_suspension", "/_suspension", "/_suspension/response", "_suspension/resolution"])
@pytest.mark.parametrize("op", ["set", "append", "remove"])
async def test_the_record_is_read_only_to_clients(room: World, op: str, path: str) -> None:
    """API.md §7."""
    asked = await room.ask()
    body = {"patches": [{"op": "set", "path": "cart", "value": 8}, {"op": op, "path": path, "value": "approve"}]}
    version = {"If-Match": str((await room.intent(asked))["version"])}
    response = await room.call("POST", f"/v1/intents/{asked['intent_id']}/state", json=body, headers=version)
    assert (response.status_code, response.json()["detail"]["error"]) == (403, "reserved_path")
    state = (await room.intent(asked))["state"]
    assert "cart" not in state
    assert (state["_suspension"]["id"], state["_suspension"]["response"]) == (asked["suspension_id"], None)


async def test_writing_the_whole_state_preserves_the_record(room: World) -> None:
    asked = await room.ask()
    body = {"state": {"cart": 8, "_suspension": {"id": "another", "response": "approve"}}}
    version = {"If-Match": str((await room.intent(asked))["version"])}
    await room.call("POST", f"/v1/intents/{asked['intent_id']}/state", json=body, headers=version)
    state = (await room.intent(asked))["state"]
    assert (state["_suspension"]["id"], state["_suspension"]["response"]) == (asked["suspension_id"], None)
