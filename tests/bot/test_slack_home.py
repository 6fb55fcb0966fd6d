"""The App Home: what waits for me, the soonest deadline first, and something to press."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.inbound.slack.home import rest_after
from bot.sandbox.slack.faults import RateLimited
from bot.sandbox.slack.world import View
from channels.slack.home import home_view
from core.domain.action import ShownAction
from core.domain.notice import WhenCut
from tests.bot.slack_service import TEXT, Mode, SlackService, slack_service
from tests.channels.slack.slack_examples import a_notice
from tests.core.store_examples import keep, numbered
from tests.vendors.slack import expect_home, open_home, press_home, tell
from tests.vendors.slack_blocks import check_message
from tests.vendors.slack_faults import SaysNo


@pytest.fixture
async def service(tmp_path: Path, slack_mode: Mode) -> AsyncIterator[SlackService]:
    async with slack_service(tmp_path, slack_mode, home_pause=timedelta(milliseconds=10)) as service:
        yield service


def text_of(view: View) -> str:
    return json.dumps(view.content, ensure_ascii=False)


def questions(view: View) -> list[str]:
    return [block["text"]["text"] for block in view.content["blocks"] if block["block_id"].startswith("question:")]


async def test_it_lists_what_waits_for_me_the_soonest_deadline_first(service: SlackService) -> None:
    await service.ask(question="Second?", timeout=timedelta(hours=2))
    service.clock.advance(minutes=5)
    await service.ask(question="Not mine?", responders=("bob@example.com",))
    await service.ask(question="First?")
    assert (await open_home(service.sandbox, "U1")).status_code == 200
    view = await expect_home(service.sandbox, "U1", "2 waiting for you")
    assert questions(view) == ["First?", "Second?"]
    assert "If nobody answers by 2026-03-24 10:05 UTC, the agent stops." in text_of(view)


async def test_it_says_how_many_wait_however_many_they_are(service: SlackService) -> None:
    """The one with the soonest deadline is shown, though it was asked last."""
    mine = [numbered(n, responders=("alice@example.com",), timeout=timedelta(days=9)) for n in range(1, 300)]
    await keep(service.engine.database, *mine)
    await service.ask(question="Soon?")
    await open_home(service.sandbox, "U1")
    view = await expect_home(service.sandbox, "U1", "300 waiting for you")
    assert questions(view)[0] == "Soon?"
    assert "and 276 more" in text_of(view)


@pytest.mark.parametrize(("took", "rest"), [(0, 3), (0.3, 3), (2, 18)])
def test_looking_after_homes_takes_a_tenth_of_the_time_at_most(took: float, rest: float) -> None:
    assert rest_after(timedelta(seconds=took)) == timedelta(seconds=rest)


async def test_nothing_waits_for_who_has_nothing(service: SlackService) -> None:
    await service.ask()
    await open_home(service.sandbox, "U2")
    await expect_home(service.sandbox, "U2", "Nothing waits for you")


async def test_a_stranger_sees_no_question(service: SlackService) -> None:
    await service.ask()
    service.sandbox.workspace.users["U9"].team_id = "T0OTHER"
    event = {"type": "app_home_opened", "user": "U9", "tab": "home", "team": "T0OTHER"}
    await tell(service.sandbox, event)
    view = await expect_home(service.sandbox, "U9", "not asked in your workspace")
    assert "Refund" not in text_of(view)


async def test_a_question_is_answered_there_and_leaves_it(service: SlackService) -> None:
    asked = await service.ask()
    await open_home(service.sandbox, "U1")
    await expect_home(service.sandbox, "U1", "Refund order 12345?")
    response = await press_home(service.sandbox, "U1", f"answer:{asked.ask.ref}", "ans:0")
    assert response.status_code == 200
    assert await service.answered(asked) == "approve"
    await expect_home(service.sandbox, "U1", "Nothing waits for you")
    await service.sandbox.expect_message("Answered “Approve refund”")


@pytest.mark.parametrize("kind", ["choice", "text"])
async def test_it_shows_its_own_answer_however_long_ago_it_was_opened(kind: str, service: SlackService) -> None:
    asked = await service.ask(**(TEXT if kind == "text" else {}), timeout=timedelta(days=2))
    await open_home(service.sandbox, "U1")
    await expect_home(service.sandbox, "U1", "Refund order 12345?")
    service.clock.advance(hours=2)
    if kind == "choice":
        await press_home(service.sandbox, "U1", f"answer:{asked.ask.ref}", "ans:0")
    else:
        await press_home(service.sandbox, "U1", f"answer:{asked.ask.ref}", "open_modal")
        view = await service.sandbox.expect_view("U1")
        await service.sandbox.submit(view.id, "U1", {"answer": "Because"})
    await expect_home(service.sandbox, "U1", "Nothing waits for you")
    assert await service.answered(asked) == ("approve" if kind == "choice" else "Because")


async def test_what_cannot_be_said_in_a_channel_is_said_in_a_modal(service: SlackService) -> None:
    asked = await service.ask(responders=("alice@example.com", "bob@example.com"))
    message = await service.sandbox.expect_message("Refund")
    await open_home(service.sandbox, "U2")
    await expect_home(service.sandbox, "U2", "Refund order 12345?")
    stale = service.sandbox.workspace.homes["U2"]
    await service.sandbox.click("U1", message, "ans:0")
    service.sandbox.workspace.homes["U2"] = stale  # as it was when they pressed
    await press_home(service.sandbox, "U2", f"answer:{asked.ask.ref}", "ans:1")
    view = await service.sandbox.expect_view("U2")
    assert "Answered “Approve refund” by alice@example.com" in text_of(view)


async def test_a_text_is_answered_from_there_in_a_modal(service: SlackService) -> None:
    asked = await service.ask(**TEXT)
    await open_home(service.sandbox, "U1")
    await expect_home(service.sandbox, "U1", "Refund order 12345?")
    await press_home(service.sandbox, "U1", f"answer:{asked.ask.ref}", "open_modal")
    view = await service.sandbox.expect_view("U1")
    await service.sandbox.submit(view.id, "U1", {"answer": "Because"})
    assert await service.answered(asked) == "Because"


@pytest.mark.parametrize(
    ("code", "said"), [("expired_trigger_id", "That took too long"), ("internal_error", "Slack could not open it.")]
)
async def test_a_modal_that_does_not_open_from_there_leads_to_the_page(
    code: str, said: str, service: SlackService
) -> None:
    asked = await service.ask(**TEXT)
    await open_home(service.sandbox, "U1")
    await expect_home(service.sandbox, "U1", "Refund order 12345?")
    service.sandbox.fail_next(SaysNo(code), "views.open")
    await press_home(service.sandbox, "U1", f"answer:{asked.ask.ref}", "open_modal")
    told = await service.sandbox.expect_message(said)
    assert told.channel == service.sandbox.workspace.im_with("U1").id
    assert f"https://handraise.example.com/q/{asked.ask.ref}" in told.text


async def test_what_no_modal_says_is_said_in_direct_messages(service: SlackService) -> None:
    asked = await service.ask(responders=("alice@example.com", "bob@example.com"))
    message, workspace = await service.sandbox.expect_message("Refund"), service.sandbox.workspace
    await open_home(service.sandbox, "U2")
    stale = await expect_home(service.sandbox, "U2", "Refund order 12345?")
    await service.sandbox.click("U1", message, "ans:0")
    workspace.homes["U2"] = stale  # as it was when they pressed
    service.sandbox.fail_next(SaysNo("expired_trigger_id"), "views.open")
    await press_home(service.sandbox, "U2", f"answer:{asked.ask.ref}", "ans:1")
    direct = workspace.im_with("U2").id
    told = await workspace.until(lambda: next(iter(workspace.posted(direct)), None))
    assert "Answered “Approve refund” by alice@example.com" in told.text


async def test_it_follows_what_happens_elsewhere(service: SlackService) -> None:
    await open_home(service.sandbox, "U1")
    await expect_home(service.sandbox, "U1", "Nothing waits for you")
    asked = await service.ask()
    await expect_home(service.sandbox, "U1", "Refund order 12345?")
    await service.sandbox.click("U1", await service.sandbox.expect_message("Refund"), "ans:0")
    await expect_home(service.sandbox, "U1", "Nothing waits for you")
    assert await service.answered(asked) == "approve"


async def test_a_home_that_slack_does_not_take_is_published_with_the_next_change(service: SlackService) -> None:
    service.sandbox.fail_next(SaysNo("internal_error"), "views.publish")
    assert (await open_home(service.sandbox, "U1")).status_code == 200
    await service.ask()
    await expect_home(service.sandbox, "U1", "Refund order 12345?")


async def test_a_home_that_slack_puts_off_is_published_once_it_may_be(service: SlackService) -> None:
    service.sandbox.fail_next(RateLimited(retry_after=30), "views.publish")
    await open_home(service.sandbox, "U1")
    async with asyncio.timeout(30):
        while "U1" not in service.sandbox.workspace.homes:
            service.clock.advance(seconds=31)
            await asyncio.sleep(0.01)


async def test_as_long_as_slack_wants_to_be_left_alone_no_home_is_published(
    service: SlackService, capsys: pytest.CaptureFixture[str]
) -> None:
    service.sandbox.fail_next(RateLimited(retry_after=30), "views.publish")
    await open_home(service.sandbox, "U1")
    logged = ""
    async with asyncio.timeout(30):
        while "slack.home_not_published" not in (logged := logged + capsys.readouterr().out):
            await asyncio.sleep(0.01)
    await open_home(service.sandbox, "U2")
    await service.ask()
    await service.sandbox.expect_message("Refund")
    assert service.sandbox.workspace.homes == {}
    service.clock.advance(seconds=31)
    await expect_home(service.sandbox, "U1", "Refund order 12345?")
    await expect_home(service.sandbox, "U2", "Nothing waits for you")


async def test_more_than_fits_leads_to_the_inbox(tmp_path: Path) -> None:
    async with slack_service(tmp_path) as service:
        for number in range(30):
            await service.ask(question=f"Question {number}? <!channel> " + "x" * 3000)
            service.clock.advance(seconds=1)
        await open_home(service.sandbox, "U1")
        view = await expect_home(service.sandbox, "U1", "30 waiting for you")
        assert len(view.content["blocks"]) <= 100
        assert len(questions(view)) == 24
        assert "and 6 more" in text_of(view)
        await press_home(service.sandbox, "U1", "more", "link")
        opened = await service.sandbox.expect_view("U1")
        link = "https://handraise.example.com/signin/alice@example.com?to=/inbox"
        assert f"<{link}>" in text_of(opened), "Slack makes a link of nothing else in a modal"
        assert "<!channel>" not in text_of(view)


def test_the_blocks_of_a_home_are_slacks_own() -> None:
    """Checked as a message's are, in parts."""
    blocks: list[dict[str, Any]] = home_view([a_notice(ref=f"HR-{n}") for n in range(3)], 2)["blocks"]
    check_message(blocks)


def home_of(action: dict[str, Any], when_cut: WhenCut = WhenCut.ANSWER) -> tuple[str, list[str]]:
    """The question's text and what there is to press under it."""
    notice = a_notice(context={}, action=ShownAction(action, "1a2b3c4d"))
    blocks: list[dict[str, Any]] = home_view([notice], 0, when_cut)["blocks"]
    check_message(blocks)
    pressed = [one["text"]["text"] for block in blocks if block["type"] == "actions" for one in block["elements"]]
    return blocks[1]["text"]["text"], pressed


def test_what_will_run_stands_above_the_buttons_that_set_it_free() -> None:
    text, pressed = home_of({"tool": "refund", "amount": 49999})
    assert text.startswith("Refund order 12345?\n*Exactly this will run* (sha256 1a2b3c4d)\n```\n{")
    assert '"amount": 49999' in text
    assert pressed == ["Approve refund", "Deny refund"]


@pytest.mark.parametrize("when_cut", WhenCut)
def test_an_action_that_a_home_has_no_room_for_is_opened_before_it_is_approved(when_cut: WhenCut) -> None:
    text, pressed = home_of({"log": "x" * 700}, when_cut)
    assert text.endswith("…\n```\n… open to read all")
    assert pressed == ["Open to read all and answer"]
    assert home_of({"log": "x" * 100}, WhenCut.OPEN)[1] == ["Approve refund", "Deny refund"]
