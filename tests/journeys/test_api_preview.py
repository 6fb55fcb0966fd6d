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
    await room.call("PUT", agents, json={})
    assert policy["max_attempts"] == {"value": 2, "from": "call"}
    assert policy["interval_seconds"] == {"value": 900, "from": "agent"}
    assert policy["escalation_ladder"] == {"value": [], "from": "default"}
    assert policy["final_fallback_policy"] == {"value": "fail", "from": "default"}


async def test_it_names_every_attempt_that_has_a_problem(room: World) -> None:
    rungs = [
        {"attempt": 2, "channel_hint": "email", "notify_to": "eve@elsewhere.example"},
        {"attempt": 3, "channel_hint": "slack", "notify_to": "slack:C9SECRET"},
    ]
    policy = {"max_attempts": 3, "interval_seconds": 60, "escalation_ladder": rungs}
    problems = (await preview(room, retry_policy=policy))["problems"]
    assert [(one["attempt"], one["code"]) for one in problems] == [
        (2, "recipient_not_allowed"),
        (3, "recipient_not_allowed"),
    ]
    assert all(one["message"] for one in problems)


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
