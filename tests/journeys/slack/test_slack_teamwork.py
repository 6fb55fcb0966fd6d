"""In Slack people claim a question, give it back, ask the agent back and hand it over, without leaving the message."""

from __future__ import annotations

from typing import Any

import pytest

from bot.sandbox.slack.world import Message
from tests.vendors.slack import shown
from tests.world import CHANNEL, World

HOURLY = {"max_attempts": 3, "interval_seconds": 3600}


async def ask(world: World, **more: Any) -> dict[str, Any]:
    return await world.ask(notify_to="group:finance", responders=["group:finance"], retry_policy=HOURLY, **more)


def before(world: World, user: str) -> Message:
    return next(one for one in world.slack.workspace.messages if one.channel == f"D0{user}")


def labels(message: Message) -> list[str]:
    return [one["text"]["text"] for block in message.blocks for one in block.get("elements", []) if "action_id" in one]


async def fill(world: World, user: str, values: dict[str, str]) -> None:
    view = await world.slack.expect_view(user)
    await world.slack.submit(view.id, user, values)
    await world.settle()


async def test_a_claim_is_given_back_by_who_holds_it_alone(any_world: World) -> None:
    world = any_world
    asked = await ask(world)
    await world.press("U0ALICE", before(world, "ALICE"), "I'm on it")
    assert "Give back" in labels(before(world, "BOB"))
    await world.press("U0BOB", before(world, "BOB"), "Give back")
    await world.slack.expect_private("U0BOB", "You hold no claim on this question.")
    assert (await world.show(asked))["claimed_by"] == "alice@example.com"
    await world.press("U0ALICE", before(world, "ALICE"), "Give back")
    assert (await world.show(asked))["claimed_by"] is None
    assert "I'm on it" in labels(before(world, "ALICE"))


async def test_the_agent_is_asked_back_in_a_modal(any_world: World) -> None:
    world = any_world
    asked = await ask(world)
    await world.press("U0ALICE", before(world, "ALICE"), "Ask back…")
    await fill(world, "U0ALICE", {"text": "Which account?"})
    assert (await world.show(asked))["clarification"]["question"] == "Which account?"
    assert "Ask back…" not in labels(before(world, "ALICE"))
    assert "Which account?" in shown(before(world, "BOB"))


async def test_it_is_handed_over_to_somebody_of_the_directory(any_world: World) -> None:
    world = any_world
    asked = await ask(world)
    await world.press("U0ALICE", before(world, "ALICE"), "Hand over…")
    await fill(world, "U0ALICE", {"person": "carol@example.com"})
    assert (await world.show(asked))["assigned_to"] == "carol@example.com"
    assert "carol@example.com" in shown(before(world, "BOB"))


@pytest.mark.parametrize("user", ["U0EVE", "U0CAROL"])
async def test_who_may_not_answer_gets_no_modal_and_no_names(world: World, user: str) -> None:
    await world.ask(notify_to=f"slack:{CHANNEL}", responders=["group:finance"])
    [message] = world.slack.workspace.messages
    for label in ("Hand over…", "Ask back…"):
        await world.press(user, message, label)
    assert not any(view.user == user for view in world.slack.workspace.views.values())


async def test_a_choice_that_wants_it_is_confirmed(world: World) -> None:
    choices = [{"value": "go", "label": "Go", "metadata": {"confirm": True}}, {"value": "wait", "label": "Wait"}]
    await world.ask(notify_to="alice@example.com", choices=choices)
    [go] = [e for b in before(world, "ALICE").blocks for e in b.get("elements", []) if e.get("action_id") == "ans:0"]
    assert go["confirm"]["text"]["text"] == "Your answer will be “Go”."
    assert before(world, "ALICE").button("ans:1").get("confirm") is None  # type: ignore[union-attr]
