"""What people do in Slack with a question beside answering it: claim it or give it back, ask back, hand it over, and
undo their answer. Applies an interaction, and says what the person is told.

Everybody who was asked sees it in their messages, which are edited.

Source: docs/decisions/0009, 0010, 0124.
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from bot.inbound.slack.answers import SlackAnswers, SlackVisit
from bot.inbound.slack.identity import CHANNEL
from bot.inbound.slack.outcomes import Applied, Modal, SaidPrivately, Wrong
from channels.slack import notes
from channels.slack.interactions import (
    AskedAgent,
    GivesBack,
    HandedOver,
    OnIt,
    Press,
    Reach,
    TakenBack,
    WantsToAsk,
    WantsToHandOver,
)
from channels.slack.modals import PERSON_BLOCK, TEXT_BLOCK, ask_back_modal, hand_over_modal
from channels.slack.payloads import Sign
from core.domain.suspension import Suspension
from core.engine.collaboration import Collaboration
from core.engine.reception import would_refuse
from core.errors import HandraiseError, NothingToUndo

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SlackTeamwork:
    """``sign`` seals modals."""

    answers: SlackAnswers
    collaboration: Collaboration
    sign: Sign

    async def claim(self, pressed: OnIt) -> SaidPrivately:
        visit = await self._visit(pressed)
        if isinstance(visit, SaidPrivately):
            return visit
        claimed = await self.collaboration.engine.claim(visit.suspension.id, visit.actor, CHANNEL)
        if not isinstance(claimed, Suspension):
            return await self.answers.refused(claimed, visit)
        return SaidPrivately(notes.claimed(claimed.ask.ref, claimed.claim))

    async def give_back(self, pressed: GivesBack) -> SaidPrivately:
        visit = await self._visit(pressed)
        if isinstance(visit, SaidPrivately):
            return visit
        try:
            await self.collaboration.engine.release(visit.suspension.id, visit.actor)
        except HandraiseError as refused:  # they hold no claim, or it is over
            return SaidPrivately(refused.message)
        log.info("slack.claim_given_back", ref=visit.ref)
        return SaidPrivately(notes.GIVEN_BACK)

    async def undo(self, pressed: TakenBack) -> SaidPrivately:
        """Undo the person's own answer, if there is still time."""
        visit = await self._visit(pressed)
        if isinstance(visit, SaidPrivately):
            return visit
        try:
            await self.collaboration.engine.undo(visit.suspension.id, visit.actor, CHANNEL)
        except NothingToUndo as refused:
            return SaidPrivately(refused.message)
        log.info("slack.answer_undone", ref=visit.ref, delivery=visit.delivery)
        return SaidPrivately(notes.UNDONE)

    async def asking(self, pressed: WantsToAsk) -> Modal | SaidPrivately:
        """The modal for a question to the agent."""
        visit = await self._may_answer(pressed)
        if isinstance(visit, SaidPrivately):
            return visit
        notice = await self.answers.notice(visit.suspension)
        return Modal(ask_back_modal(notice, visit.delivery, self.sign), notice.links.shared)

    async def ask(self, submitted: AskedAgent) -> Applied | SaidPrivately | Wrong:
        visit = await self.answers.visit(submitted.by, submitted.ref, submitted.delivery, Reach())
        if isinstance(visit, SaidPrivately):
            return visit
        question = submitted.text.strip()
        if not question:
            return Wrong({TEXT_BLOCK: "Write what you need to know."})
        try:
            await self.collaboration.clarify(visit.suspension.id, visit.actor, question)
        except HandraiseError as refused:
            return Wrong({TEXT_BLOCK: refused.message})
        log.info("slack.asked_back", ref=visit.ref)
        return Applied()

    async def handing_over(self, pressed: WantsToHandOver) -> Modal | SaidPrivately:
        """The modal to pick a person in."""
        visit = await self._may_answer(pressed)
        if isinstance(visit, SaidPrivately):
            return visit
        notice = await self.answers.notice(visit.suspension)
        others = self.collaboration.others(visit.suspension, visit.actor)
        view = hand_over_modal(notice, others, visit.delivery, self.sign)
        return SaidPrivately(notes.NOBODY_ELSE) if view is None else Modal(view, notice.links.shared)

    async def hand_over(self, submitted: HandedOver) -> Applied | SaidPrivately | Wrong:
        visit = await self.answers.visit(submitted.by, submitted.ref, submitted.delivery, Reach())
        if isinstance(visit, SaidPrivately):
            return visit
        if submitted.to not in {one.email for one in self.collaboration.others(visit.suspension, visit.actor)}:
            return Wrong({PERSON_BLOCK: "Choose somebody from the list."})
        try:
            await self.collaboration.assign(visit.suspension.id, visit.actor, submitted.to)
        except HandraiseError as refused:
            return Wrong({PERSON_BLOCK: refused.message})
        log.info("slack.handed_over", ref=visit.ref)
        return Applied()

    async def _may_answer(self, pressed: Press) -> SlackVisit | SaidPrivately:
        visit = await self._visit(pressed)
        if isinstance(visit, SaidPrivately):
            return visit
        refused = would_refuse(visit.suspension, visit.actor, self.answers.permissions)
        return visit if refused is None else await self.answers.refused(refused, visit)

    async def _visit(self, pressed: Press) -> SlackVisit | SaidPrivately:
        return await self.answers.visit(pressed.by, pressed.ref, pressed.delivery, pressed.reach)
