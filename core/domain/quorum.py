"""Quorum: more than one answer. Who has given one, whether another counts, and how many are missing.

Every counted answer is the same value by another person. What was counted stays: an answer is never taken back.

Source: API.md §4, ``answers_required``; docs/decisions/0009.
"""

from __future__ import annotations

import json
from datetime import datetime

from pydantic import JsonValue

from core.domain.copies import replace
from core.domain.people import canonical
from core.domain.suspension import Given, Status, Suspension
from core.domain.vocabulary import ANSWER_RECORDED, AnswerGiven, Event, Outcome
from core.domain.wire import instant


def is_shared(suspension: Suspension) -> bool:
    """Whether the question needs more than one person."""
    return suspension.ask.answers_required > 1


def answer_of(suspension: Suspension, identity: str) -> Given | None:
    """The answer that this person has given already."""
    return next((one for one in suspension.answers if canonical(one.by) == identity), None)


def differs(suspension: Suspension, value: JsonValue) -> bool:
    """Whether an answer that counts has another value."""
    return any(not same_value(one.value, value) for one in suspension.answers)


def same_value(one: JsonValue, other: JsonValue) -> bool:
    """Equality as JSON has it: ``true`` is not ``1``. Blanks around a text do not count."""
    return _written(one) == _written(other)


def counts(suspension: Suspension, signal: AnswerGiven) -> bool:
    return answer_of(suspension, signal.by) is None and not differs(suspension, signal.value)


def with_answer(suspension: Suspension, signal: AnswerGiven, now: datetime) -> Suspension:
    """The record with one more answer; where one is enough, it is kept as the end alone."""
    if not is_shared(suspension):
        return suspension
    given = Given(signal.by, signal.value, now, signal.channel, signal.reason)
    return replace(suspension, answers=(*suspension.answers, given))


def is_reached(suspension: Suspension) -> bool:
    return not is_shared(suspension) or len(suspension.answers) >= suspension.ask.answers_required


def received(suspension: Suspension) -> int:
    """How many people's answers count so far."""
    return len(suspension.answers) if is_shared(suspension) else int(suspension.status is Status.RESPONDED)


def responders(suspension: Suspension) -> list[JsonValue]:
    """Everybody whose answer counts, in the order of the answers."""
    return [one.by for one in suspension.answers]


def recorded(suspension: Suspension, signal: AnswerGiven, now: datetime) -> Outcome:
    """A partial answer, once it is counted: the question stays open."""
    payload: dict[str, JsonValue] = {
        "suspension_id": suspension.id,
        "value": signal.value,
        "responded_by": signal.by,
        "responded_at": instant(now),
        "channel": signal.channel,
        "received": received(suspension),
        "required": suspension.ask.answers_required,
    }
    return Outcome(suspension, (Event(ANSWER_RECORDED, payload, signal.by),))


def _written(value: JsonValue) -> str:
    return json.dumps(value.strip() if isinstance(value, str) else value, sort_keys=True)
