"""Style sheets of a reply: the rules that could hide something, and the elements that each could match. Pure.

A rule is taken to match every element that the last part of its selector (``td.a`` of ``.x > td.a:hover``) could match,
by tag, classes and id, whether a browser would apply it or not: so no selector is evaluated wrongly.

Source: CSS Syntax 3 (by tinycss2), Selectors 4; docs/decisions/0100.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import tinycss2
from tinycss2.ast import (
    AtRule,
    Comment,
    Declaration,
    HashToken,
    IdentToken,
    LiteralToken,
    Node,
    QualifiedRule,
    WhitespaceToken,
)

from channels.email.css import BOXES, TextStyle, Visibility, judged

_LONGEST_SHEET = 80_000
_MOST_RULES = 100
"""That could hide something. Sheets of mail programs have none or two."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule that could hide, and its matches: an empty ``tag`` is any, ``names`` are classes and ``#id``."""

    tag: str
    names: frozenset[str]
    text: TextStyle
    box: TextStyle

    def could_match(self, tag: str, names: frozenset[str]) -> bool:
        return self.tag in {"", tag} and self.names <= names


@dataclass(frozen=True, slots=True)
class Sheet:
    """The rules that could hide something. ``sight``: a rule that can't be evaluated could hide anything."""

    rules: tuple[_Rule, ...] = ()
    sight: Visibility = Visibility.SHOWN

    def style_for(self, tag: str, names: frozenset[str], *, is_box: bool = False) -> TextStyle:
        """``names`` are the element's classes and ``#id``, in lower case: without a doctype case is ignored."""
        style = TextStyle()
        for rule in self.rules:
            if rule.could_match(tag, names):
                style |= rule.box if is_box else rule.text
        return style


def sheet_of(text: str) -> Sheet:
    """The sheet of all ``<style>`` content."""
    if not text.strip():
        return Sheet()
    if len(text) > _LONGEST_SHEET:
        return Sheet(sight=Visibility.UNSURE)
    rules: list[_Rule] = []
    sight = Visibility.SHOWN
    for one in _qualified(tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True)):
        if one is None:
            sight = Visibility.UNSURE
            continue
        content = tinycss2.parse_blocks_contents(one.content, skip_comments=True, skip_whitespace=True)
        rules += islice(_rules(one.prelude, content), _MOST_RULES)
        if len(rules) >= _MOST_RULES:
            return Sheet(sight=Visibility.UNSURE)
    return Sheet(tuple(rules), sight)


_NEVER_STYLES = frozenset(
    {"page", "charset", "namespace", "list", "viewport", "-ms-viewport", "-o-viewport", "keyframes"}
    | {"-webkit-keyframes", "-moz-keyframes"}
)
_HOLDS_RULES = frozenset({"media", "supports", "layer", "-moz-document"})
_DEEPEST = 4


def _qualified(nodes: Iterable[Node], depth: int = 0) -> Iterator[QualifiedRule | None]:
    """Each rule, also within ``@media``; ``None`` for one that can't be evaluated."""
    for one in nodes:
        if isinstance(one, QualifiedRule):
            yield one
        elif not isinstance(one, AtRule):
            yield None
        elif one.lower_at_keyword in _HOLDS_RULES and one.content is not None and depth < _DEEPEST:
            inside = tinycss2.parse_rule_list(one.content, skip_comments=True, skip_whitespace=True)
            yield from _qualified(inside, depth + 1)
        elif one.lower_at_keyword == "font-face":
            if one.content is None or _loads(one.content):
                yield None  # its letters may look like others
        elif one.lower_at_keyword not in _NEVER_STYLES:
            yield None


def _loads(font_face: Iterable[Node]) -> bool:
    content = tinycss2.parse_blocks_contents(font_face, skip_comments=True, skip_whitespace=True)
    return any(not isinstance(one, Declaration) or one.lower_name == "src" for one in content)


_HEAD_TAGS = frozenset({"head", "title", "style", "script", "meta", "link"})
_ANYTHING = _Rule("", frozenset(), TextStyle(Visibility.UNSURE), TextStyle(Visibility.UNSURE))


def _rules(prelude: Sequence[Node], content: Sequence[Node]) -> Iterator[_Rule]:
    text, box = judged(content), judged(content, without=BOXES)
    if any(isinstance(one, QualifiedRule | AtRule) for one in content):
        yield _ANYTHING  # a rule within a rule
    shows = any(isinstance(one, Declaration) and one.lower_name in {"display", "all"} for one in content)
    for tag, names in map(_subject, _split(prelude)):
        if shows and (tag in _HEAD_TAGS or (not tag and not names)):
            yield _ANYTHING  # shows what is never shown
        elif text != TextStyle() or box != TextStyle():
            yield _Rule(tag, names, _unsure(text), _unsure(box))


def _unsure(style: TextStyle) -> TextStyle:
    """Nobody knows whether the rule matches: at most a doubt."""
    sight = Visibility.UNSURE if style.sight is not Visibility.SHOWN or style.struck else Visibility.SHOWN
    return TextStyle(sight, size=style.size, factor=style.factor)


def _split(prelude: Iterable[Node]) -> Iterator[list[Node]]:
    """The last compound of each selector in a list."""
    part: list[Node] = []
    ends = False
    for token in prelude:
        mark = _mark(token)
        if mark == ",":
            yield part
            part, ends = [], False
        elif mark in _COMBINATORS or isinstance(token, WhitespaceToken):
            ends = True
        elif not isinstance(token, Comment):
            part = [token] if ends else [*part, token]
            ends = False
    yield part


_COMBINATORS = frozenset({">", "+", "~", "|", "||"})


def _mark(token: Node) -> str:
    return token.value if isinstance(token, LiteralToken) else ""


def _subject(selector: Sequence[Node]) -> tuple[str, frozenset[str]]:
    """The tag, classes and id that an element must have. Unknown parts are ignored, so more could match."""
    tag, names = "", set[str]()
    for at, token in enumerate(selector):
        if isinstance(token, HashToken):
            names.add(f"#{token.value.lower()}")
        elif isinstance(token, IdentToken) and at == 0:
            tag = token.lower_value
        elif isinstance(token, IdentToken) and _mark(selector[at - 1]) == ".":
            names.add(f".{token.lower_value}")
    return tag, frozenset(names)
