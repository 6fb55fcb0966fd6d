"""Quorum: questions that need more than one answer. Who has answered, how many each value needs, and which value is
reached.

Each person has one answer, and may change it until the end. A value is reached when as many people have given it as it
needs: a negative value needs one, any other as many as the question asks for, unless the choice says otherwise.

Source: API.md §4, "Several answers"; docs/decisions/0009.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from pydantic import JsonValue

from core.domain.people import canonical
from core.domain.suspension import Ask, PartialAnswer, Status, Suspension, Via
from core.domain.vocabulary import ANSWER_CHANGED, ANSWER_RECORDED, AnswerGiven, Event, Outcome
from core.domain.wire import instant, via_json


@dataclass(frozen=True, slots=True)
class Count:
    """How many people have given one value, and how many it needs."""

    received: int
    required: int

    @property
    def is_reached(self) -> bool:
        return self.received >= self.required


def is_shared(suspension: Suspension) -> bool:
    """Whether an answer to the question may need more than one person."""
    return suspension.ask.answers_required > 1


def required(ask: Ask, value: JsonValue) -> int:
    """How many people have to give this value: the choice's own number, 1 for a negative, else the question's."""
    choice = ask.choice(value)
    if choice is not None and choice.answers_required is not None:
        return choice.answers_required
    return 1 if ask.is_negative(value) else ask.answers_required


def answer_of(suspension: Suspension, identity: str) -> PartialAnswer | None:
    """This person's current answer."""
    return next((one for one in suspension.answers if canonical(one.by) == identity), None)


def same_value(one: JsonValue, other: JsonValue) -> bool:
    """Equality as in JSON: ``true`` is not ``1``. Blanks around a text do not count."""
    return _written(one) == _written(other)


def count(suspension: Suspension, value: JsonValue) -> Count:
    """The count of this value."""
    given = sum(same_value(one.value, value) for one in suspension.answers)
    return Count(given, required(suspension.ask, value))


def counts(suspension: Suspension) -> dict[str, Count]:
    """The count of each choice, by its value, in order; of a text or a form, of each value that was given."""
    choices = [choice.value for choice in suspension.ask.choices]
    values: list[JsonValue] = [*choices] or [one.value for one in suspension.answers]
    return {_named(value): count(suspension, value) for value in values}


def with_answer(suspension: Suspension, signal: AnswerGiven, now: datetime) -> Suspension:
    """The record with this person's answer in place of their earlier one. If one answer is enough for every value,
    only the end keeps it."""
    if not is_shared(suspension):
        return suspension
    given = PartialAnswer(signal.by, signal.value, now, signal.channel, signal.reason, signal.evidence)
    others = tuple(one for one in suspension.answers if canonical(one.by) != canonical(signal.by))
    return replace(suspension, answers=(*others, given))


def is_reached(suspension: Suspension, value: JsonValue) -> bool:
    return not is_shared(suspension) or count(suspension, value).is_reached


def can_be_reached(suspension: Suspension, silent: int) -> bool:
    """Whether any value could still reach its number if the ``silent`` people who have not answered yet gave it."""
    if not suspension.ask.choices and silent >= suspension.ask.answers_required:
        return True
    return any(one.received + silent >= one.required for one in counts(suspension).values())


def received(suspension: Suspension) -> int:
    """How many people have answered so far."""
    return len(suspension.answers) if is_shared(suspension) else int(suspension.status is Status.RESPONDED)


def responders(suspension: Suspension, value: JsonValue) -> list[JsonValue]:
    """Everybody who gave this value, in the order of the answers."""
    return [one.by for one in suspension.answers if same_value(one.value, value)]


def decisions(suspension: Suspension) -> Iterator[tuple[str, Via]]:
    """Everybody who gave the answer that counts, and how; nobody after silence or a cancellation."""
    ended = suspension.ended
    if ended is None or suspension.status is not Status.RESPONDED:
        return
    if suspension.answers:
        given = [one for one in suspension.answers if same_value(one.value, ended.value)]
        yield from ((one.by, one.via or Via(one.channel)) for one in given)
    elif ended.by is not None:
        yield ended.by, ended.via or Via(ended.channel or "")


def recorded(before: Suspension, suspension: Suspension, signal: AnswerGiven, now: datetime) -> Outcome:
    """An answer that does not end the question: this person's first, or a changed one."""
    changed = answer_of(before, canonical(signal.by)) is not None
    so_far = count(suspension, signal.value)
    payload: dict[str, JsonValue] = {
        "suspension_id": suspension.id,
        "value": signal.value,
        "responded_by": signal.by,
        "responded_at": instant(now),
        "channel": signal.channel,
        "received": so_far.received,
        "required": so_far.required,
        "via": via_json(signal.evidence),
    }
    return Outcome(suspension, (Event(ANSWER_CHANGED if changed else ANSWER_RECORDED, payload, signal.by),))


def _named(value: JsonValue) -> str:
    return value if isinstance(value, str) else _written(value)


def _written(value: JsonValue) -> str:
    return json.dumps(value.strip() if isinstance(value, str) else value, sort_keys=True)
