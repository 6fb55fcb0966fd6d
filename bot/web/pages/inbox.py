"""``/inbox``: the questions that wait for the signed-in person, the soonest deadline first, in pages. Source: API.md
§6."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from bot.web.pages.moments import Moment, moment
from bot.web.pages.rendering import PageContext
from bot.web.pages.signin import Sessions
from bot.web.pages.urls import INBOX, question_place, sign_in_place
from core.delivery.pause import Pausing
from core.domain.notice import NoticeLinks, build_notice
from core.domain.redaction.redaction import PAGE, Redaction
from core.domain.suspension import Suspension
from core.engine.inbox import Inbox, InboxPage, Position, position, written

AT_ONCE = 50
"""Questions on one page."""
BEGINNING = 600
"""Characters of a question that the inbox shows; its own page has all of it."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """One line of the inbox. ``claimed_by`` is another person who is on it."""

    place: str
    ref: str
    question: str
    asked_by: str
    headline: str
    is_last_call: bool
    risk: str | None
    asked: Moment
    deadline: Moment | None
    claimed_by: str | None


@dataclass(frozen=True, slots=True)
class Pager:
    """The shown range and the total, counted from 1, and the places of the neighbouring pages."""

    total: int
    first: int
    last: int
    back: str | None
    onward: str | None


@dataclass(frozen=True, slots=True)
class InboxPages:
    room: PageContext
    sessions: Sessions
    inbox: Inbox
    pausing: Pausing

    async def show(self, request: Request) -> Response:
        session = await self.sessions.current(request)
        if session is None:
            return self.room.renderer.redirect(sign_in_place(INBOX))
        now = self.room.clock.now()
        after = position(request.query_params.get("after", ""))
        page = await self.inbox.page(session.actor, AT_ONCE, after)
        if after is not None and not page.questions:
            return self.room.renderer.redirect(INBOX)  # all of it has been answered
        zone = self.room.responders.time_zone(session.identity)
        redaction = self.room.channel_views.redaction
        waiting = [line(one, session.identity, now, redaction, zone) for one in page.questions]
        pause = await self.pausing.standing()
        paused = None if pause is None else moment(pause.at, now, zone)
        values: dict[str, Any] = {"waiting": waiting, "pager": pager(page), "paused": paused}
        return self.room.form_page(request, "inbox.html", INBOX, session=session, **values)


def line(
    suspension: Suspension, identity: str, now: datetime, redaction: Redaction, zone: tzinfo | None = None
) -> Waiting:
    """``suspension`` as a line in the inbox of ``identity``, who lives in ``zone`` if known."""
    ask, claim = suspension.ask, suspension.claim
    place = question_place(ask.ref)
    notice = build_notice(suspension, suspension.attempt, NoticeLinks(shared=place))
    is_held = claim is not None and claim.until > now and claim.by != identity
    return Waiting(
        place=place,
        ref=ask.ref,
        question=redaction.text_on(PAGE, ask.question, BEGINNING),
        asked_by=notice.asked_by,
        headline=notice.headline,
        is_last_call=1 < ask.max_attempts == suspension.attempt,
        risk=notice.risk,
        asked=moment(ask.suspended_at, now, zone),
        deadline=None if suspension.expires_at is None else moment(suspension.expires_at, now, zone),
        claimed_by=claim.by if claim is not None and is_held else None,
    )


def pager(page: InboxPage) -> Pager:
    back = None if page.before == 0 else INBOX if page.back is None else inbox_place(page.back)
    onward = None if page.after is None else inbox_place(page.after)
    return Pager(page.total, page.before + 1, page.before + len(page.questions), back, onward)


def inbox_place(after: Position) -> str:
    """The page that follows this position."""
    return f"{INBOX}?after={written(after)}"
