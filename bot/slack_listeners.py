"""Bolt's listeners: what to say to Slack at once, and what to the person beside it.

The commit comes before ``ack()``. Whatever is told afterwards runs in a task of its own: an error after ``ack()`` would
take it back, and Slack would show a warning although the answer counts.

Source: https://docs.slack.dev/interactivity/handling-user-interaction; facts on channels §0.4, §0.5, §A2.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from typing import Any, TypeVar

import structlog
from slack_bolt.async_app import AsyncAck
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack_answers import Modal, Recorded, SlackAnswers, Told, Wrong
from channels.slack import notes
from channels.slack.client import tell_privately
from channels.slack.errors import CAUGHT, failure_of
from channels.slack.modal import told_modal
from channels.slack.mrkdwn import escaped
from channels.slack.replies import (
    Chosen,
    LinkFollowed,
    NotForUs,
    OnIt,
    WantsModal,
    first_input,
    read_action,
    read_submission,
)
from channels.slack.values import Sign

log = structlog.get_logger(__name__)
T = TypeVar("T")

IN_TIME = timedelta(seconds=2)
"""Slack shows a warning sign after three seconds; a person is told before that."""
GRACE = timedelta(seconds=5)
NOTE_LENGTH = 2_900


class SlackListeners:
    """``close`` after the last request."""

    def __init__(
        self,
        answers: SlackAnswers,
        client: AsyncWebClient,
        *,
        sign: Sign,
        now: Callable[[], datetime],
        in_time: timedelta = IN_TIME,
    ) -> None:
        self._answers = answers
        self._client = client
        self._sign = sign
        self._now = now
        self._limit = in_time
        self._under_way: set[asyncio.Task[Any]] = set()

    async def close(self) -> None:
        """Let what is under way finish, as long as that is soon."""
        if self._under_way:
            _, left = await asyncio.wait(self._under_way, timeout=GRACE.total_seconds())
            for task in left:
                task.cancel()

    async def on_action(self, ack: AsyncAck, body: dict[str, Any]) -> None:
        match read_action(body):
            case Chosen() as pressed:
                said: Recorded | Told | Modal | None = await self._in_time(self._answers.choose(pressed))
            case OnIt() as pressed:
                said = await self._in_time(self._answers.claim(pressed))
            case WantsModal() as pressed:
                said = await self._in_time(self._answers.modal(pressed))
                if isinstance(said, Modal):
                    self._spawn(self._open(said, pressed.trigger_id, pressed.response_url))
            case NotForUs(reason):
                log.info("slack.action_ignored", reason=reason)
                said = Told(notes.NO_LONGER_OPEN)
            case LinkFollowed():
                said = None
        await ack()
        if isinstance(said, Told):
            self._tell(body.get("response_url"), said.text)

    async def on_submission(self, ack: AsyncAck, body: dict[str, Any]) -> None:
        submitted = read_submission(body, self._sign)
        if isinstance(submitted, NotForUs):
            log.info("slack.submission_ignored", reason=submitted.reason)
            await ack(response_action="update", view=told_modal("", notes.NO_LONGER_OPEN))
            return
        match await self._in_time(self._answers.submit(submitted)):
            case Recorded():
                await ack(response_action="clear")
            case Told(text):
                await ack(response_action="update", view=told_modal(submitted.ref, text))
            case Wrong(errors):
                await ack(response_action="errors", errors=dict(errors))

    async def on_error(self, error: Exception, body: dict[str, Any]) -> BoltResponse:
        """Nothing was recorded, or we can't know: the person is told to try again, which is always harmless."""
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{frames[-1].name}:{frames[-1].lineno}" if frames else None
        log.error("slack.interaction_failed", error=type(error).__name__, where=where)
        if body.get("type") == "view_submission":
            block = first_input(body)
            errors = {"response_action": "errors", "errors": {block: notes.NOT_SAVED}}
            return BoltResponse(status=200, body=errors if block is not None else "")
        self._tell(body.get("response_url"), notes.NOT_SAVED)
        return BoltResponse(status=200, body="")

    # --- Beside the response --------------------------------------------------------------------------------------

    async def _in_time(self, work: Coroutine[Any, Any, T]) -> T:
        """Raises ``TimeoutError`` when it takes too long; it goes on all the same, never cut off inside a commit."""
        task = asyncio.create_task(work)
        self._under_way.add(task)
        done, _ = await asyncio.wait({task}, timeout=self._limit.total_seconds())
        if not done:
            task.add_done_callback(self._done)
            raise TimeoutError
        self._under_way.discard(task)
        return task.result()

    async def _open(self, modal: Modal, trigger_id: str, response_url: str | None) -> None:
        try:
            await self._client.views_open(trigger_id=trigger_id, view=modal.view)
        except CAUGHT as error:
            log.warning("slack.modal_not_opened", reason=failure_of(error, self._now()).reason)
            self._tell(response_url, notes.press_again(modal.link))

    def _tell(self, response_url: Any, text: str) -> None:
        if isinstance(response_url, str):
            self._spawn(self._tell_privately(response_url, text))

    async def _tell_privately(self, response_url: str, text: str) -> None:
        status = await tell_privately(response_url, escaped(text, NOTE_LENGTH))
        if status != 200:
            log.warning("slack.private_reply_refused", status=status)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        """Nothing hangs on what is told beside a response: a failure is only noted, by its kind, since asyncio would
        write it out with whatever is in it."""
        self._under_way.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("slack.task_failed", error=type(error).__name__)
