"""Mail that comes in, where the test needs a service, a clock or a database of its own.

Source: API.md §6; facts on mail §B3, §F.
"""

from __future__ import annotations

import contextlib
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest

from channels.email.authentication import SenderAuth
from tests.bot.mail_world import ALICE, ask_by_mail, is_open, signed_reply, take, words_back
from tests.vendors import mail as mail_replies
from tests.vendors.mail import sign
from tests.world import INBOUND_SECRET, World, running


async def test_a_loop_ends_however_often_somebody_is_unclear(world: World) -> None:
    asked, mail = await ask_by_mail(world)
    for words in range(8):
        await world.mailbox.reply(mail, f"hm {words}")
    assert len(await words_back(world, asked)) == 7, "six times the list, and the link of the page once"

    await world.advance(hours=1)
    await world.mailbox.reply(mail, "hmmm")

    assert len(await words_back(world, asked)) == 8
    assert await is_open(world, asked)


@pytest.mark.parametrize("words", ["approve", "on it", "hm"])
async def test_whoever_comes_after_the_end_is_told_what_the_agent_went_on_with(world: World, words: str) -> None:
    asked, mail = await ask_by_mail(world, fallback_policy="complete_with_fallback", fallback_value="deny")
    await world.advance(hours=3)

    await world.mailbox.reply(mail, words)

    assert (await world.told(asked))["data"]["resolution"] == "expired"
    (told,) = await words_back(world, asked)
    assert "Nobody answered by 2026-03-24 12:00 UTC. The agent went on with “Deny refund”." in told


def change_schema(world: World, statement: str) -> None:
    path = world.service.database.path
    assert path is not None
    with contextlib.closing(sqlite3.connect(path)) as conn:
        conn.execute(statement)
        conn.commit()


@pytest.mark.parametrize("table", ["seen", "tokens", "events"])
async def test_wherever_the_database_fails_the_mail_comes_again_and_counts(world: World, table: str) -> None:
    asked, mail = await ask_by_mail(world)
    raw = signed_reply(world, mail)
    change_schema(world, f"ALTER TABLE {table} RENAME TO away")

    assert (await world.mailbox.post(raw)).status_code == 503
    assert await is_open(world, asked)

    change_schema(world, f"ALTER TABLE away RENAME TO {table}")
    assert (await world.mailbox.post(raw)).status_code == 202
    assert (await world.told(asked))["data"]["value"] == "approve"


@pytest.mark.parametrize(("mode", "answers"), [(SenderAuth.TOKEN_ONLY, True), (SenderAuth.LINK_ONLY, False)])
async def test_the_installation_decides_what_makes_a_sender_authentic(
    world: World, mode: SenderAuth, answers: bool
) -> None:
    asked, mail = await ask_by_mail(world)
    raw = mail_replies.reply(mail, "approve", sender=ALICE, at=world.clock.now(), authentication=None)

    await take(world, raw, sender_auth=mode)

    assert await is_open(world, asked) is not answers
    (told,) = await words_back(world, asked)
    assert told.startswith("Recorded") if answers else "answers are not taken by mail here" in told


async def test_a_signature_is_good_for_five_minutes_and_for_its_own_mail_only(world: World) -> None:
    asked, mail = await ask_by_mail(world)
    raw = signed_reply(world, mail)
    now = world.clock.now()

    async def knock(body: bytes, signature: str) -> int:
        return (await world.mailbox.post(body, signature)).status_code

    assert await knock(raw, sign(raw, INBOUND_SECRET, now - timedelta(minutes=6))) == 401
    assert await knock(raw, sign(raw, INBOUND_SECRET, now + timedelta(minutes=6))) == 401
    assert await knock(raw, sign(raw, "another secret", now)) == 401
    assert await knock(raw + b"x", sign(raw, INBOUND_SECRET, now)) == 401
    assert await is_open(world, asked)
    assert await knock(raw, sign(raw, INBOUND_SECRET, now - timedelta(minutes=4))) == 202


async def test_nothing_that_a_person_wrote_is_logged(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    asked, mail = await ask_by_mail(world, "Refund the secret order?")
    await world.mailbox.reply(mail, "approve\n\nReason: for the hidden reason")
    await world.mailbox.forge_reply(mail, "approve", sender="mallory@evil.test")
    await world.told(asked)

    said = capsys.readouterr()
    token = mail.answers_to.partition("+r.")[2].partition("@")[0]
    for secret in ("secret order", "hidden reason", "alice@", "mallory@", token):
        assert secret not in said.out + said.err


async def test_a_person_at_a_domain_with_an_umlaut_answers_under_the_name_that_mail_programs_write(
    tmp_path: Path, sqlite_url: str
) -> None:
    written, sent = "alice@b\u00fccher.example", "alice@xn--bcher-kva.example"
    async with running(tmp_path, sqlite_url, recipients={"allow": ["*"]}) as world:
        asked = await world.ask(channel_hint="email", notify_to=written, responders=[written], timeout_seconds=7200)
        mail = await world.mailbox.expect(to=sent, subject=asked["ref"])

        await world.mailbox.reply(mail, "approve", sender=sent)

        assert (await world.told(asked))["data"]["responded_by"] == sent  # an identity has its domain as the DNS does
