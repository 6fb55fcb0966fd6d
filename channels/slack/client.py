"""The one way a Slack client is built here."""

from __future__ import annotations

import logging

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

SLACK_API = "https://slack.com/api/"
TIMEOUT_SECONDS = 10

QUIET = logging.getLogger("handraise.slack_sdk")
QUIET.setLevel(logging.WARNING)
"""Below this the SDK logs whole requests and responses: questions, answers and tokens."""


def web_client(token: str, base_url: str = SLACK_API, *, timeout: int = TIMEOUT_SECONDS) -> AsyncWebClient:
    """A client that never repeats a request by itself: the SDK's own handlers post twice when a connection dies.

    A base URL without TLS is a sandbox on loopback, which no proxy of the environment could reach; the SDK takes one
    from there without asking for exceptions.
    """
    client = AsyncWebClient(token, base_url, timeout, logger=QUIET, retry_handlers=[])
    if base_url.startswith("http://"):
        client.proxy = None
    return client


async def tell_privately(response_url: str, text: str) -> int:
    """Show ``text`` to whoever caused the interaction, and to nobody else; returns the HTTP status.

    ``text`` is escaped already. Raises what the wire does. A ``response_url`` takes five messages in half an hour
    (https://docs.slack.dev/interactivity/handling-user-interaction), so nothing that has to last goes this way.
    """
    response = await _webhook(response_url).send(text=text, response_type="ephemeral", replace_original=False)
    return response.status_code


async def replace_private(response_url: str, text: str) -> int:
    """The same in place of the private message that was pressed, whose buttons go with it."""
    response = await _webhook(response_url).send(text=text, response_type="ephemeral", replace_original=True)
    return response.status_code


def _webhook(response_url: str) -> AsyncWebhookClient:
    webhook = AsyncWebhookClient(response_url, TIMEOUT_SECONDS, logger=QUIET, retry_handlers=[])
    if response_url.startswith("http://"):
        webhook.proxy = None
    return webhook
