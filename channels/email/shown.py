"""What a browser would show of a page: judges each element by its tag, its attributes and the rules that could match
it. Pure.

Tags and attributes that hide nothing are listed; any other tag is a doubt, and so is text that only Outlook would show.
Source: HTML Standard §4, §15.3 (rendering); docs/decisions/0100.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from lxml import etree

from channels.email.css import (
    BARE,
    BLANK,
    BOXES,
    GAP,
    NOTHING,
    PICTURES_FOR_LETTERS,
    SMALLER,
    SMALLEST,
    WORDS,
    TextStyle,
    Visibility,
    is_dark,
    is_light,
    style_of,
)
from channels.email.style_sheets import Sheet, sheet_of

_HOLDING = frozenset(
    {"a", "abbr", "acronym", "address", "article", "b", "bdi", "big", "blockquote", "body", "center", "cite", "code"}
    | {"dd", "del", "dfn", "div", "dl", "dt", "em", "figcaption", "figure", "font", "footer", "h1", "h2", "h3", "h4"}
    | {"h5", "h6", "head", "header", "html", "i", "ins", "kbd", "li", "main", "mark", "nav", "nobr", "ol", "p", "pre"}
    | {"q", "s", "samp", "section", "signature", "small", "span", "strike", "strong", "sub", "sup", "time", "title"}
    | {"tt", "u", "ul", "var"}
)
_BOXES = frozenset(
    {"img", "hr", "table", "tbody", "thead", "tfoot", "tr", "td", "th", "col", "colgroup", "caption", "br", "wbr"}
)
_TAGS = _HOLDING | _BOXES
_EMPTY = frozenset({"img", "br", "hr", "wbr"})
"""Can hold no text, so it may be hidden: pictures that tell who has opened a mail are."""
_OFFICE = ("o:", "st1:", "u1:", "u2:")
_SHRINK = frozenset({"small", "sub", "sup"})
_LEGACY_COLOUR = re.compile(r"#[0-9a-f]{6}|[a-z]{3,20}")
USUAL_SIZE = 16.0
"""Of letters, in pixels."""
_MOVED = re.compile(r"position\s*:\s*(?:absolute|fixed|sticky)|transform\s*:", re.IGNORECASE)
_OUTLOOK_ALONE = re.compile(r"\s*\[if\b[^\]]{0,200}\]>")
_LETTER = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class Judge:
    """Walks a page with :mod:`channels.email.html`. ``sight`` is the visibility of the whole page, by its style
    sheets."""

    sheet: Sheet
    sight: Visibility
    enough: Visibility
    """What ends the judging: nothing worse would tell more."""

    @classmethod
    def of(cls, root: etree._Element, *, is_alone: bool) -> Judge:
        """Style sheets count only if the page ``is_alone``: an element's own attributes are certain, a rule's
        matches are not."""
        if not is_alone:
            return cls(Sheet(), Visibility.SHOWN, Visibility.HIDDEN)
        sheet = sheet_of("\n".join(one.text or "" for one in root.iter("style")))
        linked = any("stylesheet" in (one.get("rel") or "").lower() for one in root.iter("link"))
        return cls(sheet, max(sheet.sight, Visibility.UNSURE if linked else Visibility.SHOWN), Visibility.UNSURE)

    @property
    def looks_at_all(self) -> bool:
        """Whether an element without attributes has to be judged too."""
        return bool(self.sheet.rules)

    def judge(self, element: etree._Element, tag: str, size: float) -> tuple[Visibility, float]:
        """The visibility of an element in letters of ``size`` pixels, with the size of the letters in it."""
        own, is_box = _own_style(element, tag), tag in _BOXES
        ruled = self.sheet.style_for(tag, _names(element), is_box=is_box) if self.sheet.rules else TextStyle()
        sight = max(own.sight, ruled.sight, _sight_of_attributes(element))
        if tag in _EMPTY and sight is Visibility.HIDDEN:
            sight = Visibility.SHOWN
        if not _is_known(tag) or (tag == "title" and _is_in_body(element)):
            sight = max(sight, Visibility.UNSURE)
        inner = _inner_size(tag, own, ruled, size)
        if inner < SMALLEST:
            sight = max(sight, Visibility.UNSURE)
        return (Visibility.UNSURE if sight is Visibility.HIDDEN and not _has_text(element) else sight), inner


def _own_style(element: etree._Element, tag: str) -> TextStyle:
    """The effect of its own ``style="…"``."""
    text = element.get("style") or ""
    own = style_of(text, without=BOXES if tag in _BOXES else NOTHING)
    is_moved = "relative" in text.lower()
    is_blank = (is_moved or own.sight is not Visibility.SHOWN) and not _has_text(element)
    if is_blank:
        own = style_of(text, without=_harmless_in_blank(element, tag))
    if _HUGE.search(text) or (is_blank and is_moved):  # a box without words may lie over those of others
        return replace(own, sight=max(own.sight, Visibility.UNSURE))
    return own


def _harmless_in_blank(element: etree._Element, tag: str) -> frozenset[str]:
    """The properties that hide nothing in an element without text."""
    if len(element):
        return GAP if all(one.tag == "br" for one in element) else BLANK
    return BARE if tag in {"td", "th"} else BOXES if tag in _BOXES else NOTHING


def could_be_laid_over(element: etree._Element) -> bool:
    """Whether a quoted element could cover the words above; otherwise a quote may look as it likes."""
    return _MOVED.search(element.get("style") or "") is not None


def is_for_outlook(comment: etree._Element) -> bool:
    """Whether the comment holds words that only Outlook shows; nothing shows those of any other comment."""
    text = comment.text or ""
    found = _OUTLOOK_ALONE.match(text)
    return found is not None and any(map(_LETTER.search, _texts(text[found.end() :])))


def _texts(markup: str) -> Iterator[str]:
    """The text between its tags, without style sheets and Office's XML."""
    apart = False
    for piece in _TAG.split(markup):
        if (tag := _APART.match(piece)) is not None:
            apart = not tag[1]
        elif not apart and not piece.startswith("<"):
            yield piece


_TAG = re.compile(r"(<[^<>]*>?)")
_APART = re.compile(r"<(/?)(?:style|xml)\b", re.IGNORECASE)


def _is_known(tag: str) -> bool:
    """A browser shows the text in an unknown tag, such as Word's ``<st1:place>``."""
    return tag in _TAGS or tag.startswith(_OFFICE)


def _is_in_body(element: etree._Element) -> bool:
    above = element.getparent()
    return above is not None and above.tag != "head"


def _has_text(element: etree._Element) -> bool:
    """Also true of an element with too much in it to search."""
    looked_at = list(islice(element.iter(), _MOST_LOOKED_THROUGH))
    inside = any(one.text and one.text.strip() for one in looked_at)
    return inside or len(looked_at) == _MOST_LOOKED_THROUGH or any(str(one).strip() for one in element.itertext())


_MOST_LOOKED_THROUGH = 300


def _names(element: etree._Element) -> frozenset[str]:
    classes = {f".{one.lower()}" for one in (element.get("class") or "").split()}
    identifier = (element.get("id") or "").strip().lower()
    return frozenset(classes | {f"#{identifier}"} if identifier else classes)


def _inner_size(tag: str, own: TextStyle, ruled: TextStyle, size: float) -> float:
    """The smallest possible size of the letters."""
    could = [own.size if own.size is not None else size]
    could += [size * factor for factor in (own.factor, ruled.factor) if factor is not None]
    could += [ruled.size] if ruled.size is not None else []
    return min(could) * (SMALLER if tag in _SHRINK else 1.0)


def _sight_of_attributes(element: etree._Element) -> Visibility:
    sight = Visibility.SHOWN
    for name, value in element.attrib.items():
        judge = _ATTRIBUTES.get(str(name))
        if judge is not None and not judge(str(value).strip().lower()):
            sight = max(sight, Visibility.HIDDEN if name == "hidden" else Visibility.UNSURE)
    return sight


def _is_dark_attribute(value: str) -> bool:
    """HTML reads any text at all as some colour."""
    return _LEGACY_COLOUR.fullmatch(value) is not None and value not in WORDS and is_dark(value)


def _is_light_attribute(value: str) -> bool:
    return not value or (_LEGACY_COLOUR.fullmatch(value) is not None and value not in WORDS and is_light(value))


_HUGE = re.compile(r"(?<![#\w])\d{5,}")
"""Nobody scrolls so far."""


def _is_small(value: str) -> bool:
    return _HUGE.search(value) is None


_ATTRIBUTES: dict[str, Callable[[str], bool]] = {
    **dict.fromkeys(("hidden", "popover", "background", "reversed", "inert", "shadowrootmode"), lambda _: False),
    **dict.fromkeys(("color", "text", "link", "vlink", "alink"), _is_dark_attribute),
    "bgcolor": _is_light_attribute,
    "face": lambda value: PICTURES_FOR_LETTERS.search(value) is None,
    **dict.fromkeys(("width", "height", "border", "hspace", "vspace", "cellpadding", "cellspacing"), _is_small),
}
"""By name, whether its value hides nothing. A browser ignores every other attribute, or it hides nothing."""
