"""Engagement: should a person be asked at all? Signals in, decision out.

Source: RFC-0025 §7; precedence as API.md §4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import JsonValue


class Mode(StrEnum):
    """What RFC-0025 §7.2 makes of confidence, risk and reversibility."""

    AUTONOMOUS = "autonomous"
    REQUEST_INPUT = "request_input"
    REQUIRE_INPUT = "require_input"
    DEFER = "defer"


class Action(StrEnum):
    """What the agent does about it."""

    PROCEED = "proceed"
    ASK = "ask"
    MUST_ASK = "must_ask"
    DEFER = "defer"


ACTIONS = {
    Mode.AUTONOMOUS: Action.PROCEED,
    Mode.REQUEST_INPUT: Action.ASK,
    Mode.REQUIRE_INPUT: Action.MUST_ASK,
    Mode.DEFER: Action.DEFER,
}


@dataclass(frozen=True, slots=True)
class EngagementSignals:
    """Each from 0 to 1 (RFC-0025 §7.1)."""

    confidence: float = 1.0
    risk: float = 0.0
    reversibility: float = 1.0
    context: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EngagementDecision:
    mode: Mode
    rationale: str

    @property
    def should_ask(self) -> bool:
        return self.mode in {Mode.REQUEST_INPUT, Mode.REQUIRE_INPUT}

    @property
    def action(self) -> Action:
        return ACTIONS[self.mode]


@dataclass(frozen=True, slots=True)
class EngagementThresholds:
    """Where one mode ends and the next begins, each from 0 to 1; what is ``min`` or ``max`` belongs to the mode itself.

    Source of the defaults: RFC-0025 §7.2.
    """

    autonomous_min_confidence: float = 0.85
    autonomous_max_risk: float = 0.20
    autonomous_min_reversibility: float = 0.50
    require_input_below_confidence: float = 0.50
    require_input_above_risk: float = 0.50
    defer_min_risk: float = 0.80
    defer_max_reversibility: float = 0.10


RFC_THRESHOLDS = EngagementThresholds()


def engage(signals: EngagementSignals, limits: EngagementThresholds = RFC_THRESHOLDS) -> EngagementDecision:
    """The first row of RFC-0025 §7.2 that fits, in the order autonomous, defer, require_input, request_input."""
    confidence, risk, reversibility = signals.confidence, signals.risk, signals.reversibility
    shown = f"confidence {confidence:.2f}, risk {risk:.2f}, reversibility {reversibility:.2f}"
    if (
        confidence >= limits.autonomous_min_confidence
        and risk <= limits.autonomous_max_risk
        and reversibility >= limits.autonomous_min_reversibility
    ):
        return EngagementDecision(Mode.AUTONOMOUS, f"Confident, safe and reversible ({shown}).")
    if risk >= limits.defer_min_risk or reversibility <= limits.defer_max_reversibility:
        return EngagementDecision(Mode.DEFER, f"Too risky or not reversible: do not act ({shown}).")
    if confidence < limits.require_input_below_confidence or risk > limits.require_input_above_risk:
        return EngagementDecision(Mode.REQUIRE_INPUT, f"Low confidence or raised risk: a person decides ({shown}).")
    return EngagementDecision(Mode.REQUEST_INPUT, f"Moderate uncertainty: ask a person ({shown}).")
