"""Answers in Slack: applies an interaction to a question, and says what the person is told.

Every way ends in ``Engine.respond`` or ``Engine.claim``, whose results become words. Faults of ours (the database is
away) are raised for ``bot.inbound.slack.app`` to answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import structlog
from pydantic import JsonValue

from bot.inbound.slack.identity import CHANNEL, NotAdmitted, SlackIdentity
from bot.inbound.slack.outcomes import Modal, SaidPrivately, Wrong
from channels.slack import command, forms, home, notes
from channels.slack.interactions import Chosen, Reach, Submitted, WantsModal, WantsPage, Who
from channels.slack.modals import ANSWER_BLOCK, GIVE_ONE, REASON_BLOCK, answer_modal, error_block, reason_modal
from channels.slack.payloads import Sign, read_option
from channels.slack.render import AnswerControl, way
from core.domain.answers import GivenAnswer
from core.domain.channels import RecipientKind
from core.domain.field_words import shown_with
from core.domain.notice import Notice, NoticeLinks, WhenCut, build_ending, build_notice, sight_needed
from core.domain.people import Actor, Recipient, parse_recipient
from core.domain.reception import (
    AlreadyYours,
    Counted,
    HeldByAnother,
    NotAnAnswer,
    NotYours,
    Recorded,
    TooLate,
    Unclaimed,
    Unrecorded,
)
from core.domain.short_messages import recorded_partly, recorded_undoable
from core.domain.suspension import ReasonWanted, ResponseType, Sight, Suspension, Via
from core.domain.wording import answered_for_now
from core.engine.engine import Engine
from core.engine.reception import would_refuse
from core.engine.refresh import Stale
from core.errors import InvalidAnswer, InvalidChoice, NotShownWhole, ResumePayloadInvalid
from core.inbound.reports import InboundReports

log = structlog.get_logger(__name__)

PersonalLink = Callable[[str, str], SaidPrivately]
"""The text for a person (an identity) who wants to open one of our pages: a link that signs them in."""


@dataclass(frozen=True, slots=True)
class SlackVisit:
    """A known person before an existing question. ``delivery`` is the message that they used, and ``reach`` its
    place. ``who`` is their account."""

    actor: Actor
    suspension: Suspension
    delivery: str
    reach: Reach
    who: Who

    @property
    def ref(self) -> str:
        return self.suspension.ask.ref

    def is_negative(self, index: int | None) -> bool:
        """Whether the choice at ``index`` says no."""
        choices = self.suspension.ask.choices
        return index is not None and 0 <= index < len(choices) and self.suspension.ask.is_negative(choices[index].value)

    @property
    def has_message(self) -> bool:
        """Whether they used a message of the question's. The Home and a command are none."""
        return self.delivery not in {home.DELIVERY, command.DELIVERY}

    @property
    def via(self) -> Via:
        """The evidence of their answer."""
        account = "/".join(one for one in (self.who.team_id, self.who.user_id) if one)
        delivery = self.delivery if self.has_message else None
        return Via(CHANNEL, account, delivery, message_of(self.reach.channel, self.reach.ts))


def message_of(channel: str | None, ts: str | None) -> str | None:
    """Slack's id of a message."""
    return f"{channel}/{ts}" if channel and ts else None


class SlackAnswers:
    """``sign`` seals modals; ``identity`` knows people. ``when_cut`` is the channel's own: a button that it would
    not have shown does not answer. ``personal`` makes the links to the pages."""

    def __init__(
        self,
        engine: Engine,
        incoming: InboundReports,
        identity: SlackIdentity,
        *,
        sign: Sign,
        public_url: str,
        personal: PersonalLink,
        when_cut: WhenCut = WhenCut.ANSWER,
    ) -> None:
        self._engine = engine
        self.permissions = engine.permissions
        self._queries = engine.queries
        self._channel_views = engine.channel_views
        self._incoming = incoming
        self._identity = identity
        self._sign = sign
        self._public_url = public_url.rstrip("/")
        self.when_cut = when_cut
        self._personal = personal

    async def choose(self, pressed: Chosen) -> Recorded | SaidPrivately | Modal:
        visit = await self.visit(pressed.by, pressed.ref, pressed.delivery, pressed.reach)
        if isinstance(visit, SaidPrivately):
            return visit
        return await self.pick(visit, pressed.index)

    async def pick(self, visit: SlackVisit, index: int) -> Recorded | SaidPrivately | Modal:
        """Answer with the choice at ``index``, or first ask for the reason that it wants."""
        asking = await self._why(visit, index) or await self._beyond_home(visit, index)
        if asking is not None:
            return asking
        said = await self.give(visit, GivenAnswer(visit.suspension.id, visit.actor, CHANNEL, choice=index))
        return SaidPrivately(said.text) if isinstance(said, Wrong) else said

    async def modal(self, pressed: WantsModal) -> Modal | SaidPrivately:
        """The modal to answer in, for a person who may answer."""
        visit = await self.visit(pressed.by, pressed.ref, pressed.delivery, pressed.reach)
        return visit if isinstance(visit, SaidPrivately) else await self.open(visit)

    async def page(self, pressed: WantsPage) -> SaidPrivately:
        """A personal link to the question's page, or to their inbox: it signs in the person whom Slack names. The
        page decides what they may see."""
        if pressed.ref is None:
            actor = await self._identity.who(pressed.by)
        else:
            visit = await self.look(pressed.by, pressed.ref, pressed.delivery, pressed.reach)
            if isinstance(visit, SaidPrivately):
                return visit
            actor = visit.actor
        if isinstance(actor, NotAdmitted):
            return SaidPrivately(actor.text)
        if not self.permissions.responders.is_known(actor.identity):
            return SaidPrivately(notes.NO_PAGES)
        log.info("slack.page_opened", ref=pressed.ref)
        leads_to = "/inbox" if pressed.ref is None else f"/q/{pressed.ref}"
        return self._personal(actor.identity, leads_to)

    async def open(self, visit: SlackVisit) -> Modal | SaidPrivately:
        refused = would_refuse(visit.suspension, visit.actor, self.permissions)
        if refused is not None:
            return await self.refused(refused, visit)
        notice = await self.notice(visit.suspension)
        view = answer_modal(notice, visit.delivery, self._sign, self.when_cut)
        if view is not None:
            return Modal(view, notice.links.shared)
        return await self.unopened(visit) or SaidPrivately(notes.USE_THE_BUTTONS)

    async def unopened(
        self, visit: SlackVisit, index: int | None = None, sight: Sight = Sight.MESSAGE
    ) -> SaidPrivately | None:
        """The note for a person who saw only ``sight``, if that is not enough to approve. The choice at ``index``
        may be a negative one."""
        if not visit.suspension.is_open or visit.is_negative(index):
            return None
        needed = await self._channel_views.sight_needed(CHANNEL, visit.suspension)
        return self._open_first(visit, needed) if needed > sight else None

    async def _beyond_home(self, visit: SlackVisit, index: int) -> SaidPrivately | None:
        """:meth:`unopened` for a button of a Home, which shows less than a message."""
        if visit.delivery != home.DELIVERY or not visit.suspension.is_open or visit.is_negative(index):
            return None
        notice = await self.notice(visit.suspension)
        needed = sight_needed(notice, home.cut(notice), self.when_cut)
        return self._open_first(visit, needed) if needed > Sight.MESSAGE else None

    def _open_first(self, visit: SlackVisit, needed: Sight) -> SaidPrivately:
        log.info("slack.unopened_refused", ref=visit.ref)
        link = self._page(visit.ref)
        return SaidPrivately(notes.reveal_first(link) if needed is Sight.REVEALED else notes.open_first(link), link)

    async def submit(self, submitted: Submitted) -> Recorded | SaidPrivately | Wrong | Modal:
        visit = await self.visit(submitted.by, submitted.ref, submitted.delivery, Reach())
        if isinstance(visit, SaidPrivately):
            return visit
        if submitted.index is not None:
            return await self._submit_reason(visit, submitted.index, submitted.entered.get(REASON_BLOCK, "").strip())
        notice = await self.notice(visit.suspension)
        given = self._given(submitted, visit)
        if isinstance(given, Wrong):
            return given
        sight = Sight.WHOLE if way(notice, self.when_cut) is AnswerControl.OPEN_MODAL else Sight.MESSAGE
        asking = None if given.choice is None else await self._why(visit, given.choice, sight)
        return asking or await self.give(visit, replace(given, sight=sight))

    async def give(
        self, visit: SlackVisit, given: GivenAnswer, block: str | None = None
    ) -> Recorded | SaidPrivately | Wrong:
        """``block`` is the input that shows an error, by default the answer's own."""
        given = replace(given, via=given.via or visit.via, can_undo=visit.has_message)
        done = await self._engine.respond(given, visit.suspension)
        match done:
            case Recorded():
                log.info("slack.answer_recorded", ref=visit.ref, delivery=visit.delivery)
                return done
            case Counted(now):
                log.info("slack.answer_recorded", ref=visit.ref, delivery=visit.delivery)
                if now.undoable is not None:
                    return SaidPrivately(recorded_undoable(await self._shown(now)))
                return SaidPrivately(recorded_partly(await self._shown(now), given.by.identity))
            case NotAnAnswer(error=InvalidChoice()):
                return SaidPrivately(notes.NO_LONGER_OPEN)  # not one of ours: the choices never change
            case NotAnAnswer(error=InvalidAnswer() | ResumePayloadInvalid() as error):
                wrong = self._channel_views.text_on(CHANNEL, error.message)  # it may repeat what they entered
            case _:
                return await self.refused(done, visit)
        return Wrong({block or error_block(await self.notice(visit.suspension)): wrong})

    async def visit(self, who: Who, ref: str, delivery: str, reach: Reach) -> SlackVisit | SaidPrivately:
        """The person who wants to answer, with their question. A stranger is turned away, and the attempt is logged."""
        actor, suspension = await self._known(who, ref)
        if isinstance(actor, NotAdmitted) and suspension is not None:
            return await self._turned_away(actor, who, suspension)
        return _visit_of(actor, suspension, delivery, reach, who)

    async def look(self, who: Who, ref: str, delivery: str, reach: Reach) -> SlackVisit | SaidPrivately:
        """:meth:`visit` for a person who does not answer: no attempt is logged, and a stranger is told no names."""
        return _visit_of(*await self._known(who, ref), delivery, reach, who)

    async def _known(self, who: Who, ref: str) -> tuple[Actor | NotAdmitted, Suspension | None]:
        actor, suspension = await self._identity.who(who), await self._queries.find(ref)
        if suspension is not None and not isinstance(actor, NotAdmitted):
            actor = await self._identity.before(actor, who, suspension)
        return actor, suspension

    async def _turned_away(self, refused: NotAdmitted, who: Who, suspension: Suspension) -> SaidPrivately:
        """Only people of our own workspace are told who may answer."""
        if refused.reason == "slack_unavailable" or not suspension.is_open:
            return SaidPrivately(refused.text)
        await self._incoming.turned_away(suspension.id, f"slack:{who.user_id}", CHANNEL, refused.reason)
        tells = refused.reason == "stranger"
        return SaidPrivately(notes.turned_away(refused.text, _may_answer(suspension)) if tells else refused.text)

    async def tried(self, visit: SlackVisit, code: str) -> None:
        """Log that a person who may not answer an open question has tried to (``code``)."""
        if visit.suspension.is_open:
            await self._incoming.turned_away(visit.suspension.id, visit.actor.identity, CHANNEL, code)

    # --- What is asked, and what was entered ------------------------------------------------------------------------

    async def _why(self, visit: SlackVisit, index: int, sight: Sight = Sight.MESSAGE) -> Modal | SaidPrivately | None:
        """The modal that asks for a reason, if the choice wants one."""
        choices = visit.suspension.ask.choices
        wanted = choices[index].reason_wanted if 0 <= index < len(choices) else None
        if wanted is None:
            return None
        refused = would_refuse(visit.suspension, visit.actor, self.permissions)
        if refused is not None:
            return await self.refused(refused, visit)
        unopened = await self.unopened(visit, index, sight)
        if unopened is not None:
            return unopened
        notice = await self.notice(visit.suspension)
        return Modal(reason_modal(notice, index, wanted, visit.delivery, self._sign), notice.links.shared)

    async def _submit_reason(self, visit: SlackVisit, index: int, reason: str) -> Recorded | SaidPrivately | Wrong:
        choices = visit.suspension.ask.choices
        wanted = choices[index].reason_wanted if index < len(choices) else None
        if wanted is ReasonWanted.REQUIRED and not reason and visit.suspension.is_open:
            return Wrong({REASON_BLOCK: GIVE_ONE})
        given = GivenAnswer(visit.suspension.id, visit.actor, CHANNEL, choice=index, reason=reason or None)
        return await self.give(visit, replace(given, sight=Sight.WHOLE), REASON_BLOCK)  # it came by a modal of ours

    def _given(self, submitted: Submitted, visit: SlackVisit) -> GivenAnswer | Wrong:
        ask, entered, actor = visit.suspension.ask, submitted.entered, visit.actor
        match ask.response_type:
            case ResponseType.CHOICE | ResponseType.CONFIRM:
                index = read_option(entered.get(ANSWER_BLOCK, ""))
                if index is None:
                    return Wrong({ANSWER_BLOCK: "Pick one of the choices."})
                return GivenAnswer(ask.id, actor, CHANNEL, choice=index)
            case ResponseType.TEXT:
                return GivenAnswer(ask.id, actor, CHANNEL, value=entered.get(ANSWER_BLOCK, ""))
            case ResponseType.FORM:
                fields = forms.fields(ask.form_schema, ask.context) or ()
                values, problems = forms.read(fields, entered, self._named, ask.form_schema)
                value: JsonValue = values
                if problems:  # it may repeat what they entered
                    hide = partial(self._channel_views.text_on, CHANNEL)
                    return Wrong({at: shown_with(said, hide) for at, said in problems.items()})
                return GivenAnswer(ask.id, actor, CHANNEL, value=value)

    # --- Why it did not count ---------------------------------------------------------------------------------------

    async def refused(self, refusal: Unrecorded | Unclaimed, visit: SlackVisit) -> SaidPrivately:
        log.info("slack.interaction_refused", ref=visit.ref, reason=refusal.error.code)
        match refusal:
            case TooLate(ended):
                return await self._late(visit, ended)
            case AlreadyYours(now):
                await self._edit_again(visit, now)
                return SaidPrivately(notes.recorded_already(now))
            case NotYours(error=error):
                await self.tried(visit, error.code)
                return SaidPrivately(notes.may_not(error, _may_answer(visit.suspension)))
            case HeldByAnother(error=error):
                return SaidPrivately(notes.held(error))
            case NotAnAnswer(error=NotShownWhole()):
                return self._open_first(visit, await self._channel_views.sight_needed(CHANNEL, visit.suspension))
            case NotAnAnswer():
                return SaidPrivately(notes.NO_LONGER_OPEN)  # there is no such question any more

    async def _late(self, visit: SlackVisit, ended: Suspension) -> SaidPrivately:
        """How it ended."""
        await self._edit_again(visit, ended)
        return SaidPrivately(await self.truth(ended))

    async def _edit_again(self, visit: SlackVisit, now: Suspension) -> None:
        """If the question has ended, edit its message, which still had buttons, once more: Slack may have accepted
        the edit and lost it."""
        reach = visit.reach
        if not now.is_open and reach.channel is not None and reach.ts is not None:
            stale = Stale(visit.delivery, CHANNEL, {"channel": reach.channel, "ts": reach.ts})
            await self._incoming.still_asks(now.id, stale)

    async def truth(self, ended: Suspension) -> str:
        """How it ended, for anybody in Slack."""
        if ended.undoable is not None:
            return answered_for_now(ended.undoable.by)
        if ended.is_open:
            return notes.ended(None)
        told = await self._queries.agent_told(ended.id)
        return notes.ended(build_ending(await self._shown(ended), told=told))

    def _named(self, user_id: str) -> str | None:
        """The identity of a person who was picked in a form."""
        picked = self.permissions.responders.actor_at(CHANNEL, user_id)
        return None if picked is None else picked.identity

    async def notice(self, suspension: Suspension) -> Notice:
        """The question as Slack shows it now."""
        return build_notice(
            await self._shown(suspension), suspension.attempt, NoticeLinks(self._page(suspension.ask.ref))
        )

    def _page(self, ref: str) -> str:
        return f"{self._public_url}/q/{ref}"

    async def _shown(self, suspension: Suspension) -> Suspension:
        return await self._channel_views.shown_on(CHANNEL, suspension)


def _visit_of(
    actor: Actor | NotAdmitted, suspension: Suspension | None, delivery: str, reach: Reach, who: Who
) -> SlackVisit | SaidPrivately:
    if isinstance(actor, NotAdmitted):
        return SaidPrivately(actor.text)
    return (
        SaidPrivately(notes.NO_LONGER_OPEN)
        if suspension is None
        else SlackVisit(actor, suspension, delivery, reach, who)
    )


def _may_answer(suspension: Suspension) -> tuple[str, ...]:
    """The references that mean a person: a channel by itself addresses nobody."""
    found = dict.fromkeys((*suspension.ask.responders, *suspension.asked))
    return tuple(one for one in found if _means_people(parse_recipient(one)))


def _means_people(recipient: Recipient) -> bool:
    if recipient.channel == CHANNEL:
        return recipient.value[0] in {"U", "W", "S"}
    return recipient.kind is not RecipientKind.PLACE
