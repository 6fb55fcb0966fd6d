"""A pretend Slack on loopback: its Web API with state and refusals, and the people who use it.

The demo's world and, with more of Slack, the tests' fake. Requests come in on ``app``; answers leave over the sockets
of Socket Mode.

Source: https://docs.slack.dev/apis/web-api, …/apis/events-api/using-socket-mode, …/interactivity (message responses);
https://docs.slack.dev/reference/interaction-payloads.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.sandbox.slack.faults import CutOff, Faults, WebApiFault
from bot.sandbox.slack.methods import METHODS, Method, message_json
from bot.sandbox.slack.openid import OpenId
from bot.sandbox.slack.socket import SocketMode
from bot.sandbox.slack.views import fill_in, react, view_json
from bot.sandbox.slack.web_api import WebApi
from bot.sandbox.slack.world import Ephemeral, Message, SlackRefusal, User, View, Workspace
from bot.sandbox.vendor import JsonObject


def block_actions(
    workspace: Workspace, user: User, message: Message | Ephemeral, element: JsonObject, url: str
) -> JsonObject:
    """Somebody pressed ``element``, which is a button with its ``block_id``. ``url`` is where the sandbox listens.

    What only they see is not in the payload itself (https://docs.slack.dev/reference/interaction-payloads/block_actions-payload).
    """
    conversation = workspace.conversations[message.channel]
    response_url = workspace.new_response_url(message.channel, user.id, message.ts)
    return pressed(workspace, user, element) | {
        "container": {
            "type": "message",
            "message_ts": message.ts,
            "channel_id": message.channel,
            "is_ephemeral": isinstance(message, Ephemeral),
        },
        "channel": {"id": conversation.id, "name": conversation.name},
        **({"message": message_json(workspace, message)} if isinstance(message, Message) else {}),
        "state": {"values": {}},
        "response_url": f"{url}/response/{response_url}",
    }


def view_submission(workspace: Workspace, user: User, view: View) -> JsonObject:
    """A person submitted ``view``; their input is in its state."""
    return {
        **envelope(workspace, user),
        "type": "view_submission",
        "trigger_id": workspace.new_trigger(user.id),
        "view": view_json(workspace, view),
        "response_urls": [],
    }


def pressed(workspace: Workspace, user: User, element: JsonObject) -> JsonObject:
    action = {key: element[key] for key in ("action_id", "block_id", "text", "value", "style", "url") if key in element}
    return {
        **envelope(workspace, user),
        "type": "block_actions",
        "trigger_id": workspace.new_trigger(user.id),
        "actions": [{"type": "button", **action, "action_ts": workspace.new_ts()}],
    }


def envelope(workspace: Workspace, user: User) -> JsonObject:
    return {
        "team": {"id": workspace.team_id, "domain": "sandbox"},
        "user": {"id": user.id, "username": user.name, "name": user.name, "team_id": user.team_id},
        "api_app_id": workspace.app_id,
        "token": "deprecated-verification-token",
        "enterprise": None,
        "is_enterprise_install": False,
    }


class SlackSandbox:
    """One workspace, its app in Socket Mode.

    Serve ``app``; call :meth:`close` afterwards if its routes are served without ``app``'s own lifespan.
    """

    def __init__(self, workspace: Workspace, sockets: SocketMode, methods: Mapping[str, Method] = METHODS) -> None:
        self.workspace = workspace
        self.sockets = sockets
        self.faults = Faults()
        self._api = WebApi(workspace, self.faults, sockets, methods)
        self.openid = OpenId(workspace)
        self.app = Starlette(
            lifespan=self._lifespan,
            routes=[
                *self.openid.routes,
                Route("/api/{method}", self._api.endpoint, methods=["GET", "POST"]),
                Route("/response/{name}", self._respond, methods=["POST"]),
            ],
        )

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        yield
        await self.close()

    async def close(self) -> None:
        await self.sockets.close()

    def fail_next(self, fault: WebApiFault, method: str = "*") -> None:
        """The next request (of ``method``, if given) meets this fault."""
        self.faults.next(fault, method)

    @property
    def url(self) -> str:
        """Its own address, known after the first request."""
        return self._api.url

    # --- what people do ---

    async def click(self, user_id: str, message: Message | Ephemeral, action_id: str) -> httpx.Response:
        """Press a button of ``message``; raises ``LookupError`` if the person can't see it or there is none.

        Returns the service's response. A message that is copied before it changes can be pressed as it was.
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
        """Fill in and submit a modal; raises ``FormRefused`` if Slack's client would not send it.

        Returns the service's response; the view shows what the person sees then.
        """
        view = self.workspace.views[view_id]
        if not view.is_open or view.user != user_id:
            raise LookupError(f"{user_id} has no such modal open")
        view.state = fill_in(view, values)
        response = await self.post(view_submission(self.workspace, self.workspace.users[user_id], view))
        react(self.workspace, view, _usable(response))
        return response

    async def post(self, payload: JsonObject) -> httpx.Response:
        """Send an interactive payload to the service."""
        return await self.send("interactive", payload)

    async def send(self, kind: str, payload: JsonObject) -> httpx.Response:
        """Send a payload (``interactive``, ``slash_commands``, ``events_api``) to the service over a socket.

        Returns the service's acknowledgement as the same response over HTTP: a bare acknowledgement is an empty 200.
        Raises ``httpx.ReadTimeout`` if none came in time: then the person sees a warning.
        """
        try:
            said = await self.sockets.deliver(kind, payload)
        except TimeoutError:
            raise httpx.ReadTimeout("nobody acknowledged it") from None
        return httpx.Response(200, json=said) if said else httpx.Response(200, content=b"")

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


def _usable(response: httpx.Response) -> JsonObject | None:
    """The service's response to a submission; an empty 200 closes the modal, a body that is not JSON shows an error."""
    if response.status_code != 200:
        return None
    if not response.content:
        return {}
    try:
        said = response.json()
    except ValueError:
        return None
    return said if isinstance(said, dict) else None


def respond(workspace: Workspace, name: str, said: JsonObject) -> None:
    """Ephemeral unless ``response_type`` says otherwise; raises :class:`SlackRefusal` once the address is used up."""
    handle = workspace.use_response_url(name)
    blocks = workspace.kept_blocks(said["blocks"]) if said.get("blocks") else []
    text = str(said.get("text") or "")
    original = workspace.at(handle.channel, handle.message_ts) or workspace.ephemeral_at(handle.user, handle.message_ts)
    if said.get("delete_original") is True and original is not None:
        if isinstance(original, Message):
            workspace.messages.remove(original)
        else:
            workspace.ephemerals.remove(original)
    elif not text.strip() and not blocks:
        raise SlackRefusal("no_text")
    elif said.get("replace_original") is True and original is not None:
        original.text, original.blocks = text, blocks
        if isinstance(original, Message):
            original.edited = True
    elif said.get("response_type") == "in_channel":
        posted = Message(handle.channel, workspace.new_ts(), workspace.bot.id, text, blocks)
        workspace.messages.append(posted)
    else:
        workspace.ephemerals.append(Ephemeral(handle.channel, handle.user, text, blocks, workspace.new_ts()))
    workspace.touch()
