"""Answers that are fetched from a mailbox of a real dovecot, and what becomes of the mails there.

Source: API.md §6; facts on mail §B2, §F; docs/decisions/0020.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.inbound.mail.imap import MAILBOX, MailboxTiming, MailPoller
from bot.inbound.mail.inbox import MailInbox
from channels.email.addressing import Mailboxes
from channels.email.authentication import SenderAuth
from channels.email.imap import KEYWORD, ImapAccount, ImapLost, ImapServer, ImapSession
from channels.email.inbound import MailRules
from channels.email.lmtp_server import LARGEST_MAIL
from core.database.locks import LockSlots
from tests.bot.mail_world import ask_by_mail, correspondence_of, is_open, signatures_of, signed_reply, words_back
from tests.mail_servers import PASSWORD, MailServers
from tests.ports import free_port
from tests.world import World, running

pytestmark = pytest.mark.mailservers

PATIENCE = 30
OURS = Mailboxes.of("Handraise <handraise@handraise.example>", "answers@imap.example", key=b"mail")
QUICK = MailboxTiming(
    longest_pause=timedelta(milliseconds=50),
    without_database=timedelta(milliseconds=50),
    told_after=timedelta(milliseconds=100),
)


@pytest.fixture
async def world(tmp_path: Path, sqlite_url: str) -> AsyncIterator[World]:
    """A service whose answers go to a mailbox, and nobody who looks into it."""
    async with running(tmp_path, sqlite_url, email__reply_to="answers@imap.example") as world:
        yield world


@asynccontextmanager
async def looking(
    world: World,
    url: str,
    *,
    every: timedelta = timedelta(minutes=20),
    done_folder: str | None = None,
    told_after: timedelta = QUICK.told_after,
) -> AsyncIterator[tuple[MailPoller, list[str]]]:
    """Somebody who looks into it, and the reasons that operators were told. With this ``every`` only IDLE wakes it."""
    engine, told = world.service.engine, list[str]()
    inbox = MailInbox(
        engine,
        correspondence_of(world),
        world.clock,
        MailRules(OURS, SenderAuth.DMARC, "handraise.example"),
        signatures_of(world),
    )
    account = ImapAccount(ImapServer.parse(url), done_folder=done_folder)

    async def tell(reason: str) -> None:
        told.append(reason)

    places, pace = LockSlots(engine.database, MAILBOX, 1), replace(QUICK, told_after=told_after)
    poller = MailPoller(inbox, account, correspondence_of(world), places, tell, world.clock, every, pace)
    poller.start()
    try:
        yield poller, told
    finally:
        await asyncio.wait_for(poller.stop_taking(), 30)


async def until(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await asyncio.to_thread(what):
            await asyncio.sleep(0.05)


async def until_answered(world: World, asked: dict[str, Any]) -> None:
    async with asyncio.timeout(PATIENCE):
        while await is_open(world, asked):
            await asyncio.sleep(0.05)


def lay(mx: MailServers, raw: bytes, *flags: str) -> None:
    with mx.opened("answers") as box:
        box.append(raw, "INBOX", flag_set=flags)


def marks(mx: MailServers, folder: str = "INBOX") -> list[set[str]]:
    """The flags of each mail, oldest first."""
    with mx.opened("answers") as box:
        if not box.folder.exists(folder):
            return []
        box.folder.set(folder)
        return [set(mail.flags) - {"\\Recent"} for mail in box.fetch(mark_seen=False)]


DONE = {"\\Seen", KEYWORD}


@contextlib.contextmanager
def database_without(world: World, table: str) -> Iterator[None]:
    path = world.service.database.path
    assert path is not None
    for old, new in ((table, "away"), ("away", table)):
        with closing(sqlite3.connect(path)) as conn:
            conn.execute(f"ALTER TABLE {old} RENAME TO {new}")
            conn.commit()
        if old == table:
            yield


async def test_an_unread_mail_from_before_the_start_counts_and_is_marked(mx: MailServers, world: World) -> None:
    asked, mail = await ask_by_mail(world)
    lay(mx, signed_reply(world, mail))

    async with looking(world, mx.imap_url("answers")):
        await until_answered(world, asked)
        await until(lambda: marks(mx) == [DONE])

    assert len(await words_back(world, asked)) == 1


async def test_a_mail_that_arrives_is_taken_as_soon_as_the_server_tells(mx: MailServers, world: World) -> None:
    first, mail = await ask_by_mail(world)
    second, other = await ask_by_mail(world)
    async with looking(world, mx.imap_url("answers")) as (poller, _):
        await until(lambda: poller.standing == "connected")
        lay(mx, signed_reply(world, mail))
        await until_answered(world, first)
        lay(mx, signed_reply(world, other))
        await until_answered(world, second)


@pytest.mark.parametrize("table", ["seen", "tokens"])
async def test_with_the_database_away_a_mail_stays_unread_and_counts_later(
    mx: MailServers, world: World, capsys: pytest.CaptureFixture[str], table: str
) -> None:
    asked, mail = await ask_by_mail(world)
    lay(mx, signed_reply(world, mail))
    async with looking(world, mx.imap_url("answers")) as (poller, _):
        with database_without(world, table):
            await until(lambda: poller.standing == "connected")
            await until(lambda: "mail.left_for_later" in capsys.readouterr().out)
            assert marks(mx) == [set()]
            assert await is_open(world, asked)
        await until_answered(world, asked)
        await until(lambda: marks(mx) == [DONE])


async def test_a_mail_that_somebody_opened_first_counts_all_the_same(mx: MailServers, world: World) -> None:
    asked, mail = await ask_by_mail(world)
    lay(mx, signed_reply(world, mail), "\\Seen")
    async with looking(world, mx.imap_url("answers")):
        await until_answered(world, asked)


async def test_what_is_marked_or_deleted_is_left_alone(mx: MailServers, world: World) -> None:
    asked, mail = await ask_by_mail(world)
    other, other_mail = await ask_by_mail(world)
    for flag in (KEYWORD, "\\Deleted"):
        lay(mx, signed_reply(world, mail), flag)
    lay(mx, signed_reply(world, other_mail))
    async with looking(world, mx.imap_url("answers")):
        await until_answered(world, other)  # the one behind them
    assert await is_open(world, asked)


async def test_two_that_look_at_once_answer_and_confirm_once(mx: MailServers, world: World) -> None:
    async with looking(world, mx.imap_url("answers")) as one, looking(world, mx.imap_url("answers")) as two:
        await until(lambda: one[0].standing == two[0].standing == "connected")
        for _ in range(5):
            asked, mail = await ask_by_mail(world)
            lay(mx, signed_reply(world, mail))
            await until_answered(world, asked)
            await until(lambda: all(flags == DONE for flags in marks(mx)))
            assert len(await words_back(world, asked)) == 1


async def test_a_mailbox_that_was_numbered_anew_answers_nothing_twice(mx: MailServers, world: World) -> None:
    asked, mail = await ask_by_mail(world)
    raw = signed_reply(world, mail)
    lay(mx, raw)
    async with looking(world, mx.imap_url("answers")):
        await until_answered(world, asked)
        await until(lambda: marks(mx) == [DONE])
    before = validity(mx)
    mx.empty()
    await asyncio.sleep(1.1)  # dovecot's UIDVALIDITY is the second in which the mailbox was made
    lay(mx, raw)
    assert validity(mx) != before

    async with looking(world, mx.imap_url("answers")):
        await until(lambda: marks(mx) == [DONE])

    assert len(await words_back(world, asked)) == 1


def validity(mx: MailServers) -> int:
    with mx.opened("answers") as box:
        return int(box.folder.status("INBOX")["UIDVALIDITY"])


async def test_of_a_mail_that_is_too_large_the_header_alone_is_read_and_its_writer_hears_of_it(
    mx: MailServers, world: World
) -> None:
    asked, mail = await ask_by_mail(world)
    lay(mx, signed_reply(world, mail) + b"x" * LARGEST_MAIL)
    async with looking(world, mx.imap_url("answers")):
        await until(lambda: marks(mx) == [DONE])
    assert await is_open(world, asked)
    (told,) = await words_back(world, asked)
    assert told.startswith("Nothing has been recorded. No words of your own")


async def test_a_mail_that_vanished_meanwhile_is_passed_over(mx: MailServers, world: World) -> None:
    _, mail = await ask_by_mail(world)
    lay(mx, signed_reply(world, mail))
    with closing(ImapSession.open(ImapAccount(ImapServer.parse(mx.imap_url("answers"))))) as session:
        (uid,) = session.waiting(world.clock.now().date())
        with mx.opened("answers") as box:
            box.delete(uid)
        assert session.content(uid) is None
        assert session.size(uid) is None
        session.done(uid)


async def test_mails_that_were_taken_are_moved_where_they_are_to_go(mx: MailServers, world: World) -> None:
    asked, mail = await ask_by_mail(world)
    lay(mx, signed_reply(world, mail))
    async with looking(world, mx.imap_url("answers"), done_folder="Übernommen"):
        await until_answered(world, asked)
        await until(lambda: marks(mx, "Übernommen") == [DONE])
    assert marks(mx) == []


async def test_a_connection_that_breaks_is_opened_anew(mx: MailServers, world: World) -> None:
    asked, mail = await ask_by_mail(world)
    async with looking(world, mx.imap_url("answers"), told_after=timedelta(minutes=1)) as (poller, told):
        await until(lambda: poller.standing == "connected")
        mx.kick("answers")
        lay(mx, signed_reply(world, mail))
        await until_answered(world, asked)
    assert told == []


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("imap://answers:hunter2@127.0.0.1:{imap}/INBOX", "login_refused"),
        ("imap://änne:hüntër2@127.0.0.1:{imap}/INBOX", "login_refused"),
        ("imap://answers:pw@127.0.0.1:{imap}/Nowhere", "folder_not_selected"),
        ("imap://answers:pw@127.0.0.1:{nobody}/INBOX", "unreachable"),
        ("imaps://answers:pw@127.0.0.1:{imap}/INBOX", "tls_failed"),
    ],
)
async def test_a_mailbox_that_can_not_be_looked_into_is_told_by_its_reason_and_no_secret(
    mx: MailServers, world: World, capsys: pytest.CaptureFixture[str], url: str, reason: str
) -> None:
    async with looking(world, url.format(imap=mx.imap, nobody=free_port())) as (poller, told):
        await until(lambda: bool(told))
        assert poller.standing == "connecting"
    assert set(told) == {reason}
    said = capsys.readouterr().out
    assert said.count("mail.mailbox_not_opened") == 1
    assert not any(secret in said for secret in ("hunter2", "hüntër2", PASSWORD + "@", "answers"))


async def test_over_a_network_nothing_is_said_before_it_is_encrypted(mx: MailServers) -> None:
    server = ImapServer.parse(f"imap://answers:pw@localhost.localdomain:{mx.imap}")
    here = ImapServer("127.0.0.1", mx.imap, server.tls, "answers", PASSWORD, "INBOX")
    with pytest.raises(ImapLost) as lost:
        ImapSession.open(ImapAccount(here))
    assert (lost.value.reason, lost.value.lasting) == ("tls_not_offered", True)


async def test_the_service_itself_looks_says_so_and_ends_though_it_waits(
    mx: MailServers, tmp_path: Path, database_url: str
) -> None:
    changes = {"email__imap_url": mx.imap_url("answers"), "email__reply_to": "answers@imap.example"}
    async with running(tmp_path, database_url, **changes) as world:
        asked, mail = await ask_by_mail(world)
        lay(mx, signed_reply(world, mail))
        await until_answered(world, asked)
        ready = await world.call("GET", "/readyz", None)
        assert ready.json()["mail_poller"] == "connected"
        async with asyncio.timeout(30):
            await world.service.doors.stop_taking()
