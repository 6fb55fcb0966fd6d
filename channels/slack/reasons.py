"""The modal that asks why, for a choice whose metadata wants to know (decision 0017).

Source: https://docs.slack.dev/surfaces/modals.
"""

from __future__ import annotations

from channels.slack import inputs, limits
from channels.slack.cut import label_of
from channels.slack.mrkdwn import Block, clipped, escaped, mrkdwn, plain_text
from channels.slack.values import Carried, Sign, sealed
from core.domain.notice import Notice
from core.domain.suspension import ReasonWanted

CALLBACK = "reason"
REASON_BLOCK = "reason"
GIVE_ONE = "Say why: this answer needs a reason."


def reason_modal(notice: Notice, index: int, wanted: ReasonWanted, delivery: str, sign: Sign) -> Block:
    """``index`` is the choice that was picked; it counts once this is sent."""
    label = label_of(notice.choices[index])
    picked = f"Your answer will be “{escaped(label, limits.BUTTON_TEXT)}”. The agent gets your reason."
    question = escaped(notice.question, limits.QUESTION, limits.MORE)
    return {
        "type": "modal",
        "callback_id": CALLBACK,
        "private_metadata": sealed(Carried(notice.ref, delivery, index), sign),
        "title": plain_text(notice.ref, limits.MODAL_TITLE, "Question"),
        "submit": plain_text(clipped(label, limits.MODAL_TITLE), limits.MODAL_TITLE, "Send answer"),
        "close": plain_text("Cancel", limits.MODAL_TITLE, "—"),
        "blocks": [
            {"type": "section", "block_id": "question", "text": mrkdwn(question), "expand": True},
            {"type": "context", "block_id": "picked", "elements": [mrkdwn(picked)]},
            {
                "type": "input",
                "block_id": REASON_BLOCK,
                "label": plain_text("Reason", limits.LABEL, "—"),
                "optional": wanted is not ReasonWanted.REQUIRED,
                "element": {"action_id": "v", **inputs.text_input(multiline=True)},
            },
        ],
    }
