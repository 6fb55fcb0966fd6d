"""``GET /metrics``: Prometheus' text. It takes no key (API.md §1) and holds no ids and no words from outside."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from bot.telemetry import Metrics
from core.errors import DatabaseUnavailable
from core.ports import Clock
from core.store import pauses, suspensions
from core.store.database import Database

FRESH = timedelta(seconds=1)
"""For so long a count of the database stands: nobody wears it down by asking often."""


@dataclass(slots=True)
class Scrape:
    """What Prometheus is told: what this process has counted, and what stands in the database."""

    metrics: Metrics
    database: Database
    clock: Clock
    _counted_at: datetime | None = None
    _counting: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def take(self) -> tuple[bytes, str]:
        """The body and its content type. With the database away, what comes from there is not a number."""
        async with self._counting:
            if not self._is_fresh():
                await self._count()
        return self.metrics.exposition()

    def _is_fresh(self) -> bool:
        counted = self._counted_at
        return counted is not None and timedelta(0) <= self.clock.now() - counted < FRESH

    async def _count(self) -> None:
        try:
            count, pause = await self.database.read(lambda conn: (suspensions.count_open(conn), pauses.current(conn)))
            self.metrics.open(count)
            self.metrics.pause(stands=pause is not None)
        except DatabaseUnavailable:
            self.metrics.open(None)
        self._counted_at = self.clock.now()


def router(scrape: Scrape) -> APIRouter:
    routes = APIRouter(tags=["health"])

    @routes.get(
        "/metrics",
        summary="Metrics in Prometheus' text format",
        response_class=PlainTextResponse,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def metrics() -> Response:
        body, content_type = await scrape.take()
        return Response(body, headers={"Content-Type": content_type})

    return routes
