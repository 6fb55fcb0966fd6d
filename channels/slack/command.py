"""``/handraise``: parse the slash command and write its reply. Pure.

Source: https://docs.slack.dev/interactivity/implementing-slash-commands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from channels.slack import limits
from channels.slack.interactions import Payload, Reach, Who, text_at
from channels.slack.mrkdwn import escaped, one_line
from channels.slack.render import label_of
from core.domain.notice import Notice

DELIVERY = "command"
"""The delivery id of its replies' buttons, which belong to no message."""
LISTED = 10
LINE = 200
CHOICES = 20

HELP = "\n".join(
    [
        "*/handraise* lists what waits for you.",
        "*/handraise show REF* shows one question, with its buttons.",
        "*/handraise answer REF VALUE* answers it: a choice by its number or its words, or your text.",
    ]
)


@dataclass(frozen=True, slots=True)
class ListThem:
    """List the questions that wait for the person who typed it."""


@dataclass(frozen=True, slots=True)
class ShowCommand:
    ref: str


@dataclass(frozen=True, slots=True)
class AnswerCommand:
    """Answer a question. If ``words`` is empty, the answer is asked for."""

    ref: str
    words: str


@dataclass(frozen=True, slots=True)
class Help:
    """Any other text."""


Command = ListThem | ShowCommand | AnswerCommand | Help


@dataclass(frozen=True, slots=True)
class Typed:
    by: Who
    command: Command
    reach: Reach


def read_command(payload: Payload) -> Typed | None:
    """``None`` if it is not Slack's payload of a command. The app chooses the command's name."""
    user_id, text = payload.get("user_id"), payload.get("text", "")
    if not isinstance(user_id, str) or not isinstance(text, str):
        return None
    team = text_at(payload, "team_id")
    reach = Reach(text_at(payload, "response_url"), text_at(payload, "trigger_id"), user_id=user_id)
    return Typed(Who(user_id, team), _command(text), reach)


def _command(text: str) -> Command:
    match text.split(maxsplit=2):
        case [] | ["list"]:
            return ListThem()
        case ["show", ref]:
            return ShowCommand(ref)
        case ["answer", ref, *words]:
            return AnswerCommand(ref, words[0] if words else "")
        case _:
            return Help()


def listing(waiting: Sequence[Notice], more: int, inbox: str) -> str:
    """One line for each question, in the given order; ``more`` others are on the page at ``inbox``."""
    if not waiting:
        return "Nothing waits for you."
    lines = [_line(notice) for notice in waiting]
    if more:
        lines.append(f"… and {more} more: {inbox}")
    return "\n".join(lines)


def choices(notice: Notice) -> str:
    """Why the words were not an answer, and which answers are valid."""
    shown = notice.choices[:CHOICES]
    lines = [f"{one.number}. {escaped(one_line(label_of(one)), limits.BUTTON_TEXT)}" for one in shown]
    more = [f"… and {len(notice.choices) - len(shown)} more"] if len(notice.choices) > len(shown) else []
    question = escaped(one_line(notice.question), LINE, limits.MORE)
    return "\n".join(
        [f"That is not one of the answers to {escaped(notice.ref, 64)} ({question}). One of these is:", *lines, *more]
    )


def _line(notice: Notice) -> str:
    question = escaped(one_line(notice.question), LINE)
    return f"• `{escaped(notice.ref, 64)}` {question} — {escaped(notice.silence, LINE)}"
