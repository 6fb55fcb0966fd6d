"""Who in Slack is who: user groups and profiles are looked at when somebody presses; and what is told when Slack shuts
us out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.sandbox.slack.faults import RateLimited
from bot.sandbox.slack.world import Message
from tests.vendors.slack import expect_home, open_home, shown, tell
from tests.vendors.slack_faults import SaysNo
from tests.world import CHANNEL, World, running

GROUP = "S0FIN"
ALLOWED = {"allow": ["*@example.com", "*@elsewhere.example", "slack:C0*", "slack:S0*", "group:*"]}


@pytest.fixture
async def open_world(tmp_path: Path, sqlite_url: str) -> AsyncIterator[World]:
    """Everybody may be asked, and the operators are told by mail."""
    alerts = {"notify": ["email:ops@example.com"]}
    async with running(tmp_path, sqlite_url, recipients=ALLOWED, alerts=alerts) as world:
        yield world


async def ask_the_group(world: World) -> Message:
    await world.ask(notify_to=f"slack:{CHANNEL}", responders=[f"slack:{GROUP}"])
    return await world.slack.expect_message("Refund order 12345?")


async def answered_by(world: World) -> str | None:
    response = await world.call("GET", "/v1/suspensions?status=responded", "admin")
    found = [one["suspension"]["responded_by"] for one in response.json()["items"]]
    return found[0] if found else None


async def test_a_member_of_the_user_group_answers(open_world: World) -> None:
    open_world.slack.workspace.usergroups[GROUP] = {"U0CAROL"}
    await open_world.press("U0CAROL", await ask_the_group(open_world), "Approve refund")
    await open_world.slack.expect_message("Answered “Approve refund” by carol@example.com")


async def test_a_member_whom_the_directory_does_not_list_answers_too(open_world: World) -> None:
    open_world.slack.workspace.usergroups[GROUP] = {"U0EVE"}
    await open_world.press("U0EVE", await ask_the_group(open_world), "Approve refund")
    await open_world.slack.expect_message("Answered “Approve refund” by eve@elsewhere.example")


async def test_whoever_is_not_in_it_does_not_and_learns_who_may(open_world: World) -> None:
    open_world.slack.workspace.usergroups[GROUP] = {"U0CAROL"}
    await open_world.press("U0BOB", await ask_the_group(open_world), "Approve refund")
    note = await open_world.slack.expect_private("U0BOB", "You can't answer this.")
    assert f"slack:{GROUP}" in shown(note)
    assert await answered_by(open_world) is None


async def test_who_has_left_the_group_can_answer_for_a_minute_at_most(open_world: World) -> None:
    members = open_world.slack.workspace.usergroups[GROUP] = {"U0CAROL", "U0BOB"}
    message = await ask_the_group(open_world)
    await open_world.press("U0CAROL", message, "I'm on it")
    members.remove("U0CAROL")
    await open_world.advance(seconds=61)
    await open_world.press("U0CAROL", message, "Approve refund")
    await open_world.slack.expect_private("U0CAROL", "You can't answer this.")
    assert await answered_by(open_world) is None


async def test_a_group_that_slack_does_not_tell_lets_nobody_in(open_world: World) -> None:
    open_world.slack.workspace.usergroups[GROUP] = {"U0CAROL"}
    message = await ask_the_group(open_world)
    open_world.slack.fail_next(SaysNo("missing_scope"), "usergroups.users.list")
    await open_world.press("U0CAROL", message, "Approve refund")
    await open_world.slack.expect_private("U0CAROL", "whoever runs Handraise has to fix that. Nothing was recorded")
    assert await answered_by(open_world) is None
    await open_world.press("U0CAROL", message, "Approve refund")
    await open_world.slack.expect_message("by carol@example.com via Slack")


async def test_the_groups_question_is_in_a_members_home_and_in_nobody_elses(open_world: World) -> None:
    open_world.slack.workspace.usergroups[GROUP] = {"U0CAROL"}
    await ask_the_group(open_world)
    await open_home(open_world.slack, "U0CAROL")
    await expect_home(open_world.slack, "U0CAROL", "Refund order 12345?")
    await open_home(open_world.slack, "U0BOB")
    await expect_home(open_world.slack, "U0BOB", "Nothing waits for you")


async def test_somebody_the_directory_does_not_list_answers_by_the_email_of_their_profile(open_world: World) -> None:
    await open_world.ask(notify_to=f"slack:{CHANNEL}", responders=["eve@elsewhere.example"])
    message = await open_world.slack.expect_message("Refund order 12345?")
    await open_world.press("U0EVE", message, "Approve refund")
    await open_world.slack.expect_message("by eve@elsewhere.example via Slack")


async def test_somebody_who_has_left_the_workspace_does_not(open_world: World) -> None:
    await open_world.ask(notify_to=f"slack:{CHANNEL}", responders=["eve@elsewhere.example"])
    open_world.slack.workspace.users["U0EVE"].deleted = True
    message = await open_world.slack.expect_message("Refund order 12345?")
    await open_world.press("U0EVE", message, "Approve refund")
    await open_world.slack.expect_private("U0EVE", "does not know your Slack account")


@pytest.mark.parametrize("method", ["users.info", "usergroups.users.list"])
async def test_the_operators_hear_once_an_hour_what_keeps_people_from_answering(
    method: str, open_world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    open_world.slack.workspace.usergroups[GROUP] = {"U0CAROL"}
    message = await ask_the_group(open_world)
    who = "U0EVE" if method == "users.info" else "U0CAROL"
    open_world.slack.faults.switch_on(SaysNo("missing_scope"), method)
    for _ in range(2):
        await open_world.press(who, message, "Approve refund")
        await open_world.settle()
    [mail] = open_world.mailbox.of("ops@example.com")
    assert mail.subject == "slack refuses to say who people are (missing_scope)"
    assert "reason=missing_scope" in capsys.readouterr().out
    await open_world.advance(minutes=61)
    await open_world.press(who, message, "Approve refund")
    await open_world.settle()
    assert len(open_world.mailbox.of("ops@example.com")) == 2


async def test_a_home_that_lacks_a_group_for_want_of_a_scope_is_told_to_the_operators(open_world: World) -> None:
    open_world.slack.workspace.usergroups[GROUP] = {"U0CAROL"}
    await ask_the_group(open_world)
    open_world.slack.faults.switch_on(SaysNo("missing_scope"), "usergroups.users.list")
    await open_home(open_world.slack, "U0CAROL")
    await expect_home(open_world.slack, "U0CAROL", "Nothing waits for you")
    await open_world.settle()
    [mail] = open_world.mailbox.of("ops@example.com")
    assert mail.subject == "slack refuses to say who people are (missing_scope)"


async def test_slack_being_away_for_a_moment_is_no_alarm(open_world: World) -> None:
    open_world.slack.workspace.usergroups[GROUP] = {"U0CAROL"}
    message = await ask_the_group(open_world)
    open_world.slack.fail_next(RateLimited(), "usergroups.users.list")
    await open_world.press("U0CAROL", message, "Approve refund")
    await open_world.slack.expect_private("U0CAROL", "try again in a moment")
    await open_world.settle()
    assert open_world.mailbox.of("ops@example.com") == []


# --- Our access is taken away -----------------------------------------------------------------------------------------


async def test_the_operators_are_told_once_that_slack_has_shut_us_out(open_world: World) -> None:
    tokens = {"type": "tokens_revoked", "tokens": {"oauth": [], "bot": ["U0HANDRAISE"]}}
    for event in (tokens, {"type": "app_uninstalled"}, {"type": "app_uninstalled"}):
        assert (await tell(open_world.slack, event)).status_code == 200
    await open_world.settle()
    [mail] = open_world.mailbox.of("ops@example.com")
    assert mail.subject == "slack has taken our access away (tokens_revoked)"


async def test_a_token_of_a_person_is_none_of_ours(open_world: World) -> None:
    await tell(open_world.slack, {"type": "tokens_revoked", "tokens": {"oauth": ["U0BOB"], "bot": []}})
    await open_world.settle()
    assert open_world.mailbox.of("ops@example.com") == []
