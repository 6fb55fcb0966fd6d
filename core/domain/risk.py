"""How risky the agent says its question is: in the ``decision_record`` of RFC-0025 §7, else in the context.

Source: RFC-0025 §7 (``risk``, 0 to 1, and where its rows draw their lines); docs/decisions/0023.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from pydantic import JsonValue


class Risk(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


def stated_risk(*places: Mapping[str, JsonValue] | None) -> Risk | None:
    """The first ``risk`` in ``places`` that says something: a number from 0 to 1, or a word of :class:`Risk`."""
    found = (_read(place.get("risk")) for place in places if place is not None)
    return next((risk for risk in found if risk is not None), None)


def told_risk(risk: Risk | None) -> str | None:
    """What people are told of it beside the question: nothing where it is not high."""
    return f"{risk.value}, says the agent" if risk is Risk.HIGH or risk is Risk.CRITICAL else None


def _read(value: JsonValue) -> Risk | None:
    if isinstance(value, str):
        return next((risk for risk in Risk if risk == value.strip().lower()), None)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    if value >= 0.8:
        return Risk.CRITICAL
    if value > 0.5:
        return Risk.HIGH
    return Risk.MEDIUM if value > 0.2 else Risk.LOW
