"""The ASGI application: routes, errors, limits, health, as far as this process runs them; its lifespan runs the clock
and the relay."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path

import structlog
from fastapi import APIRouter, FastAPI, Response
from fastapi.staticfiles import StaticFiles
from fastapi.telemetry import TelemetryConfig

from bot.roles import Part
from bot.web import (
    answers,
    audit,
    errors,
    hooks,
    intents,
    mail_quarantine,
    metrics,
    openapi,
    pause,
    sessions,
    streams,
    suspensions,
    together,
)
from bot.web.limits import SizeLimit
from bot.web.replies import reply
from bot.web.shapes import Envelope, HealthReply, ReadyReply
from bot.wiring import Service
from channels.email.limits import LARGEST_MAIL
from core.errors import DatabaseUnavailable
from core.store import pauses

log = structlog.get_logger(__name__)

PREFIXES = ("/v1", "/api/v1")
"""The RFCs' prefix and the published SDK's, served by one router (API.md §1)."""

_LARGER = {hooks.MAIL_PATH: LARGEST_MAIL, **{prefix + audit.VERIFY_PATH: audit.LARGEST_PART for prefix in PREFIXES}}

_NO_TELEMETRY: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
"""FastAPI's own would export paths with tokens in them, and what exceptions say; ours is in ``bot/tracing.py``."""

_STATIC = Path(__file__).parent / "web" / "static"


def build_app(service: Service) -> FastAPI:
    """The application over a wired service. Its lifespan starts and stops the service."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    app = FastAPI(
        title="Handraise",
        version=version("handraise-server"),
        summary="AI agents raise a hand; a person answers; the agent goes on.",
        lifespan=lifespan,
        openapi_url="/openapi.json" if Part.API in service.parts else None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_NO_TELEMETRY,
    )
    app.state.keys = service.keys
    errors.install(app)
    app.add_middleware(SizeLimit, larger=_LARGER)
    app.include_router(hooks.router(service.doors))
    _add_health(app, service)
    if Part.WORKER in service.parts or Part.API in service.parts:
        app.include_router(metrics.router(service.scrape))
    if Part.API in service.parts:
        _add_api(app, service)
    return app


@cache
def _api() -> APIRouter:
    """The API under both prefixes, as every application of this process serves it."""
    api = APIRouter()
    rooms = (suspensions, answers, intents, sessions, pause, streams, together, audit, mail_quarantine)
    for prefix in PREFIXES:
        for routes in (*(room.routes for room in rooms), sessions.open_routes):
            api.include_router(routes, prefix=prefix)
    return api


def _add_api(app: FastAPI, service: Service) -> None:
    app.state.services = service.services
    app.router.routes.extend(_api().routes)  # shared; include_router would have FastAPI work each out anew
    app.include_router(service.pages)
    app.mount("/static", StaticFiles(directory=_STATIC), name="static")
    openapi.describe(app)


def _add_health(app: FastAPI, service: Service) -> None:
    @app.get("/healthz", tags=["health"], summary="Alive", responses={200: {"model": HealthReply}})
    async def healthz() -> Response:
        return reply({"status": "alive"})

    @app.get(
        "/readyz",
        tags=["health"],
        summary="Ready to serve",
        responses={200: {"model": ReadyReply}, 503: {"model": Envelope, "description": "What is missing."}},
    )
    async def readyz() -> Response:
        try:
            paused = await service.database.read(pauses.current) is not None
        except DatabaseUnavailable as failure:
            return reply(errors.error_body(failure, "/readyz"), 503)
        if not service.working:
            return reply(errors.envelope("not_ready", "The clock is not running."), 503)
        return reply({"status": "ready", "paused": paused, **service.doors.standing})
