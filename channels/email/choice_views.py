"""Choice views: each choice of a question as a button, and as a link that begins a reply. Pure.

The reply that a link begins has to be read as that choice, so it has the first name of the choice that can mean no
other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from unicodedata import east_asian_width
from urllib.parse import quote

from channels.email.classify import reads_like_a_machine
from channels.email.own_words import own_words
from channels.email.view_text import LONGEST_MAILTO, MailBudget, one_line
from channels.grammar.phrases import plain, questions_in
from core.domain.notice import NoticeChoice
from core.domain.suspension import ResponseType, Style

REASON_HEAD = "Reason:"
_LONGEST_LINE = 60
"""Columns. A longer line may be wrapped by the program that sends it, and two lines are no name."""

_COLOURS: Mapping[Style | None, str] = {Style.PRIMARY: "#1a7f37", Style.DANGER: "#c62828"}
_DEFAULT_COLOUR = "#1f6feb"
"""White on each of them has a contrast of 4.5 or more (WCAG 2.2 §1.4.3)."""


@dataclass(frozen=True, slots=True)
class ChoiceView:
    """A choice as the templates show it. ``mailto`` begins a reply with the choice written in it. ``is_beside``: it
    stands beside another one."""

    number: int
    label: str
    description: str | None
    colour: str
    link: str
    mailto: str | None
    is_beside: bool = False


@dataclass(frozen=True, slots=True)
class Replying:
    """The parts of a mailto link: its address, its subject, and the choices that its words are read against."""

    to: str
    subject: str
    response_type: ResponseType
    choices: tuple[NoticeChoice, ...]


def options(
    choices: Iterable[NoticeChoice], page: str, replying: Replying | None, room: MailBudget
) -> Iterator[ChoiceView]:
    by_words = {ResponseType.CHOICE, ResponseType.CONFIRM}
    reply = replying if replying and room.mailto and replying.response_type in by_words else None
    by_name = _by_name(reply.choices) if reply else {}
    for choice in choices:
        yield ChoiceView(
            number=choice.number,
            label=one_line(choice.label, room.label) or one_line(choice.value, room.label),
            description=one_line(choice.description, room.description) or None if choice.description else None,
            colour=_COLOURS.get(choice.style, _DEFAULT_COLOUR),
            link=f"{page}#c={choice.index}",
            mailto=_mailto(reply, choice, room.mailto, by_name) if reply else None,
        )


def _by_name(choices: Iterable[NoticeChoice]) -> Mapping[str, set[int]]:
    """The choices by their names, and by the beginning of a name, up to a bracket."""
    found: dict[str, set[int]] = {}
    for choice in choices:
        for name in (plain(choice.label).casefold(), plain(choice.value).casefold()):
            for own in (name, name[: name.find(")") + 1]):
                found.setdefault(own, set()).add(choice.index)
    return found


_CODE = re.compile(r"[A-Za-z]+-?[0-9]+")
"""A value that is no word of any language."""


def _mailto(replying: Replying, choice: NoticeChoice, longest: int, by_name: Mapping[str, set[int]]) -> str | None:
    """A link that opens a reply with the choice already written, and room for a reason. The choice is written in the
    first way that can name no other choice (``channels.grammar.names``)."""
    start = f"mailto:{quote(replying.to, safe='@')}?subject={quote('Re: ' + replying.subject, safe='')}&body="
    number, code = str(choice.number), choice.value if _CODE.fullmatch(choice.value) else ""
    ways = (_numbered(choice, longest), f"{number})", longest), (number, number, LONGEST_MAILTO), (code, code, longest)
    for written, name, most in ways:
        link = start + quote(prefilled(written), safe="")
        if written and len(link) <= most and by_name.get(name.casefold(), set()) <= {choice.index}:
            return link
    return None


@lru_cache(maxsize=4_096)
def _numbered(choice: NoticeChoice, longest: int) -> str:
    """The choice's number and label in one line; empty if that could be read as something else: wrapped, a quote, an
    automatic reply, a question."""
    written = f"{choice.number}) {one_line(choice.label, longest)}"
    lines, shown = own_words(prefilled(written)).lines, plain(written)
    if lines != (written, "", REASON_HEAD) or "~~" in written or reads_like_a_machine(lines):
        return ""
    whole = shown == f"{choice.number}) {plain(choice.label)}" and questions_in(written) <= questions_in(shown)
    return written if whole and _columns(written) <= _LONGEST_LINE else ""


def prefilled(written: str) -> str:
    """The reply that a link begins. It has to be read as the choice, with or without a reason added."""
    return f"{written}\r\n\r\n{REASON_HEAD} \r\n"


def _columns(text: str) -> int:
    return sum(2 if east_asian_width(mark) in "WF" else 1 for mark in text)
