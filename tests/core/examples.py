"""Questions, people and signals that the tests of core are written about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from core.domain.machine import decide, open_suspension
from core.domain.policy import PolicyFields, resolve_policy
from core.domain.request import AskRequest, settle_choices
from core.domain.suspension import Ask, Choice, Kind, PlannedAttempt, ResponseType, Rung, Suspension
from core.domain.vocabulary import AnswerGiven, AttemptDue, Claimed, Effect, Event, Notify, Outcome, Signal
from core.engine.drafting import Draft
from core.engine.planning import AttemptPlan

START = datetime(2026, 3, 24, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)

APPROVE_DENY = (
    Choice("approve", "Approve refund", "Issue full refund to original payment method"),
    Choice("deny", "Deny refund"),
)
LADDER = (Rung(2, "email"), Rung(3, "pagerduty", "supervisor@example.com"))
"""The ladder of RFC-0026 §4.1."""


def after(**passed: float) -> datetime:
    """So long after the question was asked."""
    return START + timedelta(**passed)


NOTHING = PolicyFields()


def a_question(
    *,
    attempts: int | None = None,
    interval: timedelta | None = None,
    ladder: Sequence[Rung] | None = None,
    suspension_id: str = "susp-1",
    ref: str = "HR-7F3K",
    intent_id: str = "intent-1",
    platform: PolicyFields = NOTHING,
    created_by: str = "refund-agent",
    suspended_at: datetime = START,
    **fields: Any,
) -> Ask:
    """A question as it is drafted in production, but for the plan: every attempt asks the same Slack channel, or the
    rung's place where there is a rung."""
    if fields.get("response_type", ResponseType.CHOICE) is ResponseType.CHOICE and fields.get("kind") is not Kind.VETO:
        fields.setdefault("choices", APPROVE_DENY)
    given = PolicyFields(attempts, interval, None if ladder is None else tuple(ladder), fields.pop("final", None))
    request = AskRequest(**{"question": "Refund order 12345?", "policy": given, **fields})
    resolved = resolve_policy(given, NOTHING, platform, window=request.window, fallback_policy=request.fallback_policy)
    rungs = {rung.attempt: rung for rung in resolved.policy.escalation_ladder}
    steps = tuple(_step(number, rungs.get(number)) for number in range(1, resolved.policy.max_attempts + 1))
    draft = Draft(request, settle_choices(request), resolved, AttemptPlan(steps, ()))
    return draft.ask(suspension_id=suspension_id, ref=ref, intent_id=intent_id, created_by=created_by, now=suspended_at)


def _step(number: int, rung: Rung | None) -> PlannedAttempt:
    if rung is None:
        return PlannedAttempt(number, "slack", None, ("slack:C0OPS",))
    recipients = (rung.notify_to or "alice@example.com",)
    return PlannedAttempt(number, rung.channel_hint or "slack", rung.notify_to, recipients, rung=True)


def opened(ask: Ask) -> Suspension:
    return open_suspension(ask).suspension


def hourly(attempts: int = 3, **fields: Any) -> Suspension:
    """Asked at :data:`START`, again every hour, and over an hour after the last attempt."""
    return opened(a_question(attempts=attempts, interval=HOUR, **fields))


def look(suspension: Suspension, at: datetime, *, delivered: bool = True) -> Outcome:
    """The clock looks once."""
    return decide(suspension, AttemptDue(delivered), at)


def look_until_done(suspension: Suspension, at: datetime) -> tuple[Suspension, list[Event], list[Effect]]:
    """The clock looks for as long as something is due at ``at``, as :meth:`core.engine.Engine.look` does."""
    events: list[Event] = []
    effects: list[Effect] = []
    for _ in range(200):
        if suspension.look_at is None or suspension.look_at > at:
            return suspension, events, effects
        outcome = look(suspension, at)
        suspension = outcome.suspension
        events += outcome.events
        effects += outcome.effects
    raise AssertionError("the clock never comes to rest")


def claimed(suspension: Suspension, at: datetime, until: datetime, by: str = "alice@example.com") -> Suspension:
    return decide(suspension, Claimed(by, until, "slack"), at).suspension


def answered(suspension: Suspension, at: datetime, value: Any = "approve") -> Outcome:
    return decide(suspension, an_answer(value), at)


def an_answer(value: Any = "approve", by: str = "alice@example.com", **fields: Any) -> AnswerGiven:
    return AnswerGiven(value, by, "slack", **fields)


def attempts_in(effects: Sequence[Effect]) -> list[int]:
    """The attempts that go out."""
    return [effect.attempt for effect in effects if isinstance(effect, Notify)]


def types_of(events: Sequence[Event]) -> list[str]:
    return [event.type for event in events]


def with_choices(ask: Ask, *choices: Choice) -> Ask:
    return replace(ask, choices=choices)


def every_signal_at(suspension: Suspension, signals: Sequence[Signal], at: datetime) -> Suspension:
    """The suspension after all of ``signals``, one after another at the same instant."""
    for signal in signals:
        suspension = decide(suspension, signal, at).suspension
    return suspension
