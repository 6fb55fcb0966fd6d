"""The pretend Slack with all that a workspace has and the demo's has not.

It refuses blocks as Slack does, shows a Home and knows slash commands and events. Its app may have a Request URL, to
which everything goes as signed payloads instead of over sockets.

Source: https://docs.slack.dev/interactivity (slash commands), …/authentication/verifying-requests-from-slack,
…/reference/methods/views.publish, …/reference/interaction-payloads.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any
from urllib.parse import urlencode

import httpx
from slack_sdk.signature import SignatureVerifier

from bot.sandbox.serving import loopback_client
from bot.sandbox.slack import app, socket, world
from bot.sandbox.slack.app import pressed
from bot.sandbox.slack.methods import METHODS, Method
from bot.sandbox.slack.socket import ACK_WITHIN, APP_TOKEN
from bot.sandbox.slack.views import new_hash, view_json
from bot.sandbox.slack.world import BOT_TOKEN, Ephemeral, Message, SlackRefusal, User, View, button_in
from bot.sandbox.vendor import Found, JsonObject, wall_clock
from tests.patience import PATIENCE
from tests.vendors.slack_blocks import check_message, check_view, texts

SIGNING_SECRET = "sandbox-signing-secret"
HOME_KEYS = frozenset({"type", "blocks", "private_metadata", "callback_id", "external_id"})


class PayloadKind(StrEnum):
    """Slack's three kinds of payloads, named as in Socket Mode."""

    INTERACTIVE = "interactive"
    COMMAND = "slash_commands"
    EVENT = "events_api"


class Workspace(world.Workspace):
    """Refuses what Slack refuses of blocks and views."""

    def __init__(self, bot_token: str = BOT_TOKEN, now: Callable[[], datetime] = wall_clock) -> None:
        super().__init__(bot_token, now)
        self.homes: dict[str, View] = {}

    def kept_blocks(self, blocks: Any) -> list[JsonObject]:
        return super().kept_blocks(check_message(blocks))

    def kept_view(self, view: Any) -> JsonObject:
        checked = check_view(view)
        return {**checked, "blocks": super().kept_blocks(checked["blocks"])}


class SocketMode(socket.SocketMode):
    def deafen(self) -> None:
        """As :meth:`silence`, but Slack's own pings go on: nobody reads what comes."""
        for one in self.sockets:
            one.silent = True


def publish_view(workspace: Workspace, arguments: JsonObject) -> JsonObject:
    """Somebody's Home. Its blocks are checked as a modal's, of which it has as many."""
    given, user = arguments.get("view"), workspace.users.get(str(arguments.get("user_id", "")))
    if not isinstance(given, dict) or given.get("type") != "home" or not given.keys() <= HOME_KEYS:
        raise SlackRefusal("invalid_arguments", response_metadata={"messages": ["[ERROR] must be a home view"]})
    if user is None:
        raise SlackRefusal("user_not_found")
    checked = workspace.kept_view({**given, "type": "modal", "title": {"type": "plain_text", "text": "Home"}})
    content = {**given, "blocks": checked["blocks"]}
    known = workspace.homes.get(user.id)
    view = View(known.id if known else f"V{workspace.number():08d}", user.id, content, new_hash(workspace))
    workspace.homes[user.id] = view
    return {"view": view_json(workspace, view)}


class SlackSandbox(app.SlackSandbox):
    """One workspace. ``events_url`` is the service's Request URL; without it the app is in Socket Mode. ``ack_within``
    is how many seconds it waits for an answer.
    """

    workspace: Workspace
    sockets: SocketMode

    def __init__(
        self,
        *,
        bot_token: str = BOT_TOKEN,
        signing_secret: str = SIGNING_SECRET,
        app_token: str = APP_TOKEN,
        now: Callable[[], datetime] = wall_clock,
        ack_within: float = ACK_WITHIN,
    ) -> None:
        workspace = Workspace(bot_token, now)
        sockets = SocketMode(workspace, app_token=app_token, ack_within=ack_within)
        super().__init__(workspace, sockets, METHODS | {"views.publish": Method(None, publish_view)})
        self.signing_secret = signing_secret
        self.events_url: str | None = None

    @property
    def unsaid(self) -> list[JsonObject]:
        """What has happened although the caller could not know: the answers that faults have spoiled."""
        return self._api.unsaid

    # --- what people see ---

    async def expect_message(self, text: str, within: float = PATIENCE) -> Message:
        """The newest message that shows ``text``, as soon as there is one."""
        return await self.workspace.until(
            lambda: _newest(self.workspace.messages, lambda one: text in shown(one)), within
        )

    async def expect_private(self, user_id: str, text: str, within: float = PATIENCE) -> Ephemeral:
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

    async def post(
        self, payload: JsonObject, *, secret: str | None = None, timestamp: str | None = None
    ) -> httpx.Response:
        """Send an interactive payload to the service, signed as Slack signs it (or with another secret or time)."""
        return await self.send(PayloadKind.INTERACTIVE, payload, secret=secret, timestamp=timestamp)

    async def send(
        self, kind: str, payload: JsonObject, *, secret: str | None = None, timestamp: str | None = None
    ) -> httpx.Response:
        """Send a payload of any kind, over HTTP if there is a Request URL, else over a socket.

        Returns what the service answered, an acknowledgement over a socket as its equal over HTTP. Raises
        ``httpx.HTTPError`` if nothing came in time: then the person sees a warning.
        """
        if self.events_url is None:
            return await super().send(kind, payload)
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


def _newest(things: Sequence[Found], fits: Callable[[Found], bool]) -> Found | None:
    return next((one for one in reversed(things) if fits(one)), None)


def shown(thing: Message | Ephemeral) -> str:
    """All the text that a person sees of it, blocks first; only these three signs are ever escaped.

    Source: https://docs.slack.dev/messaging/formatting-message-text.
    """
    written = "\n".join([*texts(thing.blocks), thing.text])
    return written.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _encoded(kind: PayloadKind, payload: JsonObject) -> tuple[str, bytes]:
    match kind:
        case PayloadKind.INTERACTIVE:
            return "application/x-www-form-urlencoded", urlencode({"payload": json.dumps(payload)}).encode()
        case PayloadKind.COMMAND:
            return "application/x-www-form-urlencoded", urlencode(payload).encode()
        case PayloadKind.EVENT:
            return "application/json", json.dumps(payload).encode()


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


# --- More payloads --------------------------------------------------------------------------------------------------


def home_actions(workspace: Workspace, user: User, view: View, element: JsonObject) -> JsonObject:
    """Somebody pressed ``element`` in their Home: no message, and no address for a private reply."""
    container = {"type": "view", "view_id": view.id}
    return pressed(workspace, user, element) | {"container": container, "view": view_json(workspace, view)}


def slash_command(workspace: Workspace, user: User, channel: str, text: str, url: str) -> JsonObject:
    """The fields of the form that Slack posts. ``url`` is where the sandbox listens."""
    conversation = workspace.conversations[channel]
    response_url = workspace.new_response_url(channel, user.id, "")
    return {
        "token": "deprecated-verification-token",
        "team_id": user.team_id,
        "team_domain": "sandbox",
        "channel_id": channel,
        "channel_name": conversation.name,
        "user_id": user.id,
        "user_name": user.name,
        "command": "/handraise",
        "text": text,
        "api_app_id": workspace.app_id,
        "is_enterprise_install": "false",
        "response_url": f"{url}/response/{response_url}",
        "trigger_id": workspace.new_trigger(user.id),
    }


def event_callback(workspace: Workspace, event: JsonObject, event_id: str | None = None) -> JsonObject:
    """Slack tells of ``event``; a retry has the same ``event_id``."""
    return {
        "token": "deprecated-verification-token",
        "team_id": workspace.team_id,
        "api_app_id": workspace.app_id,
        "type": "event_callback",
        "event": event,
        "event_id": event_id or f"Ev{workspace.number():08d}",
        "event_time": int(workspace.now().timestamp()),
        "authorizations": [{"team_id": workspace.team_id, "user_id": workspace.bot.id, "is_bot": True}],
        "is_ext_shared_channel": False,
    }


def message_event(workspace: Workspace, message: Message, root: Message | None) -> JsonObject:
    """``message``, which hangs under ``root`` if it is a reply."""
    user, conversation = workspace.users[message.user], workspace.conversations[message.channel]
    event: JsonObject = {
        "type": "message",
        "user": user.id,
        "team": user.team_id,
        "channel": message.channel,
        "channel_type": "im" if conversation.is_im else "group" if conversation.is_private else "channel",
        "text": message.text,
        "ts": message.ts,
        "event_ts": message.ts,
    }
    return event if root is None else event | {"thread_ts": root.ts, "parent_user_id": root.user}
