"""First screen: the part of a mail that a phone shows before anybody scrolls, 375 × 667 CSS pixels. Pure.

It should have the headline, what silence does, the question, the action and the choices. If they don't all fit:

- the action is set more densely, with its deep parts on one line; then short choices stand in two columns; then
  question and action are in smaller type;
- if the mail can approve nothing, question and action begin above the buttons, and stand below them as a whole;
- else both stand whole above the buttons, wherever these then are: nobody approves what they were not shown. The
  choices are named at the top.

Heights are estimated from the letters, a little high: tests/browser/test_mail_browser.py measures the result. Source:
docs/decisions/0101.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Protocol
from unicodedata import east_asian_width

from core.domain.wording import shortened

HEIGHT = 667
"""CSS pixels."""
_ALMOST = 740
"""If the densest way is no higher than that, it brings the buttons nearer. Else the most readable one is better."""

SHORT_QUESTION, LONG_QUESTION = 120, 300
"""Characters. A question is set larger up to the first, and as prose from the second on."""
_SIDE_BY_SIDE_FROM = 3
_NARROW_LABEL, _NARROW_DESCRIPTION = 44, 60
"""Columns, of what fits beside another choice in about three lines."""
_MOST_NAMED, _NAMED = 4, 30
_OPENING_LINES, _OPENING = 5, 200

_TOP, _SILENCE_LINE, _SILENCE_COLUMNS = 64, 19, 42
"""Pixels: the line of the marker, the headline, and the edges of the card; below it what silence does."""
_RISK, _HIDDEN, _OPEN_FIRST = 26, 38, 117
_ANSWER = 52
"""The one button of a question without choices."""
_BUTTON, _BUTTON_LINE, _DESCRIPTION_LINE = 52, 20, 18
_STACKED, _BESIDE = (33, 44), (15, 21)
"""Columns of a label and of a description."""
_UNDER_QUESTION, _AROUND_ACTION = 12, 50


@dataclass(frozen=True, slots=True)
class _Type:
    """Pixels of a line, and its columns: of a short question, a long one and the action."""

    short: tuple[int, int]
    long: tuple[int, int]
    action: tuple[int, int]


_USUAL = _Type((25, 27), (22, 34), (17, 36))
_SMALL = _Type((22, 33), (19, 38), (15, 40))


class Choosable(Protocol):
    """A choice's size and name."""

    @property
    def number(self) -> int: ...
    @property
    def label(self) -> str: ...
    @property
    def description(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Asked:
    """The content above the buttons. ``actions`` are ways to write the action, the most readable one first;
    ``open_first``: only *Open* and the negative choices have buttons. ``hidden``: a line says that a part is hidden."""

    silence: str
    question: str
    actions: Sequence[str]
    choices: Sequence[Choosable]
    open_first: bool = False
    risk: bool = False
    hidden: bool = False

    @property
    def approves(self) -> bool:
        """Whether a button may say yes."""
        return bool(self.choices) and not self.open_first


@dataclass(frozen=True, slots=True)
class Setting:
    """The layout of a mail. ``action`` is the text of the action. The openings stand above the buttons if the whole
    texts stand below them. ``named`` are the choices, if their buttons may be below the first screen. ``small`` is
    the type of question and action; choices stand ``beside`` each other."""

    action: str | None = None
    question_opening: str | None = None
    action_opening: str | None = None
    named: str | None = None
    small: bool = False
    beside: bool = False


def set_for_a_phone(asked: Asked) -> Setting:
    """The first layout that fits the first screen; else the nearest."""
    ways = list(_ways(asked))
    for way in ways:
        if _height(asked, way) <= HEIGHT:
            return way
    readable, densest = ways[0], ways[-1]
    if asked.approves:
        return replace(densest if _height(asked, densest) <= _ALMOST else readable, named=named(asked.choices))
    opening = None if readable.action is None else _action_opening(readable.action)
    return replace(readable, question_opening=_question_opening(asked.question), action_opening=opening)


def _ways(asked: Asked) -> Iterator[Setting]:
    """Layouts from the most readable one to the densest."""
    columns = (False, True) if _may_stand_beside(asked.choices) else (False,)
    looks = [*((False, beside) for beside in columns), (True, columns[-1])]
    for small, beside in looks:
        for action in asked.actions or (None,):
            yield Setting(action, small=small, beside=beside)


def _may_stand_beside(choices: Sequence[Choosable]) -> bool:
    return len(choices) >= _SIDE_BY_SIDE_FROM and all(
        _columns(one.label) <= _NARROW_LABEL and _columns(one.description or "") <= _NARROW_DESCRIPTION
        for one in choices
    )


def _height(asked: Asked, way: Setting) -> int:
    """Pixels from the top to the end of the last button."""
    type_ = _SMALL if way.small else _USUAL
    silence = _SILENCE_LINE * _lines(asked.silence, _SILENCE_COLUMNS)
    above = _TOP + silence + _question(asked.question, type_) + _RISK * asked.risk
    action = 0 if way.action is None else _action(way.action, type_) + _HIDDEN * asked.hidden
    return above + action + _buttons(asked, way.beside)


def named(choices: Sequence[Choosable], mark: str = ".") -> str:
    """``1. Approve refund · 2. Deny refund``; of many the first, and how many more there are."""
    names = [f"{one.number}{mark} {shortened(one.label, _NAMED)}" for one in choices[:_MOST_NAMED]]
    more = len(choices) - len(names)
    return " · ".join([*names, *([f"{more} more"] if more > 0 else [])])


def _question(text: str, type_: _Type) -> int:
    height, columns = type_.short if len(text) <= SHORT_QUESTION else type_.long
    return _UNDER_QUESTION + height * _lines(text, columns)


def _action(text: str, type_: _Type) -> int:
    height, columns = type_.action
    return _AROUND_ACTION + height * _lines(text, columns, mono=True)


def _buttons(asked: Asked, beside: bool) -> int:
    choices = asked.choices
    first = _OPEN_FIRST if asked.open_first else 0 if choices else _ANSWER
    if not beside:
        return first + sum(_button(one, *_STACKED) for one in choices)
    heights = [_button(one, *_BESIDE) for one in choices]
    return first + sum(max(heights[at : at + 2]) for at in range(0, len(heights), 2))


def _button(choice: Choosable, label: int, description: int) -> int:
    below = _DESCRIPTION_LINE * _lines(choice.description, description) if choice.description else 0
    return _BUTTON + _BUTTON_LINE * (_lines(f"{choice.number}. {choice.label}", label) - 1) + below


def _question_opening(text: str) -> str | None:
    """The beginning of a question that stands above buttons that approve nothing; ``None`` if all of it does."""
    is_long = len(text) > LONG_QUESTION or _lines(text, _USUAL.long[1]) > 2 * _OPENING_LINES
    return shortened(" ".join(text.split()), _OPENING) if is_long else None


def _action_opening(text: str) -> str | None:
    if _lines(text, _USUAL.action[1], mono=True) <= 2 * _OPENING_LINES:
        return None
    return shortened("\n".join(text.splitlines()[:_OPENING_LINES]), _OPENING).removesuffix("…") + "…"


_ENOUGH = 5_000
_WORD = re.compile(r"\s*\S+")
_WIDE = re.compile("[A-ZmwÄÖÜ%@—…\u0370-\u04ff]")


def _lines(text: str, columns: int, *, mono: bool = False) -> int:
    """How many lines ``text`` is wrapped into, counted only until the screen is full."""
    count = 0
    for line in text[:_ENOUGH].split("\n"):
        count, left = count + 1, float(columns)
        for word in _WORD.findall(line):
            width = float(len(word)) if mono else _columns(word)
            if width > left and left < columns:
                count, left = count + 1, float(columns)
            over = max(ceil(width / columns) - 1, 0)
            count, left = count + over, left - width + over * columns
    return count


def _columns(text: str) -> float:
    """How wide it is, in small letters."""
    wide = 0 if text.isascii() else sum(east_asian_width(sign) in "WF" for sign in text)
    return len(text) + 0.35 * len(_WIDE.findall(text)) + 0.9 * wide
