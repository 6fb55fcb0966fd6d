"""Callbacks reach the public internet and what the operator lists, and nothing else, whatever a URL is made to say.

Real sockets on loopback: loopback is out of bounds unless it is allowed, which is what is tested.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from ipaddress import ip_address, ip_network
from pathlib import Path

import httpx
import pytest

from bot.addresses import may_reach
from bot.outbound import AddressRefused, GuardedTransport, check_url

LOOPBACK = (ip_network("127.0.0.0/8"),)
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
    """Answers every request with ``response`` and counts."""

    def __init__(self, response: bytes = b"HTTP/1.1 204 No Content\r\n\r\n") -> None:
        self.response = response
        self.requests: list[bytes] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                self.requests.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(self.response)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def listening(listener: Listener, tls: ssl.SSLContext | None = None) -> AsyncIterator[Listener]:
    server = await asyncio.start_server(listener.serve, "127.0.0.1", 0, ssl=tls)
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


async def get(transport: GuardedTransport, url: str) -> httpx.Response:
    try:
        response = await transport.handle_async_request(httpx.Request("GET", url))
        await response.aread()
        return response
    finally:
        await transport.aclose()


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

    with pytest.raises(AddressRefused):
        await get(GuardedTransport(), url)
    assert listener.requests == []
    assert (await get(GuardedTransport(LOOPBACK), url)).status_code == 204


@pytest.mark.parametrize(
    "host",
    ["127.1", "2130706433", "0x7f000001", "localhost", "localhost.", "0", "[::ffff:127.0.0.1]", "[::1]"],
)
async def test_no_notation_of_loopback_gets_through(listener: Listener, host: str) -> None:
    with pytest.raises(AddressRefused):
        await get(GuardedTransport(), f"http://{host}:{listener.port}/")
    assert listener.requests == []


async def test_a_mapped_address_is_refused_even_where_its_inner_one_is_allowed(listener: Listener) -> None:
    with pytest.raises(AddressRefused):
        await get(GuardedTransport(LOOPBACK), f"http://[::ffff:127.0.0.1]:{listener.port}/")


@pytest.mark.parametrize("address", ["127.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "169.254.169.254"])
async def test_a_name_that_leads_to_a_private_address_is_refused(listener: Listener, address: str) -> None:
    with pytest.raises(AddressRefused):
        await get(GuardedTransport(resolve=Names([address])), f"http://agent.example:{listener.port}/")
    assert listener.requests == []


async def test_a_name_is_looked_up_once_and_only_the_checked_address_is_used(listener: Listener) -> None:
    names = Names(["127.0.0.1"], ["10.0.0.1"])

    response = await get(GuardedTransport(LOOPBACK, resolve=names), f"http://agent.example:{listener.port}/")

    assert response.status_code == 204
    assert names.asked == 1
    assert b"Host: agent.example" in listener.requests[0] or b"host: agent.example" in listener.requests[0].lower()


async def test_of_a_names_addresses_only_those_in_bounds_are_tried(listener: Listener) -> None:
    names = Names(["10.255.255.1", "127.0.0.1"])

    response = await get(GuardedTransport(LOOPBACK, resolve=names), f"http://agent.example:{listener.port}/")

    assert response.status_code == 204


async def test_the_next_address_is_tried_where_one_does_not_answer(listener: Listener) -> None:
    two = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
    names = Names(["::1", "127.0.0.1"])

    response = await get(GuardedTransport(two, resolve=names), f"http://agent.example:{listener.port}/")

    assert response.status_code == 204


async def test_a_name_that_does_not_resolve_is_a_failure_to_connect() -> None:
    async def nothing(host: str, port: int) -> Sequence[str]:
        raise OSError("no such name")

    with pytest.raises(httpx.ConnectError):
        await get(GuardedTransport(resolve=nothing), "http://agent.example/")
    with pytest.raises(httpx.ConnectError):
        await get(GuardedTransport(), f"http://{'x' * 64}.example/")


async def test_a_redirect_is_returned_and_not_followed(listener: Listener) -> None:
    listener.response = (
        f"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:{listener.port}/inside\r\ncontent-length: 0\r\n\r\n".encode()
    )

    response = await get(GuardedTransport(LOOPBACK), f"http://127.0.0.1:{listener.port}/")

    assert response.status_code == 302
    assert len(listener.requests) == 1


async def test_proxies_of_the_environment_are_not_used(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{listener.port}")
    names = Names(["10.0.0.1"])

    with pytest.raises(AddressRefused):
        await get(GuardedTransport(LOOPBACK, resolve=names), "http://agent.example/")
    assert listener.requests == []


async def test_a_connection_is_kept_for_the_next_request(listener: Listener) -> None:
    transport = GuardedTransport(LOOPBACK, resolve=(names := Names(["127.0.0.1"])))
    for _ in range(3):
        response = await transport.handle_async_request(httpx.Request("GET", f"http://agent.example:{listener.port}/"))
        await response.aread()
        await response.aclose()
    await transport.aclose()

    assert names.asked == 1
    assert len(listener.requests) == 3


async def test_tls_verifies_the_name_and_not_the_address(tmp_path: Path) -> None:
    pem = tmp_path / "agent.pem"
    pem.write_text(CERTIFICATE)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem)
    async for listener in listening(Listener(), server):
        client = ssl.create_default_context(cafile=str(pem))

        def transport(context: ssl.SSLContext | None) -> GuardedTransport:
            return GuardedTransport(LOOPBACK, resolve=Names(["127.0.0.1"]), tls=context)

        assert (await get(transport(client), f"https://agent.example:{listener.port}/")).status_code == 204
        with pytest.raises(httpx.ConnectError):
            await get(transport(client), f"https://other.example:{listener.port}/")
        with pytest.raises(httpx.ConnectError):
            await get(transport(None), f"https://agent.example:{listener.port}/")
        assert len(listener.requests) == 1
