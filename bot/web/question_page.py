"""``/q/{ref}``: a question as anybody who is signed in may meet it. Whether it exists is only told to those who may
read it. Source: API.md §6."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from bot.web.answering import Answering, Seat
from bot.web.places import REF, onward, question_place, sign_in_place
from bot.web.room import Session
from bot.web.signed_in import Sessions
from core.domain.people import Role


@dataclass(frozen=True, slots=True)
class QuestionPage:
    answering: Answering
    sessions: Sessions

    async def show(self, request: Request) -> Response:
        session = await self.sessions.current(request)
        if session is None:
            return self.answering.room.paper.redirect(sign_in_place(_here(request)))
        seat = await self._seat(request, session)
        return seat if isinstance(seat, Response) else self.answering.show(request, seat)

    async def take(self, request: Request) -> Response:
        session = await self.sessions.current(request)
        if session is None:
            return self.answering.room.paper.message(
                "You are signed out",
                "Nothing was recorded. Sign in again; going back keeps what you typed.",
                status=403,
                onward=(sign_in_place(_here(request)), "Sign in"),
            )
        seat = await self._seat(request, session)
        return seat if isinstance(seat, Response) else await self.answering.take(request, seat)

    async def _seat(self, request: Request, session: Session) -> Seat | Response:
        room = self.answering.room
        ref = request.path_params["ref"]
        suspension = await room.engine.find(ref) if REF.fullmatch(ref) else None
        if suspension is None:
            return room.paper.unknown()
        may_read = session.actor.has(Role.OPERATOR) or room.engine.may_answer(suspension, session.actor) is None
        if not may_read:
            return room.paper.unknown()
        return Seat(suspension, session.actor, question_place(suspension.ask.ref), session)


def _here(request: Request) -> str:
    return onward(question_place(request.path_params["ref"]))
