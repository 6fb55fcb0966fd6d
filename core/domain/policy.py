"""Retry policies: merges the fields that the call, the agent and the platform have set into one policy. Pure.

:class:`PolicyFields` holds the fields of one level. :func:`resolve_policy` takes each field from the nearest level that
gives it. :class:`RetryPolicyFields` is such a partial policy as JSON.

Source: RFC-0026 §4.1, §4.3, §5; API.md §3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool, StrictInt

from core.domain.suspension import FallbackPolicy, HumanRetryPolicy, PagerSeverity, Rung
from core.domain.window import INTERVAL, LADDER, MAX_ATTEMPTS, Window, check_given_attempt, check_given_interval
from core.errors import InvalidRequest

MOST_ATTEMPTS = 50

T = TypeVar("T")


class Level(StrEnum):
    """Where a field of the policy came from, nearest first."""

    CALL = "call"
    AGENT = "agent"
    PLATFORM = "platform"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class PolicyFields:
    """One level's own words; ``None`` means that it says nothing about that field, and the level above does."""

    max_attempts: int | None = None
    interval: timedelta | None = None
    escalation_ladder: tuple[Rung, ...] | None = None
    final_fallback_policy: FallbackPolicy | None = None
    strategy: str | None = None
    """``fixed``, the only one there is (RFC-0026 §4.1)."""

    @property
    def says_something(self) -> bool:
        return self != PolicyFields()


@dataclass(frozen=True, slots=True)
class ResolvedPolicy:
    """The policy that counts, and the level that each of its fields came from."""

    policy: HumanRetryPolicy
    sources: Mapping[str, Level] = field(default_factory=dict)
    given: bool = False
    """Whether any level set a retry policy; without one the record shows none (RFC-0026 §12)."""
    dropped: int = 0
    """How many attempts do not fit into the window; ``policy`` counts those that remain."""


def resolve_policy(
    call: PolicyFields,
    agent: PolicyFields,
    platform: PolicyFields,
    *,
    window: Window,
    fallback_policy: FallbackPolicy | None,
) -> ResolvedPolicy:
    """The cascade, field by field: call > agent > platform. *Given* beats *inherited* even at a default's value.

    ``window`` and ``fallback_policy`` are the call's own. Raises :class:`InvalidRequest` if what the call gave
    can't hold; what it merely inherited is bent to fit.
    """
    levels = {Level.CALL: call, Level.AGENT: agent, Level.PLATFORM: platform}
    attempts, attempts_from = _first({level: said.max_attempts for level, said in levels.items()}, 1)
    ladder, ladder_from = _first({level: said.escalation_ladder for level, said in levels.items()}, ())
    final, final_from = _final_fallback(levels, fallback_policy)
    interval, interval_from = _interval(levels, window, attempts)
    ladder = _fit_ladder(ladder, ladder_from, attempts)
    if interval is not None:
        _check_given(window, interval, attempts if attempts_from is Level.CALL else 1, call.escalation_ladder or ())
    fitting = window.fitting(attempts, interval)
    rungs = tuple(rung for rung in ladder if rung.attempt <= fitting)
    policy = HumanRetryPolicy(fitting, interval, rungs, final)
    sources = {
        "max_attempts": attempts_from if fitting == attempts else Level.CALL,
        "interval_seconds": interval_from,
        "strategy": _first({level: said.strategy for level, said in levels.items()}, "fixed")[1],
        "escalation_ladder": ladder_from,
        "final_fallback_policy": final_from,
    }
    given = any(said.says_something for said in levels.values())
    return ResolvedPolicy(policy, sources, given, attempts - fitting)


def _check_given(window: Window, interval: timedelta, attempts: int, rungs: tuple[Rung, ...]) -> None:
    """Raises if an attempt that the call itself gave does not fit into its deadline."""
    check_given_attempt(window, attempts, interval, MAX_ATTEMPTS)
    for rung in rungs:
        check_given_attempt(window, rung.attempt, interval, LADDER)


def _first(said: Mapping[Level, T | None], default: T) -> tuple[T, Level]:
    for level, value in said.items():
        if value is not None:
            return value, level
    return default, Level.DEFAULT


def _final_fallback(
    levels: Mapping[Level, PolicyFields], fallback_policy: FallbackPolicy | None
) -> tuple[FallbackPolicy, Level]:
    """The call's policy, then the call's ``fallback_policy``, then up the cascade, then ``fail`` (RFC-0026 §4.3)."""
    said = {level: fields.final_fallback_policy for level, fields in levels.items()}
    said[Level.CALL] = said[Level.CALL] or fallback_policy
    return _first(said, FallbackPolicy.FAIL)


def _interval(levels: Mapping[Level, PolicyFields], window: Window, attempts: int) -> tuple[timedelta | None, Level]:
    """The time between attempts; absent, the call's timeout. Never longer than that timeout (RFC-0026 §4.2(2)), and
    for a veto never longer than its share of the window."""
    longest = window.share(attempts) if window.is_veto else window.longest_interval
    for level, said in levels.items():
        if said.interval is None:
            continue
        if level is Level.CALL:
            check_given_interval(window, said.interval, attempts)
            return said.interval, level
        if longest is None or said.interval <= longest:
            return said.interval, level
        return longest, Level.CALL
    if longest is None and attempts > 1:
        message = "More than one attempt needs retry_policy.interval_seconds or timeout_seconds."
        raise InvalidRequest(message, path=INTERVAL)
    return longest, Level.CALL if longest is not None else Level.DEFAULT


def _fit_ladder(ladder: tuple[Rung, ...], level: Level, attempts: int) -> tuple[Rung, ...]:
    """The rungs within the attempts, in order. What the call gave must fit; what it inherited is dropped."""
    fitting = tuple(rung for rung in ladder if 1 <= rung.attempt <= attempts)
    if level is Level.CALL:
        path = LADDER
        if len(fitting) < len(ladder):
            raise InvalidRequest(f"Every rung's attempt must be between 1 and max_attempts ({attempts}).", path=path)
        if len({rung.attempt for rung in ladder}) < len(ladder):
            raise InvalidRequest("Two rungs name the same attempt.", path=path)
    once = {rung.attempt: rung for rung in reversed(fitting)}
    return tuple(once[number] for number in sorted(once))


LONGEST_SECONDS = 31_536_000
"""A year: the longest duration on the wire (API.md §1)."""

Seconds = Annotated[int, Field(strict=True, ge=1, le=LONGEST_SECONDS)]


class RungFields(BaseModel):
    """One entry of ``escalation_ladder``. An empty ``notify_to`` is the published SDK's way to write none."""

    model_config = ConfigDict(extra="forbid")

    attempt: StrictInt
    """The attempt that the rung is for, from 1 to `max_attempts`."""
    channel_hint: str | None = Field(default=None, max_length=64)
    """The channel to ask on, for this attempt only."""
    notify_to: str | None = Field(default=None, max_length=320)
    """Whom to ask, for this attempt only."""
    quiet: StrictBool | None = Field(
        default=None, description="Wait while everybody whom the attempt asks is outside their working hours."
    )
    severity: PagerSeverity | None = None
    """The severity of the attempt's incident in PagerDuty; by the stated risk if you leave it out."""


class RetryPolicyFields(BaseModel):
    """``retry_policy`` as it may be given at any level; absent fields are inherited (RFC-0026 §5)."""

    model_config = ConfigDict(extra="forbid")

    max_attempts: Annotated[int, Field(strict=True, ge=1, le=MOST_ATTEMPTS)] | None = None
    """How often to ask, at most; 1 by default."""
    interval_seconds: Seconds | None = None
    """Seconds between two attempts; `timeout_seconds` by default."""
    strategy: Literal["fixed"] | None = None
    """`fixed`, the only one there is (RFC-0026 §4.1)."""
    escalation_ladder: list[RungFields] | None = Field(default=None, max_length=MOST_ATTEMPTS)
    """Which attempt asks somebody else, or elsewhere."""
    final_fallback_policy: FallbackPolicy | None = None
    """What happens after the last attempt; the call's `fallback_policy` by default."""

    def fields(self) -> PolicyFields:
        """The same in the domain's words."""
        interval, ladder = self.interval_seconds, self.escalation_ladder
        return PolicyFields(
            max_attempts=self.max_attempts,
            interval=None if interval is None else timedelta(seconds=interval),
            escalation_ladder=None if ladder is None else tuple(_rung(rung) for rung in ladder),
            final_fallback_policy=self.final_fallback_policy,
            strategy=self.strategy,
        )


def policy_fields(stored: Mapping[str, JsonValue]) -> PolicyFields:
    """What an agent's stored default says."""
    return RetryPolicyFields.model_validate(stored).fields() if stored else PolicyFields()


def _rung(rung: RungFields) -> Rung:
    return Rung(rung.attempt, rung.channel_hint or None, rung.notify_to or None, rung.quiet or False, rung.severity)
