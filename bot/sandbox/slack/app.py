"""A pretend Slack on loopback: its Web API with state and refusals, and the people who use it.

The demo's world and the tests' fake. Requests come in on ``app``; answers leave as signed payloads posted to
``events_url`` or, where the app has none, over the sockets of Socket Mode, as Slack's own do.

Source: https://docs.slack.dev/apis/web-api, …/apis/events-api/using-socket-mode, …/interactivity (message responses,
slash commands), …/authentication/verifying-requests-from-slack.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from enum import StrEnum
from typing import Any
from urllib.parse import urlencode

import httpx
from slack_sdk.signature import SignatureVerifier
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.sandbox.serving import loopback_client
from bot.sandbox.slack.blocks import check_message, texts
from bot.sandbox.slack.faults import CutOff, Fault, Faults
from bot.sandbox.slack.payloads import (
    block_actions,
    event_callback,
    home_actions,
    message_event,
    slash_command,
    view_submission,
)
from bot.sandbox.slack.socket import ACK_WITHIN, APP_TOKEN, SocketMode
from bot.sandbox.slack.views import fill_in, react
from bot.sandbox.slack.web_api import WebApi
from bot.sandbox.slack.world import BOT_TOKEN, Ephemeral, Message, SlackRefusal, View, Workspace, button_in
from bot.sandbox.vendor import Found, JsonObject, wall_clock

SIGNING_SECRET = "sandbox-signing-secret"


class PayloadKind(StrEnum):
    """Slack's three kinds of payloads, named as in Socket Mode."""

    INTERACTIVE = "interactive"
    COMMAND = "slash_commands"
    EVENT = "events_api"


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
        now: Callable[[], datetime] = wall_clock,
        ack_within: float = ACK_WITHIN,
    ) -> None:
        self.workspace = Workspace(bot_token=bot_token, now=now)
        self.signing_secret = signing_secret
        self.events_url: str | None = None
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
            lambda: _newest(self.workspace.messages, lambda one: text in shown(one)), within
        )

    async def expect_private(self, user_id: str, text: str, within: float = 30.0) -> Ephemeral:
        """What only ``user_id`` sees, as soon as it says ``text``."""

        def fits(one: Ephemeral) -> bool:
            return one.user == user_id and text in shown(one)

        return await self.workspace.until(lambda: _newest(self.workspace.ephemerals, fits), within)

    async def expect_view(self, user_id: str) -> View:
        """The modal in front of ``user_id``, as soon as there is one."""

        def fits(one: View) -> bool:
            return one.user == user_id and one.is_open

        return await self.workspace.until(lambda: _newest([*self.workspace.views.values()], fits))

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
        content_type, body = _encoded(kind, payload)
        verifier = SignatureVerifier(secret or self.signing_secret)
        headers = {
            "Content-Type": content_type,
            "X-Slack-Request-Timestamp": sent_at,
            "X-Slack-Signature": verifier.generate_signature(timestamp=sent_at, body=body) or "",
        }
        async with loopback_client(self.sockets.ack_within) as client:
            return await client.post(self.events_url, content=body, headers=headers)

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


def _newest(things: Sequence[Found], fits: Callable[[Found], bool]) -> Found | None:
    return next((one for one in reversed(things) if fits(one)), None)


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


async def over_socket(sockets: SocketMode, kind: PayloadKind, payload: JsonObject) -> httpx.Response:
    """The same answer as over HTTP: an empty 200 is a bare acknowledgement, no acknowledgement a timeout."""
    try:
        said = await sockets.deliver(kind, payload)
    except TimeoutError:
        raise httpx.ReadTimeout("nobody acknowledged it") from None
    return httpx.Response(200, json=said) if said else httpx.Response(200, content=b"")


def _encoded(kind: PayloadKind, payload: JsonObject) -> tuple[str, bytes]:
    match kind:
        case PayloadKind.INTERACTIVE:
            return "application/x-www-form-urlencoded", urlencode({"payload": json.dumps(payload)}).encode()
        case PayloadKind.COMMAND:
            return "application/x-www-form-urlencoded", urlencode(payload).encode()
        case PayloadKind.EVENT:
            return "application/json", json.dumps(payload).encode()


def respond(workspace: Workspace, name: str, said: JsonObject) -> None:
    """Ephemeral unless ``response_type`` says otherwise; raises :class:`SlackRefusal` once the address is used up."""
    handle = workspace.use_response_url(name)
    blocks = check_message(said["blocks"]) if said.get("blocks") else []
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


# --- What else people do ------------------------------------------------------------------------------------------


async def tell(sandbox: SlackSandbox, event: JsonObject, event_id: str | None = None) -> httpx.Response:
    """Slack tells the service of ``event``; returns what the service answered."""
    return await sandbox.send(PayloadKind.EVENT, event_callback(sandbox.workspace, event, event_id))


async def say(
    sandbox: SlackSandbox, user_id: str, channel: str, text: str, under: Message | None = None, **fields: Any
) -> httpx.Response:
    """Somebody writes ``text``, in the thread of ``under`` if it is given. ``fields`` change the event."""
    workspace = sandbox.workspace
    root = under and workspace.at(under.channel, under.thread_ts or under.ts)
    thread_ts = None if root is None else root.ts
    message = Message(channel, workspace.new_ts(), user_id, text, thread_ts=thread_ts)
    workspace.messages.append(message)
    return await tell(sandbox, message_event(workspace, message, root) | fields)


async def open_home(sandbox: SlackSandbox, user_id: str) -> httpx.Response:
    channel = sandbox.workspace.im_with(user_id).id
    event = {"type": "app_home_opened", "user": user_id, "channel": channel, "tab": "home", "event_ts": "1.1"}
    return await tell(sandbox, event)


async def expect_home(sandbox: SlackSandbox, user_id: str, text: str) -> View:
    """The Home of ``user_id``, as soon as it shows ``text``."""

    def look() -> View | None:
        view = sandbox.workspace.homes.get(user_id)
        return view if view is not None and text in json.dumps(view.content, ensure_ascii=False) else None

    return await sandbox.workspace.until(look)


async def press_home(sandbox: SlackSandbox, user_id: str, block_id: str, action_id: str) -> httpx.Response:
    """Press a button of one's own Home; raises ``LookupError`` if there is none."""
    view = sandbox.workspace.homes[user_id]
    element = button_in([block for block in view.content["blocks"] if block["block_id"] == block_id], action_id)
    if element is None:
        raise LookupError(f"{user_id} sees no {action_id} in {block_id}")
    user = sandbox.workspace.users[user_id]
    return await sandbox.post(home_actions(sandbox.workspace, user, view, element))


async def type_command(sandbox: SlackSandbox, user_id: str, channel: str, text: str) -> JsonObject:
    """Type ``/handraise`` with ``text``; returns what the service answered, ``{}`` where it only acknowledged.

    What it answers is shown to ``user_id`` alone.
    """
    workspace = sandbox.workspace
    fields = slash_command(workspace, workspace.users[user_id], channel, text, sandbox.url)
    response = await sandbox.send(PayloadKind.COMMAND, fields)
    said: JsonObject = response.json() if response.content else {}
    if said:
        shown = Ephemeral(channel, user_id, said.get("text", ""), said.get("blocks", []), workspace.new_ts())
        workspace.ephemerals.append(shown)
        workspace.touch()
    return {"status": response.status_code, **said}
