"""Undo: for some seconds, whoever has given the answer that ends a question can take it back.

Meanwhile the question is open: the agent hears nothing of the answer, no attempt goes out, nobody else can answer. An
answer counts from when it was given. The end of the question comes first: no answer can be undone after it.

Source: docs/decisions/0124.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from pydantic import JsonValue

from core.domain.people import canonical
from core.domain.suspension import Suspension, UndoableAnswer
from core.domain.vocabulary import ANSWER_PENDING, ANSWER_UNDONE, AnswerGiven, Event, Outcome, Undone
from core.domain.wire import instant, via_json


def wait_for_it(suspension: Suspension, signal: AnswerGiven, now: datetime) -> Outcome:
    """The answer waits until it can't be undone any more, at most until the question's end by silence."""
    end = suspension.expires_at
    until = now + signal.undo if end is None else min(now + signal.undo, end)
    answer = UndoableAnswer(
        signal.value, signal.by, now, until, signal.channel, signal.reason, signal.metadata, signal.evidence
    )
    payload: dict[str, JsonValue] = {
        "suspension_id": suspension.id,
        "responded_by": signal.by,
        "channel": signal.channel,
        "until": instant(until),
    }
    return Outcome(replace(suspension, undoable=answer), (Event(ANSWER_PENDING, payload, signal.by),))


def for_good(answer: UndoableAnswer) -> AnswerGiven:
    """The signal that ends the question."""
    return AnswerGiven(answer.value, answer.by, answer.channel, answer.reason, answer.metadata, answer.via)


def is_theirs(suspension: Suspension, identity: str) -> bool:
    """Whether ``identity`` is who can undo the answer."""
    return suspension.undoable is not None and canonical(suspension.undoable.by) == canonical(identity)


def undo(suspension: Suspension, signal: Undone) -> Outcome:
    """The answer is void; the log keeps what it was."""
    answer = suspension.undoable
    if answer is None or not is_theirs(suspension, signal.by):
        return Outcome(suspension)
    payload: dict[str, JsonValue] = {
        "suspension_id": suspension.id,
        "value": answer.value,
        "reason": answer.reason,
        "responded_by": answer.by,
        "responded_at": instant(answer.at),
        "channel": signal.channel,
        "via": None if answer.via is None else via_json(answer.via),
    }
    return Outcome(replace(suspension, undoable=None), (Event(ANSWER_UNDONE, payload, signal.by),))
