"""Where a question is asked in Slack: its reminders in one thread, a person by e-mail, a user group by mention."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.sandbox.slack.faults import DropAfterStoring
from bot.sandbox.slack.world import Message
from bot.vendors.slack import SlackSource
from bot.vendors.slack_accounts import AccountSearch
from tests.vendors.slack import shown
from tests.vendors.slack_faults import SaysNo
from tests.world import CHANNEL, World, config, running

HOURLY = {"max_attempts": 3, "interval_seconds": 3600}
DAVE = "dave@example.com"


def people(*more: dict[str, Any]) -> list[dict[str, Any]]:
    """Everybody, and Dave, whom the directory knows by e-mail alone."""
    known: list[dict[str, Any]] = config("", {})["people"]
    return [*known, {"name": "Dave", "email": DAVE, "groups": ["finance"]}, *more]


def asking(world: World) -> list[Message]:
    return [message for message in world.slack.workspace.messages if "Refund order 12345?" in shown(message)]


# --- Reminders ----------------------------------------------------------------------------------------------------


async def test_reminders_thread_under_the_first_message_and_show_in_the_channel_too(any_world: World) -> None:
    world = any_world
    asked = await world.ask(retry_policy=HOURLY)
    await world.advance(hours=2)
    root, *reminders = asking(world)
    assert (root.thread_ts, root.broadcast) == (None, False)
    assert [(one.thread_ts, one.broadcast) for one in reminders] == [(root.ts, True)] * 2
    await world.press("U0ALICE", reminders[1], "Approve refund")
    assert (await world.show(asked))["resolution"] == "responded"
    assert all("Answered “Approve refund”" in shown(message) for message in (root, *reminders))


async def test_a_reminder_in_direct_messages_threads_there_and_one_elsewhere_begins_anew(world: World) -> None:
    ladder = [{"attempt": 3, "channel_hint": "slack", "notify_to": f"slack:{CHANNEL}"}]
    await world.ask(notify_to="alice@example.com", retry_policy={**HOURLY, "escalation_ladder": ladder})
    await world.advance(hours=2)
    root, reminder, elsewhere = asking(world)
    assert (reminder.channel, reminder.thread_ts) == (root.channel, root.ts)
    assert (elsewhere.channel, elsewhere.thread_ts) == (CHANNEL, None)


async def test_a_question_does_not_thread_under_another_one(world: World) -> None:
    await world.ask("The first?")
    await world.ask(retry_policy=HOURLY)
    await world.advance(hours=1)
    root, reminder = asking(world)
    assert reminder.thread_ts == root.ts


async def test_a_reminder_whose_first_message_is_gone_is_posted_by_itself_and_the_next_threads_there(
    world: World,
) -> None:
    await world.ask(retry_policy=HOURLY)
    world.slack.workspace.messages.clear()
    await world.advance(hours=2)
    reminder, last = asking(world)
    assert (reminder.thread_ts, last.thread_ts) == (None, reminder.ts)


async def test_reminders_are_posted_by_themselves_in_a_channel_without_threads(any_world: World) -> None:
    world = any_world
    world.slack.workspace.conversations[CHANNEL].is_threadable = False
    asked = await world.ask(retry_policy=HOURLY)
    await world.advance(hours=2)
    messages = asking(world)
    assert [(one.thread_ts, one.broadcast) for one in messages] == [(None, False)] * 3
    await world.press("U0ALICE", messages[2], "Approve refund")
    assert (await world.show(asked))["resolution"] == "responded"
    assert all("Answered “Approve refund”" in shown(message) for message in messages)


async def test_a_reminder_in_doubt_in_a_channel_without_threads_is_looked_for_there(world: World) -> None:
    world.slack.workspace.conversations[CHANNEL].is_threadable = False
    await world.ask(retry_policy=HOURLY)
    world.slack.fail_next(SaysNo("restricted_action_non_threadable_channel"), "chat.postMessage")
    world.slack.fail_next(DropAfterStoring(), "chat.postMessage")
    await world.advance(hours=1, minutes=30)
    assert len(asking(world)) == 2


async def test_a_reminder_in_doubt_whose_thread_is_gone_is_looked_for_in_the_channel(world: World) -> None:
    await world.ask(retry_policy=HOURLY)
    world.slack.workspace.messages.clear()
    world.slack.fail_next(DropAfterStoring(), "chat.postMessage")
    world.slack.fail_next(DropAfterStoring(), "chat.postMessage")
    await world.advance(hours=1, minutes=30)
    assert len(asking(world)) == 1


# --- A person by e-mail -------------------------------------------------------------------------------------------


def accounts(world: World) -> AccountSearch:
    source = world.service.vendors.sources["slack"]
    assert isinstance(source, SlackSource)
    assert source.search is not None
    return source.search


async def knows_dave(world: World) -> None:
    """Slack has got to know him, and a day has passed since it was asked last."""
    world.slack.workspace.add_user("U0DAVE", "Dave", DAVE)
    world.clock.move_by(timedelta(hours=25))
    await accounts(world).search()


async def test_who_has_no_slack_id_in_the_directory_is_found_by_e_mail_and_may_answer(
    tmp_path: Path, database_url: str
) -> None:
    async with running(tmp_path, database_url, people=people()) as world:
        await knows_dave(world)
        asked = await world.ask(responders=[DAVE])
        [message] = asking(world)
        assert message.channel == "D0DAVE"
        await world.press("U0DAVE", message, "Approve refund")
        assert (await world.show(asked))["responded_by"] == DAVE


async def test_a_group_is_asked_by_each_members_own_address_wherever_it_is_known_from(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with running(tmp_path, sqlite_url, people=people()) as world:
        await knows_dave(world)
        await world.ask(notify_to="group:finance")
        assert sorted(message.channel for message in asking(world)) == ["D0ALICE", "D0BOB", "D0DAVE"]


async def test_whom_slack_does_not_know_is_not_reachable_there_so_the_default_channel_is_asked(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with running(tmp_path, sqlite_url, people=people()) as world:
        await world.ask(responders=[DAVE])
        assert [message.channel for message in asking(world)] == [CHANNEL]


async def test_an_e_mail_that_is_not_on_the_allow_list_is_not_asked_whatever_slack_knows(
    tmp_path: Path, sqlite_url: str
) -> None:
    allowed = {"allow": ["alice@example.com"]}
    async with running(tmp_path, sqlite_url, people=people(), recipients=allowed) as world:
        await knows_dave(world)
        body = {"question": "Refund?", "response_type": "confirm", "notify_to": DAVE}
        refused = await world.call("POST", "/v1/suspensions", json=body)
        assert (refused.status_code, refused.json()["detail"]["error"]) == (422, "recipient_not_allowed")


# --- A user group -------------------------------------------------------------------------------------------------

GROUPS = {"allow": ["*@example.com", "slack:*"]}


async def test_a_user_group_is_mentioned_in_the_default_channel_and_by_nobody_else(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with running(tmp_path, sqlite_url, recipients=GROUPS) as world:
        await world.ask("Refund order 12345? <!channel>", notify_to="slack:S0FINANCE", retry_policy=HOURLY)
        await world.advance(hours=1)
        root, reminder = asking(world)
        assert root.channel == reminder.channel == CHANNEL
        assert reminder.thread_ts == root.ts
        for message in (root, reminder):
            written = f"{message.text} {message.blocks}"
            assert "<!subteam^S0FINANCE>" in message.text
            assert written.count("<!") == written.count("<!subteam^S0FINANCE>") == 2


async def test_the_members_of_a_user_group_may_answer_and_others_not(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, recipients=GROUPS) as world:
        world.slack.workspace.usergroups["S0FINANCE"] = {"U0ALICE"}
        asked = await world.ask(responders=["slack:S0FINANCE"])
        await accounts(world).people.refresh(["slack:S0FINANCE"])
        assert (await world.answer(asked, "approve", "second_operator")).status_code == 403
        assert (await world.answer(asked, "approve")).status_code == 200


async def test_without_a_default_channel_a_user_group_is_reachable_nowhere(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, recipients=GROUPS, slack__default_channel=None) as world:
        body = {"question": "Refund?", "response_type": "confirm", "notify_to": "slack:S0FINANCE"}
        refused = await world.call("POST", "/v1/suspensions", json=body)
        assert (refused.status_code, refused.json()["detail"]["error"]) == (422, "no_recipient")


@pytest.mark.parametrize("reference", ["slack:ops", "slack:", "slack:S<!channel>", "slack:S0 FINANCE"])
async def test_a_channels_name_or_anything_else_is_no_recipient(reference: str, world: World) -> None:
    body = {"question": "Refund?", "response_type": "confirm", "notify_to": reference}
    refused = await world.call("POST", "/v1/suspensions", json=body)
    assert refused.status_code == 422
    assert refused.json()["detail"]["fields"][0]["path"] == "notify_to"
