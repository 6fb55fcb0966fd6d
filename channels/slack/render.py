"""A notice, an ending and a short message as Slack shows them. Pure.

Every word of the agent's is escaped or ``plain_text``; every length is capped below Slack's limits (``limits``).

Source: https://docs.slack.dev/block-kit, https://docs.slack.dev/reference/methods/chat.postMessage (the top-level
``text`` is what notifications and screen readers say).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pydantic import JsonValue

from channels.slack import limits
from channels.slack.buttons import answer_blocks, description_blocks, more_block
from channels.slack.cut import WhenCut, label_of
from channels.slack.mrkdwn import Block, clipped, escaped, in_bytes, mrkdwn, one_line, plain_text, shown
from core.domain.notice import Ending, Message, Notice
from core.domain.suspension import Status


@dataclass(frozen=True, slots=True)
class Rendered:
    """``text`` stands alone; with ``blocks`` it is only what notifications say."""

    text: str
    blocks: tuple[Block, ...] = ()


def render_notice(
    notice: Notice, delivery: str, *, when_cut: WhenCut = WhenCut.ANSWER, mention: str | None = None
) -> Rendered:
    """``mention`` is the id of a user group that is called by it."""
    blocks = [
        {
            "type": "header",
            "block_id": "headline",
            "text": plain_text(notice.headline, limits.HEADER_TEXT, "Input needed"),
        },
        *_mention_blocks(mention),
        question_block(notice),
        *context_blocks(notice),
        *notes_blocks(notice),
        *description_blocks(notice),
        *answer_blocks(notice, delivery, when_cut),
        more_block(notice, delivery, when_cut),
        _footer_block(notice),
    ]
    return Rendered(_called(mention) + fallback_text(notice), tuple(blocks))


def _called(mention: str | None) -> str:
    """Only what Slack would take for a user group's id: this is the one mention there is, and it is ours."""
    return f"<!subteam^{mention}> " if mention is not None and mention.isalnum() else ""


def _mention_blocks(mention: str | None) -> list[Block]:
    called = _called(mention).strip()
    return [{"type": "section", "block_id": "mention", "text": mrkdwn(called)}] if called else []


def fallback_text(notice: Notice) -> str:
    """The question, the numbered choices, the deadline and the link, in plain words: the question gives way first."""
    silence = in_bytes(escaped(notice.silence, limits.FOOTER), limits.FOOTER)
    last = f"{silence}\n{notice.links.shared} ({escaped(notice.ref, 64)})"
    numbered = _numbered(notice)
    room = limits.FALLBACK_BYTES - sum(len(line.encode()) + 1 for line in (*numbered, last))
    question = in_bytes(f"{notice.headline}: {escaped(notice.question)}", room, limits.MORE)
    return "\n".join([question, *numbered, last])


def _numbered(notice: Notice) -> list[str]:
    """A line for each choice, as many as there is room for."""
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
    """What still gets through where Slack refuses the blocks: the question and where to answer it."""
    question = escaped(notice.question, limits.PLAIN_QUESTION, limits.MORE)
    plain = f"{_called(mention)}{notice.headline}: {question}"
    return Rendered(_ending_with(plain, f"Answer here: {_link(notice.links.shared)}"))


def _link(url: str) -> str:
    """One that works where nothing else becomes a link (``parse`` is ``none``)."""
    return f"<{escaped(url)}>"


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
    return Rendered(_ending_with("\n".join(lines), _link(message.link) if message.link else ""))


def question_block(notice: Notice) -> Block:
    question = escaped(notice.question, limits.QUESTION, limits.MORE)
    return {"type": "section", "block_id": "question", "text": mrkdwn(question), "expand": True}


def context_blocks(notice: Notice) -> list[Block]:
    """What the agent told beside the question: ten values at most, the rest where the question is opened."""
    blocks: list[Block] = []
    items = list(notice.context.items())
    if items:
        fields = [_field(key, value) for key, value in items[: limits.SECTION_FIELDS]]
        blocks.append({"type": "section", "block_id": "context", "fields": fields})
    if len(items) > limits.SECTION_FIELDS:
        more = f"{limits.MORE}: {len(items) - limits.SECTION_FIELDS} more values"
        blocks.append({"type": "context", "block_id": "context:more", "elements": [mrkdwn(more)]})
    if notice.risk is not None:
        text = f"⚠️ Risk: {escaped(one_line(notice.risk), limits.RISK)}"
        blocks.append({"type": "context", "block_id": "risk", "elements": [mrkdwn(text)]})
    return blocks


def _field(key: str, value: JsonValue) -> Block:
    name = escaped(one_line(key), limits.CONTEXT_KEY, limits.MORE)
    return mrkdwn(f"*{name}*\n{escaped(shown(value), limits.CONTEXT_VALUE, limits.MORE)}")


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
