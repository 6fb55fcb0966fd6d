"""The questions of one session, by either client: found by ref, with their receipts, and waited for together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from handraise import Handraise, RequestRefused, ResumeTarget, SuspensionRecord

from sdk.tests.in_thread import InThread
from tests.world import KEYS, World

LIMIT = 60
ACTION: dict[str, Any] = {"tool": "stripe.refund", "amount": 49999}


@pytest.fixture(params=[Handraise, InThread], ids=["async", "sync"])
def connect(request: pytest.FixtureRequest) -> Callable[..., Any]:
    connect: Callable[..., Any] = request.param
    return connect


async def ask(world: World, agent: Any, question: str, session_id: str = "sess-1") -> Any:
    await world.advance(seconds=1)  # those of one instant have no order
    target = ResumeTarget(session_id=session_id, state={"question": question})
    return await agent.suspend(question, choices=["approve", "deny"], action=ACTION, resume=target)


async def answer(world: World, asked: Any, value: str = "approve", **more: Any) -> None:
    fields = {"intent_id": asked.intent_id, "suspension_id": asked.suspension_id}
    assert (await world.answer(fields, value, **more)).status_code == 200


def questions(found: Any) -> list[str]:
    return [one.question for one in found]


async def test_a_question_is_found_by_its_ref_by_those_who_may_read_it(
    any_world: World, connect: Callable[..., Any]
) -> None:
    async with connect(any_world.url, KEYS["agent"]) as agent, connect(any_world.url, KEYS["operator"]) as alice:
        asked = await ask(any_world, agent, "Refund?")
        await answer(any_world, asked)
        for typed in (asked.ref, asked.ref.lower(), f" {asked.ref} "):
            found = await agent.get(typed)
            assert found == await agent.get(asked.suspension_id)
            assert found.receipt is not None
        read = await alice.get(asked.ref)
        assert (read.id, read.receipt, read.resume) == (asked.suspension_id, None, None)
        async with connect(any_world.url, KEYS["other_agent"]) as other:
            for reference in (asked.ref, "HR-ZZZZ"):
                with pytest.raises(RequestRefused) as refused:
                    await other.get(reference)
                assert (refused.value.status, refused.value.code) == (404, "not_found")


async def test_a_ref_that_stands_in_another_question_names_that_one_not(world: World) -> None:
    async with Handraise(world.url, KEYS["agent"]) as agent:
        await ask(world, agent, "Is HR-ZZZZ done?")
        with pytest.raises(RequestRefused) as refused:
            await agent.get("HR-ZZZZ")
    assert refused.value.status == 404


async def test_a_list_shows_receipts_to_the_key_that_asked_alone(any_world: World, connect: Callable[..., Any]) -> None:
    async with connect(any_world.url, KEYS["agent"]) as agent, connect(any_world.url, KEYS["operator"]) as alice:
        asked = [await ask(any_world, agent, f"Refund {number}?") for number in range(3)]
        await answer(any_world, asked[0])
        await answer(any_world, asked[1], "deny")
        plain = [one async for one in agent.list(session_id="sess-1")]
        assert [one.receipt or one.resume for one in plain] == [None] * 3
        listed = [one async for one in agent.list(session_id="sess-1", with_receipts=True)]
        assert [one.receipt is not None for one in listed] == [False, True, True]
        assert [one.signal_payload for one in listed] == [
            None,
            {"response": "deny", "reason": None},
            {"response": "approve", "reason": None},
        ]
        assert [one.resume.state for one in listed] == [{"question": one.question} for one in listed]
        assert listed == [await agent.get(one.id) for one in listed]
        await agent.execute_once(listed[2].receipt, ACTION, when="approve")
        read = [one async for one in alice.list(session_id="sess-1", with_receipts=True)]
        assert [(one.receipt, one.resume, one.signal_payload) for one in read] == [(None, None, None)] * 3


async def test_the_time_of_a_receipt_begins_when_a_list_has_shown_it(world: World) -> None:
    async with Handraise(world.url, KEYS["agent"]) as agent:
        for number, shows in enumerate((False, True)):
            asked = await ask(world, agent, "Refund?", f"sess-{number}")
            await answer(world, asked)
            [listed] = [one async for one in agent.list(session_id=f"sess-{number}", with_receipts=shows)]
            assert (listed.receipt is not None) is shows
            await world.advance(seconds=1000)
            receipt = (await agent.get(asked.suspension_id)).receipt
            if shows:
                with pytest.raises(RequestRefused, match="expired"):
                    await agent.execute_once(receipt, ACTION, when="approve")
            else:
                await agent.execute_once(receipt, ACTION, when="approve")


async def ended(task: asyncio.Task[Any]) -> list[SuspensionRecord]:
    async with asyncio.timeout(LIMIT):
        return list(await task)


async def test_a_session_is_waited_for_until_all_of_its_questions_have_ended(
    any_world: World, connect: Callable[..., Any]
) -> None:
    async with connect(any_world.url, KEYS["agent"]) as agent:
        first, second = await ask(any_world, agent, "First?"), await ask(any_world, agent, "Second?")
        await ask(any_world, agent, "Another session's?", "sess-2")
        task = asyncio.create_task(agent.wait_session("sess-1"))
        await answer(any_world, first)
        third = await ask(any_world, agent, "Third?")
        await agent.cancel(third.suspension_id)
        await asyncio.sleep(0.2)
        assert not task.done()
        await answer(any_world, second, "deny", metadata={"reason": "too much"})
        found = await ended(task)
        assert questions(found) == ["First?", "Second?", "Third?"]
        assert [one.resolution for one in found] == ["responded", "responded", "cancelled"]
        assert [one.receipt is not None for one in found] == [True, True, False]


async def test_whoever_waits_for_a_session_is_given_receipts_that_count_from_then_on(world: World) -> None:
    async with Handraise(world.url, KEYS["agent"]) as agent:
        first, second = await ask(world, agent, "First?"), await ask(world, agent, "Second?")
        task = asyncio.create_task(agent.wait_session("sess-1"))
        await answer(world, first)
        await asyncio.sleep(0.2)
        await world.advance(seconds=3600)
        await answer(world, second)
        for one in await ended(task):
            await agent.execute_once(one.receipt, ACTION, when="approve")


async def test_a_session_is_waited_for_until_any_of_its_questions_has_ended(
    any_world: World, connect: Callable[..., Any]
) -> None:
    async with connect(any_world.url, KEYS["agent"]) as agent:
        first, second = await ask(any_world, agent, "First?"), await ask(any_world, agent, "Second?")
        task = asyncio.create_task(agent.wait_session("sess-1", "any"))
        await answer(any_world, second)
        assert questions(await ended(task)) == ["Second?"]
        again = asyncio.create_task(agent.wait_session("sess-1", "any", known=[second.suspension_id]))
        await answer(any_world, first)
        assert questions(await ended(again)) == ["First?"]
        both = {first.suspension_id, second.suspension_id}
        for mode in ("any", "all"):
            assert await agent.wait_session("sess-1", mode, known=both) == ()
            assert await agent.wait_session("no-such-session", mode) == ()


@pytest.mark.parametrize("mode", ["any", "all"])
async def test_waiting_for_a_session_is_given_up_and_its_questions_stay_open(
    world: World, connect: Callable[..., Any], mode: Any
) -> None:
    async with connect(world.url, KEYS["agent"]) as agent:
        await ask(world, agent, "First?")
        with pytest.raises(TimeoutError, match=r"1\.5 s; the question stays open"):
            await agent.wait_session("sess-1", mode, give_up_after_seconds=1.5)
        assert [one.is_open async for one in agent.list()] == [True]
        with pytest.raises(ValueError, match="mode"):
            await agent.wait_session("sess-1", "some")
