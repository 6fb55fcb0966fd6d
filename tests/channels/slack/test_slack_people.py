"""Who is who in the workspace: asked of Slack once, kept for a while, and never somebody else's people."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.sandbox.slack.faults import DropAfterStoring, RateLimited
from channels.slack import people as kept
from channels.slack.people import LookupFailed, SlackPeople
from core.ports import Deferred, Refused
from tests.channels.slack.slack_examples import HandClock
from tests.vendors.slack import SlackSandbox
from tests.vendors.slack_faults import SaysNo

pytestmark = pytest.mark.io

ALICE = "alice@example.com"


@pytest.fixture
async def people(client: AsyncWebClient, clock: HandClock) -> AsyncIterator[SlackPeople]:
    yield SlackPeople(client, clock.now)


async def test_a_person_is_found_by_e_mail_once_a_day(
    people: SlackPeople, sandbox: SlackSandbox, clock: HandClock
) -> None:
    assert people.known_user(ALICE) is None
    assert await people.user_of(ALICE) == "U1"
    sandbox.workspace.users["U1"].email = "renamed@example.com"
    clock.advance(hours=23)
    assert await people.user_of(ALICE) == people.known_user(ALICE) == "U1"
    clock.advance(hours=2)
    assert people.known_user(ALICE) == "U1", "until Slack has said otherwise"
    assert await people.user_of(ALICE) is None
    assert people.known_user(ALICE) is None


async def test_whom_slack_does_not_know_is_not_asked_for_again_that_day(
    people: SlackPeople, sandbox: SlackSandbox, clock: HandClock
) -> None:
    assert await people.user_of("new@example.com") is None
    sandbox.workspace.add_user("U7", "New", "new@example.com")
    assert await people.user_of("new@example.com") is None
    clock.advance(hours=25)
    assert await people.user_of("new@example.com") == "U7"


async def test_who_clicks_is_known_by_the_e_mail_of_their_account(people: SlackPeople, sandbox: SlackSandbox) -> None:
    sandbox.workspace.users["U1"].email = "Alice@Example.com"
    assert people.known_email("U1") is None
    assert await people.email_of("U1") == people.known_email("U1") == ALICE
    assert await people.email_of("U404") is None


@pytest.mark.parametrize("what", ["of another workspace", "gone", "a bot"])
async def test_strangers_machines_and_who_has_left_are_nobody(
    what: str, people: SlackPeople, sandbox: SlackSandbox
) -> None:
    user = sandbox.workspace.users["U1"]
    user.team_id = "T0ELSEWHERE" if what == "of another workspace" else user.team_id
    user.deleted, user.is_bot = what == "gone", what == "a bot"
    assert await people.email_of("U1") is None
    assert await people.user_of(ALICE) is None


async def test_a_groups_members_are_at_most_a_minute_old(
    people: SlackPeople, sandbox: SlackSandbox, clock: HandClock
) -> None:
    sandbox.workspace.usergroups["S1"] = {"U1", "U2"}
    assert people.known_members("S1") == frozenset()
    await people.refresh(["slack:S1", "slack:C1", "group:finance", ALICE])
    assert people.known_members("S1") == {"U1", "U2"}
    sandbox.workspace.usergroups["S1"] = {"U2"}
    clock.advance(seconds=60)
    assert await people.members("S1") == {"U1", "U2"}
    clock.advance(seconds=1)
    assert people.known_members("S1") == frozenset(), "too old to let anybody answer"
    assert people.last_members("S1") == {"U1", "U2"}
    assert await people.members("S1") == {"U2"}


async def test_a_group_that_is_not_there_has_no_members(people: SlackPeople) -> None:
    assert await people.members("S404") == frozenset()


async def test_what_slack_would_not_say_is_not_taken_for_nobody(people: SlackPeople, sandbox: SlackSandbox) -> None:
    sandbox.fail_next(RateLimited(7), "users.lookupByEmail")
    with pytest.raises(LookupFailed) as limited:
        await people.user_of(ALICE)
    assert isinstance(limited.value.failure, Deferred)
    for _ in range(2):  # aiohttp repeats a GET once by itself
        sandbox.fail_next(DropAfterStoring(), "usergroups.users.list")
    with pytest.raises(LookupFailed) as lost:
        await people.members("S1")
    assert lost.value.failure == Deferred("connection_lost")
    sandbox.fail_next(SaysNo("missing_scope"), "users.info")
    with pytest.raises(LookupFailed) as unscoped:
        await people.email_of("U1")
    assert unscoped.value.failure == Refused("missing_scope")
    assert await people.user_of(ALICE) == "U1"


async def test_what_is_kept_is_bounded(
    people: SlackPeople, sandbox: SlackSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "MOST_KEPT", 2)
    for number in (5, 6, 7):
        sandbox.workspace.add_user(f"U{number}", "Somebody", f"{number}@example.com")
        await people.user_of(f"{number}@example.com")
    assert [people.known_user(f"{number}@example.com") for number in (5, 6, 7)] == [None, "U6", "U7"]


async def test_an_account_that_has_lost_its_e_mail_to_another_is_nobodys(
    people: SlackPeople, sandbox: SlackSandbox, clock: HandClock
) -> None:
    assert await people.user_of(ALICE) == "U1"
    sandbox.workspace.users["U1"].email = "former@example.com"
    sandbox.workspace.add_user("U7", "Alice again", ALICE)
    clock.advance(hours=25)
    assert await people.user_of(ALICE) == "U7"
    assert people.known_email("U1") is None
    assert people.known_email("U7") == ALICE


async def test_whoever_has_another_e_mail_now_is_not_reached_by_the_former_one(
    people: SlackPeople, sandbox: SlackSandbox, clock: HandClock
) -> None:
    assert await people.email_of("U1") == ALICE
    sandbox.workspace.users["U1"].email = "renamed@example.com"
    clock.advance(hours=25)
    assert await people.email_of("U1") == "renamed@example.com"
    assert people.known_user(ALICE) is None
    assert people.known_user("renamed@example.com") == "U1"


async def test_what_slack_has_not_renewed_for_two_days_says_no_longer_whose_an_account_is(
    people: SlackPeople, clock: HandClock
) -> None:
    await people.email_of("U1")
    clock.advance(hours=48)
    assert people.known_email("U1") == ALICE
    clock.advance(seconds=1)
    assert people.known_email("U1") is None
