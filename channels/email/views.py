"""What a template is given: the variables of ``docs/mail-templates.md``, made from a notice or a message. Pure.

Everything in a view is text to be shown, cleaned (``shown.py``) and not escaped: that is the template's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import JsonValue

from channels.email.options import Option, Replying, options
from channels.email.quoting import MARKER
from channels.email.room import Room
from channels.email.shown import as_text, clean, cut, direction, one_line
from channels.forms import field_names, form_schema_of
from core.domain.moments import told_at
from core.domain.notice import Message, Notice, Purpose
from core.domain.suspension import Kind, ResponseType

View = Mapping[str, Any]

_LONGEST_NAME = 80
_LONGEST_SENTENCE = 600
"""A fallback that is a long text stands in the sentence about silence."""
_MOST_FIELDS = 50

_CUT = "This mail shows only a part. All of it is on the page."


def notice_view(notice: Notice, subject: str, answers_at: str | None, room: Room) -> View:
    """The variables of ``notice.html.j2`` and ``notice.txt.j2``."""
    replying = Replying(answers_at, subject, notice.response_type, notice.choices) if answers_at else None
    question = clean(notice.question)
    context = list(_context(notice.context, room))
    choices = list(options(notice.choices[: room.choices], notice.links.best, replying, room))
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
    choices = list(options(listed[: room.choices], message.link or "", replying, room))
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
    Purpose.NOTE: "About a question",
    Purpose.REQUEST: "You are asked to help",
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


def _how_to_answer(notice: Notice, answers_at: str | None) -> list[str]:
    if answers_at is None:
        return ["Please answer in the browser."]
    last = notice.attempt == notice.max_attempts
    hold = [] if last else ["Reply “on it” to hold further reminders back while you look."]
    match notice.response_type:
        case ResponseType.TEXT:
            return ["Reply to this mail: what you write above the quoted text is the answer.", *hold]
        case ResponseType.FORM if not any(_fields(notice)):
            return ["Please answer in the browser.", *hold]
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
