"""An action in one line: its name and the arguments that tell most, for a list. Pure.

The line is a pointer to the action, never in its place: whoever decides reads the whole of it first. Every sign in it
is visible, as in the whole (:func:`core.domain.action.visible`).

Source: docs/decisions/0120.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from core.domain.action import visible

LONGEST = 80
_MOST_ARGUMENTS = 3
_NAMES = ("tool", "tool_name", "action", "name", "function", "method", "operation", "command", "type")
"""Under what agents write which call it is, the likeliest first."""
_WITHIN = ("arguments", "args", "input", "parameters", "params", "kwargs")
"""Under what they write what it is called with."""
_TELLING = ("amount", "price", "total", "sum", "currency", "to", "recipient", "payee", "target", "environment", "path")
"""What a person would ask for first."""


def in_short(action: Mapping[str, JsonValue] | None) -> str | None:
    """``stripe.refund 499.99``, of the action as it may be shown."""
    if action is None:
        return None
    name = next((key for key in _NAMES if isinstance(action.get(key), str) and action[key]), None)
    given = dict(_arguments(action, name))
    first = [key for key in given if any(word in key.lower() for word in _TELLING)]
    chosen = dict.fromkeys((*first, *given))
    told = [_told(given[key]) for key in list(chosen)[:_MOST_ARGUMENTS]]
    line = " ".join(filter(None, (*(() if name is None else (_told(action[name]),)), *told)))
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def _arguments(action: Mapping[str, JsonValue], name: str | None) -> Iterator[tuple[str, JsonValue]]:
    """The plain values among what it is called with."""
    inner = next((value for key in _WITHIN if isinstance(value := action.get(key), dict)), None)
    for key, value in (action if inner is None else inner).items():
        if (key != name or inner is not None) and isinstance(value, str | int | float) and value != "":
            yield key, value


def _told(value: JsonValue) -> str:
    return visible(value[:LONGEST])[1:-1] if isinstance(value, str) else json.dumps(value)
