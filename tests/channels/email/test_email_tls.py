"""Mail over TLS and after a login, against servers that really speak both: what is believed, and what is never sent."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from channels.email.channel import EmailChannel
from channels.email.mail_server import Security, SmtpServer, Tls
from core.ports import Deferred, Delivered, Delivery, RefusalCause, Refused
from tests.channels.email.certificates import Authority, self_signed
from tests.channels.email.test_email_channel import send
from tests.vendors.mail import Mailbox
from tests.vendors.smtp import Offers

pytestmark = pytest.mark.io

SENDER = "handraise@example.com"
PASSWORD = "not-for-everybody"
LOGIN = ("handraise", PASSWORD)
IMPLICIT, STARTTLS = pytest.param(True, id="implicit"), pytest.param(False, id="starttls")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@asynccontextmanager
async def serving(offers: Offers, login: tuple[str, str] | None = None) -> AsyncIterator[Mailbox]:
    mailbox = Mailbox(offers=offers, login=login)
    await mailbox.start()
    try:
        yield mailbox
    finally:
        await mailbox.stop()


@asynccontextmanager
async def channel_to(url: str, authorities: Path | None, *, required: bool = True) -> AsyncIterator[EmailChannel]:
    channel = EmailChannel(
        url, SENDER, "answers@example.com", security=Security(authorities, required), returns_key=b"mail"
    )
    try:
        yield channel
    finally:
        await channel.close()


async def outcome_at(mailbox: Mailbox, authorities: Path | None, *, required: bool = True) -> Delivery:
    async with channel_to(mailbox.smtp_url, authorities, required=required) as channel:
        return await send(channel)


@pytest.mark.parametrize("implicit", [IMPLICIT, STARTTLS])
async def test_mail_goes_over_tls_to_a_server_that_a_private_authority_vouches_for(
    authority: Authority, implicit: bool
) -> None:
    async with serving(Offers(authority.server(), implicit)) as mailbox:
        assert isinstance(await outcome_at(mailbox, authority.file), Delivered)
        assert len(mailbox.mails) == 1


@pytest.mark.parametrize("implicit", [IMPLICIT, STARTTLS])
@pytest.mark.parametrize("flaw", ["wrong-name", "expired", "self-signed", "unknown-authority"])
async def test_a_certificate_that_does_not_hold_gets_no_mail_and_the_mail_waits(
    authority: Authority, implicit: bool, flaw: str
) -> None:
    certificate = {
        "wrong-name": lambda: authority.server("mail.elsewhere.example"),
        "expired": lambda: authority.server(days=-1),
        "self-signed": lambda: self_signed(authority.folder),
        "unknown-authority": authority.server,
    }[flaw]()
    believed = None if flaw == "unknown-authority" else authority.file
    async with serving(Offers(certificate, implicit), LOGIN) as mailbox:
        outcome = await outcome_at(mailbox, believed)

    assert outcome == Deferred("smtp_certificate")
    assert isinstance(outcome, Deferred)
    assert outcome.fault is RefusalCause.SETUP
    assert mailbox.mails == []


async def test_many_mails_share_few_encrypted_connections(authority: Authority) -> None:
    async with (
        serving(Offers(authority.server())) as mailbox,
        channel_to(mailbox.smtp_url, authority.file) as channel,
    ):
        outcomes = await asyncio.gather(*(send(channel, number) for number in range(40)))
        assert {type(one) for one in outcomes} == {Delivered}
        assert mailbox.connections <= channel.lanes


@pytest.mark.parametrize("mechanism", ["PLAIN", "LOGIN"])
async def test_a_login_is_made_by_whichever_mechanism_the_server_has(authority: Authority, mechanism: str) -> None:
    async with serving(Offers(authority.server(), login_by=(mechanism,)), LOGIN) as mailbox:
        assert isinstance(await outcome_at(mailbox, authority.file), Delivered)


async def test_a_server_that_takes_no_login_is_set_up_wrongly(authority: Authority) -> None:
    async with serving(Offers(authority.server(), login_by=()), LOGIN) as mailbox:
        outcome = await outcome_at(mailbox, authority.file)

    assert outcome == Refused("smtp_auth_missing")
    assert isinstance(outcome, Refused)
    assert outcome.fault is RefusalCause.SETUP


async def test_a_refused_password_is_set_up_wrongly(authority: Authority) -> None:
    async with serving(Offers(authority.server()), ("handraise", "another")) as mailbox:
        url = mailbox.smtp_url.replace("another", PASSWORD)
        async with channel_to(url, authority.file) as channel:
            outcome = await send(channel)

    assert outcome == Refused("smtp_auth_535")
    assert isinstance(outcome, Refused)
    assert outcome.fault is RefusalCause.SETUP


class InTheMiddle:
    """Somebody on the way who strips STARTTLS from what the server offers, and writes down what they hear."""

    def __init__(self, extensions: tuple[str, ...] = ("AUTH PLAIN LOGIN",), after_starttls: bytes = b"") -> None:
        self.heard = b""
        self.extensions = extensions
        self.after_starttls = after_starttls

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example.com ESMTP\r\n")
        while line := await reader.readline():
            self.heard += line
            if line.upper().startswith(b"EHLO"):
                told = ["mail.example.com", *self.extensions]
                lines = [f"250{'-' if number < len(told) - 1 else ' '}{one}" for number, one in enumerate(told)]
                writer.write("\r\n".join(lines).encode() + b"\r\n")
            elif line.upper().startswith(b"AUTH"):
                writer.write(b"235 2.7.0 Welcome\r\n")
            elif line.upper().startswith(b"STARTTLS"):
                writer.write(self.after_starttls)
            else:
                writer.write(b"250 Ok\r\n")
        writer.close()


@asynccontextmanager
async def overheard(middle: InTheMiddle) -> AsyncIterator[str]:
    server = await asyncio.start_server(middle.talk, "127.0.0.1", 0)
    try:
        yield f"smtp://handraise:{PASSWORD}@127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await server.wait_closed()


async def test_a_stripped_starttls_gets_neither_the_password_nor_the_mail(authority: Authority) -> None:
    middle = InTheMiddle()
    async with overheard(middle) as url, channel_to(url, authority.file) as channel:
        outcome = await send(channel)

    assert outcome == Deferred("smtp_starttls_missing")
    assert isinstance(outcome, Deferred)
    assert outcome.fault is RefusalCause.SETUP
    assert_heard_nothing(middle)


async def test_a_starttls_that_is_refused_gets_neither_the_password_nor_the_mail(authority: Authority) -> None:
    middle = InTheMiddle(("STARTTLS", "AUTH PLAIN"), b"454 4.7.0 TLS not available\r\n")
    async with overheard(middle) as url, channel_to(url, authority.file) as channel:
        assert await send(channel) == Deferred("smtp_454")

    assert_heard_nothing(middle)


async def test_what_is_slipped_in_behind_starttls_counts_for_nothing(authority: Authority) -> None:
    middle = InTheMiddle(("STARTTLS",), b"220 2.0.0 Ready\r\n250-mail.example.com\r\n250 AUTH PLAIN\r\n")
    async with overheard(middle) as url, channel_to(url, authority.file) as channel:
        assert isinstance(await send(channel), Deferred)

    assert_heard_nothing(middle)


def assert_heard_nothing(middle: InTheMiddle) -> None:
    for secret in (PASSWORD.encode(), base64.b64encode(PASSWORD.encode()), b"AUTH", b"MAIL", b"Refund"):
        assert secret not in middle.heard
    assert b"EHLO" in middle.heard


def test_without_a_demand_tls_is_used_where_it_is_offered_and_has_to_hold(authority: Authority) -> None:
    server = SmtpServer.parse("smtp://mail.example.com", Security(authority.file))

    assert server.tls is Tls.OFFERED
    assert server.context is not None
    assert (server.context.verify_mode, server.context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert SmtpServer.parse("smtp://127.0.0.1", Security(required=True)).tls is Tls.REQUIRED
