"""Private notes: what a person is told about the button that they just pressed. Plain text; pure."""

from __future__ import annotations

from collections.abc import Sequence

from channels.slack.mrkdwn import one_line
from core.domain.notice import Ending
from core.domain.suspension import Claim, Suspension
from core.domain.wording import so_far
from core.errors import ClaimedByAnother, HandraiseError, SelfResponseForbidden

MOST_NAMES = 10

STRANGER = "Handraise does not know your Slack account. Whoever runs it here can add you to its people."
OTHER_WORKSPACE = "This question is not asked in your workspace, so your answer does not count."
SLACK_IS_SILENT = "Slack does not tell us just now whether you may answer. Nothing was recorded: try again in a moment."
SLACK_REFUSES = (
    "Slack does not tell us whether you may answer, and whoever runs Handraise has to fix that. Nothing was recorded: "
    "answer on the question's page."
)
RECORDED = "Your answer is recorded."
NOT_YOURS = "There is no question of that name that you may answer."
GIVEN_BACK = "You have given it back: reminders go on."
NOBODY_ELSE = "There is nobody in the directory to whom you can hand this question over."
UNDONE = "Undone: your answer is void, and the question is open again."
NO_LONGER_OPEN = "This question is no longer open."
NOT_SAVED = "That could not be saved just now. Try again in a moment: an answer counts only once."
USE_BUTTONS_OR_COMMAND = (
    "Handraise does not read messages as answers. Use the buttons of the question, or type /handraise."
)
NO_PAGES = "Handraise's pages are for people in its directory. Whoever runs it here can add you."
USE_THE_BUTTONS = "Use the buttons of the message, or its page."


def turned_away(text: str, asked: Sequence[str]) -> str:
    """For a person whose account is not known here: who may answer instead."""
    return f"{text} {_may_answer(asked)} The question stays open."


def ended(ending: Ending | None) -> str:
    """Too late: how it ended, if that is known."""
    return NO_LONGER_OPEN if ending is None else f"{NO_LONGER_OPEN} {ending.sentence} {ending.agent}".strip()


def recorded_already(suspension: Suspension) -> str:
    """For a person whose answer is already recorded. If other answers are awaited, it says how many are needed."""
    others = f" {so_far(suspension)}" if suspension.is_open else ""
    return f"Your answer is recorded already.{others}"


def may_not(error: HandraiseError, asked: Sequence[str]) -> str:
    """For a person who may not answer. ``asked`` are the references of those who may."""
    if isinstance(error, SelfResponseForbidden):
        return "You can't answer this: you asked it, or it was asked on your behalf. The question stays open."
    return f"You can't answer this. {_may_answer(asked)} The question stays open."


def held(error: ClaimedByAnother) -> str:
    return f"{error.message} You can still answer."


def claimed(ref: str, claim: Claim | None) -> str:
    until = f" until {claim.until:%H:%M} UTC" if claim is not None else ""
    return f"You're on it: nobody is reminded of {ref}{until}. It still needs your answer."


def personal_link(link: str, minutes: int) -> str:
    return f"Open it here: {link}\nThis link is yours alone, and works once within {minutes} minutes."


def press_again(link: str) -> str:
    """For a button pressed too long ago: Slack gives three seconds to open a modal."""
    return f"That took too long for Slack. Press “Answer…” again, or answer here: {link}"


def not_opened(link: str) -> str:
    return f"Slack could not open it. Answer here: {link}"


def open_first(link: str) -> str:
    """The button stands under a part of the question, which is not enough to approve it."""
    return f"Your answer was not recorded: this question is longer than its message. Read all of it and answer: {link}"


def reveal_first(link: str) -> str:
    """The button stands under an action that hides where it goes."""
    return f"Your answer was not recorded: part of what will run is hidden here. See it and answer: {link}"


def _may_answer(asked: Sequence[str]) -> str:
    if not asked:
        return "Only operators may."
    names = ", ".join(one_line(name) for name in asked[:MOST_NAMES])
    more = f" and {len(asked) - MOST_NAMES} more" if len(asked) > MOST_NAMES else ""
    return f"It can be answered by {names}{more}."
