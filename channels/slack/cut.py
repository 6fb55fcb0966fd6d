"""What of a question does not fit in its message, and what follows from that."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

from channels.slack import limits
from channels.slack.mrkdwn import escaped, one_line, shown, width
from core.domain.notice import Notice, NoticeChoice


class WhenCut(Enum):
    """Where a question that is not shown whole is answered (``slack.require_open_when_cut``)."""

    ANSWER = auto()
    """Where it is shown."""
    OPEN = auto()
    """Only where all of it is shown: in a modal, else on the page."""


def label_of(choice: NoticeChoice) -> str:
    return one_line(choice.label) or f"Choice {choice.number}"


def must_open(notice: Notice, when_cut: WhenCut) -> bool:
    return when_cut is WhenCut.OPEN and is_cut(notice)


def is_cut(notice: Notice) -> bool:
    """Whether the message holds less than all that the agent wrote: the question, its context, the choices."""
    more = len(notice.context) > limits.SECTION_FIELDS
    return more or any(width(escaped(text)) > most for text, most in _written(notice))


def _written(notice: Notice) -> Iterator[tuple[str, int]]:
    """Each text of the agent's, with what there is room for."""
    yield notice.question, limits.QUESTION
    for key, value in notice.context.items():
        yield one_line(key), limits.CONTEXT_KEY
        yield shown(value), limits.CONTEXT_VALUE
    for choice in notice.choices:
        yield label_of(choice), limits.LABEL_IN_FULL
        yield one_line(choice.description or ""), limits.DESCRIPTION
