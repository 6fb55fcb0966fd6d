"""The App Home: published when a person opens theirs, and again when their waiting questions have changed.

Nobody waits for it. A Home that could not be published is published the next time it is opened. Homes are kept up to
date for a bounded number of people who opened theirs lately: a change costs a read of the open questions for each of
them, and a call if their Home differs. At most a tenth of the time goes into that. While Slack limits us nothing is
published, and after that every Home is looked at.

Source: https://docs.slack.dev/surfaces/app-home; docs/decisions/0017.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from bot.inbound.slack.answers import SlackAnswers
from bot.inbound.slack.background import BackgroundWork
from bot.inbound.slack.identity import NotAdmitted, SlackIdentity
from channels.slack.errors import CAUGHT, Failure, failure_of
from channels.slack.home import MOST, closed_view, home_view
from channels.slack.interactions import Who
from channels.slack.mrkdwn import Block
from core.ports import Deferred

log = structlog.get_logger(__name__)

VIEWERS = 50
"""Whose Homes are kept up to date: those who opened theirs last."""
WATCHED = timedelta(hours=1)
"""For so long after it was opened."""
PAUSE = timedelta(seconds=3)
"""Between two rounds: what happens meanwhile is shown together."""
REST = 9
"""A round that takes long is followed by so many times as long without one, however much changes."""


def rest_after(took: timedelta, pause: timedelta = PAUSE) -> timedelta:
    """The pause without looking at Homes after a round that took ``took``."""
    return max(pause, REST * took)


@dataclass(slots=True)
class _Viewer:
    who: Who
    opened_at: datetime
    shown: Block | None = None


@dataclass(slots=True)
class SlackHome:
    identity: SlackIdentity
    answers: SlackAnswers
    background: BackgroundWork
    pause: timedelta = PAUSE
    _viewers: OrderedDict[str, _Viewer] = field(default_factory=OrderedDict)
    _watching: asyncio.Task[None] | None = None
    _not_before: datetime | None = None
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _publishing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One look and its call at a time: what was looked up earlier never comes after what was looked up later."""

    def opened(self, who: Who) -> None:
        viewer = _Viewer(who, self.background.now())
        self._viewers[who.user_id] = viewer
        self._viewers.move_to_end(who.user_id)
        while len(self._viewers) > VIEWERS:
            self._viewers.popitem(last=False)
        self.background.spawn(self._publish(viewer))
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch(), name="slack-homes")

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def _watch(self) -> None:
        """As long as any Home is worth it. Slack's rate limits are measured by the clock."""
        took = timedelta(0)
        with self.identity.incoming.changes() as self._changed:
            while self._viewers:
                if self._not_before is None:
                    await self._changed.wait()
                await asyncio.sleep(rest_after(took, self.pause).total_seconds())
                self._changed.clear()
                if not self._is_held():
                    self._not_before = None
                    began = time.monotonic()
                    await self._round()
                    took = timedelta(seconds=time.monotonic() - began)

    def _is_held(self) -> bool:
        return self._not_before is not None and self.background.now() < self._not_before

    async def _round(self) -> None:
        now = self.background.now()
        for user_id, viewer in list(self._viewers.items()):
            if now - viewer.opened_at > WATCHED:
                self._viewers.pop(user_id, None)
                continue
            try:
                await self._publish(viewer)
            except Exception as error:  # noqa: BLE001 (the next change is another chance; nothing hangs on this one)
                log.warning("slack.home_not_published", error=type(error).__name__)

    async def _publish(self, viewer: _Viewer) -> None:
        async with self._publishing:
            if self._is_held():
                return
            view = await self._view(viewer.who)
            if view == viewer.shown:
                return
            try:
                await self.background.client.views_publish(user_id=viewer.who.user_id, view=view)
            except CAUGHT as error:
                self._not_published(failure_of(error, self.background.now()))
            else:
                viewer.shown = view

    def _not_published(self, failure: Failure) -> None:
        log.warning("slack.home_not_published", reason=failure.reason)
        if isinstance(failure, Deferred) and failure.until is not None:
            self._not_before = failure.until
            self._changed.set()

    async def _view(self, who: Who) -> Block:
        actor = await self.identity.who(who)
        if isinstance(actor, NotAdmitted):
            return closed_view(actor.text)
        waiting = await self.identity.waiting(actor, who, MOST)
        notices = [await self.answers.notice(one) for one in waiting.questions]
        return home_view(notices, waiting.total - len(notices), self.answers.when_cut)
