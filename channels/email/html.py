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

_QUOTE = "\n>\n"
_REST = "\n-----Original Message-----\n"
_SIGNATURE = "\n-- \n"
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
    **dict.fromkeys(_BLOCKS, ("\n", "\n")),
    **dict.fromkeys(_PARAGRAPHS, ("\n", "\n\n")),
    **dict.fromkeys(("td", "th"), ("", " ")),
    "br": ("\n", ""),
}
"""By tag, what stands before its text and after it."""
_RENAMED = re.compile(r"^(?:x_)+")
_BREAKS = str.maketrans("\t\n\r\f\v\x1c\x1d\x1e\x85\u2028\u2029", " " * 11)
_PLAIN_TAGS = frozenset(
    {"html", "head", "meta", "title", "body", "div", "p", "br", "span", "font", "b", "strong", "i", "em", "u"}
    | {"a", "ul", "ol", "li", "table", "tbody", "tr", "td", "pre", "hr"}
)
_PLAIN_IF_BARE = _PLAIN_TAGS - {"head"}
"""Plain without a closer look, if they have no attributes."""
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
    try:
        root = etree.fromstring(_EMBEDDED.sub("", html)[:_LONGEST].replace("\0", "").encode("utf-8", "replace"), parser)
    except etree.LxmlError:
        return HtmlText()
    if root is None:
        return HtmlText()
    pieces: list[str] = []
    is_plain = _collect(root, pieces)
    return HtmlText("\n".join(" ".join(line.split()) for line in "".join(pieces).splitlines()), is_plain)


def _collect(root: etree._Element, pieces: list[str]) -> bool:
    """Depth first, without recursion: a reply may be nested as deep as the parser lets it. Tells whether everything
    above the first quote is plain."""
    stack: list[tuple[etree._Element, str | None, bool]] = [(root, None, True)]
    is_plain, above = True, True
    while stack:
        element, closing, quotable = stack.pop()
        if closing is not None:
            pieces.append(closing)
            pieces.append(_collapsed(element.tail))
            continue
        tag = element.tag if isinstance(element.tag, str) else ""
        bare = not element.keys()
        mark = _mark(element, tag, bare)
        above = above and mark not in {_QUOTE, _REST}
        is_plain = is_plain and (not above or (bare and tag in _PLAIN_IF_BARE) or _is_plain(element, tag))
        if mark == _QUOTE and not (quotable and _quotes_us(element)):
            mark, quotable = None, False  # nor is anything inside it a quote of ours
        if mark is not None:
            pieces.append(mark)
        if mark is not None and mark != _SIGNATURE:
            pieces.append(_collapsed(element.tail))
            continue
        opening, closes = _SPACING.get(tag, _INLINE)
        struck = _STRUCK if tag in quoting.STRUCK else ""
        if not bare:
            pieces.append(_drawn(element, tag))
            struck = _STRUCK if quoting.STRUCK_STYLE.search(element.get("style") or "") else struck
        pieces.append(opening + struck)
        if text := element.text:
            pieces.append(_collapsed(text))
        if len(element):
            stack.append((element, struck + closes, quotable))
            stack.extend([(child, None, quotable) for child in reversed(element)])
            continue
        pieces.append(struck + closes)
        if tail := element.tail:
            pieces.append(_collapsed(tail))
    return is_plain


_SIGN = re.compile("[\u2600-\u27bf\U0001f000-\U0001faff]")


def _drawn(element: etree._Element, tag: str) -> str:
    """What a reader sees of an element that holds no text: a sign sent as a picture, a field that is filled in."""
    if tag == "img":
        return " ".join(_SIGN.findall(element.get("alt") or ""))
    return _collapsed(element.get("value")) if tag == "input" else ""


def _quotes_us(element: etree._Element) -> bool:
    """Whether the container holds a mail of ours: a quote of anything else is shown like the writer's own words."""
    text = str(etree.tostring(element, method="text", encoding="unicode", with_tail=False))
    return quoting.MARKER in " ".join(text.casefold().split())


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


def _mark(element: etree._Element, tag: str, bare: bool) -> str | None:
    """What stands for an element that is not read: a quote, a signature, nothing. ``None`` if it is read."""
    if not tag or tag in _SKIPPED:
        return ""
    if tag == "blockquote":
        return _QUOTE
    return None if bare else _mark_by_attributes(element)


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


def _collapsed(text: str | None) -> str:
    """On one line, as a browser shows it."""
    if not text:
        return ""
    return text if text.isprintable() else text.translate(_BREAKS)
