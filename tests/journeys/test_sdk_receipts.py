"""The SDK's ``execute_once`` against the service itself: what was approved runs once."""

from __future__ import annotations

from typing import Any

import pytest
from handraise import Handraise, ReceiptRefused, RequestRefused

from tests.world import KEYS, World

ACTION: dict[str, Any] = {"tool": "stripe.refund", "amount": 49999}
FALLBACK = {"timeout_seconds": 60, "fallback_policy": "complete_with_fallback", "fallback_value": "approve"}


async def receipt_of(people: Handraise, asked: dict[str, Any]) -> str:
    receipt = (await people.wait(asked["suspension_id"])).receipt
    assert receipt is not None
    return receipt


async def test_what_a_person_approved_runs_once(any_world: World) -> None:
    asked = await any_world.ask(action=ACTION)
    await any_world.answer(asked, "approve")
    async with Handraise(any_world.url, KEYS["agent"]) as people:
        receipt = await receipt_of(people, asked)
        for action, when, reason in (
            ({**ACTION, "amount": 5}, "approve", "other_action"),
            (ACTION, "deny", "other_value"),
        ):
            with pytest.raises(ReceiptRefused) as refused:
                await people.execute_once(receipt, action, when=when)
            assert refused.value.reason == reason
        await people.execute_once(receipt, ACTION, when="approve")
        with pytest.raises(ReceiptRefused) as refused:
            await people.execute_once(receipt, ACTION, when="approve")
        assert refused.value.reason == "used"


async def test_silence_is_no_answer_unless_it_is_allowed(world: World) -> None:
    asked = await world.ask(action=ACTION, **FALLBACK)
    await world.advance(seconds=60)
    async with Handraise(world.url, KEYS["agent"]) as people:
        receipt = await receipt_of(people, asked)
        with pytest.raises(ReceiptRefused) as refused:
            await people.execute_once(receipt, ACTION, when="approve")
        assert refused.value.reason == "expired_window"
        await people.execute_once(receipt, ACTION, when="approve", allow_silence=True)


@pytest.mark.parametrize("receipt", [None, ""])
async def test_without_a_receipt_nothing_is_asked_of_the_server(receipt: str | None) -> None:
    async with Handraise("http://127.0.0.1:1", "agent-key-1") as people:
        with pytest.raises(ReceiptRefused) as refused:
            await people.execute_once(receipt, ACTION, when="approve")
    assert refused.value.reason == "missing"


async def test_a_key_that_may_ask_nothing_is_told_so(world: World) -> None:
    async with Handraise(world.url, KEYS["operator"]) as people:
        with pytest.raises(RequestRefused) as refused:
            await people.execute_once("x", ACTION, when="approve")
    assert (refused.value.code, isinstance(refused.value, ReceiptRefused)) == ("forbidden", False)
