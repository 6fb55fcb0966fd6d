"""HTML of a reply as lines of text, with quotes and signatures marked as in plain text. Pure.

A quoted container becomes a line ``>``, a signature ``-- ``, the head of a quoted mail a separator: so one trimmer
reads both. All text is taken, and whether a browser would show it is told apart (``channels.email.shown``): hidden text
decides nothing, and nothing is lost. Source: facts on mail §B4; docs/decisions/0100.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import accumulate, islice

from lxml import etree

from channels.email import quoting
from channels.email.css import Visibility, style_of
from channels.email.own_words import quoted_from
from channels.email.shown import USUAL_SIZE, Judge, could_be_laid_over, is_for_outlook

_BREAK = "\0"
"""Ends a line while the page is put together: no text of a tree can hold it, so the breaks in a text stay spaces."""
_QUOTE = f"{_BREAK}>{_BREAK}"
_REST = f"{_BREAK}-----Original Message-----{_BREAK}"
_SIGNATURE = f"{_BREAK}-- {_BREAK}"
_STRUCK = "~~"
_LONGEST = 300_000
"""Characters that are parsed: the person's own words are at the top, and a tree costs a hundred times its text."""
_EMBEDDED = re.compile(r"""(?<=["'(])data:[^"')]{200,}""", re.IGNORECASE)
"""Pictures inside the page; they would push the words beyond the limit."""

_UNSEEN = frozenset({"style", "script", "meta", "link", "base"})
"""Never shown, and nothing in them is anybody's words."""
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "br", "center", "dd", "div", "dl", "dt", "fieldset", "footer"}
    | {"form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html", "li", "main", "nav", "ol", "p", "pre"}
    | {"section", "table", "tbody", "tfoot", "thead", "tr", "ul"}
)
_PARAGRAPHS = frozenset({"p", "blockquote", "table", "ul", "ol", "pre"})
_INLINE = ("", "")
_SPACING = {
    **dict.fromkeys(_BLOCKS, (_BREAK, _BREAK)),
    **dict.fromkeys(_PARAGRAPHS, (_BREAK, _BREAK * 2)),
    **dict.fromkeys(quoting.STRUCK, (_STRUCK, _STRUCK)),
    **dict.fromkeys(("td", "th"), ("", " ")),
    "br": (_BREAK, ""),
}
"""By tag, what stands before its text and after it."""
_RENAMED = re.compile(r"^(?:x_)+")
_NEVER_ENDS = re.compile(r"</(?=(?:body|html)\b)", re.IGNORECASE)
"""A browser shows what comes after these two; libxml2 ends there."""


@dataclass(frozen=True, slots=True)
class HtmlText:
    """The ``text`` of a page, line by line. ``sight``: whether a browser would show all of it above the quote.
    ``pictured`` are the descriptions (alt texts) of pictures there."""

    text: str = ""
    sight: Visibility = Visibility.SHOWN
    pictured: tuple[str, ...] = ()


def read_page(html: str, *, is_alone: bool = True, is_cut: bool = False) -> HtmlText:
    """Empty if there is no text, or it can't be read. ``is_alone``: there is no plain part, so everything that could
    hide text counts. ``is_cut``: this is only the beginning of the page."""
    parser = etree.HTMLParser(encoding="utf-8", remove_pis=True, no_network=True)
    page = _EMBEDDED.sub("", html) if "data:" in html.lower() else html
    # no NUL may go: "<\0style>" is no tag
    shown = _NEVER_ENDS.sub("</x-", page[:_LONGEST].replace("\0", "\ufffd"))
    try:
        root = etree.fromstring(shown.encode("utf-8", "replace"), parser)
    except etree.LxmlError:
        return HtmlText()
    if root is None:
        return HtmlText()
    collected = _Collected(Judge.of(root, is_alone=is_alone), is_alone)
    collected.collect(root)
    if is_alone and "<style" in page[_LONGEST:].lower():
        collected.doubts.append((0, Visibility.UNSURE))  # its rules count for what stands above
    goes_on = is_cut or len(page) > _LONGEST or bool(parser.error_log.filter_from_fatals())
    return collected.read(Visibility.UNSURE if goes_on else Visibility.SHOWN)


@dataclass(slots=True)
class _Open:
    """An open element: what closes it, whether our quote may begin in it, its letter size, and the number of its
    next item if it is a numbered list."""

    element: etree._Element
    closing: str
    quotable: bool
    size: float
    number: int | None


@dataclass(slots=True)
class _Collected:
    """The pieces of a page's text. ``doubts`` and ``pictured`` have the number of the piece that follows them.
    ``is_above``: no quote of our mail has begun."""

    judge: Judge
    is_alone: bool
    pieces: list[str] = field(default_factory=list)
    doubts: list[tuple[int, Visibility]] = field(default_factory=list)
    pictured: list[tuple[int, str]] = field(default_factory=list)
    is_above: bool = True
    is_judged: bool = False
    judgements: int = 0

    def read(self, rest: Visibility) -> HtmlText:
        """The collected text; ``rest`` is the visibility of all that could not be collected."""
        lines = "".join(self.pieces).removesuffix(_BREAK).split(_BREAK)
        text = "\n".join([" ".join(line.split()) if line else "" for line in lines])
        quoted = quoted_from(text)
        line_of = list(accumulate((piece.count(_BREAK) for piece in self.pieces), initial=0))
        end = len(lines) if quoted is None else quoted
        sights = [sight for at, sight in self.doubts if line_of[at] < end]
        below = [rest] if quoted is None else []
        pictured = dict.fromkeys(said for at, said in self.pictured if line_of[at] < end)
        return HtmlText(text, max([self.judge.sight, *sights, *below]), tuple(pictured))

    def _doubt(self, sight: Visibility) -> None:
        """Keeps only the first: it stands above every other."""
        if sight is not Visibility.SHOWN:
            self.doubts.append((len(self.pieces), sight))
            self.is_judged = self.is_judged or sight >= self.judge.enough

    def _count(self) -> None:
        self.judgements += 1
        if self.judgements > _MOST_JUDGED:
            self.is_judged = True
            self._doubt(Visibility.UNSURE)

    def collect(self, root: etree._Element) -> None:
        """Depth first, without recursion: a reply may be nested as deep as the parser allows."""
        element: etree._Element | None = root
        parents = [_Open(root, "", quotable=True, size=USUAL_SIZE, number=None)]
        while element is not None:
            closing, inside = self._enter(element, parents[-1])
            if inside is not None and len(element):
                parents.append(inside)
                element = element[0]
                continue
            self.pieces.append(closing)
            while (following := element.getnext()) is None and len(parents) > 1:
                done = parents.pop()
                element = done.element
                self.pieces.append(done.closing)
            element = following

    def _enter(self, element: etree._Element, around: _Open) -> tuple[str, _Open | None]:
        """Takes the text before an element and in it. Returns what closes it and, if it is read, the open element."""
        tag = element.tag
        if not isinstance(tag, str):
            if self.is_above and is_for_outlook(element):
                self._doubt(Visibility.UNSURE)
            return element.tail or "", None
        opening, closing = _SPACING.get(tag, _INLINE)
        mark, quotable, size = None, around.quotable, around.size
        if element.keys() or tag not in _BARE or self.judge.looks_at_all:
            mark = _mark(element, tag)
            if mark == _QUOTE and not (quotable and _quotes_us(element)):
                mark, quotable = None, False  # nor is anything inside it a quote of ours
            self.is_above = self.is_above and mark not in {_QUOTE, _REST}
            size = self._judged(element, tag, size, is_whole=mark is not None)
            is_read = mark is None or mark == _SIGNATURE
            opening, closing = self._drawn(element, tag, around) if is_read else _INLINE
        closing += element.tail or ""
        self.pieces.append((mark or "") + opening)
        if mark == _QUOTE and self.is_alone and (behind := _behind_quote(element)):
            self.pieces.append(behind + _BREAK)
        if mark is not None and mark != _SIGNATURE:
            return closing, None
        self.pieces.append(element.text or "")
        return closing, _Open(element, closing, quotable, size, _first_number(element) if tag == "ol" else None)

    def _judged(self, element: etree._Element, tag: str, size: float, *, is_whole: bool) -> float:
        """Returns its letter size. ``is_whole``: nothing in it is visited."""
        if tag in _UNSEEN - {"script"} or _is_title(element, tag):
            return size
        if not self.is_above:
            if any(map(could_be_laid_over, element.iter(etree.Element) if is_whole else [element])):
                self.doubts.append((0, Visibility.UNSURE))
            return size
        if self.is_judged:
            return size
        self._count()
        sight, inner = self.judge.judge(element, tag, size)
        self._doubt(sight)
        return inner

    def _drawn(self, element: etree._Element, tag: str, around: _Open) -> tuple[str, str]:
        """What a reader sees before and after an element's text: also a sign sent as a picture, a filled-in field,
        the number of an item."""
        opening, closing = _SPACING.get(tag, _INLINE)
        if tag == "img":
            described = element.get("alt") or ""
            opening = described.strip() if _SIGNS.fullmatch(described.strip()) and _is_plain_picture(element) else ""
            if self.is_above and _DESCRIBES.search(described) and not _NAMES_FILE.fullmatch(described.strip()):
                self.pictured.append((len(self.pieces), " ".join(described.split())))
        elif tag == "input":
            opening = element.get("value") or ""
        elif tag == "li" and around.number is not None and _has_words(element):
            number = _number(element.get("value"), around.number)
            around.number = number + 1
            opening += f"{number}. "
        style = element.get("style") or ""
        could_strike = self.is_above and tag not in quoting.STRUCK and _COULD_STRIKE.search(style)
        if could_strike and style_of(style).struck:
            opening, closing = opening + _STRUCK, _STRUCK + closing
        return opening, closing


_MOST_JUDGED = 2_000
"""Elements above the quote that are looked at. A page with more of them is a doubt."""
_BARE = frozenset(
    {"html", "body", "div", "p", "br", "span", "b", "i", "u", "em", "strong", "a", "center", "pre", "ul"}
    | {"table", "tbody", "tr", "td", "th"}
)
"""Without attributes these are read as they are."""
_COULD_STRIKE = re.compile(r"line-|\\", re.IGNORECASE)
_SIGNS = re.compile("[\u2600-\u27bf\U0001f000-\U0001faff\ufe0f]{1,6}")
_MOST_TEXTS = 50
_DESCRIBES = re.compile(r"[^\W_]")
_NAMES_FILE = re.compile(
    r"[\w() -]{1,60}\.(?:png|jpe?g|gif|bmp|svg|webp)|(?:image|picture|logo|bild|grafik|photo|icon)[\w ]{0,12}",
    re.IGNORECASE,
)
"""Descriptions that programs give a picture: they say nothing."""
_LARGEST_NUMBER = 9_999


def _has_words(element: etree._Element) -> bool:
    return any(str(one).strip() for one in islice(element.itertext(), _MOST_TEXTS))


def _is_plain_picture(element: etree._Element) -> bool:
    """Whether a picture of a sign is visible and not a button: a button is part of a signature."""
    linked = any(above.tag == "a" for above in element.iterancestors())
    unseen = style_of(element.get("style") or "").sight is not Visibility.SHOWN
    return not linked and not unseen and "0" not in {element.get("width"), element.get("height")}


def _first_number(element: etree._Element) -> int:
    return _number(element.get("start"), 1)


def _number(said: str | None, otherwise: int) -> int:
    found = re.match(r"\s*(-?\d{1,4})(?!\d)", said or "")
    return int(found[1]) if found else min(otherwise, _LARGEST_NUMBER)


def _is_title(element: etree._Element, tag: str) -> bool:
    above = element.getparent() if tag == "title" else None
    return above is not None and above.tag == "head"


def _quotes_us(element: etree._Element) -> bool:
    """Whether the container holds our mail: a quote of anything else counts as the writer's own words."""
    text = str(etree.tostring(element, method="text", encoding="unicode", with_tail=False)).casefold()
    return quoting.MARKER[:5] in text and quoting.MARKER in " ".join(text.split())


def _behind_quote(element: etree._Element) -> str:
    """The text in a container behind the quote of our mail: somebody wrote it there."""
    parts: list[str] = []
    inner = next((one for one in element.iter("blockquote") if one is not element and _quotes_us(one)), None)
    while inner is not None and inner is not element:
        parts.append(inner.tail or "")
        parts += [str(etree.tostring(one, method="text", encoding="unicode")) for one in inner.itersiblings()]
        inner = inner.getparent()
    return "" if element.tag == "blockquote" else " ".join("".join(parts).split())


def _mark(element: etree._Element, tag: str) -> str | None:
    """The mark in place of an element that is not read: a quote, a signature, nothing. ``None`` if it is read."""
    if tag in _UNSEEN or _is_title(element, tag):
        return ""
    if tag == "blockquote":
        return _QUOTE
    return _mark_by_attributes(element) if element.keys() else None


def _mark_by_attributes(element: etree._Element) -> str | None:
    style, identifier = element.get("style") or "", _plain(element.get("id") or "")
    classes = {_plain(one) for one in (element.get("class") or "").split()}
    if identifier in quoting.REST_IDS or quoting.REST_STYLE.search(style):
        return _REST
    if classes & quoting.QUOTE_CLASSES or "yahoo_quoted" in identifier:
        return _QUOTE
    if element.get("name") in quoting.QUOTE_NAMES or element.get("data-marker") in quoting.QUOTE_MARKERS:
        return _QUOTE
    signed = element.get("data-marker") in quoting.SIGNATURE_MARKERS or identifier in quoting.SIGNATURE_IDS
    return _SIGNATURE if signed or classes & quoting.SIGNATURE_CLASSES else None


def _plain(name: str) -> str:
    """``name`` without the prefix of Outlook on the web, which renames what it quotes: ``x_gmail_quote``,
    ``x_x_divRplyFwdMsg``."""
    return _RENAMED.sub("", name)
