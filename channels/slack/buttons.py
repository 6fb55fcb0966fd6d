"""What there is to press under a question: a button for each choice, or one that leads to where it is answered.

Source: https://docs.slack.dev/reference/block-kit/block-elements/button-element.
"""

from __future__ import annotations

from enum import Enum, auto

from channels.slack import forms, limits
from channels.slack.cut import WhenCut, label_of, must_open
from channels.slack.mrkdwn import Block, clipped, escaped, mrkdwn, one_line, plain_text, width
from channels.slack.values import Carried, written
from channels.slack.whole import whole_blocks
from core.domain.notice import Notice, NoticeChoice
from core.domain.suspension import ResponseType, Style

ANSWER = "ans:"
CLAIM = "claim"
OPEN_MODAL = "open_modal"
LINK = "link"


class Way(Enum):
    """How a question is answered in Slack."""

    BUTTONS = auto()
    MODAL = auto()
    OPEN_MODAL = auto()
    """In a modal that shows the whole question, because its message does not."""
    PAGE = auto()


def way(notice: Notice, when_cut: WhenCut) -> Way:
    usual = _usual_way(notice)
    nothing_to_pick = notice.response_type in {ResponseType.CHOICE, ResponseType.CONFIRM} and not notice.choices
    if usual is Way.PAGE or nothing_to_pick or not must_open(notice, when_cut):
        return usual
    return Way.PAGE if whole_blocks(notice, inputs_of(notice)) is None else Way.OPEN_MODAL


def inputs_of(notice: Notice) -> int:
    """How many inputs its modal has."""
    form = forms.fields(notice.form_schema, notice.context) if notice.response_type is ResponseType.FORM else None
    return 1 if form is None else len(form)


def _usual_way(notice: Notice) -> Way:
    match notice.response_type:
        case ResponseType.CHOICE | ResponseType.CONFIRM:
            if len(notice.choices) <= limits.BUTTONS:
                return Way.BUTTONS
            return Way.MODAL if len(notice.choices) <= limits.OPTIONS else Way.PAGE
        case ResponseType.TEXT:
            return Way.MODAL
        case ResponseType.FORM:
            return Way.PAGE if forms.fields(notice.form_schema, notice.context) is None else Way.MODAL


def description_blocks(notice: Notice) -> list[Block]:
    """What is to be said of choices that have a button each: what a button can't hold."""
    told = [one for one in notice.choices if one.description or width(label_of(one)) > limits.BUTTON_TEXT]
    if not told or _usual_way(notice) is not Way.BUTTONS:
        return []
    text = "\n".join(_described(one) for one in told)
    return [{"type": "section", "block_id": "descriptions", "text": mrkdwn(text)}]


def _described(choice: NoticeChoice) -> str:
    label = f"*{escaped(label_of(choice), limits.LABEL_IN_FULL, limits.MORE)}*"
    if not choice.description:
        return label
    return f"{label} — {escaped(one_line(choice.description), limits.DESCRIPTION, limits.MORE)}"


def answer_blocks(notice: Notice, delivery: str, when_cut: WhenCut) -> list[Block]:
    value = written(Carried(notice.ref, delivery))
    match way(notice, when_cut):
        case Way.BUTTONS:
            elements = [_choice_button(notice, choice, delivery) for choice in notice.choices]
        case Way.MODAL:
            elements = [_button("Answer…", OPEN_MODAL) | {"value": value, "style": "primary"}]
        case Way.OPEN_MODAL:
            elements = [_button("Open to read all and answer", OPEN_MODAL) | {"value": value, "style": "primary"}]
        case Way.PAGE:
            elements = [_button("Answer on the page", LINK) | {"url": notice.links.shared, "style": "primary"}]
    return [{"type": "actions", "block_id": "answer", "elements": elements}] if elements else []


def _choice_button(notice: Notice, choice: NoticeChoice, delivery: str) -> Block:
    """``default`` is the look of a button without a style; Slack knows no style of that name."""
    button = _button(label_of(choice), f"{ANSWER}{choice.index}")
    button["value"] = written(Carried(notice.ref, delivery, choice.index))
    if choice.style in {Style.PRIMARY, Style.DANGER}:
        button["style"] = str(choice.style)
    if choice.style is Style.DANGER:
        button["confirm"] = _confirm(choice)
    return button


def _confirm(choice: NoticeChoice) -> Block:
    label = clipped(label_of(choice), limits.CONFIRM_LABEL)
    return {
        "title": plain_text("Are you sure?", limits.CONFIRM_TITLE, "—"),
        "text": plain_text(f"Your answer will be “{label}”.", limits.CONFIRM_TEXT, "—"),
        "confirm": plain_text(label_of(choice), limits.CONFIRM_BUTTON, "Yes"),
        "deny": plain_text("Go back", limits.CONFIRM_BUTTON, "—"),
        "style": "danger",
    }


def more_block(notice: Notice, delivery: str, when_cut: WhenCut) -> Block:
    elements = [_button("I'm on it", CLAIM) | {"value": written(Carried(notice.ref, delivery))}]
    if way(notice, when_cut) is not Way.PAGE:
        elements.append(_button("Open", LINK) | {"url": notice.links.shared})
    return {"type": "actions", "block_id": "more", "elements": elements}


def _button(label: str, action_id: str) -> Block:
    return {"type": "button", "action_id": action_id, "text": plain_text(label, limits.BUTTON_TEXT, "—")}
