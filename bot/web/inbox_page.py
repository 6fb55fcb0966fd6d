"""``/inbox``: what waits for the signed-in person, oldest first. Source: API.md §6."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response

from bot.web.moments import Moment, moment
from bot.web.places import INBOX, question_place, sign_in_place
from bot.web.room import Room
from bot.web.signed_in import Sessions
from core.domain.notice import Links, build_notice
from core.domain.redaction import PAGE
from core.domain.suspension import Suspension
from core.pausing import Pausing


@dataclass(frozen=True, slots=True)
class Waiting:
    """One line of the inbox. ``claimed_by`` is somebody else who is on it."""

    place: str
    ref: str
    question: str
    asked_by: str
    headline: str
    is_last_call: bool
    asked: Moment
    deadline: Moment | None
    claimed_by: str | None


@dataclass(frozen=True, slots=True)
class InboxPage:
    room: Room
    sessions: Sessions
    pausing: Pausing

    async def show(self, request: Request) -> Response:
        session = await self.sessions.current(request)
        if session is None:
            return self.room.paper.redirect(sign_in_place(INBOX))
        now = self.room.clock.now()
        redaction = self.room.engine.redaction
        waiting = [
            line(redaction.shown_on(PAGE, one), session.identity, now)
            for one in await self.room.engine.waiting_for(session.actor)
        ]
        pause, _held = await self.pausing.current()
        paused = None if pause is None else moment(pause.at, now)
        return self.room.form_page(request, "inbox.html", INBOX, session=session, waiting=waiting, paused=paused)


def line(suspension: Suspension, identity: str, now: datetime) -> Waiting:
    """``suspension`` as it stands in the inbox of ``identity``."""
    ask, claim = suspension.ask, suspension.claim
    place = question_place(ask.ref)
    notice = build_notice(suspension, suspension.attempt, Links(shared=place))
    is_held = claim is not None and claim.until > now and claim.by != identity
    return Waiting(
        place=place,
        ref=ask.ref,
        question=notice.question,
        asked_by=notice.asked_by,
        headline=notice.headline,
        is_last_call=1 < ask.max_attempts == suspension.attempt,
        asked=moment(ask.suspended_at, now),
        deadline=None if suspension.expires_at is None else moment(suspension.expires_at, now),
        claimed_by=claim.by if claim is not None and is_held else None,
    )
