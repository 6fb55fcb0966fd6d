"""``/a/{token}``: one question for one recipient. A GET changes nothing, however a mail scanner performs it; only a
POST from the page itself answers. Source: API.md §6."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from bot.web.answering import Answering, Seat
from bot.web.places import TOKEN, answer_place
from core.tokens import TokenPurpose


@dataclass(frozen=True, slots=True)
class AnswerPage:
    answering: Answering

    async def show(self, request: Request) -> Response:
        seat = await self._seat(request)
        return seat if isinstance(seat, Response) else self.answering.show(request, seat)

    async def take(self, request: Request) -> Response:
        seat = await self._seat(request)
        return seat if isinstance(seat, Response) else await self.answering.take(request, seat)

    async def _seat(self, request: Request) -> Seat | Response:
        """Who holds the link. Somebody who has since lost the right to answer is told so, and not the question."""
        room = self.answering.room
        token = request.path_params["token"]
        holder = await room.engine.find_by_token(token, TokenPurpose.PAGE) if TOKEN.fullmatch(token) else None
        if holder is None:
            return room.paper.unknown()
        if room.engine.may_answer(holder.suspension, holder.actor) is not None:
            return room.paper.message(
                "You can't answer this question",
                "The link was made for you, but you are not (or no longer) among those who may answer.",
                status=403,
            )
        return Seat(holder.suspension, holder.actor, answer_place(token))
