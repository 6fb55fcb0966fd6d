"""Mail that a mail server brings by LMTP or SMTP, over a real socket: what it is told, and what then counts.

Source: API.md §6; RFC 5321, RFC 2033; facts on mail §B2, §F.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import aiosmtplib
import pytest
import pytest_asyncio

from channels.email.lmtp_server import (
    BARE_LINE_END,
    LARGEST_MAIL,
    NO_SUCH_ADDRESS,
    NOT_NOW,
    NOT_OFFERED,
    TAKEN,
    TOO_LARGE,
)
from tests.bot.mail_talk import Talk, talking
from tests.bot.mail_world import ALICE, ask_by_mail, is_open, signed_reply, words_back
from tests.cli import handraise
from tests.ports import free_port
from tests.vendors.mail import Mail
from tests.world import World, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

OK = "250 2.1.5 Ok"


@dataclass
class Listening:
    world: World
    port: int


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["lmtp", "smtp"])
async def each(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Listening]:
    """A service that listens for each protocol in turn."""
    async with listening(tmp_path_factory.mktemp("each"), request.param) as service:
        yield service


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lmtp(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Listening]:
    async with listening(tmp_path_factory.mktemp("lmtp"), "lmtp") as service:
        yield service


@contextlib.asynccontextmanager
async def listening(folder: Path, protocol: str) -> AsyncIterator[Listening]:
    port = free_port()
    url = f"sqlite+aiosqlite:///{folder}/handraise.db"
    async with running(folder, url, email__listen=f"{protocol}://127.0.0.1:{port}") as world:
        yield Listening(world, port)


def greeting(service: Listening) -> str:
    listener = service.world.service.doors["mail_listener"].listener
    assert listener is not None
    return {"lmtp": "LHLO", "smtp": "EHLO"}[listener.protocol]


def change_schema(world: World, statement: str) -> None:
    path = world.service.database.path
    assert path is not None
    with contextlib.closing(sqlite3.connect(path)) as conn:
        conn.execute(statement)
        conn.commit()


@contextlib.contextmanager
def database_without(world: World, table: str) -> Iterator[None]:
    change_schema(world, f"ALTER TABLE {table} RENAME TO away")
    yield
    change_schema(world, f"ALTER TABLE away RENAME TO {table}")


async def bring(service: Listening, mail: Mail, raw: bytes) -> str:
    """The whole transaction; the reply behind the content."""
    async with talking(service.port) as talk:
        assert await talk.begin(mail.answers_to, greeting=greeting(service)) == [OK]
        return (await talk.bring(raw))[0]


# --- What counts --------------------------------------------------------------------------------------------------


async def test_a_reply_answers_by_the_time_it_is_acknowledged(each: Listening) -> None:
    asked, mail = await ask_by_mail(each.world)

    assert await bring(each, mail, signed_reply(each.world, mail)) == TAKEN

    assert not await is_open(each.world, asked)
    told = (await each.world.told(asked))["data"]
    assert (told["value"], told["responded_by"], told["channel"]) == ("approve", ALICE, "email")


async def test_a_usual_client_brings_mail_by_smtp(tmp_path: Path) -> None:
    async with listening(tmp_path, "smtp") as service:
        asked, mail = await ask_by_mail(service.world)
        client = aiosmtplib.SMTP(hostname="127.0.0.1", port=service.port, start_tls=False)
        async with client:
            await client.ehlo()
            assert not client.supports_extension("auth")
            assert not client.supports_extension("starttls")
            assert client.supports_extension("smtputf8")
            raw = signed_reply(service.world, mail)
            await client.sendmail(
                "älice@example.com", [mail.answers_to], raw, mail_options=["SMTPUTF8", "BODY=8BITMIME"]
            )
        assert (await service.world.told(asked))["data"]["value"] == "approve"


async def test_a_mail_that_is_brought_again_answers_and_confirms_once(each: Listening) -> None:
    asked, mail = await ask_by_mail(each.world)
    raw = signed_reply(each.world, mail)

    assert [await bring(each, mail, raw) for _ in range(3)] == [TAKEN] * 3

    assert len(await words_back(each.world, asked)) == 1


async def test_lines_that_begin_with_a_dot_and_lines_of_any_length_arrive_as_written(each: Listening) -> None:
    asked, mail = await ask_by_mail(each.world, response_type="text")
    words = "Ship it.\n.hidden\n..twice\n" + "x" * 30_000
    head = signed_reply(each.world, mail).partition(b"\r\nMIME-Version")[0]
    raw = head + b"\r\n\r\n" + words.replace("\n", "\r\n").encode() + b"\r\n"

    assert await bring(each, mail, raw) == TAKEN

    assert (await each.world.told(asked))["data"]["value"] == words


async def test_many_mails_come_over_one_connection(each: Listening) -> None:
    asked = [await ask_by_mail(each.world) for _ in range(3)]
    async with talking(each.port) as talk:
        for _, mail in asked:
            assert await talk.begin(mail.answers_to, greeting=greeting(each)) == [OK]
            assert await talk.bring(signed_reply(each.world, mail)) == [TAKEN]
        assert await talk.say("QUIT") == "221 2.0.0 Bye"
    assert not any([await is_open(each.world, one) for one, _ in asked])


async def test_commands_that_come_at_once_are_answered_in_order(each: Listening) -> None:
    asked, mail = await ask_by_mail(each.world)
    content = signed_reply(each.world, mail)
    verb = greeting(each)
    async with talking(each.port) as talk:
        known, unknown = mail.answers_to, "nobody@handraise.example"
        commands = f"{verb} mx\r\nMAIL FROM:<{ALICE}>\r\nRCPT TO:<{unknown}>\r\nRCPT TO:<{known}>\r\nDATA\r\n".encode()
        talk.send(commands + content + b".\r\nNOOP\r\nQUIT\r\n")
        replies = [await talk.hear() for _ in range(8)]
    assert [reply[:3] for reply in replies] == ["250", "250", "550", "250", "354", "250", "250", "221"]
    assert not await is_open(each.world, asked)


# --- What is turned away ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "answers+r.aaaaaaaaaaaaaaaaaaaaaaaaaa@handraise.example",
        "answers@handraise.example",
        "bounces+nothing@handraise.example",
        "somebody@example.com",
        "postmaster@handraise.example",
        "x@" + "handraise.example." * 10 + "example",
    ],
)
async def test_nothing_is_taken_for_an_address_that_is_not_ours(each: Listening, address: str) -> None:
    async with talking(each.port) as talk:
        (said,) = await talk.begin(address, greeting=greeting(each))
        assert said == NO_SUCH_ADDRESS
        assert await talk.say("DATA") == "503 5.5.1 Need a recipient first"


async def test_with_the_database_away_an_address_may_be_tried_again(each: Listening) -> None:
    asked, mail = await ask_by_mail(each.world)
    raw = signed_reply(each.world, mail)
    async with talking(each.port) as talk:
        with database_without(each.world, "tokens"):
            assert await talk.begin(mail.answers_to, greeting=greeting(each)) == [NOT_NOW]
        assert await talk.say(f"RCPT TO:<{mail.answers_to}>") == OK
        with database_without(each.world, "seen"):
            assert await talk.bring(raw) == [NOT_NOW]
    assert await is_open(each.world, asked)

    assert await bring(each, mail, raw) == TAKEN

    assert not await is_open(each.world, asked)
    assert len(await words_back(each.world, asked)) == 1


async def test_a_mail_is_as_large_as_any_door_takes_and_no_larger(each: Listening) -> None:
    asked, mail = await ask_by_mail(each.world)
    raw = signed_reply(each.world, mail)
    filled = raw + b"--\r\n" + b"x" * (LARGEST_MAIL - len(raw) - 6) + b"\r\n"
    assert len(filled) == LARGEST_MAIL

    assert await bring(each, mail, b"x" + filled) == TOO_LARGE
    assert await is_open(each.world, asked)
    assert await bring(each, mail, filled) == TAKEN


async def test_who_says_that_a_mail_is_too_large_need_not_send_it(each: Listening) -> None:
    async with talking(each.port) as talk:
        assert f"SIZE {LARGEST_MAIL}" in await talk.say(f"{greeting(each)} mx")
        assert (await talk.say(f"MAIL FROM:<a@b.test> SIZE={LARGEST_MAIL + 1}")).startswith("552 5.3.4 ")


@pytest.mark.parametrize("end", [b"\n.\n", b"\n.\r\n", b"\r.\r\n", b"\r.\r", b"\r\n.\n", b"\r\n.\r", b"\r\r\n.\r\r\n"])
async def test_what_is_no_line_of_its_own_ends_no_mail_and_lets_no_second_one_in(each: Listening, end: bytes) -> None:
    """SMTP smuggling: CVE-2023-51764 and its kin."""
    asked, mail = await ask_by_mail(each.world)
    outer, inner = signed_reply(each.world, mail, "hm"), signed_reply(each.world, mail, "approve")
    commands = f"MAIL FROM:<{ALICE}>\r\nRCPT TO:<{mail.answers_to}>\r\nDATA\r\n".encode()
    async with talking(each.port) as talk:
        await talk.begin(mail.answers_to, greeting=greeting(each))
        assert (await talk.say("DATA")).startswith("354 ")
        talk.send(outer + b"x" + end + commands + inner + b".\r\n")
        assert await talk.hear() == BARE_LINE_END
        assert await talk.say("NOOP") == "250 2.0.0 OK"
    assert await is_open(each.world, asked)
    assert await words_back(each.world, asked) == []


@pytest.mark.parametrize("between", [b"\r", b"\n"])
async def test_a_header_field_hidden_in_another_ones_line_authenticates_nobody(each: Listening, between: bytes) -> None:
    asked, mail = await ask_by_mail(each.world)
    raw = signed_reply(each.world, mail).replace(b"\r\nAuthentication-Results:", between + b"Authentication-Results:")

    assert await bring(each, mail, raw) == BARE_LINE_END
    assert await is_open(each.world, asked)


async def test_nothing_is_offered_but_taking_mail(each: Listening) -> None:
    async with talking(each.port) as talk:
        said = await talk.say(f"{greeting(each)} mx")
        extensions = [line[4:].split()[0] for line in said.splitlines()[1:]]
        assert extensions == ["SIZE", "8BITMIME", "SMTPUTF8", "PIPELINING", "ENHANCEDSTATUSCODES"]
        for command in ("AUTH PLAIN AGEAYg==", "STARTTLS", "VRFY alice", "EXPN all"):
            assert await talk.say(command) == NOT_OFFERED


async def test_what_can_not_be_read_is_refused_and_the_talk_goes_on(each: Listening) -> None:
    async with talking(each.port) as talk:
        assert (await talk.say("RCPT TO:<a@b.test>"))[:3] == "503"
        await talk.begin(greeting=greeting(each))
        for command in ("RCPT TO:<", "RCPT TO:<>", "RCPT", "RCPT TO:<a@b.test> X=1", "WHAT", "", "x" * 20_000):
            assert (await talk.say(command))[0] == "5", command
        assert (await talk.say("RCPT TO:<\udcff\udcfe@b.test>".encode("utf-8", "surrogateescape").decode("latin-1")))[
            0
        ] == "5"
        assert await talk.say("NOOP") == "250 2.0.0 OK"


async def test_every_reply_says_what_it_means_but_the_greetings(each: Listening) -> None:
    async with talking(each.port) as talk:
        assert (await talk.say(f"{greeting(each)} mx")).splitlines()[0] == "250-handraise.example"
        assert await talk.say("RSET") == "250 2.0.0 OK"
        assert (await talk.say("MAIL nonsense")).startswith("501 5.5.4 ")


async def test_nothing_names_the_software_or_its_version(each: Listening) -> None:
    talk = Talk(*await asyncio.open_connection("127.0.0.1", each.port))
    assert await talk.hear() in {"220 handraise.example LMTP", "220 handraise.example ESMTP"}
    await talk.hang_up()


# --- LMTP ---------------------------------------------------------------------------------------------------------


async def test_by_lmtp_each_recipient_that_was_taken_has_a_reply_of_its_own(lmtp: Listening) -> None:
    world = lmtp.world
    asked, mail = await ask_by_mail(world)
    async with talking(lmtp.port) as talk:
        recipients = (mail.answers_to, "nobody@handraise.example", mail.answers_to.upper())
        assert await talk.begin(*recipients) == [OK, NO_SUCH_ADDRESS, OK]
        assert await talk.bring(signed_reply(world, mail), replies=2) == [TAKEN, TAKEN]
        assert await talk.say("NOOP") == "250 2.0.0 OK", "two recipients, two replies, and no third"
    assert not await is_open(world, asked)
    assert len(await words_back(world, asked)) == 1


async def test_by_lmtp_each_recipient_hears_that_it_may_come_again_or_is_too_large(lmtp: Listening) -> None:
    world = lmtp.world
    _, mail = await ask_by_mail(world)
    _, other = await ask_by_mail(world)
    async with talking(lmtp.port) as talk:
        await talk.begin(mail.answers_to, other.answers_to)
        with database_without(world, "seen"):
            assert await talk.bring(signed_reply(world, mail), replies=2) == [NOT_NOW] * 2
        await talk.begin(mail.answers_to, other.answers_to)
        assert await talk.bring(b"x" * LARGEST_MAIL + b"\r\n", replies=2) == [TOO_LARGE] * 2
        assert await talk.say("NOOP") == "250 2.0.0 OK"


@pytest.mark.parametrize("command", ["HELO mx", "EHLO mx"])
async def test_by_lmtp_nobody_is_greeted_as_by_smtp(lmtp: Listening, command: str) -> None:
    async with talking(lmtp.port) as talk:
        assert await talk.say(command) == "500 5.5.1 This is LMTP: say LHLO"


async def test_by_smtp_nobody_is_greeted_as_by_lmtp(tmp_path: Path) -> None:
    async with listening(tmp_path, "smtp") as service, talking(service.port) as talk:
        assert (await talk.say("LHLO mx"))[:3] == "500"
        assert await talk.say("HELO mx") == "250 handraise.example"


# --- Where it stands ----------------------------------------------------------------------------------------------


async def test_readiness_says_that_mail_is_listened_for(lmtp: Listening) -> None:
    ready = await lmtp.world.call("GET", "/readyz", None)
    assert (ready.status_code, ready.json()["mail_listener"]) == (200, "listening")


async def test_an_address_in_use_is_one_line_and_status_2(lmtp: Listening, tmp_path: Path) -> None:
    text = f"email: {{smtp_url: 'smtp://h', from: a@example.com, listen: 'lmtp://127.0.0.1:{lmtp.port}'}}"
    file = tmp_path / "handraise.yaml"
    file.write_text(f"{text}\nhttp: {{port: {free_port()}}}\ndatabase_url: sqlite+aiosqlite:///{tmp_path}/handraise.db")

    ran = await handraise(lmtp.world, "serve", "--config", str(file))

    line = f"handraise: email.listen: 127.0.0.1:{lmtp.port} can't be listened on: Address already in use."
    assert (ran.status, ran.err.splitlines()[-1]) == (2, line)
    assert "Traceback" not in ran.err
