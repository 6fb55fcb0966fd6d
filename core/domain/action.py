"""Actions: the call that an answer releases, shown to people as JSON in which every sign is visible. Pure.

The agent's own action runs, so nothing in it is removed or made prettier. A sign that is invisible, or that moves or
covers others, is written as its JSON escape.

Source: API.md §2, "What is shown"; Unicode Annex 44 (Default_Ignorable_Code_Point); docs/decisions/0041.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from core.domain.redaction.kinds import OPENINGS

HEADING = "Exactly this will run"
DIGITS = 8
"""Of the digest, that are shown."""

HIDDEN = "What is marked [redacted] or [masked] is hidden here, and runs all the same."

_INDENTED = 12
"""Levels with lines of their own; what is deeper stands on one line."""
_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5\u180b\u180c\u180d\u180f")
"""Letters, marks and symbols by their category that show nothing."""
_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
_MOST_MARKS = 3
"""On one letter. More of them cover what stands around it."""


@dataclass(frozen=True, slots=True)
class ShownAction:
    """The action, as far as it may be shown. ``digest`` are the first digits of ``action_digest``: of the action
    itself, whatever is hidden here."""

    value: Mapping[str, JsonValue]
    digest: str

    @property
    def heading(self) -> str:
        return f"{HEADING} (sha256 {self.digest})"

    def text(self, most: int | None = None, levels: int = _INDENTED) -> str:
        """Indented JSON in the agent's own order; its first ``most`` characters. Values deeper than ``levels`` stand
        on one line."""
        if most is None:
            return "".join(_pieces(dict(self.value), levels))
        kept, room = [], most
        for piece in _pieces(dict(self.value), levels):
            kept.append(piece[:room])
            room -= len(piece)
            if room <= 0:
                break
        return "".join(kept)

    def is_longer_than(self, most: int) -> bool:
        return len(self.text(most + 1)) > most


def shown_action(action: Mapping[str, JsonValue] | None, digest: str | None) -> ShownAction | None:
    """``digest`` as in the callback (``sha256:`` and hex digits)."""
    if action is None or digest is None:
        return None
    return ShownAction(action, digest.removeprefix("sha256:")[:DIGITS])


def hides(text: str) -> bool:
    """Whether a mark in ``text`` stands for something that was redacted."""
    return any(opening in text for opening in OPENINGS)


def _pieces(value: JsonValue, levels: int) -> Iterator[str]:
    """``value`` as JSON, piece by piece: the reader may stop at any time. No recursion, however deep it is."""
    opened: list[tuple[Iterator[tuple[str, JsonValue]], str]] = []
    todo, separator = value, ""
    while True:
        if isinstance(todo, dict | list) and todo:
            yield "{" if isinstance(todo, dict) else "["
            opened.append(_items(todo))
            separator = ""
        else:
            yield _scalar(todo)
            separator = ","
        while opened:
            items, closing = opened[-1]
            item = next(items, None)
            if item is not None:
                name, todo = item
                yield f"{separator}{_line_end(len(opened), separator, levels)}{name}"
                break
            opened.pop()
            yield f"{_line_end(len(opened), '', levels) if len(opened) < levels else ''}{closing}"
            separator = ","
        else:
            return


def _items(value: dict[str, JsonValue] | list[JsonValue]) -> tuple[Iterator[tuple[str, JsonValue]], str]:
    """The values of a container with the text before each, and the closing bracket."""
    if isinstance(value, dict):
        return ((f"{visible(key)}: ", one) for key, one in value.items()), "}"
    return (("", one) for one in value), "]"


def _line_end(depth: int, separator: str, levels: int) -> str:
    if depth <= levels:
        return "\n" + "  " * depth
    return " " if separator else ""


def _scalar(value: JsonValue) -> str:
    return visible(value) if isinstance(value, str) else json.dumps(value)


def visible(text: str) -> str:
    """``text`` as a JSON string in which each sign is visible."""
    written = json.dumps(text, ensure_ascii=False)
    if written.isascii() and written.isprintable():
        return written
    return "".join(_escaped(sign) if hidden else sign for sign, hidden in zip(written, _hidden(written), strict=True))


def _hidden(text: str) -> Iterator[bool]:
    """For each sign: whether it is invisible, turns the direction of reading, or draws over a sign that is not a
    letter."""
    marks = _MOST_MARKS
    for sign in text:
        category = unicodedata.category(sign)
        if category[0] == "L":
            marks = 0
        elif category[0] == "M":
            marks += 1
        else:
            marks = _MOST_MARKS
        is_mark = category[0] == "M" and (marks > _MOST_MARKS or category == "Me")
        yield is_mark or not sign.isprintable() or sign in _BLANK or any(ord(sign) in one for one in _SELECTORS)


def _escaped(sign: str) -> str:
    units = sign.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))
