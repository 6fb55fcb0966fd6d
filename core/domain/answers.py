"""Answers: whether a value answers a question, and :class:`GivenAnswer`, an answer on its way in. Pure.

:func:`check_answer` checks the value against the question's response type, choices or form. Whether the person may
answer, and whether the answer still counts, is decided in ``core.engine.permissions`` and ``machine``.

Source: RFC-0025 §8; API.md §4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from core.domain.field_words import described_in, label_of, problems_in
from core.domain.json_schema import first_problem
from core.domain.people import Actor
from core.domain.suspension import Ask, ResponseType, Sight, Status, Suspension, Via
from core.domain.wire import ChoiceReply, plain, reply_of
from core.errors import InvalidAnswer, InvalidChoice, ResumePayloadInvalid

LONGEST_TEXT = 40_000


def check_answer(ask: Ask, value: JsonValue) -> JsonValue:
    """``value`` as it is stored; raises :class:`InvalidAnswer` if it does not answer this question."""
    match ask.response_type:
        case ResponseType.CHOICE | ResponseType.CONFIRM:
            return _check_choice(ask, value)
        case ResponseType.TEXT:
            return _check_text(value)
        case ResponseType.FORM:
            return _check_form(ask, value)


def chosen(ask: Ask, index: int) -> JsonValue:
    """The stored value of the choice at ``index``; an index out of range is not an answer."""
    if not 0 <= index < len(ask.choices):
        raise _invalid_choice(ask, f"There is no choice number {index + 1}")
    return ask.choices[index].value


def check_resume_payload(ask: Ask, value: JsonValue, reason: str | None) -> None:
    """Raises :class:`ResumePayloadInvalid` if the agent's ``payload_schema`` refuses the payload."""
    schema = ask.resume.payload_schema
    if schema is None:
        return
    problem = first_problem(schema, signal_payload(ask, value, reason))
    if problem is not None:
        raise ResumePayloadInvalid(f"The answer does not fit the agent's payload_schema: {problem}.", path="value")


def signal_payload(ask: Ask, value: JsonValue, reason: str | None) -> JsonValue:
    """The payload that resumes a signal-driven agent: the object itself for a form, else the response and its
    reason."""
    if ask.response_type is ResponseType.FORM and isinstance(value, dict):
        return value
    return {"response": value, "reason": reason}


def recorded_payload(suspension: Suspension) -> JsonValue:
    """The payload of an ended question: the answer, or the value agreed for silence.

    ``None`` while the question is open, and if it ended without either: a payload is never made up.
    """
    ended = suspension.ended
    if ended is None or ended.error is not None or suspension.status is Status.CANCELLED:
        return None
    return signal_payload(suspension.ask, ended.value, ended.reason)


def _check_choice(ask: Ask, value: JsonValue) -> JsonValue:
    if not isinstance(value, str) or ask.choice(value) is None:
        shown = f"{value!r}"[:80]
        raise _invalid_choice(ask, f"{shown} is not one of the choices")
    return value


def _invalid_choice(ask: Ask, what: str) -> InvalidChoice:
    expected = ", ".join(repr(choice.value) for choice in ask.choices[:20])
    return InvalidChoice(
        f"{what}; expected one of: {expected}.", valid_choices=[plain(reply_of(ChoiceReply, c)) for c in ask.choices]
    )


def _check_text(value: JsonValue) -> JsonValue:
    if not isinstance(value, str) or not value.strip():
        raise InvalidAnswer("The answer must be a text that is not empty.")
    if len(value) > LONGEST_TEXT:
        raise InvalidAnswer(f"The answer is too long: at most {LONGEST_TEXT} characters.")
    return value


def _check_form(ask: Ask, value: JsonValue) -> JsonValue:
    if ask.form_schema is None:
        return value
    schema = ask.form_schema
    problem = first_problem(schema, value)
    if problem is None:
        return value
    wrong = problems_in(schema, value) if isinstance(value, dict) else []
    if not wrong:
        raise InvalidAnswer(f"The form is not filled in as asked: {problem}.")
    told = [said.of(label_of(name, described_in(schema, name))) for name, said in wrong[:_MOST_TOLD]]
    more = f" And {len(wrong) - _MOST_TOLD} more." if len(wrong) > _MOST_TOLD else ""
    fields: list[JsonValue] = [{"path": f"value.{name}", "message": said.beside} for name, said in wrong]
    raise InvalidAnswer(f"The form is not filled in as asked: {' '.join(told)}{more}", fields=fields)


_MOST_TOLD = 10
"""Fields in one sentence."""


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """A person's answer to one suspension.

    ``choice`` is an index into the stored choices and replaces ``value``: a button or a number, because the shown label
    need not be the stored value. ``intent_id``, if given, must be the suspension's own. ``named`` is the responder that
    the request names: another than ``by`` only if ``by`` is a trusted gateway. ``sight`` is how much of the question
    was shown with the answer. ``via`` is the evidence of it. ``can_undo``: whoever gave it there can undo it there.
    """

    suspension_id: str
    by: Actor
    channel: str
    value: JsonValue = None
    choice: int | None = None
    reason: str | None = None
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    intent_id: str | None = None
    named: str | None = None
    sight: Sight = Sight.MESSAGE
    via: Via | None = None
    can_undo: bool = False
