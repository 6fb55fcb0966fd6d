"""Markdown of a question's text: a small safe subset, from text to HTML. Pure.

Every tag and attribute of the result is written here; whatever an agent wrote is escaped. There is no HTML, no image,
no reference, no entity and no escape in the subset, so that nothing an agent writes goes unseen. A link leads only to a
host by HTTP or HTTPS, or to a mailbox, and its destination stands beside it. A text without any of its marks looks as
it was written, line by line.

Source: https://spec.commonmark.org/0.31.2/; docs/decisions/0121.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Delimiter
from markdown_it.token import Token
from markupsafe import Markup, escape

from core.domain.people import comparable_domain

SCREEN = 18
"""Lines of a text that a page shows at once; what comes after them is folded."""
_LINE = 66
"""Characters of a line, about."""
LONGEST_TITLE = 300
"""Characters of a first line that is a title as it stands."""
_BEGINNING = 160

_BLOCKS = ("fence", "blockquote", "hr", "list", "heading", "table")
_INLINE = ("newline", "backticks", "emphasis", "link", "autolink")
_DIFFS = frozenset({"diff", "patch", "udiff"})


@dataclass(frozen=True, slots=True)
class Prose:
    """A text as HTML: its beginning, and the rest of it if that is more than a screen, with its number of lines.
    ``source`` is the text itself if any of it was a mark."""

    shown: Markup
    folded: Markup
    lines: int
    source: str | None

    def __bool__(self) -> bool:
        return bool(self.shown or self.folded)


NO_PROSE = Prose(Markup(), Markup(), 0, None)


def title_of(text: str) -> tuple[str, str]:
    """The first line of a question, as it was written, and what is left of it. A line that is too long for a title
    gives its beginning, and stays in the rest."""
    lines = text.strip("\n").split("\n")
    start = next((place for place, line in enumerate(lines) if line.strip()), 0)
    first = lines[start].strip()
    if len(first) <= LONGEST_TITLE:
        return first, "\n".join(lines[start + 1 :])
    words, _, _ = first[:_BEGINNING].rpartition(" ")
    return f"{words or first[:_BEGINNING]} …", text


def prose(text: str) -> Prose:
    """``text`` as HTML."""
    if not text.strip():
        return NO_PROSE
    blocks = list(_blocks(_PARSER.parse(text), text))
    shown, folded = _fold(blocks)
    source = text if any(block.is_marked for block in blocks) else None
    rest = sum(block.weight for block in folded)
    return Prose(_joined(shown), _joined(folded), rest, source)


def diff(text: str) -> Markup:
    """The lines of a unified diff, each as what it is. The signs stay: colour says nothing that they don't."""
    lines = [Markup('<span class="{}">{}</span>').format(_kind(line), line) for line in text.splitlines()]
    return Markup("\n").join(lines)


def is_diff(text: str) -> bool:
    """Whether ``text`` is a unified diff."""
    return bool(_DIFF.search(text))


_DIFF = re.compile(r"^(?:diff --git .+|@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@.*|--- .+\n\+\+\+ .+)$", re.MULTILINE)


def _kind(line: str) -> str:
    if line.startswith(("+++", "---", "@@", "diff ", "index ")):
        return "hunk"
    return {"+": "added", "-": "removed"}.get(line[:1], "same")


_DEEPEST = 16
"""Levels of lists and quotes within each other."""

# --- Parsing ------------------------------------------------------------------------------------------------------


def _parser() -> MarkdownIt:
    parser = MarkdownIt("zero", {"html": False, "linkify": False, "typographer": False, "maxNesting": _DEEPEST})
    parser.enable([*_BLOCKS, *_INLINE])
    parser.inline.ruler.at("newline", _line_break)
    parser.inline.ruler.at("emphasis", _asterisks)
    parser.core.ruler.after("block", "indents", _keep_indents)
    parser.validateLink = lambda url: destination(url) is not None  # type: ignore[method-assign]
    return parser


def _line_break(state: StateInline, silent: bool) -> bool:
    """Every line break stays one, and the blanks at the beginning of the next line too."""
    if state.src[state.pos] != "\n":
        return False
    if not silent:
        state.push("hardbreak", "br", 0)
    state.pos += 1
    return True


def _asterisks(state: StateInline, silent: bool) -> bool:
    """Emphasis by asterisks around whole words. ``2*3*4``, ``__init__`` and ``a_b_c`` stay as they are."""
    if silent or state.src[state.pos] != "*":
        return False
    found = state.scanDelims(state.pos, False)
    for _ in range(found.length):
        state.push("text", "", 0).content = "*"
        place = len(state.tokens) - 1
        state.delimiters.append(Delimiter(ord("*"), found.length, place, -1, found.can_open, found.can_close))
    state.pos += found.length
    return True


def _keep_indents(state: StateCore) -> None:
    """A paragraph begins with the blanks that its first line begins with."""
    lines = state.src.split("\n")
    for before, token in zip(state.tokens, state.tokens[1:], strict=False):
        if token.type == "inline" and before.type == "paragraph_open" and before.level == 0 and before.map:
            line = lines[before.map[0]]
            token.content = line[: len(line) - len(line.lstrip(" "))] + token.content


_SCHEMES = frozenset({"http", "https", "mailto"})
_ODD = re.compile(r"[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\\<>\"'`]")


def destination(url: str) -> str | None:
    """Where a link leads, for people: its host, or its mailbox. ``None`` for an address that is never a link: of
    another scheme, without a host, with a name and password in it, or with a sign that no address has."""
    if _ODD.search(url):
        return None
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in _SCHEMES:
        return None
    if parts.scheme == "mailto":
        return parts.path if "@" in parts.path and not parts.netloc else None
    if not host or "@" in parts.netloc:
        return None
    name = host if ":" in host else comparable_domain(host)
    return name if port is None else f"{name}:{port}"


_PARSER = _parser()

# --- Blocks, and folding ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of the text, and how many lines of a screen it takes, about. ``code`` is the text of a fenced block,
    and ``info`` what stands behind its fence."""

    html: Markup
    weight: int
    is_marked: bool = True
    code: str | None = None
    info: str = ""


def _blocks(tokens: Sequence[Token], source: str) -> Iterator[_Block]:
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    start = 0
    for place, token in enumerate(tokens):
        if token.level != 0 or token.nesting == 1:
            continue
        whole, start = tokens[start : place + 1], place + 1
        begin, end = whole[0].map or [0, 0]
        yield _block(whole, lines[begin:end])


def _block(whole: Sequence[Token], lines: Sequence[str]) -> _Block:
    token = whole[0]
    if token.type == "fence":
        return _code(token.content, token.info.strip())
    if _is_deep(whole) or (token.type == "table_open" and not _shows_all(whole, lines)):
        return _code("\n".join(lines), "")
    weight = sum(1 + len(line) // _LINE for line in lines)
    return _Block(_html(whole), weight, is_marked=not _is_plain(whole))


def _code(content: str, info: str) -> _Block:
    text = content.removesuffix("\n")
    label = Markup('<p class="lang">{}</p>').format(info) if info else Markup()
    inner = diff(text) if info.split(" ", maxsplit=1)[0].lower() in _DIFFS else escape(text)
    html = label + Markup('<pre class="code" dir="ltr"><code>{}</code></pre>').format(inner)
    return _Block(html, text.count("\n") + 1, code=text, info=info)


def _is_plain(whole: Sequence[Token]) -> bool:
    """A paragraph of which every sign is shown."""
    inline = [child.type for token in whole for child in token.children or ()]
    return whole[0].type == "paragraph_open" and all(one in {"text", "hardbreak"} for one in inline)


def _is_deep(whole: Sequence[Token]) -> bool:
    """Whether it has so many levels that the parser leaves out what is below them."""
    return max(token.level for token in whole) >= _DEEPEST - 2


def _shows_all(table: Sequence[Token], lines: Sequence[str]) -> bool:
    """Whether every sign of a table's cells is in its cells: a row with more of them than the head would lose some."""
    said = "".join(token.content for token in table if token.type == "inline")
    rows = [line for number, line in enumerate(lines) if number != 1]
    return _bare(said) == _bare("".join(rows))


def _bare(text: str) -> str:
    return re.sub(r"[|\\\s]", "", text)


def _fold(blocks: Sequence[_Block]) -> tuple[list[_Block], list[_Block]]:
    """What is shown at once, and what is folded. A fenced block is cut between two lines, any other one is whole."""
    room, shown = SCREEN, list[_Block]()
    for place, block in enumerate(blocks):
        rest = list(blocks[place:])
        if block.weight <= room or (not shown and block.weight <= 2 * SCREEN):
            shown.append(block)
            room -= block.weight
        elif block.code is not None and room >= SCREEN // 3:
            lines = block.code.split("\n")
            begin, end = "\n".join(lines[:room]), "\n".join(lines[room:])
            return [*shown, _code(begin, block.info)], [_code(end, block.info), *rest[1:]]
        elif _weight(rest) <= SCREEN // 3:
            return [*shown, *rest], []
        else:
            return shown, rest
    return shown, []


def _weight(blocks: Sequence[_Block]) -> int:
    return sum(block.weight for block in blocks)


def _joined(blocks: Sequence[_Block]) -> Markup:
    return Markup("\n").join(block.html for block in blocks)


# --- HTML ---------------------------------------------------------------------------------------------------------

_TAGS = {
    **{name: name for name in ("blockquote", "strong", "em", "table", "thead", "tbody", "tr", "th", "td")},
    "paragraph": "p",
    "heading": "h2",
    "bullet_list": "ul",
    "list_item": "li",
    "ordered_list": "ol",
}
_TURNED = frozenset({"p", "h2", "li", "blockquote", "td", "th"})
"""They run in the direction of their own words."""
_WIDE_END = Markup("</div>")
_NUMBER = re.compile(r"[0-9]{1,9}")


def _html(tokens: Sequence[Token]) -> Markup:
    written, links = Markup(), list[tuple[str | None, int]]()
    for token in tokens:
        match token.type:
            case "inline":
                written += _html(token.children or ())
            case "text":
                written += escape(token.content)
            case "hardbreak":
                written += Markup("<br>")
            case "hr":
                written += Markup("<hr>")
            case "code_inline":
                written += Markup("<code>{}</code>").format(token.content)
            case "fence":
                written += _code(token.content, token.info.strip()).html
            case "link_open":
                url = str(token.attrs.get("href", ""))
                host = destination(url)
                written += Markup() if host is None else _link(url)
                links.append((host, len(written)))
            case "link_close":
                host, begins = links.pop()
                written += Markup() if host is None else _link_end(host, has_words=bool(written[begins:].strip()))
            case _:
                written += _tag(token)
    return written


def _link(url: str) -> Markup:
    return Markup('<a href="{}" rel="noopener noreferrer nofollow"><bdi>').format(url)


def _link_end(host: str, *, has_words: bool) -> Markup:
    words = Markup() if has_words else escape(host)
    return words + Markup('</bdi></a> <bdi class="host">({})</bdi>').format(host)


def _tag(token: Token) -> Markup:
    """The tag of a block or of emphasis. Whatever else a parser may come to find is text."""
    name, _, way = token.type.rpartition("_")
    tag = _TAGS.get(name)
    if tag is None:
        return escape(token.content)
    if token.hidden:
        return Markup()
    return _opening(tag, token.info) if way == "open" else _closing(tag)


def _opening(tag: str, info: str) -> Markup:
    if tag == "table":
        return Markup('<div class="wide"><table>')
    if tag == "li" and _NUMBER.fullmatch(info):
        return Markup('<li dir="auto" value="{}">').format(info)
    if tag in _TURNED:
        return Markup('<{} dir="auto">').format(tag)
    return Markup("<{}>").format(tag)


def _closing(tag: str) -> Markup:
    end = Markup("</{}>").format(tag)
    return end + _WIDE_END if tag == "table" else end
