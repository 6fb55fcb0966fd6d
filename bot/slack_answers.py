"""What an interaction in Slack does to a question, and what the person is told: between the parser and the engine.

Every way through ends in ``Engine.respond`` or ``Engine.claim``; what these raise becomes words. What is wrong with us
(the database is away) is raised on, for ``bot.slack_app`` to answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from pydantic import JsonValue

from channels.slack import forms, notes
from channels.slack.buttons import Way, way
from channels.slack.cut import WhenCut, must_open
from channels.slack.modal import ANSWER_BLOCK, answer_modal, error_block
from channels.slack.replies import Chosen, OnIt, Submitted, WantsModal, Who
from channels.slack.values import Sign, read_option
from core.domain.answering import GivenAnswer
from core.domain.notice import Links, Notice, build_ending, build_notice
from core.domain.people import Actor
from core.domain.suspension import ResponseType, Suspension
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

log = structlog.get_logger(__name__)

CHANNEL = "slack"


@dataclass(frozen=True, slots=True)
class Recorded:
    """The answer counts."""


@dataclass(frozen=True, slots=True)
class Told:
    """It did not count, or needs no more; ``text`` says so to the person alone."""

    text: str


@dataclass(frozen=True, slots=True)
class Wrong:
    """The answer can be mended: what is wrong, by the block it was entered in."""

    errors: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Modal:
    """The view to open. ``link`` leads to the same question on the page."""

    view: dict[str, Any]
    link: str


class SlackAnswers:
    """``sign`` seals modals; ``team_id`` is the one workspace whose people count, where it is configured. ``when_cut``
    is what the channel renders by: a button that it would not have shown does not answer."""

    def __init__(
        self,
        engine: Engine,
        *,
        sign: Sign,
        public_url: str,
        team_id: str | None,
        when_cut: WhenCut = WhenCut.ANSWER,
    ) -> None:
        self._engine = engine
        self._sign = sign
        self._public_url = public_url.rstrip("/")
        self._team_id = team_id
        self._when_cut = when_cut

    async def choose(self, pressed: Chosen) -> Recorded | Told:
        known = await self._known(pressed.by, pressed.ref)
        if isinstance(known, Told):
            return known
        actor, suspension = known
        notice = self._notice(suspension)
        if suspension.is_open and must_open(notice, self._when_cut):
            log.info("slack.unopened_refused", ref=suspension.ask.ref)
            return Told(notes.open_first(notice.links.shared))
        given = GivenAnswer(suspension.id, actor, CHANNEL, choice=pressed.index)
        said = await self._respond(given, suspension, pressed.delivery)
        return Told(_text(said)) if isinstance(said, Wrong) else said

    async def claim(self, pressed: OnIt) -> Told:
        known = await self._known(pressed.by, pressed.ref)
        if isinstance(known, Told):
            return known
        actor, suspension = known
        try:
            claimed = await self._engine.claim(suspension.id, actor, CHANNEL)
        except (SuspensionError, CallerError) as error:
            return await self._refused(error, suspension)
        return Told(notes.claimed(claimed.ask.ref, claimed.claim))

    async def modal(self, pressed: WantsModal) -> Modal | Told:
        """The view to answer in, for somebody who may answer."""
        known = await self._known(pressed.by, pressed.ref)
        if isinstance(known, Told):
            return known
        actor, suspension = known
        if not suspension.is_open:
            return Told(notes.ended(build_ending(self._shown(suspension))))
        refusals = {one.code: one for one in (NotAResponder, SelfResponseForbidden)}
        refusal = self._engine.may_answer(suspension, actor)
        if refusal is not None:
            return Told(notes.refused(refusals[refusal]("You may not answer this."), _may_answer(suspension)))
        notice = self._notice(suspension)
        view = answer_modal(notice, pressed.delivery, self._sign, self._when_cut)
        if view is not None:
            return Modal(view, notice.links.shared)
        unopened = must_open(notice, self._when_cut)
        return Told(notes.open_first(notice.links.shared) if unopened else notes.USE_THE_BUTTONS)

    async def submit(self, submitted: Submitted) -> Recorded | Told | Wrong:
        known = await self._known(submitted.by, submitted.ref)
        if isinstance(known, Told):
            return known
        actor, suspension = known
        notice = self._notice(suspension)
        if suspension.is_open and must_open(notice, self._when_cut) and way(notice, self._when_cut) is Way.PAGE:
            return Told(notes.open_first(notice.links.shared))  # its modal did not show everything
        given = self._given(submitted, suspension, actor)
        if isinstance(given, Wrong):
            return given
        return await self._respond(given, suspension, submitted.delivery)

    def _given(self, submitted: Submitted, suspension: Suspension, actor: Actor) -> GivenAnswer | Wrong:
        ask, entered = suspension.ask, submitted.entered
        match ask.response_type:
            case ResponseType.CHOICE | ResponseType.CONFIRM:
                index = read_option(entered.get(ANSWER_BLOCK, ""))
                if index is None:
                    return Wrong({ANSWER_BLOCK: "Pick one of the choices."})
                return GivenAnswer(suspension.id, actor, CHANNEL, choice=index)
            case ResponseType.TEXT:
                return GivenAnswer(suspension.id, actor, CHANNEL, value=entered.get(ANSWER_BLOCK, ""))
            case ResponseType.FORM:
                values, problems = forms.read(forms.fields(ask.form_schema, ask.context) or (), entered, self._named)
                value: JsonValue = values
                return Wrong(problems) if problems else GivenAnswer(suspension.id, actor, CHANNEL, value=value)

    async def _respond(self, given: GivenAnswer, suspension: Suspension, delivery: str) -> Recorded | Told | Wrong:
        try:
            done = await self._engine.respond(given)
        except InvalidChoice:
            return Told(notes.NO_LONGER_OPEN)  # not one of ours: the choices never change
        except (InvalidAnswer, ResumePayloadInvalid) as error:
            said = self._engine.redaction.text_on(CHANNEL, error.message)
            return Wrong({error_block(self._notice(suspension)): said})
        except AnswersDisagree as differs:
            return Wrong({error_block(self._notice(suspension)): notes.refused(differs, ())})
        except (SuspensionError, CallerError) as error:
            return await self._refused(error, suspension)
        log.info("slack.answer_recorded", ref=suspension.ask.ref, delivery=delivery)
        return Told(recorded_partly(self._shown(done), given.by.identity)) if done.is_open else Recorded()

    async def _refused(self, error: SuspensionError | CallerError, suspension: Suspension) -> Told:
        log.info("slack.interaction_refused", ref=suspension.ask.ref, reason=error.code)
        late = isinstance(error, AlreadyAnswered | SuspensionEnded | NotSuspended | NotFound)
        if late and error.details.get("same_answer") is not True:
            now = await self._engine.find(suspension.ask.ref)
            if now is None or not now.is_open:
                return Told(notes.ended(build_ending(self._shown(now)) if now is not None else None))
        return Told(notes.refused(error, _may_answer(suspension)))

    async def _known(self, who: Who, ref: str) -> tuple[Actor, Suspension] | Told:
        actor, suspension = self._actor(who), await self._engine.find(ref)
        if isinstance(actor, Told):
            return actor
        return Told(notes.NO_LONGER_OPEN) if suspension is None else (actor, suspension)

    def _actor(self, who: Who) -> Actor | Told:
        """Whoever pressed it, as the directory knows them, never as Slack names them."""
        if self._team_id is not None and who.team_id != self._team_id:
            log.warning("slack.other_workspace_refused", team=who.team_id)
            return Told(notes.OTHER_WORKSPACE)
        actor = self._engine.responders.actor_at(CHANNEL, who.user_id)
        if actor is None:
            log.warning("slack.stranger_refused", team=who.team_id)
            return Told(notes.STRANGER)
        return actor

    def _named(self, user_id: str) -> str | None:
        """The identity of somebody who was picked in a form."""
        picked = self._engine.responders.actor_at(CHANNEL, user_id)
        return None if picked is None else picked.identity

    def _notice(self, suspension: Suspension) -> Notice:
        links = Links(f"{self._public_url}/q/{suspension.ask.ref}")
        return build_notice(self._shown(suspension), suspension.attempt, links)

    def _shown(self, suspension: Suspension) -> Suspension:
        return self._engine.redaction.shown_on(CHANNEL, suspension)


def _may_answer(suspension: Suspension) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*suspension.ask.responders, *suspension.asked)))


def _text(wrong: Wrong) -> str:
    return " ".join(wrong.errors.values())
