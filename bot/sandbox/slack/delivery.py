"""Delivery: how what people do reaches the service, and what the service may do with a ``response_url``.

Signed requests go to the app's Request URL, or envelopes over its socket.

Source: https://docs.slack.dev/authentication/verifying-requests-from-slack, …/apis/events-api/using-socket-mode,
…/interactivity/handling-user-interaction (message responses).
"""

from __future__ import annotations

import json
from enum import StrEnum
from urllib.parse import urlencode

import httpx

from bot.sandbox.serving import loopback_client
from bot.sandbox.slack.blocks import check_message
from bot.sandbox.slack.payloads import signature
from bot.sandbox.slack.records import Ephemeral, JsonObject, Message, ResponseUrl, SlackRefusal
from bot.sandbox.slack.socket import SocketMode
from bot.sandbox.slack.world import RESPONSE_URL_USES, Workspace


class PayloadKind(StrEnum):
    """Slack's three kinds of payloads, named as in Socket Mode."""

    INTERACTIVE = "interactive"
    COMMAND = "slash_commands"
    EVENT = "events_api"


async def over_http(
    url: str, kind: PayloadKind, payload: JsonObject, secret: str, timestamp: str, ack_within: float
) -> httpx.Response:
    """Signed at ``timestamp`` (Unix seconds); raises ``httpx.ReadTimeout`` if nothing came in time."""
    content_type, body = _encoded(kind, payload)
    headers = {
        "Content-Type": content_type,
        "X-Slack-Request-Timestamp": timestamp,
        "X-Slack-Signature": signature(secret, timestamp, body),
    }
    async with loopback_client(ack_within) as client:
        return await client.post(url, content=body, headers=headers)


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
    handle = _usable(workspace, name)
    blocks = check_message(said["blocks"]) if said.get("blocks") else []
    text = str(said.get("text") or "")
    original = workspace.at(handle.channel, handle.message_ts) or workspace.ephemeral_at(handle.user, handle.message_ts)
    if said.get("delete_original") is True and original is not None:
        _remove(workspace, original)
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


def _remove(workspace: Workspace, original: Message | Ephemeral) -> None:
    if isinstance(original, Message):
        workspace.messages.remove(original)
    else:
        workspace.ephemerals.remove(original)


def _usable(workspace: Workspace, name: str) -> ResponseUrl:
    handle = workspace.response_urls.get(name)
    if handle is None:
        raise SlackRefusal("invalid_url")
    if workspace.now() > handle.expires:
        raise SlackRefusal("expired_url")
    if handle.uses >= RESPONSE_URL_USES:
        raise SlackRefusal("used_url")
    handle.uses += 1
    return handle
