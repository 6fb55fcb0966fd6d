"""Threads and direct messages: handles a person's message to us. An answer if that is allowed, else a hint, once.

Only with ``slack.answer_in_thread`` is a reply in a question's thread an answer, and only to a question for a text:
people talk in threads, and talk is no decision.

Source: facts on channels §F, "thread reply text"; docs/decisions/0017.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace

import structlog

from bot.inbound.slack.answers import SlackAnswers, SlackVisit, message_of
from bot.inbound.slack.background import BackgroundWork
from bot.inbound.slack.identity import CHANNEL, SlackIdentity
from bot.inbound.slack.outcomes import SaidPrivately, Wrong
from channels.slack import notes
from channels.slack.errors import CAUGHT, failure_of
from channels.slack.events import UserMessage, as_typed, delivery_of_thread
from channels.slack.interactions import Reach
from core.domain.answers import GivenAnswer
from core.domain.reception import Recorded
from core.domain.suspension import ResponseType, Suspension
from core.inbound.reports import InboundReports
from core.ports import Refused

log = structlog.get_logger(__name__)

HINTS = "slack_hint"
"""The kind under which it is kept whom a hint was given."""
MOST_THREADS = 10_000
"""Whose root is kept; the one that was read first is forgotten first."""


@dataclass(frozen=True, slots=True)
class SlackThreads:
    incoming: InboundReports
    identity: SlackIdentity
    answers: SlackAnswers
    background: BackgroundWork
    answer_in_thread: bool
    _roots: OrderedDict[tuple[str, str], str | None] = field(default_factory=OrderedDict)
    """The delivery that a thread's root carries, ``None`` for none of ours: what Slack has said once never changes."""

    async def concerns_us(self, words: UserMessage) -> bool:
        """Whether it is said to us: most messages of a channel are not, and cost no read of the database."""
        home = await self.identity.ours.home()
        said_by_us = words.by.user_id == home.bot_user_id
        return not said_by_us and (words.thread_ts is None or words.thread_by in {None, home.bot_user_id})

    async def hear(self, words: UserMessage) -> None:
        """Raises the database's errors, so that Slack sends it again; and Slack's errors, if an answer would be
        lost."""
        if words.thread_ts is None:
            await self._hint(words, "direct", notes.USE_BUTTONS_OR_COMMAND)
            return
        delivery = await self._delivery(words.channel, words.thread_ts)
        asked = await self.incoming.of_delivery(delivery) if delivery is not None else None
        if asked is not None and delivery is not None:
            await self._reply(words, asked, delivery)

    async def _delivery(self, channel: str, thread_ts: str) -> str | None:
        """The delivery of the message that begins the thread, if it is ours."""
        thread = (channel, thread_ts)
        if thread in self._roots:
            return self._roots[thread]
        try:
            found = await delivery_of_thread(self.background.client, await self.identity.ours.home(), *thread)
        except CAUGHT as error:
            failure = failure_of(error, self.background.now())
            if self.answer_in_thread and not isinstance(failure, Refused):
                raise
            log.warning("slack.thread_unreadable", reason=failure.reason)  # no scope, a channel we have left, or busy
            return None
        self._roots[thread] = found
        if len(self._roots) > MOST_THREADS:
            self._roots.popitem(last=False)
        return found

    async def _reply(self, words: UserMessage, asked: Suspension, delivery: str) -> None:
        ref, reach = asked.ask.ref, Reach(channel=words.channel, ts=words.thread_ts)
        if not self.answer_in_thread or asked.ask.response_type is not ResponseType.TEXT:
            known = await self.answers.look(words.by, ref, delivery, reach)
            ended = known.suspension if isinstance(known, SlackVisit) and not known.suspension.is_open else None
            await self._hint(words, ref, await self.answers.truth(ended) if ended else notes.USE_BUTTONS_OR_COMMAND)
            return
        visit = await self.answers.visit(words.by, ref, delivery, reach)
        if isinstance(visit, SaidPrivately):
            await self._hint(words, ref, visit.text)
        else:
            await self._answer(words, visit)

    async def _answer(self, words: UserMessage, visit: SlackVisit) -> None:
        value = as_typed(words.text)
        via = replace(visit.via, message_id=message_of(words.channel, words.ts))
        given = GivenAnswer(visit.suspension.id, visit.actor, CHANNEL, value=value, via=via)
        match await self.answers.give(visit, given):
            case Recorded():
                pass  # the message itself says so, to everybody
            case SaidPrivately(text) | Wrong(text=text):
                self._whisper(words, text)

    async def _hint(self, words: UserMessage, about: str, text: str) -> None:
        """Once to a person for each question; ``about`` is its ref."""
        if not await self.incoming.seen(HINTS, f"{about} {words.by.user_id}"):
            self._whisper(words, text)

    def _whisper(self, words: UserMessage, text: str) -> None:
        self.background.whisper(words.channel, words.by.user_id, words.thread_ts, text)
