"""``answers.undo_seconds`` in Slack: whoever pressed the wrong button undoes it, and the agent never hears of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio

from bot.sandbox.slack.world import Message
from tests.vendors.slack import shown
from tests.world import World, running


@pytest_asyncio.fixture
async def world(tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    async with running(tmp_path, database_url, answers={"undo_seconds": 10}) as world:
        yield world


async def pressed(world: World, label: str = "Approve refund") -> dict[str, Any]:
    asked = await world.ask(notify_to="group:finance", responders=["group:finance"], channel_hint="slack")
    await world.press("U0ALICE", _alices(world), label)
    return asked


def _alices(world: World) -> Message:
    return next(message for message in world.slack.workspace.messages if message.channel == "D0ALICE")


async def test_after_a_press_there_is_undo_and_the_agent_hears_nothing_before_its_time_is_over(world: World) -> None:
    asked = await pressed(world)
    assert _alices(world).button("ans:0") is None
    assert "alice@example.com has answered, and can undo it for a moment." in shown(_alices(world))
    assert world.agent.told_of(asked) == []
    record = await world.show(asked)
    assert (record["status"], record["response"], record["answers_received"]) == ("open", None, 0)
    await world.advance(seconds=9)
    assert world.agent.told_of(asked) == []
    await world.advance(seconds=1)
    assert (await world.told(asked))["data"]["value"] == "approve"
    assert "Answered “Approve refund”" in shown(_alices(world))


async def test_undone_the_buttons_are_back_and_another_answer_counts(world: World) -> None:
    asked = await pressed(world)
    await world.press("U0ALICE", _alices(world), "Undo")
    await world.slack.expect_private("U0ALICE", "Undone")
    await world.advance(seconds=30)
    assert (await world.show(asked))["status"] == "open"
    await world.press("U0ALICE", _alices(world), "Deny refund")
    await world.advance(seconds=10)
    assert (await world.told(asked))["data"]["value"] == "deny"
    types = [event["event_type"] for event in await world.events(asked)]
    assert types.count("intent.suspension_answer_pending") == 2
    assert types.count("intent.suspension_answer_undone") == 1


async def test_somebody_else_neither_undoes_it_nor_answers_meanwhile(world: World) -> None:
    asked = await pressed(world)
    bobs = next(message for message in world.slack.workspace.messages if message.channel == "D0BOB")
    await world.press("U0BOB", bobs, "Undo")
    await world.slack.expect_private("U0BOB", "You have no answer here")
    late = await world.answer(asked, "deny")
    assert (late.status_code, late.json()["detail"]["error"]) == (409, "already_answered")
    await world.advance(seconds=10)
    assert (await world.told(asked))["data"]["value"] == "approve"


async def test_a_killed_service_finds_the_answer_and_its_time_again(tmp_path: Path, database_url: str) -> None:
    setting = {"answers": {"undo_seconds": 10}}
    async with running(tmp_path, database_url, **setting) as before:
        asked = await pressed(before)
    async with running(tmp_path, database_url, **setting) as world:
        world.clock.move_to(before.clock.now())
        await world.advance(seconds=10)
        assert (await world.show(asked))["response"] == "approve"
