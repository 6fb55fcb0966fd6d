"""The signed callback, received by a real server that verifies it with the standardwebhooks library.

Source: API.md §5; https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from importlib.metadata import version
from ipaddress import ip_network
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from bot.callbacks.agents import CallbackAgents
from bot.sandbox.serving import serving
from bot.wiring.roles import SystemClock
from core.ports import Callback, Deferred, Delivered, Delivery, Refused

LOOPBACK = (ip_network("127.0.0.0/8"),)
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NEWER = "whsec_" + base64.b64encode(b"x" * 32).decode()
BODY: dict[str, Any] = {"type": "intent.resumed", "timestamp": "2026-11-21T09:00:00Z", "data": {"value": "approve"}}


class Agent:
    """An agent's receiver. ``answer`` is what it says to the next callbacks."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.answer: Response = Response(status_code=200)
        self.hold: asyncio.Event | None = None
        self.app = Starlette(routes=[Route("/{path:path}", self._take, methods=["POST", "GET"])])
        self.url = ""

    async def _take(self, request: Request) -> Response:
        self.got.append((dict(request.headers), await request.body()))
        if self.hold is not None:
            await self.hold.wait()
        return self.answer


@pytest.fixture
async def agent() -> AsyncIterator[Agent]:
    agent = Agent()
    async with serving(agent.app) as url:
        agent.url = f"{url}/resume"
        yield agent


def calling(secrets: Mapping[str, Sequence[str]] | None = None, **options: Any) -> CallbackAgents:
    known = {"refund-agent": [SECRET]} if secrets is None else secrets
    options = {"allow": LOOPBACK, "clock": SystemClock()} | options
    return CallbackAgents(lambda key: known.get(key, ()), **options)


def callback(url: str, body: Mapping[str, Any] = BODY, key: str = "refund-agent") -> Callback:
    return Callback("msg_0001", url, key, body, tries=1)


async def call(agents: CallbackAgents, url: str, body: Mapping[str, Any] = BODY) -> Delivery:
    try:
        async with asyncio.timeout(30):
            return await agents.resume(callback(url, body))
    finally:
        await agents.close()


async def test_a_callback_can_be_verified_with_the_standard_library(agent: Agent) -> None:
    assert await call(calling(), agent.url) == Delivered({"status": "200"})

    ((headers, raw),) = agent.got
    assert Webhook(SECRET).verify(raw, headers) == BODY
    assert headers["webhook-id"] == "msg_0001"
    assert headers["content-type"] == "application/json"
    assert headers["user-agent"] == f"Handraise/{version('handraise-server')}"
    with pytest.raises(WebhookVerificationError):
        Webhook(NEWER).verify(raw, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(raw.replace(b"approve", b"deny"), headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(raw, headers | {"webhook-id": "msg_0002"})


async def test_while_a_secret_is_replaced_either_verifies(agent: Agent) -> None:
    await call(calling({"refund-agent": [SECRET, NEWER]}), agent.url)

    ((headers, raw),) = agent.got
    assert Webhook(SECRET).verify(raw, headers) == Webhook(NEWER).verify(raw, headers) == BODY
    assert len(headers["webhook-signature"].split(" ")) == 2


async def test_every_try_has_the_same_id_and_the_same_bytes(agent: Agent) -> None:
    agents = calling()
    agent.answer = Response(status_code=500)
    await agents.resume(callback(agent.url))
    await agents.resume(callback(agent.url))
    await agents.close()

    first, second = agent.got
    assert first[1] == second[1]
    assert first[0]["webhook-id"] == second[0]["webhook-id"]


async def test_any_string_that_json_can_hold_arrives(agent: Agent) -> None:
    body = {"data": {"value": "Zürich 🙂 \u2028 \0", "half": "\ud800"}}

    assert isinstance(await call(calling(), agent.url, body), Delivered)
    assert json.loads(agent.got[0][1]) == body


@pytest.mark.parametrize("status", [200, 201, 202, 204])
async def test_a_2xx_is_delivered(agent: Agent, status: int) -> None:
    agent.answer = Response(status_code=status)

    assert await call(calling(), agent.url) == Delivered({"status": str(status)})


async def test_a_410_is_refused_for_good(agent: Agent) -> None:
    agent.answer = Response(status_code=410)

    assert await call(calling(), agent.url) == Refused("gone")


@pytest.mark.parametrize("status", [301, 302, 307, 400, 401, 404, 409, 422, 429, 500, 503])
async def test_everything_else_is_tried_again_and_no_redirect_is_followed(agent: Agent, status: int) -> None:
    agent.answer = Response(status_code=status, headers={"location": agent.url + "/elsewhere"})

    assert await call(calling(), agent.url) == Deferred(f"http_{status}")
    assert len(agent.got) == 1


async def test_an_agent_may_say_when_to_come_again(agent: Agent) -> None:
    agent.answer = Response(status_code=503, headers={"retry-after": "60"})
    before = SystemClock().now()

    outcome = await call(calling(), agent.url)

    assert isinstance(outcome, Deferred)
    assert outcome.until is not None
    assert timedelta(seconds=60) <= outcome.until - before < timedelta(seconds=70)


async def test_an_agent_that_does_not_answer_in_time_is_tried_again(agent: Agent) -> None:
    agent.hold = asyncio.Event()

    outcome = await call(calling(timeout=timedelta(seconds=0.1)), agent.url)
    agent.hold.set()

    assert outcome == Deferred("timeout")


async def test_sixty_agents_that_say_nothing_do_not_delay_the_sixty_first(agent: Agent) -> None:
    silent = Agent()
    silent.hold = asyncio.Event()
    agents = calling(timeout=timedelta(minutes=5))
    arrived = asyncio.Event()
    waiting: asyncio.Queue[str] = asyncio.Queue()

    async def lane() -> None:
        while True:
            url = await waiting.get()
            outcome = await agents.resume(callback(url))
            if url == agent.url:
                assert outcome == Delivered({"status": "200"})
                arrived.set()

    async with serving(silent.app) as url:
        port = url.rpartition(":")[2]
        for n in range(60):
            waiting.put_nowait(f"http://agent{n}.localhost:{port}/resume")
        waiting.put_nowait(agent.url)
        lanes = [asyncio.create_task(lane()) for _ in range(agents.lanes)]
        async with asyncio.timeout(30):
            await arrived.wait()
        assert not silent.hold.is_set()
        silent.hold.set()
        for one in lanes:
            one.cancel()
        await asyncio.gather(*lanes, return_exceptions=True)
        await agents.close()


async def test_an_agent_that_is_not_there_is_tried_again() -> None:
    async with serving(Agent().app) as url:
        closed = url

    assert await call(calling(), closed) == Deferred("connect_failed")


async def test_an_address_out_of_bounds_is_not_called(agent: Agent) -> None:
    assert await call(calling(allow=()), agent.url) == Deferred("address_refused")
    assert agent.got == []


async def test_a_callback_that_can_not_be_signed_is_not_sent(agent: Agent) -> None:
    assert await call(calling({}), agent.url) == Deferred("no_secret")
    assert await call(calling({"refund-agent": ["whsec_!!!", "whsec_"]}), agent.url) == Deferred("no_secret")
    assert agent.got == []


async def test_a_huge_response_is_not_read_to_its_end(agent: Agent) -> None:
    sent = 0

    async def huge() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(1_000):
            yield b"x" * 65_536
            sent += 1

    agent.answer = StreamingResponse(huge())

    assert await call(calling(), agent.url) == Delivered({"status": "200"})
    assert sent < 1_000


async def test_a_body_that_breaks_off_after_a_2xx_was_still_delivered() -> None:
    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npartial")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(cut, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    assert await call(calling(), f"http://127.0.0.1:{port}/") == Delivered({"status": "200"})
    server.close()


async def test_a_body_that_never_ends_after_a_2xx_was_still_delivered() -> None:
    over = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npartial")
        await over.wait()
        writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    assert await call(calling(), f"http://127.0.0.1:{port}/") == Delivered({"status": "200"})
    over.set()
    server.close()


async def test_one_agents_cookies_are_not_kept(agent: Agent) -> None:
    agents = calling()
    agent.answer = Response(status_code=200, headers={"set-cookie": "a=1"})
    await agents.resume(callback(agent.url))
    await agents.resume(callback(agent.url))
    await agents.close()

    assert all("cookie" not in headers for headers, _ in agent.got)


@pytest.mark.parametrize(
    ("key", "url", "part"),
    [
        ("refund-agent", "https://agent.example/resume", None),
        ("refund-agent", "http://127.0.0.1:9000/", None),
        ("unknown", "https://agent.example/resume", "no webhook secret"),
        ("broken", "https://agent.example/resume", "base64"),
        ("refund-agent", "http://10.0.0.1/", "not public"),
        ("refund-agent", "ftp://agent.example/", "http"),
    ],
)
async def test_who_may_be_called_is_said_without_a_call(key: str, url: str, part: str | None) -> None:
    agents = calling({"refund-agent": [SECRET], "broken": ["whsec_?"]})

    problem = agents.may_call(key, url)
    await agents.close()

    assert problem is None if part is None else problem is not None and part in problem
