"""The PagerDuty webhook: V3 webhooks at ``/pagerduty/webhooks``.

PagerDuty repeats a webhook after a 503, in order and for two days, and switches the subscription off after three other
refusals. So every signed webhook gets a 202, unless it could not be stored, or its subject could not be found out.
``bot.inbound.pagerduty.events`` says what an event means.

Source: API.md §3, §6; facts on channels §C, §F; https://developer.pagerduty.com/docs/webhooks-behavior.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import structlog
from sqlalchemy.exc import SQLAlchemyError

from bot.inbound.pagerduty.answers import Taken, WebhookEvent
from bot.inbound.pagerduty.events import PagerDutyMeaning
from bot.inbound.pagerduty.identity import CHANNEL
from bot.inbound.pagerduty.parking import PagerDutyParking
from channels.pagerduty.rest import ApiUnavailable
from channels.pagerduty.webhooks import (
    HEADER,
    Annotated,
    FieldsSet,
    Ignored,
    is_id,
    is_signed,
    may_be_signed,
    read_webhook,
)
from core.errors import DatabaseUnavailable, HandraiseError
from core.inbound.reports import InboundReports
from core.ports import Clock

log = structlog.get_logger(__name__)

OLDEST = timedelta(hours=49)
"""PagerDuty repeats for 48 hours; what is older is somebody else's replay."""
REFUSALS_TOLD = timedelta(minutes=1)
"""How often at most the database is asked whether the operators know of refused signatures: anybody can knock."""
MISSING_TOKEN = frozenset({"http_401", "http_403"})

KEPT, UNSIGNED, COME_AGAIN = 202, 401, 503


class PagerDutyDoor:
    """Takes webhooks. ``secrets`` are the webhook subscription's, several while one is replaced."""

    def __init__(
        self,
        incoming: InboundReports,
        meaning: PagerDutyMeaning,
        parking: PagerDutyParking,
        *,
        secrets: Sequence[str],
        clock: Clock,
    ) -> None:
        self._incoming = incoming
        self._meaning = meaning
        self._parking = parking
        self._secrets = tuple(secrets)
        self._clock = clock
        self._told_at: datetime | None = None

    @staticmethod
    def may_be_signed(headers: Mapping[str, str]) -> bool:
        """Whether the body is worth reading; the names of ``headers`` are lower-case, or case-insensitive."""
        return may_be_signed(headers.get(HEADER, ""))

    async def receive(self, raw: bytes, headers: Mapping[str, str]) -> int:
        """The status of the reply. A 202 means that every change of the webhook is committed."""
        given = {name.lower(): value for name, value in headers.items()}
        if not is_signed(raw, given.get(HEADER, ""), self._secrets):
            await self._refused_signature()
            return UNSIGNED
        webhook = read_webhook(raw)
        if isinstance(webhook.happening, Ignored):
            log.info("pagerduty.webhook_ignored", reason=webhook.happening.reason)
            return KEPT
        webhook_id, now = given.get("x-webhook-id"), self._clock.now()
        happened_at = min(webhook.occurred_at or now, now)
        if now - happened_at > OLDEST:
            log.warning("pagerduty.webhook_ignored", reason="too_old")
            return KEPT
        named = {"webhook": webhook_id if is_id(webhook_id) else None, "event": webhook.id}
        ids = [f"{kind}:{one}" for kind, one in named.items() if one]
        return await self._keep(WebhookEvent(webhook, ids, happened_at), raw)

    async def _keep(self, event: WebhookEvent, raw: bytes) -> int:
        try:
            await self._take(event, raw)
        except ApiUnavailable as trouble:
            log.warning("pagerduty.lookup_failed", reason=trouble.reason)
            if trouble.reason in MISSING_TOKEN:
                with contextlib.suppress(HandraiseError):  # the database is away: the next failure tells it
                    await self._incoming.people_unknown(CHANNEL, trouble.reason)
            return COME_AGAIN
        except (DatabaseUnavailable, SQLAlchemyError) as trouble:
            log.warning("pagerduty.webhook_not_kept", reason=type(trouble).__name__)
            return COME_AGAIN
        return KEPT

    async def _take(self, event: WebhookEvent, raw: bytes) -> None:
        """Apply and remember it; an event that can't be understood yet is parked."""
        happening = event.webhook.happening
        if isinstance(happening, Ignored):
            return
        seen, waiting = await self._parking.before(event, happening.where.incident)
        if seen:
            log.info("pagerduty.webhook_ignored", reason="repeated")
            return
        in_turn = await self._parking.take(waiting) or not isinstance(happening, Annotated | FieldsSet)
        if not in_turn or await self._meaning.take(event) is Taken.TOO_EARLY:  # what may answer waits for its turn
            await self._parking.park(event, raw)

    async def _refused_signature(self) -> None:
        """Alerts the operators at the first, and then once an hour: after three, PagerDuty sends nothing for a day."""
        log.warning("pagerduty.signature_refused")
        now = self._clock.now()
        if self._told_at is None or abs(now - self._told_at) >= REFUSALS_TOLD:
            self._told_at = now
            with contextlib.suppress(HandraiseError, SQLAlchemyError):  # it is no less a refusal
                await self._incoming.signature_refused(CHANNEL)
