"""What a template is given: the variables of ``docs/mail-templates.md``, made from a notice or a message. Pure.

Everything in a view is text to be shown, cleaned (``shown.py``) and not escaped: that is the template's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from pydantic import JsonValue

from channels.email.quoting import MARKER
from channels.email.shown import as_text, clean, cut, direction, one_line
from channels.email.trim import own_words
from channels.forms import field_names, form_schema_of
from channels.grammar import Matched, read_answer
from core.domain.moments import told_at
from core.domain.notice import Message, Notice, NoticeChoice, Purpose
from core.domain.suspension import Kind, ResponseType, Style

View = Mapping[str, Any]

_LONGEST_MAILTO = 1_900
"""Some mail programs cut longer links."""
_MOST_READ_BACK = 20
"""Of more choices each is mailed as its number: reading one back takes as long as there are choices."""
_LONGEST_NAME = 80
_LONGEST_SENTENCE = 600
"""A fallback that is a long text stands in the sentence about silence."""
_MOST_FIELDS = 50

_COLOURS: Mapping[Style | None, str] = {Style.PRIMARY: "#1a7f37", Style.DANGER: "#c62828"}
_DEFAULT_COLOUR = "#1f6feb"
"""White on each of them has a contrast of 4.5 or more (WCAG 2.2 §1.4.3)."""

_CUT = "This mail shows only a part. All of it is on the page."


@dataclass(frozen=True, slots=True)
class Room:
    """How much of each part a mail has room for: characters, and how many rows, notes and choices."""

    question: int
    value: int
    rows: int
    note: int
    notes: int
    label: int
    description: int
    choices: int
    mailto: int = _LONGEST_MAILTO


ROOMS = (
    Room(10_000, 2_000, 50, 10_000, 50, 1_000, 3_000, 100),
    Room(6_000, 500, 50, 1_000, 10, 300, 300, 60, mailto=600),
    Room(3_000, 200, 50, 500, 5, 150, 100, 40, mailto=0),
    Room(1_000, 80, 30, 200, 3, 80, 40, 40, mailto=0),
)
"""Tried one after another until the mail is small enough; the last always is."""


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


def notice_view(notice: Notice, subject: str, answers_at: str | None, room: Room) -> View:
    """The variables of ``notice.html.j2`` and ``notice.txt.j2``."""
    replying = Replying(answers_at, subject, notice.response_type, notice.choices) if answers_at else None
    question = clean(notice.question)
    context = list(_context(notice.context, room))
    choices = list(_options(notice.choices[: room.choices], notice.links.best, replying, room))
    left_out = len(notice.choices) - len(choices)
    return {
        "marker": MARKER,
        "ref": notice.ref,
        "subject": subject,
        "preheader": _preheader(notice),
        "headline": notice.headline,
        "urgent": notice.attempt > 1,
        "attempt": notice.attempt,
        "max_attempts": notice.max_attempts,
        "direction": direction(question),
        "question": cut(question, room.question),
        "context": context,
        "risk": cut(clean(notice.risk), room.note) if notice.risk else None,
        "notes": [cut(clean(note), room.note) for note in notice.notes[-room.notes :]],
        "choices": choices,
        "choices_left_out": left_out,
        "response_type": notice.response_type.value,
        "how": _how_to_answer(notice, answers_at),
        "fields": list(_fields(notice)) if answers_at else [],
        "next_step": cut(clean(notice.next_step), _LONGEST_SENTENCE) if notice.next_step else None,
        "silence": cut(clean(notice.silence), _LONGEST_SENTENCE),
        "expires_at": told_at(notice.expires_at, notice.zone) if notice.expires_at else None,
        "link": notice.links.best,
        "asked_by": one_line(notice.asked_by, _LONGEST_NAME),
        "asked_at": told_at(notice.asked_at, notice.zone),
        "cut": _CUT if _is_cut(notice, question, room) else None,
    }


def message_view(message: Message, subject: str, answers_at: str | None, room: Room) -> View:
    """The variables of ``message.html.j2`` and ``message.txt.j2``."""
    text = cut(clean(message.text), 4 * room.question)
    replying = Replying(answers_at, subject, ResponseType.CHOICE, message.choices) if answers_at else None
    listed = message.choices if message.link else ()
    choices = list(_options(listed[: room.choices], message.link or "", replying, room))
    return {
        "marker": MARKER,
        "ref": message.ref,
        "subject": subject,
        "preheader": _HEADLINES[message.purpose] + ".",
        "purpose": message.purpose.value,
        "headline": _HEADLINES[message.purpose],
        "direction": direction("".join(choice.label for choice in choices)),
        "text": text,
        "paragraphs": list(_paragraphs(text, choices)),
        "choices": choices,
        "link": message.link,
        "button_text": _BUTTONS.get(message.purpose, "Open"),
    }


_HEADLINES: Mapping[Purpose, str] = {
    Purpose.SIGN_IN: "Signing in",
    Purpose.CONFIRMATION: "About your reply",
    Purpose.TOO_LATE: "About your reply",
    Purpose.CLARIFICATION: "Please answer once more",
    Purpose.CLARIFIED: "About what you asked",
    Purpose.ALERT: "For whoever runs this service",
}
_BUTTONS: Mapping[Purpose, str] = {
    Purpose.SIGN_IN: "Sign in",
    Purpose.CLARIFICATION: "Answer…",
    Purpose.CLARIFIED: "Answer…",
}


def _preheader(notice: Notice) -> str:
    """What a list of mails shows beside the subject. Our words alone: mail programs quote what they hide, too."""
    verb = "Object" if notice.kind is Kind.VETO else "Answer"
    until = f" {verb} by {told_at(notice.expires_at, notice.zone)}." if notice.expires_at else ""
    return f"{notice.headline}.{until}"


def _options(choices: Iterable[NoticeChoice], page: str, replying: Replying | None, room: Room) -> Iterator[Option]:
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
    return numbered if len(numbered) <= _LONGEST_MAILTO else None


@lru_cache(maxsize=1_024)
def _read_as(written: str, response_type: ResponseType, choices: tuple[NoticeChoice, ...]) -> int | None:
    """The index of the choice that ``written`` would be read as. The same for everybody who is asked."""
    reading = read_answer(own_words(written).lines, response_type, choices)
    return reading.index if isinstance(reading, Matched) else None


def _how_to_answer(notice: Notice, answers_at: str | None) -> list[str]:
    if answers_at is None:
        return ["Please answer in the browser."]
    last = notice.attempt == notice.max_attempts
    hold = [] if last else ["Reply “on it” to hold further reminders back while you look."]
    match notice.response_type:
        case ResponseType.TEXT:
            return ["Reply to this mail: what you write above the quoted text is the answer.", *hold]
        case ResponseType.FORM:
            return [*hold, "Reply to this mail with one line for each field:"]
        case ResponseType.CHOICE | ResponseType.CONFIRM:
            return ["Reply with the number or the name of your choice on the first line.", *hold]


def _fields(notice: Notice) -> Iterator[str]:
    """The fields of a form, one for each line to fill in."""
    if notice.response_type is ResponseType.FORM:
        names = field_names(form_schema_of(notice.form_schema, notice.context))
        yield from (one_line(name, _LONGEST_NAME) for name in names[:_MOST_FIELDS])


def _context(context: Mapping[str, JsonValue], room: Room) -> Iterator[tuple[str, str]]:
    for key, value in list(context.items())[: room.rows]:
        yield one_line(key, _LONGEST_NAME), cut(as_text(value), room.value)
    if left_out := max(len(context) - room.rows, 0):
        yield "…", f"{left_out} more on the page"


def _is_cut(notice: Notice, question: str, room: Room) -> bool:
    shown = list(notice.context.items())[: room.rows]
    return (
        len(question) > room.question
        or len(notice.context) > room.rows
        or len(notice.choices) > room.choices
        or len(notice.notes) > room.notes
        or any(len(as_text(value)) > room.value for _, value in shown)
        or any(len(note) > room.note for note in notice.notes)
        or any(len(choice.label) > room.label for choice in notice.choices)
        or any(len(choice.description or "") > room.description for choice in notice.choices)
    )


def _paragraphs(text: str, choices: Iterable[Option]) -> Iterator[str]:
    """``text`` in pieces; without the lines that list the choices, where these are buttons."""
    listed = {f"{choice.number}) {choice.label}" for choice in choices}
    for piece in text.split("\n\n"):
        lines = [line for line in piece.splitlines() if one_line(line, len(line) + 1) not in listed]
        if paragraph := "\n".join(lines).strip():
            yield paragraph
