"""Who set which part of the policy, and what it comes to. Source: RFC-0026 §4.1, §4.3, §5; API.md §3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TypeVar

from core.domain.suspension import FallbackPolicy, HumanRetryPolicy, Rung
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

    @property
    def says_something(self) -> bool:
        return self != PolicyFields()


@dataclass(frozen=True, slots=True)
class ResolvedPolicy:
    """The policy that counts, and for each of its fields the level it came from."""

    policy: HumanRetryPolicy
    sources: Mapping[str, Level] = field(default_factory=dict)
    given: bool = False
    """Whether any level set a retry policy; without one the record shows none (RFC-0026 §12)."""


def resolve_policy(
    call: PolicyFields,
    agent: PolicyFields,
    platform: PolicyFields,
    *,
    timeout: timedelta | None,
    fallback_policy: FallbackPolicy | None,
) -> ResolvedPolicy:
    """The cascade, field by field: call > agent > platform. *Given* beats *inherited* even at a default's value.

    ``timeout`` and ``fallback_policy`` are the call's own. Raises :class:`InvalidRequest` where what the call gave
    can't hold; what it merely inherited is bent to fit.
    """
    levels = {Level.CALL: call, Level.AGENT: agent, Level.PLATFORM: platform}
    attempts, attempts_from = _first({level: said.max_attempts for level, said in levels.items()}, 1)
    ladder, ladder_from = _first({level: said.escalation_ladder for level, said in levels.items()}, ())
    final, final_from = _final_fallback(levels, fallback_policy)
    interval, interval_from = _interval(levels, timeout, attempts)
    policy = HumanRetryPolicy(attempts, interval, _fit_ladder(ladder, ladder_from, attempts), final)
    sources = {
        "max_attempts": attempts_from,
        "interval_seconds": interval_from,
        "escalation_ladder": ladder_from,
        "final_fallback_policy": final_from,
    }
    return ResolvedPolicy(policy, sources, any(said.says_something for said in levels.values()))


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


def _interval(
    levels: Mapping[Level, PolicyFields], timeout: timedelta | None, attempts: int
) -> tuple[timedelta | None, Level]:
    """The time between attempts; absent, the call's timeout. Never longer than that timeout (RFC-0026 §4.2(2))."""
    for level, said in levels.items():
        if said.interval is None:
            continue
        if timeout is None or said.interval <= timeout:
            return said.interval, level
        if level is Level.CALL:
            message = "retry_policy.interval_seconds must not be greater than timeout_seconds."
            raise InvalidRequest(message, path="retry_policy.interval_seconds")
        return timeout, Level.CALL
    if timeout is None and attempts > 1:
        message = "More than one attempt needs retry_policy.interval_seconds or timeout_seconds."
        raise InvalidRequest(message, path="retry_policy.interval_seconds")
    return timeout, Level.CALL if timeout is not None else Level.DEFAULT


def _fit_ladder(ladder: tuple[Rung, ...], level: Level, attempts: int) -> tuple[Rung, ...]:
    """The rungs within the attempts, in order. What the call gave must fit; what it inherited is dropped."""
    fitting = tuple(rung for rung in ladder if 1 <= rung.attempt <= attempts)
    if level is Level.CALL:
        path = "retry_policy.escalation_ladder"
        if len(fitting) < len(ladder):
            raise InvalidRequest(f"Every rung's attempt must be between 1 and max_attempts ({attempts}).", path=path)
        if len({rung.attempt for rung in ladder}) < len(ladder):
            raise InvalidRequest("Two rungs name the same attempt.", path=path)
    once = {rung.attempt: rung for rung in reversed(fitting)}
    return tuple(once[number] for number in sorted(once))
