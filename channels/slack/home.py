"""The App Home: the questions that wait for one person, soonest deadline first, with their buttons. Pure.

Source: https://docs.slack.dev/surfaces/app-home, https://docs.slack.dev/reference/views/home-tab-views.
"""

from __future__ import annotations

from collections.abc import Sequence

from channels.slack import limits
from channels.slack.mrkdwn import Block, action_is_cut, action_texts, escaped, mrkdwn, one_line, plain_text, width
from channels.slack.payloads import Carried, written
from channels.slack.render import INBOX, LINK, answer_blocks
from core.domain.notice import Notice, WhenCut
from core.domain.suspension import Cut

DELIVERY = "home"
"""The delivery id of a Home's buttons, which belong to no message."""
MOST = 24
"""Questions on one Home: each takes four blocks of the 100 that Slack allows (``limits.MODAL_BLOCKS``)."""
QUESTION = 600
ACTION = 600
PROBLEM = 500


def home_view(waiting: Sequence[Notice], more: int, when_cut: WhenCut = WhenCut.ANSWER) -> Block:
    """``waiting`` has at most :data:`MOST` questions; ``more`` others wait in the inbox."""
    count = len(waiting) + more
    headline = "Nothing waits for you" if not count else f"{count} waiting for you"
    blocks: list[Block] = [{"type": "header", "block_id": "headline", "text": plain_text(headline, 150, "—")}]
    for notice in waiting:
        blocks += _question_blocks(notice, when_cut)
    if more:
        blocks.append(_more_block(more))
    return {"type": "home", "blocks": blocks}


def closed_view(text: str) -> Block:
    """The Home of a person who may see nothing; ``text`` says why."""
    return {"type": "home", "blocks": [{"type": "section", "block_id": "told", "text": mrkdwn(escaped(text, PROBLEM))}]}


def _question_blocks(notice: Notice, when_cut: WhenCut) -> list[Block]:
    ref = notice.ref
    question = "\n".join([escaped(notice.question, QUESTION, limits.MORE), *action_texts(notice, ACTION)])
    about = escaped(one_line(f"{ref} · asked by {notice.asked_by} · {notice.headline}"), limits.FOOTER)
    actions = [{**block, "block_id": f"{block['block_id']}:{ref}"} for block in _actions(notice, when_cut)]
    return [
        {"type": "section", "block_id": f"question:{ref}", "text": mrkdwn(question), "accessory": _open(notice)},
        {
            "type": "context",
            "block_id": f"about:{ref}",
            "elements": [mrkdwn(about), mrkdwn(escaped(notice.silence, limits.FOOTER))],
        },
        *actions,
        {"type": "divider", "block_id": f"end:{ref}"},
    ]


def _actions(notice: Notice, when_cut: WhenCut) -> list[Block]:
    """The same buttons as in a message with as much room as a Home."""
    return answer_blocks(notice, DELIVERY, when_cut, cut(notice))


def cut(notice: Notice) -> Cut:
    """What a Home leaves out: the context is only on the page."""
    if notice.in_part is Cut.ACTION or action_is_cut(notice, ACTION):
        return Cut.ACTION
    words = notice.context or width(escaped(notice.question, limits.QUESTION)) > QUESTION
    return Cut.WORDS if words else notice.in_part


def _open(notice: Notice) -> Block:
    return {
        "type": "button",
        "action_id": LINK,
        "text": plain_text("Open", limits.BUTTON_TEXT, "—"),
        "value": written(Carried(notice.ref, DELIVERY)),
    }


def _more_block(more: int) -> Block:
    button = {"type": "button", "action_id": LINK, "text": plain_text("Open the inbox", 75, "—"), "value": INBOX}
    text = mrkdwn(f"… and {more} more.")
    return {"type": "section", "block_id": "more", "text": text, "accessory": button}
