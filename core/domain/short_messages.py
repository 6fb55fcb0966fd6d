"""Short messages about a question: an answer counts but more are needed, the agent has clarified, the question
ended, the action failed. Every channel says the same. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import tzinfo

from core.domain.notice import Message, Purpose, build_ending
from core.domain.quorum import answer_of
from core.domain.suspension import Status, Suspension
from core.domain.wording import AgentTold, shown_value, so_far, told_at, told_report, why_never

_LONGEST_SHOWN = 500
"""A long answer is recorded in whole and confirmed by its beginning."""


def in_brief(value: str) -> str:
    """As much of an answer as a short message shows."""
    return value if len(value) <= _LONGEST_SHOWN else value[: _LONGEST_SHOWN - 1] + "…"


def recorded_partly(suspension: Suspension, identity: str) -> str:
    """The answer of ``identity``, who must have given one, is kept, and more are needed."""
    given = answer_of(suspension, identity)
    shown = in_brief(shown_value(suspension, given.value)) if given is not None else ""
    return f"Recorded: “{shown}”. {so_far(suspension)} You can change your answer until the question ends."


def recorded_undoable(suspension: Suspension) -> str:
    """To who has given the answer that is about to end the question."""
    given = suspension.undoable
    if given is None:
        return "Recorded."
    seconds = round((given.until - given.at).total_seconds())
    return f"Recorded: “{in_brief(shown_value(suspension, given.value))}”. You can undo it for {seconds} seconds."


def about(suspension: Suspension, purpose: Purpose, text: str) -> Message:
    """A message under the question's own subject, so that mail programs thread it."""
    ask = suspension.ask
    return Message(purpose, f"Re: [{ask.ref}] {ask.question}", text, ref=ask.ref)


def clarified_message(suspension: Suspension, zone: tzinfo | None = None) -> Message:
    """To the person who asked back, in their ``zone``: the agent's words, or that there were none in time."""
    asked = suspension.clarifications[-1]
    if asked.text is not None:
        came = f"{suspension.ask.created_by} answered:\n{asked.text}"
    else:
        until = told_at(asked.until, zone)
        came = f"{suspension.ask.created_by} has not answered by {until}. Reminders and the deadline go on."
    text = (
        f"You asked: {asked.question}\n\n{came}\n\nThe question still waits for an answer:\n{suspension.ask.question}"
    )
    return about(suspension, Purpose.CLARIFIED, text)


NOTHING_TO_ANSWER = "No answer is needed any more."


def ended_message(shown: Suspension, told: AgentTold, zone: tzinfo | None = None) -> Message:
    """Who decided what, by which way and when, or what silence did; and whether the agent knows. ``shown`` has
    ended, and is redacted for a reader in ``zone``."""
    ending = build_ending(shown, zone=zone, told=told)
    brief = replace(ending, answer=_in_brief(ending.answer), continued_with=_in_brief(ending.continued_with))
    over = "" if shown.status is Status.CANCELLED else f" {NOTHING_TO_ANSWER}"  # a cancellation says so itself
    reason = "" if not ending.reason else f"\n\nReason: {in_brief(ending.reason)}"
    return about(shown, Purpose.ENDED, f"{brief.sentence}{over} {brief.agent}{reason}")


def untold_message(shown: Suspension, told: AgentTold) -> Message:
    """To the person whose answer ended it: the agent does not know, and why (``told``)."""
    agent, ended = shown.ask.created_by, shown.ended
    answer = in_brief(shown_value(shown, ended.value)) if ended is not None else ""
    text = (
        f"{agent} has not been told of your answer “{answer}”: {why_never(told)}.\n\n"
        f"The answer stands. Please see to it that whoever runs {agent} knows of it."
    )
    return about(shown, Purpose.UNTOLD, text)


def _in_brief(value: str | None) -> str | None:
    return None if value is None else in_brief(value)


def failure_message(shown: Suspension) -> Message:
    """To the person whose answer ended it: the agent's report of the failure."""
    ask, ended = shown.ask, shown.ended
    report = None if ended is None else ended.reported
    if ended is None or report is None:
        raise ValueError("the agent has reported nothing")
    more = f"\n\nMore: {report.url}" if report.url else ""
    text = (
        f"You answered “{in_brief(shown_value(shown, ended.value))}”. {ask.created_by} reports:\n"
        f"{told_report(report)}{more}\n\nThe question was:\n{ask.question}"
    )
    return about(shown, Purpose.FAILED, text)
