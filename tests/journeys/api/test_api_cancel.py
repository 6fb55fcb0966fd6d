"""Cancelling (API.md §2): the agent no longer asks."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.vendors.slack import shown
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def cancel(world: World, asked: dict[str, Any], role: str = "agent", **body: Any) -> httpx.Response:
    return await world.call("POST", f"/v1/suspensions/{asked['suspension_id']}/cancel", role, json=body)


async def test_its_creator_cancels_and_the_intent_goes_on(room: World) -> None:
    asked = await room.ask("Still needed?")
    message = await room.slack.expect_message("Still needed?")
    response = await cancel(room, asked, reason="the customer called")
    assert (response.status_code, response.json()["resolution"]) == (200, "cancelled")
    assert (await room.intent(asked))["status"] == "active"
    event = (await room.events(asked))[-1]
    assert (event["event_type"], event["actor"]) == ("intent.suspension_cancelled", "refund-agent")
    told = await room.told(asked)
    assert told["type"] == "intent.suspension_cancelled"
    assert (told["data"]["resolution"], told["data"]["value"]) == ("cancelled", None)
    edited = room.slack.workspace.at(message.channel, message.ts)
    assert edited is not None and "cancel" in shown(edited).lower()
    assert not any(element.get("type") == "button" for block in edited.blocks for element in block.get("elements", []))


async def test_an_admin_cancels_for_others(room: World) -> None:
    asked = await room.ask()
    assert (await cancel(room, asked, "admin")).status_code == 200
    assert (await room.show(asked))["status"] == "cancelled"


async def test_another_agent_learns_of_no_question(room: World) -> None:
    asked = await room.ask()
    response = await cancel(room, asked, "other_agent")
    assert (response.status_code, response.json()["detail"]["error"]) == (404, "not_found")
    assert (await room.show(asked))["status"] == "open"


@pytest.mark.parametrize("is_open", [True, False])
async def test_an_operator_may_read_it_but_not_cancel_it(room: World, is_open: bool) -> None:
    asked = await room.ask()
    if not is_open:
        await room.answer(asked, "approve")
    response = await cancel(room, asked, "operator")
    assert (response.status_code, response.json()["detail"]["error"]) == (403, "forbidden")
    assert (await room.show(asked))["status"] == ("open" if is_open else "responded")


async def test_another_agent_learns_nothing_even_after_the_end(room: World) -> None:
    asked = await room.ask()
    await room.answer(asked, "approve")
    response = await cancel(room, asked, "other_agent")
    assert (response.status_code, response.json()["detail"]["error"]) == (404, "not_found")
    assert "alice" not in response.text


async def test_once_is_enough(room: World) -> None:
    asked = await room.ask()
    await cancel(room, asked, reason="once")
    again = await cancel(room, asked, reason="twice")
    assert again.status_code == 409
    assert again.json()["detail"]["resolution"] == "cancelled"
    await room.settle()
    assert len(room.agent.told_of(asked)) == 1


async def test_what_was_answered_or_has_expired_can_not_be_cancelled(room: World) -> None:
    answered, expired = await room.ask(), await room.ask(timeout_seconds=60)
    await room.answer(answered, "approve")
    await room.advance(seconds=60)
    assert [(await cancel(room, one)).status_code for one in (answered, expired)] == [409, 409]
    assert (await room.told(answered))["data"]["value"] == "approve"


async def test_a_reason_is_a_text(room: World) -> None:
    asked = await room.ask()
    for reason in (5, ["a"], {"text": "a"}, "x" * 100_000):
        assert (await cancel(room, asked, reason=reason)).status_code == 422
    assert (await room.show(asked))["status"] == "open"


async def test_an_unknown_suspension_is_404(room: World) -> None:
    assert (await cancel(room, {"suspension_id": "unknown"}, "admin")).status_code == 404
