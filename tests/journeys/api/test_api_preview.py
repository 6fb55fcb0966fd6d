"""``POST /suspensions/preview`` (API.md §2): what asking would do, without doing it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION: dict[str, Any] = {"question": "What would happen?", "response_type": "confirm", "timeout_seconds": 3600}
LADDER: dict[str, Any] = {
    "max_attempts": 3,
    "interval_seconds": 1800,
    "escalation_ladder": [
        {"attempt": 2, "channel_hint": "email", "notify_to": "group:finance"},
        {"attempt": 3, "channel_hint": "pagerduty"},
    ],
}


async def preview(world: World, role: str = "agent", **fields: Any) -> dict[str, Any]:
    response = await world.call("POST", "/v1/suspensions/preview", role, json={**QUESTION, **fields})
    assert response.status_code == 200, response.text
    shown: dict[str, Any] = response.json()
    assert set(shown) >= {"ladder", "expires_at", "policy", "problems"}
    return shown


async def test_it_shows_the_ladder_that_asking_would_follow(room: World) -> None:
    shown = await preview(room, retry_policy=LADDER)
    assert shown["ladder"] == [
        {
            "attempt": 1,
            "due_at": "2026-03-24T10:00:00Z",
            "channel": "slack",
            "notify_to": None,
            "recipients": ["slack:C0OPS"],
        },
        {
            "attempt": 2,
            "due_at": "2026-03-24T10:30:00Z",
            "channel": "email",
            "notify_to": "group:finance",
            "recipients": ["group:finance"],
        },
        {
            "attempt": 3,
            "due_at": "2026-03-24T11:00:00Z",
            "channel": "pagerduty",
            "notify_to": None,
            "recipients": shown["ladder"][2]["recipients"],
        },
    ]
    assert shown["expires_at"] == "2026-03-24T11:30:00Z"
    assert shown["problems"] == []


async def test_it_is_what_asking_then_does(room: World) -> None:
    shown = await preview(room, retry_policy=LADDER)
    asked = (await room.call("POST", "/v1/suspensions", json={**QUESTION, "retry_policy": LADDER})).json()
    assert (asked["ladder"], asked["expires_at"]) == (shown["ladder"], shown["expires_at"])
    await room.call("POST", f"/v1/suspensions/{asked['suspension_id']}/cancel", json={})


async def test_it_says_where_each_field_of_the_policy_comes_from(room: World) -> None:
    agents = "/v1/agents/refund-agent/default-retry-policy"
    await room.call("PUT", agents, json={"interval_seconds": 900})
    policy = (await preview(room, retry_policy={"max_attempts": 2}))["policy"]
    await room.call("PUT", agents, json={"strategy": "fixed"})
    agents_strategy = (await preview(room))["policy"]["strategy"]
    own_strategy = (await preview(room, retry_policy={"strategy": "fixed"}))["policy"]["strategy"]
    await room.call("PUT", agents, json={})
    assert policy["max_attempts"] == {"value": 2, "from": "call"}
    assert policy["interval_seconds"] == {"value": 900, "from": "agent"}
    assert policy["escalation_ladder"] == {"value": [], "from": "default"}
    assert policy["final_fallback_policy"] == {"value": "fail", "from": "default"}
    assert policy["strategy"] == {"value": "fixed", "from": "default"}
    assert (agents_strategy["from"], own_strategy["from"]) == ("agent", "call")


async def test_it_names_every_attempt_that_has_a_problem(room: World) -> None:
    rungs = [
        {"attempt": 2, "channel_hint": "email", "notify_to": "eve@elsewhere.example"},
        {"attempt": 3, "channel_hint": "slack", "notify_to": "slack:C9SECRET"},
    ]
    policy = {"max_attempts": 3, "interval_seconds": 60, "escalation_ladder": rungs}
    problems = (await preview(room, retry_policy=policy))["problems"]
    assert [(one["attempt"], one["code"], one["severity"]) for one in problems] == [
        (2, "recipient_not_allowed", "error"),
        (3, "recipient_not_allowed", "error"),
    ]
    assert all(one["message"] for one in problems)


async def test_what_asking_would_bear_is_a_warning(room: World) -> None:
    fields = {"channel_hint": "email", "notify_to": "slack:C0OPS"}
    [problem] = (await preview(room, **fields))["problems"]
    assert (problem["code"], problem["severity"]) == ("recipient_unreachable", "warning")
    asked = await room.call("POST", "/v1/suspensions", json={**QUESTION, **fields})
    assert asked.status_code == 201


async def test_inherited_attempts_that_come_too_late_for_the_deadline_are_dropped_with_a_warning(room: World) -> None:
    agents = "/v1/agents/refund-agent/default-retry-policy"
    await room.call("PUT", agents, json=LADDER)
    asked_for = {"deadline_seconds": 600, "timeout_seconds": None}
    shown = await preview(room, **asked_for)
    asked = await room.call("POST", "/v1/suspensions", json={**QUESTION, **asked_for})
    await room.call("PUT", agents, json={})
    assert shown["expires_at"] == "2026-03-24T10:10:00Z"
    assert shown["silence"] == "If nobody answers by 2026-03-24 10:10 UTC, the agent stops."
    assert [step["attempt"] for step in shown["ladder"]] == [1]
    assert (shown["policy"]["max_attempts"]["value"], shown["policy"]["escalation_ladder"]["value"]) == (1, [])
    [problem] = shown["problems"]
    assert (problem["attempt"], problem["code"], problem["severity"]) == (2, "attempts_dropped", "warning")
    assert problem["message"].startswith("Attempts 2 to 3 are dropped")
    assert (asked.status_code, asked.json()["expires_at"]) == (201, "2026-03-24T10:10:00Z")
    record = asked.json()["suspension"]
    assert (record["timeout_seconds"], record["deadline_seconds"], record["max_attempts"]) == (600, 600, 1)
    await room.call("POST", f"/v1/suspensions/{asked.json()['suspension_id']}/cancel", json={})


async def test_what_the_call_gave_itself_and_does_not_fit_is_refused(room: World) -> None:
    for path in ("/v1/suspensions/preview", "/v1/suspensions"):
        response = await room.call("POST", path, json={**QUESTION, "deadline_seconds": 600, "retry_policy": LADDER})
        detail = response.json()["detail"]
        assert (response.status_code, detail["error"]) == (422, "deadline_too_short")
        assert detail["fields"][0]["path"] == "retry_policy.interval_seconds"


async def test_it_stores_nothing_and_asks_nobody(room: World) -> None:
    before = (await room.call("GET", "/v1/suspensions", "admin", params={"status": "open"})).json()["items"]
    intents = len((await room.call("GET", "/v1/intents", "admin", params={"limit": 200})).json()["intents"])
    posted = len(room.slack.workspace.posted())
    await preview(room, retry_policy=LADDER, resume={"signal_id": "sig-preview", "callback_url": room.agent.url})
    await room.settle()
    assert (await room.call("GET", "/v1/suspensions", "admin", params={"status": "open"})).json()["items"] == before
    assert len((await room.call("GET", "/v1/intents", "admin", params={"limit": 200})).json()["intents"]) == intents
    assert len(room.slack.workspace.posted()) == posted
    unmatched = await room.call("POST", "/v1/signals/sig-preview", "operator", json={"value": "yes"})
    assert unmatched.status_code == 404


@pytest.mark.parametrize(
    "fields", [{"question": ""}, {"timeout_seconds": "60"}, {"retry_policy": {"max_attempts": 51}}, {"choices": [{}]}]
)
async def test_what_can_not_even_be_read_is_422_as_when_asking(room: World, fields: dict[str, Any]) -> None:
    for path in ("/v1/suspensions/preview", "/v1/suspensions"):
        assert (await room.call("POST", path, json={**QUESTION, **fields})).status_code == 422


async def test_it_needs_the_key_of_one_who_may_ask(room: World) -> None:
    for role, status in ((None, 401), ("operator", 403), ("admin", 200), ("other_agent", 200)):
        response = await room.call("POST", "/v1/suspensions/preview", role, json=QUESTION)
        assert response.status_code == status
