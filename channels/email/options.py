"""The choices of a mail: a button each, and a link that begins a reply. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote

from channels.email.room import LONGEST_MAILTO, Room
from channels.email.shown import one_line
from channels.email.trim import own_words
from channels.grammar import Matched, read_answer
from core.domain.notice import NoticeChoice
from core.domain.suspension import ResponseType, Style

_MOST_READ_BACK = 20
"""Of more choices each is mailed as its number: reading one back takes as long as there are choices."""

_COLOURS: Mapping[Style | None, str] = {Style.PRIMARY: "#1a7f37", Style.DANGER: "#c62828"}
_DEFAULT_COLOUR = "#1f6feb"
"""White on each of them has a contrast of 4.5 or more (WCAG 2.2 §1.4.3)."""


@dataclass(frozen=True, slots=True)
class Option:
    """A choice as the templates show it. ``mailto`` begins a reply with the choice written in it."""

    number: int
    label: str
    description: str | None
    colour: str
    link: str
    mailto: str | None


@dataclass(frozen=True, slots=True)
class Replying:
    """How a reply to this mail begins: where it goes, its subject, and which choices its words are read against."""

    to: str
    subject: str
    response_type: ResponseType
    choices: tuple[NoticeChoice, ...]


def options(choices: Iterable[NoticeChoice], page: str, replying: Replying | None, room: Room) -> Iterator[Option]:
    for choice in choices:
        yield Option(
            number=choice.number,
            label=one_line(choice.label, room.label) or one_line(choice.value, room.label),
            description=one_line(choice.description, room.description) or None if choice.description else None,
            colour=_COLOURS.get(choice.style, _DEFAULT_COLOUR),
            link=f"{page}#c={choice.index}",
            mailto=_mailto(replying, choice, room.mailto) if replying and room.mailto else None,
        )


def _mailto(replying: Replying, choice: NoticeChoice, longest: int) -> str | None:
    """A link that opens a reply with the choice already written, as a person would write it; with its number alone
    where the label is too long, or would be read as something else (as a quoted mail's head, or another choice).
    """
    start = f"mailto:{quote(replying.to, safe='@')}?subject={quote('Re: ' + replying.subject, safe='')}&body="
    written = f"{choice.number}) {one_line(choice.label, longest)}"
    named = start + quote(f"{written}\r\n", safe="")
    few = len(replying.choices) <= _MOST_READ_BACK
    if few and len(named) <= longest and _read_as(written, replying.response_type, replying.choices) == choice.index:
        return named
    numbered = f"{start}{choice.number}"
    return numbered if len(numbered) <= LONGEST_MAILTO else None


@lru_cache(maxsize=1_024)
def _read_as(written: str, response_type: ResponseType, choices: tuple[NoticeChoice, ...]) -> int | None:
    """The index of the choice that ``written`` would be read as. The same for everybody who is asked."""
    reading = read_answer(own_words(written).lines, response_type, choices)
    return reading.index if isinstance(reading, Matched) else None
