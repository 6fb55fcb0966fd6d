"""Callbacks reach the public internet and what the operator lists, and nothing else, whatever a URL is made to say.

Real sockets on loopback: loopback is out of bounds unless it is allowed, which is what is tested.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import timedelta
from functools import partial
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import uvloop

from bot.callbacks.client import GuardedClient, HttpReply, Network, Unanswered, check_url, may_reach

LOOPBACK = (ip_network("127.0.0.0/8"),)
REFUSAL = Unanswered("address_refused")
CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBoTCCAUegAwIBAgIUJ3YipMON8H9EcLmVmWXyJ+a+rIswCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNYWdlbnQuZXhhbXBsZTAgFw0yNjExMjExMDA0NTlaGA8yMTI2
MTAyODEwMDQ1OVowGDEWMBQGA1UEAwwNYWdlbnQuZXhhbXBsZTBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABHmaNmf1MiYMZiujljJuS0YggAE4z3lOa3PX41VJGWJP
JFufBTLKrefJI9WD+hr2EjdDxxIuMAHzvZJ7OzcjPq2jbTBrMB0GA1UdDgQWBBQP
TJP3B786Sbu8SjsrUxgE0AiRXTAfBgNVHSMEGDAWgBQPTJP3B786Sbu8SjsrUxgE
0AiRXTAPBgNVHRMBAf8EBTADAQH/MBgGA1UdEQQRMA+CDWFnZW50LmV4YW1wbGUw
CgYIKoZIzj0EAwIDSAAwRQIhAN8hKJnX6mDkw9dfQ+WGiSd211f2L+siKy6xjZ4l
XB38AiAy6KXwxOXSiaO1pmTEXPTo6o9ogPPSQqa27DQK2m3xOQ==
-----END CERTIFICATE-----
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg2hTskLLSVWRvuLhy
WGDKD/nk5Ttyd+0Iy6uB4hL7qfWhRANCAAR5mjZn9TImDGYro5YybktGIIABOM95
Tmtz1+NVSRliTyRbnwUyyq3nySPVg/oa9hI3Q8cSLjAB872Sezs3Iz6t
-----END PRIVATE KEY-----
"""


class Listener:
    """Answers every request with ``response`` and counts. ``open`` are the connections that are open now."""

    def __init__(self, response: bytes = b"HTTP/1.1 204 No Content\r\n\r\n") -> None:
        self.response = response
        self.requests: list[bytes] = []
        self.port = 0
        self.accepted = 0
        self.open = 0
        self.changed = asyncio.Condition()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        await self._count(1)
        try:
            while True:
                self.requests.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(self.response)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            await self._count(-1)

    async def until_open(self, most: int) -> None:
        async with asyncio.timeout(30), self.changed:
            await self.changed.wait_for(lambda: self.open <= most)

    async def _count(self, more: int) -> None:
        async with self.changed:
            self.open += more
            self.changed.notify_all()


async def listening(
    listener: Listener, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[Listener]:
    server = await asyncio.start_server(listener.serve, host, port, ssl=tls)
    listener.port = server.sockets[0].getsockname()[1]
    yield listener
    server.close()


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    async for one in listening(Listener()):
        yield one


class Names:
    """A resolver that knows a few names, and how often it was asked. The last answer stays."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def client(allow: Sequence[Network] = (), **options: Any) -> GuardedClient:
    return GuardedClient(allow, timeout=timedelta(seconds=10), **options)


async def post(guarded: GuardedClient, url: str) -> HttpReply | Unanswered:
    """One call by a client that is thrown away."""
    try:
        return await guarded.post(url, {}, b"")
    finally:
        await guarded.close()


def status(outcome: HttpReply | Unanswered) -> int:
    assert isinstance(outcome, HttpReply), outcome
    return outcome.status


# --- Which addresses ----------------------------------------------------------------------------------------------

REFUSED = [
    "0.0.0.0",
    "0.1.2.3",
    "10.1.2.3",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::8.8.8.8",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::808:808",
    "64:ff9b:1::a00:1",
    "100::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:808:808::1",
    "3fff::1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
]


@pytest.mark.parametrize("address", REFUSED)
def test_an_address_that_is_not_public_is_out_of_bounds(address: str) -> None:
    assert not may_reach(ip_address(address), ())


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "2606:4700::1111", "2a00::1"],
)
def test_a_public_address_may_be_reached(address: str) -> None:
    assert may_reach(ip_address(address), ())


def test_the_operators_list_is_taken_literally() -> None:
    assert may_reach(ip_address("127.0.0.1"), LOOPBACK)
    assert not may_reach(ip_address("10.0.0.1"), LOOPBACK)
    assert not may_reach(ip_address("::1"), LOOPBACK)
    assert not may_reach(ip_address("::ffff:127.0.0.1"), LOOPBACK)
    assert may_reach(ip_address("fd00::1"), [ip_network("fd00::/8")])


# --- Which URLs, before anything is called ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "https://agent.example/resume",
        "https://does-not-resolve-yet.example/",
        "http://agent.example:8443/a?b=c#d",
        "https://xn--bcher-kva.example/",
        "https://bücher.example/",
        "https://1.1.1.1/",
        "https://[2606:4700::1111]/",
    ],
)
def test_a_url_on_the_public_internet_may_be_called(url: str) -> None:
    assert check_url(url) is None


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "017700000001",
        "0",
        "0.0.0.0",
        "localhost",
        "LocalHost.",
        "sub.localhost",
        "127。0。0。1",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[fe80::1]",
        "169.254.169.254",
    ],
)
def test_a_literal_out_of_bounds_is_refused_in_every_notation(host: str) -> None:
    assert check_url(f"http://{host}:9000/") is not None


@pytest.mark.parametrize(
    "url",
    [
        "",
        "agent.example",
        "/resume",
        "//agent.example/",
        "ftp://agent.example/",
        "file:///etc/passwd",
        "gopher://agent.example/",
        "unix:///run/docker.sock",
        "http:///resume",
        "http://",
        "http://user@agent.example/",
        "http://user:password@agent.example/",
        "http://agent.example:99999/",
        "http://agent.example:port/",
        "http://[::1/",
        "http://agent.example/\0",
        "http://agent\r\n.example/",
        "http://①②⑦.0.0.1/",
        "https://agent.example/" + "x" * 2000,
    ],
)
def test_what_is_no_plain_http_url_is_refused_with_a_sentence(url: str) -> None:
    problem = check_url(url, LOOPBACK)

    assert problem is not None
    assert problem.endswith(".")


def test_a_literal_that_is_allowed_may_be_called() -> None:
    assert check_url("http://127.0.0.1:9000/", LOOPBACK) is None
    assert check_url("http://localhost:9000/", LOOPBACK) is None
    assert check_url("http://[::1]:9000/", LOOPBACK) is not None


# --- Connecting ---------------------------------------------------------------------------------------------------


async def test_loopback_is_refused_unless_it_is_allowed(listener: Listener) -> None:
    url = f"http://127.0.0.1:{listener.port}/"

    assert await post(client(), url) == REFUSAL
    assert listener.accepted == 0
    assert status(await post(client(LOOPBACK), url)) == 204


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "localhost",
        "localhost.",
        "sub.localhost",
        "0",
        "127。0。0。1",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[::1]",
        "[::]",
    ],
)
async def test_no_notation_of_loopback_gets_through(listener: Listener, host: str) -> None:
    assert await post(client(resolve=Names(["127.0.0.1"])), f"http://{host}:{listener.port}/") == REFUSAL
    assert listener.accepted == 0


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f000001", "localhost", "sub.localhost."])
async def test_an_allowed_address_is_reached_in_every_notation_that_may_be_called(
    listener: Listener, host: str
) -> None:
    url = f"http://{host}:{listener.port}/"

    assert check_url(url, LOOPBACK) is None
    assert status(await post(client(LOOPBACK), url)) == 204


async def test_a_mapped_address_is_refused_even_where_its_inner_one_is_allowed(listener: Listener) -> None:
    assert await post(client(LOOPBACK), f"http://[::ffff:127.0.0.1]:{listener.port}/") == REFUSAL
    assert listener.accepted == 0


@pytest.mark.parametrize("address", ["127.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "169.254.169.254"])
async def test_a_name_that_leads_to_a_private_address_is_refused(listener: Listener, address: str) -> None:
    assert await post(client(resolve=Names([address])), f"http://agent.example:{listener.port}/") == REFUSAL
    assert listener.accepted == 0


async def test_a_name_is_looked_up_once_and_only_the_checked_address_is_used(listener: Listener) -> None:
    names = Names(["127.0.0.1"], ["10.0.0.1"])

    assert status(await post(client(LOOPBACK, resolve=names), f"http://agent.example:{listener.port}/")) == 204
    assert names.asked == 1
    assert b"host: agent.example" in listener.requests[0].lower()


async def test_a_name_that_changes_its_mind_is_refused_at_the_next_connection(listener: Listener) -> None:
    listener.response = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"
    guarded = client([ip_network("127.0.0.1/32")], resolve=Names(["127.0.0.1"], ["127.0.0.2"]))
    url = f"http://agent.example:{listener.port}/"

    assert status(await guarded.post(url, {}, b"")) == 204
    assert await post(guarded, url) == REFUSAL


async def test_a_resolver_that_answers_with_a_name_gets_nothing_looked_up(listener: Listener) -> None:
    outcome = await post(client(LOOPBACK, resolve=Names(["localhost"])), f"http://agent.example:{listener.port}/")

    assert isinstance(outcome, Unanswered)
    assert listener.accepted == 0


@pytest.mark.parametrize("answer", [["127.0.0.1", "127.0.0.2"], ["127.0.0.2", "127.0.0.1"], ["::1", "127.0.0.2"]])
async def test_of_a_names_addresses_only_those_in_bounds_are_tried(listener: Listener, answer: list[str]) -> None:
    allow = [ip_network("127.0.0.2/32")]
    async for allowed in listening(Listener(), host="127.0.0.2", port=listener.port):
        guarded = client(allow, resolve=Names(answer))
        assert status(await post(guarded, f"http://agent.example:{listener.port}/")) == 204
        assert allowed.accepted == 1
    guarded = client(allow, resolve=Names(answer))
    assert await post(guarded, f"http://agent.example:{listener.port}/") == Unanswered("connect_failed")
    assert listener.accepted == 0


async def test_the_next_address_is_tried_where_one_refuses_the_connection(listener: Listener) -> None:
    two = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
    names = Names(["::1", "127.0.0.1"])

    assert status(await post(client(two, resolve=names), f"http://agent.example:{listener.port}/")) == 204


async def test_the_next_address_is_tried_where_one_is_silent(listener: Listener) -> None:
    loop = asyncio.get_running_loop()
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.2", listener.port))
        full.listen(0)  # Linux keeps one more, and then drops what comes
        first.connect(("127.0.0.2", listener.port))
        second.setblocking(False)
        waiting = asyncio.ensure_future(loop.sock_connect(second, ("127.0.0.2", listener.port)))
        guarded = client(LOOPBACK, resolve=Names(["127.0.0.2", "127.0.0.1"]))

        assert status(await post(guarded, f"http://agent.example:{listener.port}/")) == 204
        waiting.cancel()


async def test_a_name_that_does_not_resolve_is_a_failure_to_connect() -> None:
    async def nothing(host: str, port: int) -> Sequence[str]:
        raise OSError("no such name")

    assert await post(client(resolve=nothing), "http://agent.example/") == Unanswered("connect_failed")
    assert await post(client(), f"http://{'x' * 64}.example/") == Unanswered("connect_failed")


@pytest.mark.parametrize(
    "url", ["", "http://[::1/", "http://0177.0.0.1/", "http://agent\r\n.example/", "http://agent.example:port/"]
)
async def test_a_url_that_can_not_be_read_is_not_called(url: str) -> None:
    assert await post(client(), url) == Unanswered("invalid_url")


async def test_a_url_arrives_as_it_was_written(listener: Listener) -> None:
    await post(client(LOOPBACK), f"http://127.0.0.1:{listener.port}/a%2Fb/%7Ec/%21?sig=x%2Bz+w&again=%3D#fragment")

    assert listener.requests[0].startswith(b"POST /a%2Fb/%7Ec/%21?sig=x%2Bz+w&again=%3D HTTP/1.1\r\n")


async def test_a_redirect_is_returned_and_not_followed(listener: Listener) -> None:
    listener.response = (
        f"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:{listener.port}/inside\r\ncontent-length: 0\r\n\r\n".encode()
    )

    assert status(await post(client(LOOPBACK), f"http://127.0.0.1:{listener.port}/")) == 302
    assert len(listener.requests) == 1


async def test_neither_proxies_nor_passwords_of_the_environment_are_used(
    listener: Listener, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{listener.port}")
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login alice password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))

    assert await post(client(LOOPBACK, resolve=Names(["10.0.0.1"])), "http://agent.example/") == REFUSAL
    assert listener.accepted == 0
    await post(client(LOOPBACK), f"http://127.0.0.1:{listener.port}/")
    assert b"authorization" not in listener.requests[0].lower()


async def test_a_response_with_a_very_long_header_is_understood(listener: Listener) -> None:
    listener.response = b"HTTP/1.1 204 No Content\r\nset-cookie: a=" + b"x" * 32_000 + b"\r\n\r\n"

    assert status(await post(client(LOOPBACK), f"http://127.0.0.1:{listener.port}/")) == 204


@pytest.mark.parametrize("said", [b"", b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.1 two hundred\r\n\r\n"])
async def test_what_is_no_response_is_no_answer(said: bytes) -> None:
    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        writer.close()

    server = await asyncio.start_server(say, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"

    assert await post(client(LOOPBACK), url) == Unanswered("no_valid_response")
    server.close()


# --- Connections --------------------------------------------------------------------------------------------------


async def test_a_connection_is_kept_for_the_next_request(listener: Listener) -> None:
    guarded = client(LOOPBACK, resolve=(names := Names(["127.0.0.1"])))
    for _ in range(3):
        await guarded.post(f"http://agent.example:{listener.port}/", {}, b"")
    await guarded.close()

    assert names.asked == 1
    assert listener.accepted == 1
    assert len(listener.requests) == 3


async def test_of_many_agents_called_once_each_only_some_connections_are_kept(listener: Listener) -> None:
    guarded = client(LOOPBACK, connections=2, kept=2)
    for n in range(20):
        assert status(await guarded.post(f"http://agent{n}.localhost:{listener.port}/", {}, b"")) == 204

    await listener.until_open(most=4)
    assert listener.accepted == 20
    await guarded.close()
    await listener.until_open(most=0)


async def test_agents_that_can_not_be_reached_do_not_cost_the_others_their_connections(listener: Listener) -> None:
    guarded = client(LOOPBACK, connections=2, kept=2)
    gc.disable()  # what failed is still in memory, on a busy server for long
    try:
        for _ in range(20):
            assert await guarded.post("http://127.0.0.1:1/", {}, b"") == Unanswered("connect_failed")
        for _ in range(3):
            assert status(await guarded.post(f"http://127.0.0.1:{listener.port}/", {}, b"")) == 204
    finally:
        gc.enable()
    await guarded.close()

    assert listener.accepted == 1


async def test_tls_verifies_the_name_and_not_the_address(tmp_path: Path) -> None:
    pem = tmp_path / "agent.pem"
    pem.write_text(CERTIFICATE)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem)
    async for listener in listening(Listener(), server):
        trusting = ssl.create_default_context(cafile=str(pem))

        async def call(host: str, tls: ssl.SSLContext | None, listener: Listener = listener) -> HttpReply | Unanswered:
            guarded = client(LOOPBACK, resolve=Names(["127.0.0.1"]), tls=tls)
            return await post(guarded, f"https://{host}:{listener.port}/")

        assert status(await call("agent.example", trusting)) == 204
        assert await call("other.example", trusting) == Unanswered("connect_failed")
        assert await call("127.0.0.1", trusting) == Unanswered("connect_failed")
        assert await call("agent.example", None) == Unanswered("connect_failed")
        assert len(listener.requests) == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "agent.example", "out-of-bounds.example", "closed.example"])
async def test_nothing_of_a_call_is_logged(listener: Listener, host: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    address = {"out-of-bounds.example": "10.0.0.1", "closed.example": "127.0.0.2"}.get(host, "127.0.0.1")
    guarded = client(LOOPBACK, resolve=Names([address]))
    outcome = await guarded.post(f"http://{host}:{listener.port}/private-path", {"X-A": "private-header"}, b"private-b")
    await guarded.close()

    assert "private" not in caplog.text + str(outcome)
    assert host not in caplog.text + str(outcome)


@pytest.mark.parametrize(
    "story",
    [
        test_loopback_is_refused_unless_it_is_allowed,
        test_a_mapped_address_is_refused_even_where_its_inner_one_is_allowed,
        test_a_name_is_looked_up_once_and_only_the_checked_address_is_used,
        test_a_name_that_changes_its_mind_is_refused_at_the_next_connection,
        test_a_resolver_that_answers_with_a_name_gets_nothing_looked_up,
        partial(test_of_a_names_addresses_only_those_in_bounds_are_tried, answer=["127.0.0.1", "127.0.0.2"]),
        test_the_next_address_is_tried_where_one_refuses_the_connection,
        test_the_next_address_is_tried_where_one_is_silent,
        test_of_many_agents_called_once_each_only_some_connections_are_kept,
        test_agents_that_can_not_be_reached_do_not_cost_the_others_their_connections,
    ],
    ids=lambda story: getattr(story, "func", story).__name__.removeprefix("test_"),
)
def test_it_is_the_same_on_uvloop(story: Callable[[Listener], Awaitable[None]]) -> None:
    """The server runs on uvloop, which connects sockets with code of its own."""

    async def told() -> None:
        async for listener in listening(Listener()):
            await story(listener)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(told())
