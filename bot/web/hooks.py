"""Hooks for vendors: Slack, PagerDuty, inbound mail. No API key; each checks its vendor's own signature.

Source: API.md §6.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response
from starlette.routing import BaseRoute

from bot.front.connections import vouch
from bot.web.api.replies import Accepted, Envelope, refusals, reply
from core.errors import envelope

if TYPE_CHECKING:  # a vendor's code is loaded if it is set up
    from bot.inbound.mail.imap import MailPoller
    from bot.inbound.mail.lmtp import MailListener
    from bot.inbound.mail.webhook import MailWebhook
    from bot.inbound.pagerduty.webhook import PagerDutyDoor
    from bot.inbound.slack.app import SlackApp

MAIL_PATH = "/email/inbound"
_MESSAGES = {
    401: ("unauthorized", "The signature is missing or wrong."),
    503: ("database_unavailable", "Try again: nothing was stored."),
}


@dataclass(slots=True)
class Doors:
    """The vendors that are set up. A door may be replaced by another of its kind: a request that is under way ends by
    the one that it came by."""

    slack: SlackApp | None = None
    mail: MailWebhook | None = None
    pagerduty: PagerDutyDoor | None = None
    mail_listener: MailListener | None = None
    mail_poller: MailPoller | None = None

    @property
    def standing(self) -> dict[str, str]:
        """How the ways in stand that are not brought here by HTTP, by their names in ``/readyz``."""
        found = {
            "slack": self.slack.standing if self.slack is not None else None,
            "mail_listener": self.mail_listener.standing if self.mail_listener is not None else None,
            "mail_poller": self.mail_poller.standing if self.mail_poller is not None else None,
        }
        return {name: standing for name, standing in found.items() if standing is not None}

    async def start(self) -> None:
        """Begin to ask for what is not brought here by HTTP: Slack's sockets, mail. Raises :class:`ConfigError` where
        mail can't be listened for."""
        if self.mail_listener is not None:
            await self.mail_listener.start()
        if self.mail_poller is not None:
            self.mail_poller.start()
        if self.slack is not None:
            self.slack.start()

    async def stop_taking(self) -> None:
        """What has arrived is finished, and nothing more is asked for."""
        taking = (self.slack, self.mail_listener, self.mail_poller)
        await asyncio.gather(*(door.stop_taking() for door in taking if door is not None))

    async def close(self) -> None:
        """After the last request."""
        if self.slack is not None:
            await self.slack.close()


_ANSWERED: dict[int | str, dict[str, Any]] = {
    202: {"model": Accepted, "description": "Verified, and kept."},
    **refusals(413),
    401: {"model": Envelope, "description": "The signature is missing or wrong."},
}


def _signed(header: str, pattern: str, media_types: Sequence[str], description: str) -> dict[str, Any]:
    """How a vendor's request looks in the OpenAPI document: raw bytes, and the signature over them."""
    schema = {"type": "string", "pattern": pattern}
    said = "The vendor's signature of the body, as it is written there: HMAC-SHA-256 in hexadecimal."
    signature = {"name": header, "in": "header", "required": True, "description": said, "schema": schema}
    content: dict[str, Any] = {media_type: {"schema": {}} for media_type in media_types}
    body = {"required": True, "description": description, "content": content}
    return {"parameters": [signature], "requestBody": body}


_slack, _pagerduty, _mail = (APIRouter(tags=["vendors"]) for _ in range(3))


def routes(doors: Doors) -> list[BaseRoute]:
    """Those of the vendors that are set up; each finds its door as ``app.state.doors``."""
    speaks_http = doors.slack is not None and doors.slack.speaks_http
    set_up = [(_slack, speaks_http), (_pagerduty, doors.pagerduty is not None), (_mail, doors.mail is not None)]
    return [route for router, is_set_up in set_up if is_set_up for route in router.routes]


def _doors(request: Request) -> Any:
    return request.app.state.doors


@_slack.post("/slack/events", summary="Slack, in HTTP mode", include_in_schema=False)
async def slack(request: Request) -> Response:
    return _known(request, await _doors(request).slack.handle(request))


@_pagerduty.post(
    "/pagerduty/webhooks",
    summary="PagerDuty's V3 webhooks",
    status_code=202,
    responses=_ANSWERED,
    openapi_extra=_signed(
        "X-PagerDuty-Signature",
        r"^\s*v1=[0-9a-f]{64}(\s*,\s*v1=[0-9a-f]{64})*\s*$",
        ("application/json",),
        "A webhook of PagerDuty's. Whatever else is signed is accepted too, and ignored.",
    ),
)
async def pagerduty(request: Request) -> Response:
    """PagerDuty calls it. Acknowledging, resolving and notes on an incident become claims and answers."""
    door = _doors(request).pagerduty
    raw = await request.body() if door.may_be_signed(request.headers) else b""
    return _known(request, _told(await door.receive(raw, request.headers)))


@_mail.post(
    MAIL_PATH,
    summary="A mail that came in, as raw MIME",
    status_code=202,
    responses=_ANSWERED,
    openapi_extra=_signed(
        "X-Handraise-Signature",
        r"^\s*t=[0-9]{1,12}\s*,\s*v1=[0-9a-f]{64}\s*$",
        ("message/rfc822", "application/octet-stream"),
        "The mail as it arrived, headers and all.",
    ),
)
async def mail(request: Request) -> Response:
    """Your mail server posts each mail here. 202 means that it is stored, whatever it says; 503 means that it has to be
    sent again."""
    door, signature = _doors(request).mail, request.headers.get("x-handraise-signature")
    raw = await request.body() if door.may_be_signed(signature) else b""
    return _known(request, _told(await door.receive(raw, signature)))


def _known(request: Request, response: Response) -> Response:
    """Whoever has signed a request is no stranger."""
    if response.status_code != 401:
        vouch(request.scope)
    return response


def _told(status: int) -> Response:
    """Vendors read the status alone; people who try the door by hand get the envelope."""
    if status in _MESSAGES:
        return reply(envelope(*_MESSAGES[status]), status)
    return reply({"accepted": True}, status)
