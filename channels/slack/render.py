"""A notice, an ending and a short message as Slack shows them. Pure.

Every word of the agent's is escaped or ``plain_text``; every length is capped below Slack's limits (``limits``).

Source: https://docs.slack.dev/block-kit, https://docs.slack.dev/reference/methods/chat.postMessage (the top-level
``text`` is what notifications and screen readers say).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from channels.slack import limits
from channels.slack.buttons import answer_blocks, description_blocks, label_of, more_block
from channels.slack.mrkdwn import Block, clipped, escaped, in_bytes, mrkdwn, one_line, plain_text, shown
from core.domain.notice import Ending, Message, Notice
from core.domain.suspension import Status

FALLBACK_CHOICES = 10


@dataclass(frozen=True, slots=True)
class Rendered:
    """``text`` stands alone; with ``blocks`` it is only what notifications say."""

    text: str
    blocks: tuple[Block, ...] = ()


def render_notice(notice: Notice, delivery: str) -> Rendered:
    blocks = [
        {
            "type": "header",
            "block_id": "headline",
            "text": plain_text(notice.headline, limits.HEADER_TEXT, "Input needed"),
        },
        question_block(notice),
        *context_blocks(notice),
        *notes_blocks(notice),
        *description_blocks(notice),
        *answer_blocks(notice, delivery),
        more_block(notice, delivery),
        _footer_block(notice),
    ]
    return Rendered(fallback_text(notice), tuple(blocks))


def fallback_text(notice: Notice) -> str:
    """The question, the numbered choices, the deadline and the link, in plain words."""
    shown_choices = notice.choices[:FALLBACK_CHOICES]
    lines = [
        f"{notice.headline}: {escaped(notice.question, limits.PLAIN_QUESTION, limits.MORE)}",
        *(f"{one.number}. {escaped(label_of(one), limits.BUTTON_TEXT)}" for one in shown_choices),
    ]
    if len(notice.choices) > len(shown_choices):
        lines.append(f"… and {len(notice.choices) - len(shown_choices)} more")
    lines.append(escaped(notice.silence, limits.FOOTER))
    return _ending_with("\n".join(lines), f"{notice.links.shared} ({escaped(notice.ref, 64)})")


def render_plain(notice: Notice) -> Rendered:
    """What still gets through where Slack refuses the blocks: the question and where to answer it."""
    question = escaped(notice.question, limits.PLAIN_QUESTION, limits.MORE)
    return Rendered(_ending_with(f"{notice.headline}: {question}", f"Answer here: {notice.links.shared}"))


def render_ending(ending: Ending) -> Rendered:
    """The message as it stays: what was asked and how it ended, nothing left to press.

    The block ids differ from the question's, as Slack asks of an updated message
    (https://docs.slack.dev/reference/block-kit/blocks/section-block).
    """
    question = escaped(ending.question, limits.QUESTION)
    brief = replace(ending, answer=_brief(ending.answer), continued_with=_brief(ending.continued_with))
    sentence = escaped(brief.sentence, limits.SENTENCE)
    mark = "✅" if ending.resolution is Status.RESPONDED else "⌛" if ending.resolution is Status.EXPIRED else "🚫"
    blocks: list[Block] = [
        {"type": "section", "block_id": "ended:question", "text": mrkdwn(question), "expand": True},
        {"type": "section", "block_id": "ended:how", "text": mrkdwn(f"{mark} {sentence}"), "expand": True},
        {"type": "context", "block_id": "ended:ref", "elements": [mrkdwn(escaped(ending.ref, 64))]},
    ]
    text = _ending_with(escaped(ending.question, limits.PLAIN_QUESTION), in_bytes(sentence, limits.SENTENCE))
    return Rendered(text, tuple(blocks))


def render_message(message: Message) -> Rendered:
    lines = [f"*{escaped(one_line(message.subject), limits.LABEL)}*", escaped(message.text, limits.QUESTION)]
    return Rendered(_ending_with("\n".join(lines), message.link or ""))


def question_block(notice: Notice) -> Block:
    question = escaped(notice.question, limits.QUESTION, limits.MORE)
    return {"type": "section", "block_id": "question", "text": mrkdwn(question), "expand": True}


def context_blocks(notice: Notice) -> list[Block]:
    """What the agent told beside the question: ten values at most, the rest on the page."""
    blocks: list[Block] = []
    items = list(notice.context.items())
    if items:
        fields = [
            mrkdwn(f"*{escaped(one_line(key), limits.CONTEXT_KEY)}*\n{escaped(shown(value), limits.CONTEXT_VALUE)}")
            for key, value in items[: limits.SECTION_FIELDS]
        ]
        blocks.append({"type": "section", "block_id": "context", "fields": fields})
    if len(items) > limits.SECTION_FIELDS:
        more = f"{limits.MORE}: {len(items) - limits.SECTION_FIELDS} more values"
        blocks.append({"type": "context", "block_id": "context:more", "elements": [mrkdwn(more)]})
    if notice.risk is not None:
        text = f"⚠️ {escaped(one_line(notice.risk), limits.RISK)}"
        blocks.append({"type": "context", "block_id": "risk", "elements": [mrkdwn(text)]})
    return blocks


def notes_blocks(notice: Notice) -> list[Block]:
    """What has happened among people so far."""
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
    """``text`` cut so that ``last``, which must not be, still fits below it."""
    if not last:
        return in_bytes(text, limits.FALLBACK_BYTES)
    return f"{in_bytes(text, limits.FALLBACK_BYTES - len(last.encode()) - 1)}\n{last}"
