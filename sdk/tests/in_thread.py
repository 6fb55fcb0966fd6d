"""The synchronous client with the asynchronous one's face, so that a test can run with either."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from handraise import HandraiseSync


class InThread:
    """Each call runs in a thread of its own."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.people = HandraiseSync(*args, **options)

    async def __aenter__(self) -> InThread:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.people.close()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.people, name)

        async def call(*args: Any, **options: Any) -> Any:
            return await asyncio.to_thread(method, *args, **options)

        return call

    def list(self, **options: Any) -> AsyncIterator[Any]:
        return _each(self.people.list, **options)

    def inbox(self) -> AsyncIterator[Any]:
        return _each(self.people.inbox)

    def callbacks(self, **options: Any) -> AsyncIterator[Any]:
        return _each(self.people.callbacks, **options)


async def _each(method: Callable[..., Any], **options: Any) -> AsyncIterator[Any]:
    for record in await asyncio.to_thread(lambda: [*method(**options)]):
        yield record
