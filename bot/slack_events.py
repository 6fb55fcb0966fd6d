"""Bolt's listener for what Slack tells of by itself. Every event is told at least once, and counts once.

An event that was dealt with is remembered by its id before it is acknowledged; one that a process died over comes
again and is dealt with then, whatever ``X-Slack-Retry-Num`` says.

Source: https://docs.slack.dev/apis/events-api (retries); facts on channels §A2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import structlog
from slack_bolt.async_app import AsyncAck

from bot.slack_access import CHANNEL
from bot.slack_beside import Beside
from bot.slack_home import SlackHome
from bot.slack_threads import SlackThreads
from channels.slack.events import CutOff, HomeOpened, Nothing, Words, event_id, read_event
from channels.slack.replies import Payload
from core.engine import Engine

log = structlog.get_logger(__name__)

EVENTS = "slack_event"


@dataclass(frozen=True, slots=True)
class SlackEvents:
    engine: Engine
    threads: SlackThreads
    home: SlackHome
    beside: Beside

    async def on_event(self, ack: AsyncAck, body: dict[str, Any]) -> None:
        happened = read_event(body)
        if not isinstance(happened, Nothing):
            await self.beside.in_time(self._once(body, happened))
        await ack()

    async def _once(self, payload: Payload, happened: Words | HomeOpened | CutOff) -> None:
        if isinstance(happened, Words) and not await self.threads.concerns_us(happened):
            return
        known = event_id(payload)
        if known is not None and await self.engine.was_seen(EVENTS, known):
            log.info("slack.event_repeated")
            return
        match happened:
            case Words():
                await self.threads.hear(happened)
            case HomeOpened(by):
                self.home.opened(by)
            case CutOff(reason):
                log.error("slack.access_taken_away", reason=reason)
                await self.engine.incoming.cut_off(CHANNEL, reason)
        if known is not None:
            await self.engine.seen(EVENTS, known)
