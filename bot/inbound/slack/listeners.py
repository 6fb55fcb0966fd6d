"""Bolt's listeners: the immediate response to Slack, and what follows. For clicks, modals and events.

The commit comes before ``ack()``. Messages after it run in a task of their own: an error after ``ack()`` would revoke
it, and Slack would show a warning although the answer counts.

Slack sends every event at least once; it counts once. An event is remembered by its id before it is acknowledged. If a
process dies before that, the event comes again and is handled then, whatever ``X-Slack-Retry-Num`` says.

Source: https://docs.slack.dev/interactivity/handling-user-interaction; https://docs.slack.dev/apis/events-api
(retries); facts on channels §0.4, §0.5, §A2.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Any

import structlog
from slack_bolt.async_app import AsyncAck
from slack_bolt.response import BoltResponse

from bot.inbound.slack.answers import SlackAnswers
from bot.inbound.slack.background import BackgroundWork
from bot.inbound.slack.home import SlackHome
from bot.inbound.slack.identity import CHANNEL
from bot.inbound.slack.outcomes import Applied, Modal, SaidPrivately, Wrong
from bot.inbound.slack.teamwork import SlackTeamwork
from bot.inbound.slack.threads import SlackThreads
from channels.slack import command, home, notes
from channels.slack.events import AccessRevoked, HomeOpened, IgnoredEvent, UserMessage, event_id, read_event
from channels.slack.interactions import (
    Action,
    AskedAgent,
    Chosen,
    GivesBack,
    HandedOver,
    LinkFollowed,
    NotForUs,
    OnIt,
    Payload,
    Submission,
    Submitted,
    TakenBack,
    WantsModal,
    WantsPage,
    WantsToAsk,
    WantsToHandOver,
    first_input,
    reach_of,
    read_action,
    read_submission,
)
from channels.slack.modals import told_modal
from channels.slack.payloads import Sign
from core.domain.reception import Recorded
from core.inbound.reports import InboundReports

log = structlog.get_logger(__name__)

SAME_VIEW = "update"


class SlackListeners:
    """``sign`` is the seal of modals."""

    def __init__(
        self, answers: SlackAnswers, teamwork: SlackTeamwork, background: BackgroundWork, home: SlackHome, *, sign: Sign
    ) -> None:
        self._answers = answers
        self._teamwork = teamwork
        self._background = background
        self._home = home
        self._sign = sign

    async def on_action(self, ack: AsyncAck, body: dict[str, Any]) -> None:
        reach, done = reach_of(body), read_action(body)
        said = await self._done(done)
        await ack()
        if isinstance(said, Modal):
            self._background.open(said, reach)
        if isinstance(said, SaidPrivately):
            self._background.tell(reach, said.text, said.link)
        if isinstance(done, Chosen | OnIt):
            self._show_again(done, said)

    async def _done(  # noqa: PLR0911 (one for each action)
        self, done: Action
    ) -> Recorded | SaidPrivately | Modal | None:
        in_time, answers, teamwork = self._background.in_time, self._answers, self._teamwork
        match done:
            case Chosen():
                return await in_time(answers.choose(done))
            case OnIt():
                return await in_time(teamwork.claim(done))
            case GivesBack():
                return await in_time(teamwork.give_back(done))
            case TakenBack():
                return await in_time(teamwork.undo(done))
            case WantsToAsk():
                return await in_time(teamwork.asking(done))
            case WantsToHandOver():
                return await in_time(teamwork.handing_over(done))
            case WantsModal():
                return await in_time(answers.modal(done))
            case WantsPage():
                return await in_time(answers.page(done))
            case NotForUs(reason):
                log.info("slack.action_ignored", reason=reason)
                return SaidPrivately(notes.NO_LONGER_OPEN)
            case LinkFollowed():
                return None

    def _show_again(
        self, done: Chosen | OnIt | Submission, said: Recorded | Applied | SaidPrivately | Wrong | Modal | None
    ) -> None:
        """The outbox edits our messages; the other places that were pressed are updated here."""
        if done.delivery == home.DELIVERY and isinstance(said, Recorded | SaidPrivately):
            self._home.opened(done.by)
        if isinstance(done, Chosen) and done.delivery == command.DELIVERY and isinstance(said, Recorded):
            self._background.replace(done.reach, notes.RECORDED)

    async def on_submission(self, ack: AsyncAck, body: dict[str, Any]) -> None:
        submitted = read_submission(body, self._sign)
        if isinstance(submitted, NotForUs):
            log.info("slack.submission_ignored", reason=submitted.reason)
            await ack(response_action=SAME_VIEW, view=told_modal("", notes.NO_LONGER_OPEN))
            return
        said = await self._background.in_time(self._taken(submitted))
        match said:
            case Recorded() | Applied():
                await ack(response_action="clear")
            case SaidPrivately(text, link):
                await ack(response_action=SAME_VIEW, view=told_modal(submitted.ref, text, link))
            case Modal(view):
                await ack(response_action=SAME_VIEW, view=view)
            case Wrong(errors):
                await ack(response_action="errors", errors=dict(errors))
        self._show_again(submitted, said)

    async def _taken(self, submitted: Submission) -> Recorded | Applied | SaidPrivately | Wrong | Modal:
        match submitted:
            case Submitted():
                return await self._answers.submit(submitted)
            case AskedAgent():
                return await self._teamwork.ask(submitted)
            case HandedOver():
                return await self._teamwork.hand_over(submitted)

    def on_another_app(self, payload: Payload) -> BoltResponse:
        """The button is another app's: the person is told so, and bolt never sees it."""
        log.warning("slack.other_app_refused")
        if payload.get("type") == "view_submission":
            view = told_modal("", notes.NO_LONGER_OPEN)
            return BoltResponse(status=200, body={"response_action": SAME_VIEW, "view": view})
        if payload.get("type") == "block_actions":
            self._background.tell(reach_of(payload), notes.NO_LONGER_OPEN)
        return BoltResponse(status=200, body="")

    async def on_error(self, error: Exception, body: dict[str, Any]) -> BoltResponse:
        """Nothing was recorded, or we can't know: the person is told to try again, which is always harmless. An
        event is refused, so that Slack sends it again."""
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{frames[-1].name}:{frames[-1].lineno}" if frames else None
        log.error("slack.interaction_failed", error=type(error).__name__, where=where)
        if body.get("type") == "event_callback":
            return BoltResponse(status=503, body="")
        if "command" in body:
            return BoltResponse(status=200, body={"response_type": "ephemeral", "text": notes.NOT_SAVED})
        if body.get("type") == "view_submission":
            block = first_input(body)
            errors = {"response_action": "errors", "errors": {block: notes.NOT_SAVED}}
            return BoltResponse(status=200, body=errors if block is not None else "")
        self._background.tell(reach_of(body), notes.NOT_SAVED)
        return BoltResponse(status=200, body="")


EVENTS = "slack_event"


@dataclass(frozen=True, slots=True)
class SlackEvents:
    incoming: InboundReports
    threads: SlackThreads
    home: SlackHome
    background: BackgroundWork

    async def on_event(self, ack: AsyncAck, body: dict[str, Any]) -> None:
        happened = read_event(body)
        if not isinstance(happened, IgnoredEvent):
            await self.background.in_time(self._once(body, happened))
        await ack()

    async def _once(self, payload: Payload, happened: UserMessage | HomeOpened | AccessRevoked) -> None:
        if isinstance(happened, UserMessage) and not await self.threads.concerns_us(happened):
            return
        known = event_id(payload)
        if known is not None and await self.incoming.was_seen(EVENTS, known):
            log.info("slack.event_repeated")
            return
        match happened:
            case UserMessage():
                await self.threads.hear(happened)
            case HomeOpened(by):
                self.home.opened(by)
            case AccessRevoked(reason):
                log.error("slack.access_taken_away", reason=reason)
                await self.incoming.cut_off(CHANNEL, reason)
        if known is not None:
            await self.incoming.seen(EVENTS, known)
