"""``slack.require_open_when_cut``: whoever answers a question that its message does not hold has had all of it before
them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from bot.sandbox.slack.world import Message
from tests.vendors.slack import shown
from tests.vendors.slack_blocks import texts
from tests.world import World, running

BESIDE = ["I'm on it", "Ask back…", "Hand over…"]
LONG = "Refund order 12345? " + "All of this matters. " * 200 + "The end."
TOO_MUCH = {"context": {"log": "line " * 8000}}
"""More than a modal is given."""
UNREAD = "longer than its message"
"""What whoever answers without having opened it is told."""


@pytest.fixture
async def strict(tmp_path: Path, sqlite_url: str) -> AsyncIterator[World]:
    async with running(tmp_path, sqlite_url, slack__require_open_when_cut=True) as world:
        yield world


async def asked(world: World, question: str, **fields: Any) -> tuple[dict[str, Any], Message]:
    outcome = await world.ask(question, responders=["alice@example.com"], notify_to="slack:C0OPS", **fields)
    return outcome, world.slack.workspace.messages[-1]


def labels(message: Message) -> list[str]:
    elements = [element for block in message.blocks for element in block.get("elements", [])]
    return [element["text"]["text"] for element in elements if element["type"] == "button"]


async def test_a_question_that_is_cut_is_answered_in_a_modal_that_shows_all_of_it(strict: World) -> None:
    outcome, message = await asked(strict, LONG, context={"log": "line " * 100 + "last line"})
    assert labels(message) == [
        "Open to read all and answer",
        "Deny refund",
        "I'm on it",
        "Ask back…",
        "Hand over…",
        "Open",
    ]
    assert "… open to read all" in shown(message)
    await strict.press("U0ALICE", message, "Open to read all and answer")
    view = await strict.slack.expect_view("U0ALICE")
    read = "".join(texts(view.content["blocks"]))
    assert LONG in read
    assert "last line" in read
    await strict.slack.submit(view.id, "U0ALICE", {"answer": "Deny refund"})
    await strict.settle()
    assert (await strict.told(outcome))["data"]["value"] == "deny"


async def test_what_is_shown_whole_is_answered_where_it_is_shown(strict: World) -> None:
    _, message = await asked(strict, "x" * 3000)
    assert labels(message)[:2] == ["Approve refund", "Deny refund"]


@pytest.mark.parametrize("what", ["a key", "a value", "an eleventh value", "a label", "a description", "escapes"])
async def test_any_text_of_the_agents_that_is_cut_counts(what: str, strict: World) -> None:
    choice = {"value": "yes", "label": "Yes"}
    fields: dict[str, Any] = {
        "a key": {"context": {"k" * 100: 1}},
        "a value": {"context": {"k": {"nested": "v" * 500}}},
        "an eleventh value": {"context": {str(number): number for number in range(11)}},
        "a label": {"choices": [{**choice, "label": "Yes " * 100}]},
        "a description": {"choices": [{**choice, "description": "because " * 100}]},
        "escapes": {},
    }[what]
    _, message = await asked(strict, "&" * 1000 if what == "escapes" else "Short?", **fields)
    assert labels(message)[0] == "Open to read all and answer"


async def test_what_no_modal_holds_is_answered_on_the_page(strict: World) -> None:
    outcome, message = await asked(strict, LONG, **TOO_MUCH)
    assert labels(message) == ["Open to read all and answer", "Deny refund", *BESIDE]
    assert message.button("link") is not None
    assert (await strict.show(outcome))["status"] == "open"


@pytest.mark.parametrize("more", [{}, TOO_MUCH], ids=["with a modal", "with the page"])
async def test_an_answer_by_a_button_that_is_not_there_is_refused_in_private(
    more: dict[str, Any], strict: World
) -> None:
    """One of a message from before the setting, or of somebody who makes their own requests."""
    outcome, message = await asked(strict, LONG, **more)
    assert (await strict.slack.click("U0ALICE", forged_button(outcome, message), "ans:0")).status_code == 200
    assert f"/q/{outcome['ref']}" in (await strict.slack.expect_private("U0ALICE", UNREAD)).text
    assert (await strict.show(outcome))["status"] == "open"


async def test_who_may_not_answer_is_not_sent_to_read_it_all(strict: World) -> None:
    outcome, message = await asked(strict, LONG)
    await strict.slack.click("U0BOB", forged_button(outcome, message), "ans:0")
    await strict.slack.expect_private("U0BOB", "You can't answer this.")
    tried = [one for one in await strict.events(outcome) if one["event_type"] == "intent.suspension_answer_refused"]
    assert [one["payload"]["reason"] for one in tried] == ["not_a_responder"]


def forged_button(outcome: dict[str, Any], message: Message) -> Message:
    forged = deepcopy(message)
    delivery = forged.blocks[-2]["elements"][0]["value"].split(";m=")[1]
    button = {
        "type": "button",
        "action_id": "ans:0",
        "value": f"q={outcome['ref']};c=0;m={delivery}",
        "text": {"type": "plain_text", "text": "Approve refund"},
    }
    forged.blocks.append({"type": "actions", "block_id": "forged", "elements": [button]})
    return forged


async def test_without_the_setting_a_cut_question_is_answered_where_it_is_shown(world: World) -> None:
    outcome, message = await asked(world, LONG)
    assert labels(message) == ["Approve refund", "Deny refund", *BESIDE, "Open"]
    await world.press("U0ALICE", message, "Approve refund")
    assert (await world.show(outcome))["resolution"] == "responded"


async def test_a_text_is_asked_for_under_all_of_its_question_whatever_the_setting(world: World) -> None:
    _, message = await asked(world, LONG, response_type="text")
    await world.press("U0ALICE", message, "Answer…")
    view = await world.slack.expect_view("U0ALICE")
    assert LONG in "".join(texts(view.content["blocks"]))
