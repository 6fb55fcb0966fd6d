"""The MCP library's own client, at the other end of ``handraise mcp``: over both transports, in both eras."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from handraise.mcp_server.asking_keys import Keys
from handraise.mcp_server.transports import PATH, Listening, http_app
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import InputRequiredResult

from bot.sandbox.serving import serving
from tests.cli import environ
from tests.patience import PATIENCE
from tests.ports import free_port
from tests.world import KEYS, World

LEGACY, MODERN = "legacy", "2026-07-28"
PATIENCE_SECONDS = 1.0
"""Of a call: the server says ``pending`` after it."""

CLIENT_SECONDS = 4.0
"""Of the clients. Every person in these tests takes longer."""

REFUND = {
    "question": "Refund order 12345?",
    "choices": [{"value": "approve", "label": "Approve refund"}, "deny"],
    "context": {"amount": 499.99},
    "action": {"tool": "stripe.refund", "amount": 49999},
}

COMMAND = str(Path(sys.executable).parent / "handraise")


@asynccontextmanager
async def over_http(url: str, key: str, mode: str, **options: Any) -> AsyncIterator[Client]:
    """A client of the server at ``url``, with ``key`` as its bearer."""
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, trust_env=False, timeout=60) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode, **options) as client:
            yield client


@asynccontextmanager
async def over_stdio(world: World, mode: str, role: str = "agent", **options: Any) -> AsyncIterator[Client]:
    """A client that has started ``handraise mcp`` itself, with the key of ``role``."""
    started = StdioServerParameters(
        command=COMMAND, args=["mcp", "--patience", str(PATIENCE_SECONDS)], env=environ(world, role)
    )
    async with Client(started, mode=mode, **options) as client:
        await client.list_tools()  # so that the start of the process is in no call's time
        yield client


@asynccontextmanager
async def server(service_url: str, patience_seconds: float = PATIENCE_SECONDS, **more: Any) -> AsyncIterator[str]:
    """``handraise mcp --http`` in front of the service at ``service_url``; yields its address."""
    port = free_port()
    app = http_app(Keys(service_url), Listening("127.0.0.1", port, **more), patience_seconds)
    async with serving(app, port=port) as url:
        yield url + PATH


@asynccontextmanager
async def connected(world: World, transport: str, mode: str, **options: Any) -> AsyncIterator[Client]:
    """A client with the agent's key."""
    if transport == "stdio":
        async with over_stdio(world, mode, **options) as client:
            yield client
    else:
        async with server(world.url) as url, over_http(url, KEYS["agent"], mode, **options) as client:
            yield client


async def told(client: Client, tool: str, arguments: Mapping[str, Any], seconds: float = CLIENT_SECONDS) -> Any:
    """What a tool says of a question, as data. It must be no error."""
    result = await client.call_tool(tool, dict(arguments), read_timeout_seconds=seconds)
    assert not result.is_error, result.content
    return result.structured_content


async def error_of(client: Client, tool: str, arguments: Mapping[str, Any]) -> str:
    """The text of a call that fails."""
    result = await client.call_tool(tool, dict(arguments), read_timeout_seconds=60)
    assert result.is_error, result.content
    return "".join(getattr(part, "text", "") for part in result.content)


async def first_round(client: Client, arguments: Mapping[str, Any]) -> InputRequiredResult:
    """What the first request of a call says to a client of 2026-07-28, which is not repeated here."""
    result = await client.session.call_tool("request_input", dict(arguments), allow_input_required=True)
    assert isinstance(result, InputRequiredResult)
    return result


async def open_question(world: World, text: str) -> dict[str, Any]:
    """The open question with this text, as soon as it is there."""
    async with asyncio.timeout(PATIENCE):
        while not (found := await questions(world, text, status="open")):
            await asyncio.sleep(0.05)
    return found[0]


async def questions(world: World, text: str, **params: str) -> list[dict[str, Any]]:
    """Those with this text."""
    found = await world.call("GET", "/v1/suspensions", "admin", params={"q": text, **params})
    return [one | {"suspension_id": one["id"]} for one in found.json()["items"]]


async def answered(world: World, one: Mapping[str, Any], value: Any, **more: Any) -> None:
    assert (await world.answer(one, value, **more)).status_code == 200
