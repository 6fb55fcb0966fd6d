"""HTML of a reply as lines of text, with what is quoted or signed marked as in plain text. Pure.

A quoted container becomes a line ``>``, a signature ``-- ``, the head of a quoted mail a separator: so one trimmer
reads both. Text is taken whether a reader sees it or not: there are more ways to hide it than anybody can list, so it
is held against the plain part instead (``channels.email.body``). Source: facts on mail §B4.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lxml import etree

from channels.email import quoting

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

_SKIPPED = frozenset({"head", "style", "script"})
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
_PLAIN_TAGS = frozenset(
    {"html", "head", "meta", "title", "body", "div", "p", "br", "span", "font", "b", "strong", "i", "em", "u"}
    | {"a", "ul", "ol", "li", "table", "tbody", "tr", "td", "pre", "hr"}
)
_PLAIN_IF_BARE = _PLAIN_TAGS - {"head"}
"""Read and plain without a closer look, if they have no attributes."""
_PLAIN_STYLE = re.compile(
    r"(?:font-family|font-weight|font-style|margin(?:-\w+)?|padding(?:-\w+)?|text-align|direction|caret-color)"
    r":[\w\s,.%'\"#&-]{0,200}"
    r"|font-size:(?:[89]|[1-4]\d)(?:\.\d+)?(?:pt|px)|line-height:(?:1(?:\.\d+)?|normal|(?:1[0-9]|2[0-9])(?:pt|px))"
    r"|color:(?:black|windowtext|#000(?:000)?|rgb\(0,\s?0,\s?0\))"
)
_NEGATIVE_LENGTH = re.compile(r":[^;]*-\d")
_PLAIN_ATTRIBUTES = frozenset(
    {"style", "dir", "lang", "href", "class", "id", "align", "http-equiv", "content", "charset"}
)


@dataclass(frozen=True, slots=True)
class HtmlText:
    """The ``text`` of a page, line by line. ``is_plain``: nothing above the quote could hide any of it."""

    text: str = ""
    is_plain: bool = True


def read_page(html: str) -> HtmlText:
    """Empty if there is no text, or it can't be read."""
    parser = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True)
    page = _EMBEDDED.sub("", html) if "data:" in html.lower() else html
    try:
        root = etree.fromstring(page[:_LONGEST].replace("\0", "").encode("utf-8", "replace"), parser)
    except etree.LxmlError:
        return HtmlText()
    if root is None:
        return HtmlText()
    pieces: list[str] = []
    is_plain = _collect(root, pieces)
    lines = "".join(pieces).removesuffix(_BREAK).split(_BREAK)
    return HtmlText("\n".join([" ".join(line.split()) if line else "" for line in lines]), is_plain)


def _collect(root: etree._Element, pieces: list[str]) -> bool:
    """Depth first, without recursion: a reply may be nested as deep as the parser lets it. Tells whether everything
    above the first quote is plain."""
    element: etree._Element | None = root
    parents: list[tuple[etree._Element, str, bool]] = []
    is_plain, above, quotable = True, True, True
    while element is not None:
        tag, is_read, quotable_inside = element.tag, True, quotable
        opening, closing = _SPACING.get(tag, _INLINE)
        if element.keys() or tag not in _PLAIN_IF_BARE:
            mark = _mark(element, tag)
            above = above and mark not in {_QUOTE, _REST}
            is_plain = is_plain and (not above or _is_plain(element, tag))
            if mark == _QUOTE and not (quotable and _quotes_us(element)):
                mark, quotable_inside = None, False  # nor is anything inside it a quote of ours
            is_read = mark is None or mark == _SIGNATURE
            opening, closing = _drawn(element, tag) if is_read else _INLINE
            opening = (mark or "") + opening
        pieces.append(opening)
        if is_read and (text := element.text):
            pieces.append(text)
        if tail := element.tail:
            closing += tail
        if is_read and len(element):
            parents.append((element, closing, quotable))
            element, quotable = element[0], quotable_inside
            continue
        pieces.append(closing)
        while parents and (following := element.getnext()) is None:
            element, closing, quotable = parents.pop()
            pieces.append(closing)
        element = following if parents else None
    return is_plain


_SIGN = re.compile("[\u2600-\u27bf\U0001f000-\U0001faff]")


def _drawn(element: etree._Element, tag: str) -> tuple[str, str]:
    """What a reader sees before the text of an element and after it: also a sign sent as a picture, a field that is
    filled in."""
    opening, closing = _SPACING.get(tag, _INLINE)
    if tag == "img":
        opening = " ".join(_SIGN.findall(element.get("alt") or ""))
    elif tag == "input":
        opening = element.get("value") or ""
    if tag not in quoting.STRUCK and quoting.STRUCK_STYLE.search(element.get("style") or ""):
        opening, closing = opening + _STRUCK, _STRUCK + closing
    return opening, closing


def _quotes_us(element: etree._Element) -> bool:
    """Whether the container holds a mail of ours: a quote of anything else is shown like the writer's own words."""
    text = str(etree.tostring(element, method="text", encoding="unicode", with_tail=False)).casefold()
    return quoting.MARKER[:5] in text and quoting.MARKER in " ".join(text.split())


def _is_plain(element: etree._Element, tag: str) -> bool:
    """Whether the element can't hide anything: of the known few, in a size and colour that is seen."""
    if tag not in _PLAIN_TAGS or not set(element.attrib) <= _PLAIN_ATTRIBUTES:
        return False
    if tag == "head" and not all(child.tag in _PLAIN_TAGS for child in element):
        return False
    rules = [rule.strip() for rule in (element.get("style") or "").lower().split(";") if rule.strip()]
    return all(
        _PLAIN_STYLE.fullmatch(re.sub(r"\s*:\s*", ":", rule)) and not _NEGATIVE_LENGTH.search(rule) for rule in rules
    )


def _mark(element: etree._Element, tag: str) -> str | None:
    """What stands for an element that is not read: a quote, a signature, nothing. ``None`` if it is read."""
    if tag in _SKIPPED or not isinstance(tag, str):
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
    """Outlook on the web renames what it quotes: ``x_gmail_quote``, ``x_x_divRplyFwdMsg``."""
    return _RENAMED.sub("", name)
