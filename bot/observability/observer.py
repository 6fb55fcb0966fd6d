"""The observer of core: one log line and one count for each event.

A line is named after the event in the intent's log and names its question by ``ref``; its fields come from closed sets.
Questions, answers and people are only in the database, for those who may read it.

Source: HOUSE.md, "Logs and metrics".
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import structlog

from bot.observability.telemetry import Metrics
from core.domain.suspension import Suspension
from core.domain.vocabulary import (
    CANCELLED,
    EXPIRED,
    MESSAGE_RECEIVED,
    RESUMED,
    SUSPENDED,
    Event,
    Notify,
    Outcome,
)

log = structlog.get_logger("suspensions")

_ENDS = frozenset({RESUMED, EXPIRED, CANCELLED})
_NAMES = {SUSPENDED: "suspension.opened", RESUMED: "suspension.responded"}


class ServiceObserver:
    """Implements :class:`core.ports.Observer`."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def moved(self, outcome: Outcome) -> None:
        suspension = outcome.suspension
        for effect in outcome.effects:
            if isinstance(effect, Notify):
                self._metrics.attempt(suspension.ask.planned(effect.attempt).channel)
        if suspension.ended is not None and any(event.type in _ENDS for event in outcome.events):
            waited = suspension.ended.at - suspension.ask.suspended_at
            self._metrics.resolution(suspension.status.value, waited.total_seconds())
        for event in outcome.events:
            log.info(line_name(event.type), suspension=suspension.ask.ref, **_fields(suspension, event))

    def looked(self, late: timedelta) -> None:
        self._metrics.work_lag(late.total_seconds())

    def tried(self, channel: str, outcome: str, late: timedelta) -> None:
        self._metrics.try_(channel, outcome)
        self._metrics.relay_lag(late.total_seconds())

    def callback_died(self, ref: str, reason: str) -> None:
        self._metrics.callback_died()
        log.warning("callback.died", suspension=ref, reason=reason)

    def received(self, channel: str, door: str, kind: str) -> None:
        if channel == "email":
            self._metrics.mail_received(door, kind)

    def quarantined(self, channel: str, reason: str) -> None:
        if channel == "email":
            self._metrics.mail_quarantined(reason)
        log.warning("message.quarantined", channel=channel, reason=reason)


def line_name(event_type: str) -> str:
    """``intent.suspension_renotified`` → ``suspension.renotified``."""
    name = event_type.removeprefix("intent.").replace("suspension_", "suspension.", 1)
    return _NAMES.get(event_type, name)


def _fields(suspension: Suspension, event: Event) -> dict[str, Any]:
    """The loggable fields of ``event``: numbers, and our own words."""
    payload = event.payload
    found: dict[str, Any] = {
        "attempt": payload.get("attempt", suspension.attempt),
        "channel": payload.get("channel") or payload.get("channel_hint"),
    }
    if event.type == SUSPENDED:
        found |= {"kind": suspension.ask.kind.value, "attempts": suspension.ask.max_attempts}
    if event.type == MESSAGE_RECEIVED:
        found |= {"kind": payload.get("kind"), "reason": payload.get("reason")}
    if suspension.ended is not None:
        found |= {"resolution": suspension.status.value, "error": suspension.ended.error}
    return {name: value for name, value in found.items() if value is not None}
