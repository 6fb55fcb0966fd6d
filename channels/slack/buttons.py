"""What there is to press under a question: a button for each choice, or one that leads to where it is answered.

Source: https://docs.slack.dev/reference/block-kit/block-elements/button-element.
"""

from __future__ import annotations

from enum import Enum, auto

from channels.slack import forms, limits
from channels.slack.mrkdwn import Block, clipped, escaped, mrkdwn, one_line, plain_text
from channels.slack.values import Carried, written
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
    PAGE = auto()


def way(notice: Notice) -> Way:
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
    described = [one for one in notice.choices if one.description]
    if not described or way(notice) is not Way.BUTTONS:
        return []
    text = "\n".join(_described(one) for one in described)
    return [{"type": "section", "block_id": "descriptions", "text": mrkdwn(text)}]


def _described(choice: NoticeChoice) -> str:
    description = escaped(one_line(choice.description or ""), limits.DESCRIPTION)
    return f"*{escaped(label_of(choice), limits.BUTTON_TEXT)}* — {description}"


def answer_blocks(notice: Notice, delivery: str) -> list[Block]:
    match way(notice):
        case Way.BUTTONS:
            elements = [_choice_button(notice, choice, delivery) for choice in notice.choices]
        case Way.MODAL:
            value = written(Carried(notice.ref, delivery))
            elements = [_button("Answer…", OPEN_MODAL) | {"value": value, "style": "primary"}]
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


def more_block(notice: Notice, delivery: str) -> Block:
    elements = [_button("I'm on it", CLAIM) | {"value": written(Carried(notice.ref, delivery))}]
    if way(notice) is not Way.PAGE:
        elements.append(_button("Open", LINK) | {"url": notice.links.shared})
    return {"type": "actions", "block_id": "more", "elements": elements}


def _button(label: str, action_id: str) -> Block:
    return {"type": "button", "action_id": action_id, "text": plain_text(label, limits.BUTTON_TEXT, "—")}


def label_of(choice: NoticeChoice) -> str:
    return one_line(choice.label) or f"Choice {choice.number}"
