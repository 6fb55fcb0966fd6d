"""Template views: the variables of ``docs/how-to/mail-templates.md``, made from a notice or a message. Pure.

Everything in a view is text to be shown, cleaned and shortened (``channels.email.view_text``); each choice has a button
and a link (``choice_views``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import JsonValue

from channels.email.choice_views import ChoiceView, Replying, options
from channels.email.first_screen import Asked, Choosable, Setting, named, set_for_a_phone
from channels.email.quoting import MARKER
from channels.email.reply_words import reply_words
from channels.email.view_text import MailBudget, as_text, clean, direction, one_line
from channels.grammar.forms import field_named, form_properties, form_schema_of
from core.domain import earlier_answers
from core.domain.action import HIDDEN, ShownAction, hides
from core.domain.field_words import described_in, label_of, takes_in
from core.domain.notice import Message, Notice, NoticeChoice, Purpose
from core.domain.suspension import Cut, Kind, ResponseType, Sight
from core.domain.wording import shortened, told_at

View = Mapping[str, Any]

_LONGEST_NAME = 80
_LONGEST_SENTENCE = 600
"""A fallback that is a long text stands in the sentence about silence."""
_LONGEST_SILENCE = 100
"""Two lines of a phone."""
_MOST_FIELDS = 50


@dataclass(frozen=True, slots=True)
class ActionView:
    """The action that will run: JSON under its ``heading``, which has the ``digest``; ``hidden`` is a sentence if a
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
    only its negative choices have buttons."""
    replying = Replying(answers_at, subject, notice.response_type, notice.choices) if answers_at else None
    question = shortened(clean(notice.question), room.question)
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
        "risk": shortened(clean(notice.risk), room.note) if notice.risk else None,
        "notes": [shortened(clean(note), room.note) for note in _notes(notice)[-room.notes :]],
        "choices": choices,
        "choices_left_out": left_out,
        "choices_named": setting.named,
        "small": setting.small,
        "response_type": notice.response_type.value,
        "open_first": _OPEN_FIRST.get(needed),
        "how": _how_to_answer(notice, answers_at, needed),
        "fields": list(_fields(notice)) if answers_at else [],
        "field_notes": list(_field_notes(notice)) if answers_at else [],
        "next_step": shortened(clean(notice.next_step), _LONGEST_SENTENCE) if notice.next_step else None,
        "silence": shortened(clean(notice.silence), _LONGEST_SENTENCE),
        "silence_in_short": _silence_line(notice),
        "expires_at": told_at(notice.expires_at, notice.zone) if notice.expires_at else None,
        "link": notice.links.best,
        "asked_by": one_line(notice.asked_by, _LONGEST_NAME),
        "asked_at": told_at(notice.asked_at, notice.zone),
        "cut": _CUT if cut_in(notice, room) or _notes_are_cut(notice, room) else None,
    }


def message_view(message: Message, subject: str, answers_at: str | None, room: MailBudget) -> View:
    """The variables of ``message.html.j2`` and ``message.txt.j2``."""
    text = shortened(clean(message.text), 4 * room.question)
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
    """The text beside the subject in a list of mails: what can be chosen, and what silence does. Mail programs quote
    hidden text, too: none of its lines reads as an answer, however it is wrapped."""
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
    """The fields of a form, one a line to fill in."""
    if notice.response_type is ResponseType.FORM:
        properties = form_properties(form_schema_of(notice.form_schema, notice.context))
        yield from (_called(name, properties) for name in list(properties)[:_MOST_FIELDS])


def _called(name: str, properties: Mapping[str, JsonValue]) -> str:
    """A field's label, if a reply that names it means this field; else its key."""
    label = one_line(label_of(name, properties[name]), _LONGEST_NAME)
    return label if field_named(label, properties) == name else one_line(name, _LONGEST_NAME)


def _field_notes(notice: Notice) -> Iterator[str]:
    """What each field takes, and whether it has to be filled in; nothing of a field that takes any text or none."""
    if notice.response_type is not ResponseType.FORM or notice.form_schema is None:
        return
    properties, needed = form_properties(notice.form_schema), notice.form_schema.get("required")
    for name in list(properties)[:_MOST_FIELDS]:
        required = ["needed"] if isinstance(needed, list) and name in needed else []
        said = "; ".join([*required, *filter(None, [takes_in(described_in(notice.form_schema, name))])])
        if said:
            yield f"{_called(name, properties)} — {one_line(said, _LONGEST_NOTE)}"


_LONGEST_NOTE = 160


def _context(context: Mapping[str, JsonValue], room: MailBudget) -> Iterator[tuple[str, str]]:
    for key, value in list(context.items())[: room.rows]:
        yield one_line(key, _LONGEST_NAME), shortened(as_text(value), room.value)
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
    """The most readable one first. A cut action is written in one way only."""
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
    """What a mail with this ``room`` leaves out of the agent's words."""
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
    """Whether the agent wrote so little that any mail of our templates has room for it: no need to render them."""
    if len(notice.context) > _FEW_ROWS or len(notice.choices) > _FEW_CHOICES:
        return False
    words = len(notice.question) + (len(notice.action.text(_BRIEF)) if notice.action is not None else 0)
    words += sum(len(one.label) + len(one.value) + len(one.description or "") for one in notice.choices)
    words += sum(len(key) + len(as_text(value)) for key, value in notice.context.items())
    return words < _BRIEF


def _notes(notice: Notice) -> Sequence[str]:
    """Earlier answers come first, and so are dropped first. An operator's own templates show them, too."""
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
    """``text`` in pieces, above and below the lines that list the choices: buttons replace these."""
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
