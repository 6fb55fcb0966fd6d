"""Mail servers' habits that the poller has to live with, played by a pretend one.

Source: RFC 9051, RFC 2177; facts on mail §B2; docs/decisions/0020.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.inbound.mail.imap import MAILBOX, MailboxTiming, MailPoller
from bot.inbound.mail.inbox import MailInbox
from channels.email.addressing import Mailboxes
from channels.email.authentication import SenderAuth
from channels.email.imap import KEYWORD, ImapAccount, ImapServer
from channels.email.inbound import MailRules
from core.database.locks import LockSlot, LockSlots
from tests.bot.mail_world import ask_by_mail, correspondence_of, is_open, signatures_of, signed_reply
from tests.channels.email.certificates import Authority
from tests.imap_pretend import PretendImap, pretending
from tests.world import CHANNEL, World, running

OURS = Mailboxes.of("Handraise <handraise@handraise.example>", "answers@handraise.example", key=b"mail")
QUICK = MailboxTiming(
    longest_pause=timedelta(milliseconds=50), finish=timedelta(milliseconds=200), longest_backoff=timedelta(seconds=2)
)
LONG = timedelta(minutes=20)


@asynccontextmanager
async def looking(
    world: World,
    imap: PretendImap,
    *,
    every: timedelta = LONG,
    scheme: str = "imap",
    pace: MailboxTiming = QUICK,
    **account: Any,
) -> AsyncIterator[tuple[MailPoller, list[str]]]:
    engine, told = world.service.engine, list[str]()
    inbox = MailInbox(
        engine,
        correspondence_of(world),
        world.clock,
        MailRules(OURS, SenderAuth.DMARC, "handraise.example"),
        signatures_of(world),
    )
    who = "answers" if "token_file" in account else "answers:pw"
    mailbox = ImapAccount(ImapServer.parse(f"{scheme}://{who}@127.0.0.1:{imap.port}"), **account)

    async def tell(reason: str) -> None:
        told.append(reason)

    places = LockSlots(engine.database, MAILBOX, 1)
    poller = MailPoller(inbox, mailbox, correspondence_of(world), places, tell, world.clock, every, pace)
    poller.start()
    try:
        yield poller, told
    finally:
        await asyncio.wait_for(poller.stop_taking(), 30)


async def until(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not what():
            await asyncio.sleep(0.02)


async def until_answered(world: World, asked: dict[str, Any]) -> None:
    async with asyncio.timeout(30):
        while await is_open(world, asked):
            await asyncio.sleep(0.02)


async def test_a_server_without_idle_is_looked_into_every_so_often(world: World) -> None:
    often = timedelta(milliseconds=50)
    async with pretending(PretendImap(idles=False)) as imap, looking(world, imap, every=often) as (poller, _):
        await until(lambda: poller.standing == "connected")
        asked, mail = await ask_by_mail(world)
        imap.lay(signed_reply(world, mail))
        await until_answered(world, asked)


async def test_a_mail_told_of_in_the_moment_in_which_idle_begins_is_not_overlooked(world: World) -> None:
    asked, mail = await ask_by_mail(world)
    async with pretending(PretendImap(told_with_idling=signed_reply(world, mail))) as imap, looking(world, imap):
        await until_answered(world, asked)


@pytest.mark.parametrize(
    ("imap", "marks"),
    [
        (PretendImap(), {"\\Seen", KEYWORD}),
        (PretendImap(keeps_keywords=False), {"\\Seen"}),
        (PretendImap(refuses_keywords=True), {"\\Seen"}),
    ],
    ids=["keeps-keywords", "keeps-none", "says-it-does-and-refuses"],
)
async def test_a_mail_is_marked_as_far_as_the_server_lets_it_be(
    world: World, imap: PretendImap, marks: set[str]
) -> None:
    _, mail = await ask_by_mail(world)
    async with pretending(imap):
        uid = imap.lay(signed_reply(world, mail))
        async with looking(world, imap):
            await until(lambda: imap.flags[uid] == marks)


async def test_a_mail_that_can_not_be_marked_is_not_fetched_for_ever(world: World) -> None:
    asked, mail = await ask_by_mail(world)
    async with pretending(PretendImap(refuses_marks=True, idles=False)) as imap:
        imap.lay(signed_reply(world, mail))
        async with looking(world, imap, every=timedelta(milliseconds=10)):
            await until_answered(world, asked)
            other, other_mail = await ask_by_mail(world)
            imap.lay(signed_reply(world, other_mail))
            await until_answered(world, other)
        async with looking(world, imap, every=timedelta(milliseconds=10)) as (poller, _):
            await until(lambda: poller.standing == "connected")
    assert imap.fetched == [1, 2]


@pytest.mark.parametrize("refuses_marks", [False, True], ids=["marked", "no marks"])
async def test_a_restored_mailbox_gives_a_number_to_another_mail_which_counts(
    world: World, refuses_marks: bool
) -> None:
    asked, mail = await ask_by_mail(world)
    imap = PretendImap(idles=False, refuses_marks=refuses_marks)
    async with pretending(imap):
        uid = imap.lay(signed_reply(world, mail))
        async with looking(world, imap, every=timedelta(milliseconds=10)):
            await until_answered(world, asked)
            other, other_mail = await ask_by_mail(world, "Refund another order, which is longer?")
            imap.mails[uid], imap.flags[uid] = signed_reply(world, other_mail), set()
            await until_answered(world, other)
    assert set(imap.fetched) == {uid}


async def test_a_mail_that_is_unread_again_is_fetched_and_counts_once(world: World) -> None:
    asked, mail = await ask_by_mail(world)
    async with pretending(PretendImap(idles=False)) as imap:
        uid = imap.lay(signed_reply(world, mail))
        async with looking(world, imap, every=timedelta(milliseconds=10)):
            await until_answered(world, asked)
            await until(lambda: KEYWORD in imap.flags[uid])
            await world.settle()
            before = await world.timeline(asked)
            imap.flags[uid] = set()  # as after a restore from before it was taken
            await until(lambda: KEYWORD in imap.flags[uid])
    assert imap.fetched == [uid, uid]
    assert await world.timeline(asked) == before


async def test_a_token_stands_in_for_a_password_and_is_read_for_each_connection(world: World, tmp_path: Path) -> None:
    file = tmp_path / "token"
    async with pretending(PretendImap()) as imap:
        for token in ("first", "second"):
            file.write_text(f"{token}\n")
            async with looking(world, imap, token_file=file) as (poller, _):
                await until(lambda: poller.standing == "connected")
        file.unlink()
        async with looking(world, imap, token_file=file) as (_, told):
            await until(lambda: bool(told))
    assert imap.tokens == [f"user=answers\1auth=Bearer {token}\1\1" for token in ("first", "second")]
    assert set(told) == {"token_file_unreadable"}


@pytest.mark.parametrize("command", ["LOGIN", "SEARCH", "FETCH", "STORE", "IDLE"])
async def test_a_server_that_falls_silent_holds_up_no_end(world: World, command: str) -> None:
    _, mail = await ask_by_mail(world)
    async with pretending(PretendImap(silent_at=command)) as imap:
        imap.lay(signed_reply(world, mail))
        async with looking(world, imap) as (poller, _):
            await asyncio.wait_for(imap.reached.wait(), 30)
        assert poller.standing == "connecting"


async def test_a_folder_that_can_only_be_read_is_told(world: World) -> None:
    async with pretending(PretendImap(read_only=True)) as imap, looking(world, imap) as (_, told):
        await until(lambda: bool(told))
    assert set(told) == {"folder_read_only"}


async def test_operators_hear_that_the_mailbox_can_not_be_looked_into(tmp_path: Path, sqlite_url: str) -> None:
    async with pretending(PretendImap(read_only=True)) as imap:
        url = f"imap://answers:pw@127.0.0.1:{imap.port}"
        alerts = {"notify": [f"slack:{CHANNEL}"]}
        async with running(tmp_path, sqlite_url, email__imap_url=url, alerts=alerts) as world:
            await world.slack.expect_message("Nothing reaches Handraise from email (imap_folder_read_only)", 10)
            ready = await world.call("GET", "/readyz", None)
            assert (ready.status_code, ready.json()["mail_poller"]) == (200, "connecting")


async def test_over_tls_a_mail_is_told_of_too_and_only_a_trusted_server_is_talked_to(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
    async with pretending(PretendImap(), authority.server()) as imap:
        async with looking(world, imap, scheme="imaps") as (_, told):
            await until(lambda: bool(told))
        assert set(told) == {"certificate_refused"}
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
        async with looking(world, imap, scheme="imaps") as (poller, _):
            await until(lambda: poller.standing == "connected")
            for _ in range(3):
                asked, mail = await ask_by_mail(world)
                imap.lay(signed_reply(world, mail))
                await until_answered(world, asked)


# --- What stands in the way ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("habit", ["hangs_up_at", "refuses"])
async def test_a_mail_that_the_server_can_not_hand_out_holds_up_no_other(world: World, habit: str) -> None:
    broken, its_mail = await ask_by_mail(world)
    async with pretending(PretendImap()) as imap:
        first = imap.lay(signed_reply(world, its_mail))
        getattr(imap, habit).add(first)
        async with looking(world, imap, every=timedelta(milliseconds=50)) as (poller, told):
            for _ in range(2):
                asked, mail = await ask_by_mail(world)
                imap.lay(signed_reply(world, mail))
                await until_answered(world, asked)
            assert await is_open(world, broken)
            assert imap.flags[first] == set()

            getattr(imap, habit).clear()  # it has been mended
            await until_answered(world, broken)
            await until(lambda: poller.standing == "connected")
    assert told == []


async def test_operators_hear_of_a_mailbox_that_is_opened_again_and_again_and_never_looked_through(
    world: World,
) -> None:
    pace = MailboxTiming(longest_pause=timedelta(milliseconds=50), told_after=timedelta(milliseconds=300))
    async with pretending(PretendImap(hangs_up=("SEARCH",))) as imap, looking(world, imap, pace=pace) as (_, told):
        await until(lambda: bool(told))
    assert set(told) == {"connection_lost"}


@pytest.mark.slow
async def test_connections_that_end_in_idle_are_nothing_to_tell(world: World) -> None:
    """They end for longer than it takes to tell; none of them is opened as slowly as that."""
    pace = MailboxTiming(longest_pause=timedelta(milliseconds=50), told_after=timedelta(seconds=2))
    imap = PretendImap(hangs_up=("IDLE",), patience=0.5)
    async with pretending(imap), looking(world, imap, pace=pace) as (_, told):
        await until(lambda: imap.greeted > 6)
    assert told == []


async def test_where_mails_can_not_be_moved_they_are_taken_and_marked(world: World, capfd: Any) -> None:
    async with pretending(PretendImap(moves=False)) as imap, looking(world, imap, done_folder="Done") as (_, told):
        for _ in range(2):
            asked, mail = await ask_by_mail(world)
            uid = imap.lay(signed_reply(world, mail))
            await until_answered(world, asked)
            await until(lambda: imap.flags[uid] == {"\\Seen", KEYWORD})  # noqa: B023 (of this round)
        assert imap.greeted == 1
    assert told == []
    assert "mail.not_moved" in capfd.readouterr().out


async def test_a_failure_that_nobody_has_thought_of_ends_the_looking_not_for_good(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No such failure is known, so it is put in."""
    real, failures = LockSlots.take, [ZeroDivisionError(), ZeroDivisionError()]

    async def fails_twice(places: LockSlots) -> LockSlot | None:
        if failures:
            raise failures.pop()
        return await real(places)

    monkeypatch.setattr(LockSlots, "take", fails_twice)
    async with pretending(PretendImap()) as imap, looking(world, imap) as (poller, _):
        await until(lambda: poller.standing == "connected")


@pytest.mark.parametrize("folder", [".", "absolute"])
async def test_a_private_authority_is_believed_by_the_mailbox_too(tmp_path: Path, sqlite_url: str, folder: str) -> None:
    """Files are named from the configuration's folder on."""
    authority, token = Authority(tmp_path), tmp_path / "token"
    token.write_text("first")
    ca, file = ("ca.pem", "token") if folder == "." else (str(authority.file), str(token))
    async with pretending(PretendImap(), authority.server()) as imap:
        url = f"imaps://answers@127.0.0.1:{imap.port}"
        email = {"email__imap_url": url, "email__imap_token_file": file, "email__tls_ca": ca}
        async with running(tmp_path, sqlite_url, **email) as world:
            poller = world.service.doors["mail_poller"].poller
            assert poller is not None
            await until(lambda: poller.standing == "connected")
