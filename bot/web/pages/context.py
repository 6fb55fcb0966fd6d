"""The context of a question as rows of a table: a row for each value, those of a nested value below it. Pure.

Nothing is left out: a long value is folded, and so are the rows behind the first ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from pydantic import JsonValue

from bot.web.pages.forms import shown
from bot.web.pages.markdown import diff, is_diff

DEEPEST = 4
"""Levels with rows of their own; what is deeper stands as JSON in one row."""
AT_ONCE = 40
"""Rows that are shown at once; those behind them are folded."""
LONG = 400
"""Characters, or :data:`TALL` lines, of a value that is shown whole. Of a longer one the beginning is, and the rest is
folded."""
TALL = 8
_BEGINNING = 160


@dataclass(frozen=True, slots=True)
class ContextRow:
    """``name`` with its ``text``, at ``level`` from 0. A row that heads those of a nested value has no text.
    ``beginning`` is what is shown of a long text while it is folded, and ``changes`` the text as a diff."""

    name: str
    level: int
    text: str | None
    beginning: str | None = None
    changes: Markup | None = None


def rows(context: Mapping[str, JsonValue]) -> tuple[tuple[ContextRow, ...], tuple[ContextRow, ...]]:
    """Those that are shown at once, and those that are folded; a few more than fit are no reason to fold."""
    found = tuple(_rows(context.items(), 0))
    return (found, ()) if len(found) <= AT_ONCE + 5 else (found[:AT_ONCE], found[AT_ONCE:])


def _rows(items: Iterable[tuple[str, JsonValue]], level: int) -> Iterator[ContextRow]:
    for name, value in items:
        below = _below(value) if level < DEEPEST else ()
        if below:
            yield ContextRow(name, level, None)
            yield from _rows(below, level + 1)
        else:
            yield _row(name, level, _text(value))


def _below(value: JsonValue) -> Sequence[tuple[str, JsonValue]]:
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, list):
        return [(str(number), one) for number, one in enumerate(value, start=1)]
    return ()


def _text(value: JsonValue) -> str:
    """An empty object or list as JSON has it; a deep one with its lines."""
    return json.dumps(value) if value in ({}, []) else shown(value)


def _row(name: str, level: int, text: str) -> ContextRow:
    is_long = len(text) > LONG or text.count("\n") >= TALL
    return ContextRow(name, level, text, _begun(text) if is_long else None, diff(text) if is_diff(text) else None)


def _begun(text: str) -> str:
    first = "\n".join(text.split("\n")[:3])[:_BEGINNING].rstrip()
    return f"{first} …"
