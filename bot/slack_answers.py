"""What an interaction in Slack does to a question, and what the person is told: between the parser and the engine.

Every way through ends in ``Engine.respond`` or ``Engine.claim``; what these raise becomes words. What is wrong with us
(the database is away) is raised on, for ``bot.slack_app`` to answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog
from pydantic import JsonValue

from bot.slack_access import CHANNEL, Refused, SlackAccess
from bot.slack_said import Modal, Recorded, Told, Wrong
from channels.slack import forms, notes
from channels.slack.buttons import Way, way
from channels.slack.cut import WhenCut, must_open
from channels.slack.modal import ANSWER_BLOCK, answer_modal, error_block
from channels.slack.reasons import GIVE_ONE, REASON_BLOCK, reason_modal
from channels.slack.replies import Chosen, OnIt, Reach, Submitted, WantsModal, Who
from channels.slack.values import Sign, read_option
from core.domain.answering import GivenAnswer
from core.domain.notice import Links, Notice, build_ending, build_notice
from core.domain.people import Actor, Recipient, RecipientKind, parse_recipient
from core.domain.suspension import ReasonWanted, ResponseType, Suspension
from core.domain.told import recorded_partly
from core.engine import Engine
from core.errors import (
    AlreadyAnswered,
    AnswersDisagree,
    CallerError,
    InvalidAnswer,
    InvalidChoice,
    NotAResponder,
    NotFound,
    NotSuspended,
    ResumePayloadInvalid,
    SelfResponseForbidden,
    SuspensionEnded,
    SuspensionError,
)
from core.messages import Stale

log = structlog.get_logger(__name__)

_REFUSALS = {one.code: one for one in (NotAResponder, SelfResponseForbidden)}


@dataclass(frozen=True, slots=True)
class Seat:
    """Somebody we know before a question that there is. ``delivery`` is the message they came by, and ``reach`` where
    it stands."""

    actor: Actor
    suspension: Suspension
    delivery: str
    reach: Reach

    @property
    def ref(self) -> str:
        return self.suspension.ask.ref


class SlackAnswers:
    """``sign`` seals modals; ``access`` knows who somebody is. ``when_cut`` is what the channel renders by: a button
    that it would not have shown does not answer."""

    def __init__(
        self,
        engine: Engine,
        access: SlackAccess,
        *,
        sign: Sign,
        public_url: str,
        when_cut: WhenCut = WhenCut.ANSWER,
    ) -> None:
        self._engine = engine
        self._access = access
        self._sign = sign
        self._public_url = public_url.rstrip("/")
        self.when_cut = when_cut

    async def choose(self, pressed: Chosen) -> Recorded | Told | Modal:
        seat = await self.seat(pressed.by, pressed.ref, pressed.delivery, pressed.reach)
        if isinstance(seat, Told):
            return seat
        return await self.pick(seat, pressed.index)

    async def pick(self, seat: Seat, index: int) -> Recorded | Told | Modal:
        """Answer with the choice at ``index``, or ask for the reason that it wants first."""
        asking = self.unopened(seat) or await self._why(seat, index)
        if asking is not None:
            return asking
        said = await self.give(seat, GivenAnswer(seat.suspension.id, seat.actor, CHANNEL, choice=index))
        return Told(said.text) if isinstance(said, Wrong) else said

    async def claim(self, pressed: OnIt) -> Told:
        seat = await self.seat(pressed.by, pressed.ref, pressed.delivery, pressed.reach)
        if isinstance(seat, Told):
            return seat
        try:
            claimed = await self._engine.claim(seat.suspension.id, seat.actor, CHANNEL)
        except (SuspensionError, CallerError) as error:
            return await self._refused(error, seat)
        return Told(notes.claimed(claimed.ask.ref, claimed.claim))

    async def modal(self, pressed: WantsModal) -> Modal | Told:
        """The view to answer in, for somebody who may answer."""
        seat = await self.seat(pressed.by, pressed.ref, pressed.delivery, pressed.reach)
        return seat if isinstance(seat, Told) else await self.open(seat)

    async def open(self, seat: Seat) -> Modal | Told:
        refused = await self._may_not(seat)
        if refused is not None:
            return refused
        notice = self.notice(seat.suspension)
        view = answer_modal(notice, seat.delivery, self._sign, self.when_cut)
        if view is not None:
            return Modal(view, notice.links.shared)
        return self.unopened(seat) or Told(notes.USE_THE_BUTTONS)

    def unopened(self, seat: Seat) -> Told | None:
        """Where the message shows a part of the question, and that is not enough to answer it by."""
        notice = self.notice(seat.suspension)
        if not seat.suspension.is_open or not must_open(notice, self.when_cut):
            return None
        log.info("slack.unopened_refused", ref=seat.ref)
        return Told(notes.open_first(notice.links.shared))

    async def submit(self, submitted: Submitted) -> Recorded | Told | Wrong | Modal:
        seat = await self.seat(submitted.by, submitted.ref, submitted.delivery, Reach())
        if isinstance(seat, Told):
            return seat
        if submitted.index is not None:
            return await self._submit_reason(seat, submitted.index, submitted.entered.get(REASON_BLOCK, "").strip())
        if way(self.notice(seat.suspension), self.when_cut) is Way.PAGE and (unopened := self.unopened(seat)):
            return unopened  # its modal did not show everything
        given = self._given(submitted, seat)
        if isinstance(given, Wrong):
            return given
        asking = None if given.choice is None else await self._why(seat, given.choice)
        return asking or await self.give(seat, given)

    async def give(self, seat: Seat, given: GivenAnswer, block: str | None = None) -> Recorded | Told | Wrong:
        """``block`` is the input under which a mistake is shown, by default the answer's own."""
        suspension = seat.suspension
        try:
            done = await self._engine.respond(given)
        except InvalidChoice:
            return Told(notes.NO_LONGER_OPEN)  # not one of ours: the choices never change
        except (InvalidAnswer, ResumePayloadInvalid) as error:
            said = self._engine.redaction.text_on(CHANNEL, error.message)
            return Wrong({block or error_block(self.notice(suspension)): said})
        except AnswersDisagree as differs:
            return Wrong({block or error_block(self.notice(suspension)): notes.refused(differs, ())})
        except (SuspensionError, CallerError) as error:
            return await self._refused(error, seat)
        log.info("slack.answer_recorded", ref=seat.ref, delivery=seat.delivery)
        return Told(recorded_partly(self._shown(done), given.by.identity)) if done.is_open else Recorded()

    async def seat(self, who: Who, ref: str, delivery: str, reach: Reach) -> Seat | Told:
        """Whoever would answer, before the question that it is about. Somebody unknown is told so, and it is kept."""
        actor, suspension = await self._known(who, ref)
        if isinstance(actor, Refused) and suspension is not None:
            return await self._turned_away(actor, who, suspension)
        return _seated(actor, suspension, delivery, reach)

    async def look(self, who: Who, ref: str, delivery: str, reach: Reach) -> Seat | Told:
        """Like :meth:`seat`, for somebody who answers nothing: no attempt is kept, and a stranger is told no names."""
        return _seated(*await self._known(who, ref), delivery, reach)

    async def _known(self, who: Who, ref: str) -> tuple[Actor | Refused, Suspension | None]:
        actor, suspension = await self._access.who(who), await self._engine.find(ref)
        if suspension is not None and not isinstance(actor, Refused):
            actor = await self._access.before(actor, who, suspension)
        return actor, suspension

    async def _turned_away(self, refused: Refused, who: Who, suspension: Suspension) -> Told:
        """Who may answer is told to people of our own workspace alone."""
        if refused.reason == "slack_unavailable" or not suspension.is_open:
            return Told(refused.text)
        await self._engine.incoming.turned_away(suspension.id, f"slack:{who.user_id}", CHANNEL, refused.reason)
        tells = refused.reason == "stranger"
        return Told(notes.turned_away(refused.text, _may_answer(suspension)) if tells else refused.text)

    # --- What is asked, and what was entered ------------------------------------------------------------------------

    async def _why(self, seat: Seat, index: int) -> Modal | Told | None:
        """The modal that asks for a reason, where the choice wants one."""
        choices = seat.suspension.ask.choices
        wanted = choices[index].reason_wanted if 0 <= index < len(choices) else None
        if wanted is None:
            return None
        refused = await self._may_not(seat)
        if refused is not None:
            return refused
        notice = self.notice(seat.suspension)
        return Modal(reason_modal(notice, index, wanted, seat.delivery, self._sign), notice.links.shared)

    async def _submit_reason(self, seat: Seat, index: int, reason: str) -> Recorded | Told | Wrong:
        choices = seat.suspension.ask.choices
        wanted = choices[index].reason_wanted if index < len(choices) else None
        if wanted is ReasonWanted.REQUIRED and not reason and seat.suspension.is_open:
            return Wrong({REASON_BLOCK: GIVE_ONE})
        given = GivenAnswer(seat.suspension.id, seat.actor, CHANNEL, choice=index, reason=reason or None)
        return await self.give(seat, given, REASON_BLOCK)

    def _given(self, submitted: Submitted, seat: Seat) -> GivenAnswer | Wrong:
        ask, entered, actor = seat.suspension.ask, submitted.entered, seat.actor
        match ask.response_type:
            case ResponseType.CHOICE | ResponseType.CONFIRM:
                index = read_option(entered.get(ANSWER_BLOCK, ""))
                if index is None:
                    return Wrong({ANSWER_BLOCK: "Pick one of the choices."})
                return GivenAnswer(ask.id, actor, CHANNEL, choice=index)
            case ResponseType.TEXT:
                return GivenAnswer(ask.id, actor, CHANNEL, value=entered.get(ANSWER_BLOCK, ""))
            case ResponseType.FORM:
                values, problems = forms.read(forms.fields(ask.form_schema, ask.context) or (), entered, self._named)
                value: JsonValue = values
                return Wrong(problems) if problems else GivenAnswer(ask.id, actor, CHANNEL, value=value)

    # --- Why it did not count ---------------------------------------------------------------------------------------

    async def _may_not(self, seat: Seat) -> Told | None:
        """Why no modal is opened: it has ended, or this person may not answer."""
        if not seat.suspension.is_open:
            return await self._late(seat)
        code = self._engine.may_answer(seat.suspension, seat.actor)
        return None if code is None else await self._refused(_REFUSALS[code]("You may not answer this."), seat)

    async def _refused(self, error: SuspensionError | CallerError, seat: Seat) -> Told:
        log.info("slack.interaction_refused", ref=seat.ref, reason=error.code)
        if error.code in _REFUSALS:
            await self._engine.incoming.turned_away(seat.suspension.id, seat.actor.identity, CHANNEL, error.code)
        late = isinstance(error, AlreadyAnswered | SuspensionEnded | NotSuspended | NotFound)
        if late and error.details.get("same_answer") is not True:
            now = await self._engine.find(seat.ref)
            if now is None or not now.is_open:
                return await self._late(seat, now)
        return Told(notes.refused(error, _may_answer(seat.suspension)))

    async def _late(self, seat: Seat, now: Suspension | None = None) -> Told:
        """How it ended; the message that still had something to press is edited once more."""
        ended, reach = now or seat.suspension, seat.reach
        if reach.channel is not None and reach.ts is not None:
            stale = Stale(seat.delivery, CHANNEL, {"channel": reach.channel, "ts": reach.ts})
            await self._engine.incoming.still_asks(ended.id, stale)
        return Told(self.truth(ended))

    def truth(self, ended: Suspension) -> str:
        """How it ended, as anybody in Slack may be told."""
        return notes.ended(build_ending(self._shown(ended)) if ended.ended is not None else None)

    def _named(self, user_id: str) -> str | None:
        """The identity of somebody who was picked in a form."""
        picked = self._engine.responders.actor_at(CHANNEL, user_id)
        return None if picked is None else picked.identity

    def notice(self, suspension: Suspension) -> Notice:
        """The question as Slack shows it now."""
        links = Links(f"{self._public_url}/q/{suspension.ask.ref}")
        return build_notice(self._shown(suspension), suspension.attempt, links)

    def _shown(self, suspension: Suspension) -> Suspension:
        return self._engine.redaction.shown_on(CHANNEL, suspension)


def _seated(actor: Actor | Refused, suspension: Suspension | None, delivery: str, reach: Reach) -> Seat | Told:
    if isinstance(actor, Refused):
        return Told(actor.text)
    return Told(notes.NO_LONGER_OPEN) if suspension is None else Seat(actor, suspension, delivery, reach)


def _may_answer(suspension: Suspension) -> tuple[str, ...]:
    """The references that mean somebody: a channel by itself addresses nobody."""
    found = dict.fromkeys((*suspension.ask.responders, *suspension.asked))
    return tuple(one for one in found if _means_people(parse_recipient(one)))


def _means_people(recipient: Recipient) -> bool:
    if recipient.kind is RecipientKind.SLACK:
        return recipient.value[0] in {"U", "W", "S"}
    return recipient.kind is not RecipientKind.PAGERDUTY
