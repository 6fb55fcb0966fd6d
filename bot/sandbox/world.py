"""The whole pretend world in one process: a Slack workspace, a mail server and a pager, with the page to use them.

One person lives in it. Their accounts at each vendor, and the secrets between vendors and service, are made here and
passed to the service's configuration by :meth:`World.settings`.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette

from bot.sandbox.mailbox import Mailbox
from bot.sandbox.page.app import SandboxPage
from bot.sandbox.pagerduty.app import PagerDutySandbox
from bot.sandbox.pagerduty.rest import RestApi
from bot.sandbox.pagerduty.webhooks import Webhooks
from bot.sandbox.pagerduty.world import Account
from bot.sandbox.pagerduty.world import User as PagerUser
from bot.sandbox.serving import serving
from bot.sandbox.slack.app import SlackSandbox
from bot.sandbox.slack.socket import SocketMode
from bot.sandbox.slack.world import Workspace
from bot.sandbox.vendor import YOU

CHANNEL_ID, CHANNEL_NAME = "C0OPS", "ops"
PAGER_SERVICE = "default"
SENDER = "handraise@sandbox.example"


@dataclass(frozen=True, slots=True)
class SandboxAddress:
    """The world's addresses. ``page`` is the signed-in URL, whose holder acts as the person."""

    url: str
    smtp_url: str
    page: str


class World:
    """Serve it with :meth:`serving`. ``service_url`` is the service's; :meth:`connect` sets it later.

    ``ask`` is called with a sample's name when its button is pressed on the page, ``stay_silent`` with a question's
    reference when its time shall pass, ``opened`` when the page is first looked at.
    """

    def __init__(
        self,
        service_url: str | None = None,
        *,
        ask: Callable[[str], None] | None = None,
        stay_silent: Callable[[str], None] | None = None,
        opened: Callable[[], None] | None = None,
    ) -> None:
        self.person = person = YOU
        workspace = Workspace(bot_token=f"xoxb-{secrets.token_hex(16)}")
        self.slack = SlackSandbox(workspace, SocketMode(workspace, app_token=f"xapp-{secrets.token_hex(16)}"))
        self.slack.workspace.add_user(person.slack_user_id, person.name, person.email)
        self.slack.workspace.add_channel(CHANNEL_ID, CHANNEL_NAME, person.slack_user_id)
        self.mailbox = Mailbox()
        self._routing_key, self._api_token = secrets.token_hex(16), secrets.token_hex(16)
        users = [
            PagerUser(person.pagerduty_user_id, person.name, person.email),
            PagerUser("PHANDRAISE", "Handraise", SENDER),
        ]
        account, webhooks = Account({PAGER_SERVICE: self._routing_key}, users), Webhooks([secrets.token_hex(16)])
        self.pagerduty = PagerDutySandbox(account, RestApi(account, self._api_token, webhooks), webhooks)
        self._inbound_secret = secrets.token_hex(16)
        self.page = SandboxPage(
            self.slack, self.mailbox, self.pagerduty, person, ask=ask, stay_silent=stay_silent, opened=opened
        )
        # The mailbox's own routes stay out: they let anybody answer, and only the page may.
        self.app = Starlette(routes=[*self.page.routes, *self.slack.app.routes, *self.pagerduty.app.routes])
        if service_url is not None:
            self.connect(service_url)

    def connect(self, service_url: str) -> None:
        """Set the service's address for the vendors; Slack needs none, it is in Socket Mode."""
        self.mailbox.answer_at(f"{service_url}/email/inbound", self._inbound_secret)
        self.pagerduty.webhooks.url = f"{service_url}/pagerduty/webhooks"

    @asynccontextmanager
    async def serving(self, port: int = 0, smtp_port: int = 0) -> AsyncIterator[SandboxAddress]:
        """Everything on loopback, on these ports or on free ones."""
        await self.mailbox.start(smtp_port)
        try:
            async with serving(self.app, port=port) as url:
                try:
                    yield SandboxAddress(url, self.mailbox.smtp_url, self.page.door.signed_in(url))
                finally:
                    async with asyncio.timeout(5):
                        await self.pagerduty.close()
                        await self.slack.close()
        finally:
            await self.mailbox.stop()

    def settings(self, place: SandboxAddress) -> dict[str, Any]:
        """The sections of the service's configuration that connect it to this world."""
        person = self.person
        return {
            "slack": {
                "bot_token": self.slack.workspace.bot_token,
                "app_token": self.slack.sockets.app_token,
                "api_url": f"{place.url}/api",
                "default_channel": CHANNEL_ID,
                "team_id": self.slack.workspace.team_id,
                "app_id": self.slack.workspace.app_id,
            },
            "email": {
                "smtp_url": place.smtp_url,
                "from": f"Handraise <{SENDER}>",
                "inbound_secret": self._inbound_secret,
                "default_to": [person.email],
            },
            "pagerduty": {
                "routing_key": self._routing_key,
                "events_url": place.url,
                "api_url": place.url,
                "api_token": self._api_token,
                "from_email": SENDER,
                "webhook_secrets": list(self.pagerduty.webhooks.secrets),
            },
            "people": [
                {
                    "name": person.name,
                    "email": person.email,
                    "slack_user_id": person.slack_user_id,
                    "pagerduty_user_id": person.pagerduty_user_id,
                }
            ],
            "recipients": {"allow": [person.email, f"slack:{CHANNEL_ID}", f"pagerduty:{PAGER_SERVICE}"]},
            "suspension": {"default_channel": "slack"},
        }
