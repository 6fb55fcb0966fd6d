"""Slow, greedy and vanishing clients of the mail listener, and its end. Source: RFC 5321 §3.8, §4.5.3.2."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager

import pytest

from bot.inbound.mail.inbox import MailInbox
from bot.inbound.mail.lmtp import MailListener
from channels.email.addressing import Mailboxes
from channels.email.authentication import SenderAuth
from channels.email.inbound import MailRules
from channels.email.lmtp_server import CLOSING, LARGEST_MAIL, TAKEN, TOO_MANY, TOO_SLOW, ListenAddress, Timeouts
from tests.bot.mail_talk import Talk, talking
from tests.bot.mail_world import ask_by_mail, correspondence_of, is_open, signatures_of, signed_reply, words_back
from tests.ports import free_port
from tests.world import World

OURS = Mailboxes.of("Handraise <handraise@handraise.example>", "answers@handraise.example", key=b"mail")


@asynccontextmanager
async def listener(
    world: World, patience: Timeouts | None = None, most: int = 10
) -> AsyncIterator[tuple[MailListener, int]]:
    inbox = MailInbox(
        world.service.engine,
        correspondence_of(world),
        world.clock,
        MailRules(OURS, SenderAuth.DMARC, "handraise.example"),
        signatures_of(world),
    )
    port = free_port()
    address = ListenAddress("lmtp", "127.0.0.1", port)
    listening = MailListener(inbox, address, "handraise.example", patience=patience, most=most)
    await listening.start()
    try:
        yield listening, port
    finally:
        await listening.stop_taking()


@contextmanager
def slow_commit(world: World) -> Iterator[None]:
    """No answer is committed before the block ends."""
    path = world.service.database.path
    assert path is not None
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


async def until_taking(listening: MailListener) -> None:
    async with asyncio.timeout(30):
        while not listening.is_taking:
            await asyncio.sleep(0.01)


async def until_answered(world: World, asked: dict[str, object]) -> None:
    async with asyncio.timeout(30):
        while await is_open(world, asked):
            await asyncio.sleep(0.01)


async def test_who_says_nothing_is_hung_up_on(world: World) -> None:
    async with listener(world, Timeouts(command=0.05)) as (_, port), talking(port) as talk:
        assert await talk.hear() == TOO_SLOW
        assert await talk.reader.read() == b""


async def test_who_sends_a_mail_drop_by_drop_is_hung_up_on(world: World) -> None:
    _, mail = await ask_by_mail(world)
    async with listener(world, Timeouts(content=0.3)) as (_, port), talking(port) as talk:
        await talk.begin(mail.answers_to)
        assert (await talk.say("DATA")).startswith("354 ")

        async def drip() -> None:
            while True:
                talk.send(b"drop\r\n")
                await asyncio.sleep(0.02)

        dripping = asyncio.create_task(drip())
        assert await talk.hear() == TOO_SLOW
        dripping.cancel()


async def test_who_never_stops_sending_is_hung_up_on(world: World) -> None:
    _, mail = await ask_by_mail(world)
    async with listener(world) as (_, port), talking(port) as talk:
        await talk.begin(mail.answers_to)
        assert (await talk.say("DATA")).startswith("354 ")
        with pytest.raises(OSError):
            for _ in range(100):
                talk.send(b"x" * (LARGEST_MAIL // 4))
                await talk.writer.drain()


async def test_there_is_room_for_so_many_and_again_when_one_has_gone(world: World) -> None:
    async with listener(world, most=2) as (_, port), talking(port), talking(port) as second:
        third = Talk(*await asyncio.open_connection("127.0.0.1", port))
        assert await third.hear() == TOO_MANY
        await third.hang_up()
        await second.say("QUIT")
        async with talking(port) as fourth:
            assert await fourth.say("NOOP") == "250 2.0.0 OK"


async def test_who_says_the_same_for_ever_is_hung_up_on(world: World) -> None:
    async with listener(world) as (_, port), talking(port) as talk:
        talk.send(b"NOOP\r\n" * 1001)
        replies = [await talk.hear() for _ in range(1001)]
        assert set(replies[:-1]) == {"250 2.0.0 OK"}
        assert replies[-1].startswith("421 4.7.0 ")


async def test_more_recipients_than_any_reply_has_are_for_another_mail(world: World) -> None:
    _, mail = await ask_by_mail(world)
    async with listener(world) as (_, port), talking(port) as talk:
        replies = await talk.begin(*[mail.answers_to] * 101)
        assert replies[99:] == ["250 2.1.5 Ok", "452 4.5.3 Too many recipients"]


async def test_a_mail_whose_bearer_vanishes_in_the_middle_counts_for_nothing(world: World) -> None:
    asked, mail = await ask_by_mail(world)
    raw = signed_reply(world, mail)
    async with listener(world) as (_, port):
        async with talking(port) as talk:
            await talk.begin(mail.answers_to)
            assert (await talk.say("DATA")).startswith("354 ")
            talk.send(raw)  # all of it but the dot
            await talk.writer.drain()
        async with talking(port) as talk:
            await talk.begin(mail.answers_to)
            assert await is_open(world, asked)
            assert await talk.bring(raw) == [TAKEN]
    assert not await is_open(world, asked)


async def test_a_mail_that_has_come_in_whole_counts_though_its_bearer_did_not_wait(world: World) -> None:
    asked, mail = await ask_by_mail(world)
    raw = signed_reply(world, mail)
    async with listener(world) as (listening, port):
        with slow_commit(world):
            async with talking(port) as talk:
                await talk.begin(mail.answers_to)
                talk.send(b"DATA\r\n" + raw + b".\r\n")
                await until_taking(listening)
        await until_answered(world, asked)
        async with talking(port) as talk:  # it was told nothing, so it comes again
            await talk.begin(mail.answers_to)
            assert await talk.bring(raw) == [TAKEN]
    assert len(await words_back(world, asked)) == 1


async def test_at_the_end_what_has_come_in_whole_is_answered_and_the_rest_may_come_again(world: World) -> None:
    asked, mail = await ask_by_mail(world)
    async with listener(world) as (listening, port), talking(port) as idle, talking(port) as busy:
        await busy.begin(mail.answers_to)
        assert (await busy.say("DATA")).startswith("354 ")
        with slow_commit(world):
            busy.send(signed_reply(world, mail) + b".\r\n")
            await until_taking(listening)
            stopping = asyncio.create_task(listening.stop_taking())
            assert await idle.hear() == CLOSING
        assert [await busy.hear(), await busy.hear()] == [TAKEN, CLOSING]
        await stopping
        assert listening.standing == "closed"
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)
    assert not await is_open(world, asked)


@pytest.mark.parametrize(("host", "warned"), [("127.0.0.1", False), ("0.0.0.0", True)])
async def test_who_listens_to_the_whole_world_is_warned(
    world: World, capsys: pytest.CaptureFixture[str], host: str, warned: bool
) -> None:
    inbox = MailInbox(
        world.service.engine,
        correspondence_of(world),
        world.clock,
        MailRules(OURS, SenderAuth.DMARC, "h"),
        signatures_of(world),
    )
    listening = MailListener(inbox, ListenAddress("smtp", host, free_port()), "handraise.example")
    await listening.start()
    await listening.stop_taking()
    assert ("mail.listening_to_strangers" in capsys.readouterr().out) is warned


async def test_no_address_token_or_content_is_in_the_log(
    world: World, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    _, mail = await ask_by_mail(world)
    async with listener(world) as (_, port), talking(port) as talk:
        await talk.begin(mail.answers_to, "eve@example.com", sender="alice@example.com")
        await talk.bring(signed_reply(world, mail))
        await talk.say("RCPT TO:<")
    said = capsys.readouterr().out + "".join(record.getMessage() for record in caplog.records)
    for secret in ("alice@", "eve@", mail.answers_to, mail.answers_to.partition("@")[0], "RCPT"):
        assert secret not in said
