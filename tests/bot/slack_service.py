"""A small service around the real engine: it asks in the pretend Slack and takes answers there, and nothing else.

Slack reaches it over HTTP or over sockets: a test that takes ``slack_mode`` (``tests/bot/conftest.py``) runs over both.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import pytest
from handraise_testing.database import lay_down
from starlette.applications import Starlette
from starlette.routing import Route

from bot.callbacks.agents import CallbackAgents
from bot.config.settings import Settings
from bot.inbound.slack.app import SlackApp, add_sockets, build_slack_app
from bot.inbound.slack.outcomes import SaidPrivately
from bot.inbound.slack.sockets import MOST_SOCKETS, SOCKETS, SOCKETS_OF_ONE, SocketTiming
from bot.people.directory import Directory
from bot.sandbox.serving import serving
from bot.vendors.slack import SlackAccounts
from channels.slack.channel import SlackChannel
from channels.slack.client import web_client
from channels.slack.payloads import signer
from channels.slack.people import SlackPeople
from core.database.database import open_database
from core.database.locks import LockSlots
from core.delivery.lanes import Lanes
from core.delivery.links import LinkMaker
from core.delivery.pause import Pausing
from core.delivery.relay import Relay
from core.domain.people import Actor, Role
from core.domain.policy import PolicyFields
from core.domain.request import AskRequest, Opened
from core.domain.suspension import Choice, ResponseType, Style, Suspension
from core.domain.tokens import TokenMaker
from core.engine.collaboration import Collaboration
from core.engine.drafting import Drafter
from core.engine.engine import Engine
from core.engine.permissions import Permissions
from core.engine.planning import Planner
from core.engine.transitions import Transitions
from core.hub import Hub
from core.inbound.reports import InboundReports
from core.openintent.intents.subscriptions import Subscriptions
from core.openintent.propagation.consequences import Consequences
from core.ports import Backoff, Channel
from core.store import outbox
from core.work.embedded import EmbeddedWork
from tests.channels.slack.slack_examples import HandClock
from tests.vendors.slack import SlackSandbox
from tests.world import UNHURRIED

AGENT = Actor("refund-agent", frozenset({Role.AGENT}), "refund-agent")
REFUND = (
    Choice("approve", "Approve refund", style=Style.PRIMARY),
    Choice("deny", "Deny refund", style=Style.DANGER),
)
EVERYBODY = (("U1", "Alice"), ("U2", "Bob"), ("U3", "Carol"), ("U4", "Olga"))
"""Olga is an operator: she may read every question."""
SECRET_KEY = b"the service's own key, 32 bytes."

Mode = Literal["http", "socket"]
over_http = pytest.mark.parametrize("slack_mode", ["http"])
over_sockets = pytest.mark.parametrize("slack_mode", ["socket"])
"""For tests that make sense in one mode alone."""


@dataclass
class SlackService:
    engine: Engine
    door: SlackApp
    sandbox: SlackSandbox
    clock: HandClock
    work: EmbeddedWork
    database_file: Path
    alerts: list[str] = field(default_factory=list)
    """Why the operators were told that Slack can't reach the service."""

    async def ask(self, **changes: Any) -> Suspension:
        fields: dict[str, Any] = {
            "question": "Refund order 12345?",
            "choices": REFUND,
            "channel_hint": "slack",
            "notify_to": "slack:C1",
            "responders": ("alice@example.com",),
            "timeout": timedelta(hours=1),
        }
        asked = await self.engine.request(AskRequest(**(fields | changes)), AGENT)
        assert isinstance(asked, Opened)
        return asked.suspension

    async def record(self, asked: Suspension) -> Suspension:
        found = await self.engine.queries.get(asked.id)
        assert found is not None
        return found

    async def answered(self, asked: Suspension) -> Any:
        """What it was answered with, ``None`` while it is open."""
        ended = (await self.record(asked)).ended
        return None if ended is None else ended.value


def no_sign_in(*_wanted: object) -> str:
    raise NotImplementedError("no mail here signs anybody in")


def a_personal_link(url: str) -> SaidPrivately:
    return SaidPrivately(f"Here: {url}", url)


def open_question(**changes: Any) -> dict[str, Any]:
    return {"choices": (), **changes}


TEXT = open_question(response_type=ResponseType.TEXT)


@asynccontextmanager
async def slack_service(
    folder: Path,
    mode: Mode = "http",
    pace: SocketTiming | None = None,
    answers: Mapping[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[SlackService]:
    """``options`` are :func:`build_slack_app`'s. In Socket Mode the sockets are open when the block begins."""
    clock = HandClock()
    options = {"in_time": UNHURRIED, **options}
    sandbox = SlackSandbox(now=clock.now, ack_within=2 * UNHURRIED.total_seconds())
    workspace = sandbox.workspace
    for user_id, name in (*EVERYBODY, ("U9", "Stranger")):
        workspace.add_user(user_id, name, f"{name.lower()}@example.com")
    workspace.add_channel("C1", "ops", "U1", "U2", "U3", "U4", "U9")
    people = [
        {"name": name, "email": f"{name.lower()}@example.com", "slack_user_id": user_id} for user_id, name in EVERYBODY
    ]
    people.append({"name": "Dora", "email": "dora@example.com"})  # known by her e-mail alone
    slack = {"bot_token": workspace.bot_token, "signing_secret": sandbox.signing_secret, "default_channel": "C1"}
    keys = [{"name": "olga@example.com", "key": "olga-key", "roles": ["operator"]}]
    settings = Settings(slack=slack, people=people, api_keys=keys, answers=answers or {})  # type: ignore[arg-type]
    database_file = folder / "handraise.db"
    lay_down(f"sqlite:///{database_file}")
    database = open_database(f"sqlite:///{database_file}")
    agents = CallbackAgents(lambda name: (), clock=clock)
    async with serving(sandbox.app) as slack_url:
        client = web_client(workspace.bot_token, f"{slack_url}/api/")
        accounts = SlackPeople(client, clock.now)
        directory = Directory(settings, sources={"slack": SlackAccounts(accounts)})
        channels: dict[str, Channel] = {"slack": SlackChannel(client, clock.now)}
        work, lanes = EmbeddedWork(clock), Lanes([*channels, outbox.AGENTS])
        tokens = TokenMaker(SECRET_KEY)
        hub = Hub()
        consequences = Consequences(hub.announce_intents, SECRET_KEY)
        transitions = Transitions(directory, channels, tokens, SECRET_KEY, hub, consequences, (), lanes, work)
        drafter = Drafter(
            Planner(directory, frozenset(channels), "slack"), Permissions(directory), agents, PolicyFields()
        )
        engine = Engine(database, transitions, drafter, clock)
        once = Backoff(timedelta(seconds=1), timedelta(seconds=1), timedelta(seconds=1))
        public_url = "https://handraise.example.com"
        pausing = Pausing(database, transitions, clock)
        links = LinkMaker(public_url, tokens, no_sign_in)
        relay = Relay(
            database,
            lanes,
            transitions,
            channels,
            agents,
            links,
            clock,
            work,
            once,
            pausing,
            engine.channel_views,
            Subscriptions(database, agents, lambda name: None, Hub(), clock),
        )

        async def look() -> datetime | None:
            moments = (await engine.look(), await relay.look())
            return min((at for at in moments if at is not None), default=None)

        door = build_slack_app(
            engine,
            InboundReports(database, transitions, clock),
            Collaboration(engine, engine.permissions, engine.queries, transitions),
            client,
            signing_secret=sandbox.signing_secret if mode == "http" else None,
            sign=signer(SECRET_KEY),
            public_url=public_url,
            personal=lambda identity, leads_to: a_personal_link(f"{public_url}/signin/{identity}?to={leads_to}"),
            now=clock.now,
            people=accounts,
            **options,
        )
        service = SlackService(engine, door, sandbox, clock, work, database_file)
        await relay.start()
        await work.start(look)
        async with reached(service, slack_url, mode, pace):
            yield service
        await door.close()
        await work.stop()
        await relay.stop()
    await agents.close()
    await database.close()


@asynccontextmanager
async def reached(service: SlackService, slack_url: str, mode: Mode, pace: SocketTiming | None) -> AsyncIterator[None]:
    """Slack reaches the service in this mode for as long as the block lasts."""
    door, sandbox = service.door, service.sandbox
    if mode == "http":
        app = Starlette(routes=[Route("/slack/events", door.handle, methods=["POST"])])
        async with serving(app) as url:
            sandbox.events_url = f"{url}/slack/events"
            yield
        return

    async def tell(reason: str) -> None:
        service.alerts.append(reason)

    web = web_client(sandbox.sockets.app_token, f"{slack_url}/api/")
    places = LockSlots(service.engine.database, SOCKETS, MOST_SOCKETS)
    add_sockets(door, web, places, tell, service.clock.now, pace)
    door.start()
    await sandbox.workspace.until(lambda: len(sandbox.sockets.sockets) == SOCKETS_OF_ONE or None)
    yield
    await door.stop_taking()
