"""``/inbox/together``: several questions on one page, each with exactly what will run, answered with one press.

A GET lists what was ticked. The POST names each question with the mark of what was shown of it; each answer is recorded
on its own, with the checks of a single one, and its result is told. What can't be answered so is named and left out. A
question that does not exist, and one that this person may not know of, are told alike.

Source: docs/decisions/0120.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from bot.web.pages.answer import signed_out
from bot.web.pages.forms import LONGEST_REASON, REASON, BadPost, Posted, read_post
from bot.web.pages.inbox import CHANGED, InboxPages, give, readable, refusal_words
from bot.web.pages.inbox_rows import InboxRow, revision, row, to_show, why_elsewhere
from bot.web.pages.rendering import BrowserSession
from bot.web.pages.urls import INBOX, INBOX_TOGETHER, question_place, sign_in_place
from bot.web.pages.view import Flash, Tone
from core.domain.people import Actor
from core.domain.quorum import answer_of
from core.domain.redaction.redaction import PAGE
from core.domain.suspension import Choice, Suspension

MOST = 50
"""Questions on one page."""

_OTHER_CHOICES = "it offers other choices than the rest"


@dataclass(frozen=True, slots=True)
class SharedChoice:
    """A choice that all of them have. ``labels`` are what they call it, if they differ."""

    value: str
    label: str
    style: str | None
    negative: bool


@dataclass(frozen=True, slots=True)
class LeftOut:
    """``place`` is its own page; ``None`` with ``ref`` for what is not there, or not theirs to see."""

    ref: str
    place: str
    question: str
    why: str


@dataclass(frozen=True, slots=True)
class BulkResult:
    ref: str
    place: str
    question: str
    news: Flash


@dataclass(frozen=True, slots=True)
class TogetherView:
    """What is on the page: the rows that are answered by ``offered``, what is left out, and how many are unknown."""

    rows: Sequence[InboxRow]
    offered: Sequence[SharedChoice]
    left_out: Sequence[LeftOut]
    unknown: int


@dataclass(frozen=True, slots=True)
class TogetherPages:
    pages: InboxPages

    async def show(self, request: Request) -> Response:
        session = await self.pages.sessions.current(request)
        if session is None:
            return self.pages.room.renderer.redirect(sign_in_place(INBOX))
        refs = list(dict.fromkeys(request.query_params.getlist("ref")))
        if not refs:
            return self._page(request, session, await self._together([], session), news=Flash("Tick questions first."))
        return self._page(request, session, await self._together(refs, session))

    async def answer(self, request: Request) -> Response:
        session = await self.pages.sessions.current(request)
        if session is None:
            return signed_out(self.pages.room, INBOX)
        posted = await read_post(request)
        if not self.pages.room.accepts(request, posted, INBOX_TOGETHER, session):
            return self.pages.room.renderer.stale()
        items, value, reason = _items(posted), posted.one("value"), posted.one(REASON).strip()
        if len(reason) > LONGEST_REASON:
            together = await self._together([ref for ref, _ in items], session)
            news = Flash(f"Nothing was recorded: the reason has at most {LONGEST_REASON} characters.")
            return self._page(request, session, together, reason=reason, news=news, status=422)
        results, again, unknown = list[BulkResult](), list[str](), 0
        for ref, shown in items:
            suspension = await readable(self.pages.room, session, ref)
            if suspension is None:
                unknown += 1
                continue
            result = await self._give(session, suspension, shown, value, reason)
            results.append(result)
            if result.news.tone is not Tone.GOOD:
                again.append(ref)
        together = await self._together(again, session)
        return self._page(request, session, together, reason=reason, results=results, unknown=unknown)

    async def _give(
        self, session: BrowserSession, suspension: Suspension, shown: str, value: str, reason: str
    ) -> BulkResult:
        room, ask = self.pages.room, suspension.ask
        question = room.channel_views.redaction.text_on(PAGE, ask.question, 300)
        place = question_place(ask.ref)
        news: Flash | None
        view = await room.channel_views.whole_on(PAGE, to_show(suspension))
        index = next((at for at, choice in enumerate(ask.choices) if choice.value == value), None)
        if suspension.is_open and revision(suspension) != shown:
            news = Flash(CHANGED)
        elif suspension.is_open and (why := why_elsewhere(suspension, view, room.clock.now())) is not None:
            news = Flash(f"Nothing was recorded: {why}.")
        elif suspension.is_open and index is None:
            news = Flash(f"Nothing was recorded: {_OTHER_CHOICES}.")
        else:
            done = await give(room, session, suspension, choice=index, reason=reason or None)
            news = refusal_words(done, self.pages.reader(session).names.text)
            if news is None:
                label = "" if index is None else f": {view.ask.choices[index].label}"
                more = (
                    " More people have to give the same answer." if done.suspension and done.suspension.is_open else ""
                )
                news = Flash(f"Recorded{label}.{more}", Tone.GOOD)
        return BulkResult(ask.ref, place, question.partition("\n")[0], news)

    async def _together(self, refs: Sequence[str], session: BrowserSession) -> TogetherView:
        """Of those that can be answered together, most have the same choices; the others are left out."""
        room, reader = self.pages.room, self.pages.reader(session)
        fit: list[tuple[Suspension, InboxRow]] = []
        left_out: list[LeftOut] = []
        unknown = max(0, len(refs) - MOST)
        for ref in refs[:MOST]:
            suspension = await readable(room, session, ref)
            if suspension is None:
                unknown += 1
                continue
            shown = await room.channel_views.whole_on(PAGE, to_show(suspension))
            line = row(suspension, shown, room.channel_views.redaction, reader)
            why = self._why_not(suspension, line, session.actor)
            if why is None:
                fit.append((suspension, line))
            else:
                left_out.append(LeftOut(line.ref, line.place, line.question, why))
        values = _shared([one.ask.choices for one, _ in fit])
        for suspension, line in fit:
            if not values <= {choice.value for choice in suspension.ask.choices}:
                left_out.append(LeftOut(line.ref, line.place, line.question, _OTHER_CHOICES))
        rows = [line for one, line in fit if values <= {choice.value for choice in one.ask.choices}]
        return TogetherView(rows, _offered(values, rows), left_out, unknown)

    def _why_not(self, suspension: Suspension, line: InboxRow, actor: Actor) -> str | None:
        if not suspension.is_open:
            by = "" if line.ended is None or line.ended.by is None else f", by {line.ended.by}"
            return f"it has ended{by}"
        if self.pages.room.permissions.refusal(suspension, actor) is not None:
            return "you may not answer it"
        if answer_of(suspension, actor.identity) is not None:
            return "you have answered it"
        return line.elsewhere

    def _page(
        self,
        request: Request,
        session: BrowserSession,
        together: TogetherView,
        *,
        reason: str = "",
        results: Sequence[BulkResult] = (),
        unknown: int = 0,
        news: Flash | None = None,
        status: int = 200,
    ) -> Response:
        values = {
            "together": together,
            "results": results,
            "unknown": unknown + together.unknown,
            "reason": reason,
            "recorded": sum(one.news.tone is Tone.GOOD for one in results),
            "news": news,
            "together_place": INBOX_TOGETHER,
            "attempt": None,
        }
        return self.pages.room.form_page(request, "inbox_together.html", INBOX_TOGETHER, status, session, **values)


def _items(posted: Posted) -> list[tuple[str, str]]:
    """Each question once, with the mark of what was shown. Raises :class:`BadPost`."""
    items = dict[str, str]()
    for one in posted.all("item"):
        ref, _, shown = one.partition(":")
        items.setdefault(ref, shown)
    if not items or len(items) > MOST:
        raise BadPost(400, f"The form named no question, or more than {MOST}.")
    return [*items.items()]


def _shared(offers: Sequence[Sequence[Choice]]) -> frozenset[str]:
    """The values that all offer; if there is none, those that most offer."""
    sets = [frozenset(choice.value for choice in choices) for choices in offers]
    if not sets:
        return frozenset()
    shared = frozenset.intersection(*sets)
    return shared or Counter(sets).most_common(1)[0][0]


def _offered(values: Collection[str], rows: Sequence[InboxRow]) -> list[SharedChoice]:
    """In the order of the first question. If the labels differ, the value stands for them."""
    if not rows or rows[0].whole is None:
        return []
    offered = []
    for choice in rows[0].whole.notice.choices:
        if choice.value not in values:
            continue
        same = [
            other
            for line in rows
            if line.whole is not None
            for other in line.whole.notice.choices
            if other.value == choice.value
        ]
        is_one = len({other.label for other in same}) == 1
        label = choice.label if is_one else choice.value
        offered.append(SharedChoice(choice.value, label, choice.style, all(other.negative for other in same)))
    return offered
