"""Replies of a mail server that come in any pieces, too many, or never (RFC 5321 §4.2).

The server here says what each test has written down for it, byte by byte, and keeps what it hears in the segments in
which it comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

import pytest

from channels.email import smtp
from channels.email.channel import EmailChannel
from channels.email.mime import OutgoingMail
from core.ports import Ambiguous, Deferred, Delivered, Delivery, RefusalCause, Refused
from tests.channels.email.test_email_channel import send
from tests.patience import PATIENCE

pytestmark = pytest.mark.io

FINE = {b"MAIL": b"250 2.1.0 Ok\r\n", b"RCPT": b"250 2.1.5 Ok\r\n", b"DATA": b"354 Go on\r\n", b".": b"250 Taken\r\n"}


@dataclass
class Script:
    """What the server says after EHLO and to each command; ``.`` is the end of the content.

    It closes if a reply is ``None``. ``piece`` is how many octets of its replies go out at once.
    """

    replies: Mapping[bytes, bytes | None] = field(default_factory=dict)
    extensions: Sequence[str] = ("SIZE 100",)
    piece: int = 0
    heard: list[bytes] = field(default_factory=list)
    connections: list[Talk] = field(default_factory=list)

    @property
    def contents(self) -> list[bytes]:
        return [content for talk in self.connections for content in talk.contents]

    def reply_to(self, line: bytes) -> bytes | None:
        verb = b"." if line == b"." else line[:4].upper()
        if verb == b"EHLO":
            told = ["script.example.com", *self.extensions]
            return "".join(f"250{' ' if one == told[-1] else '-'}{one}\r\n" for one in told).encode()
        return {b"RSET": b"250 Ok\r\n", b"QUIT": b"221 Bye\r\n", **FINE, **self.replies}.get(verb, b"502 What?\r\n")


class Talk(asyncio.Protocol):
    """One connection to ``script``."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.contents: list[bytes] = []
        self.unread = b""
        self.content: list[bytes] | None = None
        self.ended = asyncio.Event()
        script.connections.append(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.transport.write(b"220 script.example.com\r\n")

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set()

    def data_received(self, data: bytes) -> None:
        self.script.heard.append(data)
        *lines, self.unread = (self.unread + data).split(b"\r\n")
        answers = [self.script.reply_to(line) for line in lines if self._is_answered(line)]
        said = b"".join(one for one in answers[: answers.index(None) if None in answers else None] if one)
        self._say(list(self._pieces(said)), closes=None in answers)

    def _is_answered(self, line: bytes) -> bool:
        """Whether it is a command, or the end of the content."""
        if self.content is None:
            starts = (self.script.reply_to(line) or b"").startswith(b"354")
            self.content = [] if line == b"DATA" and starts else None
            return True
        if line != b".":
            self.content.append(line)
            return False
        self.contents.append(b"\r\n".join(self.content))
        self.content = None
        return True

    def _pieces(self, said: bytes) -> Iterator[bytes]:
        size = self.script.piece or max(1, len(said))
        yield from (said[start : start + size] for start in range(0, len(said), size))

    def _say(self, pieces: list[bytes], *, closes: bool) -> None:
        """Each piece in a turn of the loop of its own, so that it is read by itself."""
        if pieces:
            self.transport.write(pieces.pop(0))
        if pieces:
            asyncio.get_running_loop().call_soon(lambda: self._say(pieces, closes=closes))
        elif closes:
            self.transport.close()


@asynccontextmanager
async def serving(script: Script) -> AsyncIterator[EmailChannel]:
    server = await asyncio.get_running_loop().create_server(lambda: Talk(script), "127.0.0.1", 0)
    channel = EmailChannel(
        f"smtp://127.0.0.1:{server.sockets[0].getsockname()[1]}", "handraise@example.com", returns_key=b"mail"
    )
    try:
        yield channel
    finally:
        await channel.close()
        server.close()


async def outcome_with(script: Script) -> Delivery:
    async with serving(script) as channel:
        return await send(channel)


# --- Every reply is looked at -------------------------------------------------------------------------------------


async def test_nothing_follows_a_command_that_was_refused_by_itself() -> None:
    script = Script({b"MAIL": b"451 Later\r\n"})

    assert await outcome_with(script) == Deferred("smtp_451")
    assert [segment[:4] for segment in script.heard[1:]] == [b"MAIL", b"RSET", b"QUIT"]


async def test_a_refusal_stands_although_nothing_comes_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smtp, "_FAREWELL_SECONDS", 0.05)
    for seconds in ("COMMAND_SECONDS", "BEFORE_CONTENT_SECONDS"):
        monkeypatch.setattr(smtp, seconds, 10 * PATIENCE)
    script = Script({b"RCPT": b"550 5.1.1 Nobody\r\n", b"RSET": b""})

    async with asyncio.timeout(PATIENCE):
        assert await outcome_with(script) == Refused("smtp_550")


@pytest.mark.parametrize("refused", [b"RCPT", b"DATA"])
async def test_a_relay_that_wants_a_login_is_told_from_a_mailbox_that_does_not_exist(refused: bytes) -> None:
    outcome = await outcome_with(Script({refused: b"530 5.7.0 Log in first\r\n"}))

    assert outcome == Refused("smtp_530")
    assert isinstance(outcome, Refused)
    assert outcome.fault is (RefusalCause.PLACE if refused == b"RCPT" else RefusalCause.MESSAGE)


@pytest.mark.parametrize(
    ("replies", "outcome"),
    [
        ({b"DATA": b"250 What?\r\n"}, Deferred("smtp_unusable")),
        ({b"RCPT": b"550 5.1.1 Nobody\r\n", b"RSET": b"502 What?\r\n"}, Refused("smtp_550")),
    ],
    ids=["a reply that fits no command", "no reset"],
)
async def test_a_connection_of_which_nobody_knows_where_it_stands_is_not_used_again(
    replies: Mapping[bytes, bytes | None], outcome: Delivery
) -> None:
    script = Script(replies)
    async with serving(script) as channel:
        assert await send(channel) == outcome
        script.replies = {}
        assert isinstance(await send(channel), Delivered)

    assert [len(talk.contents) for talk in script.connections] == [0, 1]


@pytest.mark.parametrize("waits_for", [b"DATA", b"."])
async def test_a_send_that_is_cut_off_closes_its_connection(waits_for: bytes) -> None:
    script = Script({waits_for: b""})
    async with serving(script) as channel, asyncio.timeout(PATIENCE):
        sending = asyncio.create_task(send(channel))
        while not any(segment.endswith(waits_for + b"\r\n") for segment in script.heard):
            await asyncio.sleep(0)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        await script.connections[0].ended.wait()


# --- Replies in any pieces ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("piece", [1, 2, 3, 7])
async def test_replies_are_read_however_they_are_cut(piece: int) -> None:
    script = Script({b"MAIL": b"250-2.1.0 So\r\n250-2.1.0 far\r\n250 2.1.0 so good\r\n"}, piece=piece)
    async with serving(script) as channel:
        assert isinstance(await send(channel), Delivered)
        script.replies = {b"RCPT": b"550-5.7.1 Relay\r\n550 5.7.1 access denied\n"}
        outcome = await send(channel, 2)

    assert outcome == Refused("smtp_550")
    assert isinstance(outcome, Refused)
    assert outcome.fault is RefusalCause.PLACE
    assert len(script.connections) == 1


@pytest.mark.parametrize(
    "reply",
    [b"250 " + b"x" * 9_000, b"250-" + b"x" * 9_000 + b"\r\n250 Ok\r\n", b"250-more\r\n" * 4_000, b"25", b"hello\r\n"],
    ids=["a long line", "a long line that ends", "many lines", "half a code", "no code"],
)
@pytest.mark.parametrize("stage", [b"RCPT", b"."])
async def test_a_reply_that_never_ends_or_is_none_is_given_up(
    reply: bytes, stage: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smtp, "COMMAND_SECONDS", 0.2)
    monkeypatch.setattr(smtp, "WHOLE_SECONDS", 0.4)
    why = "unusable" if reply.endswith(b"\n") else "timeout"
    script = Script({stage: reply})
    async with serving(script) as channel:
        outcome = await send(channel)
        script.replies = {}
        monkeypatch.undo()
        assert isinstance(await send(channel), Delivered)

    assert outcome == (Ambiguous(f"smtp_{why}_after_data") if stage == b"." else Deferred(f"smtp_{why}"))
    assert len(script.connections) == 2


# --- What nobody asked for ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("unasked", [b"250 One more\r\n", b"421 4.4.2 Idle for too long\r\n", b"2"])
async def test_what_comes_between_mails_is_no_reply_to_the_next(unasked: bytes) -> None:
    script = Script()
    async with serving(script) as channel:
        assert isinstance(await send(channel), Delivered)
        script.connections[0].transport.write(unasked)
        await asyncio.sleep(0.05)
        script.replies = {b"MAIL": b"550 5.7.1 Not you\r\n"}
        assert await send(channel, 2) == Refused("smtp_550")
        script.replies = {}
        assert isinstance(await send(channel, 3), Delivered)


async def test_what_comes_behind_the_last_reply_leaves_the_mail_delivered() -> None:
    script = Script({b".": b"250 Taken\r\n421 4.3.2 Shutting down\r\n"})
    async with serving(script) as channel:
        assert isinstance(await send(channel), Delivered)
        assert isinstance(await send(channel), Delivered)

    assert len(script.connections) == 2


@pytest.mark.parametrize("stage", [b"MAIL", b"RCPT"])
async def test_a_reply_too_many_before_the_content_is_not_the_one_to_the_content(stage: bytes) -> None:
    """Its 250 would make a mail of which nothing was sent a delivered one."""
    script = Script({stage: FINE[stage] + b"250 Taken\r\n"})

    assert await outcome_with(script) == Deferred("smtp_unusable")
    assert script.contents == []


# --- Commands -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", ["\r", "\n", "\0", "\x7f"])
async def test_a_control_character_never_gets_into_a_command(mark: str) -> None:
    script = Script()
    async with serving(script) as channel:
        lanes = channel._smtp
        with pytest.raises(ValueError, match="control"):
            await lanes.deliver(OutgoingMail("", f"a{mark}b@example.org", "<m@example.com>", b"Subject: x\r\n\r\n"))
        assert isinstance(await send(channel), Delivered)

    assert [one for one in script.heard if one.startswith(b"RCPT")] == [b"RCPT TO:<alice@example.org>\r\n"]
    assert len(script.contents) == 1


async def test_mail_goes_out_on_asyncios_own_loop_too() -> None:
    """The service runs on uvloop; agents' tests may run on asyncio's own loop."""

    def story() -> Delivery:
        with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
            return runner.run(outcome_with(Script()))

    assert isinstance(await asyncio.to_thread(story), Delivered)
