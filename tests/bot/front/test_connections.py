"""What one connection, and all of them together, may take up (docs/decisions/0037). Raw bytes over real sockets."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import socket
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.front.admission import MOST_PIPELINED, SETTLED, Limits
from bot.front.connections import Connections
from bot.observability.telemetry import HttpRefusal
from tests.world import INBOUND_SECRET, KEYS, World, running

KIB, MIB = 1024, 1024 * 1024
AGENT = f"X-API-Key: {KEYS['agent']}\r\n".encode()
ALIVE = b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"


@dataclass
class Doors:
    """A service whose connections are looked at when a test says so, at the time that it says."""

    world: World
    connections: Connections
    refused: Counter[HttpRefusal]
    passed: list[float] = field(default_factory=lambda: [0.0])

    def later(self, seconds: float) -> None:
        self.passed[0] += seconds
        self.connections.look()

    def settle(self) -> None:
        for _ in range(SETTLED):
            self.connections.look()


class Client:
    """One connection to it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def say(self, raw: bytes) -> None:
        self.writer.write(raw)

    async def hear(self) -> tuple[int, bytes]:
        """One reply: its status and its body."""
        async with asyncio.timeout(30):
            head = await self.reader.readuntil(b"\r\n\r\n")
            fields = dict(line.split(b": ", 1) for line in head.lower().split(b"\r\n")[1:-2])
            body = await self.reader.readexactly(int(fields.get(b"content-length", b"0")))
        return int(head.split(b" ")[1]), head + body

    async def ask(self, raw: bytes) -> int:
        self.say(raw)
        return (await self.hear())[0]

    async def is_hung_up_on(self) -> bool:
        """Whether nothing more comes, be it that the connection is reset."""
        try:
            async with asyncio.timeout(30):
                return await self.reader.read() == b""
        except ConnectionError:
            return True

    async def pour(self, piece: bytes, times: int) -> None:
        """Send for as long as anybody listens."""
        try:
            async with asyncio.timeout(30):
                for _ in range(times):
                    self.say(piece)
                    await self.writer.drain()
        except ConnectionError:
            pass


@asynccontextmanager
async def doors(folder: Path, url: str, limits: Limits) -> AsyncIterator[Doors]:
    refused: Counter[HttpRefusal] = Counter()
    passed = [0.0]
    connections = Connections(limits, lambda why: refused.update([why]), lambda: passed[0])
    async with running(folder, url, connections=connections) as world:
        yield Doors(world, connections, refused, passed)


async def given_back(door: Doors) -> None:
    """Return when nothing of any body is kept: the reply is heard before its request has quite ended."""
    async with asyncio.timeout(30):
        while door.connections.bodies.taken:
            await asyncio.sleep(0.01)


@pytest.fixture
async def door(tmp_path: Path, sqlite_url: str) -> AsyncIterator[Doors]:
    async with doors(tmp_path, sqlite_url, Limits()) as found:
        yield found


@asynccontextmanager
async def client(door: Doors) -> AsyncIterator[Client]:
    host, port = door.world.url.removeprefix("http://").split(":")
    one = Client(*await asyncio.open_connection(host, int(port)))
    try:
        yield one
    finally:
        one.writer.close()
        await asyncio.gather(one.writer.wait_closed(), return_exceptions=True)


def post(size: int | None, *headers: bytes, path: bytes = b"/v1/intents") -> bytes:
    """The head of a request; chunked without a size."""
    length = b"Transfer-Encoding: chunked\r\n" if size is None else b"Content-Length: %d\r\n" % size
    return b"POST " + path + b" HTTP/1.1\r\nHost: h\r\n" + b"".join(headers) + length + b"\r\n"


# --- Replies ------------------------------------------------------------------------------------------------------


async def test_a_reply_without_a_body_is_as_quick_as_any(door: Doors) -> None:
    """And the replies keep their order, though the next request has come already."""
    head = b"HEAD /docs HTTP/1.1\r\nHost: h\r\n\r\n"
    async with client(door) as one, asyncio.timeout(30):
        for raw, kinds in ((head, [b"text/html"]), (head + ALIVE, [b"text/html", b"application/json"])):
            one.say(raw)
            for kind in kinds:
                assert kind in await one.reader.readuntil(b"\r\n\r\n")


# --- Heads and trailers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "piece"),
    [
        (b"GET / HTTP/1.1\r\n", b"n" * 8192),
        (b"GET / HTTP/1.1\r\nName: ", b"v" * 8192),
        (b"GET /", b"p" * 8192),
        (b"GET / HTTP/1.1\r\n", b"N: v\r\n" * 1000),
        (post(None) + b"0\r\n", b"t" * 8192),
        (post(None) + b"0\r\n", b"T: v\r\n" * 1000),
        (post(None) + b"5;", b"e" * 8192),
        (b"", b"\r\n" * 4096),
    ],
    ids=["name", "value", "path", "fields", "trailer", "trailers", "extension", "empty lines"],
)
async def test_a_head_and_trailers_are_64_kib_at_most(door: Doors, first: bytes, piece: bytes) -> None:
    async with client(door) as one:
        one.say(first)
        pouring = asyncio.create_task(one.pour(piece, 3000))  # 24 MB
        status, said = await one.hear()
        assert (status, b'"too_large"' in said) == (431, True)
        await pouring
        assert await one.is_hung_up_on()
    assert door.refused[HttpRefusal.HEAD_TOO_LARGE] == 1


async def test_a_head_of_60_kib_is_read(door: Doors) -> None:
    async with client(door) as one:
        assert await one.ask(b"GET /healthz HTTP/1.1\r\nHost: h\r\nLong: " + b"x" * 60 * KIB + b"\r\n\r\n") == 200


async def test_a_trailer_is_no_key(door: Doors) -> None:
    async with client(door) as one:
        one.say(post(None) + b"2\r\n{}\r\n0\r\n" + AGENT + b"\r\n")
        assert (await one.hear())[0] == 401


async def test_what_is_not_http_is_told_so_in_the_envelope(door: Doors) -> None:
    async with client(door) as one:
        one.say(b"\x16\x03\x01 hello\r\n\r\n")
        status, said = await one.hear()
        assert (status, b'"invalid_request"' in said) == (400, True)
        assert await one.is_hung_up_on()


async def test_requests_that_are_piled_up_unread_end_the_connection(door: Doors) -> None:
    async with client(door) as one:
        await one.pour(ALIVE * (MOST_PIPELINED * 4), 1)
        assert await one.is_hung_up_on()
    assert door.refused[HttpRefusal.MALFORMED] == 1


async def test_a_few_requests_at_once_are_answered_in_order(door: Doors) -> None:
    async with client(door) as one:
        one.say(ALIVE + b"GET /nowhere HTTP/1.1\r\nHost: h\r\n\r\n" + ALIVE)
        assert [(await one.hear())[0] for _ in range(3)] == [200, 404, 200]


async def test_another_protocol_is_not_offered_and_the_request_is_served(door: Doors) -> None:
    async with client(door) as one:
        upgrade = b"GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        assert await one.ask(upgrade) == 200


# --- Time ---------------------------------------------------------------------------------------------------------


async def test_who_never_says_a_word_is_hung_up_on(door: Doors) -> None:
    async with client(door) as one, client(door) as other:
        assert await other.ask(ALIVE) == 200  # both have been taken
        door.later(14)
        assert await other.ask(ALIVE) == 200
        door.later(2)
        assert await one.is_hung_up_on()
        assert await other.ask(ALIVE) == 200


@pytest.mark.parametrize("before", [b"", ALIVE])
async def test_who_sends_a_head_drop_by_drop_is_hung_up_on(door: Doors, before: bytes) -> None:
    async with client(door) as one:
        if before:
            assert await one.ask(before) == 200
            door.later(60)
        for letter in b"GET /x":
            one.say(bytes([letter]))
            await one.writer.drain()
            await asyncio.sleep(0)
        async with client(door) as other:
            assert await other.ask(ALIVE) == 200  # by now the letters have come
        door.later(16)
        assert (await one.hear())[0] == 408
        assert await one.is_hung_up_on()


async def test_who_sends_a_body_drop_by_drop_is_hung_up_on(door: Doors) -> None:
    async with client(door) as one, client(door) as other:
        one.say(post(1000, AGENT) + b"{")
        assert await other.ask(ALIVE) == 200
        door.later(31)
        assert (await one.hear())[0] == 408


async def test_a_body_that_makes_progress_has_its_time(door: Doors) -> None:
    body = b'{"title": "' + b"x" * 100 + b'"}' + b" " * 600 * KIB
    async with client(door) as one, client(door) as other:
        one.say(post(len(body), AGENT) + body[: 500 * KIB])
        await one.writer.drain()
        for _ in range(3):
            assert await other.ask(ALIVE) == 200
            door.later(10)
        one.say(body[500 * KIB :])
        assert (await one.hear())[0] == 201


async def test_who_has_nothing_more_to_ask_is_hung_up_on_in_time(door: Doors) -> None:
    async with client(door) as one:
        assert await one.ask(ALIVE) == 200
        door.later(74)
        assert await one.ask(ALIVE) == 200
        door.later(76)
        assert await one.is_hung_up_on()


async def test_who_waits_for_an_answer_or_for_events_is_never_hung_up_on(door: Doors) -> None:
    asked = await door.world.ask()
    async with client(door) as waiting, client(door) as stream:
        stream.say(b"GET /v1/events/stream HTTP/1.1\r\nHost: h\r\n" + AGENT + b"\r\n")
        assert b": connected" in await stream.reader.readuntil(b"connected\n")
        path = f"GET /v1/suspensions/{asked['suspension_id']}/wait?timeout_seconds=30 HTTP/1.1\r\nHost: h\r\n"
        waiting.say(path.encode() + AGENT + b"\r\n")
        async with client(door) as other:
            assert await other.ask(ALIVE) == 200
            door.later(100_000)
        await door.world.answer(asked, "approve")
        assert (await waiting.hear())[0] == 200
        assert b"event: intent.resumed" in await stream.reader.readuntil(b"event: intent.resumed")


def requests_under_way() -> int:
    """Uvicorn has a task for each."""
    return sum("run_asgi" in repr(task.get_coro()) for task in asyncio.all_tasks())


async def test_whoever_leaves_a_stream_is_missed_although_another_request_stands_behind_it(door: Doors) -> None:
    async with client(door) as one:
        one.say(b"GET /v1/events/stream HTTP/1.1\r\nHost: h\r\n" + AGENT + b"\r\n" + ALIVE)
        assert b": connected" in await one.reader.readuntil(b"connected\n")
        assert requests_under_way() == 1
    async with asyncio.timeout(30):
        while requests_under_way():
            await asyncio.sleep(0.01)


async def test_a_stranger_that_reads_nothing_of_a_long_reply_is_hung_up_on(door: Doors) -> None:
    await door.world.http.get(f"{door.world.url}/openapi.json")  # the first time takes longer
    host, port = door.world.url.removeprefix("http://").split(":")
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * KIB)
        deaf.connect((host, int(port)))
        deaf.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: h\r\n\r\n" * 8)
        async with client(door) as other:
            for _ in range(500):  # until the kernel keeps no more of it
                assert await other.ask(ALIVE) == 200
                door.later(0.5)
                if door.refused:
                    break
            assert door.refused == {HttpRefusal.TOO_SLOW: 1}


# --- Bodies -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        (b"/v1/suspensions", []),
        (b"/email/inbound", []),
        (b"/email/inbound", [b"X-Handraise-Signature: t=1,v1=" + b"0" * 64 + b"\r\n"]),
        (b"/pagerduty/webhooks", [b"X-PagerDuty-Signature: none\r\n"]),
        (b"/slack/events", [b"X-Slack-Signature: v0=" + b"0" * 64 + b"\r\n", b"X-Slack-Request-Timestamp: 1\r\n"]),
    ],
)
async def test_whoever_is_refused_by_the_head_alone_hears_it_before_the_body(
    door: Doors, path: bytes, headers: list[bytes]
) -> None:
    async with client(door) as one:
        assert await one.ask(post(900 * KIB, *headers, path=path)) == 401
        one.say(b"x" * 900 * KIB)
        assert await one.ask(ALIVE) == 200, "what comes all the same passes by"
        assert door.connections.bodies.taken == 0


async def test_a_body_that_is_not_announced_is_413_where_it_is_too_large_and_nothing_of_it_is_kept(door: Doors) -> None:
    async with client(door) as one:
        one.say(post(None))
        for _ in range(8):
            one.say(b"20000\r\n" + b"x" * 0x20000 + b"\r\n")
            await one.writer.drain()
            assert door.connections.bodies.taken < 512 * KIB
        one.say(b"1\r\nx\r\n0\r\n\r\n")
        assert (await one.hear())[0] == 413


async def test_bodies_of_strangers_share_what_there_is_and_known_clients_have_their_own(
    tmp_path: Path, sqlite_url: str
) -> None:
    bad = f"t={1774346400},v1={'0' * 64}"
    signed = f"X-Handraise-Signature: {bad}\r\n".encode()
    async with doors(tmp_path, sqlite_url, Limits(bodies=4 * MIB)) as door, client(door) as known:
        assert await known.ask(b"GET /v1/intents HTTP/1.1\r\nHost: h\r\n" + AGENT + b"\r\n") == 200
        async with client(door) as one, client(door) as other:
            one.say(post(3 * MIB, signed, path=b"/email/inbound")[:-2] + b"\r\n")
            assert (await one.hear())[0] == 503, "announced"
            other.say(post(None, signed, path=b"/email/inbound"))
            pouring = asyncio.create_task(other.pour(b"10000\r\n" + b"x" * 0x10000 + b"\r\n", 48))
            status, said = await other.hear()
            assert (status, b"retry-after: " in said, b'"busy"' in said) == (503, True, True)
            await pouring
        async with client(door) as holding:
            holding.say(post(1900 * KIB, signed, path=b"/email/inbound") + b"x" * 1890 * KIB)
            while door.connections.bodies.taken < 1800 * KIB:
                await asyncio.sleep(0.01)
            async with client(door) as third:
                assert await third.ask(post(900 * KIB, signed, path=b"/email/inbound")) == 503
                small = b'{"title": "x"}'
            async with client(door) as third:
                assert await third.ask(post(len(small), AGENT) + small) == 201, "a small one always has room"
            large = small + b" " * 900 * KIB
            assert await known.ask(post(len(large), AGENT) + large) == 201
    await given_back(door)
    assert door.connections.bodies.by_strangers == 0


def signed_mail(door: Doors, size: int) -> bytes:
    """A request with a mail of so many bytes."""
    raw = b"From: a@example.com\r\n\r\n" + b"x" * (size - 23)
    sent_at = int(door.world.clock.now().timestamp())
    digest = hmac.new(INBOUND_SECRET.encode(), f"{sent_at}.".encode() + raw, hashlib.sha256).hexdigest()
    signed = f"X-Handraise-Signature: t={sent_at},v1={digest}\r\n".encode()
    return post(len(raw), signed, path=b"/email/inbound") + raw


async def test_a_newcomer_with_a_key_has_room_although_strangers_have_taken_all_of_theirs(
    tmp_path: Path, sqlite_url: str
) -> None:
    forged = f"X-Handraise-Signature: t={1774346400},v1={'0' * 64}\r\n".encode()
    large = b'{"title": "x"}' + b" " * 900 * KIB
    async with doors(tmp_path, sqlite_url, Limits(bodies=4 * MIB)) as door, client(door) as holding:
        holding.say(post(None, forged, path=b"/email/inbound") + b"%x\r\n" % (2064 * KIB) + b"x" * 2063 * KIB)
        async with asyncio.timeout(30):
            while door.connections.bodies.taken < 2047 * KIB:
                await asyncio.sleep(0.01)

        async with client(door) as newcomer:
            assert await newcomer.ask(post(len(large), AGENT) + large) == 201
        async with client(door) as newcomer:
            newcomer.say(post(None, AGENT) + b"%x\r\n%b\r\n0\r\n\r\n" % (len(large), large))
            assert (await newcomer.hear())[0] == 201, "not announced"
        async with client(door) as newcomer:
            assert await newcomer.ask(signed_mail(door, 12 * KIB)) == 202, "a small one always has room"

        revoked = KEYS["other_agent"].encode()
        assert (await door.world.call("DELETE", "/v1/keys/other-agent", "admin")).status_code == 200
        for key in (b"guessed", b"\xff", revoked):
            async with client(door) as stranger:
                assert await stranger.ask(post(len(large), b"X-API-Key: " + key + b"\r\n")) == 503


async def test_a_long_reply_comes_whole_to_whoever_reads_it_slowly(door: Doors) -> None:
    async with client(door) as one, client(door) as slow:
        for path in (b"/openapi.json", b"/docs"):
            asking = b"GET %b HTTP/1.1\r\nHost: h\r\n\r\n" % path
            one.say(asking)
            _, wanted = await one.hear()
            assert len(wanted) > 256 * KIB
            slow.say(asking)
            got = b""
            while len(got) < len(wanted):
                got += await slow.reader.read(8 * KIB)
                await asyncio.sleep(0)
            assert got.split(b"\r\n\r\n", 1)[1] == wanted.split(b"\r\n\r\n", 1)[1]
        assert await slow.ask(ALIVE) == 200


async def test_a_signed_mail_of_5_mib_is_taken_and_given_back(door: Doors) -> None:
    async with client(door) as one:
        assert await one.ask(signed_mail(door, 5 * MIB)) == 202
        await given_back(door)


async def test_a_body_in_crumbs_is_not_gone_on_with(door: Doors) -> None:
    async with client(door) as one:
        one.say(post(None, AGENT))
        await one.pour(b"1\r\n \r\n" * 1200, 1)
        assert (await one.hear())[0] == 400


# --- How many -----------------------------------------------------------------------------------------------------


async def test_the_stranger_who_has_been_idle_longest_gives_way_and_who_has_a_key_never_does(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with (
        doors(tmp_path, sqlite_url, Limits(per_address=3)) as door,
        client(door) as known,
        client(door) as signed_in,
        client(door) as first,
        client(door) as second,
    ):
        assert await known.ask(b"GET /v1/intents HTTP/1.1\r\nHost: h\r\n" + AGENT + b"\r\n") == 200
        assert await signed_in.ask(b"GET /v1/intents HTTP/1.1\r\nHost: h\r\nX-API-Key: wrong\r\n\r\n") == 401
        assert await first.ask(ALIVE) == 200
        assert await second.ask(ALIVE) == 200
        door.settle()
        async with client(door) as third:
            assert await third.ask(ALIVE) == 200
            assert await signed_in.is_hung_up_on(), "a wrong key is none"
            async with client(door) as fourth:
                assert await fourth.ask(ALIVE) == 200
                assert await first.is_hung_up_on()
                assert await known.ask(ALIVE) == await second.ask(ALIVE) == await third.ask(ALIVE) == 200
    assert door.refused == {HttpRefusal.GAVE_WAY: 2}


async def test_where_there_is_no_room_for_anybody_a_newcomer_is_told_to_try_again(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with doors(tmp_path, sqlite_url, Limits(most=1)) as door, client(door) as known:
        assert await known.ask(b"GET /v1/intents HTTP/1.1\r\nHost: h\r\n" + AGENT + b"\r\n") == 200
        async with client(door) as other:
            status, said = await other.hear()
            assert (status, b"retry-after: " in said) == (503, True)
            assert await other.is_hung_up_on()
        assert await known.ask(ALIVE) == 200
