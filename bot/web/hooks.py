"""Hooks for vendors: the routes that they call. No API key; each door checks its vendor's own signature.

Source: API.md §6.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.routing import BaseRoute

from bot.front.connections import vouch
from bot.vendors.description import Door, Hook
from bot.web.api.replies import Accepted, Envelope, refusals


class Doors(dict[str, Door]):
    """The doors that are set up, by name. One may be replaced by another of its name: a request that is under way ends
    by the one that it came by."""

    @property
    def standing(self) -> dict[str, str]:
        """How the ways in stand that are not brought here by HTTP, by their names in ``/readyz``."""
        return {name: standing for name, door in self.items() if (standing := door.standing) is not None}

    async def start(self) -> None:
        """Begin to ask for what is not brought here by HTTP. Raises :class:`core.errors.ConfigError` if a door can't
        be opened."""
        for door in self.values():
            await door.start()

    async def stop_taking(self) -> None:
        """What has arrived is finished, and nothing more is asked for."""
        await asyncio.gather(*(door.stop_taking() for door in self.values()))

    async def look(self) -> list[datetime | None]:
        """Do what is due; returns when the next thing is, of each."""
        return [await door.look() for door in self.values()]

    async def stop_looking(self) -> None:
        for door in self.values():
            await door.stop_looking()

    async def close(self) -> None:
        """After the last request."""
        for door in self.values():
            await door.close()


def routes(doors: Doors) -> list[BaseRoute]:
    """Those of the doors that have a hook; each finds its door as ``app.state.doors``."""
    router = APIRouter(tags=["vendors"])
    for name, door in doors.items():
        if door.hook is not None:
            _add(router, name, door.hook)
    return list(router.routes)


def _add(router: APIRouter, name: str, hook: Hook) -> None:
    async def called(request: Request) -> Response:
        response: Response = await request.app.state.doors[name].handle(request)
        if response.status_code != 401:  # whoever has signed a request is no stranger
            vouch(request.scope)
        return response

    router.add_api_route(hook.path, called, methods=["POST"], name=name, **hook.described)


def signed(
    summary: str, description: str, *, header: str, pattern: str, types: Sequence[str], body: str
) -> dict[str, Any]:
    """How a hook looks in the OpenAPI document: raw bytes of one of ``types``, and the signature over them."""
    schema = {"type": "string", "pattern": pattern}
    said = "The vendor's signature of the body, as it is written there: HMAC-SHA-256 in hexadecimal."
    signature = {"name": header, "in": "header", "required": True, "description": said, "schema": schema}
    content: dict[str, Any] = {media_type: {"schema": {}} for media_type in types}
    return {
        "summary": summary,
        "description": description,
        "status_code": 202,
        "responses": {
            202: {"model": Accepted, "description": "Verified, and kept."},
            **refusals(413),
            401: {"model": Envelope, "description": "The signature is missing or wrong."},
        },
        "openapi_extra": {
            "parameters": [signature],
            "requestBody": {"required": True, "description": body, "content": content},
        },
    }
