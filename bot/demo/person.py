"""Plays the person at the sandbox's page: sees what it shows and presses what is there. Knows nothing of the API."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx

from bot.demo.children import DemoFailed

Found = TypeVar("Found")
World = Mapping[str, Any]

_LOOK_AGAIN = 0.1


@dataclass(frozen=True, slots=True)
class Player:
    """``page`` is signed in."""

    page: httpx.AsyncClient

    async def click_in_slack(self, question: str, label: str) -> None:
        """Press the button ``label`` below ``question``, as soon as it is there."""
        await self._do("/slack/click", await self._seen(lambda world: _button(world, question, label)))

    async def reply_by_mail(self, question: str, text: str) -> None:
        """Reply to the mail that asks ``question``, as soon as it has come."""
        mail = await self._seen(lambda world: _with(world["mail"], "subject", question))
        await self._do(f"/mail/{mail['id']}/reply", {"text": text})

    async def note_on_pager(self, question: str, text: str) -> None:
        """Add a note to the incident that asks ``question``, as soon as the pager goes off."""
        incident = await self._seen(lambda world: _with(world["pager"], "title", question))
        await self._do(f"/pager/{incident['id']}/note", {"text": text})

    async def _seen(self, look: Callable[[World], Found | None]) -> Found:
        while True:
            with contextlib.suppress(httpx.TransportError):  # the stage sees whether the sandbox is still alive
                response = await self.page.get("/world")
                response.raise_for_status()
                found = look(response.json())
                if found is not None:
                    return found
            await asyncio.sleep(_LOOK_AGAIN)

    async def _do(self, path: str, what: Mapping[str, Any]) -> None:
        try:
            response = await self.page.post(path, json=what)
        except httpx.TransportError as trouble:
            raise DemoFailed(f"the sandbox did not answer at {path}: {type(trouble).__name__}") from trouble
        if response.is_error:
            raise DemoFailed(f"the sandbox refused {path}: {response.json()['message']}")


def _with(things: list[dict[str, Any]], key: str, text: str) -> dict[str, Any] | None:
    return next((one for one in things if text in one[key]), None)


def _button(world: World, question: str, label: str) -> dict[str, Any] | None:
    for conversation in world["slack"]["conversations"]:
        for message in conversation["items"]:
            if question in message["text"]:
                for element in _elements(message):
                    if element.get("text", {}).get("text") == label:
                        return {
                            "channel": conversation["id"],
                            "ts": message["key"],
                            "action_id": element["action_id"],
                        }
    return None


def _elements(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for block in message["blocks"]:
        if block["type"] == "actions":
            yield from block["elements"]
