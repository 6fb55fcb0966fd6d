"""The modal in which a text, a form or one of many choices is answered, and the one that tells how it ended.

Source: https://docs.slack.dev/surfaces/modals.
"""

from __future__ import annotations

from channels.slack import forms, inputs, limits
from channels.slack.buttons import Way, inputs_of, way
from channels.slack.cut import WhenCut, label_of
from channels.slack.mrkdwn import Block, escaped, mrkdwn, plain_text
from channels.slack.render import context_blocks, question_block
from channels.slack.values import Carried, Sign, sealed
from channels.slack.whole import whole_blocks
from core.domain.notice import Notice
from core.domain.suspension import ResponseType

CALLBACK = "answer"
ANSWER_BLOCK = "answer"


def answer_modal(notice: Notice, delivery: str, sign: Sign, when_cut: WhenCut = WhenCut.ANSWER) -> Block | None:
    """``None`` where it is not answered in a modal but by buttons, or only on the page."""
    if way(notice, when_cut) not in {Way.MODAL, Way.OPEN_MODAL}:
        return None
    head = whole_blocks(notice, inputs_of(notice)) or [question_block(notice), *context_blocks(notice)]
    return {
        "type": "modal",
        "callback_id": CALLBACK,
        "private_metadata": sealed(Carried(notice.ref, delivery), sign),
        "title": plain_text(notice.ref, limits.MODAL_TITLE, "Question"),
        "submit": plain_text("Send answer", limits.MODAL_TITLE, "—"),
        "close": plain_text("Cancel", limits.MODAL_TITLE, "—"),
        "blocks": [*head, *_inputs(notice)],
    }


def told_modal(ref: str, text: str) -> Block:
    """Nothing to fill in: only ``text``, which is plain."""
    return {
        "type": "modal",
        "title": plain_text(ref, limits.MODAL_TITLE, "Question"),
        "close": plain_text("Close", limits.MODAL_TITLE, "—"),
        "blocks": [{"type": "section", "block_id": "told", "text": mrkdwn(escaped(text, limits.QUESTION))}],
    }


def error_block(notice: Notice) -> str:
    """The first input, under which an error is shown that no single field is known for."""
    return forms.block_id(0) if notice.response_type is ResponseType.FORM else ANSWER_BLOCK


def _inputs(notice: Notice) -> list[Block]:
    match notice.response_type:
        case ResponseType.TEXT:
            element = inputs.text_input(multiline=True)
            hint = f"At most {limits.INPUT_TEXT:,} characters here; the page takes more."
            return [_answer_input("Your answer", element) | {"hint": plain_text(hint, limits.HINT, "—")}]
        case ResponseType.FORM:
            form = forms.fields(notice.form_schema, notice.context) or ()
            return [inputs.input_block(number, field) for number, field in enumerate(form)]
        case ResponseType.CHOICE | ResponseType.CONFIRM:
            options = [(label_of(choice), choice.description) for choice in notice.choices]
            return [_answer_input("Your answer", inputs.select(options))]


def _answer_input(label: str, element: Block) -> Block:
    return {
        "type": "input",
        "block_id": ANSWER_BLOCK,
        "label": plain_text(label, limits.LABEL, "—"),
        "element": {"action_id": "v", **element},
    }
