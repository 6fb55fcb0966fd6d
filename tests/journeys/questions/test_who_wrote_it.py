"""Who really wrote a reply (API.md §6): who sends in another's name only bars, and a team's mailbox is nobody's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.inbound.mail.answers import SENT_BY_ANOTHER
from channels.email.authentication import SenderAuth
from tests.bot.mail_world import ask_by_mail, is_open, lines, reasons, signed_reply, take, words_back
from tests.journeys.pages.test_signin_links import a_link, enter_with
from tests.world import KEYS, World, running

in_room = pytest.mark.asyncio(loop_scope="module")

ALICE, BOB, CAROL = "alice@example.com", "bob@example.com", "carol@example.com"
TEAM = "approvals@example.com"


def sent_by(raw: bytes, *fields: str) -> bytes:
    """The reply with further fields in its head."""
    return b"".join(f"{one}\r\n".encode() for one in fields) + raw


# --- In another's name ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "field",
    [
        f"Sender: {BOB}",
        f"Sender: Bob Example <{BOB}>",
        "Sender: bob+phone@Example.COM",
        f"Resent-From: {BOB}",
        f"Resent-Sender: {BOB}",
        f"X-Google-Sender-Delegation: {BOB}",
    ],
)
@in_room
async def test_what_a_delegate_sends_in_anothers_name_is_no_approval_of_theirs(any_room: World, field: str) -> None:
    asked, mail = await ask_by_mail(any_room, responders=[ALICE, BOB], on_behalf_of=BOB)

    await any_room.mailbox.post(sent_by(signed_reply(any_room, mail), field))

    assert await is_open(any_room, asked)
    assert await reasons(any_room, asked) == [("reply", SENT_BY_ANOTHER)]
    [told] = await words_back(any_room, asked)
    assert f"sent by {BOB}, who may not answer" in told


@in_room
async def test_the_timeline_names_both(any_room: World) -> None:
    asked, mail = await ask_by_mail(any_room, responders=[ALICE, BOB], on_behalf_of=BOB)

    await any_room.mailbox.post(sent_by(signed_reply(any_room, mail), f"Sender: {BOB}"))

    [line] = await lines(any_room, asked)
    assert (line["about"], line["sent_by"]) == (ALICE, BOB)


@pytest.mark.parametrize("text", ["approve", "deny", "on it", "I would rather not"])
@in_room
async def test_nothing_that_they_send_counts_whatever_it_says(room: World, text: str) -> None:
    asked, mail = await ask_by_mail(room, responders=[ALICE, BOB], on_behalf_of=BOB)

    await room.mailbox.post(sent_by(signed_reply(room, mail, text), f"Sender: {BOB}"))

    assert await reasons(room, asked) == [("reply", SENT_BY_ANOTHER)]
    assert (await room.show(asked))["claimed_by"] is None


@pytest.mark.parametrize("stranger", ["secretary@example.com", "mallory@evil.test", "no address at all"])
@in_room
async def test_somebody_whom_nobody_knows_may_not_answer_either(room: World, stranger: str) -> None:
    asked, mail = await ask_by_mail(room)

    await room.mailbox.post(sent_by(signed_reply(room, mail), f"Sender: {stranger}"))

    assert await reasons(room, asked) == [("reply", SENT_BY_ANOTHER)]
    [told] = await words_back(room, asked)
    assert "sent by somebody else" in told
    assert stranger not in told


@pytest.mark.parametrize(
    "field",
    [f"Sender: {ALICE}", "Sender: Alice+web@Example.com", f"Sender: {BOB}", "Sender:", f"Resent-From: {BOB}"],
)
@in_room
async def test_whoever_may_answer_themselves_bars_nothing_and_from_counts(room: World, field: str) -> None:
    asked, mail = await ask_by_mail(room, responders=[ALICE, BOB])

    await room.mailbox.post(sent_by(signed_reply(room, mail), field))

    assert (await room.told(asked))["data"]["responded_by"] == ALICE


@in_room
async def test_the_evidence_names_both(any_room: World) -> None:
    asked, mail = await ask_by_mail(any_room, responders=[ALICE, BOB])

    await any_room.mailbox.post(sent_by(signed_reply(any_room, mail), "Sender: Bob <bob+phone@example.com>"))

    await any_room.told(asked)
    [ended] = [one for one in await any_room.events(asked) if one["event_type"] == "intent.resumed"]
    assert (ended["payload"]["via"]["account"], ended["payload"]["via"]["sender"]) == (ALICE, BOB)


@in_room
async def test_who_sends_for_themselves_is_named_once(room: World) -> None:
    asked, mail = await ask_by_mail(room, responders=[ALICE, BOB])

    await room.mailbox.post(sent_by(signed_reply(room, mail), f"Sender: {ALICE}"))

    await room.told(asked)
    [ended] = [one for one in await room.events(asked) if one["event_type"] == "intent.resumed"]
    assert "sender" not in ended["payload"]["via"]


@in_room
async def test_one_of_several_senders_who_may_not_answer_is_enough(room: World) -> None:
    asked, mail = await ask_by_mail(room, responders=[ALICE, BOB])

    await room.mailbox.post(sent_by(signed_reply(room, mail), f"Sender: {BOB}", f"Sender: {CAROL}"))

    assert await reasons(room, asked) == [("reply", SENT_BY_ANOTHER)]


@in_room
async def test_a_mail_of_several_authors_is_nobodys(room: World) -> None:
    asked, mail = await ask_by_mail(room, responders=[ALICE, BOB])

    raw = signed_reply(room, mail).replace(f"From: {ALICE}".encode(), f"From: {ALICE}, {BOB}".encode())
    await room.mailbox.post(sent_by(raw, f"Sender: {ALICE}"))

    assert await is_open(room, asked)
    assert await reasons(room, asked) == [("reply", "sender_is_not_the_recipient")]


# --- A team's mailbox -------------------------------------------------------------------------------------------------


async def ask_the_team(world: World, **fields: Any) -> tuple[dict[str, Any], Any]:
    asked = await world.ask(**{"channel_hint": "email", "notify_to": TEAM, "responders": [ALICE, BOB]} | fields)
    return asked, await world.mailbox.expect(to=TEAM, subject=asked["ref"])


@pytest.mark.parametrize("responders", [[ALICE, BOB], ["group:finance"]])
@in_room
async def test_a_responder_answers_what_the_team_was_asked_from_their_own_address(
    any_room: World, responders: list[str]
) -> None:
    asked, mail = await ask_the_team(any_room, responders=responders)

    await any_room.mailbox.reply(mail, "approve", sender=BOB)

    assert (await any_room.told(asked))["data"]["responded_by"] == BOB
    written = [one for one in any_room.mailbox.mails if asked["ref"] in one.subject and "Recorded" in one.text]
    assert [one.recipient for one in written] == [BOB], "it is told to whoever answered, not to the team"


@in_room
async def test_two_of_the_team_complete_a_quorum_by_one_mail(any_room: World) -> None:
    asked, mail = await ask_the_team(any_room, answers_required=2)

    await any_room.mailbox.reply(mail, "approve", sender=BOB)
    await any_room.mailbox.reply(mail, "approve", sender=BOB)
    assert (await any_room.show(asked))["answers_received"] == 1
    await any_room.mailbox.reply(mail, "approve", sender=ALICE)

    assert (await any_room.told(asked))["data"]["responded_by"] == ALICE


@pytest.mark.parametrize("sender", [CAROL, "mallory@evil.test", "dana@example.com"])
@in_room
async def test_nobody_answers_it_who_may_not(room: World, sender: str) -> None:
    asked, mail = await ask_the_team(room)

    await room.mailbox.reply(mail, "approve", sender=sender)

    assert await is_open(room, asked)
    assert await reasons(room, asked) == [("reply", "sender_is_not_the_recipient")]
    [told] = await words_back(room, asked)
    assert "from somebody who may not answer" in told
    assert "reply from your own mailbox" in told


@in_room
async def test_nor_whoever_is_only_said_to_have_written_it(room: World) -> None:
    asked, mail = await ask_the_team(room)

    await room.mailbox.forge_reply(
        mail, "approve", sender=BOB, verdict="handraise.example; dmarc=fail header.from=example.com"
    )
    assert await reasons(room, asked) == [("reply", "sender_is_not_the_recipient")]

    raw = signed_reply(room, mail, sender=BOB)
    await take(room, raw, sender_auth=SenderAuth.TOKEN_ONLY)
    assert await is_open(room, asked), "the token is everybody's who reads that mailbox"


@in_room
async def test_a_delegate_does_not_answer_it_either(room: World) -> None:
    asked, mail = await ask_the_team(room, on_behalf_of=BOB)

    await room.mailbox.reply(mail, "approve", sender=BOB)
    await room.mailbox.post(sent_by(signed_reply(room, mail, sender=ALICE), f"Sender: {BOB}"))

    assert await is_open(room, asked)
    assert await reasons(room, asked) == [("reply", "sender_is_not_the_recipient"), ("reply", SENT_BY_ANOTHER)]


@in_room
async def test_a_mail_to_one_person_stays_theirs(room: World) -> None:
    asked, mail = await ask_by_mail(room, responders=[ALICE, BOB], notify_to=ALICE)

    await room.mailbox.reply(mail, "approve", sender=BOB)

    assert await reasons(room, asked) == [("reply", "sender_is_not_the_recipient")]


@in_room
async def test_two_questions_of_one_team_in_one_mail_are_not_answered(room: World) -> None:
    first, mail = await ask_the_team(room)
    second, other = await ask_the_team(room)

    raw = signed_reply(room, mail, sender=BOB)
    both = raw.replace(b"To: " + mail.answers_to.encode(), f"To: {mail.answers_to}, {other.answers_to}".encode())
    await room.mailbox.post(both)

    assert await is_open(room, first)
    assert await is_open(room, second)


def link_in(world: World, mail: Any) -> str:
    found = next(one for one in mail.links if "/a/" in one)
    return world.url + found[found.index("/a/") :]


async def browse(url: str, method: str = "GET") -> httpx.Response:
    async with httpx.AsyncClient(timeout=30) as browser:
        return await browser.request(method, url)


@in_room
async def test_a_link_that_went_to_a_team_asks_for_sign_in(any_room: World) -> None:
    asked, mail = await ask_the_team(any_room)
    link = link_in(any_room, mail)

    shown = await browse(link)

    assert shown.status_code == 303
    assert shown.headers["location"] == f"/signin?next=/q/{asked['ref']}"
    assert "Refund order" not in shown.text
    assert (await browse(link, "POST")).status_code == 403
    assert await is_open(any_room, asked)


@in_room
async def test_whoever_signs_in_there_comes_to_the_question_as_themselves(room: World) -> None:
    asked, mail = await ask_the_team(room)
    async with httpx.AsyncClient(timeout=30, follow_redirects=True, trust_env=False) as browser:
        await enter_with(browser, await a_link(room, BOB))
        shown = await browser.get(link_in(room, mail))

    assert shown.url.path == f"/q/{asked['ref']}"
    assert BOB in shown.text


@in_room
async def test_an_address_that_is_asked_for_itself_answers_for_itself(room: World) -> None:
    alone, mail = await ask_the_team(room, responders=[])
    assert (await browse(link_in(room, mail))).status_code == 200
    await room.mailbox.reply(mail, "approve")
    assert (await room.told(alone))["data"]["responded_by"] == TEAM


@pytest.mark.parametrize("named", [TEAM, f"email:{TEAM}", "approvals+x@example.com"])
@in_room
async def test_so_does_one_that_is_named_among_the_responders(room: World, named: str) -> None:
    asked = await room.ask(channel_hint="email", responders=[ALICE, named])
    mail = await room.mailbox.expect(to=named.removeprefix("email:"), subject=asked["ref"])
    assert (await browse(link_in(room, mail))).status_code == 200


async def test_the_configured_mailbox_is_a_teams_if_there_are_people_and_it_is_none_of_them(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with running(tmp_path, sqlite_url, email__default_to=[TEAM]) as world:
        asked = await world.ask(channel_hint="email")
        shown = await browse(link_in(world, await world.mailbox.expect(to=TEAM)))
        assert (shown.status_code, shown.headers["location"]) == (303, f"/signin?next=/q/{asked['ref']}")


async def test_where_there_are_no_people_it_is_whoever_set_it_up(tmp_path: Path, sqlite_url: str) -> None:
    keys = [{"name": "refund-agent", "key": KEYS["agent"], "roles": ["agent"]}]
    async with running(tmp_path, sqlite_url, email__default_to=[TEAM], people=[], api_keys=keys) as world:
        await world.ask(channel_hint="email", resume=None)
        assert (await browse(link_in(world, await world.mailbox.expect(to=TEAM)))).status_code == 200
