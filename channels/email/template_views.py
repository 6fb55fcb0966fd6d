"""Template views: the variables of ``docs/how-to/mail-templates.md``, made from a notice or a message. Pure.

Everything in a view is text to be shown. It is cleaned (invisible signs, and signs that turn the writing direction) but
not escaped: escaping is the template's. :class:`MailBudget` is how much of a question a mail shows. Each choice has a
button and a link that begins a reply.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from unicodedata import east_asian_width
from urllib.parse import quote

from pydantic import JsonValue

from channels.email.classify import reads_like_a_machine
from channels.email.first_screen import Asked, Choosable, Setting, named, set_for_a_phone
from channels.email.own_words import own_words
from channels.email.quoting import MARKER
from channels.email.reply_words import reply_words
from channels.grammar.forms import form_properties, form_schema_of
from channels.grammar.phrases import plain, questions_in
from core.domain import earlier_answers
from core.domain.action import HIDDEN, ShownAction, hides
from core.domain.copies import replace
from core.domain.notice import Message, Notice, NoticeChoice, Purpose
from core.domain.suspension import Cut, Kind, ResponseType, Sight, Style
from core.domain.wording import told_at

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters
    "\u00ad\u200b\u2060-\u2064\ufeff\ufff9-\ufffb"  # blanks of no width; joiners stay, which emoji and Persian need
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # what turns the direction of writing
    "\u2028\u2029\ud800-\udfff]"  # line ends that only some know, lone surrogates
)
_SPACES = re.compile(r"\s+")


def clean(text: str) -> str:
    """``text`` with its lines as they were, and nothing in it that can't be seen."""
    if text.isascii() and text.isprintable():
        return text.strip()
    return _UNSEEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def one_line(text: str, longest: int) -> str:
    if text.isascii() and text.isprintable() and "  " not in text:
        return cut(text.strip(), longest)
    return cut(_SPACES.sub(" ", clean(_SPACES.sub(" ", text))), longest)


def cut(text: str, longest: int) -> str:
    """At most ``longest`` characters, the last of them an ellipsis where some are missing."""
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def as_text(value: JsonValue) -> str:
    """A JSON value as people read it: a flat object a line for each key, a flat list with commas, the rest as JSON."""
    if isinstance(value, dict) and value and all(map(_is_plain, value.values())):
        return "\n".join(f"{one_line(key, _LONGEST_KEY)}: {as_text(one)}" for key, one in value.items())
    if isinstance(value, list) and value and all(map(_is_plain, value)):
        return ", ".join(map(as_text, value))
    return clean(value if isinstance(value, str) else _as_json(value))


_as_json = json.JSONEncoder(ensure_ascii=False).encode


def direction(text: str) -> str:
    """``rtl`` or ``ltr``, by the first letter that has one (Unicode Annex 9, P2 and P3)."""
    strong = (kind for kind in map(unicodedata.bidirectional, text) if kind in {"L", "R", "AL"})
    return "ltr" if next(strong, "L") == "L" else "rtl"


_LONGEST_KEY = 80


def _is_plain(value: JsonValue) -> bool:
    return not isinstance(value, dict | list)


LONGEST_MAILTO = 1_900
"""Characters. Some mail programs cut longer links."""


@dataclass(frozen=True)
class MailBudget:
    """How much of each part a mail has room for: characters, and how many rows, notes and choices.

    ``note``, ``notes`` and ``mailto`` are for our own words; the rest is what the agent wrote.
    """

    question: int
    value: int
    rows: int
    action: int
    note: int
    notes: int
    label: int
    description: int
    choices: int
    mailto: int = LONGEST_MAILTO


ROOMS = (
    MailBudget(10_000, 2_000, 50, 20_000, 10_000, 50, 1_000, 3_000, 100),
    MailBudget(6_000, 500, 50, 6_000, 1_000, 10, 300, 300, 60, mailto=600),
    MailBudget(3_000, 200, 50, 3_000, 500, 5, 150, 100, 40, mailto=0),
    MailBudget(1_000, 80, 30, 1_000, 200, 3, 80, 40, 40, mailto=0),
)
"""Tried one after another until the mail is small enough; the last always is."""


def of_both(agents: MailBudget, own: MailBudget) -> MailBudget:
    """As much of the agent's words as ``agents`` has room for, and of our own as ``own`` has."""
    return replace(agents, note=own.note, notes=own.notes, mailto=own.mailto)


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
    """How a reply to this mail begins: where it goes, its subject, and which choices its words are read against."""

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
    """The choices by what they are called, and by what a name begins with, up to a bracket."""
    found: dict[str, set[int]] = {}
    for choice in choices:
        for name in (plain(choice.label).casefold(), plain(choice.value).casefold()):
            for own in (name, name[: name.find(")") + 1]):
                found.setdefault(own, set()).add(choice.index)
    return found


_CODE = re.compile(r"[A-Za-z]+-?[0-9]+")
"""A value that is no word of any language."""


def _mailto(replying: Replying, choice: NoticeChoice, longest: int, by_name: Mapping[str, set[int]]) -> str | None:
    """A link that opens a reply with the choice already written, and room for a reason: the first way to write it that
    can name no other choice (``channels.grammar.names``).
    """
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
    """The choice's number and label in one line; empty if that may be taken for something else: wrapped, a quote, an
    automatic reply, a question."""
    written = f"{choice.number}) {one_line(choice.label, longest)}"
    lines, shown = own_words(prefilled(written)).lines, plain(written)
    if lines != (written, "", REASON_HEAD) or "~~" in written or reads_like_a_machine(lines):
        return ""
    whole = shown == f"{choice.number}) {plain(choice.label)}" and questions_in(written) <= questions_in(shown)
    return written if whole and _columns(written) <= _LONGEST_LINE else ""


def prefilled(written: str) -> str:
    """A reply that a link begins: it has to be read as it is, whether or not somebody adds a reason."""
    return f"{written}\r\n\r\n{REASON_HEAD} \r\n"


def _columns(text: str) -> int:
    return sum(2 if east_asian_width(mark) in "WF" else 1 for mark in text)


View = Mapping[str, Any]

_LONGEST_NAME = 80
_LONGEST_SENTENCE = 600
"""A fallback that is a long text stands in the sentence about silence."""
_LONGEST_SILENCE = 100
"""Two lines of a phone."""
_MOST_FIELDS = 50


@dataclass(frozen=True, slots=True)
class ActionView:
    """What exactly will run: JSON under its ``heading``, which has the ``digest``; ``hidden`` is a sentence, where a
    part of it is not shown to this reader."""

    heading: str
    digest: str
    text: str
    hidden: str | None


_CUT = "This mail shows only a part. All of it is on the page."


_OPEN_FIRST = {
    Sight.WHOLE: "This mail shows only a part of what is asked. It can be approved only on its page, which has all.",
    Sight.REVEALED: "A part of what will run is hidden here. It can be approved only on its page, where it is shown.",
}


def notice_view(
    notice: Notice, subject: str, answers_at: str | None, room: MailBudget, needed: Sight = Sight.MESSAGE
) -> View:
    """The variables of ``notice.html.j2`` and ``notice.txt.j2``. If more than a message is ``needed`` to approve it,
    there are buttons for its negative choices alone."""
    replying = Replying(answers_at, subject, notice.response_type, notice.choices) if answers_at else None
    question = cut(clean(notice.question), room.question)
    context = list(_context(notice.context, room))
    offered = notice.choices if needed is Sight.MESSAGE else notice.negatives
    choices = list(options(offered[: room.choices], notice.links.best, replying, room))
    left_out = len(offered) - len(choices)
    setting = _setting(notice, question, choices, room, needed)
    choices = [replace(choice, is_beside=setting.beside) for choice in choices]
    return {
        "marker": MARKER,
        "ref": notice.ref,
        "subject": subject,
        "preheader": _preheader(notice, choices),
        "headline": notice.headline,
        "urgent": notice.attempt > 1,
        "attempt": notice.attempt,
        "max_attempts": notice.max_attempts,
        "direction": direction(question),
        "question": question,
        "question_opening": setting.question_opening,
        "context": context,
        "action": _action(notice, setting),
        "action_opening": setting.action_opening,
        "risk": cut(clean(notice.risk), room.note) if notice.risk else None,
        "notes": [cut(clean(note), room.note) for note in _notes(notice)[-room.notes :]],
        "choices": choices,
        "choices_left_out": left_out,
        "choices_named": setting.named,
        "small": setting.small,
        "response_type": notice.response_type.value,
        "open_first": _OPEN_FIRST.get(needed),
        "how": _how_to_answer(notice, answers_at, needed),
        "fields": list(_fields(notice)) if answers_at else [],
        "next_step": cut(clean(notice.next_step), _LONGEST_SENTENCE) if notice.next_step else None,
        "silence": cut(clean(notice.silence), _LONGEST_SENTENCE),
        "silence_in_short": _silence_line(notice),
        "expires_at": told_at(notice.expires_at, notice.zone) if notice.expires_at else None,
        "link": notice.links.best,
        "asked_by": one_line(notice.asked_by, _LONGEST_NAME),
        "asked_at": told_at(notice.asked_at, notice.zone),
        "cut": _CUT if cut_in(notice, room) or _notes_are_cut(notice, room) else None,
    }


def message_view(message: Message, subject: str, answers_at: str | None, room: MailBudget) -> View:
    """The variables of ``message.html.j2`` and ``message.txt.j2``."""
    text = cut(clean(message.text), 4 * room.question)
    replying = Replying(answers_at, subject, ResponseType.CHOICE, message.choices) if answers_at else None
    listed = message.choices if message.link else ()
    choices = list(options(listed[: room.choices], message.link or "", replying, room))
    above, below = _around_choices(text, choices)
    words, asks = reply_words(message.language), message.purpose is Purpose.CLARIFICATION
    headline = words["headline"] if asks else _HEADLINES[message.purpose]
    return {
        "marker": MARKER,
        "ref": message.ref,
        "subject": subject,
        "language": message.language,
        "preheader": headline + ".",
        "purpose": message.purpose.value,
        "headline": headline,
        "direction": direction("".join(choice.label for choice in choices)),
        "text": text,
        "paragraphs": [*above, *below],
        "above_choices": above,
        "below_choices": below[:-1] if below and below[-1].endswith(_INTRODUCES) else below,
        "by_mail": words["by_mail"],
        "choices": choices,
        "link": message.link,
        "button_text": words["button"] if asks else _BUTTONS.get(message.purpose, "Open"),
        "or_open": words["or_open"],
    }


_HEADLINES: Mapping[Purpose, str] = {
    Purpose.SIGN_IN: "Signing in",
    Purpose.CONFIRMATION: "About your reply",
    Purpose.TOO_LATE: "About your reply",
    Purpose.CLARIFIED: "About what you asked",
    Purpose.ENDED: "This question has ended",
    Purpose.UNTOLD: "The agent has not been told",
    Purpose.FAILED: "What you decided has failed",
    Purpose.NOTE: "About a question",
    Purpose.REQUEST: "You are asked to help",
    Purpose.ALERT: "For whoever runs this service",
}
_BUTTONS: Mapping[Purpose, str] = {
    Purpose.SIGN_IN: "Sign in",
    Purpose.CLARIFIED: "Answer…",
    Purpose.ENDED: "Show it",
    Purpose.UNTOLD: "Show it",
    Purpose.FAILED: "Show it",
}


def _silence_line(notice: Notice) -> str:
    return one_line(notice.in_short, _LONGEST_SILENCE)


def _preheader(notice: Notice, choices: Sequence[Choosable]) -> str:
    """What a list of mails shows beside the subject: what can be chosen, and what comes of silence. Mail programs quote
    what they hide, too: none of its lines reads as an answer, however it is wrapped."""
    what = named(choices, "") or ("Object" if notice.kind is Kind.VETO else "Answer needed")
    silence = one_line(notice.in_brief, _LONGEST_SILENCE)
    return f"{what} — {silence[:1].lower()}{silence[1:]}"


def _how_to_answer(notice: Notice, answers_at: str | None, needed: Sight) -> list[str]:
    if answers_at is None:
        return ["Please answer in the browser."]
    last = notice.attempt == notice.max_attempts
    hold = [] if last else ["Reply “on it” to hold further reminders back while you look."]
    if needed > Sight.MESSAGE:
        return [f"Reply with {_numbers(notice.negatives)} on the first line, or answer in the browser.", *hold]
    match notice.response_type:
        case ResponseType.TEXT:
            return ["Reply to this mail: what you write above the quoted text is the answer.", *hold]
        case ResponseType.FORM if not any(_fields(notice)):
            return ["Please answer in the browser.", *hold]
        case ResponseType.FORM:
            return [*hold, "Reply to this mail with one line for each field:"]
        case ResponseType.CHOICE | ResponseType.CONFIRM:
            return ["Reply with the number or the name of your choice on the first line.", *hold]


_MOST_NUMBERS = 3


def _numbers(choices: Sequence[NoticeChoice]) -> str:
    """``2 (Deny refund)``, of several as a list."""
    named = [f"{choice.number} ({one_line(choice.label, _LONGEST_NAME)})" for choice in choices[:_MOST_NUMBERS]]
    return " or ".join(named)


def _fields(notice: Notice) -> Iterator[str]:
    """The fields of a form, one for each line to fill in."""
    if notice.response_type is ResponseType.FORM:
        names = list(form_properties(form_schema_of(notice.form_schema, notice.context)))
        yield from (one_line(name, _LONGEST_NAME) for name in names[:_MOST_FIELDS])


def _context(context: Mapping[str, JsonValue], room: MailBudget) -> Iterator[tuple[str, str]]:
    for key, value in list(context.items())[: room.rows]:
        yield one_line(key, _LONGEST_NAME), cut(as_text(value), room.value)
    if left_out := max(len(context) - room.rows, 0):
        yield "…", f"{left_out} more on the page"


def _setting(notice: Notice, question: str, choices: Sequence[Choosable], room: MailBudget, needed: Sight) -> Setting:
    actions = _ways_to_write(notice.action, room)
    hidden = bool(actions) and hides(actions[0])
    open_first = needed is not Sight.MESSAGE
    return set_for_a_phone(
        Asked(_silence_line(notice), question, actions, choices, open_first, bool(notice.risk), hidden)
    )


def _ways_to_write(action: ShownAction | None, room: MailBudget) -> Sequence[str]:
    """The most readable one first. What is cut is written in one way alone."""
    if action is None:
        return ()
    if action.is_longer_than(room.action):
        return (action.text(room.action) + "…",)
    dense = action.text(levels=1)
    return action.text(), action.text(levels=2), f"{{ {dense[4:-2]} }}" if dense.startswith("{\n  ") else dense


def _action(notice: Notice, setting: Setting) -> ActionView | None:
    action, text = notice.action, setting.action
    if action is None or text is None:
        return None
    return ActionView(action.heading, action.digest, text, HIDDEN if hides(text) else None)


def cut_in(notice: Notice, room: MailBudget) -> Cut:
    """What a mail with so much ``room`` leaves out of what the agent wrote."""
    if notice.in_part is Cut.ACTION or (notice.action is not None and notice.action.is_longer_than(room.action)):
        return Cut.ACTION
    return Cut.WORDS if _words_are_cut(notice, room) else notice.in_part


def _words_are_cut(notice: Notice, room: MailBudget) -> bool:
    shown = list(notice.context.items())[: room.rows]
    return (
        len(clean(notice.question)) > room.question
        or len(notice.context) > room.rows
        or len(notice.choices) > room.choices
        or any(len(key) > _LONGEST_NAME or len(as_text(value)) > room.value for key, value in shown)
        or any(len(choice.label) > room.label for choice in notice.choices)
        or any(len(choice.description or "") > room.description for choice in notice.choices)
    )


_BRIEF = 4_000
"""Characters, of at most five bytes each in HTML."""
_FEW_ROWS = 20
_FEW_CHOICES = 10


def is_brief(notice: Notice) -> bool:
    """Whether the agent wrote so little that there is room for it in any mail of our templates: they need not be
    filled in to know that."""
    if len(notice.context) > _FEW_ROWS or len(notice.choices) > _FEW_CHOICES:
        return False
    words = len(notice.question) + (len(notice.action.text(_BRIEF)) if notice.action is not None else 0)
    words += sum(len(one.label) + len(one.value) + len(one.description or "") for one in notice.choices)
    words += sum(len(key) + len(as_text(value)) for key, value in notice.context.items())
    return words < _BRIEF


def _notes(notice: Notice) -> Sequence[str]:
    """Earlier answers are the first of them, and so the first to give way. Templates of an operator's own show them,
    too."""
    if not notice.earlier:
        return notice.notes
    lines = earlier_answers.in_message(notice.earlier, notice.zone)
    return ("\n".join((f"{earlier_answers.HEADING}:", *lines)), *notice.notes)


def _notes_are_cut(notice: Notice, room: MailBudget) -> bool:
    notes = _notes(notice)
    return len(notes) > room.notes or any(len(note) > room.note for note in notes)


_INTRODUCES = (":", "：")
"""Ends what stands before a link."""


def _around_choices(text: str, choices: Iterable[ChoiceView]) -> tuple[list[str], list[str]]:
    """``text`` in pieces, above and below the lines that list the choices: these are buttons."""
    listed = {f"{choice.number}) {choice.label}" for choice in choices}
    above: list[str] = []
    below: list[str] = []
    pieces = above
    for piece in text.split("\n\n"):
        lines = [line for line in piece.splitlines() if one_line(line, len(line) + 1) not in listed]
        if len(lines) < len(piece.splitlines()):
            pieces = below
        if paragraph := "\n".join(lines).strip():
            pieces.append(paragraph)
    return above, below
