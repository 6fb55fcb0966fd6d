"""Monitoring: ``/healthz``, ``/readyz`` and ``/metrics``. None takes a key, or holds ids or words from outside.

``/healthz``: is this process stuck? ``/readyz``: can it do its work? Neither asks the database. ``/metrics`` is
Prometheus' text.

Source: API.md §1, §9; docs/decisions/0033.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from bot.observability.telemetry import Metrics
from bot.web.api.openapi import DescribedRoute
from bot.web.api.replies import Envelope, HealthReply, ReadyReply, reply
from core.database.database import Database
from core.errors import DatabaseUnavailable, envelope
from core.ports import Clock
from core.store import pauses, suspensions
from core.work.health import Health

if TYPE_CHECKING:
    from core.delivery.pause import Pausing

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
        if self.database.path is not None:
            with suppress(OSError):  # the folder is gone: the last count stands, and /readyz says so
                self.metrics.disk(shutil.disk_usage(self.database.path.parent).free)
        self._counted_at = self.clock.now()


Standing = Callable[[], Mapping[str, str]]
"""How the ways in stand that vendors do not bring here by HTTP, by their names."""


_HEARS = frozenset({"connected", "listening"})
"""``standby`` is none of them: another process hears instead, and counts there."""


@dataclass(frozen=True, slots=True)
class Monitored:
    """What the routes tell of, as ``app.state.monitored``."""

    scrape: Scrape
    health: Health
    pausing: Pausing
    standing: Standing
    is_working: Callable[[], bool]

    async def take(self) -> tuple[bytes, str]:
        """What Prometheus is told, with how this process stands at this moment."""
        metrics = self.scrape.metrics
        metrics.ready(is_ready=self.is_working() and self.health.not_ready() is None)
        for way, standing in self.standing().items():
            metrics.inbound(way, is_connected=standing in _HEARS)
        return await self.scrape.take()


def _monitored(request: Request) -> Monitored:
    monitored: Monitored = request.app.state.monitored
    return monitored


health_routes = APIRouter(route_class=DescribedRoute, tags=["health"])
metrics_routes = APIRouter(tags=["health"])


@metrics_routes.get(
    "/metrics",
    summary="Metrics in Prometheus' text format",
    response_class=PlainTextResponse,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "The metrics of this process."}
    },
)
async def metrics(request: Request) -> Response:
    """No key is needed. Keep the path inside your network."""
    body, content_type = await _monitored(request).take()
    return Response(body, headers={"Content-Type": content_type})


@health_routes.get(
    "/healthz",
    summary="Alive",
    responses={200: {"model": HealthReply}, 503: {"model": Envelope, "description": "What is stuck."}},
)
async def healthz(request: Request) -> Response:
    """For whoever restarts processes. 503 names what is stuck."""
    stalled = _monitored(request).health.stalled()
    if not stalled:
        return reply({"status": "alive"})
    said = ", ".join(f"{what} for {seconds:.0f} s" for what, seconds in sorted(stalled.items()))
    return reply(envelope("stalled", f"This has not begun anew: {said}.", stalled=sorted(stalled)), 503)


@health_routes.get(
    "/readyz",
    summary="Ready to serve",
    responses={200: {"model": ReadyReply}, 503: {"model": Envelope, "description": "What is missing."}},
)
async def readyz(request: Request) -> Response:
    """For load balancers. 503 names what is missing."""
    monitored = _monitored(request)
    if not monitored.is_working():
        return reply(envelope("not_ready", "The clock is not running."), 503)
    missing = monitored.health.not_ready()
    if missing is not None:
        ages = {f"last_{what}_seconds": age for what, age in missing.ages.items()}
        return reply(envelope(missing.code, missing.message, **ages), 503)
    return reply({"status": "ready", "paused": monitored.pausing.known, **monitored.standing()})
