"""The search for the accounts of people whom the directory knows by e-mail alone."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.sandbox.serving import serving
from bot.vendors.slack_accounts import AccountSearch
from channels.slack.client import web_client
from channels.slack.people import SlackPeople
from tests.channels.slack.slack_examples import HandClock
from tests.vendors.slack import SlackSandbox
from tests.vendors.slack_faults import SaysNo

FIRST, SECOND = "first@example.com", "second@example.com"


@pytest.fixture
async def sandbox() -> SlackSandbox:
    sandbox = SlackSandbox(now=HandClock().now)
    sandbox.workspace.add_user("U1", "First", FIRST)
    sandbox.workspace.add_user("U2", "Second", SECOND)
    return sandbox


@pytest.fixture
async def people(sandbox: SlackSandbox) -> AsyncIterator[SlackPeople]:
    async with serving(sandbox.app) as url:
        yield SlackPeople(web_client(sandbox.workspace.bot_token, f"{url}/api/"), HandClock().now)


async def test_one_e_mail_that_slack_refuses_keeps_nobody_else_from_being_found(
    sandbox: SlackSandbox, people: SlackPeople, capsys: pytest.CaptureFixture[str]
) -> None:
    search = AccountSearch(people, (FIRST, SECOND))
    for _ in range(2):
        sandbox.fail_next(SaysNo("invalid_arguments"), "users.lookupByEmail")
        await search.search()
        assert (people.known_user(FIRST), people.known_user(SECOND)) == (None, "U2")
    assert capsys.readouterr().out.count("reason=invalid_arguments") == 1
    await search.search()
    assert people.known_user(FIRST) == "U1"


async def test_a_scope_that_is_missing_is_missing_for_everybody(sandbox: SlackSandbox, people: SlackPeople) -> None:
    sandbox.fail_next(SaysNo("missing_scope"), "users.lookupByEmail")
    await AccountSearch(people, (FIRST, SECOND)).search()
    assert people.known_user(SECOND) is None, "not asked for in vain"
