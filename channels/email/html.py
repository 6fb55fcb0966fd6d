"""HTML of a reply as lines of text, with what is quoted or signed marked as in plain text. Pure.

A quoted container becomes a line ``>``, a signature ``-- ``, the head of a quoted mail a separator: so one trimmer
reads both. Source: facts on mail §B4.
"""

from __future__ import annotations

import re

from lxml import etree

from channels.email.quoting import (
    QUOTE_CLASSES,
    QUOTE_MARKERS,
    QUOTE_NAMES,
    REST_IDS,
    REST_STYLE,
    SIGNATURE_CLASSES,
    SIGNATURE_IDS,
    SIGNATURE_MARKERS,
    STRUCK,
    STRUCK_STYLE,
)

_QUOTE = "\n>\n"
_REST = "\n-----Original Message-----\n"
_SIGNATURE = "\n-- \n"
_STRUCK = "~~"
_LONGEST = 300_000
"""Characters that are parsed: the person's own words are at the top, and a tree costs a hundred times its text."""
_EMBEDDED = re.compile(r"""(?<=["'(])data:[^"')]{200,}""", re.IGNORECASE)
"""Pictures inside the page; they would push the words beyond the limit."""

_SKIPPED = frozenset({"head", "style", "script", "title", "template", "object", "svg", "select", "textarea"})
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "br", "center", "dd", "div", "dl", "dt", "fieldset", "footer"}
    | {"form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html", "li", "main", "nav", "ol", "p", "pre"}
    | {"section", "table", "tbody", "tfoot", "thead", "tr", "ul"}
)
_PARAGRAPHS = frozenset({"p", "blockquote", "table", "ul", "ol", "pre"})
_RENAMED = re.compile(r"^(?:x_)+")
_BREAKS = str.maketrans("\t\n\r\f\v\x1c\x1d\x1e\x85\u2028\u2029", " " * 11)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


def html_as_text(html: str) -> str:
    """The text of ``html``, line by line. Empty where there is none or it can't be read."""
    parser = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True)
    try:
        root = etree.fromstring(_EMBEDDED.sub("", html)[:_LONGEST].replace("\0", "").encode("utf-8", "replace"), parser)
    except etree.LxmlError:
        return ""
    pieces: list[str] = []
    if root is not None:
        _collect(root, pieces)
    return "\n".join(" ".join(line.split()) for line in "".join(pieces).splitlines())


def _collect(root: etree._Element, pieces: list[str]) -> None:
    """Depth first, without recursion: a reply may be nested as deep as the parser lets it."""
    stack: list[tuple[etree._Element, str | None]] = [(root, None)]
    while stack:
        element, closing = stack.pop()
        if closing is not None:
            pieces.append(closing)
            pieces.append(_collapsed(element.tail))
            continue
        tag = element.tag if isinstance(element.tag, str) else ""
        mark = _mark(element, tag)
        if mark is not None:
            pieces.append(mark)
            pieces.append(_collapsed(element.tail))
            continue
        struck = _STRUCK if tag in STRUCK or STRUCK_STYLE.search(element.get("style") or "") else ""
        pieces.append("\n" + struck if tag in _BLOCKS else struck)
        pieces.append(_collapsed(element.text))
        if len(element):
            stack.append((element, struck + _closing(tag)))
            stack.extend((child, None) for child in reversed(element))
        else:
            pieces.append(struck + _closing(tag))
            pieces.append(_collapsed(element.tail))


def _closing(tag: str) -> str:
    if tag in _PARAGRAPHS:
        return "\n\n"
    if tag in {"td", "th"}:
        return " "
    return "\n" if tag in _BLOCKS and tag != "br" else ""


def _mark(element: etree._Element, tag: str) -> str | None:
    """What stands for an element that is not read: a quote, a signature, nothing. ``None`` where it is read."""
    if not tag or tag in _SKIPPED:
        return ""
    if tag == "blockquote":
        return _QUOTE
    return _mark_by_attributes(element) if element.attrib else None


def _mark_by_attributes(element: etree._Element) -> str | None:
    style, identifier = element.get("style") or "", _plain(element.get("id") or "")
    classes = {_plain(one) for one in (element.get("class") or "").split()}
    if _HIDDEN.search(style):
        return ""
    if identifier in REST_IDS or REST_STYLE.search(style):
        return _REST
    if classes & QUOTE_CLASSES or "yahoo_quoted" in identifier:
        return _QUOTE
    if element.get("name") in QUOTE_NAMES or element.get("data-marker") in QUOTE_MARKERS:
        return _QUOTE
    signed = element.get("data-marker") in SIGNATURE_MARKERS or identifier in SIGNATURE_IDS
    return _SIGNATURE if signed or classes & SIGNATURE_CLASSES else None


def _plain(name: str) -> str:
    """Outlook on the web renames what it quotes: ``x_gmail_quote``, ``x_x_divRplyFwdMsg``."""
    return _RENAMED.sub("", name)


def _collapsed(text: str | None) -> str:
    """On one line, as a browser shows it."""
    if not text:
        return ""
    return text if text.isprintable() else text.translate(_BREAKS)
