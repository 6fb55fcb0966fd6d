"""Who set which part of the policy, and what it comes to (RFC-0026 §4.1, §5; API.md §2, §3)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from core.domain.policy import Level, PolicyFields, ResolvedPolicy, RetryPolicyFields, policy_fields, resolve_policy
from core.domain.suspension import FallbackPolicy, HumanRetryPolicy, Rung
from core.domain.window import Window
from core.errors import InvalidRequest
from tests.core.examples import HOUR

NOTHING = PolicyFields()
MINUTE = timedelta(minutes=1)
PLATFORM = PolicyFields(3, HOUR, (Rung(2, "email"),), FallbackPolicy.FAIL)
AGENT = PolicyFields(2, HOUR / 2, (Rung(2, "pagerduty"),), FallbackPolicy.COMPLETE_WITH_FALLBACK)
CALL = PolicyFields(4, MINUTE, (Rung(2, "slack"),), FallbackPolicy.USE_DEFAULT_AND_CONTINUE)

FIELDS = {
    "max_attempts": "max_attempts",
    "interval": "interval_seconds",
    "escalation_ladder": "escalation_ladder",
    "final_fallback_policy": "final_fallback_policy",
}


def resolve(
    call: PolicyFields = NOTHING,
    agent: PolicyFields = NOTHING,
    platform: PolicyFields = NOTHING,
    timeout: timedelta | None = None,
    fallback_policy: FallbackPolicy | None = None,
) -> ResolvedPolicy:
    return resolve_policy(call, agent, platform, window=Window(timeout), fallback_policy=fallback_policy)


def test_nothing_said_anywhere_is_one_attempt_that_waits_for_ever_and_then_fails() -> None:
    resolved = resolve()
    assert resolved.policy == HumanRetryPolicy(1, None, (), FallbackPolicy.FAIL)
    assert set(resolved.sources.values()) == {Level.DEFAULT}
    assert not resolved.given


@pytest.mark.parametrize("level", [Level.CALL, Level.AGENT, Level.PLATFORM])
@pytest.mark.parametrize("field", FIELDS)
def test_each_field_comes_from_the_nearest_level_that_says_it(level: Level, field: str) -> None:
    said = {Level.CALL: CALL, Level.AGENT: AGENT, Level.PLATFORM: PLATFORM}
    silent = list(said)[: list(said).index(level)]
    heard = {one: replace(fields, **{field: None}) if one in silent else fields for one, fields in said.items()}
    resolved = resolve(heard[Level.CALL], heard[Level.AGENT], heard[Level.PLATFORM])
    assert getattr(resolved.policy, field) == getattr(said[level], field)
    assert resolved.sources[FIELDS[field]] is level


@pytest.mark.parametrize("field", FIELDS)
def test_a_given_value_beats_an_inherited_one_even_where_it_is_the_default(field: str) -> None:
    defaults = {"max_attempts": 1, "interval": HOUR, "escalation_ladder": (), "final_fallback_policy": "fail"}
    call = PolicyFields(**{field: defaults[field]})
    resolved = resolve(call, AGENT, PLATFORM)
    assert getattr(resolved.policy, field) == defaults[field]
    assert resolved.sources[FIELDS[field]] is Level.CALL


levels_of_one_field = st.tuples(*[st.none() | st.integers(1, 50)] * 3)


@given(levels_of_one_field)
@settings(deadline=None)
def test_the_cascade_is_call_then_agent_then_platform(said: tuple[int | None, ...]) -> None:
    resolved = resolve(*(PolicyFields(max_attempts=number) for number in said), timeout=HOUR)
    expected = next((number for number in said if number is not None), 1)
    assert resolved.policy.max_attempts == expected
    assert resolved.given == any(number is not None for number in said)


def test_without_an_interval_the_timeout_is_the_time_between_attempts() -> None:
    resolved = resolve(PolicyFields(max_attempts=3), timeout=MINUTE)
    assert (resolved.policy.interval, resolved.sources["interval_seconds"]) == (MINUTE, Level.CALL)


def test_an_inherited_interval_is_capped_at_the_calls_timeout() -> None:
    for agent, platform in ((NOTHING, PLATFORM), (AGENT, NOTHING)):
        resolved = resolve(agent=agent, platform=platform, timeout=MINUTE)
        assert (resolved.policy.interval, resolved.sources["interval_seconds"]) == (MINUTE, Level.CALL)


def test_an_inherited_interval_within_the_timeout_stands() -> None:
    resolved = resolve(platform=PLATFORM, timeout=2 * HOUR)
    assert (resolved.policy.interval, resolved.sources["interval_seconds"]) == (HOUR, Level.PLATFORM)


def test_the_calls_own_fallback_policy_stands_in_for_a_final_one() -> None:
    resolved = resolve(platform=PLATFORM, fallback_policy=FallbackPolicy.COMPLETE_WITH_FALLBACK)
    assert resolved.policy.final_fallback_policy is FallbackPolicy.COMPLETE_WITH_FALLBACK
    assert resolved.sources["final_fallback_policy"] is Level.CALL


def test_the_final_fallback_policy_beats_the_calls_fallback_policy() -> None:
    call = PolicyFields(final_fallback_policy=FallbackPolicy.FAIL)
    resolved = resolve(call, fallback_policy=FallbackPolicy.COMPLETE_WITH_FALLBACK)
    assert resolved.policy.final_fallback_policy is FallbackPolicy.FAIL


def test_a_fallback_policy_alone_is_no_retry_policy() -> None:
    assert not resolve(timeout=HOUR, fallback_policy=FallbackPolicy.FAIL).given


def test_the_ladder_is_kept_in_the_order_of_its_attempts() -> None:
    resolved = resolve(PolicyFields(3, HOUR, (Rung(3, "pagerduty"), Rung(2, "email"))))
    assert [rung.attempt for rung in resolved.policy.escalation_ladder] == [2, 3]


def test_an_inherited_rung_beyond_the_attempts_is_dropped() -> None:
    platform = PolicyFields(3, HOUR, (Rung(2, "email"), Rung(3, "pagerduty")))
    resolved = resolve(PolicyFields(max_attempts=2), platform=platform)
    assert resolved.policy.escalation_ladder == (Rung(2, "email"),)


def test_of_two_inherited_rungs_for_one_attempt_the_first_counts() -> None:
    platform = PolicyFields(3, HOUR, (Rung(2, "email"), Rung(2, "pagerduty")))
    assert resolve(platform=platform).policy.escalation_ladder == (Rung(2, "email"),)


@pytest.mark.parametrize(
    ("call", "path"),
    [
        (PolicyFields(interval=HOUR), "retry_policy.interval_seconds"),
        (PolicyFields(2, MINUTE, (Rung(0, "email"),)), "retry_policy.escalation_ladder"),
        (PolicyFields(2, MINUTE, (Rung(3, "email"),)), "retry_policy.escalation_ladder"),
        (PolicyFields(2, MINUTE, (Rung(2, "email"), Rung(2, "slack"))), "retry_policy.escalation_ladder"),
    ],
)
def test_what_the_call_gives_must_hold(call: PolicyFields, path: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        resolve(call, timeout=MINUTE)
    assert refused.value.details["fields"] == [{"path": path, "message": refused.value.message}]


@pytest.mark.parametrize("level", ["call", "agent", "platform"])
def test_several_attempts_need_a_time_between_them(level: str) -> None:
    with pytest.raises(InvalidRequest, match="More than one attempt needs"):
        resolve(**{level: PolicyFields(max_attempts=2)})


def test_a_given_ladder_is_measured_against_inherited_attempts() -> None:
    call = PolicyFields(escalation_ladder=(Rung(3, "email"),))
    assert resolve(call, platform=PLATFORM).policy.escalation_ladder == (Rung(3, "email"),)
    with pytest.raises(InvalidRequest):
        resolve(call, agent=PolicyFields(max_attempts=2), platform=PLATFORM)


@pytest.mark.parametrize(
    "fields",
    [
        {"max_attempts": 0},
        {"max_attempts": 51},
        {"max_attempts": "3"},
        {"max_attempts": 3.0},
        {"max_attempts": True},
        {"interval_seconds": 0},
        {"interval_seconds": 31_536_001},
        {"interval_seconds": "60"},
        {"interval_seconds": 60.5},
        {"strategy": "exponential"},
        {"final_fallback_policy": "deny"},
        {"escalation_ladder": {"attempt": 2}},
        {"escalation_ladder": [{"channel_hint": "email"}]},
        {"escalation_ladder": [{"attempt": "2"}]},
        {"escalation_ladder": [{"attempt": 2, "channel": "email"}]},
        {"escalation_ladder": [{"attempt": 1}] * 51},
        {"interval": 60},
    ],
)
def test_a_written_policy_that_breaks_the_contract_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RetryPolicyFields.model_validate(fields)


@pytest.mark.parametrize("attempts", [1, 50])
@pytest.mark.parametrize("interval", [1, 31_536_000])
def test_the_limits_themselves_are_allowed(attempts: int, interval: int) -> None:
    written = {"max_attempts": attempts, "interval_seconds": interval, "strategy": "fixed"}
    assert policy_fields(written) == PolicyFields(attempts, timedelta(seconds=interval), strategy="fixed")


def test_null_means_absent() -> None:
    written = dict.fromkeys(["max_attempts", "interval_seconds", "strategy", "escalation_ladder"])
    fields = RetryPolicyFields.model_validate({**written, "final_fallback_policy": None}).fields()
    assert fields == NOTHING
    assert not fields.says_something


def test_an_empty_notify_to_is_none() -> None:
    fields = policy_fields({"escalation_ladder": [{"attempt": 2, "channel_hint": "email", "notify_to": ""}]})
    assert fields.escalation_ladder == (Rung(2, "email", None),)


def test_an_empty_ladder_is_a_word_that_beats_the_inherited_one() -> None:
    resolved = resolve(policy_fields({"escalation_ladder": []}), platform=PLATFORM)
    assert resolved.policy.escalation_ladder == ()
    assert resolved.sources["escalation_ladder"] is Level.CALL


def test_an_agent_that_set_nothing_says_nothing() -> None:
    assert policy_fields({}) == NOTHING
