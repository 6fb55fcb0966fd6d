"""One person is one person, however their address is written (API.md §1 "canonical", §2 "Whom to ask")."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from core.engine.inbox import Inbox
from tests.journeys.questions.test_handover import assign
from tests.journeys.questions.test_quorum import page_link, send
from tests.world import KEYS, WEBHOOK_SECRET, World, running

ALICE, BOB, CAROL = "alice@example.com", "bob@example.com", "carol@example.com"
ALICE_AGAIN = "alice+2@example.com"


def is_refused(response: httpx.Response, status: int, code: str) -> None:
    assert (response.status_code, response.json()["detail"]["error"]) == (status, code), response.text


async def preview(world: World, **fields: Any) -> list[dict[str, Any]]:
    body = {"question": "Deploy?", "response_type": "confirm", **fields}
    problems: list[dict[str, Any]] = (await world.call("POST", "/v1/suspensions/preview", json=body)).json()["problems"]
    return problems


# --- A quorum ---------------------------------------------------------------------------------------------------------


async def test_one_person_does_not_complete_a_quorum_by_handing_it_to_their_sub_address(any_world: World) -> None:
    world = any_world
    asked = await world.ask(responders=[ALICE, BOB], answers_required=2)
    assert (await world.answer(asked, "approve")).status_code == 202

    is_refused(await assign(world, asked, ALICE_AGAIN), 422, "recipient_not_allowed")

    await world.settle()
    assert [mail.recipient for mail in world.mailbox.mails if "+2" in mail.recipient] == []
    assert (await world.show(asked))["answers_received"] == 1


@pytest.mark.parametrize("again", [ALICE_AGAIN, f"email:{ALICE_AGAIN}", "ALICE@Example.COM", "alice@example.com."])
async def test_a_second_spelling_of_a_responder_is_not_a_second_person(world: World, again: str) -> None:
    body = {"question": "Deploy?", "response_type": "confirm", "responders": [ALICE, again], "answers_required": 2}
    refused = await world.call("POST", "/v1/suspensions", json=body)
    is_refused(refused, 422, "answers_unreachable")
    assert "and 1 may answer" in refused.json()["detail"]["message"]


async def test_the_link_of_a_second_spelling_counts_for_the_same_person(world: World) -> None:
    fields = {"responders": [f"email:{ALICE_AGAIN}", ALICE, BOB], "answers_required": 2}
    asked = await world.ask(channel_hint="email", **fields)
    link = await page_link(world, ALICE_AGAIN)
    assert (await world.answer(asked, "approve")).status_code == 202

    async with httpx.AsyncClient(follow_redirects=True, timeout=30) as browser:
        shown = await browser.get(link)

    assert "Change my answer" in shown.text, "she has answered, under whichever spelling"
    assert (await world.show(asked))["answers_received"] == 1


async def test_an_address_outside_the_directory_is_asked_and_answers_alone(world: World) -> None:
    asked = await world.ask(channel_hint="email", responders=["Dana+refunds@example.com"])
    mail = await world.mailbox.expect(to="dana+refunds@example.com")
    await world.mailbox.reply(mail, "approve")
    assert (await world.told(asked))["data"]["responded_by"] == "dana@example.com"


async def test_an_address_outside_the_directory_does_not_count_among_several(world: World) -> None:
    fields = {"responders": [ALICE, BOB, "dana@example.com"], "answers_required": 2}
    asked = await world.ask(channel_hint="email", **fields)
    link = await page_link(world, "dana@example.com")
    async with httpx.AsyncClient(follow_redirects=True, timeout=30) as browser:
        assert (await browser.get(link)).status_code == 403
    assert (await world.show(asked))["answers_received"] == 0
    found = [one["message"] for one in await preview(world, **fields) if one["code"] == "answer_not_counted"]
    assert len(found) == 1
    assert "dana@example.com" in found[0]


async def test_strangers_do_not_make_a_quorum(world: World) -> None:
    strangers = [f"dana{number}@example.com" for number in range(5)]
    found = await preview(world, responders=[ALICE, *strangers], answers_required=2)
    assert [one["message"] for one in found if one["code"] == "answers_unreachable"] == [
        "answers_required is 2, and 1 may answer this question."
    ]


async def test_a_gateway_can_not_count_people_whom_nobody_knows(world: World) -> None:
    asked = await world.ask(responders=[ALICE, BOB], answers_required=2)
    is_refused(
        await world.answer(asked, "approve", "admin", responded_by="dana@example.com"),
        403,
        "not_a_responder",
    )
    assert (await world.answer(asked, "approve", "admin", responded_by=ALICE_AGAIN)).status_code == 202
    is_refused(await world.answer(asked, "approve", "admin", responded_by=ALICE), 409, "already_answered")


async def test_a_group_of_sub_addresses_is_one_person(tmp_path: Path, sqlite_url: str) -> None:
    groups = {"four-eyes": ["erin+1@example.com", "erin+2@example.com", "ERIN@example.com"]}
    async with running(tmp_path, sqlite_url, groups=groups) as world:
        found = await preview(world, responders=["group:four-eyes"], answers_required=2)
        assert "and 1 may answer" in next(one for one in found if one["code"] == "answers_unreachable")["message"]
        asked = await world.ask(channel_hint="email", responders=["group:four-eyes"])
        [mail] = [one for one in world.mailbox.mails if one.recipient.startswith("erin")]
        assert mail.recipient == "erin+1@example.com", "her mail goes where the directory has her"
        await world.mailbox.reply(mail, "approve")
        assert (await world.told(asked))["data"]["responded_by"] == "erin@example.com"


# --- Oneself ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelled", ["bob+x@example.com", "BOB@example.com", " Bob+y@EXAMPLE.com"])
async def test_whom_it_is_asked_for_does_not_answer_whatever_their_sub_address(world: World, spelled: str) -> None:
    asked = await world.ask(responders=[ALICE, "bob+2@example.com"], on_behalf_of=spelled)
    is_refused(await world.answer(asked, "approve", "second_operator"), 403, "self_response_forbidden")
    is_refused(await assign(world, asked, "bob+3@example.com"), 422, "recipient_not_allowed")


async def test_the_owner_of_an_agents_key_does_not_answer_it_from_a_sub_address(
    tmp_path: Path, sqlite_url: str
) -> None:
    keys = [
        {
            "name": "alice+bot@example.com",
            "key": KEYS["agent"],
            "roles": ["agent"],
            "webhook_secrets": [WEBHOOK_SECRET],
        },
        {"name": ALICE, "key": KEYS["operator"], "roles": ["operator"]},
        {"name": "root", "key": KEYS["admin"], "roles": ["admin"]},
    ]
    async with running(tmp_path, sqlite_url, api_keys=keys) as world:
        asked = await world.ask(channel_hint="email", responders=[f"email:{ALICE_AGAIN}", ALICE])
        is_refused(await world.answer(asked, "approve"), 403, "self_response_forbidden")
        link = await page_link(world, ALICE_AGAIN)
        async with httpx.AsyncClient(follow_redirects=True, timeout=30) as browser:
            assert (await browser.get(link)).status_code == 403


# --- Where mail goes, and what somebody sees --------------------------------------------------------------------------


async def test_mail_goes_to_the_mailbox_that_the_directory_names(tmp_path: Path, sqlite_url: str) -> None:
    people = [{"name": "Erin", "email": "Erin+work@Example.com"}]
    async with running(tmp_path, sqlite_url, people=people) as world:
        await world.ask(channel_hint="email", responders=["erin@example.com"])
        await world.mailbox.expect(to="erin+work@example.com")


async def test_a_domain_is_one_however_it_is_written(tmp_path: Path, sqlite_url: str) -> None:
    people = [{"name": "Jürgen", "email": "j@bücher.example"}, {"name": "Bob", "email": BOB}]
    allow = ["*@bücher.example", "*@example.com"]
    async with running(tmp_path, sqlite_url, people=people, recipients={"allow": allow}) as world:
        both = ["j@bücher.example", "J@xn--bcher-kva.example"]
        found = await preview(world, channel_hint="email", responders=both, answers_required=2)
        assert "and 1 may answer" in next(one for one in found if one["code"] == "answers_unreachable")["message"]
        assert [one for one in found if one["code"] == "recipient_not_allowed"] == []


async def test_dots_in_a_mailbox_are_another_person(world: World) -> None:
    """Only some mail services ignore them: a.lice@example.com may be somebody else."""
    asked = await world.ask(responders=[ALICE], on_behalf_of="a.lice@example.com")
    assert (await world.answer(asked, "approve")).status_code == 200


async def test_what_was_asked_of_a_sub_address_waits_in_the_persons_inbox(any_world: World) -> None:
    asked = await any_world.ask(channel_hint="email", responders=["Alice+2@Example.com"])
    engine = any_world.service.engine
    alice = engine.permissions.responders.actor(ALICE)
    waiting = (await Inbox(engine.database, engine.permissions).page(alice, 50)).questions
    assert [one.ask.ref for one in waiting] == [asked["ref"]]


async def test_the_person_behind_a_sub_address_answers_from_their_own_mailbox(world: World) -> None:
    asked = await world.ask(channel_hint="email", responders=["carol+refunds@example.com", BOB], answers_required=2)
    link = await page_link(world, CAROL)
    async with httpx.AsyncClient(follow_redirects=True, timeout=30) as browser:
        assert (await send(browser, link, "0")).status_code == 200
    assert (await world.show(asked))["answers"][0]["responded_by"] == CAROL
