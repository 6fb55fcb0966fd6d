"""RFC-0010, "Endpoints", its example, and who may call them (API.md §7)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.rfc_0010.failing import fail, failures, intent_with, logged, post_failure, set_policy
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("prefix", ["/v1", "/api/v1"])
async def test_the_printed_example(room: World, prefix: str) -> None:
    """ "Configuring Exponential Backoff", as it is printed but for its time, which has passed."""
    intent = await room.active_intent()
    path = f"{prefix}/intents/{intent['id']}"
    policy = {
        "strategy": "exponential",
        "max_retries": 5,
        "base_delay_ms": 1000,
        "max_delay_ms": 60000,
        "fallback_agent_id": "agent-backup",
    }
    response = await room.call("PUT", f"{path}/retry-policy", json=policy)
    assert response.status_code == 200, response.text
    assert response.json().items() >= {**policy, "failure_threshold": None, "intent_id": intent["id"]}.items()
    failure = {
        "agent_id": "refund-agent",
        "attempt_number": 1,
        "error_code": "TIMEOUT",
        "error_message": "Request timed out after 30s",
        "retry_scheduled_at": "2100-02-15T10:05:00Z",
    }
    response = await room.call("POST", f"{path}/failures", json=failure)
    assert response.status_code == 200, response.text
    assert response.json().items() >= failure.items()
    assert (await room.call("GET", f"{path}/retry-policy")).json().items() >= policy.items()
    assert (await room.call("GET", f"{path}/failures")).json() == {"failures": [response.json()]}


async def test_without_a_policy_there_is_none_to_show(room: World) -> None:
    intent = await room.active_intent()
    response = await room.call("GET", f"/v1/intents/{intent['id']}/retry-policy")
    assert (response.status_code, response.json()["detail"]["error"]) == (404, "not_found")


async def test_a_policy_is_replaced_as_a_whole_and_keeps_its_id(room: World) -> None:
    intent = await room.active_intent()
    first = (await set_policy(room, intent, strategy="fixed", max_retries=9, fallback_agent_id="b")).json()
    second = (await set_policy(room, intent, strategy="linear")).json()
    assert (second["id"], second["created_at"]) == (first["id"], first["created_at"])
    assert (second["strategy"], second["max_retries"], second["fallback_agent_id"]) == ("linear", 3, None)
    assert [one["strategy"] for one in await logged(room, intent, "retry_policy_set")] == ["fixed", "linear"]


WAYS = [
    ("PUT", "retry-policy", {"strategy": "none"}),
    ("GET", "retry-policy", None),
    ("POST", "failures", {}),
    ("GET", "failures", None),
]


@pytest.mark.parametrize(("method", "what", "body"), WAYS)
async def test_another_keys_intent_is_not_found(room: World, method: str, what: str, body: Any) -> None:
    intent = await intent_with(room, strategy="none")
    path = f"/v1/intents/{intent['id']}/{what}"
    assert (await room.call(method, path, "other_agent", json=body)).status_code == 404
    assert (await room.call(method, path, None, json=body)).status_code == 401
    assert (await room.call(method, path, "admin", json=body)).status_code == 200
    assert (await room.call(method, f"/v1/intents/unknown/{what}", json=body)).status_code == 404


async def test_a_member_reads_and_reports_but_does_not_say_who_else_becomes_one(room: World) -> None:
    intent = await intent_with(room, strategy="fixed")
    path = f"/v1/intents/{intent['id']}"
    await room.call("POST", f"{path}/agents", json={"agent_id": "other-agent"})
    assert (await fail(room, intent, "other_agent"))["agent_id"] == "other-agent"
    assert len(await failures(room, intent, "other_agent")) == 1
    assert (await room.call("GET", f"{path}/retry-policy", "other_agent")).status_code == 200
    assert (await set_policy(room, intent, "other_agent", strategy="none")).status_code == 403


async def test_an_operator_reads_and_changes_nothing(room: World) -> None:
    intent = await intent_with(room, strategy="fixed")
    await fail(room, intent)
    assert len(await failures(room, intent, "operator")) == 1
    assert (await room.call("GET", f"/v1/intents/{intent['id']}/retry-policy", "operator")).status_code == 200
    assert (await set_policy(room, intent, "operator", strategy="none")).status_code == 403
    assert (await post_failure(room, intent, "operator")).status_code == 403


async def test_a_failure_is_reported_by_whoever_failed_or_by_an_admin(room: World) -> None:
    intent = await intent_with(room, strategy="fixed")
    assert (await post_failure(room, intent, agent_id="other-agent")).status_code == 403
    assert await failures(room, intent) == []
    assert (await fail(room, intent, "admin", agent_id="other-agent"))["agent_id"] == "other-agent"


async def test_a_report_that_is_repeated_is_one_failure(room: World) -> None:
    intent = await intent_with(room, strategy="fixed")
    path, headers = f"/v1/intents/{intent['id']}/failures", {"Idempotency-Key": "once"}
    first, second = [await room.call("POST", path, json={}, headers=headers) for _ in range(2)]
    assert second.json() == first.json() and second.headers["Idempotency-Replayed"] == "true"
    assert (await room.call("POST", path, json={"attempt_number": 2}, headers=headers)).status_code == 409
    assert len(await failures(room, intent)) == 1


async def test_the_list_shows_the_newest_oldest_of_them_first(room: World) -> None:
    intent = await room.active_intent()
    for number in range(1, 4):
        await fail(room, intent, attempt_number=number)
    found = await room.call("GET", f"/v1/intents/{intent['id']}/failures", params={"limit": 2})
    assert [one["attempt_number"] for one in found.json()["failures"]] == [2, 3]


@pytest.mark.parametrize("body", [[], "x", 5, None])
async def test_a_body_that_is_no_object_is_400(room: World, body: Any) -> None:
    intent = await room.active_intent()
    for method, what in (("PUT", "retry-policy"), ("POST", "failures")):
        response = await room.call(method, f"/v1/intents/{intent['id']}/{what}", json=body)
        assert (response.status_code, response.json()["detail"]["error"]) == (400, "malformed_json")
