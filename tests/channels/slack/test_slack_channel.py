"""Asking in Slack, through the real client: what each answer of Slack's means, and that a doubt never asks twice."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.sandbox.serving import serving
from bot.sandbox.slack.faults import DropAfterStoring, RateLimited, WebApiFault
from bot.sandbox.slack.world import Message as Posted
from channels.slack.channel import SlackChannel
from channels.slack.client import web_client
from core.domain.notice import Message, Purpose
from core.domain.people import Address
from core.ports import Ambiguous, Deferred, Delivered, Refused, Sending
from tests.channels.slack.slack_examples import ASKED, HandClock, a_notice, an_ending
from tests.vendors.slack import SlackSandbox, Workspace
from tests.vendors.slack_faults import DropBeforeStoring, SaysNo, SaysNoAfterStoring, ServerErrorAfterStoring, Slow

pytestmark = pytest.mark.io

OPS = Address("slack", "C1")
ALICE = Address("slack", "U1", "alice@example.com")
FIRST = Sending("delivery-1", 1, ambiguous=False, since=ASKED)
AGAIN = replace(FIRST, tries=2, ambiguous=True)


async def test_a_notice_is_posted_with_its_delivery_in_the_metadata(
    channel: SlackChannel, sandbox: SlackSandbox
) -> None:
    outcome = await channel.send(a_notice(), OPS, FIRST)
    (message,) = sandbox.workspace.messages
    assert outcome == Delivered({"channel": "C1", "ts": message.ts})
    assert message.metadata == {"event_type": "handraise_notice", "event_payload": {"delivery_id": "delivery-1"}}
    assert message.button("ans:0") is not None


async def test_a_person_is_asked_in_direct_messages_that_are_opened_once(
    channel: SlackChannel, sandbox: SlackSandbox
) -> None:
    assert isinstance(await channel.send(a_notice(), ALICE, FIRST), Delivered)
    sandbox.fail_next(SaysNo("user_not_found"), "conversations.open")
    outcome = await channel.send(a_notice(), ALICE, replace(FIRST, id="delivery-2"))
    assert isinstance(outcome, Delivered)
    assert [message.channel for message in sandbox.workspace.messages] == ["D1", "D1"]
    assert outcome.receipt["channel"] == "D1"


def archive(workspace: Workspace) -> None:
    workspace.conversations["C1"].is_archived = True


def throw_the_bot_out(workspace: Workspace) -> None:
    workspace.conversations["C1"].members.clear()


def take_the_scope(workspace: Workspace) -> None:
    workspace.scopes.discard("chat:write")


def revoke(workspace: Workspace) -> None:
    workspace.token_trouble = "token_revoked"


def close_the_channel(workspace: Workspace) -> None:
    del workspace.conversations["C1"]


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (archive, "is_archived"),
        (throw_the_bot_out, "not_in_channel"),
        (take_the_scope, "missing_scope"),
        (revoke, "token_revoked"),
        (close_the_channel, "channel_not_found"),
    ],
)
async def test_a_mistake_in_the_set_up_is_refused_with_slacks_own_word(
    spoil: Callable[[Workspace], None], reason: str, channel: SlackChannel, sandbox: SlackSandbox
) -> None:
    spoil(sandbox.workspace)
    assert await channel.send(a_notice(), OPS, FIRST) == Refused(reason)


@pytest.mark.parametrize(
    "reason", ["invalid_auth", "account_inactive", "restricted_action", "ekm_access_denied", "an_error_of_the_future"]
)
async def test_whatever_else_slack_names_is_final(reason: str, channel: SlackChannel, sandbox: SlackSandbox) -> None:
    sandbox.fail_next(SaysNo(reason))
    assert await channel.send(a_notice(), OPS, FIRST) == Refused(reason)


@pytest.mark.parametrize("reason", ["user_disabled", "cannot_dm_bot", "user_not_found"])
async def test_a_person_who_cannot_be_reached_is_refused(
    reason: str, channel: SlackChannel, sandbox: SlackSandbox
) -> None:
    sandbox.fail_next(SaysNo(reason), "conversations.open")
    assert await channel.send(a_notice(), ALICE, FIRST) == Refused(reason)


async def test_a_rate_limit_holds_the_message_until_slack_wants_it(
    channel: SlackChannel, sandbox: SlackSandbox, clock: HandClock
) -> None:
    sandbox.fail_next(RateLimited(retry_after=17))
    outcome = await channel.send(a_notice(), OPS, FIRST)
    assert outcome == Deferred("ratelimited", clock.now() + timedelta(seconds=17))
    assert sandbox.workspace.messages == []


async def test_nobody_listening_is_surely_not_sent(sandbox: SlackSandbox, clock: HandClock) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        channel = SlackChannel(web_client("xoxb-sandbox", f"http://127.0.0.1:{port}/api/"), clock.now)
        assert await channel.send(a_notice(), OPS, FIRST) == Deferred("connect_failed")


async def test_no_such_host_is_surely_not_sent(clock: HandClock) -> None:
    channel = SlackChannel(web_client("xoxb-sandbox", "http://no-such-host.invalid/api/"), clock.now)
    assert await channel.send(a_notice(), OPS, FIRST) == Deferred("connect_failed")


DOUBTS: dict[str, tuple[WebApiFault, str]] = {
    "dropped before it was stored": (DropBeforeStoring(), "connection_lost"),
    "dropped after it was stored": (DropAfterStoring(), "connection_lost"),
    "a server error": (ServerErrorAfterStoring(500), "http_500"),
    "a gateway error": (ServerErrorAfterStoring(503), "http_503"),
    "an internal error": (SaysNoAfterStoring("internal_error"), "internal_error"),
    "a fatal error": (SaysNoAfterStoring("fatal_error"), "fatal_error"),
}


@pytest.mark.parametrize("name", DOUBTS)
async def test_a_doubt_is_cleared_up_and_the_question_stands_there_once(
    name: str, channel: SlackChannel, sandbox: SlackSandbox
) -> None:
    fault, reason = DOUBTS[name]
    sandbox.fail_next(fault)
    assert await channel.send(a_notice(), OPS, FIRST) == Ambiguous(reason)
    outcome = await channel.send(a_notice(), OPS, AGAIN)
    (message,) = sandbox.workspace.messages
    assert outcome == Delivered({"channel": "C1", "ts": message.ts})


@pytest.mark.slow
async def test_an_answer_that_takes_too_long_is_a_doubt(
    sandbox: SlackSandbox, slack_url: str, clock: HandClock
) -> None:
    channel = SlackChannel(web_client(sandbox.workspace.bot_token, slack_url, timeout=2), clock.now)
    sandbox.fail_next(Slow(seconds=60))
    assert await channel.send(a_notice(), OPS, FIRST) == Ambiguous("timeout")
    assert isinstance(await channel.send(a_notice(), OPS, AGAIN), Delivered)
    assert len(sandbox.workspace.messages) == 1


async def test_the_message_is_found_behind_many_others_and_in_direct_messages(
    channel: SlackChannel, sandbox: SlackSandbox, clock: HandClock
) -> None:
    sandbox.fail_next(DropAfterStoring(), "chat.postMessage")
    await channel.send(a_notice(), ALICE, FIRST)
    for number in range(450):
        sandbox.workspace.messages.append(Posted("D1", sandbox.workspace.new_ts(), "U1", f"chat {number}"))
    clock.advance(minutes=10)
    outcome = await channel.send(a_notice(), ALICE, AGAIN)
    (asked,) = [message for message in sandbox.workspace.messages if message.metadata]
    assert outcome == Delivered({"channel": "D1", "ts": asked.ts})


async def test_a_reminder_in_doubt_is_found_in_its_thread_where_the_channel_does_not_show_it(
    channel: SlackChannel, sandbox: SlackSandbox
) -> None:
    root = await channel.send(a_notice(), OPS, replace(FIRST, id="delivery-0"))
    assert isinstance(root, Delivered)
    sandbox.fail_next(DropAfterStoring(), "chat.postMessage")
    await channel.send(a_notice(attempt=2), OPS, replace(FIRST, earlier=(root.receipt,)))
    reminder = sandbox.workspace.messages[-1]
    reminder.broadcast = False
    found = await channel.send(a_notice(attempt=2), OPS, replace(AGAIN, earlier=(root.receipt,)))
    assert found == Delivered({"channel": "C1", "ts": reminder.ts, "thread": root.receipt["ts"]})
    assert len(sandbox.workspace.messages) == 2


async def test_somebody_elses_message_is_not_taken_for_ours(channel: SlackChannel, sandbox: SlackSandbox) -> None:
    await channel.send(a_notice(), OPS, replace(FIRST, id="delivery-0"))
    await channel.send(a_notice(), OPS, AGAIN)
    payloads = [message.metadata["event_payload"] for message in sandbox.workspace.messages if message.metadata]
    assert payloads == [{"delivery_id": "delivery-0"}, {"delivery_id": "delivery-1"}]


async def test_another_apps_message_with_our_metadata_is_not_taken_for_ours(
    channel: SlackChannel, sandbox: SlackSandbox
) -> None:
    metadata = {"event_type": "handraise_notice", "event_payload": {"delivery_id": AGAIN.id}}
    forged = Posted("C1", sandbox.workspace.new_ts(), "U1", "Refund?", metadata=metadata)
    sandbox.workspace.messages.append(forged)
    outcome = await channel.send(a_notice(), OPS, AGAIN)
    asked = sandbox.workspace.messages[-1]
    assert asked is not forged
    assert outcome == Delivered({"channel": "C1", "ts": asked.ts})


@pytest.mark.parametrize(
    ("faults", "outcome"),
    [
        ([DropBeforeStoring()] * 2, Deferred("connection_lost")),  # aiohttp repeats a GET once by itself
        ([ServerErrorAfterStoring()], Deferred("http_500")),
        ([SaysNo("missing_scope")], Refused("missing_scope")),
    ],
)
async def test_while_a_doubt_cannot_be_cleared_up_nothing_is_posted(
    faults: list[WebApiFault], outcome: Any, channel: SlackChannel, sandbox: SlackSandbox
) -> None:
    for fault in faults:
        sandbox.fail_next(fault, "conversations.history")
    assert await channel.send(a_notice(), OPS, AGAIN) == outcome
    assert sandbox.workspace.messages == []


async def test_trouble_with_opening_direct_messages_is_no_doubt_about_the_message(
    channel: SlackChannel, sandbox: SlackSandbox
) -> None:
    sandbox.fail_next(DropAfterStoring(), "conversations.open")
    assert await channel.send(a_notice(), ALICE, FIRST) == Deferred("connection_lost")


@pytest.mark.parametrize("reason", ["invalid_blocks", "msg_blocks_too_long", "msg_too_long"])
async def test_blocks_that_slack_cannot_show_become_a_plain_message_with_the_link(
    reason: str, channel: SlackChannel, sandbox: SlackSandbox
) -> None:
    sandbox.fail_next(SaysNo(reason), "chat.postMessage")
    outcome = await channel.send(a_notice(), OPS, FIRST)
    assert isinstance(outcome, Delivered)
    (message,) = sandbox.workspace.messages
    assert message.blocks == []
    assert "Refund order 12345?" in message.text
    assert "https://handraise.example.com/q/HR-7F3K" in message.text


async def test_a_plain_message_that_is_refused_too_is_the_end(channel: SlackChannel, sandbox: SlackSandbox) -> None:
    sandbox.fail_next(SaysNo("invalid_blocks"), "chat.postMessage")
    sandbox.fail_next(SaysNo("msg_too_long"), "chat.postMessage")
    assert await channel.send(a_notice(), OPS, FIRST) == Refused("msg_too_long")
    assert sandbox.workspace.messages == []


async def test_the_end_takes_the_buttons_away_and_says_how_it_ended(
    channel: SlackChannel, sandbox: SlackSandbox
) -> None:
    sent = await channel.send(a_notice(), OPS, FIRST)
    assert isinstance(sent, Delivered)
    ended = await channel.withdraw(an_ending(), sent.receipt, replace(FIRST, id="withdrawal-1"))
    assert ended == sent
    (message,) = sandbox.workspace.messages
    assert message.button("ans:0") is None
    assert await sandbox.expect_message("Answered “Approve refund” by alice@example.com") is message


@pytest.mark.parametrize(
    "reason",
    ["message_not_found", "channel_not_found", "is_archived", "edit_window_closed", "cant_update_message"],
)
async def test_a_message_that_can_no_longer_be_edited_is_left_alone(
    reason: str, channel: SlackChannel, sandbox: SlackSandbox
) -> None:
    sandbox.fail_next(SaysNo(reason), "chat.update")
    outcome = await channel.withdraw(an_ending(), {"channel": "C1", "ts": "1.000001"}, FIRST)
    assert outcome == Refused(reason)


async def test_an_edit_whose_blocks_are_refused_still_takes_the_buttons_away(
    channel: SlackChannel, sandbox: SlackSandbox
) -> None:
    sent = await channel.send(a_notice(), OPS, FIRST)
    assert isinstance(sent, Delivered)
    sandbox.fail_next(SaysNo("invalid_blocks"), "chat.update")
    assert await channel.withdraw(an_ending(), sent.receipt, FIRST) == sent
    (message,) = sandbox.workspace.messages
    assert message.blocks == []
    assert "Answered “Approve refund”" in message.text


async def test_an_edit_in_doubt_is_repeated_and_a_limited_one_waits(
    channel: SlackChannel, sandbox: SlackSandbox, clock: HandClock
) -> None:
    sent = await channel.send(a_notice(), OPS, FIRST)
    assert isinstance(sent, Delivered)
    sandbox.fail_next(DropAfterStoring(), "chat.update")
    assert await channel.withdraw(an_ending(), sent.receipt, FIRST) == Ambiguous("connection_lost")
    assert await channel.withdraw(an_ending(), sent.receipt, AGAIN) == sent
    sandbox.fail_next(RateLimited(retry_after=3), "chat.update")
    limited = await channel.withdraw(an_ending(), sent.receipt, AGAIN)
    assert limited == Deferred("ratelimited", clock.now() + timedelta(seconds=3))


async def test_a_receipt_without_a_message_is_refused(channel: SlackChannel) -> None:
    assert await channel.withdraw(an_ending(), {}, FIRST) == Refused("receipt_unreadable")


async def test_a_short_message_is_told_once_whatever_happens(channel: SlackChannel, sandbox: SlackSandbox) -> None:
    message = Message(Purpose.SIGN_IN, "Sign in", "Here is your link.", "https://handraise.example.com/s/x")
    sandbox.fail_next(DropAfterStoring(), "chat.postMessage")
    assert await channel.tell(message, ALICE, FIRST) == Ambiguous("connection_lost")
    assert isinstance(await channel.tell(message, ALICE, AGAIN), Delivered)
    (told,) = sandbox.workspace.messages
    assert told.text.endswith("<https://handraise.example.com/s/x>")
    assert told.blocks == []


async def test_a_body_that_is_no_json_is_a_doubt(clock: HandClock) -> None:
    async def broken(request: Request) -> Response:
        return Response('{"ok": tr', media_type="application/json")

    async with serving(Starlette(routes=[Route("/api/{method}", broken, methods=["POST"])])) as url:
        channel = SlackChannel(web_client("xoxb-sandbox", f"{url}/api/"), clock.now)
        assert await channel.send(a_notice(), OPS, FIRST) == Ambiguous("http_200")


async def test_no_request_or_answer_is_written_to_the_log(
    channel: SlackChannel, sandbox: SlackSandbox, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    await channel.send(a_notice(question="Fire the chief accountant?"), OPS, FIRST)
    sandbox.fail_next(SaysNo("invalid_blocks"))
    await channel.send(a_notice(question="Fire the chief accountant?"), OPS, FIRST)
    assert "accountant" not in caplog.text
    assert sandbox.workspace.bot_token not in caplog.text


async def test_a_proxy_of_the_environment_is_not_asked_for_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    assert web_client("xoxb-sandbox", "http://127.0.0.1:1/api/").proxy is None
    assert web_client("xoxb-real").proxy == "http://proxy.example:3128"


def test_the_client_repeats_nothing_by_itself(client: AsyncWebClient) -> None:
    assert client.retry_handlers == []
