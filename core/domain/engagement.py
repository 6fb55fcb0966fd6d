"""Engagement: should a person be asked at all? Signals in, decision out.

Source: RFC-0025 §7; precedence as API.md §4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import JsonValue


class Mode(StrEnum):
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


def engage(signals: EngagementSignals) -> EngagementDecision:
    """The first row of RFC-0025 §7.2 that fits, in the order autonomous, defer, require_input, request_input."""
    shown = f"confidence {signals.confidence:.2f}, risk {signals.risk:.2f}, reversibility {signals.reversibility:.2f}"
    if signals.confidence >= 0.85 and signals.risk <= 0.20 and signals.reversibility >= 0.50:
        return EngagementDecision(Mode.AUTONOMOUS, f"Confident, safe and reversible ({shown}).")
    if signals.risk >= 0.80 or signals.reversibility <= 0.10:
        return EngagementDecision(Mode.DEFER, f"Too risky or not reversible: do not act ({shown}).")
    if signals.confidence < 0.50 or signals.risk > 0.50:
        return EngagementDecision(Mode.REQUIRE_INPUT, f"Low confidence or raised risk: a person decides ({shown}).")
    return EngagementDecision(Mode.REQUEST_INPUT, f"Moderate uncertainty: ask a person ({shown}).")
