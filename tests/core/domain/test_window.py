"""How much of a policy fits into the window of its question: ``deadline_seconds`` and a veto's timeout (API.md §2)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from core.domain.policy import Level, PolicyFields, ResolvedPolicy, resolve_policy
from core.domain.request import AskRequest, check_request, settle_choices
from core.domain.suspension import Kind, Rung
from core.domain.window import Window
from core.errors import DeadlineTooShort, InvalidRequest
from tests.core.examples import HOUR

NOTHING = PolicyFields()
HOURLY = PolicyFields(3, HOUR, (Rung(2, "email"), Rung(3, "pagerduty")))


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def resolved(
    call: PolicyFields = NOTHING,
    platform: PolicyFields = NOTHING,
    *,
    timeout: float | None = None,
    deadline: float | None = None,
    kind: Kind = Kind.INPUT,
) -> ResolvedPolicy:
    window = window_of(timeout, deadline, kind)
    return resolve_policy(call, NOTHING, platform, window=window, fallback_policy=None)


def window_of(timeout: float | None = None, deadline: float | None = None, kind: Kind = Kind.INPUT) -> Window:
    times = (None if one is None else seconds(one) for one in (timeout, deadline))
    return Window.of(*times, kind)


def schedule(policy: ResolvedPolicy, window: Window) -> tuple[list[float], float | None]:
    """When the attempts are due and when it ends, in seconds after the start."""
    interval = policy.policy.interval or seconds(0)
    due = [(interval * number).total_seconds() for number in range(policy.policy.max_attempts)]
    end = window.end_of(policy.policy)
    return due, None if end is None else end.total_seconds()


# --- deadline_seconds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attempts", "interval", "deadline", "due", "end"),
    [
        pytest.param(3, 100, 1000, [0, 100, 200], 300, id="the ladder ends before it"),
        pytest.param(3, 100, 300, [0, 100, 200], 300, id="it is the ladder's end"),
        pytest.param(3, 100, 250, [0, 100, 200], 250, id="it cuts the last attempt's time"),
        pytest.param(3, 100, 201, [0, 100, 200], 201, id="a second is time enough"),
        pytest.param(3, 100, 200, [0, 100], 200, id="what is due at the end is dropped"),
        pytest.param(3, 100, 100, [0], 100, id="one remains"),
        pytest.param(3, 100, 40, [0], 40, id="the first is always made"),
    ],
)
def test_the_deadline_ends_the_ladder(
    attempts: int, interval: int, deadline: int, due: list[float], end: float
) -> None:
    window = window_of(timeout=3600, deadline=deadline)
    policy = resolved(platform=PolicyFields(attempts, seconds(interval)), timeout=3600, deadline=deadline)
    assert schedule(policy, window) == (due, end)
    assert policy.dropped == attempts - len(due)


def test_alone_it_is_the_timeout_too() -> None:
    assert schedule(resolved(deadline=600), window_of(deadline=600)) == ([0], 600)
    assert window_of(deadline=600).timeout == seconds(600)


def test_with_the_platforms_three_hourly_attempts_ten_minutes_are_ten_minutes() -> None:
    policy = resolved(platform=HOURLY, deadline=600)
    assert schedule(policy, window_of(deadline=600)) == ([0], 600)
    assert (policy.policy.max_attempts, policy.policy.escalation_ladder, policy.dropped) == (1, (), 2)
    assert policy.sources["max_attempts"] is Level.CALL, "the call's deadline has set it"


def test_the_resolved_ladder_has_the_rungs_of_the_attempts_that_remain() -> None:
    policy = resolved(platform=HOURLY, timeout=7200, deadline=7200)
    assert [rung.attempt for rung in policy.policy.escalation_ladder] == [2]


@pytest.mark.parametrize(
    ("call", "path"),
    [
        (PolicyFields(max_attempts=3), "retry_policy.max_attempts"),
        (PolicyFields(3, seconds(300)), "retry_policy.max_attempts"),
        (PolicyFields(1, seconds(601)), "retry_policy.interval_seconds"),
        (PolicyFields(interval=seconds(601)), "retry_policy.interval_seconds"),
        (PolicyFields(escalation_ladder=(Rung(2, "email"),)), "retry_policy.escalation_ladder"),
        (PolicyFields(interval=seconds(300), escalation_ladder=(Rung(3, "email"),)), "retry_policy.escalation_ladder"),
    ],
)
@pytest.mark.parametrize("timeout", [None, 3600])
def test_what_the_call_itself_gave_has_to_fit(call: PolicyFields, path: str, timeout: float | None) -> None:
    with pytest.raises(DeadlineTooShort) as refused:
        resolved(call, HOURLY, timeout=timeout, deadline=600)
    assert [field["path"] for field in refused.value.details["fields"]] == [path]


@pytest.mark.parametrize(
    "call",
    [
        PolicyFields(3, seconds(299)),
        PolicyFields(1, seconds(600)),
        PolicyFields(interval=seconds(300), escalation_ladder=(Rung(2, "email"),)),
        PolicyFields(interval=seconds(300)),
    ],
)
def test_what_fits_is_taken_and_only_what_is_inherited_is_dropped(call: PolicyFields) -> None:
    policy = resolved(call, HOURLY, deadline=600)
    assert policy.policy.interval == call.interval
    assert policy.policy.max_attempts == (call.max_attempts or 2)


def test_an_interval_longer_than_the_timeout_is_still_refused_by_that_name() -> None:
    with pytest.raises(InvalidRequest) as refused:
        resolved(PolicyFields(interval=seconds(400)), timeout=300, deadline=600)
    assert refused.value.code == "invalid_request"


# --- Veto windows -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("platform", "timeout", "due"),
    [
        pytest.param(NOTHING, 600, [0], id="one attempt"),
        pytest.param(HOURLY, 600, [0, 200, 400], id="an interval that was not given is its share"),
        pytest.param(HOURLY, 601, [0, 200, 400], id="in whole seconds"),
        pytest.param(PolicyFields(3, seconds(50)), 600, [0, 50, 100], id="it becomes no longer"),
        pytest.param(PolicyFields(3, HOUR), 2, [0, 1], id="at least a second; what is due at the end is dropped"),
        pytest.param(PolicyFields(50, HOUR), 1, [0], id="one is left"),
    ],
)
def test_a_vetos_timeout_is_its_whole_window(platform: PolicyFields, timeout: float, due: list[float]) -> None:
    policy = resolved(platform=platform, timeout=timeout, kind=Kind.VETO)
    assert schedule(policy, window_of(timeout, kind=Kind.VETO)) == (due, timeout)
    assert policy.dropped == (platform.max_attempts or 1) - len(due)


def test_a_vetos_own_interval_stands_where_all_attempts_have_it() -> None:
    call = PolicyFields(interval=seconds(200))
    policy = resolved(call, HOURLY, timeout=600, kind=Kind.VETO)
    assert schedule(policy, window_of(600, kind=Kind.VETO)) == ([0, 200, 400], 600)
    with pytest.raises(InvalidRequest) as refused:
        resolved(PolicyFields(interval=seconds(201)), HOURLY, timeout=600, kind=Kind.VETO)
    assert refused.value.details["fields"][0]["path"] == "retry_policy.interval_seconds"


def test_a_vetos_own_attempts_that_come_too_late_are_dropped_as_inherited_ones_are() -> None:
    policy = resolved(PolicyFields(max_attempts=5), timeout=3, kind=Kind.VETO)
    assert schedule(policy, window_of(3, kind=Kind.VETO)) == ([0, 1, 2], 3)


def refusal(**fields: Any) -> InvalidRequest:
    request = AskRequest("Deploy?", kind=Kind.VETO, **fields)
    policy = resolve_policy(request.policy, NOTHING, HOURLY, window=request.window, fallback_policy=None)
    with pytest.raises(InvalidRequest) as refused:
        check_request(request, settle_choices(request), policy)
    return refused.value


def test_an_inherited_interval_is_no_timeout_for_a_veto() -> None:
    assert refusal().details["fields"][0]["path"] == "timeout_seconds"


def test_a_veto_never_goes_ahead_before_its_timeout() -> None:
    refused = refusal(timeout=HOUR, deadline=HOUR / 2)
    assert (refused.code, refused.details["fields"][0]["path"]) == ("deadline_too_short", "deadline_seconds")
    assert AskRequest("Deploy?", kind=Kind.VETO, deadline=HOUR).window.timeout == HOUR
