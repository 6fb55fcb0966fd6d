"""The ASGI application: routes, errors, limits, health, as far as this process runs them; its lifespan runs the clock
and the relay."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib.metadata import version as installed_version
from pathlib import Path

import structlog
from fastapi import APIRouter, FastAPI
from fastapi.staticfiles import StaticFiles
from fastapi.telemetry import TelemetryConfig

from bot.front.headers import ResponseHeaders
from bot.front.limits import SizeLimit
from bot.web import errors, hooks, monitoring
from bot.web.api import admin, answers, audit, inbox, insights, openapi, receipts, sessions, streams, suspensions
from bot.web.monitoring import Monitored
from bot.web.openintent import (
    coordinators,
    graph,
    intent_leases,
    intents,
    members,
    plans,
    portfolios,
    retries,
    subscriptions,
    tasks,
    workflows,
)
from bot.web.pages import api_reference
from bot.web.pages.rendering import PageRenderer
from bot.web.pages.urls import Site
from bot.wiring.roles import Part
from bot.wiring.service import Service

log = structlog.get_logger(__name__)

PREFIXES = ("/v1", "/api/v1")
"""The RFCs' prefix and the published SDK's, served by one router (API.md §1)."""

_LARGER = {prefix + audit.VERIFY_PATH: audit.LARGEST_PART for prefix in PREFIXES}

_NO_TELEMETRY: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
"""FastAPI's own would export paths with tokens in them, and what exceptions say; see ``bot.observability.tracing``."""

_ROOMS = (
    answers.routes,
    suspensions.routes,
    inbox.routes,
    insights.routes,
    intents.routes,
    graph.routes,
    members.routes,
    tasks.routes,
    plans.routes,
    workflows.routes,
    coordinators.routes,
    portfolios.routes,
    retries.routes,
    subscriptions.routes,
    intent_leases.routes,
    sessions.routes,
    admin.pause_routes,
    receipts.routes,
    streams.routes,
    streams.client_routes,
    suspensions.collaboration_routes,
    audit.routes,
    admin.quarantine_routes,
    admin.key_routes,
    admin.reload_routes,
    sessions.open_routes,
)
"""The API's routes, in the order in which they are tried."""

_STATIC = Path(__file__).parent / "web" / "pages" / "static"


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
        version=_version(),
        summary="AI agents raise a hand; a person answers; the agent goes on.",
        lifespan=lifespan,
        openapi_url=None,  # bot/web/api/openapi.py serves it
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_NO_TELEMETRY,
    )
    app.state.keys = service.keys
    errors.install(app)
    hooked = [door.hook for door in service.doors.values() if door.hook is not None]
    larger = {hook.path: hook.largest for hook in hooked if hook.largest is not None}
    app.add_middleware(SizeLimit, larger={**_LARGER, **larger})
    app.add_middleware(ResponseHeaders)
    app.state.doors = service.doors
    app.router.routes.extend(hooks.routes(service.doors))  # first: FastAPI tries one route after another; these are few
    if Part.API in service.parts:
        app.state.services = service.services
        app.router.routes.extend(_api().routes)  # shared; include_router would have FastAPI work each out anew
    app.state.monitored = Monitored(
        service.scrape,
        service.health,
        service.services.running.pausing,
        lambda: service.doors.standing,
        lambda: service.working,
    )
    app.router.routes.extend(monitoring.health_routes.routes)
    if Part.WORKER in service.parts or Part.API in service.parts:
        app.router.routes.extend(monitoring.metrics_routes.routes)
    if Part.API in service.parts:
        _add_pages(app, service)
    return app


@cache
def _version() -> str:
    return installed_version("handraise-server")


@cache
def _api() -> APIRouter:
    """The API under both prefixes, as every application of this process serves it."""
    api = APIRouter()
    for prefix in PREFIXES:
        for routes in _ROOMS:
            api.include_router(routes, prefix=prefix)
    return api


def _add_pages(app: FastAPI, service: Service) -> None:
    app.include_router(service.pages)
    renderer = PageRenderer(Site(service.settings.public_url.rstrip("/")))
    app.state.unknown_page = renderer.unknown
    app.mount("/static", StaticFiles(directory=_STATIC), name="static")
    openapi.describe(app)
    reference = api_reference.reference_page(app.openapi, renderer)
    app.router.add_route(api_reference.PLACE, reference, methods=["GET"], include_in_schema=False)
