"""A pretend Slack on loopback: its Web API with state and refusals, and the people who use it.

The demo's world and the tests' fake. Requests come in on ``app``; answers leave as signed payloads posted to
``events_url`` or, where the app has none, over the sockets of Socket Mode, as Slack's own do.

Source: https://docs.slack.dev/apis/web-api, https://docs.slack.dev/interactivity.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.sandbox.slack.blocks import texts
from bot.sandbox.slack.delivery import PayloadKind, over_http, over_socket, respond
from bot.sandbox.slack.faults import CutOff, Fault, Faults
from bot.sandbox.slack.inputs import fill_in
from bot.sandbox.slack.payloads import block_actions, view_submission
from bot.sandbox.slack.records import Ephemeral, JsonObject, Message, SlackRefusal, View
from bot.sandbox.slack.socket import ACK_WITHIN, APP_TOKEN, SocketMode
from bot.sandbox.slack.views import react
from bot.sandbox.slack.web_api import WebApi
from bot.sandbox.slack.world import BOT_TOKEN, Workspace, wall_clock

SIGNING_SECRET = "sandbox-signing-secret"


class SlackSandbox:
    """One workspace. ``events_url`` is the service's Request URL; without it the app is in Socket Mode. ``ack_within``
    is how many seconds it waits for an answer.

    Serve ``app``; :meth:`close` afterwards where something else than ``app``'s own lifespan serves its routes.
    """

    def __init__(
        self,
        *,
        bot_token: str = BOT_TOKEN,
        signing_secret: str = SIGNING_SECRET,
        app_token: str = APP_TOKEN,
        events_url: str | None = None,
        now: Callable[[], datetime] = wall_clock,
        ack_within: float = ACK_WITHIN,
    ) -> None:
        self.workspace = Workspace(bot_token=bot_token, now=now)
        self.signing_secret = signing_secret
        self.events_url = events_url
        self.faults = Faults()
        self.sockets = SocketMode(self.workspace, app_token=app_token, ack_within=ack_within)
        self._api = WebApi(self.workspace, self.faults, self.sockets)
        self.app = Starlette(
            lifespan=self._lifespan,
            routes=[
                Route("/api/{method}", self._api.endpoint, methods=["GET", "POST"]),
                Route("/response/{name}", self._respond, methods=["POST"]),
            ],
        )

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        yield
        await self.close()

    async def close(self) -> None:
        """End every socket."""
        await self.sockets.close()

    def fail_next(self, fault: Fault, method: str = "*") -> None:
        """The next request (of ``method``, where given) meets this fault."""
        self.faults.next(fault, method)

    @property
    def url(self) -> str:
        """Where it listens, once anybody has called."""
        return self._api.url

    @property
    def unsaid(self) -> list[JsonObject]:
        """What has happened although the caller could not know: the answers that faults have spoiled."""
        return self._api.unsaid

    # --- what people see ---

    async def expect_message(self, text: str, within: float = 30.0) -> Message:
        """The newest message that shows ``text``, as soon as there is one."""
        return await self.workspace.until(
            lambda: next((one for one in reversed(self.workspace.messages) if text in shown(one)), None), within
        )

    async def expect_private(self, user_id: str, text: str, within: float = 30.0) -> Ephemeral:
        """What only ``user_id`` sees, as soon as it says ``text``."""
        return await self.workspace.until(
            lambda: next(
                (one for one in reversed(self.workspace.ephemerals) if one.user == user_id and text in shown(one)), None
            ),
            within,
        )

    async def expect_view(self, user_id: str, within: float = 30.0) -> View:
        """The modal in front of ``user_id``, as soon as there is one."""
        return await self.workspace.until(
            lambda: next(
                (one for one in reversed(self.workspace.views.values()) if one.user == user_id and one.is_open), None
            ),
            within,
        )

    # --- what people do ---

    async def click(self, user_id: str, message: Message | Ephemeral, action_id: str) -> httpx.Response:
        """Press a button of ``message``; raises ``LookupError`` where the person can't see it or there is none.

        Returns what the service answered. A message that is copied before it changes can be pressed as it was.
        """
        element = message.button(action_id)
        sees = user_id in self.workspace.conversations[message.channel].members
        if isinstance(message, Ephemeral):
            sees = user_id == message.user
        if element is None or not sees:
            raise LookupError(f"{user_id} sees no {action_id} there")
        user = self.workspace.users[user_id]
        return await self.post(block_actions(self.workspace, user, message, element, self._api.url))

    async def submit(self, view_id: str, user_id: str, values: Mapping[str, str]) -> httpx.Response:
        """Fill in and submit a modal; raises ``FormRefused`` where Slack's client would not send it.

        Returns what the service answered; what the person sees then is in the view.
        """
        view = self.workspace.views[view_id]
        if not view.is_open or view.user != user_id:
            raise LookupError(f"{user_id} has no such modal open")
        view.state = fill_in(view, values)
        response = await self.post(view_submission(self.workspace, self.workspace.users[user_id], view))
        react(self.workspace, view, _usable(response))
        return response

    async def post(
        self, payload: JsonObject, *, secret: str | None = None, timestamp: str | None = None
    ) -> httpx.Response:
        """Send an interactive payload to the service, signed as Slack signs it (or with another secret or time)."""
        return await self.send(PayloadKind.INTERACTIVE, payload, secret=secret, timestamp=timestamp)

    async def send(
        self, kind: PayloadKind, payload: JsonObject, *, secret: str | None = None, timestamp: str | None = None
    ) -> httpx.Response:
        """Send a payload of any kind, over HTTP if there is a Request URL, else over a socket.

        Returns what the service answered, an acknowledgement over a socket as its equal over HTTP. Raises
        ``httpx.HTTPError`` if nothing came in time: then the person sees a warning.
        """
        if self.events_url is None:
            return await over_socket(self.sockets, kind, payload)
        sent_at = timestamp if timestamp is not None else str(int(self.workspace.now().timestamp()))
        secret = secret or self.signing_secret
        return await over_http(self.events_url, kind, payload, secret, sent_at, self.sockets.ack_within)

    async def _respond(self, request: Request) -> Response:
        """A fault that is switched on for the method ``response_url`` cuts the connection, whatever its kind."""
        fault = self.faults.take("response_url")
        if fault is not None:
            return CutOff()
        try:
            said = json.loads(await request.body())
            respond(self.workspace, request.path_params["name"], said)
        except (ValueError, AttributeError):
            return JSONResponse({"ok": False, "error": "invalid_payload"}, 400)
        except SlackRefusal as refusal:
            return JSONResponse({"ok": False, "error": refusal.code}, 404)
        return JSONResponse({"ok": True})


def shown(thing: Message | Ephemeral) -> str:
    """All the text that a person sees of it, blocks first; only these three signs are ever escaped.

    Source: https://docs.slack.dev/messaging/formatting-message-text.
    """
    written = "\n".join([*texts(thing.blocks), thing.text])
    return written.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _usable(response: httpx.Response) -> JsonObject | None:
    """What the service said to a submission; an empty 200 closes the modal, anything that is no JSON is trouble."""
    if response.status_code != 200:
        return None
    if not response.content:
        return {}
    try:
        said = response.json()
    except ValueError:
        return None
    return said if isinstance(said, dict) else None
