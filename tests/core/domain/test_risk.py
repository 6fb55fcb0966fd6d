"""How risky an agent says its question is (RFC-0025 §7)."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from core.domain.wording import Risk, stated_risk


@pytest.mark.parametrize(
    ("value", "risk"),
    [
        (0, Risk.LOW),
        (0.2, Risk.LOW),
        (0.21, Risk.MEDIUM),
        (0.5, Risk.MEDIUM),
        (0.51, Risk.HIGH),
        (0.79, Risk.HIGH),
        (0.8, Risk.CRITICAL),
        (1, Risk.CRITICAL),
        ("high", Risk.HIGH),
        (" Critical ", Risk.CRITICAL),
    ],
)
def test_a_risk_is_a_number_or_a_word(value: JsonValue, risk: Risk) -> None:
    assert stated_risk({"risk": value}) is risk


@pytest.mark.parametrize("value", [None, True, -0.1, 1.1, 40, "", "some", [0.5], {"level": 1}])
def test_anything_else_says_nothing(value: JsonValue) -> None:
    assert stated_risk({"risk": value}) is None


def test_the_first_place_that_says_something_counts() -> None:
    assert stated_risk({"risk": 0.9}, {"risk": "low"}) is Risk.CRITICAL
    assert stated_risk({"risk": "?"}, {"risk": "low"}) is Risk.LOW
    assert stated_risk(None, {}) is None
