"""How what people do reaches the service: signed requests to its Request URL, or envelopes over its socket.

Source: https://docs.slack.dev/authentication/verifying-requests-from-slack,
https://docs.slack.dev/apis/events-api/using-socket-mode.
"""

from __future__ import annotations

import json
from enum import StrEnum
from urllib.parse import urlencode

import httpx

from bot.sandbox.serving import loopback_client
from bot.sandbox.slack_payloads import signature
from bot.sandbox.slack_records import JsonObject
from bot.sandbox.slack_socket import ACK_WITHIN, SocketMode


class Kind(StrEnum):
    """Slack's three kinds of payloads, named as in Socket Mode."""

    INTERACTIVE = "interactive"
    COMMAND = "slash_commands"
    EVENT = "events_api"


async def over_http(url: str, kind: Kind, payload: JsonObject, secret: str, timestamp: str) -> httpx.Response:
    """Signed at ``timestamp`` (Unix seconds); raises ``httpx.ReadTimeout`` where nothing came in time."""
    content_type, body = _encoded(kind, payload)
    headers = {
        "Content-Type": content_type,
        "X-Slack-Request-Timestamp": timestamp,
        "X-Slack-Signature": signature(secret, timestamp, body),
    }
    async with loopback_client(ACK_WITHIN) as client:
        return await client.post(url, content=body, headers=headers)


async def over_socket(sockets: SocketMode, kind: Kind, payload: JsonObject) -> httpx.Response:
    """The same answer as over HTTP: an empty 200 is a bare acknowledgement, no acknowledgement a timeout."""
    try:
        said = await sockets.deliver(kind, payload)
    except TimeoutError:
        raise httpx.ReadTimeout("nobody acknowledged it") from None
    return httpx.Response(200, json=said) if said else httpx.Response(200, content=b"")


def _encoded(kind: Kind, payload: JsonObject) -> tuple[str, bytes]:
    match kind:
        case Kind.INTERACTIVE:
            return "application/x-www-form-urlencoded", urlencode({"payload": json.dumps(payload)}).encode()
        case Kind.COMMAND:
            return "application/x-www-form-urlencoded", urlencode(payload).encode()
        case Kind.EVENT:
            return "application/json", json.dumps(payload).encode()
