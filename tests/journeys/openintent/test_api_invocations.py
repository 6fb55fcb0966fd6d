"""What a paused invocation finds again (API.md §2): how it goes on and with what, for the key that asked alone; and an
answer that would not fit it, which is refused to the person who gives it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

RESUME: dict[str, Any] = {
    "session_id": "sess-1",
    "state": {"cart": [7, {"a": None}]},
    "invocation_id": "inv-shown",
    "correlation_id": "corr-1",
    "signal_id": "refund-shown",
    "signal_metadata": {"kind": "approval"},
    "payload_schema": {"type": "object", "properties": {"count": {"type": "integer"}}},
}


async def asked_of(world: World, **fields: Any) -> dict[str, Any]:
    return await world.ask(response_type="form", **{"resume": dict(RESUME), **fields})


async def shown_to(world: World, asked: dict[str, Any], role: str, road: str = "") -> dict[str, Any]:
    response = await world.call("GET", f"/v1/suspensions/{asked['suspension_id']}{road}", role)
    assert response.status_code == 200, response.text
    record: dict[str, Any] = response.json()
    return record


async def end(world: World, asked: dict[str, Any], how: str) -> None:
    if how == "responded":
        assert (await world.answer(asked, {"count": 5})).is_success
    elif how == "cancelled":
        path = f"/v1/suspensions/{asked['suspension_id']}/cancel"
        assert (await world.call("POST", path, json={"reason": "over"})).is_success
    else:
        await world.advance(seconds=60)


async def test_its_creator_alone_sees_how_it_goes_on(room: World) -> None:
    asked = await asked_of(room)
    mine = await shown_to(room, asked, "agent")
    assert mine["resume"] == {**RESUME, "callback_url": room.agent.url}
    assert mine["signal_payload"] is None
    assert (mine["invocation_id"], mine["correlation_id"]) == ("inv-shown", "corr-1")
    for role in ("operator", "admin"):
        other = await shown_to(room, asked, role)
        assert (other["resume"], other["signal_payload"]) == (None, None)
    listed = await room.call("GET", "/v1/suspensions", "agent", params={"invocation_id": "inv-shown"})
    assert [one["resume"] for one in listed.json()["items"]] == [None]
    await end(room, asked, "responded")


FALLBACK = {"timeout_seconds": 60, "fallback_policy": "complete_with_fallback", "fallback_value": {"count": 1}}


@pytest.mark.parametrize(
    ("how", "fields", "payload"),
    [
        ("responded", {}, {"count": 5}),
        ("expired", FALLBACK, {"count": 1}),
        ("expired", {"timeout_seconds": 60}, None),
        ("cancelled", {}, None),
    ],
    ids=["answer", "fallback", "failure", "cancellation"],
)
async def test_what_it_goes_on_with_is_recorded_and_never_made_up(
    room: World, how: str, fields: dict[str, Any], payload: Any
) -> None:
    asked = await asked_of(room, **fields)
    await end(room, asked, how)
    assert (await room.told(asked))["data"]["signal_payload"] == payload
    for road in ("", "/wait"):
        assert (await shown_to(room, asked, "agent", road))["signal_payload"] == payload
        assert (await shown_to(room, asked, "operator", road))["signal_payload"] is None


async def test_an_answer_that_would_not_fit_is_refused_and_given_again(room: World) -> None:
    asked = await asked_of(room)
    path = f"/v1/signals/{RESUME['signal_id']}"
    refused = await room.call("POST", path, "operator", json={"value": {"count": "not_an_int"}})
    detail = refused.json()["detail"]
    assert (refused.status_code, detail["error"]) == (422, "suspension_resume_payload_invalid")
    assert [problem["path"] for problem in detail["fields"]] == ["value"]
    assert "count" in detail["message"]
    assert (await shown_to(room, asked, "agent"))["status"] == "open"
    again = await room.call("POST", path, "operator", json={"value": {"count": 5}})
    assert again.status_code == 200, again.text
    assert (await room.told(asked))["data"]["signal_payload"] == {"count": 5}
