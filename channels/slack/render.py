"""Slack messages: a notice, an ending and a short message as blocks, with their buttons. Pure.

Each choice is a button, or one button leads to where the question is answered. Every word of the agent is escaped or
``plain_text``, and every length is kept below Slack's limits (``limits``). The message says what it leaves out
(:func:`cut`); a modal shows it whole, as far as a modal can.

Source: https://docs.slack.dev/block-kit; …/reference/methods/chat.postMessage (the top-level ``text`` is what
notifications and screen readers say); …/reference/block-kit/block-elements/button-element.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto

from pydantic import JsonValue

from channels.slack import forms, limits
from channels.slack.mrkdwn import (
    Block,
    action_block,
    action_is_cut,
    clipped,
    code,
    ended_action,
    escaped,
    in_bytes,
    mrkdwn,
    one_line,
    pieces,
    plain_text,
    shown,
    whole_action,
    width,
)
from channels.slack.payloads import Carried, written
from core.domain import earlier_answers
from core.domain.notice import Ending, Message, Notice, NoticeChoice, WhenCut, sight_needed
from core.domain.suspension import ActionReport, ActionStatus, Cut, ResponseType, Sight, Status, Style
from core.domain.wording import told_host, told_report


def label_of(choice: NoticeChoice) -> str:
    return one_line(choice.label) or f"Choice {choice.number}"


def cut(notice: Notice) -> Cut:
    """What the message leaves out of the agent's words: of the action, else of the question, its context or the
    choices."""
    if notice.in_part is Cut.ACTION or action_is_cut(notice, limits.ACTION):
        return Cut.ACTION
    words = len(notice.context) > limits.SECTION_FIELDS or any(
        width(escaped(text)) > most for text, most in _written(notice)
    )
    return Cut.WORDS if words else notice.in_part


def _written(notice: Notice) -> Iterator[tuple[str, int]]:
    """Each text of the agent, with the room that it has."""
    yield notice.question, limits.QUESTION
    for key, value in notice.context.items():
        yield one_line(key), limits.CONTEXT_KEY
        yield shown(value), limits.CONTEXT_VALUE
    for choice in notice.choices:
        yield label_of(choice), limits.LABEL_IN_FULL
        yield one_line(choice.description or ""), limits.DESCRIPTION


def whole_blocks(notice: Notice, inputs: int) -> list[Block] | None:
    """``None`` if the question does not fit a modal with that many ``inputs``."""
    if notice.in_part is not Cut.NOTHING or action_is_cut(notice, limits.MODAL_TEXT):
        return None
    texts = [piece for text in _texts(notice) for piece in pieces(text, limits.SECTION_TEXT)]
    texts += [] if notice.action is None else whole_action(notice.action)
    too_long = sum(width(text) for text in texts) > limits.MODAL_TEXT
    if too_long or len(texts) + inputs > limits.MODAL_BLOCKS:
        return None
    return [
        {"type": "section", "block_id": f"whole:{number}", "text": mrkdwn(text), "expand": True}
        for number, text in enumerate(texts)
    ]


def _texts(notice: Notice) -> Iterator[str]:
    """Each paragraph, escaped."""
    yield escaped(notice.question)
    for key, value in notice.context.items():
        yield f"*{escaped(one_line(key))}*\n{escaped(shown(value))}"
    if notice.risk is not None:
        yield f"⚠️ Risk: {escaped(one_line(notice.risk))}"
    for choice in notice.choices:
        if choice.description or width(escaped(label_of(choice))) > limits.OPTION_TEXT:
            described = f" — {escaped(one_line(choice.description))}" if choice.description else ""
            yield f"*{choice.number}. {escaped(label_of(choice))}*{described}"


ANSWER = "ans:"
CLAIM = "claim"
GIVE_BACK = "give_back"
ASK_BACK = "ask_back"
HAND_OVER = "hand_over"
UNDO = "undo"
"""Whoever has just answered takes it back."""
OPEN_MODAL = "open_modal"
LINK = "link"
"""Asks for a personal link to a page. In a message of an older version it is a link itself, and has no value."""
INBOX = "inbox"
"""The value of the button that asks for one to the inbox."""


class AnswerControl(Enum):
    """How a question is answered in Slack."""

    BUTTONS = auto()
    MODAL = auto()
    OPEN_MODAL = auto()
    """In a modal that shows the whole question, because its message does not. Negative choices have their buttons."""
    PAGE = auto()
    OPEN_PAGE = auto()
    """On its page, which alone shows enough to approve it. Negative choices have their buttons."""


def way(notice: Notice, when_cut: WhenCut, left_out: Cut | None = None) -> AnswerControl:
    """``left_out`` is what the Home leaves out; by default, what the message does."""
    usual, needed = _usual_way(notice), sight_needed(notice, cut(notice), when_cut)
    nothing_to_pick = notice.response_type in {ResponseType.CHOICE, ResponseType.CONFIRM} and not notice.choices
    if nothing_to_pick or max(needed, sight_needed(notice, left_out or Cut.NOTHING, when_cut)) is Sight.MESSAGE:
        return usual
    if needed is Sight.MESSAGE:  # its modal, if it has one, shows what a message shows: all of it
        return AnswerControl.OPEN_PAGE if usual is AnswerControl.BUTTONS else usual
    if usual is AnswerControl.PAGE or needed is Sight.REVEALED or whole_blocks(notice, inputs_of(notice)) is None:
        return AnswerControl.OPEN_PAGE
    return AnswerControl.OPEN_MODAL


def inputs_of(notice: Notice) -> int:
    """How many inputs its modal has."""
    form = forms.fields(notice.form_schema, notice.context) if notice.response_type is ResponseType.FORM else None
    return 1 if form is None else len(form)


def _usual_way(notice: Notice) -> AnswerControl:
    match notice.response_type:
        case ResponseType.CHOICE | ResponseType.CONFIRM:
            if len(notice.choices) <= limits.BUTTONS:
                return AnswerControl.BUTTONS
            return AnswerControl.MODAL if len(notice.choices) <= limits.OPTIONS else AnswerControl.PAGE
        case ResponseType.TEXT:
            return AnswerControl.MODAL
        case ResponseType.FORM:
            return (
                AnswerControl.PAGE if forms.fields(notice.form_schema, notice.context) is None else AnswerControl.MODAL
            )


def description_blocks(notice: Notice) -> list[Block]:
    """The descriptions of choices that have a button each: a button can't hold them."""
    told = [one for one in notice.choices if one.description or width(label_of(one)) > limits.BUTTON_TEXT]
    if not told or _usual_way(notice) is not AnswerControl.BUTTONS:
        return []
    text = "\n".join(_described(one) for one in told)
    return [{"type": "section", "block_id": "descriptions", "text": mrkdwn(text)}]


def _described(choice: NoticeChoice) -> str:
    label = f"*{escaped(label_of(choice), limits.LABEL_IN_FULL, limits.MORE)}*"
    if not choice.description:
        return label
    return f"{label} — {escaped(one_line(choice.description), limits.DESCRIPTION, limits.MORE)}"


def answer_blocks(notice: Notice, delivery: str, when_cut: WhenCut, left_out: Cut | None = None) -> list[Block]:
    """A button for each choice, or one that leads to where the question is answered. If not enough is shown to approve
    it, the second comes with a button for each negative choice."""
    value = written(Carried(notice.ref, delivery))
    if notice.is_answered:
        return [{"type": "actions", "block_id": "undo", "elements": [_button("Undo", UNDO) | {"value": value}]}]
    match way(notice, when_cut, left_out):
        case AnswerControl.BUTTONS:
            elements = [_choice_button(notice, choice, delivery) for choice in notice.choices]
        case AnswerControl.MODAL:
            elements = [_button("Answer…", OPEN_MODAL) | {"value": value, "style": "primary"}]
        case AnswerControl.OPEN_MODAL:
            opening = _button("Open to read all and answer", OPEN_MODAL) | {"value": value, "style": "primary"}
            elements = [opening, *_negatives(notice, delivery)]
        case AnswerControl.OPEN_PAGE:
            opening = _button(_OPEN_PAGE[notice.to_reveal], LINK) | {"value": value, "style": "primary"}
            elements = [opening, *_negatives(notice, delivery)]
        case AnswerControl.PAGE:
            elements = [_button("Answer on the page", LINK) | {"value": value, "style": "primary"}]
    return [{"type": "actions", "block_id": "answer", "elements": elements}] if elements else []


_OPEN_PAGE = {False: "Open to read all and answer", True: "Open to see what is hidden and answer"}


def _negatives(notice: Notice, delivery: str) -> list[Block]:
    """As many as fit beside one more button."""
    return [_choice_button(notice, choice, delivery) for choice in notice.negatives[: limits.BUTTONS - 1]]


def _choice_button(notice: Notice, choice: NoticeChoice, delivery: str) -> Block:
    """``default`` is the look of a button without a style; Slack has no style of that name."""
    button = _button(label_of(choice), f"{ANSWER}{choice.index}")
    button["value"] = written(Carried(notice.ref, delivery, choice.index))
    if choice.style in {Style.PRIMARY, Style.DANGER}:
        button["style"] = str(choice.style)
    if choice.style is Style.DANGER or choice.confirm:
        button["confirm"] = _confirm(choice)
    return button


def _confirm(choice: NoticeChoice) -> Block:
    label = clipped(label_of(choice), limits.CONFIRM_LABEL)
    return {
        "title": plain_text("Are you sure?", limits.CONFIRM_TITLE, "—"),
        "text": plain_text(f"Your answer will be “{label}”.", limits.CONFIRM_TEXT, "—"),
        "confirm": plain_text(label_of(choice), limits.CONFIRM_BUTTON, "Yes"),
        "deny": plain_text("Go back", limits.CONFIRM_BUTTON, "—"),
        "style": "danger" if choice.style is Style.DANGER else "primary",
    }


def more_block(notice: Notice, delivery: str, when_cut: WhenCut) -> Block:
    value = written(Carried(notice.ref, delivery))
    elements = [] if notice.is_answered else [_button(label, id_) | {"value": value} for label, id_ in _beside(notice)]
    if notice.is_answered or way(notice, when_cut) not in {AnswerControl.PAGE, AnswerControl.OPEN_PAGE}:
        elements.append(_button("Open", LINK) | {"value": value})
    return {"type": "actions", "block_id": "more", "elements": elements}


def _beside(notice: Notice) -> Iterator[tuple[str, str]]:
    """What a person can do who does not answer now: labels and action ids."""
    yield ("I'm on it", CLAIM) if notice.claimed_by is None else ("Give back", GIVE_BACK)
    if notice.may_ask_back:
        yield "Ask back…", ASK_BACK
    yield "Hand over…", HAND_OVER


def _button(label: str, action_id: str) -> Block:
    return {"type": "button", "action_id": action_id, "text": plain_text(label, limits.BUTTON_TEXT, "—")}


@dataclass(frozen=True, slots=True)
class Rendered:
    """Without ``blocks``, ``text`` is the message; with ``blocks`` it is only what notifications say."""

    text: str
    blocks: tuple[Block, ...] = ()


def render_notice(
    notice: Notice, delivery: str, *, when_cut: WhenCut = WhenCut.ANSWER, mention: str | None = None
) -> Rendered:
    """``mention`` is the id of the user group to mention."""
    blocks = [
        {
            "type": "header",
            "block_id": "headline",
            "text": plain_text(notice.headline, limits.HEADER_TEXT, "Input needed"),
        },
        *_mention_blocks(mention),
        question_block(notice),
        *context_blocks(notice),
        *action_block(notice),
        *earlier_blocks(notice),
        *notes_blocks(notice),
        *description_blocks(notice),
        *answer_blocks(notice, delivery, when_cut),
        more_block(notice, delivery, when_cut),
        _footer_block(notice),
    ]
    return Rendered(_called(mention) + fallback_text(notice), tuple(blocks))


def _called(mention: str | None) -> str:
    """Mention only what Slack takes for a user group's id. This is the only mention, and it is ours."""
    return f"<!subteam^{mention}> " if mention is not None and mention.isalnum() else ""


def _mention_blocks(mention: str | None) -> list[Block]:
    called = _called(mention).strip()
    return [{"type": "section", "block_id": "mention", "text": mrkdwn(called)}] if called else []


def fallback_text(notice: Notice) -> str:
    """The question, the action, the numbered choices, the deadline and the link, in plain words. If it is too long, the
    question is cut first."""
    silence = in_bytes(escaped(notice.silence, limits.FOOTER), limits.FOOTER)
    last = f"{silence}\n{notice.links.shared} ({escaped(notice.ref, 64)})"
    numbered = [*_action_line(notice), *_numbered(notice)]
    room = limits.FALLBACK_BYTES - sum(len(line.encode()) + 1 for line in (*numbered, last))
    question = in_bytes(f"{notice.headline}: {escaped(notice.question)}", room, limits.MORE)
    return "\n".join([question, *numbered, last])


def _action_line(notice: Notice) -> list[str]:
    if notice.action is None:
        return []
    text = escaped(one_line(code(notice.action, limits.FALLBACK_ACTION)), limits.FALLBACK_ACTION, limits.MORE)
    return [in_bytes(f"{escaped(notice.action.heading)}: {text}", 2 * limits.FALLBACK_ACTION, limits.MORE)]


def _numbered(notice: Notice) -> list[str]:
    """A line for each choice, as many as fit."""
    lines: list[str] = []
    used = 0
    for choice in notice.choices:
        line = f"{choice.number}. {escaped(label_of(choice), limits.BUTTON_TEXT)}"
        used += len(line.encode()) + 1
        if len(lines) == limits.FALLBACK_CHOICES or used > limits.FALLBACK_CHOICES_BYTES:
            return [*lines, f"… and {len(notice.choices) - len(lines)} more"]
        lines.append(line)
    return lines


def render_plain(notice: Notice, *, mention: str | None = None) -> Rendered:
    """What still works if Slack refuses the blocks: the question and where to answer it."""
    question = escaped(notice.question, limits.PLAIN_QUESTION, limits.MORE)
    plain = f"{_called(mention)}{notice.headline}: {question}"
    return Rendered(_ending_with(plain, f"Answer here: {_link(notice.links.shared)}"))


def _link(url: str) -> str:
    """A link that works although nothing else becomes one (``parse`` is ``none``)."""
    return f"<{escaped(url)}>"


def render_ending(ending: Ending) -> Rendered:
    """The final message: what was asked, with what will run, and how it ended and why; without buttons.

    The block ids differ from the question's, as Slack asks of an updated message
    (https://docs.slack.dev/reference/block-kit/blocks/section-block).
    """
    question = escaped(ending.question, limits.QUESTION)
    brief = replace(ending, answer=_brief(ending.answer), continued_with=_brief(ending.continued_with))
    sentence = escaped(f"{brief.sentence} {brief.agent}".strip(), limits.SENTENCE)
    mark = "✅" if ending.resolution is Status.RESPONDED else "⌛" if ending.resolution is Status.EXPIRED else "🚫"
    blocks: list[Block] = [
        {"type": "section", "block_id": "ended:question", "text": mrkdwn(question), "expand": True},
        {"type": "section", "block_id": "ended:how", "text": mrkdwn(f"{mark} {sentence}"), "expand": True},
        *_reason_blocks(ending.reason),
        *_report_blocks(ending.report),
        *_asked_blocks(ending),
        {"type": "context", "block_id": "ended:ref", "elements": [mrkdwn(_ended_footer(ending))]},
    ]
    plain = escaped(ending.question, limits.PLAIN_QUESTION)
    last = sentence if ending.report is None else f"{sentence}\n{_told(ending.report, limits.REPORT_IN_BRIEF)}"
    return Rendered(_ending_with(plain, in_bytes(last, limits.SENTENCE)), tuple(blocks))


def _reason_blocks(reason: str | None) -> list[Block]:
    if not reason:
        return []
    said = f"*Reason*\n{escaped(reason, limits.REASON, limits.MORE)}"
    return [{"type": "section", "block_id": "ended:reason", "text": mrkdwn(said), "expand": True}]


def _asked_blocks(ending: Ending) -> list[Block]:
    """What people decided by, shorter than in the question."""
    blocks: list[Block] = []
    items = list(ending.context.items())[: limits.SECTION_FIELDS]
    if items:
        fields = [_field(key, value, limits.ENDED_VALUE) for key, value in items]
        blocks.append({"type": "section", "block_id": "ended:context", "fields": fields})
    if ending.action is not None:
        said = "\n".join(ended_action(ending.action))
        blocks.append({"type": "section", "block_id": "ended:action", "text": mrkdwn(said), "expand": True})
    return blocks


def _ended_footer(ending: Ending) -> str:
    asked = f"{ending.ref} · asked by {ending.asked_by}" if ending.asked_by else ending.ref
    return escaped(one_line(asked), limits.FOOTER)


def _report_blocks(report: ActionReport | None) -> list[Block]:
    """The agent's report in its own words, and a link that shows its host. A report that takes too much room is only on
    the page."""
    if report is None:
        return []
    mark = "☑️" if report.status is ActionStatus.DONE else "❗"
    said = f"{mark} {_told(report, limits.REPORT)}"
    blocks: list[Block] = [{"type": "section", "block_id": "ended:report", "text": mrkdwn(said), "expand": True}]
    link = "" if report.url is None else f"<{escaped(report.url)}|{escaped(told_host(report.url))}>"
    if link and width(link) <= limits.SECTION_TEXT:
        blocks.append({"type": "context", "block_id": "ended:more", "elements": [mrkdwn(link)]})
    return blocks


def _told(report: ActionReport, most: int) -> str:
    return escaped(told_report(report), most)


def render_message(message: Message) -> Rendered:
    lines = [f"*{escaped(one_line(message.subject), limits.LABEL)}*", escaped(message.text, limits.QUESTION)]
    return Rendered(_ending_with("\n".join(lines), _link(message.link) if message.link else ""))


def question_block(notice: Notice) -> Block:
    question = escaped(notice.question, limits.QUESTION, limits.MORE)
    return {"type": "section", "block_id": "question", "text": mrkdwn(question), "expand": True}


def context_blocks(notice: Notice) -> list[Block]:
    """The agent's context: ten values at most, the rest where the question is opened."""
    blocks: list[Block] = []
    items = list(notice.context.items())
    if items:
        fields = [_field(key, value) for key, value in items[: limits.SECTION_FIELDS]]
        blocks.append({"type": "section", "block_id": "context", "fields": fields})
    if len(items) > limits.SECTION_FIELDS or notice.in_part is Cut.WORDS:
        left = len(items) - limits.SECTION_FIELDS
        more = f"{limits.MORE}: {left} more values" if left > 0 else limits.MORE
        blocks.append({"type": "context", "block_id": "context:more", "elements": [mrkdwn(more)]})
    if notice.risk is not None:
        text = f"⚠️ Risk: {escaped(one_line(notice.risk), limits.RISK)}"
        blocks.append({"type": "context", "block_id": "risk", "elements": [mrkdwn(text)]})
    return blocks


def _field(key: str, value: JsonValue, most: int = limits.CONTEXT_VALUE) -> Block:
    name = escaped(one_line(key), limits.CONTEXT_KEY, limits.MORE)
    return mrkdwn(f"*{name}*\n{escaped(shown(value), most, limits.MORE)}")


def earlier_blocks(notice: Notice) -> list[Block]:
    """Earlier answers to the same action."""
    if not notice.earlier:
        return []
    lines = "\n".join(earlier_answers.in_message(notice.earlier, notice.zone))
    text = f"*{escaped(earlier_answers.HEADING)}*\n{escaped(lines, limits.EARLIER, limits.MORE)}"
    return [{"type": "section", "block_id": "earlier", "text": mrkdwn(text), "expand": True}]


def notes_blocks(notice: Notice) -> list[Block]:
    """What people have done so far."""
    if not notice.notes:
        return []
    text = escaped("\n".join(notice.notes), limits.NOTES, limits.MORE)
    return [{"type": "section", "block_id": "notes", "text": mrkdwn(text), "expand": True}]


def _footer_block(notice: Notice) -> Block:
    asked = f"{notice.ref} · asked by {notice.asked_by} · attempt {notice.attempt} of {notice.max_attempts}"
    elements = [mrkdwn(escaped(one_line(asked), limits.FOOTER)), mrkdwn(escaped(notice.silence, limits.FOOTER))]
    return {"type": "context", "block_id": "footer", "elements": elements}


def _brief(answer: str | None) -> str | None:
    return None if answer is None else clipped(answer, limits.ANSWER)


def _ending_with(text: str, last: str) -> str:
    """``text`` cut so that ``last``, which is never cut, fits below it."""
    if not last:
        return in_bytes(text, limits.FALLBACK_BYTES)
    return f"{in_bytes(text, limits.FALLBACK_BYTES - len(last.encode()) - 1)}\n{last}"
