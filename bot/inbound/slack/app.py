"""The Slack app, on slack-bolt: over sockets (Socket Mode), and by ``POST /slack/events`` (HTTP mode).

Both ways lead to :meth:`SlackApp.take`. A signature is checked here, before bolt sees anything: bolt raises if a
timestamp is not a number, and writes the whole body of a badly signed request to the log.

Source: API.md §6; https://docs.slack.dev/authentication/verifying-requests-from-slack; facts on channels §0.6, §A2.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from slack_bolt.adapter.socket_mode.internals import build_headers
from slack_bolt.adapter.starlette.async_handler import to_async_bolt_request, to_starlette_response
from slack_bolt.async_app import AsyncApp, AsyncBoltRequest
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.web.async_client import AsyncWebClient
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bot.inbound.connection import ConnectionState, Tell
from bot.inbound.slack.answers import PersonalLink, SlackAnswers
from bot.inbound.slack.background import IN_TIME, BackgroundWork
from bot.inbound.slack.command import SlackCommand
from bot.inbound.slack.home import PAUSE, SlackHome
from bot.inbound.slack.identity import SlackIdentity
from bot.inbound.slack.listeners import SlackEvents, SlackListeners
from bot.inbound.slack.sockets import SlackSockets, SocketTiming
from bot.inbound.slack.teamwork import SlackTeamwork
from bot.inbound.slack.threads import SlackThreads
from channels.slack.client import SIGNATURE, TIMESTAMP, OurWorkspace, is_signed, may_be_signed
from channels.slack.interactions import read_body
from channels.slack.payloads import Sign
from channels.slack.people import SlackPeople
from core.database.locks import LockSlots
from core.domain.notice import WhenCut
from core.engine.collaboration import Collaboration
from core.engine.engine import Engine
from core.engine.inbox import Inbox
from core.errors import envelope
from core.inbound.reports import InboundReports
from core.work.health import Health

log = structlog.get_logger(__name__)

HANDLED = frozenset({"block_actions", "view_submission", "url_verification"})
"""The kinds of payload, beside events and slash commands."""
EVERYTHING = re.compile(".*")

BOLT = logging.getLogger("handraise.slack_bolt")
BOLT.setLevel(logging.CRITICAL)
"""Bolt writes payloads and errors out whole; what has to be known of a failure is logged by us."""


@dataclass(frozen=True, slots=True)
class Listeners:
    """Everything that bolt calls, and its background work."""

    identity: SlackIdentity
    presses: SlackListeners
    events: SlackEvents
    command: SlackCommand
    home: SlackHome
    background: BackgroundWork

    async def close(self) -> None:
        await self.home.close()
        await self.background.close()


class SlackApp:
    """``handle`` is mounted at ``POST /slack/events`` if :attr:`speaks_http`. ``start`` opens the sockets, if any
    are configured; ``stop_taking`` ends them; ``close`` comes after the last request."""

    def __init__(
        self,
        listeners: Listeners,
        client: AsyncWebClient,
        *,
        signing_secret: str | None,
        now: Callable[[], datetime],
        app_id: str | None,
    ) -> None:
        self._listeners = listeners
        self._signing_secret = signing_secret
        self._now = now
        self._app_id = app_id
        self._bolt = _bolt(listeners, client)
        self._sockets: SlackSockets | None = None
        self._learning: asyncio.Task[None] | None = None

    @property
    def speaks_http(self) -> bool:
        return self._signing_secret is not None

    @property
    def standing(self) -> ConnectionState | None:
        """The state of the sockets; ``None`` without Socket Mode."""
        return self._sockets.standing if self._sockets is not None else None

    def use(self, sockets: SlackSockets) -> None:
        self._sockets = sockets

    def start(self) -> None:
        self._learning = asyncio.create_task(self._listeners.identity.learn(), name="slack-workspace")
        if self._sockets is not None:
            self._sockets.start()

    async def stop_taking(self) -> None:
        if self._sockets is not None:
            await self._sockets.close()

    async def close(self) -> None:
        if self._learning is not None:
            self._learning.cancel()
            await asyncio.gather(self._learning, return_exceptions=True)
        await self._listeners.close()

    async def handle(self, request: Request) -> Response:
        """One request in HTTP mode."""
        headers, secret = request.headers, self._signing_secret
        timestamp, signature = headers.get(TIMESTAMP, ""), headers.get(SIGNATURE, "")
        raw = await request.body() if may_be_signed(timestamp, signature, self._now()) else b""
        if secret is None or not is_signed(raw, timestamp, signature, secret, self._now()):
            log.warning("slack.signature_refused")
            return JSONResponse(envelope("unauthorized", "The signature is missing, wrong or too old."), 401)
        payload = read_body(raw)
        if payload is None:
            return JSONResponse(envelope("malformed_json", "The body holds no payload."), 400)
        said = await self.take(payload, lambda: to_async_bolt_request(request, raw))
        if said is None:
            return JSONResponse(envelope("malformed_json", "The payload is not of Slack's shape."), 400)
        return to_starlette_response(said)

    async def handle_envelope(self, request: SocketModeRequest) -> BoltResponse:
        """One envelope in Socket Mode. A malformed one is not acknowledged, as in HTTP mode."""
        payload, headers = request.payload, build_headers(request)
        try:
            said = await self.take(payload, lambda: AsyncBoltRequest(mode="socket_mode", body=payload, headers=headers))
        except Exception as error:  # noqa: BLE001 (nobody above would say so, and the socket goes on)
            log.error("slack.envelope_failed", error=type(error).__name__)
            return BoltResponse(status=500)
        return said if said is not None else BoltResponse(status=400)

    async def take(self, payload: Mapping[str, Any], to_bolt: Callable[[], AsyncBoltRequest]) -> BoltResponse | None:
        """The response to a payload from Slack, by either way; ``None`` if it is malformed."""
        if not _is_handled(payload):
            log.info("slack.payload_ignored")
            return BoltResponse(status=200, body="")
        if self._is_for_another_app(payload):
            return self._listeners.presses.on_another_app(payload)
        try:
            return await self._bolt.async_dispatch(to_bolt())
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            # Bolt takes the shape of a payload for granted, in its error handling too.
            log.warning("slack.payload_malformed", error=type(error).__name__)
            return None

    def _is_for_another_app(self, payload: Mapping[str, Any]) -> bool:
        return self._app_id is not None and payload.get("api_app_id", self._app_id) != self._app_id


def _is_handled(payload: Mapping[str, Any]) -> bool:
    kind, event = payload.get("type"), payload.get("event")
    if kind == "event_callback":
        return isinstance(event, dict) and isinstance(event.get("type"), str)
    return kind in HANDLED if isinstance(kind, str) else kind is None and isinstance(payload.get("command"), str)


def _bolt(listeners: Listeners, client: AsyncWebClient) -> AsyncApp:
    """One listener for each kind: ``channels.slack.interactions`` tells payloads apart, and none is unknown.

    The response waits for the listener, so that the commit comes before the ack. ``auth.test`` is never asked.
    """
    token = client.token

    async def authorize(team_id: str | None, enterprise_id: str | None) -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=enterprise_id, team_id=team_id, bot_token=token)

    bolt = AsyncApp(
        name=BOLT.name,  # Bolt sets the level of the logger of this name: ours stays as it is
        logger=BOLT,
        client=client,
        authorize=authorize,
        process_before_response=True,
        request_verification_enabled=False,
        ignoring_self_events_enabled=False,
        ssl_check_enabled=False,
    )
    bolt.action(EVERYTHING)(listeners.presses.on_action)
    bolt.view(EVERYTHING)(listeners.presses.on_submission)
    bolt.event(EVERYTHING)(listeners.events.on_event)
    bolt.command(EVERYTHING)(listeners.command.on_command)
    bolt.error(listeners.presses.on_error)
    return bolt


def build_slack_app(
    engine: Engine,
    incoming: InboundReports,
    collaboration: Collaboration,
    client: AsyncWebClient,
    *,
    signing_secret: str | None,
    sign: Sign,
    public_url: str,
    personal: PersonalLink,
    now: Callable[[], datetime],
    team_id: str | None = None,
    app_id: str | None = None,
    answer_in_thread: bool = False,
    people: SlackPeople | None = None,
    when_cut: WhenCut = WhenCut.ANSWER,
    in_time: timedelta = IN_TIME,
    home_pause: timedelta = PAUSE,
) -> SlackApp:
    """``client`` comes from ``channels.slack.client.web_client``, ``sign`` from ``channels.slack.payloads.signer``;
    ``people`` is the process's own, if it has one."""
    url = public_url.rstrip("/")
    background = BackgroundWork(client, now, in_time)
    permissions, people = engine.permissions, people or SlackPeople(client, now)
    inbox = Inbox(engine.database, permissions)
    identity = SlackIdentity(permissions, inbox, incoming, OurWorkspace(client), people, team_id)
    answers = SlackAnswers(engine, incoming, identity, sign=sign, public_url=url, when_cut=when_cut, personal=personal)
    teamwork = SlackTeamwork(answers, collaboration, sign)
    home = SlackHome(identity, answers, background, home_pause)
    threads = SlackThreads(incoming, identity, answers, background, answer_in_thread)
    listeners = Listeners(
        identity,
        SlackListeners(answers, teamwork, background, home, sign=sign),
        SlackEvents(incoming, threads, home, background),
        SlackCommand(engine.queries, permissions, identity, answers, teamwork, background, url),
        home,
        background,
    )
    return SlackApp(listeners, client, signing_secret=signing_secret, now=now, app_id=app_id)


def add_sockets(
    app: SlackApp,
    web: AsyncWebClient,
    places: LockSlots,
    tell: Tell,
    now: Callable[[], datetime],
    timing: SocketTiming | None = None,
    health: Health | None = None,
) -> None:
    """Adds Socket Mode to ``app``; ``web`` is a client with the app-level token."""
    app.use(SlackSockets(web, app.handle_envelope, places, tell, now, timing, health))
