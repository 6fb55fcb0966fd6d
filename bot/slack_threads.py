"""Words that somebody writes to us in Slack: the answer to a question that may be answered so, else a hint, once.

Only ``slack.answer_in_thread`` makes a reply in a question's thread an answer, and only to a question for a text:
people talk in threads, and talk is no decision.

Source: facts on channels §F, "thread reply text"; docs/decisions/0017.
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from bot.slack_access import CHANNEL, SlackAccess
from bot.slack_answers import Seat, SlackAnswers
from bot.slack_beside import Beside
from bot.slack_said import Recorded, Told, Wrong
from channels.slack import notes
from channels.slack.errors import CAUGHT, failure_of
from channels.slack.events import Words
from channels.slack.replies import Reach
from channels.slack.threads import as_typed, delivery_of_thread
from core.domain.answering import GivenAnswer
from core.domain.suspension import ResponseType
from core.engine import Engine
from core.ports import Refused

log = structlog.get_logger(__name__)

HINTS = "slack_hint"
"""The kind under which it is kept whom a hint was given."""


@dataclass(frozen=True, slots=True)
class SlackThreads:
    engine: Engine
    access: SlackAccess
    answers: SlackAnswers
    beside: Beside
    answer_in_thread: bool

    async def concerns_us(self, words: Words) -> bool:
        """Whether it is said to us: most of what a channel talks about is not, and costs no look at the database."""
        home = await self.access.ours.home()
        said_by_us = words.by.user_id == home.bot_user_id
        return not said_by_us and (words.thread_ts is None or words.thread_by in {None, home.bot_user_id})

    async def hear(self, words: Words) -> None:
        """Raises what the database does, so that Slack tells it again."""
        if words.thread_ts is None:
            await self._hint(words, "direct", notes.USE_BUTTONS_OR_COMMAND)
            return
        ref = await self._ref_of(words.channel, words.thread_ts)
        if ref is not None:
            await self._reply(words, words.thread_ts, *ref)

    async def _ref_of(self, channel: str, thread_ts: str) -> tuple[str, str] | None:
        """The question whose message a thread hangs under, and that message's delivery."""
        try:
            home = await self.access.ours.home()
            delivery = await delivery_of_thread(self.beside.client, home, channel, thread_ts)
        except CAUGHT as error:
            failure = failure_of(error, self.beside.now())
            if not isinstance(failure, Refused):
                raise
            log.warning("slack.thread_unreadable", reason=failure.reason)  # no scope, or a channel that we have left
            return None
        found = await self.engine.incoming.of_delivery(delivery) if delivery is not None else None
        return None if found is None or delivery is None else (found.ask.ref, delivery)

    async def _reply(self, words: Words, thread_ts: str, ref: str, delivery: str) -> None:
        seat = await self.answers.seat(words.by, ref, delivery, Reach(channel=words.channel, ts=thread_ts))
        if isinstance(seat, Told):
            await self._hint(words, ref, seat.text)
        elif not self.answer_in_thread or seat.suspension.ask.response_type is not ResponseType.TEXT:
            ended = None if seat.suspension.is_open else self.answers.truth(seat.suspension)
            await self._hint(words, ref, ended or notes.USE_BUTTONS_OR_COMMAND)
        else:
            await self._answer(words, seat)

    async def _answer(self, words: Words, seat: Seat) -> None:
        value = as_typed(words.text)
        given = GivenAnswer(seat.suspension.id, seat.actor, CHANNEL, value=value)
        match self.answers.unopened(seat) or await self.answers.give(seat, given):
            case Recorded():
                pass  # the message itself says so, to everybody
            case Told(text) | Wrong(text=text):
                self._whisper(words, text)

    async def _hint(self, words: Words, about: str, text: str) -> None:
        """Once to a person for each question; ``about`` is its ref."""
        if not await self.engine.seen(HINTS, f"{about} {words.by.user_id}"):
            self._whisper(words, text)

    def _whisper(self, words: Words, text: str) -> None:
        self.beside.whisper(words.channel, words.by.user_id, words.thread_ts, text)
