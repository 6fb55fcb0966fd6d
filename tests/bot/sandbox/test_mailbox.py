"""The pretend mail server: it refuses what a real one refuses, and its people reply as real mail programs do."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import smtplib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

import aiosmtplib
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.sandbox.serving import serving
from tests.vendors.mail import Mail, Mailbox
from tests.vendors.smtp import Stage

NOW = datetime(2026, 11, 21, 10, 31, tzinfo=UTC)
ALICE = "alice@example.org"


class Door:
    """Stands for the service: keeps what is brought to it."""

    def __init__(self) -> None:
        self.brought: list[tuple[str, bytes]] = []
        self.app = Starlette(routes=[Route("/email/inbound", self._take, methods=["POST"])])

    async def _take(self, request: Request) -> Response:
        self.brought.append((request.headers["X-Handraise-Signature"], await request.body()))
        return Response(status_code=202)

    @property
    def mail(self) -> EmailMessage:
        message = message_from_bytes(self.brought[-1][1], policy=default)
        assert isinstance(message, EmailMessage)
        return message


@pytest.fixture
async def mailbox() -> AsyncIterator[Mailbox]:
    box = Mailbox(now=lambda: NOW)
    await box.start()
    yield box
    await box.stop()


@pytest.fixture
async def door(mailbox: Mailbox) -> AsyncIterator[Door]:
    door = Door()
    async with serving(door.app) as url:
        mailbox.answer_at(f"{url}/email/inbound", "s3cret")
        yield door


def a_mail(subject: str = "[HR-7F3K] Refund?", to: str = ALICE) -> EmailMessage:
    mail = EmailMessage()
    mail["From"] = "Handraise <handraise@example.com>"
    mail["Reply-To"] = "answers+r.token@example.com"
    mail["To"] = to
    mail["Subject"] = subject
    mail["Message-ID"] = "<n.1@example.com>"
    mail["References"] = "<q.HR-7F3K@example.com>"
    mail.set_content("Refund?\n\n1) Yes\n2) No\n\nhttps://h.test/a/x\n.\n")
    mail.add_alternative("<p>Refund?</p>", subtype="html")
    return mail


async def deliver(mailbox: Mailbox, mail: EmailMessage | None = None) -> None:
    async with aiosmtplib.SMTP(hostname="127.0.0.1", port=mailbox.port, start_tls=False) as client:
        await client.send_message(mail or a_mail(), sender="bounces+1@example.com")


async def received(mailbox: Mailbox) -> Mail:
    await deliver(mailbox)
    return await mailbox.expect(to=ALICE)


async def test_mail_is_kept_in_its_recipient_s_mailbox_as_it_came(mailbox: Mailbox) -> None:
    await deliver(mailbox)
    await deliver(mailbox, a_mail("Another", "Bo@Example.org"))

    (mail,) = mailbox.of("ALICE@example.org")
    assert (mail.sender, mail.subject) == ("bounces+1@example.com", "[HR-7F3K] Refund?")
    assert mail.message_id == "<n.1@example.com>"
    assert mail.text == "Refund?\n\n1) Yes\n2) No\n\nhttps://h.test/a/x\n.\n"
    assert mail.html.strip() == "<p>Refund?</p>"
    assert mail.links == ["https://h.test/a/x"]
    assert [one.subject for one in mailbox.of("bo@example.org")] == ["Another"]


async def test_expecting_a_mail_that_never_comes_says_what_came_instead(mailbox: Mailbox) -> None:
    await deliver(mailbox)

    with pytest.raises(AssertionError, match=r"alice@example\.org: \[HR-7F3K\] Refund"):
        await mailbox.expect(subject="Something else", seconds=0.01)


async def test_an_unknown_mailbox_is_refused_at_rcpt_and_others_are_not(mailbox: Mailbox) -> None:
    mailbox.refuse("Ghost@example.org")

    with pytest.raises(aiosmtplib.SMTPRecipientsRefused) as refusal:
        await deliver(mailbox, a_mail(to="ghost@example.org"))
    assert refusal.value.recipients[0].code == 550
    await deliver(mailbox)
    assert len(mailbox.mails) == 1


@pytest.mark.parametrize("stage", list(Stage))
async def test_a_reply_that_was_ordered_is_given_once_and_nothing_is_kept(mailbox: Mailbox, stage: Stage) -> None:
    mailbox.say_next(stage, "451 4.3.0 Try again later")

    with pytest.raises((aiosmtplib.SMTPResponseException, aiosmtplib.SMTPRecipientsRefused)):
        await deliver(mailbox)
    assert mailbox.mails == []
    await deliver(mailbox)
    assert len(mailbox.mails) == 1


@pytest.mark.parametrize(("stage", "kept"), [(Stage.DATA, 0), (Stage.DOT, 1)])
async def test_a_connection_is_dropped_before_or_after_the_mail_is_kept(
    mailbox: Mailbox, stage: Stage, kept: int
) -> None:
    mailbox.drop_next(stage)

    with pytest.raises(aiosmtplib.SMTPServerDisconnected):
        await deliver(mailbox)
    assert [mail.acknowledged for mail in mailbox.mails] == [False] * kept


async def test_a_server_that_refuses_connections_takes_mail_again_on_the_same_port(mailbox: Mailbox) -> None:
    url = mailbox.smtp_url
    port = mailbox.refuse_connections()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)
    await mailbox.start(port)
    assert mailbox.smtp_url == url
    await deliver(mailbox)
    assert [mail.acknowledged for mail in mailbox.mails] == [True]


async def test_faults_end_when_the_server_is_told_to_behave(mailbox: Mailbox) -> None:
    mailbox.refuse(ALICE)
    mailbox.behave()

    await deliver(mailbox)
    assert len(mailbox.mails) == 1


async def test_a_server_with_a_password_takes_no_mail_without_it() -> None:
    mailbox = Mailbox(login=("handraise", "pw"))
    await mailbox.start()

    with pytest.raises(aiosmtplib.SMTPSenderRefused) as refusal:
        await deliver(mailbox)
    assert refusal.value.code == 530
    await mailbox.stop()


async def test_what_stands_after_a_dot_survives_the_wire(mailbox: Mailbox) -> None:
    mail = EmailMessage()
    mail["To"] = ALICE
    mail.set_content(".\n..\n.x\n")
    await deliver(mailbox, mail)

    assert mailbox.mails[0].text == ".\n..\n.x\n"


# --- People and machines ------------------------------------------------------------------------------------------


async def test_a_reply_goes_to_reply_to_in_the_thread_above_the_quoted_mail(mailbox: Mailbox, door: Door) -> None:
    await mailbox.reply(await received(mailbox), "Yes, go ahead")

    mail = door.mail
    assert (mail["To"], mail["Delivered-To"]) == ("answers+r.token@example.com",) * 2
    assert (mail["From"], mail["Return-Path"]) == (ALICE, f"<{ALICE}>")
    assert mail["Subject"] == "Re: [HR-7F3K] Refund?"
    assert mail["In-Reply-To"] == "<n.1@example.com>"
    assert mail["References"] == "<q.HR-7F3K@example.com> <n.1@example.com>"
    body = mail.get_body(("plain",))
    assert isinstance(body, EmailMessage)
    assert body.get_content().splitlines()[:5] == [
        "Yes, go ahead",
        "",
        "On Sat, Nov 21, 2026 at 10:31 AM Handraise <handraise@example.com> wrote:",
        "",
        "> Refund?",
    ]


async def test_a_reply_bears_what_our_mail_server_found_about_its_sender(mailbox: Mailbox, door: Door) -> None:
    await mailbox.reply(await received(mailbox), "Yes")

    assert door.mail["Authentication-Results"].startswith("example.com; ")
    assert "dmarc=pass header.from=example.org" in door.mail["Authentication-Results"]


async def test_a_forged_reply_bears_no_such_thing(mailbox: Mailbox, door: Door) -> None:
    await mailbox.forge_reply(await received(mailbox), "Yes", sender=ALICE)

    assert door.mail["From"] == ALICE
    assert door.mail["Authentication-Results"] is None


async def test_mail_is_brought_with_the_signature_that_the_contract_names(mailbox: Mailbox, door: Door) -> None:
    await mailbox.reply(await received(mailbox), "Yes")

    signature, raw = door.brought[0]
    moment = str(int(NOW.timestamp()))
    expected = hmac.new(b"s3cret", f"{moment}.".encode() + raw, hashlib.sha256).hexdigest()
    assert signature == f"t={moment},v1={expected}"


async def test_an_out_of_office_note_says_that_it_is_one(mailbox: Mailbox, door: Door) -> None:
    await mailbox.auto_reply(await received(mailbox), "Gone fishing.")

    assert door.mail["Auto-Submitted"] == "auto-generated"
    assert door.mail["Subject"].startswith("Automatic reply: ")


async def test_a_bounce_is_a_delivery_report_to_the_envelope_sender(mailbox: Mailbox, door: Door) -> None:
    await mailbox.bounce(await received(mailbox))

    mail = door.mail
    assert (mail["To"], mail["Return-Path"]) == ("bounces+1@example.com", "<>")
    assert mail.get_content_type() == "multipart/report"
    words, status, original = mail.iter_parts()
    assert "550 5.1.1" in words.get_content()
    fields = [dict(group.items()) for group in status.get_payload() if isinstance(group, EmailMessage)]
    assert fields[1] == {"Final-Recipient": f"rfc822; {ALICE}", "Action": "failed", "Status": "5.1.1"}
    assert original.get_content()["Message-ID"] == "<n.1@example.com>"


async def test_the_server_takes_mail_from_any_client(mailbox: Mailbox) -> None:
    def with_the_standard_library() -> None:
        with smtplib.SMTP("127.0.0.1", mailbox.port) as client:
            client.send_message(a_mail())

    await asyncio.to_thread(with_the_standard_library)
    assert len(mailbox.of(ALICE)) == 1
