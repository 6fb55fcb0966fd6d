"""The demo's service as a process: ``python -m bot.demo.service --config handraise.yaml``.

It is ``handraise serve`` with one route more, for the button "nobody answers": it lets the time until one question's
next step pass. Nothing is faked. The question's remaining times move towards now, as an outage moves them away from it,
and the service's own clock then finds the next attempt due. The service itself has no such route.

Source: docs/decisions/0030-the-demo-lets-an-hour-pass.md.
"""

from __future__ import annotations

import argparse
import sys
from datetime import datetime, timedelta
from pathlib import Path

from fastapi import APIRouter, FastAPI, Response
from pydantic import BaseModel, ConfigDict

from bot.config.loading import settings_and_folder
from bot.observability.telemetry import set_up_logging
from bot.server import serve
from bot.web.api.auth import KeyedRoute, Operator
from bot.web.api.replies import reply
from bot.wiring.service import Service
from core.database.database import Tx
from core.domain.intent import Intent
from core.domain.machine import held_until, next_attempt_at
from core.domain.people import Actor, Role
from core.domain.suspension import Suspension
from core.domain.vocabulary import Rescheduled
from core.engine import refresh
from core.errors import NotFound, OperatorError

PATH = "/demo/silence"
THE_DEMO = Actor("demo", frozenset({Role.ADMIN}))
REASON = "demo"
"""What the event ``intent.suspension_rescheduled`` has as its reason."""


class SilenceBody(BaseModel):
    """``ref`` is the question's public reference."""

    model_config = ConfigDict(extra="forbid")

    ref: str


def add_door(app: FastAPI, service: Service) -> None:
    """``POST /demo/silence`` with ``{"ref": …}``, for operators' keys: 200 with ``passed_seconds``, 404 for an
    unknown question, and how it ended for one that has ended."""
    routes = APIRouter(route_class=KeyedRoute, include_in_schema=False)

    @routes.post(PATH)
    async def pass_silence(body: SilenceBody, _actor: Operator) -> Response:
        return reply({"passed_seconds": (await let_silence_pass(service, body.ref)).total_seconds()})

    app.include_router(routes)


async def let_silence_pass(service: Service, ref: str) -> timedelta:
    """Let the time until the next step of the question ``ref`` pass; returns how much that was.

    Raises :class:`NotFound`, or the error of a question that has ended.
    """
    found = await service.engine.queries.find(ref)
    if found is None:
        raise NotFound("There is no such question.")
    passed = timedelta()

    def change(tx: Tx, suspension: Suspension, intent: Intent, now: datetime) -> Suspension:
        nonlocal passed
        passed = until_next_step(suspension, now)
        transitions = service.transitions
        moved = transitions.move(tx, suspension, Rescheduled(-passed, REASON), intent, now).suspension
        transitions.dispatch(tx, refresh.refreshes(tx, moved, transitions.channels, now))  # they name the end
        return moved

    await service.engine.change(found.id, THE_DEMO, change)
    return passed


def until_next_step(suspension: Suspension, now: datetime) -> timedelta:
    """How long nobody must answer for something to happen; zero if it is due, or if nothing ever is."""
    if suspension.asks_back is not None:
        step = suspension.look_at
    elif (due := next_attempt_at(suspension)) is not None:
        step = max(due, held_until(suspension) or due)  # a claim holds it back
    else:
        step = suspension.expires_at
    return timedelta() if step is None else max(step - now, timedelta())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bot.demo.service", description="The service of the demo.")
    parser.add_argument("--config", type=Path, required=True, help="the configuration that the demo has written")
    given = parser.parse_args()
    try:
        settings, folder = settings_and_folder(given.config)
        set_up_logging(settings.log.level, settings.log.format)
        serve(settings, folder, add_routes=add_door)
    except OperatorError as error:
        print(f"handraise: {error.message}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
