"""Should a person be asked? RFC-0025 §7.2's table, in the order of API.md §4."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.engagement import Action, EngagementSignals, EngagementThresholds, Mode, engage

part = st.floats(0, 1)


def decided(confidence: float, risk: float, reversibility: float) -> Mode:
    return engage(EngagementSignals(confidence, risk, reversibility)).mode


@pytest.mark.parametrize(
    ("confidence", "risk", "reversibility", "mode"),
    [
        (1.0, 0.0, 1.0, Mode.AUTONOMOUS),
        (0.85, 0.20, 0.50, Mode.AUTONOMOUS),
        (0.84, 0.20, 0.50, Mode.REQUEST_INPUT),
        (0.85, 0.21, 0.50, Mode.REQUEST_INPUT),
        (0.85, 0.20, 0.49, Mode.REQUEST_INPUT),
        (0.50, 0.50, 0.11, Mode.REQUEST_INPUT),
        (0.49, 0.00, 1.00, Mode.REQUIRE_INPUT),
        (0.90, 0.51, 1.00, Mode.REQUIRE_INPUT),
        (0.90, 0.79, 1.00, Mode.REQUIRE_INPUT),
        (0.90, 0.80, 1.00, Mode.DEFER),
        (0.90, 0.10, 0.10, Mode.DEFER),
        (0.90, 0.10, 0.00, Mode.DEFER),
    ],
)
def test_each_row_of_the_table_holds_up_to_its_limits(
    confidence: float, risk: float, reversibility: float, mode: Mode
) -> None:
    assert decided(confidence, risk, reversibility) is mode


def test_what_is_too_risky_is_deferred_even_where_input_would_be_required() -> None:
    assert decided(0.1, 0.9, 1.0) is Mode.DEFER
    assert decided(0.1, 0.1, 0.05) is Mode.DEFER


def test_the_defaults_let_the_agent_go_on() -> None:
    assert engage(EngagementSignals()).mode is Mode.AUTONOMOUS


@pytest.mark.parametrize(
    ("signals", "action", "should_ask"),
    [
        (EngagementSignals(), Action.PROCEED, False),
        (EngagementSignals(confidence=0.6), Action.ASK, True),
        (EngagementSignals(confidence=0.4), Action.MUST_ASK, True),
        (EngagementSignals(risk=0.9), Action.DEFER, False),
    ],
)
def test_each_mode_says_what_to_do(signals: EngagementSignals, action: Action, should_ask: bool) -> None:
    decision = engage(signals)
    assert (decision.action, decision.should_ask) == (action, should_ask)


@given(part, part, part)
def test_every_triple_is_decided_and_says_why(confidence: float, risk: float, reversibility: float) -> None:
    decision = engage(EngagementSignals(confidence, risk, reversibility))
    assert decision.mode in Mode
    assert decision.rationale
    assert decision.should_ask == (decision.action in {Action.ASK, Action.MUST_ASK})


@given(part, part, part)
def test_nothing_risky_or_irreversible_is_ever_done_alone(confidence: float, risk: float, reversibility: float) -> None:
    if decided(confidence, risk, reversibility) is Mode.AUTONOMOUS:
        assert confidence >= 0.85
        assert risk <= 0.20
        assert reversibility >= 0.50


@given(part, part, part, part)
def test_more_confidence_never_makes_a_person_more_needed(
    risk: float, reversibility: float, one: float, other: float
) -> None:
    need = [Mode.AUTONOMOUS, Mode.REQUEST_INPUT, Mode.REQUIRE_INPUT, Mode.DEFER]
    less, more = sorted((one, other))
    assert need.index(decided(more, risk, reversibility)) <= need.index(decided(less, risk, reversibility))


# --- Thresholds of one's own ------------------------------------------------------------------------------------------

OWN = EngagementThresholds(
    autonomous_min_confidence=0.9,
    autonomous_max_risk=0.1,
    autonomous_min_reversibility=0.6,
    require_input_below_confidence=0.4,
    require_input_above_risk=0.3,
    defer_min_risk=0.7,
    defer_max_reversibility=0.2,
)


@pytest.mark.parametrize(
    ("confidence", "risk", "reversibility", "mode"),
    [
        (0.90, 0.10, 0.60, Mode.AUTONOMOUS),
        (0.89, 0.10, 0.60, Mode.REQUEST_INPUT),
        (0.90, 0.11, 0.60, Mode.REQUEST_INPUT),
        (0.90, 0.10, 0.59, Mode.REQUEST_INPUT),
        (0.40, 0.10, 0.60, Mode.REQUEST_INPUT),
        (0.39, 0.10, 0.60, Mode.REQUIRE_INPUT),
        (0.90, 0.30, 0.60, Mode.REQUEST_INPUT),
        (0.90, 0.31, 0.60, Mode.REQUIRE_INPUT),
        (0.90, 0.69, 0.60, Mode.REQUIRE_INPUT),
        (0.90, 0.70, 0.60, Mode.DEFER),
        (0.90, 0.10, 0.21, Mode.REQUEST_INPUT),
        (0.90, 0.10, 0.20, Mode.DEFER),
    ],
)
def test_each_threshold_moves_the_limit_that_it_names(
    confidence: float, risk: float, reversibility: float, mode: Mode
) -> None:
    assert engage(EngagementSignals(confidence, risk, reversibility), OWN).mode is mode
