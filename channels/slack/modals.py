"""Modals: answer by text, form or one of many choices; give a reason; read how a question ended. Pure.

A reason is asked for if the choice's metadata wants one.

Source: https://docs.slack.dev/surfaces/modals; docs/decisions/0017.
"""

from __future__ import annotations

from collections.abc import Sequence

from channels.slack import forms, limits
from channels.slack.mrkdwn import Block, action_block, clipped, escaped, mrkdwn, plain_text
from channels.slack.payloads import Carried, Sign, sealed
from channels.slack.render import AnswerControl, context_blocks, inputs_of, label_of, question_block, way, whole_blocks
from core.domain.notice import Notice, WhenCut
from core.domain.people import Person
from core.domain.suspension import ReasonWanted, ResponseType

ANSWER_CALLBACK = "answer"
ANSWER_BLOCK = "answer"


def answer_modal(notice: Notice, delivery: str, sign: Sign, when_cut: WhenCut = WhenCut.ANSWER) -> Block | None:
    """``None`` if the question is answered by buttons, or only on the page."""
    if way(notice, when_cut) not in {AnswerControl.MODAL, AnswerControl.OPEN_MODAL}:
        return None
    head = whole_blocks(notice, inputs_of(notice)) or [
        question_block(notice),
        *context_blocks(notice),
        *action_block(notice),
    ]
    carried = Carried(notice.ref, delivery)
    return _to_fill_in(ANSWER_CALLBACK, carried, sign, "Send answer", [*head, *_inputs(notice)])


def _to_fill_in(callback: str, carried: Carried, sign: Sign, submit: str, blocks: list[Block]) -> Block:
    return {
        "type": "modal",
        "callback_id": callback,
        "private_metadata": sealed(carried, sign),
        "title": plain_text(carried.ref, limits.MODAL_TITLE, "Question"),
        "submit": plain_text(submit, limits.MODAL_TITLE, "Send answer"),
        "close": plain_text("Cancel", limits.MODAL_TITLE, "—"),
        "blocks": blocks,
    }


def told_modal(ref: str, text: str, link: str | None = None) -> Block:
    """A modal without inputs: only ``text``, which is plain. Of the addresses in it, only ``link`` can be followed."""
    told = escaped(text, limits.QUESTION)
    if link is not None:
        told = told.replace(escaped(link), f"<{escaped(link)}>")
    return {
        "type": "modal",
        "title": plain_text(ref, limits.MODAL_TITLE, "Question"),
        "close": plain_text("Close", limits.MODAL_TITLE, "—"),
        "blocks": [{"type": "section", "block_id": "told", "text": mrkdwn(told)}],
    }


def error_block(notice: Notice) -> str:
    """The first input, which shows an error that belongs to no known field."""
    return forms.block_id(0) if notice.response_type is ResponseType.FORM else ANSWER_BLOCK


def _inputs(notice: Notice) -> list[Block]:
    match notice.response_type:
        case ResponseType.TEXT:
            element = forms.text_input(multiline=True)
            hint = f"At most {limits.INPUT_TEXT:,} characters here; the page takes more."
            return [_input(ANSWER_BLOCK, "Your answer", element) | {"hint": plain_text(hint, limits.HINT, "—")}]
        case ResponseType.FORM:
            form = forms.fields(notice.form_schema, notice.context) or ()
            return [forms.input_block(number, field) for number, field in enumerate(form)]
        case ResponseType.CHOICE | ResponseType.CONFIRM:
            options = [(label_of(choice), choice.description) for choice in notice.choices]
            return [_input(ANSWER_BLOCK, "Your answer", forms.select(options))]


def _input(block_id: str, label: str, element: Block) -> Block:
    return {
        "type": "input",
        "block_id": block_id,
        "label": plain_text(label, limits.LABEL, "—"),
        "element": {"action_id": "v", **element},
    }


REASON_CALLBACK = "reason"
REASON_BLOCK = "reason"
ASK_BACK_CALLBACK = "ask_back"
HAND_OVER_CALLBACK = "hand_over"
TEXT_BLOCK = "text"
PERSON_BLOCK = "person"
GIVE_ONE = "Say why: this answer needs a reason."


def reason_modal(notice: Notice, index: int, wanted: ReasonWanted, delivery: str, sign: Sign) -> Block:
    """``index`` is the picked choice; it counts once this modal is submitted."""
    label = label_of(notice.choices[index])
    picked = f"Your answer will be “{escaped(label, limits.BUTTON_TEXT)}”. The agent gets your reason."
    blocks = [
        _question(notice),
        *action_block(notice),
        {"type": "context", "block_id": "picked", "elements": [mrkdwn(picked)]},
        _input(REASON_BLOCK, "Reason", forms.text_input(multiline=True))
        | {"optional": wanted is not ReasonWanted.REQUIRED},
    ]
    carried = Carried(notice.ref, delivery, index)
    return _to_fill_in(REASON_CALLBACK, carried, sign, clipped(label, limits.MODAL_TITLE), blocks)


def ask_back_modal(notice: Notice, delivery: str, sign: Sign) -> Block:
    """For a question to the agent."""
    hint = "This is no answer. Reminders and the deadline wait until the agent replies, for a limited time."
    asked = _input(TEXT_BLOCK, f"Your question to {notice.asked_by}", forms.text_input(multiline=True))
    blocks = [_question(notice), asked | {"hint": plain_text(hint, limits.HINT, "—")}]
    return _to_fill_in(ASK_BACK_CALLBACK, Carried(notice.ref, delivery), sign, "Ask the agent", blocks)


def hand_over_modal(notice: Notice, people: Sequence[Person], delivery: str, sign: Sign) -> Block | None:
    """``people`` are those to whom it can be handed over; ``None`` if a list can name none of them."""
    options = [
        {"text": plain_text(one.name, limits.OPTION_TEXT, one.email), "value": one.email}
        for one in people
        if len(one.email) <= limits.OPTION_TEXT
    ]
    if not options:
        return None
    blocks = [
        _question(notice),
        _input(PERSON_BLOCK, "Hand over to", {"type": "static_select", "options": options[: limits.OPTIONS]})
        | {"hint": plain_text("They are asked now. You can still answer.", limits.HINT, "—")},
    ]
    return _to_fill_in(HAND_OVER_CALLBACK, Carried(notice.ref, delivery), sign, "Hand over", blocks)


def _question(notice: Notice) -> Block:
    question = escaped(notice.question, limits.QUESTION, limits.MORE)
    return {"type": "section", "block_id": "question", "text": mrkdwn(question), "expand": True}
