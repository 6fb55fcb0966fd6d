"""The page of one question, on which one person may answer it.

``/a/{token}`` is one recipient's own link. ``/q/{ref}`` is for signed-in people; only those who may read a question are
told that it exists. A GET changes nothing, even from a mail scanner; only a POST from the page answers.

Source: API.md §6.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import structlog
from starlette.requests import Request
from starlette.responses import Response

from bot.web.pages.forms import BadPost, Posted, input_of, read_answer, read_post
from bot.web.pages.person_names import PersonNames
from bot.web.pages.rendering import BrowserSession, PageContext
from bot.web.pages.signin import Sessions
from bot.web.pages.urls import REF, TOKEN, answer_place, onward, question_place, sign_in_place
from bot.web.pages.view import Attempted, Flash, Hidden, State, Tone, hides_anything, state_of, view_question
from core import errors
from core.domain import quorum, reception
from core.domain.answers import GivenAnswer
from core.domain.field_words import shown_with
from core.domain.people import Actor, Address, Role
from core.domain.redaction.redaction import PAGE
from core.domain.signature_lines import SignatureOffer
from core.domain.suspension import Sight, Suspension, Via
from core.domain.tokens import TokenPurpose
from core.engine.collaboration import Collaboration
from core.engine.notice_progress import progress_of
from core.engine.signature_lines import Called, SignatureLines

log = structlog.get_logger(__name__)

WEB = "web"
LONGEST_QUESTION_BACK = 3000

_NOT_HANDED_OVER = "It was not handed over: the question had already ended."
_ANSWERED = "Your answer was not recorded: somebody else has just answered."
_TOO_LATE = "Your answer was not recorded: the question had already ended."
_NOT_ADDED = "You had given this answer before. The reason that you wrote now was not added to it."
_NOT_KEPT = "Nothing was kept: the question had already ended."
_CALLED = "Kept: in your later replies these lines are your signature. The question still needs your answer."
_OTHER_LINES = "Nothing was kept or recorded: another reply of yours has come meanwhile. Look at its lines first."
_SIGN_IN_FIRST = "Your answer was not recorded: a part of what will run is hidden here. Sign in to approve it."


@dataclass(frozen=True, slots=True)
class PageVisit:
    """A person before a question, at the page ``place``. A person who came by a link, made for ``address``, has no
    session."""

    suspension: Suspension
    actor: Actor
    place: str
    session: BrowserSession | None = None
    address: Address | None = None

    @property
    def sight(self) -> Sight:
        """A page shows everything, but redacted parts only to a signed-in person."""
        return Sight.WHOLE if self.session is None else Sight.REVEALED


def session_digest(session: BrowserSession) -> str:
    """The session's id in the log, which signs nobody in."""
    return hashlib.sha256(session.id.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Answering:
    room: PageContext
    collaboration: Collaboration
    signatures: SignatureLines

    async def show(
        self,
        request: Request,
        visit: PageVisit,
        attempted: Attempted | None = None,
        status: int = 200,
        revealed: Suspension | None = None,
    ) -> Response:
        """``revealed`` is the question with its redacted parts, for a person who has just asked for them."""
        shown = revealed or await self._shown(visit.suspension)
        refusal = self.room.permissions.refusal(visit.suspension, visit.actor)
        if refusal is None and _has_it_before_them(request, visit):
            await self.collaboration.opened(visit.suspension, visit.actor)
        names = self._names(visit)
        view = view_question(
            shown,
            visit.actor.identity,
            self.room.clock.now(),
            place=visit.place,
            names=names,
            refusal=refusal,
            sight=visit.sight,
            hidden=await self._hidden(visit, shown, revealed) if refusal is None else Hidden.NOTHING,
            attempted=attempted,
            others=list(self._others(visit, names)),
            zone=self.room.responders.time_zone(visit.actor.identity),
            told=None if shown.is_open else await self.room.queries.agent_told(shown.id),
            offer=await self._offer(visit) if refusal is None else None,
            progress=await progress_of(self.room.engine.database, shown),
        )
        return self.room.form_page(request, "question.html", visit.place, status, visit.session, view=view)

    def _names(self, visit: PageVisit) -> PersonNames:
        """Addresses are for signed-in operators; people, for whom the directory or a key makes one of them."""
        responders, actor = self.room.responders, visit.actor
        return PersonNames(
            responders.everybody(),
            actor.identity,
            responders.identity_of,
            shows_addresses=visit.session is not None and actor.has(Role.OPERATOR),
            shows_people=responders.is_known(actor.identity),
        )

    def _others(self, visit: PageVisit, names: PersonNames) -> Mapping[str, str]:
        """To whom they could hand the question over: identities by their names on the page."""
        others = self.collaboration.others(visit.suspension, visit.actor)
        return {names.text(one.email): one.email for one in others}

    async def take(self, request: Request, visit: PageVisit) -> Response:
        """An answer, a claim, a release, a question to the agent, a hand-over, or a signature; nothing without the
        form token."""
        posted = await read_post(request)
        if not self.room.accepts(request, posted, visit.place, visit.session):
            return self.room.renderer.stale()
        try:
            return await self._do(request, visit, posted)
        except (errors.AlreadyAnswered, errors.SuspensionEnded):
            return await self._show_anew(request, visit, Attempted(posted, news=Flash(_TOO_LATE)), 409)
        except (errors.NotAResponder, errors.SelfResponseForbidden) as refusal:
            return await self.show(request, visit, Attempted(posted, news=Flash(refusal.message)), 403)
        except (errors.NotFound, errors.NotSuspended):
            return self.room.renderer.unknown()

    async def _do(  # noqa: PLR0911 (one for each button)
        self, request: Request, visit: PageVisit, posted: Posted
    ) -> Response:
        do, _, to = posted.one("do").partition(" ")
        match do:
            case "answer" | "":
                return await self._answer(request, visit, posted)
            case "claim":
                return await self._claim(request, visit, posted)
            case "release":
                return await self._release(request, visit, posted)
            case "undo":
                return await self._undo(request, visit, posted)
            case "clarify":
                return await self._clarify(request, visit, posted)
            case "assign":
                return await self._hand_over(request, visit, posted, to)
            case "reveal":
                return await self._reveal(request, visit, posted)
            case "signature" | "signature_and_answer":
                return await self._call_signature(request, visit, posted)
        raise BadPost(400, "The form asked for something unknown.")

    async def _answer(self, request: Request, visit: PageVisit, posted: Posted) -> Response:
        ask = visit.suspension.ask
        filled = read_answer(ask, posted)
        if filled.problems and state_of(visit.suspension, self.room.clock.now()) is State.OPEN:
            said = {at: self._hidden_in(problem) for at, problem in filled.problems.items()}
            return await self.show(request, visit, Attempted(posted, said), 422)
        given = GivenAnswer(
            visit.suspension.id,
            visit.actor,
            WEB,
            filled.value,
            filled.choice,
            filled.reason,
            sight=visit.sight,
            via=await self._via(visit),
            can_undo=True,
        )
        done = await self.room.engine.respond(given, visit.suspension)
        match done:
            case reception.Recorded() | reception.Counted():
                log.info("page.answered", ref=ask.ref)
                return self.room.renderer.redirect(visit.place)
            case reception.AlreadyYours(suspension=found):
                return await self._answered_before(request, visit, posted, found, filled.reason)
            case _:
                return await self._refused(request, visit, posted, done)

    async def _answered_before(
        self, request: Request, visit: PageVisit, posted: Posted, found: Suspension, reason: str | None
    ) -> Response:
        """A double click is no mistake worth telling; another reason than the recorded one is."""
        own = quorum.answer_of(found, visit.actor.identity) or found.ended
        if reason is None or own is None or own.reason == reason:
            return self.room.renderer.redirect(visit.place)
        return await self._show_anew(request, visit, Attempted(posted, news=Flash(_NOT_ADDED)), 409)

    async def _via(self, visit: PageVisit) -> Via:
        """The evidence of their answer: their session, and the message that had their link."""
        session = None if visit.session is None else session_digest(visit.session)
        if visit.address is None:
            return Via(WEB, visit.actor.identity, session=session)
        delivery = await self.room.queries.delivery_to(visit.suspension.id, visit.address)
        return Via(WEB, visit.address.value, delivery, session=session)

    async def _claim(self, request: Request, visit: PageVisit, posted: Posted) -> Response:
        claimed = await self.room.engine.claim(visit.suspension.id, visit.actor, WEB)
        if not isinstance(claimed, Suspension):
            return await self._refused(request, visit, posted, claimed)
        news = Flash("You are on it. Reminders wait; the question still needs your answer.", Tone.GOOD)
        return await self.show(request, replace(visit, suspension=claimed), Attempted(posted, news=news))

    async def _refused(
        self,
        request: Request,
        visit: PageVisit,
        posted: Posted,
        refusal: reception.TooLate | reception.Unclaimed,
    ) -> Response:
        """The page as it now is, and why nothing was recorded."""
        if refusal.suspension is None:
            return self.room.renderer.unknown()
        now, attempted, status = replace(visit, suspension=refusal.suspension), Attempted(posted), 409
        match refusal:
            case reception.TooLate(suspension=found):
                attempted = Attempted(posted, news=Flash(_TOO_LATE if found.undoable is None else _ANSWERED))
            case reception.HeldByAnother(error=held):
                attempted = Attempted(posted, news=self._told(visit, held))
            case reception.NotYours(error=error):
                attempted, status = Attempted(posted, news=Flash(error.message)), 403
            case reception.NotAnAnswer(error=errors.NotShownWhole()):
                attempted, status = Attempted(posted, news=Flash(_SIGN_IN_FIRST)), 409
            case reception.NotAnAnswer(error=error):
                said = self._hidden_in(error.message)
                attempted, status = Attempted(posted, {input_of(now.suspension.ask): said}), 422
        return await self.show(request, now, attempted, status)

    def _hidden_in(self, said: str) -> str:
        """What is said of an answer, as the page shows it: it may repeat the agent's words, or what was typed."""
        return shown_with(said, partial(self.room.channel_views.text_on, PAGE))

    async def _shown(self, suspension: Suspension) -> Suspension:
        return await self.room.channel_views.whole_on(PAGE, suspension)

    async def _hidden(self, visit: PageVisit, shown: Suspension, revealed: Suspension | None) -> Hidden:
        """Whether any part of the question is hidden that this visitor may reveal."""
        if revealed is not None:
            return Hidden.REVEALED
        if not visit.suspension.is_open or not hides_anything(shown):
            return Hidden.NOTHING
        if visit.sight < Sight.REVEALED:
            return Hidden.SIGN_IN if shown.to_reveal else Hidden.NOTHING
        all_of_it = await self.room.channel_views.revealed(visit.suspension)
        return Hidden.NOTHING if all_of_it.ask == shown.ask else Hidden.TO_REVEAL

    async def _reveal(self, request: Request, visit: PageVisit, posted: Posted) -> Response:
        """The redacted parts, in this one reply; the log records that they were seen."""
        if visit.sight < Sight.REVEALED:
            return self.room.renderer.stale()
        await self.collaboration.reveal(visit.suspension.id, visit.actor)
        log.info("page.revealed", ref=visit.suspension.ask.ref)
        revealed = await self.room.channel_views.revealed(visit.suspension)
        return await self.show(request, visit, Attempted(posted), revealed=revealed)

    async def _offer(self, visit: PageVisit) -> SignatureOffer | None:
        if state_of(visit.suspension, self.room.clock.now()) is not State.OPEN:
            return None
        return await self.signatures.offered(visit.suspension.id, visit.actor.identity)

    async def _call_signature(self, request: Request, visit: PageVisit, posted: Posted) -> Response:
        """Lines around their reply are a signature from now on, even if the answer that the same press confirms is
        refused."""
        self.room.permissions.check(visit.suspension, visit.actor)
        now, identity = self.room.clock.now(), visit.actor.identity
        called = await self.signatures.call(visit.suspension.id, identity, posted.one("shown"), now=now)
        if called is Called.ANOTHER:
            return await self._show_anew(request, visit, Attempted(news=Flash(_OTHER_LINES)), 409)
        if called is Called.DONE:
            log.info("page.signature_called", ref=visit.suspension.ask.ref)
        if posted.one("do") == "signature_and_answer":
            return await self._answer(request, visit, posted)
        if called is Called.DONE:
            return await self._show_anew(request, visit, Attempted(news=Flash(_CALLED, Tone.GOOD)), 200)
        if state_of(visit.suspension, now) is State.OPEN:  # a double click is no mistake worth telling
            return self.room.renderer.redirect(visit.place)
        return await self._show_anew(request, visit, Attempted(news=Flash(_NOT_KEPT)), 409)

    async def _release(self, request: Request, visit: PageVisit, posted: Posted) -> Response:
        try:
            released = await self.room.engine.release(visit.suspension.id, visit.actor)
        except errors.NotClaimed as refusal:
            return await self._show_anew(request, visit, Attempted(posted, news=Flash(refusal.message)), 409)
        news = Flash("Given back: reminders go out again.", Tone.GOOD)
        return await self.show(request, replace(visit, suspension=released), Attempted(posted, news=news))

    async def _undo(self, request: Request, visit: PageVisit, posted: Posted) -> Response:
        try:
            open_again = await self.room.engine.undo(visit.suspension.id, visit.actor, WEB)
        except errors.NothingToUndo as refusal:
            return await self._show_anew(request, visit, Attempted(posted, news=Flash(refusal.message)), 409)
        log.info("page.undone", ref=visit.suspension.ask.ref)
        undone = visit.suspension.undoable
        typed = Posted({"reason": (undone.reason,)}) if undone is not None and undone.reason else posted
        news = Flash("Undone. Your answer is void, and the question is open again.", Tone.GOOD)
        return await self.show(request, replace(visit, suspension=open_again), Attempted(typed, news=news))

    async def _clarify(self, request: Request, visit: PageVisit, posted: Posted) -> Response:
        question = posted.one("clarify").strip()
        if not 1 <= len(question) <= LONGEST_QUESTION_BACK:
            problem = f"Write what you need to know, in at most {LONGEST_QUESTION_BACK} characters."
            return await self.show(request, visit, Attempted(posted, {"clarify": problem}), 422)
        try:
            await self.collaboration.clarify(visit.suspension.id, visit.actor, question)
        except (errors.ClarificationOpen, errors.ClarificationsSpent) as refusal:
            return await self._show_anew(request, visit, Attempted(posted, news=self._told(visit, refusal)), 409)
        return self.room.renderer.redirect(visit.place)

    async def _hand_over(self, request: Request, visit: PageVisit, posted: Posted, to: str) -> Response:
        """``to`` is a name on the page, since nobody learns addresses from it."""
        others = self._others(visit, self._names(visit))
        if state_of(visit.suspension, self.room.clock.now()) is not State.OPEN:
            return await self._show_anew(request, visit, Attempted(posted, news=Flash(_NOT_HANDED_OVER)), 409)
        if to not in others:
            problem = {"to": "Choose somebody from the list."}
            return await self.show(request, visit, Attempted(posted, problem), 422)
        try:
            await self.collaboration.assign(visit.suspension.id, visit.actor, others[to])
        except (errors.ClaimedByAnother, errors.RecipientNotAllowed) as refusal:
            return await self._show_anew(request, visit, Attempted(posted, news=self._told(visit, refusal)), 409)
        log.info("page.handed_over", ref=visit.suspension.ask.ref)
        news = Flash(f"Handed over to {to}, who is asked now. You can still answer.", Tone.GOOD)
        return await self._show_anew(request, visit, Attempted(posted, news=news), 200)

    def _told(self, visit: PageVisit, refusal: errors.HandraiseError) -> Flash:
        """Why it was refused; whoever is in the way has their name."""
        text, names = refusal.message, self._names(visit)
        for one in map(refusal.details.get, ("claimed_by", "asked_by")):
            text = text.replace(one, names.text(one)) if isinstance(one, str) else text
        return Flash(text)

    async def _show_anew(self, request: Request, visit: PageVisit, attempted: Attempted, status: int) -> Response:
        fresh = await self.room.queries.get(visit.suspension.id)
        return await self.show(request, replace(visit, suspension=fresh or visit.suspension), attempted, status)


def _has_it_before_them(request: Request, visit: PageVisit) -> bool:
    """Whether a person looks at the page. A link alone may be followed by a scanner, and a browser fetches some pages
    in advance."""
    return visit.session is not None and request.method == "GET" and "sec-purpose" not in request.headers


@dataclass(frozen=True, slots=True)
class QuestionPage:
    answering: Answering
    sessions: Sessions

    async def show(self, request: Request) -> Response:
        session = await self.sessions.current(request)
        if session is None:
            return self.answering.room.renderer.redirect(sign_in_place(_here(request)))
        visit = await self._visit(request, session)
        return visit if isinstance(visit, Response) else await self.answering.show(request, visit)

    async def take(self, request: Request) -> Response:
        session = await self.sessions.current(request)
        if session is None:
            return signed_out(self.answering.room, _here(request))
        visit = await self._visit(request, session)
        return visit if isinstance(visit, Response) else await self.answering.take(request, visit)

    async def _visit(self, request: Request, session: BrowserSession) -> PageVisit | Response:
        room = self.answering.room
        ref = request.path_params["ref"]
        suspension = await room.queries.find(ref) if REF.fullmatch(ref) else None
        if suspension is None or not self._may_read(suspension, session):
            return not_yours(room, request, session, _here(request))
        return PageVisit(suspension, session.actor, question_place(suspension.ask.ref), session)

    def _may_read(self, suspension: Suspension, session: BrowserSession) -> bool:
        permissions = self.answering.room.permissions
        return permissions.may_read(suspension, session.actor) or permissions.refusal(suspension, session.actor) is None


def not_yours(room: PageContext, request: Request, session: BrowserSession, leads_to: str) -> Response:
    """The same page for a missing question and for one that this account may not know of. It names the account, and
    lets the person use another one."""
    place = request.url.path
    return room.form_page(request, "not_yours.html", place, 404, session, leads_to=leads_to)


def signed_out(room: PageContext, leads_to: str) -> Response:
    """A form was sent after the session had ended."""
    return room.renderer.message(
        "You are signed out",
        "Nothing was recorded. Sign in again; going back keeps what you typed.",
        status=403,
        onward=(sign_in_place(leads_to), "Sign in"),
    )


def _here(request: Request) -> str:
    return onward(question_place(request.path_params["ref"]))


@dataclass(frozen=True, slots=True)
class AnswerPage:
    """With ``personal`` (``answers.require_sign_in``) the link alone opens nothing: the person it was made for signs
    in first, and nobody else gets further. A link to a shared mailbox belongs to nobody: a person who signs in comes
    to the question's own page, and answers as themselves."""

    answering: Answering
    sessions: Sessions
    personal: bool = False

    async def show(self, request: Request) -> Response:
        visit = await self._visit(request)
        return visit if isinstance(visit, Response) else await self.answering.show(request, visit)

    async def take(self, request: Request) -> Response:
        visit = await self._visit(request)
        return visit if isinstance(visit, Response) else await self.answering.take(request, visit)

    async def _visit(self, request: Request) -> PageVisit | Response:
        """The holder of the link. A person who has since lost the right to answer is told so, and not shown the
        question."""
        room = self.answering.room
        token = request.path_params["token"]
        holder = await room.queries.find_by_token(token, TokenPurpose.PAGE) if TOKEN.fullmatch(token) else None
        if holder is None:
            return room.renderer.unknown()
        question = question_place(holder.suspension.ask.ref)
        is_shared = room.permissions.is_shared_mailbox(holder.suspension, holder.address)
        session = await self.sessions.current(request) if self.personal or is_shared else None
        if is_shared and session is not None:
            return room.renderer.redirect(question)
        if is_shared or (self.personal and (session is None or session.identity != holder.actor.identity)):
            return self._turned_away(request, session, question)
        if room.permissions.refusal(holder.suspension, holder.actor) is not None:
            return room.renderer.message(
                "You can't answer this question",
                "The link was made for you, but you are not (or no longer) among those who may answer.",
                status=403,
            )
        return PageVisit(holder.suspension, holder.actor, answer_place(token), session, holder.address)

    def _turned_away(self, request: Request, session: BrowserSession | None, question: str) -> Response:
        """After signing in they come to the question's own page, which checks again who may see it."""
        room = self.answering.room
        if session is not None:
            return not_yours(room, request, session, question)
        return (
            signed_out(room, question) if request.method == "POST" else room.renderer.redirect(sign_in_place(question))
        )
