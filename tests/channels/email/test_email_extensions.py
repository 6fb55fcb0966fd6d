"""What is asked of a server that can do more (DSN, SMTPUTF8), and what becomes of a connection that it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from channels.email.channel import EmailChannel
from core.domain.notice import Message, Purpose
from core.domain.people import Address
from core.ports import Ambiguous, Deferred, Delivered, RefusalCause, Refused
from tests.channels.email.test_email_channel import NOTICE, send, sending
from tests.channels.email.test_email_render import ALICE
from tests.vendors.mail import Mailbox
from tests.vendors.smtp import Offers, Stage

pytestmark = pytest.mark.io

TOLD = Message(Purpose.CONFIRMATION, "Re: [HR-7F3K] Refund?", "Recorded.", ref="HR-7F3K")
GROESSE = Address("email", "größe@bücher.example", "größe@bücher.example")


@pytest.fixture
async def mailbox() -> AsyncIterator[Mailbox]:
    box = Mailbox(offers=Offers(reports=True, utf8=True))
    await box.start()
    yield box
    await box.stop()


@pytest.fixture
async def channel(mailbox: Mailbox) -> AsyncIterator[EmailChannel]:
    out = EmailChannel(
        mailbox.smtp_url, "Handraise <handraise@example.com>", "answers@example.com", returns_key=b"mail"
    )
    yield out
    await out.close()


async def test_failures_and_delays_are_to_be_reported_with_the_return_id(
    channel: EmailChannel, mailbox: Mailbox
) -> None:
    await send(channel)

    assert mailbox.mails[0].wishes == ("RET=HDRS", f"ENVID={channel.ours.return_id('d001')}", "NOTIFY=FAILURE,DELAY")


async def test_nothing_is_to_be_reported_of_a_mail_from_nobody(channel: EmailChannel, mailbox: Mailbox) -> None:
    assert isinstance(await channel.tell(TOLD, ALICE, sending()), Delivered)

    assert mailbox.mails[0].wishes == ("NOTIFY=NEVER",)


async def test_an_address_in_another_script_is_written_to_as_it_is(channel: EmailChannel, mailbox: Mailbox) -> None:
    assert isinstance(await send(channel, to=GROESSE), Delivered)

    [mail] = mailbox.mails
    assert mail.recipient == "größe@xn--bcher-kva.example"
    assert "To: größe@xn--bcher-kva.example\r\n".encode() in mail.raw


async def test_a_server_that_can_t_take_such_an_address_says_so_for_good_and_is_not_bothered() -> None:
    box = Mailbox()
    await box.start()
    channel = EmailChannel(box.smtp_url, "handraise@example.com", returns_key=b"mail")

    assert await send(channel, to=GROESSE) == Refused("smtputf8_not_offered")
    assert isinstance(await send(channel, 2), Delivered)
    assert box.connections == 1
    await channel.close()
    await box.stop()


@pytest.mark.parametrize("stage", [Stage.RCPT, Stage.DATA, Stage.DOT])
async def test_a_server_that_closes_in_the_middle_gets_the_mail_later_on_a_new_connection(
    channel: EmailChannel, mailbox: Mailbox, stage: Stage
) -> None:
    mailbox.say_next(stage, "421 4.3.2 Shutting down")

    assert await send(channel) == Deferred("smtp_421")
    assert isinstance(await send(channel), Delivered)
    assert mailbox.connections == 2
    assert len(mailbox.mails) == 1


async def test_idle_connections_that_the_server_closes_are_replaced_without_a_failure(
    channel: EmailChannel, mailbox: Mailbox
) -> None:
    await asyncio.gather(*(send(channel, number) for number in range(4)))
    for number in (4, 5):
        mailbox.hang_up()
        assert isinstance(await send(channel, number), Delivered)


async def test_what_may_have_arrived_is_sent_once_more_and_not_a_third_time(
    channel: EmailChannel, mailbox: Mailbox
) -> None:
    mailbox.drop_next(Stage.DOT, times=2)

    assert await send(channel) == Ambiguous("smtp_disconnected_after_data")
    again = await channel.send(NOTICE, ALICE, sending(ambiguous=True))
    assert again == Refused("smtp_disconnected_after_data_twice")
    assert {mail.message_id for mail in mailbox.mails} == {"<n.d001@example.com>"}


async def test_a_doubtful_mail_that_waits_for_its_server_is_still_sent_once_more(
    channel: EmailChannel, mailbox: Mailbox
) -> None:
    mailbox.say_next(Stage.RCPT, "450 4.2.0 Greylisted")

    assert await channel.send(NOTICE, ALICE, sending(ambiguous=True)) == Deferred("smtp_450")
    assert isinstance(await channel.send(NOTICE, ALICE, sending(ambiguous=True)), Delivered)


async def test_a_server_that_knows_no_extensions_is_greeted_plainly() -> None:
    """RFC 5321 §3.2: HELO where EHLO is refused."""
    heard: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 old.example.com\r\n")
        while line := await reader.readline():
            heard.append(line)
            told = {b"EHLO": b"502 What?", b"DATA": b"354 Go on"}.get(line[:4], b"250 Ok")
            writer.write(told + b"\r\n")
            if line[:4] == b"DATA":
                await reader.readuntil(b"\r\n.\r\n")
                writer.write(b"250 Taken\r\n")
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    channel = EmailChannel(
        f"smtp://127.0.0.1:{server.sockets[0].getsockname()[1]}", "handraise@example.com", returns_key=b"mail"
    )
    assert isinstance(await send(channel), Delivered)
    assert b"HELO example.com\r\n" in heard
    assert b"MAIL FROM:<handraise@example.com>\r\n" in heard
    await channel.close()
    server.close()


@pytest.mark.parametrize(
    ("greeting", "fault"), [(b"554 No service for you", RefusalCause.SETUP), (b"421 Later", RefusalCause.AWAY)]
)
async def test_a_server_that_turns_us_away_at_the_door_lets_mail_wait_and_says_whose_fault_it_is(
    greeting: bytes, fault: RefusalCause
) -> None:
    async def turn_away(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(greeting + b"\r\n")
        await reader.read()
        writer.close()

    server = await asyncio.start_server(turn_away, "127.0.0.1", 0)
    channel = EmailChannel(
        f"smtp://127.0.0.1:{server.sockets[0].getsockname()[1]}", "handraise@example.com", returns_key=b"mail"
    )
    outcome = await send(channel)
    assert outcome == Deferred(f"smtp_{greeting[:3].decode()}")
    assert isinstance(outcome, Deferred)
    assert outcome.fault is fault
    await channel.close()
    server.close()
