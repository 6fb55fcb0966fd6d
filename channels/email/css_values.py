"""Colours and lengths of CSS: whether text in them can be seen. Pure.

Colours are judged without the cascade. Text has to be dark and its background light, so that any two of them differ; a
mail in light letters on black is a doubt.

Source: CSS Values 4, CSS Color 4 (by tinycss2), WCAG 2.1 (relative luminance); docs/decisions/0100.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tinycss2.color4 import Color, parse_color

UNSET = frozenset({"initial", "inherit", "unset", "revert", "none", "normal", "auto"})
"""Values that leave a property as it is without it (but for ``display: none``)."""

# --- Colours --------------------------------------------------------------------------------------------------------

_DARKEST_BACKGROUND, _LIGHTEST_TEXT = 0.62, 0.36
"""Relative luminances (WCAG 2.1): any text is at least 1.6 times as dark as what lies behind it."""
_DARK_WORDS = frozenset({"windowtext", "canvastext", "buttontext", "linktext", "currentcolor", *UNSET})
_LIGHT_WORDS = frozenset({"window", "canvas", "transparent", *UNSET})
WORDS = _DARK_WORDS | _LIGHT_WORDS
"""Not colours of their own; an attribute of HTML knows none of them."""
_PLACED = re.compile(
    r"|repeat(?:-[xy])?|no-repeat|scroll|local|left|right|top|bottom|center|(?:padding|border|content)-box|cover|contain"
    r"|/|\d{1,3}(?:px|%|pt)?"
)


def is_dark(value: str) -> bool:
    """Whether letters of this colour are seen on anything light."""
    return value in _DARK_WORDS or _luminance(value, 0.5) <= _LIGHTEST_TEXT


def is_light(value: str) -> bool:
    """Whether dark letters are seen on this colour."""
    return value in _LIGHT_WORDS or _luminance(value, 1.0, 0.0) >= _DARKEST_BACKGROUND


def is_background(value: str) -> bool:
    """Whether ``value`` is allowed in ``background``: a light colour, or the position of a picture."""
    return _PLACED.fullmatch(value) is not None or is_light(value)


_UNKNOWN = float("nan")
"""Neither dark nor light."""


@lru_cache(maxsize=512)
def _luminance(value: str, least_alpha: float, unseen_alpha: float = -1.0) -> float:
    """The luminance on white of a colour that is at least ``least_alpha`` opaque; a colour of ``unseen_alpha``
    counts as white."""
    colour = parse_color(value)
    if not isinstance(colour, Color):
        return _UNKNOWN
    try:
        red, green, blue, alpha = (part or 0.0 for part in colour.to("srgb"))
    except NotImplementedError:
        return _UNKNOWN
    if alpha == unseen_alpha:
        return 1.0
    if alpha < least_alpha:
        return _UNKNOWN
    parts = [1 - alpha + alpha * min(max(part, 0.0), 1.0) for part in (red, green, blue)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


# --- Lengths --------------------------------------------------------------------------------------------------------

PIXELS = {"": 1.0, "px": 1.0, "pt": 4 / 3, "in": 96.0, "cm": 37.8, "mm": 3.78, "pc": 16.0, "rem": 16.0}
LENGTH = re.compile(r"([+-]?(?:\d{1,6}(?:\.\d{0,9})?|\.\d{1,9}))(px|pt|in|cm|mm|pc|rem|em|ex|ch|%)?")
_BETWEEN = {
    "margin": (0, 300), "padding": (0, 300), "text-indent": (0, 100), "letter-spacing": (-0.6, 6),
    "word-spacing": (-0.6, 10), "border-spacing": (0, 100), "gap": (0, 100), "width": (50, 5_000),
    "min-width": (0, 2_000), "max-width": (50, 5_000), "min-height": (0, 1_000), "line-height": (9, 200),
}  # fmt: skip
"""In pixels: nothing is laid on other text, pushed out of the page or squeezed."""
_EM, _PERCENT = 16.0, 5.0
"""About so many pixels. A percentage is of a page of 500."""


def is_harmless_length(name: str, value: str) -> bool:
    """Whether ``name`` is a property of lengths that lays no text on other text, nor out of the page, at ``value``."""
    kind = name if name in _BETWEEN else name.partition("-")[0]
    if kind not in _BETWEEN or (kind != name and kind not in {"margin", "padding"}):
        return name in {"height", "max-height"} and value == "100%"
    return all(one in UNSET or _is_between(kind, one) for one in value.split())


def _is_between(kind: str, value: str) -> bool:
    found = LENGTH.fullmatch(value)
    if found is None:
        return value in {"fit-content", "max-content"}
    number, unit = float(found[1]), found[2] or ""
    if kind == "line-height" and unit in {"", "em", "%"}:
        return 0.9 <= (number / 100 if unit == "%" else number) <= 5
    least, most = _BETWEEN[kind]
    return least <= number * PIXELS.get(unit, _PERCENT if unit == "%" else _EM) <= most
