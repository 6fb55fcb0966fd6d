"""Several addresses of one person (``people[].aliases``, API.md §1): in every comparison they are that person."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from bot.sandbox.pagerduty.world import User
from bot.vendors.slack import SlackSource
from tests.bot.mail_world import ask_by_mail, is_open, reasons, signed_reply
from tests.journeys.pagerduty.test_pagerduty_answers import page
from tests.journeys.pages.test_signin_links import a_link, enter, enter_with
from tests.journeys.questions.test_four_eyes import is_refused
from tests.journeys.questions.test_handover import assign
from tests.journeys.questions.test_who_wrote_it import sent_by
from tests.journeys.service.test_keys import keys, me, told
from tests.journeys.service.test_reload import Office
from tests.world import CHANNEL, World, config, running

in_room = pytest.mark.asyncio(loop_scope="module")

ALICE, BOB, CAROL = "alice@example.com", "bob@example.com", "carol@example.com"
ALSO_ALICE, ALSO_BOB, ALSO_CAROL = "a.smith@corp.example", "bob@corp.example", "carol@corp.example"
numbers = itertools.count(1)
EVERYBODY = ["*@example.com", "*@corp.example", "group:*", "slack:C0*", "pagerduty:*"]


def people(*with_alias: str) -> list[dict[str, Any]]:
    """Those of the world; each of ``with_alias`` has a second address, and Carol no account in Slack."""
    aliases = {ALICE: [ALSO_ALICE], BOB: [ALSO_BOB], CAROL: [ALSO_CAROL]}
    found = [dict(one) for one in config("", {})["people"]]
    for one in found:
        if one["email"] in with_alias:
            one["aliases"] = aliases[one["email"]]
    found[2].pop("slack_user_id")
    return found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def corp(room_url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """A service in which Alice, Bob and Carol each have a second address."""
    everybody = people(ALICE, BOB, CAROL)
    folder = tmp_path_factory.mktemp("corp")
    async with running(folder, room_url, people=everybody, recipients={"allow": EVERYBODY}) as world:
        yield world


# --- Who may answer, and who may not ----------------------------------------------------------------------------------


@in_room
async def test_a_reply_from_another_address_of_theirs_is_theirs(corp: World) -> None:
    asked, mail = await ask_by_mail(corp)

    await corp.mailbox.post(signed_reply(corp, mail, sender=ALSO_ALICE))

    assert (await corp.told(asked))["data"]["responded_by"] == ALICE


@in_room
async def test_an_alias_sends_for_themselves(corp: World) -> None:
    asked, mail = await ask_by_mail(corp)

    await corp.mailbox.post(sent_by(signed_reply(corp, mail), f"Sender: {ALSO_ALICE}"))

    assert (await corp.told(asked))["data"]["responded_by"] == ALICE


@in_room
async def test_the_alias_of_a_delegate_bars_like_the_delegate(corp: World) -> None:
    asked, mail = await ask_by_mail(corp, on_behalf_of=BOB)

    await corp.mailbox.post(sent_by(signed_reply(corp, mail), f"Sender: {ALSO_BOB}"))

    assert await is_open(corp, asked)
    assert await reasons(corp, asked) == [("reply", "sent_by_another")]


@pytest.mark.parametrize("behind", [ALICE, ALSO_ALICE, "A.Smith+x@Corp.Example"])
@in_room
async def test_nobody_answers_what_is_asked_for_them_under_another_address(corp: World, behind: str) -> None:
    asked = await corp.ask(responders=[ALICE, BOB], on_behalf_of=behind)

    is_refused(await corp.answer(asked, "approve"), 403, "self_response_forbidden")
    assert (await corp.answer(asked, "approve", "second_operator")).status_code == 200


@pytest.mark.parametrize("named", [ALSO_ALICE, f"email:{ALSO_ALICE}", "A.Smith+x@corp.example"])
@in_room
async def test_whoever_is_named_by_an_alias_answers(corp: World, named: str) -> None:
    asked = await corp.ask(responders=[named], channel_hint="email")

    answered = await corp.answer(asked, "approve")

    assert (answered.status_code, answered.json()["responded_by"]) == (200, ALICE)


@in_room
async def test_mail_goes_to_the_mailbox_of_the_directory(corp: World) -> None:
    asked = await corp.ask(responders=[ALSO_ALICE], channel_hint="email")
    assert (await corp.mailbox.expect(subject=asked["ref"])).recipient == ALICE

    there = await corp.ask(responders=[f"email:{ALSO_ALICE}"], channel_hint="email")
    mail = await corp.mailbox.expect(subject=there["ref"])
    assert mail.recipient == ALSO_ALICE, "as it was written: for mail alone"
    await corp.mailbox.reply(mail, "approve")
    assert (await corp.told(there))["data"]["responded_by"] == ALICE


@in_room
async def test_one_person_does_not_complete_a_quorum_by_two_addresses(corp: World) -> None:
    body = {"question": "Deploy?", "response_type": "confirm", "answers_required": 2}
    refused = await corp.call("POST", "/v1/suspensions", json={**body, "responders": [ALICE, ALSO_ALICE]})
    is_refused(refused, 422, "answers_unreachable")

    asked = await corp.ask(responders=[ALICE, ALSO_ALICE, BOB], answers_required=2, channel_hint="email")
    assert (await corp.answer(asked, "approve")).status_code == 202
    mails = [one for one in corp.mailbox.mails if asked["ref"] in one.subject]
    assert sorted(one.recipient for one in mails) == [ALICE, BOB], "she is asked once"
    await corp.mailbox.post(signed_reply(corp, next(one for one in mails if one.recipient == ALICE), sender=ALSO_ALICE))
    assert (await corp.show(asked))["answers_received"] == 1
    is_refused(await assign(corp, asked, ALSO_ALICE), 422, "recipient_not_allowed")


@in_room
async def test_a_gateway_that_names_an_alias_names_the_person(corp: World) -> None:
    asked = await corp.ask(responders=[ALICE, BOB], answers_required=2)

    for name in (ALICE, ALSO_ALICE):
        await corp.answer(asked, "approve", "admin", responded_by=name)
    assert (await corp.show(asked))["answers_received"] == 1

    ended = await corp.answer(asked, "approve", "second_operator", responded_by=ALSO_BOB)
    assert (ended.status_code, ended.json()["responded_by"]) == (200, BOB)


@in_room
async def test_a_claim_is_the_persons(corp: World) -> None:
    asked, mail = await ask_by_mail(corp)
    await corp.mailbox.post(signed_reply(corp, mail, "on it", sender=ALSO_ALICE))

    assert (await corp.show(asked))["claimed_by"] == ALICE
    given_back = await corp.call("DELETE", f"/v1/suspensions/{asked['suspension_id']}/claim", "operator")
    assert given_back.status_code == 200


@in_room
async def test_a_question_is_handed_over_to_an_alias(corp: World) -> None:
    asked = await corp.ask(responders=[ALICE], channel_hint="email")

    handed = await assign(corp, asked, ALSO_CAROL)

    assert handed.status_code == 200, handed.text
    assert (await corp.show(asked))["assigned_to"] == CAROL


@in_room
async def test_what_names_an_alias_is_in_their_inbox(corp: World) -> None:
    asked = await corp.ask(responders=[ALSO_ALICE], channel_hint="email")

    waiting = await corp.call("GET", "/v1/inbox", "operator", params={"limit": 100})

    assert asked["ref"] in [one["ref"] for one in waiting.json()["items"]]


@in_room
async def test_they_sign_in_by_any_of_their_addresses(corp: World) -> None:
    asked = await corp.ask(responders=[CAROL], channel_hint="email")

    inbox = await enter(corp, await a_link(corp, ALSO_CAROL))

    assert f"Signed in as <bdi>{CAROL}</bdi>" in inbox.text
    assert asked["ref"] in inbox.text


@in_room
async def test_a_link_by_mail_is_theirs_whichever_address_they_type(corp: World) -> None:
    async with httpx.AsyncClient(follow_redirects=True, trust_env=False, timeout=30, base_url=corp.url) as browser:
        page = await browser.get("/signin")
        token = page.text.split('name="form_token" value="')[1].split('"')[0]
        await browser.post("/signin", data={"form_token": token, "email": ALSO_CAROL})
        await corp.settle()
        mail = await corp.mailbox.expect(to=CAROL, subject="sign-in link")
        url = next(one for one in mail.links if "/signin/" in one)
        inbox = await enter_with(browser, corp.url + url[url.index("/signin/") :])
    assert f"Signed in as <bdi>{CAROL}</bdi>" in inbox.text


# --- Other accounts ---------------------------------------------------------------------------------------------------


@in_room
async def test_an_account_in_slack_that_has_their_alias_is_theirs(corp: World) -> None:
    corp.slack.workspace.add_user("U0CAROL2", "Carol", ALSO_CAROL)
    corp.slack.workspace.conversations[CHANNEL].members.add("U0CAROL2")
    asked = await corp.ask(f"Refund {next(numbers)}?", responders=[CAROL], notify_to=f"slack:{CHANNEL}")

    await corp.press("U0CAROL2", corp.slack.workspace.posted(CHANNEL)[-1], "Approve refund")

    assert (await corp.show(asked))["responded_by"] == CAROL


async def test_they_are_asked_in_slack_where_an_account_has_their_alias(tmp_path: Path, sqlite_url: str) -> None:
    dora = {"name": "Dora", "email": "dora@example.com", "aliases": ["dora@corp.example"]}
    async with running(tmp_path, sqlite_url, people=[*people(), dora], recipients={"allow": EVERYBODY}) as world:
        world.slack.workspace.add_user("U0DORA", "Dora", "dora@corp.example")
        world.clock.move_by(timedelta(hours=25))  # what Slack has said of nobody is asked again
        source = world.service.vendors.sources["slack"]
        assert isinstance(source, SlackSource)
        assert source.search is not None
        await source.search.search()

        await world.ask("Refund for Dora?", responders=["dora@example.com"], channel_hint="slack")

        message = await world.slack.expect_message("Refund for Dora?")
        assert world.slack.workspace.conversations[message.channel].is_im


@in_room
async def test_a_user_of_pagerduty_who_has_their_alias_is_they(corp: World) -> None:
    account = User("PCAROL2", "Carol", ALSO_CAROL)
    corp.pager.account.users[account.id] = account
    asked, incident = await page(corp, f"Refund {next(numbers)}?", responders=[CAROL])

    await corp.pager.add_note(incident, account, "approve")

    assert (await corp.told(asked))["data"]["responded_by"] == CAROL


@in_room
async def test_they_are_called_to_an_incident_by_the_account_that_has_their_alias(corp: World) -> None:
    corp.pager.account.users["PCAROL2"] = User("PCAROL2", "Carol", ALSO_CAROL)
    corp.pager.account.users.pop("PCAROL", None)
    asked = await corp.ask(f"Refund {next(numbers)}?", channel_hint="pagerduty", notify_to=CAROL)
    incident = await corp.pager.expect_incident(asked["ref"])
    assert "PCAROL2" in str(incident.responders)


async def test_an_account_that_has_another_mailbox_of_the_same_person_is_still_theirs(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with running(tmp_path, sqlite_url, people=people(CAROL), recipients={"allow": EVERYBODY}) as world:
        _, incident = await page(world, responders=[CAROL])
        account = User("PCAROL2", "Carol", CAROL)
        world.pager.account.users[account.id] = account
        await world.pager.add_note(incident, account, "approve")
        await world.advance(hours=25)
        second, other = await page(world, "Second?", responders=[CAROL])

        world.pager.account.users[account.id] = User(account.id, "Carol", ALSO_CAROL)
        await world.pager.add_note(other, account, "approve")

        assert (await world.told(second))["data"]["responded_by"] == CAROL


# --- From now on ------------------------------------------------------------------------------------------------------


@pytest.fixture
async def office(tmp_path: Path, database_url: str) -> AsyncIterator[Office]:
    async with running(tmp_path, database_url, recipients={"allow": EVERYBODY}) as world:
        yield Office(world, tmp_path)


async def test_an_alias_counts_from_the_reload_on_for_questions_that_are_open(office: Office) -> None:
    world = office.world
    asked, mail = await ask_by_mail(world, responders=[ALICE, BOB], on_behalf_of=ALSO_BOB)
    await world.mailbox.post(signed_reply(world, mail, sender=ALSO_ALICE))
    assert await reasons(world, asked) == [("reply", "sender_is_not_the_recipient")]

    await office.reload(people=people(ALICE, BOB))

    is_refused(await world.answer(asked, "approve", "second_operator"), 403, "self_response_forbidden")
    await world.mailbox.post(signed_reply(world, mail, sender=ALSO_ALICE))
    assert (await world.told(asked))["data"]["responded_by"] == ALICE


async def test_two_answers_that_turn_out_to_be_one_persons_count_once(office: Office) -> None:
    world = office.world
    carol = {"name": "Carol too", "email": ALSO_CAROL}
    await office.reload(people=[*people(), carol])
    fields = {"responders": [CAROL, ALSO_CAROL, ALICE, BOB], "answers_required": 3}
    asked = await world.ask(channel_hint="email", **fields)
    for name in (CAROL, ALSO_CAROL):
        assert (await world.answer(asked, "approve", "admin", responded_by=name)).status_code == 202

    await office.reload(people=people(CAROL))

    assert (await world.answer(asked, "approve")).status_code == 202, "Carol and Alice: two people"
    assert (await world.answer(asked, "approve", "second_operator")).status_code == 200


async def test_what_waits_to_be_sent_to_an_alias_is_sent(office: Office) -> None:
    world = office.world
    await world.call("POST", "/v1/pause", "admin", json={"reason": "test"})
    asked = await world.ask(channel_hint="email", responders=[ALSO_ALICE])

    await office.reload(people=people(ALICE))
    await world.call("DELETE", "/v1/pause", "admin")
    await world.settle()

    mail = await world.mailbox.expect(subject=asked["ref"])
    await world.mailbox.reply(mail, "approve")
    assert (await world.told(asked))["data"]["responded_by"] == ALICE


# --- Keys -------------------------------------------------------------------------------------------------------------


async def test_no_key_is_made_under_an_alias(tmp_path: Path, database_url: str) -> None:
    async with running(tmp_path, database_url, people=people(ALICE)):
        said = await keys(tmp_path, "create", "A.Smith+bot@corp.example", "--role", "agent", status=2)
    assert f"a.smith+bot@corp.example is an alias of {ALICE} in people" in " ".join(said.split())


async def test_a_key_that_had_the_name_before_is_the_persons(office: Office, tmp_path: Path) -> None:
    world = office.world
    made = told(await keys(tmp_path, "create", ALSO_CAROL, "--role", "operator"), "api key")
    await office.reload(people=people(CAROL))

    assert (await me(world, made)).json()["identity"] == CAROL
    asked = await world.ask(responders=[CAROL, BOB], on_behalf_of=CAROL)
    path = f"/v1/intents/{asked['intent_id']}/suspend/respond"
    body = {"suspension_id": asked["suspension_id"], "value": "approve"}
    refused = await world.call("POST", path, None, json=body, headers={"X-API-Key": made})
    is_refused(refused, 403, "self_response_forbidden")
