"""Common parts of the pretend vendors: the one person, a clock, and state that can be waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

JsonObject = dict[str, Any]
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class SandboxPerson:
    name: str
    email: str
    slack_user_id: str
    pagerduty_user_id: str


YOU = SandboxPerson("you", "you@example.com", "U0YOU", "PYOU")
"""Whoever sits in front of the sandbox's page."""


def wall_clock() -> datetime:
    return datetime.now(UTC)


class Watched:
    """State to wait for."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    async def until(self, look: Callable[[], Found | None], within: float = 30.0) -> Found:
        """The first result of ``look``; raises ``TimeoutError`` after ``within`` seconds."""
        async with asyncio.timeout(within):
            while (found := look()) is None:
                await self._changed.wait()
            return found

    def touch(self) -> None:
        """Something changed: everybody who waits looks again."""
        self._changed.set()
        self._changed = asyncio.Event()
