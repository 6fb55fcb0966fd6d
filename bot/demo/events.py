"""The service's events as they happen, over its SSE stream. Source: API.md §5; the WHATWG's server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx

_PAUSE = 0.2


async def follow(url: str, api_key: str, connected: Callable[[], None]) -> AsyncIterator[dict[str, Any]]:
    """Every event from now on, none twice. ``connected`` is called when nothing more can be missed.

    A lost connection is taken up again behind the last event; whether the service is still alive is for others to see.
    """
    headers = {"X-API-Key": api_key}
    timeout = httpx.Timeout(5, read=None)
    async with httpx.AsyncClient(trust_env=False, timeout=timeout) as client:
        while True:
            try:
                async with client.stream("GET", f"{url}/v1/events/stream", headers=headers) as response:
                    response.raise_for_status()
                    async for name, value in _fields(response):
                        match name:
                            case "":
                                connected()
                            case "id":
                                headers["Last-Event-ID"] = value
                            case "data":
                                yield json.loads(value)
            except httpx.TransportError:
                await asyncio.sleep(_PAUSE)


async def _fields(response: httpx.Response) -> AsyncIterator[tuple[str, str]]:
    """Name and value of each line; a comment has no name."""
    async for line in response.aiter_lines():
        name, colon, value = line.partition(":")
        if colon:
            yield name, value.removeprefix(" ")
