"""What goes wrong on the way to Slack, a test for each row of the table, named like the row (facts on channels §F).

The service's own clock is moved by hand; the sandbox is asked what it stored, the operators' mailbox what it was told.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.sandbox.serving import serving
from bot.sandbox.slack.faults import DropAfterStoring, RateLimited, WebApiFault
from bot.sandbox.slack.world import Message
from tests.process import service_process
from tests.vendors.slack import SlackSandbox, shown
from tests.vendors.slack_faults import DropBeforeStoring, SaysNo, SaysNoAfterStoring, ServerErrorAfterStoring, Slow
from tests.world import CHANNEL, KEYS, World, config, running

OPS = "ops@example.com"
LADDER = {
    "max_attempts": 2,
    "interval_seconds": 86400,
    "escalation_ladder": [{"attempt": 2, "channel_hint": "email", "notify_to": "alice@example.com"}],
}


@pytest.fixture
async def watched(tmp_path: Path, sqlite_url: str) -> AsyncIterator[World]:
    """A service whose operators are told by mail."""
    async with running(tmp_path, sqlite_url, alerts={"notify": [f"email:{OPS}"]}) as world:
        yield world


def told(world: World) -> list[str]:
    return [mail.subject for mail in world.mailbox.of(OPS)]


def posted(slack: SlackSandbox, question: str = "Refund order 12345?") -> list[Message]:
    return [message for message in slack.workspace.messages if question in shown(message)]


async def deliveries(world: World, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [item for item in await world.timeline(asked) if item["kind"] == "delivery"]


# --- All channels -------------------------------------------------------------------------------------------------


async def test_state_no_longer_open_at_send_time_sends_nothing(world: World) -> None:
    world.slack.fail_next(RateLimited(60), "chat.postMessage")
    asked = await world.ask()
    assert (await world.answer(asked, "approve")).status_code == 200
    await world.advance(minutes=5)
    assert posted(world.slack) == []
    [delivery] = await deliveries(world, asked)
    assert delivery["status"] == "dropped"


@pytest.mark.kills
@pytest.mark.parametrize("arrived", [True, False], ids=["it had arrived", "it had not"])
async def test_worker_dies_while_sending_it_is_sent_again_only_if_absent(
    tmp_path: Path, sqlite_url: str, *, arrived: bool
) -> None:
    slack = SlackSandbox(now=lambda: datetime.now(UTC))
    slack.workspace.add_channel(CHANNEL, "ops")
    async with serving(slack.app) as url:
        told_slack = {
            "bot_token": slack.workspace.bot_token,
            "signing_secret": slack.signing_secret,
            "api_url": f"{url}/api/",
            "default_channel": CHANNEL,
        }
        settings = config(sqlite_url, {"slack": told_slack}) | {"work": {"beat_seconds": 1, "silent_seconds": 3}}
        async with service_process(tmp_path, settings) as service, httpx.AsyncClient(timeout=30) as http:
            await service.start()
            slack.fail_next(Slow(60), "chat.postMessage")
            body = {"question": "Go on?", "response_type": "confirm"}
            asking = {"json": body, "headers": {"X-API-Key": KEYS["agent"]}}
            assert (await http.post(f"{service.url}/v1/suspensions", **asking)).status_code == 201  # type: ignore[arg-type]
            await slack.expect_message("Go on?")
            await service.kill()
            if not arrived:
                slack.workspace.messages.clear()
            await service.start()
            await slack.expect_message("Go on?", within=90)
            await service.terminate()
    assert len(posted(slack, "Go on?")) == 1


async def test_permanent_the_ladder_advances_now_and_the_timer_is_unchanged(watched: World) -> None:
    watched.slack.fail_next(SaysNo("is_archived"), "chat.postMessage")
    asked = await watched.ask(retry_policy=LADDER)
    assert len(watched.mailbox.of("alice@example.com")) == 1
    now = await watched.show(asked)
    assert now["attempt"] == 2
    assert now["expires_at"] == asked["expires_at"]


async def test_permanent_at_the_last_rung_alarms_the_operators(watched: World) -> None:
    watched.slack.fail_next(SaysNo("user_disabled"), "conversations.open")
    asked = await watched.ask(notify_to="alice@example.com")
    assert f"[{asked['ref']}] nobody could be reached" in told(watched)


# --- Slack --------------------------------------------------------------------------------------------------------


async def test_connect_refused_is_tried_again_and_was_definitely_not_sent(tmp_path: Path, sqlite_url: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    async with running(tmp_path, sqlite_url, slack__api_url=f"http://127.0.0.1:{port}/api/") as world:
        asked = await world.ask()
        [delivery] = await deliveries(world, asked)
        assert (delivery["status"], delivery["reason"]) == ("pending", "connect_failed")
        async with serving(world.slack.app, port=port):
            await world.advance(minutes=1)
            assert len(posted(world.slack)) == 1
        assert world.slack.unsaid == []


DOUBTS: dict[str, WebApiFault] = {
    "reset before it was stored": DropBeforeStoring(),
    "reset after it was stored": DropAfterStoring(),
    "5xx": ServerErrorAfterStoring(503),
    "internal_error": SaysNoAfterStoring("internal_error"),
    "fatal_error": SaysNoAfterStoring("fatal_error"),
}


@pytest.mark.parametrize("attempt", [1, 2])
@pytest.mark.parametrize("doubt", DOUBTS)
async def test_timeout_reset_5xx_internal_error_is_reconciled_then_retried(
    doubt: str, attempt: int, world: World
) -> None:
    """Also for a reminder, which is in a thread."""
    faults = [DOUBTS[doubt]]
    if attempt == 1:
        world.slack.fail_next(faults.pop(), "chat.postMessage")
    asked = await world.ask(retry_policy={"max_attempts": attempt, "interval_seconds": 3600})
    for fault in faults:
        world.slack.fail_next(fault, "chat.postMessage")
        await world.advance(hours=1)
    await world.advance(minutes=10)
    assert len(posted(world.slack)) == attempt
    assert [one["status"] for one in await deliveries(world, asked)] == ["delivered"] * attempt
    assert (await world.answer(asked, "approve")).status_code == 200
    await world.settle()
    assert all(message.button("ans:0") is None for message in world.slack.workspace.messages)


async def test_429_waits_for_retry_after_and_pauses_that_channels_bucket_alone(world: World) -> None:
    world.slack.workspace.add_channel("C0QUIET", "quiet")
    world.slack.fail_next(RateLimited(120), "chat.postMessage")
    await world.ask("One?")
    asked = [await world.ask(f"{name}?") for name in ("Two", "Three")]
    await world.ask("Elsewhere?", notify_to="slack:C0QUIET")
    assert posted(world.slack, "Elsewhere?") != [], "another conversation goes on"
    assert posted(world.slack, "Two?") == [], "what waits makes no request that would be refused"
    assert len(world.slack.faults) == 0
    [delivery] = await deliveries(world, asked[0])
    assert (delivery["status"], delivery["reason"]) == ("pending", "waits_for_its_turn")
    await world.advance(seconds=119)
    assert [posted(world.slack, f"{name}?") for name in ("One", "Two", "Three")] == [[], [], []]
    world.slack.workspace.conversations[CHANNEL].seconds_between_posts = 1
    await world.advance(seconds=10)
    assert [len(posted(world.slack, f"{name}?")) for name in ("One", "Two", "Three")] == [1, 1, 1]
    assert [one["tries"] for one in await deliveries(world, asked[1])] == [2], "each had a turn of its own"


async def test_many_full_conversations_are_a_full_workspace(world: World) -> None:
    for number in range(4):
        world.slack.workspace.add_channel(f"C0ROOM{number}", f"room {number}")
    for number in range(3):
        world.slack.fail_next(RateLimited(60), "chat.postMessage")
        await world.ask(f"Question {number}?", notify_to=f"slack:C0ROOM{number}")
    await world.ask("Question 3?", notify_to="slack:C0ROOM3")
    assert world.slack.workspace.messages == []
    await world.advance(minutes=2)
    assert len(world.slack.workspace.messages) == 4


CONFIG_ERRORS = (
    *("invalid_auth", "account_inactive", "token_revoked", "not_in_channel", "channel_not_found", "is_archived"),
    *("missing_scope", "restricted_action", "restricted_action_thread_only_channel", "cannot_dm_bot", "user_disabled"),
)


@pytest.mark.parametrize("code", CONFIG_ERRORS)
async def test_config_errors_are_permanent_alarm_once_and_go_to_the_next_rung(code: str, watched: World) -> None:
    for number in range(2):
        watched.slack.fail_next(SaysNo(code), "chat.postMessage")
        asked = await watched.ask(f"Question {number}?", retry_policy=LADDER)
        assert (await watched.show(asked))["attempt"] == 2
    await watched.advance(minutes=10)
    assert told(watched) == [f"Notices by slack are refused ({code})"]
    assert len(watched.mailbox.of("alice@example.com")) == 2
    assert watched.slack.workspace.messages == [], "nothing is tried again"


@pytest.mark.parametrize("code", ["invalid_blocks", "msg_too_long", "msg_blocks_too_long"])
async def test_invalid_blocks_or_too_long_are_sent_once_as_plain_text_with_the_link(code: str, watched: World) -> None:
    watched.slack.fail_next(SaysNo(code), "chat.postMessage")
    asked = await watched.ask(retry_policy=LADDER)
    [message] = posted(watched.slack)
    assert message.blocks == []
    assert f"/q/{asked['ref']}" in message.text
    assert (await watched.show(asked))["attempt"] == 1
    assert told(watched) == []


@pytest.mark.parametrize("code", ["invalid_blocks", "msg_too_long"])
async def test_invalid_blocks_in_plain_text_too_are_permanent(code: str, watched: World) -> None:
    for _ in range(2):
        watched.slack.fail_next(SaysNo(code), "chat.postMessage")
    asked = await watched.ask(retry_policy=LADDER)
    assert watched.slack.workspace.messages == []
    assert (await watched.show(asked))["attempt"] == 2
    assert told(watched) == [f"Notices by slack are refused ({code})"]


@pytest.mark.parametrize("code", ["fatal_error", "ratelimited", "token_revoked", "missing_scope", "an_error_to_come"])
async def test_chat_update_that_fails_is_retried_for_hours(code: str, world: World) -> None:
    asked = await world.ask()
    [message] = posted(world.slack)
    for _ in range(8):
        world.slack.fail_next(SaysNo(code), "chat.update")
    assert (await world.answer(asked, "approve")).status_code == 200
    await world.settle()
    assert message.button("ans:0") is not None
    await world.advance(hours=2)
    assert message.button("ans:0") is None
    assert "Answered “Approve refund” by alice@example.com" in shown(message)


@pytest.mark.parametrize("code", ["message_not_found", "channel_not_found", "is_archived", "edit_window_closed"])
async def test_chat_update_of_what_is_gone_is_dropped(code: str, watched: World) -> None:
    asked = await watched.ask()
    [message] = posted(watched.slack)
    watched.slack.fail_next(SaysNo(code), "chat.update")
    assert (await watched.answer(asked, "approve")).status_code == 200
    await watched.advance(hours=4)
    assert not message.edited
    assert told(watched) == []


async def test_views_open_expired_trigger_id_says_press_again_and_where_the_page_is(world: World) -> None:
    asked = await world.ask("Why?", response_type="text")
    [message] = posted(world.slack, "Why?")
    world.slack.fail_next(SaysNo("expired_trigger_id"), "views.open")
    await world.press("U0ALICE", message, "Answer…")
    note = await world.slack.expect_private("U0ALICE", "again")
    assert f"/q/{asked['ref']}" in note.text
