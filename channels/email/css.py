"""CSS of a reply: whether a browser would show the styled text. Pure.

Nobody can list all ways to hide a word. So the list has the few known properties that hide nothing, with the values
that are judged. Every other property is a doubt. Colours are judged without the cascade: text has to be dark and its
background light, so that any two of them differ; a mail in light letters on black is a doubt.

Source: CSS Syntax 3, CSS Values 4, CSS Color 4 (by tinycss2), CSS 2.2, WCAG 2.1 (relative luminance);
docs/decisions/0100.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

import tinycss2
from tinycss2.ast import (
    Comment,
    CurlyBracketsBlock,
    Declaration,
    FunctionBlock,
    Node,
    ParenthesesBlock,
    SquareBracketsBlock,
)
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


class Visibility(IntEnum):
    """Whether a reader sees something."""

    SHOWN = 0
    UNSURE = 1
    HIDDEN = 2


@dataclass(frozen=True, slots=True)
class TextStyle:
    """The effect of declarations on text: its ``size`` in pixels, or the ``factor`` by which it is smaller."""

    sight: Visibility = Visibility.SHOWN
    struck: bool = False
    size: float | None = None
    factor: float | None = None

    def __or__(self, other: TextStyle) -> TextStyle:
        """Both: the worse of each."""
        return TextStyle(
            max(self.sight, other.sight),
            self.struck or other.struck,
            _least(self.size, other.size),
            _least(self.factor, other.factor),
        )


def _least(one: float | None, other: float | None) -> float | None:
    return min((value for value in (one, other) if value is not None), default=None)


NOTHING = frozenset[str]()
BOXES = frozenset(["width", "height", "min-width", "min-height", "max-width", "max-height", "float", "vertical-align"])
"""Hide nothing in a picture, in a rule or in a part of a table, which grows with its content."""
GAP = BOXES | {"line-height", "font-size", "overflow"}
"""Hide nothing in an element with only line breaks: programs draw rules and gaps so."""
BLANK = GAP - {"height", "max-height"}
"""The same where other elements stand, but no text: they stick out of a box without height, over words below."""
BARE = BOXES | {"line-height", "font-size", "background-color", "color"}
"""The same in a cell that holds nothing at all."""
_LONGEST_STYLE = 4_000


@lru_cache(maxsize=512)
def style_of(text: str, *, without: frozenset[str] = NOTHING) -> TextStyle:
    """The effect of ``style="…"``. Properties in ``without`` are ignored."""
    if len(text) > _LONGEST_STYLE:
        return TextStyle(Visibility.UNSURE)
    return judged(tinycss2.parse_blocks_contents(text, skip_comments=True, skip_whitespace=True), without=without)


def judged(content: Iterable[Node], *, without: frozenset[str] = NOTHING) -> TextStyle:
    """The effect of a block of declarations. Anything else in it is a doubt."""
    style = TextStyle()
    for one in content:
        style |= _judge(one, without=without) if isinstance(one, Declaration) else TextStyle(Visibility.UNSURE)
    return style


# --- One declaration ------------------------------------------------------------------------------------------------

_NAMES = """
font-style font-weight font-variant font-variant-ligatures font-variant-caps font-variant-numeric font-stretch
font-variant-east-asian font-variant-alternates font-variant-position font-variant-emoji font-kerning
font-optical-sizing font-synthesis text-align text-align-last text-justify text-transform text-decoration-color
text-decoration-style text-decoration-thickness text-decoration-skip-ink text-underline-offset
text-underline-position text-rendering text-autospace white-space white-space-collapse text-wrap text-wrap-mode
text-wrap-style word-break word-wrap overflow-wrap line-break hyphens tab-size orphans widows direction clear
caption-side empty-cells border-collapse table-layout box-sizing cursor caret-color resize list-style-position page
page-break-before page-break-after page-break-inside break-before break-after break-inside color-scheme
supported-color-schemes forced-color-adjust print-color-adjust pointer-events user-select touch-action accent-color
punctuation-wrap tab-stops tab-interval layout-grid-mode align-items justify-content scrollbar-color scrollbar-width
-webkit-nbsp-mode -webkit-line-break -webkit-font-smoothing -moz-osx-font-smoothing -webkit-tap-highlight-color
-webkit-user-select -webkit-user-drag -webkit-user-modify -webkit-hyphens -webkit-locale -webkit-print-color-adjust
-webkit-touch-callout -webkit-text-decorations-in-effect -webkit-text-decoration-color -moz-user-select
-ms-user-select -ms-word-break -webkit-border-horizontal-spacing -webkit-border-vertical-spacing
-webkit-overflow-scrolling
"""
_PLAIN = frozenset(_NAMES.split())
"""Properties that hide nothing, whatever their value."""
_KNOWN_FUNCTIONS = frozenset({"rgb", "rgba", "hsl", "hsla"})
PICTURES_FOR_LETTERS = re.compile("wingdings|webdings|symbol|dingbats|marlett|mt extra|icon|awesome|barcode|blank")
"""Typefaces with signs in place of letters."""
_VALUES = {
    name: re.compile(values)
    for names, values in (
        ("list-style list-style-type", r"(?:disc|circle|square|decimal|inside|outside|none|\s)+"),
        ("position", "static|relative"),
        ("z-index", "auto|[0-9]{1,6}"),
        ("top left right bottom inset", r"0(?:px)?"),
        ("overflow overflow-x overflow-y", "visible"),
        ("zoom", r"1(?:\.0+)?|100%"),
        ("unicode-bidi", "embed|isolate|plaintext"),
        ("text-size-adjust -webkit-text-size-adjust -moz-text-size-adjust -ms-text-size-adjust", "100%"),
        ("-webkit-text-stroke -webkit-text-stroke-width", r"0(?:px)?"),
        ("vertical-align", r"baseline|top|middle|bottom|sub|super|text-top|text-bottom|0(?:px)?"),
        ("text-decoration-line text-decoration -webkit-text-decoration", r".*"),
        ("font-variation-settings font-feature-settings font-size-adjust", "none|normal"),
        ("outline outline-width", r"(?:.*\s)?(?:0(?:px)?|none)(?:\s.*)?"),
        ("content", "['\"]{2}"),
        ("font-family", rf"(?!.*(?:{PICTURES_FOR_LETTERS.pattern})).*"),
        ("opacity", r"1(?:\.0+)?|100%"),
        ("visibility", "visible"),
        (
            "display",
            "block|inline|inline-block|list-item|flow-root|contents|table|inline-table|table-row|table-cell"
            "|table-row-group|table-header-group|table-footer-group|flex|inline-flex",
        ),
    )
    for name in names.split()
}
_LENGTH = re.compile(r"(?<![#\w.])(\d+(?:\.\d+)?)[a-z]")
_THICKEST = 100
"""Of a border, in whatever unit."""
_HIDES = {
    "display": re.compile("none"),
    "visibility": re.compile("hidden|collapse"),
    "opacity": re.compile(r"0?\.?0*|0%"),
    "mso-hide": re.compile("all|screen"),
}
_MSO_DOUBTFUL = re.compile(
    r"mso-(?:hide|element|frame|position|font-width|text-raise|char|width|height|.*font-size|.*color).*"
)
"""What Word alone reads, and what may hide there; a browser reads none of it."""
_MSO_COLOUR = re.compile(r"(?:text|dark|accent)\d|(?:followed)?hyperlink|windowtext|black|auto")


def _judge(one: Declaration, *, without: frozenset[str]) -> TextStyle:
    name = one.lower_name
    tokens = [token for token in one.value if not isinstance(token, Comment)]
    if name in without or name.startswith("--"):
        return TextStyle()
    if name == "all" or not all(map(_is_simple, tokens)):
        return TextStyle(Visibility.UNSURE)
    value = " ".join(tinycss2.serialize(tokens).lower().split())
    if (hides := _HIDES.get(name)) is not None and hides.fullmatch(value):
        return TextStyle(Visibility.HIDDEN)
    if name in {"font-size", "font"} and value not in UNSET:
        return _sized(name, value)
    struck = name.endswith(("text-decoration", "text-decoration-line")) and "line-through" in value
    harmless = name in _PLAIN or value in UNSET or _is_harmless(name, value, tokens)
    return TextStyle(Visibility.SHOWN if harmless else Visibility.UNSURE, struck)


def _is_simple(token: Node) -> bool:
    """Whether it is a word, a number or a colour. Brackets in brackets would cost a recursion each."""
    if isinstance(token, FunctionBlock):
        known = token.lower_name in _KNOWN_FUNCTIONS
        return known and not any(isinstance(one, _BLOCKS) for one in token.arguments)
    return not isinstance(token, _BLOCKS)


_BLOCKS = (FunctionBlock, ParenthesesBlock, SquareBracketsBlock, CurlyBracketsBlock)


def _is_harmless(name: str, value: str, tokens: Sequence[Node]) -> bool:
    if name in _VALUES:
        return _VALUES[name].fullmatch(value) is not None
    match name.strip("-").partition("-")[0]:
        case "mso":
            coloured = name.endswith("color") and _MSO_COLOUR.fullmatch(value) is not None
            return coloured or not _MSO_DOUBTFUL.fullmatch(name)
        case "border":
            thick = any(float(one) > _THICKEST for one in _LENGTH.findall(value))
            return "url(" not in value and not name.startswith("border-image") and not thick
        case "background":
            lies = name == "background" and all(is_background(token.serialize().strip().lower()) for token in tokens)
            return lies or (name == "background-color" and is_light(value))  # here a bare 1 is #000001 to a browser
        case _ if name in {"color", "-webkit-text-fill-color", "-moz-text-fill-color"}:
            return is_dark(value)
        case _:
            return is_harmless_length(name, value)


# --- The size of letters --------------------------------------------------------------------------------------------

_SIZE_WORDS = {
    "xx-small": 9.0, "x-small": 10.0, "small": 13.0, "medium": 16.0, "large": 18.0, "x-large": 24.0, "xx-large": 32.0,
    "xxx-large": 48.0,
}  # fmt: skip
SMALLER = 0.83
SMALLEST = 6.0
"""Pixels. Smaller letters are dots."""
_LARGEST = 200.0
_FONT = re.compile(
    r"(?:(?:italic|oblique|bold|bolder|lighter|small-caps|normal|[1-9]00)\s)*"
    r"(?P<size>[\w.%+-]{1,20})(?:\s?/\s?(?P<line>[\w.%]{1,20}))?\s(?P<family>.{1,400})"
)


def _sized(name: str, value: str) -> TextStyle:
    if name == "font-size":
        return _size(value)
    found = _FONT.fullmatch(value)
    if found is None or PICTURES_FOR_LETTERS.search(found["family"]):
        return TextStyle(Visibility.UNSURE)
    line = found["line"]
    return _size(found["size"]) | TextStyle(
        Visibility.SHOWN if line is None or is_harmless_length("line-height", line) else Visibility.UNSURE
    )


def _size(value: str) -> TextStyle:
    if value in _SIZE_WORDS:
        return TextStyle(size=_SIZE_WORDS[value])
    if value in {"smaller", "larger"}:
        return TextStyle(factor=SMALLER if value == "smaller" else 1.0)
    found = LENGTH.fullmatch(value)
    if found is None or found[2] in {"ex", "ch"}:
        return TextStyle(Visibility.UNSURE)
    number, unit = float(found[1]), found[2] or "px"
    if unit in {"em", "%"}:
        factor = number / 100 if unit == "%" else number
        return TextStyle(_seen(factor, 0.05, 0.05, 12), factor=min(factor, 1.0))
    pixels = number * PIXELS[unit]
    return TextStyle(_seen(pixels, 2, SMALLEST, _LARGEST), size=pixels)


def _seen(size: float, hidden: float, least: float, most: float) -> Visibility:
    if size <= hidden:
        return Visibility.HIDDEN
    return Visibility.SHOWN if least <= size <= most else Visibility.UNSURE
