"""Notices and short messages as mail. Pure, but for the templates that are read once.

Source: facts on mail §B1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from pydantic import JsonValue

from channels.email.addressing import Mailboxes
from channels.email.mime import Envelope, compose, display_address, header_text
from channels.email.quoting import MARKER
from channels.forms import field_names, form_schema_of
from core.domain.notice import Message, Notice, NoticeChoice, Purpose
from core.domain.people import Address
from core.domain.suspension import ResponseType, Style

LONGEST_SUBJECT = 120
_LONGEST_VALUE = 2_000
_MOST_VALUES = 50
_LONGEST_MAILTO = 1_900
"""Some mail programs cut longer links."""
_TOLD_IN_REPLY = frozenset({Purpose.CONFIRMATION, Purpose.TOO_LATE, Purpose.CLARIFICATION})
"""Written because a mail came in: marked as such and sent from ``<>``, so that no machine answers (RFC 3834 §3.3)."""

_COLOURS: Mapping[Style | None, str] = {Style.PRIMARY: "#1a7f37", Style.DANGER: "#c62828"}
_DEFAULT_COLOUR = "#1f6feb"
_CALM, _URGENT = "#57606a", "#c62828"

_templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=select_autoescape(enabled_extensions=("html.j2",), default=False),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_NOTICE_TEXT = _templates.get_template("notice.txt.j2")
_NOTICE_HTML = _templates.get_template("notice.html.j2")
_MESSAGE_TEXT = _templates.get_template("message.txt.j2")


@dataclass(frozen=True, slots=True)
class _Option:
    """A choice as the templates show it."""

    number: int
    label: str
    description: str | None
    colour: str
    link: str
    mailto: str | None


def notice_mail(notice: Notice, to: Address, delivery: str, ours: Mailboxes) -> Envelope:
    """The mail that asks ``to``. The same ``delivery`` makes the same Message-ID."""
    subject = subject_line(notice.ref, notice.question)
    answers_at = ours.reply_to(notice.links.reply_token) if notice.links.reply_token else None
    view = {
        "marker": MARKER,
        "ref": notice.ref,
        "subject": subject,
        "headline": notice.headline,
        "accent": _CALM if notice.attempt == 1 else _URGENT,
        "tone": "hr-soft" if notice.attempt == 1 else "hr-urgent",
        "question": _clean(notice.question),
        "context": _context(notice.context),
        "risk": _clean(notice.risk) if notice.risk else None,
        "notes": [_value(note) for note in notice.notes],
        "choices": [_option(choice, notice, answers_at, subject) for choice in notice.choices],
        "how": _how_to_answer(notice, answers_at),
        "fields": _fields(notice) if answers_at else [],
        "silence": _clean(notice.silence),
        "link": notice.links.best,
        "asked_by": _clean(notice.asked_by),
        "asked_at": f"{notice.asked_at:%Y-%m-%d %H:%M} UTC",
    }
    headers = _headers(subject, to, delivery, notice.ref, ours)
    if answers_at:
        headers["Reply-To"] = answers_at
    headers["Auto-Submitted"] = "auto-generated"
    if notice.attempt == notice.max_attempts > 1:
        headers["X-Priority"] = "1"
    content = compose(headers, _NOTICE_TEXT.render(view), _NOTICE_HTML.render(view))
    return Envelope(ours.bounces_to(delivery), to.value, headers["Message-ID"], content)


def message_mail(message: Message, to: Address, delivery: str, ours: Mailboxes) -> Envelope:
    """A short mail. Under its question where ``message`` names one."""
    headers = _headers(_one_line(message.subject, LONGEST_SUBJECT + len("Re: ")), to, delivery, message.ref, ours)
    in_reply = message.purpose in _TOLD_IN_REPLY
    headers["Auto-Submitted"] = "auto-replied" if in_reply else "auto-generated"
    if message.reply_token and (answers_at := ours.reply_to(message.reply_token)):
        headers["Reply-To"] = answers_at
    view = {"marker": MARKER, "ref": message.ref, "text": _clean(message.text), "link": message.link}
    content = compose(headers, _MESSAGE_TEXT.render(view))
    return Envelope("" if in_reply else ours.bounces_to(delivery), to.value, headers["Message-ID"], content)


def subject_line(ref: str, question: str) -> str:
    """One and the same for every mail about a question: Gmail threads by it."""
    return _one_line(f"[{ref}] {question}", LONGEST_SUBJECT)


def _headers(subject: str, to: Address, delivery: str, ref: str | None, ours: Mailboxes) -> dict[str, str]:
    headers = {
        "From": display_address(ours.name, ours.sender),
        "To": to.value,
        "Subject": header_text("Subject", subject),
        "Date": format_datetime(datetime.now(UTC)),
        "Message-ID": ours.message_id(delivery),
    }
    if ref:
        headers["In-Reply-To"] = headers["References"] = ours.root_id(ref)
    headers["X-Auto-Response-Suppress"] = "All"
    return headers


def _option(choice: NoticeChoice, notice: Notice, answers_at: str | None, subject: str) -> _Option:
    return _Option(
        number=choice.number,
        label=_one_line(choice.label, _LONGEST_VALUE),
        description=_one_line(choice.description, _LONGEST_VALUE) if choice.description else None,
        colour=_COLOURS.get(choice.style, _DEFAULT_COLOUR),
        link=f"{notice.links.best}#c={choice.index}",
        mailto=_mailto(answers_at, subject, choice) if answers_at else None,
    )


def _mailto(answers_at: str, subject: str, choice: NoticeChoice) -> str:
    """A link that opens a reply with the choice already written, as a person would write it."""
    start = f"mailto:{quote(answers_at, safe='@')}?subject={quote('Re: ' + subject)}&body="
    named = start + quote(f"{choice.number}) {_one_line(choice.label, _LONGEST_VALUE)}\r\n")
    return named if len(named) <= _LONGEST_MAILTO else start + str(choice.number)


def _how_to_answer(notice: Notice, answers_at: str | None) -> list[str]:
    if answers_at is None:
        return ["Please answer in the browser."]
    hold = "Reply “on it” to hold further reminders back while you look."
    match notice.response_type:
        case ResponseType.TEXT:
            return ["Reply to this mail: what you write above the quoted text is the answer.", hold]
        case ResponseType.FORM:
            return [hold, "Reply to this mail with one line for each field:"]
        case ResponseType.CHOICE | ResponseType.CONFIRM:
            return ["Reply to this mail with the number or the name of your choice on the first line.", hold]


def _fields(notice: Notice) -> list[str]:
    """The fields of a form, one for each line to fill in."""
    if notice.response_type is not ResponseType.FORM:
        return []
    names = field_names(form_schema_of(notice.form_schema, notice.context))
    return [_one_line(name, 80) for name in names[:_MOST_VALUES]]


def _context(context: Mapping[str, JsonValue]) -> list[tuple[str, str]]:
    shown = [(_one_line(key, 80), _value(value)) for key, value in list(context.items())[:_MOST_VALUES]]
    left_out = len(context) - len(shown)
    return [*shown, ("…", f"{left_out} more on the page")] if left_out else shown


def _value(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = _clean(text)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, lone surrogates, and what turns the direction of writing."""


def _clean(text: str) -> str:
    """Text as it is shown: what can't be seen is left out."""
    return _UNSEEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


_SPACES = re.compile(r"\s+")


def _one_line(text: str, longest: int) -> str:
    line = _SPACES.sub(" ", _clean(_SPACES.sub(" ", text)))
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
