"""Mail out, through the real client against a real server on loopback: each outcome, and what is kept between mails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from channels.email import smtp
from channels.email import smtp as connecting
from channels.email.channel import EmailChannel
from channels.email.mail_server import SmtpServer, Tls
from core.delivery.tries import SEND_TIMEOUT
from core.domain.notice import Ending, Message, Purpose
from core.domain.people import Address
from core.domain.suspension import Status
from core.errors import ConfigError
from core.ports import Ambiguous, Deferred, Delivered, Delivery, Refused, Sending
from tests.channels.email.incoming import TOKEN
from tests.channels.email.test_email_render import ALICE, NOTICE
from tests.patience import PATIENCE
from tests.vendors.mail import Mailbox
from tests.vendors.smtp import Stage

pytestmark = pytest.mark.io

NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)


@pytest.fixture
async def mailbox() -> AsyncIterator[Mailbox]:
    box = Mailbox()
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


def sending(number: int = 1, *, ambiguous: bool = False) -> Sending:
    return Sending(f"d{number:03x}", 2 if ambiguous else 1, ambiguous, NOW)


async def send(channel: EmailChannel, number: int = 1, to: Address = ALICE) -> Delivery:
    return await channel.send(NOTICE, to, sending(number))


async def test_a_notice_arrives_in_the_recipient_s_mailbox(channel: EmailChannel, mailbox: Mailbox) -> None:
    outcome = await send(channel)

    (mail,) = mailbox.of("alice@example.org")
    assert outcome == Delivered({"message_id": "<n.d001@example.com>"})
    assert mail.message_id == "<n.d001@example.com>"
    assert mail.subject == "[HR-7F3K] Refund order 12345?"
    assert mail.answers_to == f"answers+r.{TOKEN}@example.com"
    assert mail.sender == f"bounces+{channel.ours.return_id('d001')}@example.com"
    assert mail.links == ["https://h.test/a/pagetoken"]


async def test_a_line_that_is_a_dot_does_not_end_the_mail(channel: EmailChannel, mailbox: Mailbox) -> None:
    await channel.send(replace(NOTICE, question="Refund?\n.\n..\nor not?"), ALICE, sending())

    (mail,) = mailbox.mails
    assert "Refund?\n.\n..\nor not?\n" in mail.text
    assert mail.html


async def test_many_mails_go_over_few_connections(channel: EmailChannel, mailbox: Mailbox) -> None:
    outcomes = await asyncio.gather(*(send(channel, number) for number in range(60)))

    assert {type(outcome) for outcome in outcomes} == {Delivered}
    assert len({mail.message_id for mail in mailbox.mails}) == 60
    assert mailbox.connections <= channel.lanes


async def test_one_after_another_shares_one_connection(channel: EmailChannel, mailbox: Mailbox) -> None:
    for number in range(5):
        await send(channel, number)

    assert mailbox.connections == 1


async def test_a_channel_that_is_closed_keeps_no_connection_that_was_in_use_meanwhile(
    channel: EmailChannel, mailbox: Mailbox
) -> None:
    """As after a reload: the mail that is under way goes out, and nobody uses its connection again."""
    mailbox.delay_next(Stage.DATA, timedelta(seconds=0.1))
    under_way = asyncio.create_task(send(channel))
    async with asyncio.timeout(PATIENCE):
        while not mailbox.open_connections:
            await asyncio.sleep(0.01)
        await channel.close()
        assert isinstance(await under_way, Delivered)
        while mailbox.open_connections:
            await asyncio.sleep(0.01)


async def test_an_unknown_mailbox_is_refused_for_good(channel: EmailChannel, mailbox: Mailbox) -> None:
    mailbox.refuse("alice@example.org")

    assert await send(channel) == Refused("smtp_550")
    assert not mailbox.mails


async def test_a_refused_mail_leaves_the_connection_to_the_next_one(channel: EmailChannel, mailbox: Mailbox) -> None:
    mailbox.refuse("alice@example.org")
    await send(channel)

    assert isinstance(await send(channel, 2, replace(ALICE, value="bo@example.org")), Delivered)
    assert mailbox.connections == 1


@pytest.mark.parametrize("stage", list(Stage))
async def test_a_refusal_for_now_is_deferred(channel: EmailChannel, mailbox: Mailbox, stage: Stage) -> None:
    mailbox.say_next(stage, "451 4.3.0 Try again later")

    assert await send(channel) == Deferred("smtp_451")
    assert not mailbox.mails
    assert isinstance(await send(channel), Delivered)


@pytest.mark.parametrize("stage", list(Stage))
async def test_a_refusal_for_good_is_refused(channel: EmailChannel, mailbox: Mailbox, stage: Stage) -> None:
    mailbox.say_next(stage, "554 5.7.1 Not wanted")

    assert await send(channel) == Refused("smtp_554")
    assert not mailbox.mails


@pytest.mark.parametrize("stage", [Stage.MAIL, Stage.RCPT, Stage.DATA])
async def test_a_connection_lost_before_the_content_is_surely_not_sent(
    channel: EmailChannel, mailbox: Mailbox, stage: Stage
) -> None:
    mailbox.drop_next(stage)

    assert await send(channel) == Deferred("smtp_disconnected")
    assert not mailbox.mails


async def test_a_connection_lost_after_the_final_dot_is_ambiguous_and_repeated_under_the_same_id(
    channel: EmailChannel, mailbox: Mailbox
) -> None:
    mailbox.drop_next(Stage.DOT)

    assert await send(channel) == Ambiguous("smtp_disconnected_after_data")
    again = await channel.send(NOTICE, ALICE, sending(ambiguous=True))
    assert isinstance(again, Delivered)
    assert [mail.message_id for mail in mailbox.mails] == ["<n.d001@example.com>"] * 2


async def test_a_kept_connection_that_the_server_closed_is_replaced(channel: EmailChannel, mailbox: Mailbox) -> None:
    await send(channel)
    mailbox.drop_next(Stage.MAIL)

    assert isinstance(await send(channel, 2), Delivered)
    assert mailbox.connections == 2


async def test_a_kept_connection_that_the_server_wants_closed_is_replaced(
    channel: EmailChannel, mailbox: Mailbox
) -> None:
    await send(channel)
    mailbox.say_next(Stage.MAIL, "421 4.7.0 Too many mails on this connection")

    assert isinstance(await send(channel, 2), Delivered)
    assert mailbox.connections == 2


async def test_a_new_connection_that_is_told_to_go_away_is_deferred(channel: EmailChannel, mailbox: Mailbox) -> None:
    mailbox.say_next(Stage.MAIL, "421 4.3.2 Shutting down")

    assert await send(channel) == Deferred("smtp_421")
    assert isinstance(await send(channel), Delivered)


async def test_a_server_that_is_away_is_deferred_and_found_again(channel: EmailChannel, mailbox: Mailbox) -> None:
    await send(channel)
    port = mailbox.port
    await mailbox.stop()
    mailbox.drop_next(Stage.MAIL)

    assert await send(channel, 2) == Deferred("smtp_unreachable")
    await mailbox.start(port)
    assert isinstance(await send(channel, 2), Delivered)


async def test_silence_before_the_content_is_surely_not_sent(
    channel: EmailChannel, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "COMMAND_SECONDS", 0.5)
    mailbox.delay_next(Stage.RCPT, timedelta(minutes=1))

    assert await send(channel) == Deferred("smtp_timeout")


@pytest.mark.slow
async def test_silence_after_the_final_dot_is_ambiguous(
    channel: EmailChannel, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smtp, "WHOLE_SECONDS", 2.0)
    mailbox.delay_next(Stage.DOT, timedelta(minutes=1))

    assert await send(channel) == Ambiguous("smtp_timeout_after_data")
    assert len(mailbox.mails) == 1


async def test_a_server_that_is_slow_at_every_step_is_given_up_before_it_has_the_content(
    channel: EmailChannel, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    for stage in (Stage.MAIL, Stage.RCPT, Stage.DATA):
        mailbox.delay_next(stage, timedelta(seconds=0.3))

    with monkeypatch.context() as hurried:
        hurried.setattr(smtp, "BEFORE_CONTENT_SECONDS", 0.5)
        assert await send(channel) == Deferred("smtp_timeout")
    assert isinstance(await send(channel), Delivered)
    assert len(mailbox.mails) == 1


@pytest.mark.slow
async def test_what_a_slow_server_does_with_a_mail_is_known_before_the_relay_gives_up(
    channel: EmailChannel, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert timedelta(seconds=smtp.WHOLE_SECONDS) < SEND_TIMEOUT
    monkeypatch.setattr(smtp, "WHOLE_SECONDS", 2.5)
    mailbox.delay_next(Stage.DATA, timedelta(seconds=0.5))
    mailbox.delay_next(Stage.DOT, timedelta(minutes=1))

    async with asyncio.timeout(30):
        assert await send(channel) == Ambiguous("smtp_timeout_after_data")
    assert len(mailbox.mails) == 1


async def test_a_send_that_is_cut_off_leaves_no_half_used_connection(channel: EmailChannel, mailbox: Mailbox) -> None:
    mailbox.delay_next(Stage.RCPT, timedelta(minutes=1))
    sending = asyncio.create_task(send(channel))
    async with asyncio.timeout(30):
        while mailbox.faults_to_come:  # the server has begun to think about the recipient
            await asyncio.sleep(0.01)
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending

    assert isinstance(await send(channel, 2), Delivered)
    assert [mail.message_id for mail in mailbox.mails] == ["<n.d002@example.com>"]
    assert mailbox.connections == 2


async def test_an_address_that_no_server_could_reach_is_refused(channel: EmailChannel, mailbox: Mailbox) -> None:
    assert await send(channel, to=Address("email", "a b@example.org")) == Refused("address_invalid")
    assert mailbox.connections == 0


async def test_the_server_s_password_is_given_and_a_wrong_one_is_refused() -> None:
    mailbox = Mailbox(login=("handraise", "p@ss/word"))
    await mailbox.start()
    right = EmailChannel(
        f"smtp://handraise:p%40ss%2Fword@127.0.0.1:{mailbox.port}", "handraise@example.com", returns_key=b"mail"
    )
    wrong = EmailChannel(
        f"smtp://handraise:guess@127.0.0.1:{mailbox.port}", "handraise@example.com", returns_key=b"mail"
    )
    nobody = EmailChannel(f"smtp://127.0.0.1:{mailbox.port}", "handraise@example.com", returns_key=b"mail")

    assert isinstance(await send(right), Delivered)
    assert await send(wrong) == Refused("smtp_auth_535")
    assert await send(nobody) == Refused("smtp_530")
    for channel in (right, wrong, nobody):
        await channel.close()
    await mailbox.stop()


async def test_a_server_without_tls_gets_nothing_where_tls_was_asked_for(mailbox: Mailbox) -> None:
    channel = EmailChannel(f"smtps://127.0.0.1:{mailbox.port}", "handraise@example.com", returns_key=b"mail")

    outcome = await send(channel)
    assert isinstance(outcome, Deferred)
    assert not mailbox.mails


async def test_a_withdrawal_sends_no_mail(channel: EmailChannel, mailbox: Mailbox) -> None:
    ending = Ending("HR-7F3K", "Refund?", Status.RESPONDED, NOW, "Approve", "bo@example.org", "slack")
    receipt = {"message_id": "<n.d001@example.com>"}

    assert await channel.withdraw(ending, receipt, sending()) == Delivered(receipt)
    assert not mailbox.mails
    assert channel.withdraws is False


async def test_a_confirmation_goes_into_the_thread_from_nobody(channel: EmailChannel, mailbox: Mailbox) -> None:
    message = Message(Purpose.CONFIRMATION, "Re: [HR-7F3K] Refund?", "Recorded: “Größe”.", ref="HR-7F3K")

    assert isinstance(await channel.tell(message, ALICE, sending(7)), Delivered)
    (mail,) = mailbox.mails
    assert mail.sender == ""
    assert mail.header("References") == "<q.HR-7F3K@example.com>"
    assert "Recorded: “Größe”." in mail.text


# --- The server's address -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://127.0.0.1:2525", SmtpServer("127.0.0.1", 2525, Tls.NONE)),
        ("smtp://localhost", SmtpServer("localhost", 25, Tls.NONE)),
        ("smtp://u:p@[::1]:25", SmtpServer("::1", 25, Tls.NONE, "u", "p")),
        ("smtp://mail.example.com", SmtpServer("mail.example.com", 25, Tls.OFFERED)),
        ("smtp://u:p%40@mail.example.com:587", SmtpServer("mail.example.com", 587, Tls.REQUIRED, "u", "p@")),
        ("smtps://u:p@mail.example.com", SmtpServer("mail.example.com", 465, Tls.IMPLICIT, "u", "p")),
    ],
)
def test_a_password_never_travels_in_the_clear_to_another_machine(url: str, server: SmtpServer) -> None:
    assert SmtpServer.parse(url) == server


@pytest.mark.parametrize(
    "url", ["", "mail.example.com", "http://mail.example.com", "smtp://", "smtp://h:port", "smtp://["]
)
def test_a_url_that_is_none_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        EmailChannel(url, "handraise@example.com", returns_key=b"mail")

    assert "mail.example.com" not in refusal.value.message
    assert "secret" not in repr(SmtpServer.parse("smtp://u:secret@mail.example.com"))
