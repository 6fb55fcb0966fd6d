"""The pretend Slack Web API, through the real client: what it keeps, what it refuses, and how it breaks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from bot.sandbox.serving import serving
from bot.sandbox.slack.faults import DropAfterStoring, RateLimited
from bot.sandbox.slack.world import Message
from tests.channels.slack.slack_examples import HandClock
from tests.vendors.slack import SlackSandbox, Workspace
from tests.vendors.slack_faults import DropBeforeStoring, SaysNo, SaysNoAfterStoring, ServerErrorAfterStoring, Slow


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def sandbox(clock: HandClock) -> SlackSandbox:
    sandbox = SlackSandbox(now=clock.now)
    sandbox.workspace.add_user("U1", "Alice", "Alice@example.com")
    sandbox.workspace.add_user("U2", "Bob", "bob@example.com")
    sandbox.workspace.add_channel("C1", "ops", "U1")
    return sandbox


@pytest.fixture
async def url(sandbox: SlackSandbox) -> AsyncIterator[str]:
    async with serving(sandbox.app) as url:
        yield url


@pytest.fixture
def client(sandbox: SlackSandbox, url: str) -> AsyncWebClient:
    return AsyncWebClient(token=sandbox.workspace.bot_token, base_url=f"{url}/api/", retry_handlers=[])


async def refused(call: Any) -> str:
    with pytest.raises(SlackApiError) as refusal:
        await call
    return str(refusal.value.response["error"])


def archive(workspace: Workspace) -> None:
    workspace.conversations["C1"].is_archived = True


def throw_the_bot_out(workspace: Workspace) -> None:
    workspace.conversations["C1"].members.discard(workspace.bot.id)


def hide(workspace: Workspace) -> None:
    workspace.conversations["C1"].is_private = True
    throw_the_bot_out(workspace)


def restrict(workspace: Workspace) -> None:
    workspace.conversations["C1"].posting_restricted = True


def revoke(workspace: Workspace) -> None:
    workspace.token_trouble = "token_revoked"


def deactivate(workspace: Workspace) -> None:
    workspace.token_trouble = "account_inactive"


def change_the_token(workspace: Workspace) -> None:
    workspace.bot_token = "xoxb-another"


def take_the_scope(workspace: Workspace) -> None:
    workspace.scopes.discard("chat:write")


MISCONFIGURED: dict[str, Callable[[Workspace], None]] = {
    "is_archived": archive,
    "not_in_channel": throw_the_bot_out,
    "channel_not_found": hide,
    "restricted_action": restrict,
    "token_revoked": revoke,
    "account_inactive": deactivate,
    "invalid_auth": change_the_token,
    "missing_scope": take_the_scope,
}


@pytest.mark.parametrize("code", MISCONFIGURED)
async def test_a_misconfigured_post_is_refused_with_slacks_own_code(
    code: str, sandbox: SlackSandbox, client: AsyncWebClient
) -> None:
    MISCONFIGURED[code](sandbox.workspace)
    assert await refused(client.chat_postMessage(channel="C1", text="hello")) == code
    assert sandbox.workspace.messages == []


@pytest.mark.filterwarnings("ignore:The top-level `text` argument is missing")
async def test_an_unknown_channel_an_empty_message_and_no_token_are_refused(client: AsyncWebClient, url: str) -> None:
    assert await refused(client.chat_postMessage(channel="C404", text="hello")) == "channel_not_found"
    assert await refused(client.chat_postMessage(channel="#ops", text="hello")) == "channel_not_found"
    assert await refused(client.chat_postMessage(channel="C1", text=" ")) == "no_text"
    nobody = AsyncWebClient(base_url=f"{url}/api/", retry_handlers=[])
    assert await refused(nobody.chat_postMessage(channel="C1", text="hello")) == "not_authed"
    assert await refused(client.api_call("chat.shout")) == "unknown_method"


async def test_a_missing_scope_says_which_one(sandbox: SlackSandbox, client: AsyncWebClient) -> None:
    sandbox.workspace.scopes.discard("users:read.email")
    with pytest.raises(SlackApiError) as refusal:
        await client.users_lookupByEmail(email="alice@example.com")
    assert refusal.value.response["needed"] == "users:read.email"
    assert "chat:write" in refusal.value.response["provided"]


@pytest.mark.parametrize(
    ("channel", "scope"), [("C1", "channels:history"), ("G1", "groups:history"), ("D1", "im:history")]
)
async def test_reading_needs_the_scope_of_its_kind_of_channel(
    channel: str, scope: str, sandbox: SlackSandbox, client: AsyncWebClient
) -> None:
    sandbox.workspace.add_channel("G1", "board", "U1").is_private = True
    await client.conversations_open(users="U1")
    assert (await client.conversations_history(channel=channel))["ok"]
    sandbox.workspace.scopes.discard(scope)
    assert await refused(client.conversations_history(channel=channel)) == "missing_scope"
    assert await refused(client.conversations_replies(channel=channel, ts="1")) == "missing_scope"


async def test_a_public_scope_lets_the_bot_post_where_it_is_no_member(
    sandbox: SlackSandbox, client: AsyncWebClient
) -> None:
    throw_the_bot_out(sandbox.workspace)
    sandbox.workspace.scopes.add("chat:write.public")
    assert (await client.chat_postMessage(channel="C1", text="hello"))["ok"]
    assert await refused(client.conversations_history(channel="C1")) == "not_in_channel"


async def test_direct_messages_reach_a_person_but_no_bot_and_nobody_who_left(
    sandbox: SlackSandbox, client: AsyncWebClient
) -> None:
    opened = await client.conversations_open(users="U1")
    assert opened["channel"]["id"] == "D1"
    posted = await client.chat_postMessage(channel="U1", text="hello")
    assert posted["channel"] == "D1"
    assert await refused(client.conversations_open(users=sandbox.workspace.bot.id)) == "cannot_dm_bot"
    sandbox.workspace.users["U2"].deleted = True
    assert await refused(client.conversations_open(users="U2")) == "user_disabled"
    assert await refused(client.conversations_open(users="U404")) == "user_not_found"


async def test_a_text_is_cut_off_when_posted_and_refused_when_edited(
    sandbox: SlackSandbox, client: AsyncWebClient
) -> None:
    posted = await client.chat_postMessage(channel="C1", text="x" * 40_001)
    assert len(sandbox.workspace.messages[0].text) == 40_000
    assert (await client.chat_update(channel="C1", ts=posted["ts"], text="é" * 2000))["ok"]
    assert await refused(client.chat_update(channel="C1", ts=posted["ts"], text="é" * 2001)) == "msg_too_long"


async def test_an_edit_keeps_blocks_that_are_not_given(sandbox: SlackSandbox, client: AsyncWebClient) -> None:
    divider = [{"type": "divider"}]
    posted = await client.chat_postMessage(channel="C1", text="before", blocks=divider)
    await client.chat_update(channel="C1", ts=posted["ts"], text="after")
    message = sandbox.workspace.messages[0]
    assert (message.text, [block["type"] for block in message.blocks], message.edited) == ("after", ["divider"], True)
    await client.chat_update(channel="C1", ts=posted["ts"], text="bare", blocks=[])
    assert message.blocks == []


async def test_only_an_own_message_in_an_open_channel_can_be_edited(
    sandbox: SlackSandbox, client: AsyncWebClient
) -> None:
    posted = await client.chat_postMessage(channel="C1", text="mine")
    sandbox.workspace.messages.append(Message("C1", "1.000001", "U1", "Alice's"))
    assert await refused(client.chat_update(channel="C1", ts="9.9", text="x")) == "message_not_found"
    assert await refused(client.chat_update(channel="C404", ts="9.9", text="x")) == "channel_not_found"
    assert await refused(client.chat_update(channel="U1", ts="9.9", text="x")) == "channel_not_found"
    assert await refused(client.chat_update(channel="C1", ts="1.000001", text="x")) == "cant_update_message"
    sandbox.workspace.conversations["C1"].edits_allowed = False
    assert await refused(client.chat_update(channel="C1", ts=posted["ts"], text="x")) == "edit_window_closed"
    archive(sandbox.workspace)
    assert await refused(client.chat_update(channel="C1", ts=posted["ts"], text="x")) == "is_archived"


async def test_history_shows_metadata_only_to_who_asks_for_it(client: AsyncWebClient) -> None:
    metadata = {"event_type": "greeting", "event_payload": {"id": "one"}}
    await client.chat_postMessage(channel="C1", text="hello", metadata=metadata)
    told = await client.conversations_history(channel="C1", include_all_metadata=True)
    assert told["messages"][0]["metadata"] == metadata
    untold = await client.conversations_history(channel="C1")
    assert "metadata" not in untold["messages"][0]


async def test_history_is_newest_first_after_oldest_and_in_pages(clock: HandClock, client: AsyncWebClient) -> None:
    for number in range(5):
        await client.chat_postMessage(channel="C1", text=f"message {number}")
        clock.advance(minutes=1)
    since = (clock.time - timedelta(minutes=4, seconds=30)).timestamp()
    first = await client.conversations_history(channel="C1", oldest=f"{since:.6f}", limit=3)
    assert [one["text"] for one in first["messages"]] == ["message 4", "message 3", "message 2"]
    assert first["has_more"]
    cursor = first["response_metadata"]["next_cursor"]
    rest = await client.conversations_history(channel="C1", oldest=f"{since:.6f}", limit=3, cursor=cursor)
    assert [one["text"] for one in rest["messages"]] == ["message 1"]
    assert not rest["has_more"]


async def test_replies_are_in_their_thread_and_not_in_the_history(client: AsyncWebClient) -> None:
    root = await client.chat_postMessage(channel="C1", text="root")
    metadata = {"event_type": "greeting", "event_payload": {"id": "two"}}
    await client.chat_postMessage(channel="C1", text="reply", thread_ts=root["ts"], metadata=metadata)
    history = await client.conversations_history(channel="C1")
    assert [one["text"] for one in history["messages"]] == ["root"]
    thread = await client.conversations_replies(channel="C1", ts=root["ts"], include_all_metadata=True)
    assert [one["text"] for one in thread["messages"]] == ["root", "reply"]
    assert thread["messages"][1]["metadata"] == metadata
    assert await refused(client.conversations_replies(channel="C1", ts="9.9")) == "thread_not_found"


async def test_a_reply_that_is_broadcast_is_in_the_history_too(client: AsyncWebClient) -> None:
    root = await client.chat_postMessage(channel="C1", text="root")
    reply = await client.chat_postMessage(channel="C1", text="reply", thread_ts=root["ts"], reply_broadcast=True)
    history = await client.conversations_history(channel="C1")
    assert [(one["text"], one.get("subtype")) for one in history["messages"]] == [
        ("reply", "thread_broadcast"),
        ("root", None),
    ]
    assert reply["message"]["thread_ts"] == root["ts"]


async def test_a_thread_is_named_by_its_first_message_and_nothing_else(
    sandbox: SlackSandbox, client: AsyncWebClient
) -> None:
    root = await client.chat_postMessage(channel="C1", text="root")
    reply = await client.chat_postMessage(channel="C1", text="reply", thread_ts=root["ts"])
    again = client.chat_postMessage(channel="C1", text="reply to a reply", thread_ts=reply["ts"])
    assert await refused(again) == "thread_not_found"
    sandbox.workspace.messages.clear()
    gone = client.chat_postMessage(channel="C1", text="too late", thread_ts=root["ts"])
    assert await refused(gone) == "thread_not_found"


async def test_a_channel_without_threads_refuses_replies_and_takes_the_rest(
    sandbox: SlackSandbox, client: AsyncWebClient
) -> None:
    sandbox.workspace.conversations["C1"].is_threadable = False
    root = await client.chat_postMessage(channel="C1", text="root")
    for reply in (
        client.chat_postMessage(channel="C1", text="reply", thread_ts=root["ts"]),
        client.chat_postEphemeral(channel="C1", user="U1", text="reply", thread_ts=root["ts"]),
    ):
        assert await refused(reply) == "restricted_action_non_threadable_channel"
    assert [message.text for message in sandbox.workspace.messages] == ["root"]


async def test_a_channel_takes_one_message_a_second_where_a_test_wants_it(
    sandbox: SlackSandbox, client: AsyncWebClient, clock: HandClock
) -> None:
    sandbox.workspace.conversations["C1"].seconds_between_posts = 1
    await client.chat_postMessage(channel="C1", text="one")
    with pytest.raises(SlackApiError) as limited:
        await client.chat_postMessage(channel="C1", text="two")
    assert (limited.value.response.status_code, limited.value.response.headers["Retry-After"]) == (429, "1")
    assert limited.value.response["error"] == "ratelimited"
    clock.advance(seconds=1)
    await client.chat_postMessage(channel="C1", text="two")
    assert [message.text for message in sandbox.workspace.messages] == ["one", "two"]


async def test_metadata_must_be_flat(client: AsyncWebClient) -> None:
    nested = {"event_type": "greeting", "event_payload": {"id": {"deep": 1}}}
    assert await refused(client.chat_postMessage(channel="C1", text="x", metadata=nested)) == "invalid_metadata_schema"
    bare = {"event_type": "greeting"}
    assert await refused(client.chat_postMessage(channel="C1", text="x", metadata=bare)) == "invalid_metadata_format"


async def test_the_directory_knows_people_groups_and_channels(sandbox: SlackSandbox, client: AsyncWebClient) -> None:
    sandbox.workspace.usergroups["S1"] = {"U2", "U1"}
    assert (await client.auth_test())["user_id"] == sandbox.workspace.bot.id
    assert (await client.users_lookupByEmail(email="alice@example.com"))["user"]["id"] == "U1"
    assert await refused(client.users_lookupByEmail(email="nobody@example.com")) == "users_not_found"
    assert (await client.users_info(user="U2"))["user"]["profile"]["email"] == "bob@example.com"
    assert await refused(client.users_info(user="U404")) == "user_not_found"
    assert (await client.usergroups_users_list(usergroup="S1"))["users"] == ["U1", "U2"]
    assert await refused(client.usergroups_users_list(usergroup="S404")) == "no_such_subteam"
    assert (await client.conversations_info(channel="C1"))["channel"]["is_member"]
    assert await refused(client.conversations_info(channel="C404")) == "channel_not_found"


async def test_an_ephemeral_message_needs_a_member(sandbox: SlackSandbox, client: AsyncWebClient) -> None:
    await client.chat_postEphemeral(channel="C1", user="U1", text="psst")
    assert (await sandbox.expect_private("U1", "psst")).channel == "C1"
    assert sandbox.workspace.messages == []
    assert await refused(client.chat_postEphemeral(channel="C1", user="U2", text="psst")) == "user_not_in_channel"


MODAL = {
    "type": "modal",
    "title": {"type": "plain_text", "text": "Hello"},
    "blocks": [{"type": "divider"}],
}


async def test_a_trigger_opens_one_modal_within_three_seconds(
    sandbox: SlackSandbox, clock: HandClock, client: AsyncWebClient
) -> None:
    trigger = sandbox.workspace.new_trigger("U1")
    clock.advance(seconds=3)
    opened = await client.views_open(trigger_id=trigger, view=MODAL)
    assert sandbox.workspace.views[opened["view"]["id"]].user == "U1"
    assert await refused(client.views_open(trigger_id=trigger, view=MODAL)) == "exchanged_trigger_id"
    late = sandbox.workspace.new_trigger("U1")
    clock.advance(seconds=3.001)
    assert await refused(client.views_open(trigger_id=late, view=MODAL)) == "expired_trigger_id"
    assert await refused(client.views_open(trigger_id="1.2.3", view=MODAL)) == "invalid_trigger_id"


async def test_a_modal_is_updated_by_its_id_and_only_at_its_hash(sandbox: SlackSandbox, client: AsyncWebClient) -> None:
    opened = await client.views_open(trigger_id=sandbox.workspace.new_trigger("U1"), view=MODAL)
    view = opened["view"]
    changed = {**MODAL, "title": {"type": "plain_text", "text": "Changed"}}
    await client.views_update(view_id=view["id"], hash=view["hash"], view=changed)
    assert (await sandbox.expect_view("U1")).content["title"]["text"] == "Changed"
    assert await refused(client.views_update(view_id=view["id"], hash=view["hash"], view=MODAL)) == "hash_conflict"
    assert await refused(client.views_update(view_id="V404", view=MODAL)) == "not_found"


async def test_a_response_url_works_five_times_in_half_an_hour(
    sandbox: SlackSandbox, clock: HandClock, client: AsyncWebClient, url: str
) -> None:
    posted = await client.chat_postMessage(channel="C1", text="original")

    def respond(name: str) -> AsyncWebhookClient:
        return AsyncWebhookClient(f"{url}/response/{name}", retry_handlers=[])

    one = respond(sandbox.workspace.new_response_url("C1", "U1", posted["ts"]))
    assert (await one.send(text="private")).status_code == 200
    assert [note.text for note in sandbox.workspace.ephemerals] == ["private"]
    assert (await one.send(text="public", response_type="in_channel")).status_code == 200
    assert sandbox.workspace.messages[-1].text == "public"
    assert (await one.send(text="replaced", replace_original=True)).status_code == 200
    assert sandbox.workspace.messages[0].text == "replaced"
    assert (await one.send(delete_original=True)).status_code == 200
    assert [message.text for message in sandbox.workspace.messages] == ["public"]
    assert (await one.send(text="fifth")).status_code == 200
    assert (await one.send(text="sixth")).status_code == 404
    late = respond(sandbox.workspace.new_response_url("C1", "U1", posted["ts"]))
    clock.advance(minutes=30, seconds=1)
    assert (await late.send(text="too late")).status_code == 404
    assert (await respond("nonsense").send(text="?")).status_code == 404


async def test_a_dropped_connection_may_or_may_not_have_posted(sandbox: SlackSandbox, client: AsyncWebClient) -> None:
    sandbox.fail_next(DropBeforeStoring())
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await client.chat_postMessage(channel="C1", text="lost")
    sandbox.fail_next(DropAfterStoring())
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await client.chat_postMessage(channel="C1", text="kept")
    assert [message.text for message in sandbox.workspace.messages] == ["kept"]
    assert [said["ts"] for said in sandbox.unsaid] == [sandbox.workspace.messages[0].ts], "known here, and only here"


async def test_a_server_error_and_an_internal_error_may_have_posted(
    sandbox: SlackSandbox, client: AsyncWebClient
) -> None:
    sandbox.fail_next(ServerErrorAfterStoring(503))
    with pytest.raises(SlackApiError) as failure:
        await client.chat_postMessage(channel="C1", text="first")
    assert failure.value.response.status_code == 503
    sandbox.fail_next(SaysNoAfterStoring("internal_error"))
    assert await refused(client.chat_postMessage(channel="C1", text="second")) == "internal_error"
    assert len(sandbox.workspace.messages) == 2


async def test_a_rate_limit_and_any_other_error_can_be_switched_on_for_one_method(
    sandbox: SlackSandbox, client: AsyncWebClient
) -> None:
    sandbox.fail_next(RateLimited(retry_after=7), "chat.postMessage")
    sandbox.fail_next(SaysNo("ekm_access_denied"), "chat.postMessage")
    assert (await client.auth_test())["ok"]
    with pytest.raises(SlackApiError) as limited:
        await client.chat_postMessage(channel="C1", text="hello")
    assert limited.value.response.status_code == 429
    assert limited.value.response.headers["Retry-After"] == "7"
    assert await refused(client.chat_postMessage(channel="C1", text="hello")) == "ekm_access_denied"
    assert sandbox.workspace.messages == []
    assert (await client.chat_postMessage(channel="C1", text="hello"))["ok"]


async def test_a_slow_answer_comes_after_the_message_is_there(sandbox: SlackSandbox, client: AsyncWebClient) -> None:
    sandbox.fail_next(Slow(seconds=60))
    posting = asyncio.create_task(client.chat_postMessage(channel="C1", text="slow"))
    await sandbox.expect_message("slow")
    assert not posting.done()
    posting.cancel()


async def test_the_stock_client_posts_twice_when_the_connection_dies(sandbox: SlackSandbox, url: str) -> None:
    """Why every client of ours is built without retry handlers."""
    stock = AsyncWebClient(token=sandbox.workspace.bot_token, base_url=f"{url}/api/")
    sandbox.fail_next(DropAfterStoring())
    await stock.chat_postMessage(channel="C1", text="twice")
    assert [message.text for message in sandbox.workspace.messages] == ["twice", "twice"]
