"""The SDK's ``execute_once`` against the service itself: what was approved runs once, and is reported."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from handraise import Handraise, HandraiseSync, ReceiptRefused, RequestRefused

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


# --- What came of it --------------------------------------------------------------------------------------------------


async def approved(world: World) -> dict[str, Any]:
    asked = await world.ask(action=ACTION)
    await world.answer(asked, "approve")
    return asked


async def reported(world: World, asked: dict[str, Any]) -> tuple[Any, ...] | None:
    found = (await world.show(asked))["reported"]
    return None if found is None else (found["status"], found["text"], found["url"])


class Stolen(Exception):
    """An error whose message nobody should see."""


async def test_what_ran_is_reported_with_the_words_that_it_gave(any_world: World) -> None:
    asked = await approved(any_world)
    async with Handraise(any_world.url, KEYS["agent"]) as people:
        receipt = await receipt_of(people, asked)
        async with await people.execute_once(receipt, ACTION, when="approve") as execution:
            execution.note("Refunded as re_3PX.", url="https://shop.example/refunds/7")
            assert await reported(any_world, asked) is None, "not before it has ended"
        assert await reported(any_world, asked) == ("done", "Refunded as re_3PX.", "https://shop.example/refunds/7")
        record = await people.get(asked["suspension_id"])
        assert record.reported is not None
        assert (record.reported.status, record.reported.at) == ("done", any_world.clock.now())


async def test_a_failure_is_reported_by_its_class_alone_and_goes_on(any_world: World) -> None:
    asked = await approved(any_world)
    async with Handraise(any_world.url, KEYS["agent"]) as people:
        receipt = await receipt_of(people, asked)
        with pytest.raises(Stolen, match="hunter2"):
            async with await people.execute_once(receipt, ACTION, when="approve"):
                raise Stolen("password hunter2")
        assert await reported(any_world, asked) == ("failed", "Stolen", None)
        with pytest.raises(ReceiptRefused) as refused:
            async with await people.execute_once(receipt, ACTION, when="approve"):
                pytest.fail("it ran twice")
        assert refused.value.reason == "used"
        assert await reported(any_world, asked) == ("failed", "Stolen", None)
        assert (await any_world.event_types(asked)).count("action.reported") == 1


async def test_words_about_a_failure_stand_before_its_class(world: World) -> None:
    asked = await approved(world)
    async with Handraise(world.url, KEYS["agent"]) as people:
        receipt = await receipt_of(people, asked)
        with pytest.raises(Stolen):
            async with await people.execute_once(receipt, ACTION, when="approve") as execution:
                execution.note("The card has expired.")
                raise Stolen
    assert await reported(world, asked) == ("failed", "The card has expired. (Stolen)", None)


async def test_without_a_loop_it_is_the_same(world: World) -> None:
    first, second = await approved(world), await approved(world)

    def run() -> None:
        with HandraiseSync(world.url, KEYS["agent"]) as people:
            for asked, fails in ((first, False), (second, True)):
                receipt = people.wait(asked["suspension_id"]).receipt
                with people.execute_once(receipt, ACTION, when="approve") as execution:
                    execution.note("x" * 4000)
                    if fails:
                        raise Stolen

    with pytest.raises(Stolen):
        await asyncio.to_thread(run)
    assert await reported(world, first) == ("done", "x" * 3000, None)
    assert (await reported(world, second) or ())[0] == "failed"


async def test_what_the_agent_reports_itself_stands(world: World, caplog: pytest.LogCaptureFixture) -> None:
    asked = await approved(world)
    async with Handraise(world.url, KEYS["agent"]) as people:
        receipt = await receipt_of(people, asked)
        async with await people.execute_once(receipt, ACTION, when="approve"):
            done = await people.report_outcome(asked["suspension_id"], "failed", "No money left.")
        assert done.reported is not None
        assert done.reported.text == "No money left."
        with pytest.raises(RequestRefused) as refused:
            await people.report_outcome(asked["suspension_id"], "done")
    assert refused.value.code == "already_reported"
    assert await reported(world, asked) == ("failed", "No money left.", None)
    assert [one for one in caplog.records if one.name == "handraise"] == []


@pytest.mark.parametrize("fails", [False, True])
async def test_a_report_that_does_not_arrive_spoils_nothing(
    world: World, caplog: pytest.LogCaptureFixture, fails: bool
) -> None:
    asked = await approved(world)
    people = Handraise(world.url, KEYS["agent"])
    receipt = await receipt_of(people, asked)
    ran = False

    async def run() -> str:
        nonlocal ran
        async with await people.execute_once(receipt, ACTION, when="approve") as execution:
            execution.note("password hunter2")
            await people.aclose()
            ran = True
            if fails:
                raise Stolen("password hunter2")
            return "refunded"

    with caplog.at_level(logging.INFO, "handraise"):
        if fails:
            with pytest.raises(Stolen):
                await run()
        else:
            assert await run() == "refunded"
    assert ran
    assert await reported(world, asked) is None
    [told] = [one for one in caplog.records if one.name == "handraise"]
    assert told.levelname == "WARNING"
    assert "What came of it was not reported" in told.getMessage()
    assert "hunter2" not in caplog.text


async def test_a_cancelled_task_reports_nothing(world: World) -> None:
    asked = await approved(world)
    async with Handraise(world.url, KEYS["agent"]) as people:
        receipt = await receipt_of(people, asked)
        begun = asyncio.Event()

        async def run() -> None:
            async with await people.execute_once(receipt, ACTION, when="approve"):
                begun.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(run())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await reported(world, asked) is None
