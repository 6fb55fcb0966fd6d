"""What can't be asked (API.md §2): each 422 and each 409, and nothing stored afterwards."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.world import World, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION: dict[str, Any] = {"question": "May this be asked?", "response_type": "confirm"}
AB = [{"value": "a", "label": "A"}, {"value": "b", "label": "B"}]
CHOICE = {"response_type": "choice", "choices": AB}
FALLBACK = {"timeout_seconds": 60, "fallback_policy": "complete_with_fallback"}


def ladder(*rungs: dict[str, Any], attempts: int = 2) -> dict[str, Any]:
    return {"retry_policy": {"max_attempts": attempts, "interval_seconds": 60, "escalation_ladder": list(rungs)}}


REFUSED: dict[str, tuple[dict[str, Any], str | None]] = {
    "a choice without choices": ({"response_type": "choice"}, None),
    "duplicate values": ({**CHOICE, "choices": [AB[0], AB[0]]}, None),
    "a confirm of other choices": ({"choices": AB}, None),
    "a fallback that is no choice": (
        {"response_type": "choice", "choices": AB, "fallback_value": "c", **FALLBACK},
        None,
    ),
    "a fallback that is no confirmation": ({"fallback_value": "maybe", **FALLBACK}, None),
    "no fallback where one is needed": (FALLBACK, None),
    "no fallback for the final policy": (
        {"timeout_seconds": 60, "retry_policy": {"final_fallback_policy": "use_default_and_continue"}},
        None,
    ),
    "an interval above the timeout": (
        {"timeout_seconds": 59, "retry_policy": {"max_attempts": 2, "interval_seconds": 60}},
        None,
    ),
    "neither timeout nor interval": ({"retry_policy": {"max_attempts": 2}}, None),
    "no attempts": ({"timeout_seconds": 60, "retry_policy": {"max_attempts": 0}}, None),
    "51 attempts": ({"timeout_seconds": 60, "retry_policy": {"max_attempts": 51}}, None),
    "a rung before the first attempt": (ladder({"attempt": 0, "channel_hint": "email"}), None),
    "a rung after the last attempt": (ladder({"attempt": 3, "channel_hint": "email"}), None),
    "two rungs for one attempt": (ladder({"attempt": 2}, {"attempt": 2, "channel_hint": "email"}), None),
    "an unknown channel": ({"channel_hint": "fax"}, "unknown_channel"),
    "an unknown channel on a rung": (ladder({"attempt": 2, "channel_hint": "fax"}), "unknown_channel"),
    "another strategy": ({"timeout_seconds": 60, "retry_policy": {"strategy": "exponential"}}, None),
    "more answers than people": ({"answers_required": 4}, "answers_unreachable"),
    "no answers": ({"answers_required": 0}, None),
    "a schedule that is not allowed": ({"notify_to": "pagerduty-schedule:PXYZ"}, "recipient_not_allowed"),
    "a schedule of no form": ({"responders": ["pagerduty-schedule:../users"]}, "invalid_recipient"),
    "nobody of that form": ({"notify_to": "fax:12345"}, "invalid_recipient"),
    "nobody at all": ({"notify_to": "not an address"}, "invalid_recipient"),
    "a group that is not there": ({"notify_to": "group:nobody"}, None),
    "somebody who is not allowed": ({"notify_to": "slack:C9SECRET"}, "recipient_not_allowed"),
    "a responder who is not allowed": ({"responders": ["eve@elsewhere.example"]}, "recipient_not_allowed"),
    "a private callback": ({"resume": {"callback_url": "http://10.0.0.1/resume"}}, "callback_not_allowed"),
    "no callback address": ({"resume": {"callback_url": "not an address"}}, None),
    "another scheme": ({"resume": {"callback_url": "ftp://agent.example/resume"}}, None),
    "a form schema for a choice": ({"form_schema": {"type": "string"}, "response_type": "form"}, None),
    "a payload schema that is none": ({"resume": {"payload_schema": {"type": "nonsense"}}}, None),
    "a field that nobody knows": ({"urgent": True}, None),
    "a field that nobody knows, inside": ({"resume": {"callback": "https://agent.example"}}, None),
    "no question": ({"question": ""}, None),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def quiet(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """A service whose channels have no default recipients."""
    folder = tmp_path_factory.mktemp("quiet")
    url = f"sqlite+aiosqlite:///{folder}/handraise.db"
    async with running(folder, url, slack__default_channel=None, email__default_to=[]) as world:
        yield world


async def nothing_is_stored(world: World) -> None:
    assert (await world.call("GET", "/v1/suspensions", "admin")).json()["items"] == []
    assert (await world.call("GET", "/v1/intents", "admin")).json()["intents"] == []
    await world.settle()
    assert (world.slack.workspace.posted(), world.mailbox.mails, world.pager.events) == ([], [], [])


@pytest.mark.parametrize("what", REFUSED)
async def test_it_is_refused_and_nothing_is_stored(room: World, what: str) -> None:
    fields, code = REFUSED[what]
    response = await room.call("POST", "/v1/suspensions", json={**QUESTION, **fields})
    assert response.status_code == 422, response.text
    detail = response.json()["detail"]
    assert code in {None, detail["error"]}, detail
    assert detail["message"]
    await nothing_is_stored(room)


@pytest.mark.parametrize("what", ["a choice without choices", "an unknown channel", "a private callback"])
async def test_a_refused_suspension_leaves_the_intent_as_it_was(room: World, what: str) -> None:
    intent = await room.active_intent("untouched")
    fields, _ = REFUSED[what]
    response = await room.call("POST", f"/v1/intents/{intent['id']}/suspend", json={**QUESTION, **fields})
    assert response.status_code == 422
    after = await room.intent({"intent_id": intent["id"]})
    assert (after["status"], after["version"]) == ("active", intent["version"])
    assert await room.event_types({"intent_id": intent["id"]}) == ["intent_created"]
    headers = {"If-Match": str(intent["version"])}
    await room.call("POST", f"/v1/intents/{intent['id']}/status", json={"status": "abandoned"}, headers=headers)


@pytest.mark.parametrize(
    ("fields", "attempts"),
    [
        ({}, [1]),
        ({"channel_hint": "email"}, [1]),
        ({"channel_hint": "email", "notify_to": "slack:C0OPS"}, [1]),
        ({"notify_to": "eve@example.com"}, [1]),
        ({"notify_to": "bob@example.com", **ladder({"attempt": 2, "channel_hint": "email"})}, []),
        ({"notify_to": "slack:C0OPS", **ladder({"attempt": 2, "channel_hint": "email"})}, [2]),
    ],
)
async def test_an_attempt_that_would_reach_nobody_is_refused(
    quiet: World, fields: dict[str, Any], attempts: list[int]
) -> None:
    """Where no channel has a default: whoever is asked must be reachable there (API.md §2, "Whom to ask")."""
    body = {**QUESTION, **fields}
    preview = (await quiet.call("POST", "/v1/suspensions/preview", json=body)).json()
    assert [one["attempt"] for one in preview["problems"] if one["code"] == "no_recipient"] == attempts
    response = await quiet.call("POST", "/v1/suspensions", json=body)
    if attempts:
        assert (response.status_code, response.json()["detail"]["error"]) == (422, "no_recipient")
    else:
        assert response.status_code == 201
        path = f"/v1/suspensions/{response.json()['suspension_id']}/cancel"
        await quiet.call("POST", path, json={})
    assert (await quiet.call("GET", "/v1/suspensions", "admin", params={"status": "open"})).json()["items"] == []
