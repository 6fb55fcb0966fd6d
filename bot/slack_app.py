"""Slack's way in: ``POST /slack/events`` in HTTP mode, through slack-bolt.

The signature is checked here, before bolt sees anything: bolt raises on a timestamp that is no number and writes the
whole body of a badly signed request to the log.

Source: API.md §6; https://docs.slack.dev/authentication/verifying-requests-from-slack; facts on channels §0.6, §A2.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

import structlog
from slack_bolt.adapter.starlette.async_handler import to_async_bolt_request, to_starlette_response
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.web.async_client import AsyncWebClient
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from bot.slack_answers import SlackAnswers
from bot.slack_listeners import IN_TIME, SlackListeners
from bot.web.errors import envelope
from channels.slack.cut import WhenCut
from channels.slack.replies import read_body
from channels.slack.signature import SIGNATURE, TIMESTAMP, is_signed
from channels.slack.values import Sign
from core.engine import Engine

log = structlog.get_logger(__name__)

HANDLED = frozenset({"block_actions", "view_submission", "url_verification"})
EVERYTHING = re.compile(".*")

BOLT = logging.getLogger("handraise.slack_bolt")
BOLT.setLevel(logging.CRITICAL)
"""Bolt writes payloads and errors out whole; what has to be known of a failure is logged by us."""


class SlackApp:
    """``handle`` is mounted at ``POST /slack/events``; ``close`` comes after the last request."""

    def __init__(
        self,
        listeners: SlackListeners,
        client: AsyncWebClient,
        *,
        signing_secret: str,
        now: Callable[[], datetime],
        app_id: str | None,
    ) -> None:
        self._listeners = listeners
        self._signing_secret = signing_secret
        self._now = now
        self._app_id = app_id
        self._bolt = _bolt(listeners, client)

    async def handle(self, request: Request) -> Response:
        raw, headers = await request.body(), request.headers
        timestamp, signature = headers.get(TIMESTAMP, ""), headers.get(SIGNATURE, "")
        if not is_signed(raw, timestamp, signature, self._signing_secret, self._now()):
            log.warning("slack.signature_refused")
            return JSONResponse(envelope("unauthorized", "The signature is missing, wrong or too old."), 401)
        payload = read_body(raw)
        if payload is None:
            return JSONResponse(envelope("malformed_json", "The body holds no payload."), 400)
        if payload.get("type") not in HANDLED or self._is_for_another_app(payload):
            log.info("slack.payload_ignored")
            return Response()
        try:
            return to_starlette_response(await self._bolt.async_dispatch(to_async_bolt_request(request, raw)))
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            # Bolt takes the shape of a signed payload for granted, in its error handling too.
            log.warning("slack.payload_malformed", error=type(error).__name__)
            return JSONResponse(envelope("malformed_json", "The payload is not of Slack's shape."), 400)

    async def close(self) -> None:
        await self._listeners.close()

    def _is_for_another_app(self, payload: Mapping[str, Any]) -> bool:
        return self._app_id is not None and payload.get("api_app_id", self._app_id) != self._app_id


def _bolt(listeners: SlackListeners, client: AsyncWebClient) -> AsyncApp:
    """One listener for everything of a kind: ``channels.slack.replies`` tells what it is, and nothing is unknown.

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
        ssl_check_enabled=False,
    )
    bolt.action(EVERYTHING)(listeners.on_action)
    bolt.view(EVERYTHING)(listeners.on_submission)
    bolt.error(listeners.on_error)
    return bolt


def build_slack_app(
    engine: Engine,
    client: AsyncWebClient,
    *,
    signing_secret: str,
    sign: Sign,
    public_url: str,
    now: Callable[[], datetime],
    team_id: str | None = None,
    app_id: str | None = None,
    in_time: timedelta = IN_TIME,
    when_cut: WhenCut = WhenCut.ANSWER,
) -> SlackApp:
    """``client`` comes from ``channels.slack.client.web_client``, ``sign`` from ``channels.slack.values.signer``."""
    answers = SlackAnswers(engine, sign=sign, public_url=public_url, team_id=team_id, when_cut=when_cut)
    listeners = SlackListeners(answers, client, sign=sign, now=now, in_time=in_time)
    return SlackApp(listeners, client, signing_secret=signing_secret, now=now, app_id=app_id)
