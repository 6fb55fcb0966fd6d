"""Showing one question to one person, and taking what they send. The ways to get there are ``answer_page`` (a link
of one's own) and ``question_page`` (signed in)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import structlog
from starlette.requests import Request
from starlette.responses import Response

from bot.web.forms import input_of, read_answer
from bot.web.posted import BadPost, Posted, read_post
from bot.web.question_view import Attempted, News, State, Tone, state_of, view_question
from bot.web.room import Room, Session
from core.domain.answering import GivenAnswer
from core.domain.people import Actor
from core.domain.redaction import PAGE
from core.domain.suspension import Suspension
from core.errors import (
    AlreadyAnswered,
    AnswersDisagree,
    ClaimedByAnother,
    ClarificationOpen,
    ClarificationsSpent,
    HandraiseError,
    InvalidAnswer,
    NotAResponder,
    NotClaimed,
    NotFound,
    NotSuspended,
    RecipientNotAllowed,
    ResumePayloadInvalid,
    SelfResponseForbidden,
    SuspensionEnded,
)
from core.together import Together

log = structlog.get_logger(__name__)

WEB = "web"
LONGEST_QUESTION_BACK = 3000

_NOT_HANDED_OVER = "It was not handed over: the question had already ended."
_TOO_LATE = "Your answer was not recorded: the question had already ended."


def _not_counted(refusal: HandraiseError) -> str:
    """Where several have to answer, and this answer does not count beside those there are."""
    return f"Your answer was not recorded: {refusal.message} The question stays open."


@dataclass(frozen=True, slots=True)
class Seat:
    """Who sits before which question, at the page ``place``. No session for somebody who came by a link."""

    suspension: Suspension
    actor: Actor
    place: str
    session: Session | None = None


@dataclass(frozen=True, slots=True)
class Answering:
    room: Room
    together: Together

    def show(self, request: Request, seat: Seat, attempted: Attempted | None = None, status: int = 200) -> Response:
        view = view_question(
            self.room.engine.redaction.shown_on(PAGE, seat.suspension),
            seat.actor.identity,
            self.room.clock.now(),
            place=seat.place,
            refusal=self.room.engine.may_answer(seat.suspension, seat.actor),
            attempted=attempted,
            others=self.together.others(seat.suspension, seat.actor),
        )
        return self.room.form_page(request, "question.html", seat.place, status, seat.session, view=view)

    async def take(self, request: Request, seat: Seat) -> Response:
        """An answer, a claim, a claim given back, a question to the agent, or a hand-over; nothing without the form
        token."""
        posted = await read_post(request)
        if not self.room.accepts(request, posted, seat.place, seat.session):
            return self.room.paper.stale()
        try:
            return await self._do(request, seat, posted)
        except (AlreadyAnswered, SuspensionEnded) as late:
            return await self._too_late(request, seat, late)
        except AnswersDisagree as differs:
            return await self._show_anew(request, seat, Attempted(posted, news=News(_not_counted(differs))), 409)
        except (NotAResponder, SelfResponseForbidden) as refusal:
            return self.show(request, seat, Attempted(posted, news=News(refusal.message)), 403)
        except (NotFound, NotSuspended):
            return self.room.paper.unknown()

    async def _do(self, request: Request, seat: Seat, posted: Posted) -> Response:
        match posted.one("do"):
            case "answer" | "":
                return await self._answer(request, seat, posted)
            case "claim":
                return await self._claim(request, seat, posted)
            case "release":
                return await self._release(request, seat, posted)
            case "clarify":
                return await self._clarify(request, seat, posted)
            case "assign":
                return await self._hand_over(request, seat, posted)
        raise BadPost(400, "The form asked for something unknown.")

    async def _answer(self, request: Request, seat: Seat, posted: Posted) -> Response:
        ask = seat.suspension.ask
        filled = read_answer(ask, posted)
        if filled.problems and state_of(seat.suspension, self.room.clock.now()) is State.OPEN:
            return self.show(request, seat, Attempted(posted, filled.problems), 422)
        given = GivenAnswer(seat.suspension.id, seat.actor, WEB, filled.value, filled.choice, filled.reason)
        try:
            await self.room.engine.respond(given)
        except (InvalidAnswer, ResumePayloadInvalid) as wrong:
            return self.show(request, seat, Attempted(posted, {input_of(ask): wrong.message}), 422)
        log.info("page.answered", ref=seat.suspension.ask.ref)
        return self.room.paper.redirect(seat.place)

    async def _claim(self, request: Request, seat: Seat, posted: Posted) -> Response:
        try:
            claimed = await self.room.engine.claim(seat.suspension.id, seat.actor, WEB)
        except ClaimedByAnother as taken:
            return await self._show_anew(request, seat, Attempted(posted, news=News(taken.message)), 409)
        news = News("You are on it. Reminders wait; the question still needs your answer.", Tone.GOOD)
        return self.show(request, replace(seat, suspension=claimed), Attempted(posted, news=news))

    async def _release(self, request: Request, seat: Seat, posted: Posted) -> Response:
        try:
            released = await self.room.engine.release(seat.suspension.id, seat.actor)
        except NotClaimed as refusal:
            return await self._show_anew(request, seat, Attempted(posted, news=News(refusal.message)), 409)
        news = News("Given back: reminders go out again.", Tone.GOOD)
        return self.show(request, replace(seat, suspension=released), Attempted(posted, news=news))

    async def _clarify(self, request: Request, seat: Seat, posted: Posted) -> Response:
        question = posted.one("clarify").strip()
        if not 1 <= len(question) <= LONGEST_QUESTION_BACK:
            problem = f"Write what you need to know, in at most {LONGEST_QUESTION_BACK} characters."
            return self.show(request, seat, Attempted(posted, {"clarify": problem}), 422)
        try:
            await self.together.clarify(seat.suspension.id, seat.actor, question)
        except (ClarificationOpen, ClarificationsSpent) as refusal:
            return await self._show_anew(request, seat, Attempted(posted, news=News(refusal.message)), 409)
        return self.room.paper.redirect(seat.place)

    async def _hand_over(self, request: Request, seat: Seat, posted: Posted) -> Response:
        others = {one.email: one.name for one in self.together.others(seat.suspension, seat.actor)}
        to = posted.one("to")
        if state_of(seat.suspension, self.room.clock.now()) is not State.OPEN:
            return await self._show_anew(request, seat, Attempted(news=News(_NOT_HANDED_OVER)), 409)
        if to not in others:
            problem = {"to": "Choose somebody from the list."}
            return self.show(request, seat, Attempted(posted, problem), 422)
        try:
            await self.together.assign(seat.suspension.id, seat.actor, to)
        except (ClaimedByAnother, RecipientNotAllowed) as refusal:
            return await self._show_anew(request, seat, Attempted(posted, news=News(refusal.message)), 409)
        log.info("page.handed_over", ref=seat.suspension.ask.ref)
        news = News(f"Handed over to {others[to]}, who is asked now. You can still answer.", Tone.GOOD)
        return await self._show_anew(request, seat, Attempted(posted, news=news), 200)

    async def _too_late(self, request: Request, seat: Seat, late: HandraiseError) -> Response:
        """Sending the same answer twice is no mistake worth telling (a double click)."""
        if late.details.get("same_answer") is True:
            return self.room.paper.redirect(seat.place)
        news = News(_not_counted(late) if "required" in late.details else _TOO_LATE)
        return await self._show_anew(request, seat, Attempted(news=news), 409)

    async def _show_anew(self, request: Request, seat: Seat, attempted: Attempted, status: int) -> Response:
        fresh = await self.room.engine.get(seat.suspension.id)
        return self.show(request, replace(seat, suspension=fresh or seat.suspension), attempted, status)
