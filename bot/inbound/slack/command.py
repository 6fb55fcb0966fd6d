"""``/handraise``: lists, shows and answers questions, visible only to the person who typed it.

Source: docs/decisions/0017.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from slack_bolt.async_app import AsyncAck

from bot.inbound.slack.answers import SlackAnswers, SlackVisit
from bot.inbound.slack.background import NOTE_LENGTH, BackgroundWork
from bot.inbound.slack.identity import CHANNEL, NotAdmitted, SlackIdentity
from bot.inbound.slack.outcomes import Modal, SaidPrivately, Wrong
from bot.inbound.slack.teamwork import SlackTeamwork
from channels.grammar.reader import ClaimWord, Matched, read_answer
from channels.slack import notes
from channels.slack.command import (
    DELIVERY,
    HELP,
    LISTED,
    AnswerCommand,
    Help,
    ListThem,
    ShowCommand,
    Typed,
    choices,
    listing,
    read_command,
)
from channels.slack.interactions import OnIt, Reach, Who
from channels.slack.mrkdwn import escaped
from channels.slack.render import Rendered, render_notice
from core.domain.answers import GivenAnswer
from core.domain.reception import Recorded
from core.domain.suspension import ResponseType
from core.engine.permissions import Permissions
from core.engine.queries import Queries

Approach = Callable[[Who, str, str, Reach], Awaitable[SlackVisit | SaidPrivately]]
"""How somebody comes to a question: to answer it, or to look at it."""


@dataclass(frozen=True, slots=True)
class SlackCommand:
    queries: Queries
    permissions: Permissions
    identity: SlackIdentity
    answers: SlackAnswers
    teamwork: SlackTeamwork
    background: BackgroundWork
    public_url: str

    async def on_command(self, ack: AsyncAck, body: dict[str, Any]) -> None:
        typed = read_command(body)
        if typed is None:
            await ack(response_type="ephemeral", text=HELP)
            return
        said = await self.background.in_time(self._do(typed))
        if isinstance(said, Modal):
            await ack()
            self.background.open(said, typed.reach)
        else:
            await ack(response_type="ephemeral", text=said.text, blocks=list(said.blocks) or None)

    async def _do(self, typed: Typed) -> Rendered | Modal:
        match typed.command:
            case ListThem():
                return await self._list(typed)
            case ShowCommand(ref):
                return await self._show(typed, ref)
            case AnswerCommand(ref, words):
                return await self._answer(typed, ref, words)
            case Help():
                return Rendered(HELP)

    async def _list(self, typed: Typed) -> Rendered:
        actor = await self.identity.who(typed.by)
        if isinstance(actor, NotAdmitted):
            return _plain(actor.text)
        waiting = await self.identity.waiting(actor, typed.by, LISTED)
        notices = [await self.answers.notice(one) for one in waiting.questions]
        return Rendered(listing(notices, waiting.total - len(notices), f"{self.public_url}/inbox"))

    async def _show(self, typed: Typed, ref: str) -> Rendered:
        """Only for a person who may answer it, or may read everything; nobody else learns that the question exists."""
        visit = await self._visit(typed, ref, self.answers.look)
        if isinstance(visit, SaidPrivately):
            return _plain(visit.text)
        if self._may_not(visit) is not None and not self._may_read(visit):
            return _plain(notes.NOT_YOURS)
        if visit.suspension.is_open:
            return render_notice(await self.answers.notice(visit.suspension), DELIVERY, when_cut=self.answers.when_cut)
        return _plain(await self.answers.truth(visit.suspension))

    async def _answer(self, typed: Typed, ref: str, words: str) -> Rendered | Modal:
        """Reveals no more than :meth:`_show`. A person who may read but not answer is told who may; every such
        attempt is logged."""
        visit = await self._visit(typed, ref, self.answers.visit)
        if isinstance(visit, SaidPrivately):
            return _plain(visit.text)
        may_not = self._may_not(visit)
        if may_not is not None and not self._may_read(visit):
            await self.answers.tried(visit, may_not)
            return _plain(notes.NOT_YOURS)
        said = await (self._give(typed, visit, words) if may_not is None else self.answers.open(visit))
        match said:
            case Recorded():
                return _plain(notes.RECORDED)
            case SaidPrivately(text) | Wrong(text=text):
                return _plain(text)
            case Rendered() | Modal():
                return said

    async def _visit(self, typed: Typed, ref: str, approach: Approach) -> SlackVisit | SaidPrivately:
        """Anybody can type a ref, while a button was shown to somebody. So a stranger is told the same for every
        ref, and an unknown ref is answered like another person's question."""
        actor, visit = await self.identity.who(typed.by), await approach(typed.by, ref, DELIVERY, typed.reach)
        if isinstance(actor, NotAdmitted):
            return SaidPrivately(actor.text)
        if isinstance(visit, SaidPrivately) and await self.queries.find(ref) is None:
            return SaidPrivately(notes.NOT_YOURS)
        return visit

    def _may_not(self, visit: SlackVisit) -> str | None:
        return self.permissions.refusal(visit.suspension, visit.actor)

    def _may_read(self, visit: SlackVisit) -> bool:
        return self.permissions.may_read(visit.suspension, visit.actor)

    async def _give(
        self, typed: Typed, visit: SlackVisit, words: str
    ) -> Recorded | SaidPrivately | Wrong | Modal | Rendered:
        """By the same grammar as a mail. An answer of more than a line is given in its modal."""
        ask = visit.suspension.ask
        if ask.response_type is ResponseType.FORM or (ask.response_type is ResponseType.TEXT and not words):
            return await self.answers.open(visit)
        notice = await self.answers.notice(visit.suspension)
        read = read_answer(
            _REASON.split(words, maxsplit=1), ask.response_type, notice.choices, question=notice.question
        )
        if isinstance(read, ClaimWord):
            return await self.teamwork.claim(OnIt(typed.by, visit.ref, DELIVERY, typed.reach))
        if not isinstance(read, Matched):
            return await self.answers.unopened(visit) or Rendered(choices(notice))
        if read.index is not None and read.reason is None:
            return await self.answers.pick(visit, read.index)
        given = GivenAnswer(ask.id, visit.actor, CHANNEL, read.value, read.index, read.reason)
        return await self.answers.give(visit, given)


_REASON = re.compile(r"\s(?=reason:)", re.IGNORECASE)
"""A command is one line, and a reason begins one of its own."""


def _plain(text: str) -> Rendered:
    return Rendered(escaped(text, NOTE_LENGTH))
