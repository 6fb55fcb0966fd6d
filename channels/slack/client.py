"""The Slack client: how it is built, whether a request comes from Slack, and which workspace is ours.

Signatures are checked here and not by the SDK. The SDK's verifier reads the wall clock, and raises if a timestamp is
not a number.

Source: https://docs.slack.dev/authentication/verifying-requests-from-slack;
https://docs.slack.dev/reference/methods/auth.test.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

SLACK_API = "https://slack.com/api/"
TIMEOUT_SECONDS = 10

QUIET = logging.getLogger("handraise.slack_sdk")
QUIET.setLevel(logging.WARNING)
"""Below this the SDK logs whole requests and responses: questions, answers and tokens."""


def web_client(token: str, base_url: str = SLACK_API, *, timeout: int = TIMEOUT_SECONDS) -> AsyncWebClient:
    """A client that never repeats a request by itself: the SDK's own handlers post twice when a connection dies.

    A base URL without TLS is a sandbox on loopback. The proxy of the environment, which the SDK uses without regard to
    exceptions, could not reach it.
    """
    client = AsyncWebClient(token, base_url, timeout, logger=QUIET, retry_handlers=[])
    if base_url.startswith("http://"):
        client.proxy = None
    return client


async def tell_privately(response_url: str, text: str) -> int:
    """Show ``text`` only to the person who caused the interaction; returns the HTTP status.

    ``text`` is escaped already. Raises the client's errors. A ``response_url`` takes five messages in half an hour
    (https://docs.slack.dev/interactivity/handling-user-interaction), so nothing that has to last goes this way.
    """
    response = await _webhook(response_url).send(
        text=text, response_type="ephemeral", replace_original=False, unfurl_links=False, unfurl_media=False
    )
    return response.status_code


async def replace_private(response_url: str, text: str) -> int:
    """Put ``text`` in place of the private message whose button was pressed. Its buttons go with it."""
    response = await _webhook(response_url).send(text=text, response_type="ephemeral", replace_original=True)
    return response.status_code


def _webhook(response_url: str) -> AsyncWebhookClient:
    webhook = AsyncWebhookClient(response_url, TIMEOUT_SECONDS, logger=QUIET, retry_handlers=[])
    if response_url.startswith("http://"):
        webhook.proxy = None
    return webhook


TIMESTAMP = "x-slack-request-timestamp"
SIGNATURE = "x-slack-signature"
LIFETIME = timedelta(minutes=5)

_SECONDS = re.compile(r"[0-9]{1,12}")
_SIGNATURE = re.compile(r"v0=[0-9a-f]{64}")


def may_be_signed(timestamp: str, signature: str, now: datetime) -> bool:
    """A check without the body: the signature has the right shape, and its time is at most five minutes from now."""
    if _SIGNATURE.fullmatch(signature) is None or _SECONDS.fullmatch(timestamp) is None:
        return False
    return abs(now.timestamp() - int(timestamp)) <= LIFETIME.total_seconds()


def is_signed(raw: bytes, timestamp: str, signature: str, secret: str, now: datetime) -> bool:
    """Whether ``signature`` was made with ``secret`` over this body, at most five minutes from now."""
    if not may_be_signed(timestamp, signature, now):
        return False
    ours = hmac.new(secret.encode(), b"v0:" + timestamp.encode() + b":" + raw, hashlib.sha256).hexdigest()
    return hmac.compare_digest(f"v0={ours}".encode(), signature.encode())


@dataclass(frozen=True, slots=True)
class Home:
    """The workspace in which our app is installed, and the app's ids there. ``enterprise_id`` is the organisation's, if
    any."""

    team_id: str
    enterprise_id: str | None
    bot_user_id: str
    bot_id: str | None = None

    def wrote(self, message: Mapping[str, Any]) -> bool:
        """Whether our app posted it. The metadata alone proves nothing: any app may copy it."""
        bot_id = message.get("bot_id")
        return message.get("user") == self.bot_user_id or (bot_id is not None and bot_id == self.bot_id)


class OurWorkspace:
    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client
        self._home: Home | None = None

    async def home(self) -> Home:
        """Asks Slack once and keeps the reply: it never changes for a token. Raises the call's errors
        (``channels.slack.errors.CAUGHT``)."""
        if self._home is None:
            said = await self._client.auth_test()
            self._home = Home(said["team_id"], said.get("enterprise_id"), said["user_id"], said.get("bot_id"))
        return self._home
