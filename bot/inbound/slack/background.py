"""Background work beside a response to Slack: private messages, modals, and work that takes longer than Slack waits.

Nothing is lost if this fails: the answer was committed or refused before it begins.

Source: https://docs.slack.dev/interactivity/handling-user-interaction; facts on channels §0.5, §A2.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

import structlog
from slack_sdk.web.async_client import AsyncWebClient

from bot.inbound.slack.outcomes import Modal
from channels.slack import notes
from channels.slack.client import replace_private, tell_privately
from channels.slack.errors import CAUGHT, THREAD_GONE, TOO_LONG, failure_of
from channels.slack.interactions import Reach
from channels.slack.modals import told_modal
from channels.slack.mrkdwn import escaped

log = structlog.get_logger(__name__)
T = TypeVar("T")
Send = Callable[[str, str], Coroutine[Any, Any, int]]
"""An address of Slack's and the escaped text for it; the HTTP status."""

IN_TIME = timedelta(seconds=2)
"""Slack shows a warning sign after three seconds; a person is told before that."""
GRACE = timedelta(seconds=5)
NOTE_LENGTH = 2_900


class BackgroundWork:
    """``close`` after the last request."""

    def __init__(self, client: AsyncWebClient, now: Callable[[], datetime], in_time: timedelta = IN_TIME) -> None:
        self.client = client
        self.now = now
        self._limit = in_time
        self._under_way: set[asyncio.Task[Any]] = set()

    async def close(self) -> None:
        """Let running tasks finish, for a limited time."""
        if self._under_way:
            _, left = await asyncio.wait(self._under_way, timeout=GRACE.total_seconds())
            for task in left:
                task.cancel()

    async def in_time(self, work: Coroutine[Any, Any, T]) -> T:
        """Raises ``TimeoutError`` if it takes too long; the work goes on, and is never cut off inside a commit."""
        task = self.spawn(work)
        done, _ = await asyncio.wait({task}, timeout=self._limit.total_seconds())
        if not done:
            raise TimeoutError
        return task.result()

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._done)
        return task

    def tell(self, reach: Reach, text: str, link: str | None = None) -> None:
        """Only to the person who pressed: under the message, else in a modal, else in their direct messages.
        ``link`` is the one in ``text``: a modal makes none by itself."""
        if reach.response_url is not None:
            self.spawn(self._tell(reach.response_url, text))
        elif reach.trigger_id is not None:
            self.spawn(self._show(reach.trigger_id, reach.user_id, text, link))
        elif reach.user_id is not None:
            self.spawn(self._write_to(reach.user_id, text))

    def replace(self, reach: Reach, text: str) -> None:
        """Replace the private message whose button was pressed. Does nothing if Slack gave no address for it."""
        if reach.response_url is not None:
            self.spawn(self._tell(reach.response_url, text, replace_private))

    def whisper(self, channel: str, user_id: str, thread_ts: str | None, text: str) -> None:
        """Tell a person something privately, in the place where they wrote."""
        self.spawn(self._whisper(channel, user_id, thread_ts, text))

    def open(self, modal: Modal, reach: Reach) -> None:
        self.spawn(self._open(modal, reach))

    async def _tell(self, response_url: str, text: str, send: Send = tell_privately) -> None:
        status = await send(response_url, escaped(text, NOTE_LENGTH))
        if status != 200:
            log.warning("slack.private_reply_refused", status=status)

    async def _show(self, trigger_id: str, user_id: str | None, text: str, link: str | None) -> None:
        try:
            await self.client.views_open(trigger_id=trigger_id, view=told_modal("", text, link))
        except CAUGHT as error:
            log.warning("slack.private_reply_refused", reason=failure_of(error, self.now()).reason)
            if user_id is not None:
                await self._write_to(user_id, text)

    async def _write_to(self, user_id: str, text: str) -> None:
        try:
            await self.client.chat_postMessage(
                channel=user_id, text=escaped(text, NOTE_LENGTH), unfurl_links=False, unfurl_media=False
            )
        except CAUGHT as error:
            log.warning("slack.private_reply_refused", reason=failure_of(error, self.now()).reason)

    async def _whisper(self, channel: str, user_id: str, thread_ts: str | None, text: str) -> None:
        """At the top of the conversation if nobody may reply in its threads."""
        try:
            await self.client.chat_postEphemeral(
                channel=channel, user=user_id, thread_ts=thread_ts, text=escaped(text, NOTE_LENGTH)
            )
        except CAUGHT as error:
            reason = failure_of(error, self.now()).reason
            if thread_ts is not None and reason in THREAD_GONE:
                await self._whisper(channel, user_id, None, text)
            else:
                log.warning("slack.private_reply_refused", reason=reason)

    async def _open(self, modal: Modal, reach: Reach) -> None:
        try:
            await self.client.views_open(trigger_id=reach.trigger_id or "", view=modal.view)
        except CAUGHT as error:
            reason = failure_of(error, self.now()).reason
            log.warning("slack.modal_not_opened", reason=reason)
            says = notes.press_again if reason in TOO_LONG else notes.not_opened
            self.tell(replace(reach, trigger_id=None), says(modal.link), modal.link)  # a trigger opens one modal

    def _done(self, task: asyncio.Task[Any]) -> None:
        """A failure is only logged, by its kind: nothing depends on these messages, and asyncio would log the whole
        content."""
        self._under_way.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("slack.task_failed", error=type(error).__name__)
