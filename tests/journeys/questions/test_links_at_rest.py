"""Whatever opens or answers something without a further question is in what was sent, and nowhere in the database.

Source: DESIGN.md, "The outbox"; docs/decisions/0045.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import sqlalchemy as sa
from pydantic import JsonValue

from core.store import outbox
from core.store.outbox import Row, RowKind
from tests.bot.mail_world import ALICE, BOB, Asked, ask_by_mail, written_back
from tests.vendors.mail import Mail
from tests.vendors.slack import shown
from tests.vendors.smtp import Stage
from tests.world import CHANNEL, World

LIVE = re.compile(
    r"/a/(?P<page>[a-z2-7]{26})|/signin/(?P<signin>[\w.-]+\.[\w-]+)|answers\+r\.(?P<reply>[a-z2-7]{26})@", re.IGNORECASE
)
HOURLY = {"max_attempts": 3, "interval_seconds": 3600}


def live(text: str) -> dict[str, str]:
    """The tokens in ``text``, each with what it opens."""
    return {match[match.lastgroup]: match.lastgroup for match in LIVE.finditer(text) if match.lastgroup}


def opened_by(mail: Mail) -> set[str]:
    return set(live(f"{mail.message.as_string()} {mail.text} {mail.html}").values())


def sent(world: World) -> dict[str, str]:
    """Every token that has left, by mail, in Slack, to PagerDuty and to the agent."""
    mails = [f"{mail.message.as_string()} {mail.text} {mail.html}" for mail in world.mailbox.mails]
    slack = [shown(one) for one in (*world.slack.workspace.messages, *world.slack.workspace.ephemerals)]
    pages = [json.dumps(event, default=str) for event in world.pager.events]
    told = [callback.body.decode() for callback in world.agent.told]
    return live("\n".join((*mails, *slack, *pages, *told)))


async def kept(world: World, folder: Path) -> str:
    """Everything that the database holds: its files as they are, or each row of each table as text."""
    if world.service.database.engine.dialect.name == "sqlite":
        files = [file for file in folder.iterdir() if file.name.startswith("handraise.db") and file.suffix != ".key"]
        assert any(file.name.endswith("-wal") and file.stat().st_size for file in files)
        return "".join(file.read_bytes().decode("latin-1") for file in files)

    def read(conn: sa.Connection) -> str:
        named = "select quote_ident(table_schema) || '.' || quote_ident(table_name) from information_schema.tables"
        ours = conn.scalars(sa.text(f"{named} where table_schema not in ('pg_catalog', 'information_schema')")).all()
        rows = [conn.scalars(sa.text(f"select t::text from {table} t")).all() for table in ours]
        return "".join(row for table in rows for row in table)

    return await world.service.database.read(read)


async def ask_for_link(world: World, person: str) -> Mail:
    form = await world.http.get(f"{world.url}/signin")
    token = re.search(r'name="form_token" value="([^"]+)"', form.text)
    assert token is not None
    await world.http.post(f"{world.url}/signin", data={"form_token": token[1], "email": person, "next": "/inbox"})
    await world.settle()
    return await world.mailbox.expect(to=person, subject="Your sign-in link")


async def last_word(world: World, asked: Asked) -> Mail:
    return (await written_back(world, asked))[-1]


async def everything_that_is_sent(world: World) -> tuple[str, str]:
    """Have each kind of message go out; returns a ref of a question that is still open, and what an admin got."""
    asked, mail = await ask_by_mail(world, retry_policy=HOURLY, timeout_seconds=10800, answers_required=2)
    for words, back in (("hm", "Reply with one number"), ("1\nif Bob agrees", "You wrote “1”")):
        await world.mailbox.reply(mail, words)
        said = await last_word(world, asked)
        assert back in said.text
        assert opened_by(said) == {"page", "reply"}
    await world.mailbox.forge_reply(mail, "approve", sender=ALICE, verdict=None)
    assert "could not be verified" in (await last_word(world, asked)).text
    path = f"/v1/suspensions/{asked['suspension_id']}"
    await world.call("POST", f"{path}/clarify", "operator", json={"question": "Which account?"})
    await world.settle()
    await world.call("POST", f"{path}/clarification", json={"text": "The shared one."})
    await world.settle()
    await world.advance(hours=1)
    assert len([one for one in world.mailbox.of(ALICE) if one.sender]) > 1, "a reminder"
    await world.mailbox.reply(mail, "on it")
    await world.settle()  # what is said to each reply goes out side by side
    await world.mailbox.reply(mail, "approve")
    assert "Recorded: “Approve refund”" in (await last_word(world, asked)).text
    await world.answer(asked, "approve", "second_operator")
    await world.settle()
    await world.mailbox.reply(mail, "deny")
    assert "reply was not recorded" in (await last_word(world, asked)).text

    in_slack = await world.ask("Deploy?", responders=[ALICE], notify_to=f"slack:{CHANNEL}", retry_policy=HOURLY)
    await world.press("U0ALICE", await world.slack.expect_message("Deploy?"), "Open")
    await world.slack.expect_private("U0ALICE", "/signin/")
    paged = {"channel_hint": "pagerduty", "notify_to": "pagerduty:default"}
    await world.ask("Restart?", responders=[ALICE], **paged)
    await ask_for_link(world, ALICE)
    once = {"Idempotency-Key": "once"}
    handed_over = await world.call("POST", "/v1/signin-links", "admin", json={"email": BOB}, headers=once)
    _, last = await ask_by_mail(world, "Pay?", responders=[ALICE, BOB])
    await world.mailbox.auto_reply(last)
    await world.mailbox.bounce(last)
    await world.settle()
    return str(in_slack["ref"]), handed_over.text


@pytest.mark.slow
async def test_nothing_that_was_sent_can_be_opened_by_whoever_reads_the_database(
    any_world: World, tmp_path: Path
) -> None:
    still_open, handed_over = await everything_that_is_sent(any_world)
    left = sent(any_world) | live(handed_over)
    held = await kept(any_world, tmp_path)

    assert set(left.values()) == {"page", "reply", "signin"}
    assert still_open in held, "it is the database that was read"
    assert {kind for token, kind in left.items() if token[-26:] in held} == set()


async def test_a_sign_in_mail_that_goes_out_twice_has_the_same_link(world: World) -> None:
    world.mailbox.drop_next(Stage.DOT)
    await ask_for_link(world, ALICE)
    await world.advance(minutes=5)
    first, again = world.mailbox.of(ALICE)
    assert (first.acknowledged, again.acknowledged) == (False, True)
    assert first.links == again.links


async def test_the_link_that_an_older_version_wrote_into_a_row_still_goes_out(world: World) -> None:
    link, service, now = f"{world.url}/signin/of.before", world.service, world.clock.now()
    body: dict[str, JsonValue] = {
        "purpose": "sign_in",
        "subject": "Sign in",
        "text": "Here:",
        "link": link,
        "ref": None,
    }
    old = Row(RowKind.TELL, "email", now, now, address=ALICE, person=ALICE, body=body)
    await service.database.write(lambda tx: outbox.insert(tx, [old], service.lanes.owner))
    await world.settle()
    assert link in (await world.mailbox.expect(to=ALICE, subject="Sign in")).text
