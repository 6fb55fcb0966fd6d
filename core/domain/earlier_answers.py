"""Earlier answers: people's answers to earlier questions with the same action and the same key. Pure.

They come only from questions that have ended: while several people answer one question, none sees another's answer.
Texts are shortened, and so is the list: a notice shows the latest, its page more of them.

Source: API.md §2, "Earlier answers"; docs/decisions/0092.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta, tzinfo

from core.domain.suspension import EarlierAnswer, Status, Suspension
from core.domain.wording import shortened, told_at

SHOWN_FOR = timedelta(days=30)
MOST = 20
"""So many are shown at all."""
LONGEST = 1_000
"""Characters of an answer, and of its reason, on a page."""

HEADING = "Earlier answers to this action"
MOST_IN_MESSAGE = 3
LONGEST_IN_MESSAGE = 120


def answers_to(suspension: Suspension) -> tuple[EarlierAnswer, ...]:
    """Each person's answer to an ended question, in order. Silence and a cancellation are not answers."""
    ended, ask = suspension.ended, suspension.ask
    if ended is None:
        return ()
    said = [(one.by, one.value, one.at, one.reason) for one in suspension.answers]
    if not said and suspension.status is Status.RESPONDED and ended.by is not None:
        said = [(ended.by, ended.value, ended.at, ended.reason)]
    labels = [None if (choice := ask.choice(value)) is None else choice.label for _, value, _, _ in said]
    return tuple(EarlierAnswer(ask.ref, *one, label) for one, label in zip(said, labels, strict=True))


def latest(ended: Iterable[Suspension]) -> tuple[EarlierAnswer, ...]:
    """The latest answers to all of these, the last one first."""
    found = [answer for one in ended for answer in answers_to(one)]
    return tuple(sorted(found, key=lambda answer: answer.at, reverse=True)[:MOST])


def shown(answer: EarlierAnswer, longest: int = LONGEST) -> EarlierAnswer:
    """The answer for people: its value is a text, and no text is longer than ``longest``."""
    reason = None if answer.reason is None else _cut(answer.reason, longest) or None
    return EarlierAnswer(answer.ref, answer.by, _cut(answer.told, longest), answer.at, reason)


def in_message(answers: Sequence[EarlierAnswer], zone: tzinfo | None = None) -> tuple[str, ...]:
    """A line for each of the latest, and how many more are on the question's page. ``answers`` are in the order of
    :func:`latest`."""
    lines = [_line(one, zone) for one in answers[:MOST_IN_MESSAGE]]
    more = len(answers) - len(lines)
    return (*lines, f"… and {more} more on the page") if more > 0 else (*lines,)


def _line(answer: EarlierAnswer, zone: tzinfo | None) -> str:
    brief = shown(answer, LONGEST_IN_MESSAGE)
    reason = f" Reason: {_one_line(brief.reason)}" if brief.reason else ""
    by = _cut(_one_line(brief.by), LONGEST_IN_MESSAGE)
    return f"{told_at(brief.at, zone)}, {by}: “{_one_line(brief.told)}” ({brief.ref}).{reason}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _cut(text: str, longest: int) -> str:
    return shortened(text.strip(), longest)
