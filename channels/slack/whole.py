"""All that the agent wrote beside a question, for a modal: nothing cut, as long as a modal can hold it.

Source: https://docs.slack.dev/surfaces/modals.
"""

from __future__ import annotations

from collections.abc import Iterator

from channels.slack import limits
from channels.slack.cut import label_of
from channels.slack.mrkdwn import Block, escaped, mrkdwn, one_line, pieces, shown, width
from core.domain.notice import Notice


def whole_blocks(notice: Notice, inputs: int) -> list[Block] | None:
    """``None`` where that is more than a modal with so many ``inputs`` holds."""
    texts = [piece for text in _texts(notice) for piece in pieces(text, limits.SECTION_TEXT)]
    too_long = sum(width(text) for text in texts) > limits.MODAL_TEXT
    if too_long or len(texts) + inputs > limits.MODAL_BLOCKS:
        return None
    return [
        {"type": "section", "block_id": f"whole:{number}", "text": mrkdwn(text), "expand": True}
        for number, text in enumerate(texts)
    ]


def _texts(notice: Notice) -> Iterator[str]:
    """Escaped, each a paragraph of its own."""
    yield escaped(notice.question)
    for key, value in notice.context.items():
        yield f"*{escaped(one_line(key))}*\n{escaped(shown(value))}"
    if notice.risk is not None:
        yield f"⚠️ Risk: {escaped(one_line(notice.risk))}"
    for choice in notice.choices:
        if choice.description or width(escaped(label_of(choice))) > limits.OPTION_TEXT:
            described = f" — {escaped(one_line(choice.description))}" if choice.description else ""
            yield f"*{choice.number}. {escaped(label_of(choice))}*{described}"
