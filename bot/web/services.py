"""What the routes are given to work with; ``bot/wiring.py`` fills it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from bot.tracing import NO_TRACING, Tracing
from core.audit import Audit
from core.books import Books
from core.containers.changes import Intents
from core.domain.wire import JsonObject
from core.engine import Engine
from core.hub import Hub
from core.pausing import Pausing
from core.together import Together


@dataclass(frozen=True, slots=True)
class Services:
    """``platform_policy`` is ``suspension.default_retry_policy`` as it was configured; ``closing`` is set when the
    server stops, so that nobody waits past it."""

    engine: Engine
    together: Together
    books: Books
    intents: Intents
    hub: Hub
    pausing: Pausing
    platform_policy: JsonObject
    audit: Audit
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    tracing: Tracing = NO_TRACING


async def _of_this_app(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


Served = Annotated[Services, Depends(_of_this_app)]
"""The services of the application that a request has come to. The routes themselves belong to none: FastAPI takes a
while to make them, so they are made once."""
