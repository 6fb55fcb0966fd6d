"""``If-Match`` and ``ETag`` (API.md §1): who changes an intent says which version they saw."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION: dict[str, Any] = {"question": "Deploy?", "response_type": "confirm"}
CHANGES: dict[str, dict[str, Any]] = {
    "status": {"status": "blocked"},
    "state": {"patches": [{"op": "set", "path": "cart", "value": 7}]},
}


async def change(world: World, intent: dict[str, Any], what: str, if_match: str | None) -> httpx.Response:
    headers = {} if if_match is None else {"If-Match": if_match}
    return await world.call("POST", f"/v1/intents/{intent['id']}/{what}", json=CHANGES[what], headers=headers)


@pytest.mark.parametrize("what", CHANGES)
async def test_a_change_without_a_version_is_428(room: World, what: str) -> None:
    intent = await room.active_intent()
    response = await change(room, intent, what, None)
    assert response.status_code == 428
    assert response.json()["detail"]["error"]
    assert (await room.intent({"intent_id": intent["id"]}))["version"] == intent["version"]


@pytest.mark.parametrize("what", CHANGES)
async def test_a_change_of_a_stale_version_is_409_with_the_current_one(room: World, what: str) -> None:
    intent = await room.active_intent()
    for stale in (intent["version"] + 1, 0, 999_999_999):
        response = await change(room, intent, what, str(stale))
        assert response.status_code == 409
        assert response.json()["detail"]["current_version"] == response.json()["current_version"] == intent["version"]
    assert (await room.intent({"intent_id": intent["id"]}))["version"] == intent["version"]


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("quote", ["{}", '"{}"'])
async def test_a_change_of_the_current_version_is_made_and_has_the_next_one(room: World, what: str, quote: str) -> None:
    intent = await room.active_intent()
    response = await change(room, intent, what, quote.format(intent["version"]))
    assert response.status_code == 200
    assert response.json()["version"] == intent["version"] + 1
    assert response.headers["ETag"].strip('"') == str(intent["version"] + 1)


@pytest.mark.parametrize("value", ["abc", "-1", "1.5", "*", '"', "1, 2", "9" * 5000])
async def test_a_version_that_is_no_number_is_422(room: World, value: str) -> None:
    intent = await room.active_intent()
    response = await change(room, intent, "state", value)
    assert response.status_code == 422, response.text


async def test_the_etag_carries_the_version(room: World) -> None:
    intent = await room.active_intent()
    response = await room.call("GET", f"/v1/intents/{intent['id']}")
    assert response.headers["ETag"].strip('"') == str(response.json()["version"]) == str(intent["version"])


async def test_on_suspend_it_may_be_left_out(room: World) -> None:
    intent = await room.active_intent()
    assert (await room.call("POST", f"/v1/intents/{intent['id']}/suspend", json=QUESTION)).status_code == 201


@pytest.mark.parametrize("quote", ["{}", '"{}"'])
async def test_on_suspend_it_is_heeded_where_it_is_given(room: World, quote: str) -> None:
    intent = await room.active_intent()
    path = f"/v1/intents/{intent['id']}/suspend"
    stale = {"If-Match": quote.format(intent["version"] + 1)}
    response = await room.call("POST", path, json=QUESTION, headers=stale)
    assert (response.status_code, response.json()["detail"]["current_version"]) == (409, intent["version"])
    assert (await room.intent({"intent_id": intent["id"]}))["status"] == "active"
    current = {"If-Match": quote.format(intent["version"])}
    assert (await room.call("POST", path, json=QUESTION, headers=current)).status_code == 201


async def test_answering_claiming_cancelling_and_events_ignore_it(room: World) -> None:
    headers = {"If-Match": "999"}
    first, second = await room.ask(), await room.ask()
    claim = f"/v1/suspensions/{first['suspension_id']}/claim"
    assert (await room.call("POST", claim, "operator", json={}, headers=headers)).status_code == 200
    body = {"suspension_id": first["suspension_id"], "value": "approve"}
    respond = f"/v1/intents/{first['intent_id']}/suspend/respond"
    assert (await room.call("POST", respond, "operator", json=body, headers=headers)).status_code == 200
    cancel = f"/v1/suspensions/{second['suspension_id']}/cancel"
    assert (await room.call("POST", cancel, json={}, headers=headers)).status_code == 200
    event = {"event_type": "cart.filled", "payload": {}}
    events = f"/v1/intents/{first['intent_id']}/events"
    assert (await room.call("POST", events, json=event, headers=headers)).status_code == 200


async def test_opening_and_ending_bump_the_version_and_a_claim_does_not(room: World) -> None:
    intent = await room.active_intent()
    asked = (await room.call("POST", f"/v1/intents/{intent['id']}/suspend", json=QUESTION)).json()
    assert (await room.intent(asked))["version"] == intent["version"] + 1
    await room.call("POST", f"/v1/suspensions/{asked['suspension_id']}/claim", "operator", json={})
    assert (await room.intent(asked))["version"] == intent["version"] + 1
    await room.answer(asked, "yes")
    assert (await room.intent(asked))["version"] == intent["version"] + 2
