"""``/inbox``: what waits for the signed-in person, what they took part in, and for operators everything; in pages.

``inbox_filters`` reads the address, ``inbox_rows`` makes the lines. A row is answered where it stands by a POST to
``/inbox/answer``, and several on the page of ``inbox_together``. Source: API.md §6; docs/decisions/0120.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

import structlog
from starlette.requests import Request
from starlette.responses import Response

from bot.web.pages.answer import WEB, session_digest, signed_out
from bot.web.pages.forms import REASON, Posted, read_answer, read_post
from bot.web.pages.inbox_filters import PERIODS, STATUSES, Filters, Tab, identities_called, read_filters
from bot.web.pages.inbox_rows import InboxRow, Withheld, revision, row, to_show, why_elsewhere
from bot.web.pages.moments import Reader, moment
from bot.web.pages.person_names import PersonNames
from bot.web.pages.rendering import BrowserSession, PageContext
from bot.web.pages.signin import Sessions
from bot.web.pages.urls import INBOX, INBOX_ANSWER, INBOX_TOGETHER, REF, onward, sign_in_place
from bot.web.pages.view import Flash, Tone
from core.delivery.pause import Pausing
from core.domain import reception
from core.domain.answers import GivenAnswer
from core.domain.notice import build_ending
from core.domain.people import Role
from core.domain.quorum import answer_of
from core.domain.redaction.redaction import PAGE, Redaction
from core.domain.suspension import Sight, Suspension, Via
from core.domain.wording import Risk, shown_value, stated_risk
from core.engine.history import History, HistoryPage, Number, Sought
from core.engine.history import written as place_written
from core.engine.inbox import FOREVER, Inbox, InboxPage, Narrowed, Order, Position, position, rank, written
from core.store.suspensions import REF_START

log = structlog.get_logger(__name__)

AT_ONCE = 50
"""Questions on one page."""

CHANGED = "Nothing was recorded: it has changed since you looked. Read it again, then answer."


@dataclass(frozen=True, slots=True)
class Pager:
    """The shown range, counted from 1, and the total, as far as they are known; and the places of the neighbours."""

    first: int | None
    last: int | None
    total: Number | None
    back: str | None
    onward: str | None


@dataclass(frozen=True, slots=True)
class TabView:
    tab: Tab
    name: str
    number: Number | None
    place: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """An answer that was not recorded, to be shown again in its row."""

    ref: str
    reason: str
    news: Flash


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page of a list."""

    questions: Sequence[Suspension]
    pager: Pager
    total: Number | None


@dataclass(frozen=True, slots=True)
class InboxPages:
    room: PageContext
    sessions: Sessions
    inbox: Inbox
    history: History
    pausing: Pausing

    async def show(self, request: Request) -> Response:
        session = await self.sessions.current(request)
        if session is None:
            asked = f"{INBOX}?{request.url.query}" if request.url.query else INBOX
            return self.room.renderer.redirect(sign_in_place(onward(asked)))
        filters = self._filters(request.query_params, session)
        done = await self._done(request.query_params.get("done", ""), session)
        return await self._page(request, session, filters, done=done)

    async def answer(self, request: Request) -> Response:
        """One row's answer. Its form stands in the unfolded row alone, with a mark of what was shown there."""
        session = await self.sessions.current(request)
        if session is None:
            return signed_out(self.room, INBOX)
        posted = await read_post(request)
        if not self.room.accepts(request, posted, INBOX, session):
            return self.room.renderer.stale()
        filters = self._filters(dict(parse_qsl(posted.one("back"))), session)
        suspension = await readable(self.room, session, posted.one("ref"))
        if suspension is None:
            return self.room.renderer.unknown()
        news = await self._take(session, posted, suspension)
        if news is None:
            place = filters.link(after=filters.after)
            mark = "&" if "?" in place else "?"
            return self.room.renderer.redirect(f"{place}{mark}done={suspension.ask.ref}")
        attempt = Attempt(suspension.ask.ref, posted.one(REASON), news)
        return await self._page(request, session, filters, attempt=attempt, status=409)

    async def _take(self, session: BrowserSession, posted: Posted, suspension: Suspension) -> Flash | None:
        """Why it was not recorded; ``None`` if it was."""
        shown = await self.room.channel_views.whole_on(PAGE, to_show(suspension))
        if suspension.is_open and revision(suspension) != posted.one("shown"):
            return Flash(CHANGED)
        if suspension.is_open and (why := why_elsewhere(suspension, shown, self.room.clock.now())) is not None:
            return Flash(f"Nothing was recorded: {why}. Open its page to answer.")
        filled = read_answer(suspension.ask, posted)
        if suspension.is_open and filled.problems:
            return Flash(" ".join(filled.problems.values()))
        return refusal_words(
            await give(self.room, session, suspension, choice=filled.choice, reason=filled.reason),
            self.reader(session).names.text,
        )

    def _filters(self, given: Mapping[str, str], session: BrowserSession) -> Filters:
        zone = self.room.responders.time_zone(session.identity)
        sees_all = session.actor.has(Role.OPERATOR)
        return read_filters(given, sees_all=sees_all, now=self.room.clock.now(), zone=zone)

    async def _page(
        self,
        request: Request,
        session: BrowserSession,
        filters: Filters,
        *,
        done: Suspension | None = None,
        attempt: Attempt | None = None,
        status: int = 200,
    ) -> Response:
        waiting = await self.inbox.page(
            session.actor, AT_ONCE if filters.tab is Tab.WAITING else 0, *self._waiting(filters)
        )
        if filters.tab is Tab.WAITING:
            if filters.after and position(filters.after) is not None and not waiting.questions:
                return self.room.renderer.redirect(filters.link())  # all of it has been answered
            listed = _of_inbox(waiting, filters)
        else:
            listed = _of_history(await self._history(session, filters), filters)
        total = waiting.total
        if filters.tab is Tab.WAITING and (filters.q or filters.risk):
            total = (await self.inbox.page(session.actor, 0)).total
        reader = self.reader(session)
        rows = await self.rows(session, listed.questions, reader)
        pause = await self.pausing.standing()
        values: dict[str, Any] = {
            "filters": filters,
            "tabs": await self._tabs(session, filters, total),
            "rows": rows,
            "pager": listed.pager,
            "total": total,
            "paused": None if pause is None else moment(pause.at, reader.now, reader.zone),
            "news": attempt.news if attempt is not None else self._recorded(done, listed.total, session),
            "attempt": attempt,
            "next_ref": None if done is None else _next(rows, listed.questions, done, filters.order),
            "periods": [(one, filters.link(tab=self._history_tab(session), ended=one)) for one in PERIODS],
            "statuses": STATUSES,
            "risks": [*Risk],
            "orders": [*Order],
            "back": filters.link(after=filters.after).partition("?")[2],
            "answer_place": INBOX_ANSWER,
            "together_place": INBOX_TOGETHER,
        }
        return self.room.form_page(request, "inbox.html", INBOX, status, session, **values)

    def _waiting(self, filters: Filters) -> tuple[Position | None, None, Narrowed]:
        """What the inbox is asked for."""
        if filters.tab is not Tab.WAITING:
            return None, None, Narrowed()
        ref = filters.q.upper() if filters.q.upper().startswith(REF_START) else None
        text = filters.q if filters.q and ref is None else None
        redaction = self.room.channel_views.redaction
        shows = None if text is None else partial(_is_shown, redaction, text)
        narrowed = Narrowed(text, shows, ref, filters.risk_rank, filters.order)
        return position(filters.after), None, narrowed

    async def _history(self, session: BrowserSession, filters: Filters) -> HistoryPage:
        since, before = filters.within(self.room.clock.now(), self.room.responders.time_zone(session.identity))
        responders, redaction = self.room.responders, self.room.channel_views.redaction
        by = filters.by and identities_called(filters.by, session.identity, responders.everybody())
        sought = Sought(
            text=filters.q or None,
            shows=partial(_shows, redaction, filters.q) if filters.q else None,
            by=by or None,
            ended_since=since,
            ended_before=before,
            status=filters.status_wanted,
            risk=filters.risk_rank,
        )
        place = await self.history.place(filters.after, sought, of_all=filters.tab is Tab.ALL)
        if filters.tab is Tab.ALL:
            return await self.history.everything(session.actor, sought, AT_ONCE, place)
        return await self.history.mine(session.actor, sought, AT_ONCE, place)

    async def _tabs(self, session: BrowserSession, filters: Filters, waiting: int) -> list[TabView]:
        mine, everything = await self.history.numbers(session.actor)
        tabs = [
            TabView(Tab.WAITING, "Waiting", Number(waiting), INBOX),
            TabView(Tab.MINE, "By me", mine, f"{INBOX}?tab=mine"),
        ]
        if session.actor.has(Role.OPERATOR):
            tabs.append(TabView(Tab.ALL, "All", everything, f"{INBOX}?tab=all"))
        return tabs

    def _history_tab(self, session: BrowserSession) -> Tab:
        return Tab.ALL if session.actor.has(Role.OPERATOR) else Tab.MINE

    def reader(self, session: BrowserSession) -> Reader:
        responders = self.room.responders
        names = PersonNames(
            responders.everybody(),
            session.identity,
            responders.identity_of,
            shows_addresses=session.actor.has(Role.OPERATOR),
            shows_people=responders.is_known(session.identity),
        )
        return Reader(self.room.clock.now(), names, responders.time_zone(session.identity))

    async def rows(
        self, session: BrowserSession, questions: Sequence[Suspension], reader: Reader
    ) -> list[InboxRow | Withheld]:
        views = self.room.channel_views

        async def one_row(suspension: Suspension) -> InboxRow | Withheld:
            if not self.history.may_read(session.actor, suspension):
                return Withheld(suspension.ask.ref)
            shown = await views.whole_on(PAGE, to_show(suspension))
            return row(suspension, shown, views.redaction, reader)

        return [*await asyncio.gather(*map(one_row, questions))]

    def _recorded(self, done: Suspension | None, total: Number | None, session: BrowserSession) -> Flash | None:
        if done is None:
            return None
        ask, own = done.ask, answer_of(done, session.identity)
        value = own.value if own is not None else None if done.ended is None else done.ended.value
        chosen = shown_value(done, value) if any(choice.value == value for choice in ask.choices) else "your answer"
        label = self.room.channel_views.text_on(PAGE, chosen)
        more = "" if done.ended is not None else " More people have to give the same answer."
        left = "" if total is None else f" · {total.of} left"
        return Flash(f"Recorded: {label} ({ask.ref}).{more}{left}", Tone.GOOD)

    async def _done(self, ref: str, session: BrowserSession) -> Suspension | None:
        """The question that they have just answered here, by what its record says: an address proves nothing."""
        found = await readable(self.room, session, ref)
        if found is None:
            return None
        ended = found.ended
        is_theirs = answer_of(found, session.identity) is not None or (
            ended is not None and ended.by == session.identity
        )
        return found if is_theirs else None


async def readable(room: PageContext, session: BrowserSession, ref: str) -> Suspension | None:
    """The question of ``ref``, if there is one that this person may know of."""
    found = await room.queries.find(ref) if REF.fullmatch(ref) else None
    if found is None:
        return None
    permissions, actor = room.permissions, session.actor
    return found if permissions.may_read(found, actor) or permissions.refusal(found, actor) is None else None


async def give(
    room: PageContext, session: BrowserSession, suspension: Suspension, *, choice: int | None, reason: str | None
) -> reception.Reception:
    """Answer it, with the checks of every answer."""
    given = GivenAnswer(
        suspension.id,
        session.actor,
        WEB,
        choice=choice,
        reason=reason,
        sight=Sight.WHOLE,
        via=Via(WEB, session.identity, session=session_digest(session)),
    )
    done = await room.engine.respond(given, suspension)
    if isinstance(done, reception.Recorded | reception.Counted):
        log.info("page.answered", ref=suspension.ask.ref)
    return done


def refusal_words(done: reception.Reception, name_of: Callable[[str], str]) -> Flash | None:
    """Why it was not recorded; ``None`` if it was, by this press or the one before it."""
    match done:
        case reception.Recorded() | reception.Counted() | reception.AlreadyYours():
            return None
        case reception.TooLate(suspension=ended):
            by = ended.ended.by if ended.ended is not None else None
            how = build_ending(ended).resolution.value if by is None else f"{name_of(by)} was faster"
            return Flash(f"Nothing was recorded: the question had already ended ({how}).")
        case _:
            return Flash(f"Nothing was recorded: {done.error.message}")


def _is_shown(redaction: Redaction, text: str, question: str) -> bool:
    return text.lower() in redaction.text_on(PAGE, question).lower()


def _shows(redaction: Redaction, text: str, suspension: Suspension) -> bool:
    return text.upper() == suspension.ask.ref or _is_shown(redaction, text, suspension.ask.question)


def _of_inbox(page: InboxPage, filters: Filters) -> ListedPage:
    back = None if page.before == 0 else filters.link() if page.back is None else filters.link(after=written(page.back))
    following = None if page.after is None else filters.link(after=written(page.after))
    total = Number(page.total)
    pager = Pager(page.before + 1, page.before + len(page.questions), total, back, following)
    return ListedPage(page.questions, pager, total)


def _of_history(page: HistoryPage, filters: Filters) -> ListedPage:
    total, earlier = page.total, page.earlier
    if total is None and page.after is None and not filters.after:
        total, earlier = Number(len(page.questions)), 0
    elif not filters.after:
        earlier = 0
    back = None
    if filters.after:
        back = filters.link() if page.back is None else filters.link(after=place_written(page.back))
    following = None if page.after is None else filters.link(after=place_written(page.after))
    first = None if earlier is None else earlier + 1
    last = None if earlier is None else earlier + len(page.questions)
    return ListedPage(page.questions, Pager(first, last, total, back, following), total)


def _next(
    rows: Sequence[InboxRow | Withheld], questions: Sequence[Suspension], done: Suspension, order: Order
) -> str | None:
    """The row after the one that was answered; the first if that was the last."""
    behind = (
        line.ref
        for line, one in zip(rows, questions, strict=True)
        if rank(_stands(one, order)) > rank(_stands(done, order))
    )
    return next(behind, rows[0].ref if rows else None)


def _stands(suspension: Suspension, order: Order) -> Position:
    ask = suspension.ask
    deadline = ask.suspended_at if order is Order.AGE else suspension.expires_at or FOREVER
    risk = stated_risk(ask.decision_record, ask.context) if order is Order.RISK else None
    return Position(deadline, ask.suspended_at, ask.ref, 0 if risk is None else risk.rank)
