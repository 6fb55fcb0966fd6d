"""PagerDuty's way in: V3 webhooks at ``/pagerduty/webhooks``.

An acknowledgement is a claim, a note may be an answer; nothing else changes anything. PagerDuty repeats a webhook
after a 503, in order and for two days, and switches the subscription off after three other refusals: so whatever is
signed gets a 202, unless it could not be kept, or nobody could say what it was about.

Source: API.md §3, §6; facts on channels §C, §F; https://developer.pagerduty.com/docs/webhooks-behavior.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from datetime import timedelta
from typing import assert_never

import structlog
from sqlalchemy.exc import SQLAlchemyError

from bot.pagerduty_lookup import Lookup
from channels.grammar import Matched
from channels.pagerduty.replies import (
    Acknowledged,
    Annotated,
    Ignored,
    Unacknowledged,
    Webhook,
    is_id,
    read_answer_in,
    read_note,
    read_webhook,
)
from channels.pagerduty.rest import ApiUnavailable, PagerDutyApi
from channels.pagerduty.signature import HEADER, is_signed
from core.domain.answering import GivenAnswer
from core.domain.notice import Purpose, shown_choices
from core.domain.quorum import is_shared
from core.domain.suspension import Suspension
from core.domain.told import about, recorded_partly
from core.engine import Engine
from core.errors import (
    AlreadyAnswered,
    AnswersDisagree,
    CallerError,
    DatabaseUnavailable,
    HandraiseError,
    SuspensionError,
)
from core.ports import Clock

log = structlog.get_logger(__name__)

CHANNEL = "pagerduty"
CLAIM = timedelta(minutes=30)
"""How long an acknowledgement holds attempts back, counted from when it was made (API.md §3)."""
OLDEST = timedelta(hours=49)
"""PagerDuty repeats for 48 hours; what is older is somebody else's replay."""

KEPT, UNSIGNED, COME_AGAIN = 202, 401, 503


class PagerDutyDoor:
    """Takes webhooks. ``secrets`` are those of the webhook subscription, several while one is being replaced."""

    def __init__(
        self, engine: Engine, api: PagerDutyApi, *, instance: str, secrets: Sequence[str], clock: Clock
    ) -> None:
        self._engine = engine
        self._api = api
        self._lookup = Lookup(engine, api, instance)
        self._secrets = tuple(secrets)
        self._clock = clock

    async def receive(self, raw: bytes, headers: Mapping[str, str]) -> int:
        """The status to answer with. A 202 means that whatever the webhook changes is committed."""
        given = {name.lower(): value for name, value in headers.items()}
        if not is_signed(raw, given.get(HEADER, ""), self._secrets):
            log.warning("pagerduty.signature_refused")
            return UNSIGNED
        webhook = read_webhook(raw)
        webhook_id = given.get("x-webhook-id")
        named = {"webhook": webhook_id if is_id(webhook_id) else None, "event": webhook.id}
        ids = [f"{kind}:{one}" for kind, one in named.items() if one]
        try:
            await self._take(webhook, ids)
        except ApiUnavailable as trouble:
            log.warning("pagerduty.lookup_failed", reason=trouble.reason)
            return COME_AGAIN
        except (DatabaseUnavailable, SQLAlchemyError) as trouble:
            log.warning("pagerduty.webhook_not_kept", reason=type(trouble).__name__)
            return COME_AGAIN
        return KEPT

    async def close(self) -> None:
        await self._api.close()

    async def _take(self, webhook: Webhook, ids: Sequence[str]) -> None:
        """Do what it says, then remember that it was done: a crash in between repeats it and loses nothing."""
        now = self._clock.now()
        happened_at = min(webhook.occurred_at or now, now)
        if isinstance(webhook.happening, Ignored):
            log.info("pagerduty.webhook_ignored", reason=webhook.happening.reason)
            return
        if now - happened_at > OLDEST:
            log.warning("pagerduty.webhook_ignored", reason="too_old")
            return
        for one in ids:
            if await self._engine.was_seen(CHANNEL, one):
                log.info("pagerduty.webhook_ignored", reason="repeated")
                return
        match webhook.happening:
            case Acknowledged():
                await self._acknowledged(webhook.happening, happened_at + CLAIM - now)
            case Unacknowledged():
                await self._unacknowledged(webhook.happening)
            case Annotated():
                await self._annotated(webhook.happening)
            case _ as unknown:
                assert_never(unknown)
        for one in ids:
            await self._engine.seen(CHANNEL, one)

    async def _acknowledged(self, said: Acknowledged, hold: timedelta) -> None:
        """A claim; or the answer that the agent has marked, where it is beyond doubt which question was meant."""
        questions = await self._lookup.questions(said.incident)
        person = await self._lookup.person(said.user) if questions else None
        if person is None:
            log.info("pagerduty.webhook_ignored", reason="unknown_person" if questions else "unknown_incident")
            return
        marked = _marked(questions[0]) if len(questions) == 1 else None
        if marked is not None:
            answer = GivenAnswer(questions[0].id, person, CHANNEL, choice=marked)
            await self._answer(questions[0], answer)
        elif hold > timedelta(0):
            for question in questions:
                await self._attempt("claim", question, self._engine.claim(question.id, person, CHANNEL, hold))

    async def _unacknowledged(self, said: Unacknowledged) -> None:
        """Give back what an acknowledgement took. A claim made elsewhere stays."""
        for question in await self._lookup.questions(said.incident):
            claim = question.claim
            if claim is not None and claim.channel == CHANNEL:
                holder = self._engine.responders.actor(claim.by)
                await self._attempt("release", question, self._engine.release(question.id, holder))

    async def _annotated(self, said: Annotated) -> None:
        note = read_note(said.text)
        questions = await self._lookup.questions(said.incident)
        meant = [one for one in questions if note.ref in {None, one.ask.ref}]
        if len(meant) != 1:
            log.info("pagerduty.note_ignored", reason="which_question" if meant else "unknown_incident")
            return
        (question,) = meant
        ask = question.ask
        choices = shown_choices(self._engine.redaction.shown_on(CHANNEL, question).ask.choices)
        reading = read_answer_in(note, ask.response_type, choices, ask.form_schema)
        if not isinstance(reading, Matched):
            log.info("pagerduty.note_ignored", ref=ask.ref, reason=getattr(reading, "reason", "empty"))
            return
        person = await self._lookup.person(said.user)
        if person is None:
            log.info("pagerduty.note_ignored", ref=ask.ref, reason="unknown_person")
            return
        value = reading.value if reading.index is None else None
        answer = GivenAnswer(question.id, person, CHANNEL, value, reading.index, reading.reason)
        await self._answer(question, answer)

    async def _answer(self, question: Suspension, answer: GivenAnswer) -> None:
        """An end shows at the incident, which is resolved. Where others have to answer too it stays as it is, so the
        person is told elsewhere whether theirs counts."""
        refusal = await self._attempt("answer", question, self._engine.respond(answer))
        now = await self._engine.get(question.id)
        if now is None or not now.is_open or not is_shared(now):
            return
        shown = self._engine.redaction.shown_on(CHANNEL, now)
        if refusal is None or refusal.details.get("same_answer") is True:
            text = recorded_partly(shown, answer.by.identity)
        elif isinstance(refusal, AlreadyAnswered | AnswersDisagree):
            text = f"Your answer through PagerDuty was not recorded: {refusal.message} The question stays open."
        else:
            return
        await self._engine.tell_person(answer.by.identity, about(shown, Purpose.CONFIRMATION, text), now.id)

    async def _attempt(self, what: str, question: Suspension, change: Awaitable[object]) -> HandraiseError | None:
        """Somebody too late, or who may not, changes nothing; PagerDuty has nothing to repeat then. Returns why."""
        try:
            await change
        except (SuspensionError, CallerError) as refusal:
            log.info("pagerduty.change_refused", what=what, ref=question.ask.ref, code=refusal.code)
            return refusal
        log.info("pagerduty.change_made", what=what, ref=question.ask.ref)
        return None


def _marked(question: Suspension) -> int | None:
    """The index of the one choice that an acknowledgement stands for; none where it would be two."""
    marked = [index for index, choice in enumerate(question.ask.choices) if choice.on_acknowledge]
    return marked[0] if len(marked) == 1 else None
