"""What the SDK and the command line say of an ask that was there before (API.md §2)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from handraise import AlreadyDenied, Handraise, HandraiseSync, needs_approval

from sdk.tests.in_thread import InThread
from tests.cli import handraise
from tests.world import KEYS, World, running

ACTION: dict[str, Any] = {"tool": "stripe.refund", "amount": 49999}
CHOICES = ["approve", "deny"]


async def test_a_repeat_of_the_same_invocation_is_the_first_one_also_after_its_end(any_world: World) -> None:
    named = {"session_id": "sess-1", "invocation_id": "inv-1"}
    for people in (Handraise(any_world.url, KEYS["agent"]), InThread(any_world.url, KEYS["agent"])):
        async with people:
            action = {**ACTION, "asked_by": type(people).__name__}
            first = await people.suspend("Go?", choices=CHOICES, action=action, resume=named)
            again = await people.suspend("Go?", choices=CHOICES, action=action, resume=named)
            joined = await people.suspend(
                "Go?", choices=CHOICES, action=action, resume={**named, "correlation_id": "c"}
            )
            assert again.suspension_id == joined.suspension_id == first.suspension_id
            assert joined.joined
            asked = {"intent_id": first.intent_id, "suspension_id": first.suspension_id}
            assert (await any_world.answer(asked, "deny")).status_code == 200
            late = await people.suspend("Go?", choices=CHOICES, action=action, resume=named)
            assert (await people.wait(late.suspension_id)).response == "deny"


@pytest.mark.parametrize(
    "changed",
    [
        {"action": {**ACTION, "amount": 5}},
        {"resume": {"session_id": "sess-1", "invocation_id": "inv-2"}},
        {"resume": {"session_id": "sess-2", "invocation_id": "inv-1"}},
    ],
    ids=["another action", "another invocation", "another session"],
)
async def test_another_action_or_invocation_is_another_question(world: World, changed: dict[str, Any]) -> None:
    asking: dict[str, Any] = {
        "choices": CHOICES,
        "action": ACTION,
        "resume": {"session_id": "sess-1", "invocation_id": "inv-1"},
    }
    async with Handraise(world.url, KEYS["agent"]) as people:
        first = await people.suspend("Go?", **asking)
        other = await people.suspend("Go?", **{**asking, **changed})
    assert other.suspension_id != first.suspension_id


@pytest.mark.parametrize("named", [{"session_id": "sess-1"}, {"invocation_id": "inv-1"}, {}])
async def test_without_a_session_or_an_invocation_each_ask_is_a_question_of_its_own(
    world: World, named: dict[str, Any]
) -> None:
    async with Handraise(world.url, KEYS["agent"]) as people:
        asked = [await people.suspend("rm -rf build?", choices=CHOICES, action=ACTION, resume=named) for _ in range(2)]
    assert asked[0].suspension_id != asked[1].suspension_id


async def test_the_same_question_of_one_invocation_about_two_intents_is_two(world: World) -> None:
    named = {"session_id": "sess-1", "invocation_id": "inv-1"}
    async with Handraise(world.url, KEYS["agent"]) as people:
        intents = [await people.create_intent(f"Refund {number}") for number in range(2)]
        asked = [await people.suspend("Go?", choices=CHOICES, intent_id=one.id, resume=named) for one in intents]
    assert asked[0].suspension_id != asked[1].suspension_id


async def test_a_denied_action_is_an_error_that_has_the_reason_and_the_notice_has_it_too(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with running(tmp_path, sqlite_url, suspension__same_ask="refuse") as world:
        async with Handraise(world.url, KEYS["agent"]) as people:
            beside = await people.suspend("Go?", choices=CHOICES, action=ACTION)
            first = await people.suspend("Go?", choices=CHOICES, action=ACTION)
            asked = {"intent_id": first.intent_id, "suspension_id": first.suspension_id}
            assert (await world.answer(asked, "deny", metadata={"reason": "Too much."})).status_code == 200
            with pytest.raises(AlreadyDenied) as refused:
                await people.suspend("Go?", choices=CHOICES, action=ACTION)
            [earlier] = (await people.notice(beside.suspension_id)).earlier_answers
        assert (refused.value.code, refused.value.ref, refused.value.reason) == (
            "already_denied",
            first.ref,
            "Too much.",
        )
        assert (earlier.ref, earlier.responded_by) == (first.ref, "alice@example.com")
        assert (earlier.answer, earlier.reason) == ("deny", "Too much.")


async def test_a_tool_that_was_denied_just_now_tells_the_model_so(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, suspension__same_ask="refuse") as world:
        first = await world.ask(action={"tool": "refund", "arguments": {"amount": 5}})
        await world.answer(first, "deny", metadata={"reason": "Too much."})
        told = (
            f"A person has said no to this within the last hour ({first['ref']}), so nobody was asked again. "
            "Do not do it, and do not try it again unless you are told to. Their reason: Too much."
        )
        async with Handraise(world.url, KEYS["agent"]) as people:

            @needs_approval(people=people, denied="return")
            async def refund(amount: int) -> None: ...

            assert await refund(5) == told
        with HandraiseSync(world.url, KEYS["agent"]) as people_now:

            @needs_approval(people=people_now, tool="refund", denied="return")
            def refund_now(amount: int) -> None: ...

            assert await asyncio.to_thread(refund_now, 5) == told


async def test_the_command_says_that_the_question_is_open_already(tmp_path: Path, sqlite_url: str) -> None:
    (tmp_path / "action.json").write_text(json.dumps(ACTION))
    async with running(tmp_path, sqlite_url, suspension__same_ask="join") as world:
        given = ("ask", "Go?", "--choice", "approve", "--choice", "deny", "--action")
        first = await handraise(world, *given, json.dumps(ACTION), role="agent")
        again = await handraise(world, *given, f"@{tmp_path}/action.json", role="agent")
    assert (first.status, again.status, again.out) == (0, 0, first.out)
    said = "the same question is open already, and nobody is asked twice"
    assert said in again.err
    assert said not in first.err


async def test_the_command_says_that_the_action_was_denied_and_why(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, suspension__same_ask="refuse") as world:
        first = await world.ask(action=ACTION)
        assert (await world.answer(first, "deny", metadata={"reason": "Too\nmuch."})).status_code == 200
        ran = await handraise(world, "ask", "Go?", "--choice", "deny", "--action", json.dumps(ACTION), role="agent")
    denied = f"handraise: This action was denied within the last hour ({first['ref']}). (already_denied)"
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith(denied)
    assert "Reason: Too" in ran.err
    assert len(ran.err.splitlines()) == 1
