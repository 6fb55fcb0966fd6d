"""From a posted form to an answer's value. Pure; nothing is guessed: what can't be read is a problem beside its field.

Whether a value is an answer to the question is for ``core.domain.answers`` alone; here a field's own rules are only
asked early, so that the message can stand beside the field.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from pydantic import JsonValue

from bot.web.fields import Field, Kind, form_fields
from bot.web.posted import Posted
from channels.forms import BadForm, read_form
from core.domain.answers import check_answer
from core.domain.suspension import Ask, ResponseType
from core.errors import InvalidAnswer

LONGEST_REASON = 3_000
"""As in the API."""

CHOICE, ANSWER, REASON = "choice", "answer", "reason"

_INDEX = re.compile(r"[0-9]{1,5}")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LONGEST_SENTENCE = 160
_LINES_HINT = "Write one `name: value` to a line."


@dataclass(frozen=True, slots=True)
class Filled:
    """What somebody answered: a ``choice`` or a ``value``. ``problems`` are messages by the input they belong to;
    where there are any, nothing else counts."""

    value: JsonValue = None
    choice: int | None = None
    reason: str | None = None
    problems: Mapping[str, str] = field(default_factory=dict)


class NotThat(Exception):
    """What was entered is no value of that field; the text is for the person."""


def read_answer(ask: Ask, posted: Posted) -> Filled:
    """The answer to ``ask`` that ``posted`` holds. Raises :class:`bot.web.posted.BadPost`."""
    filled = _read(ask, posted)
    reason = posted.one(REASON).strip()
    if len(reason) > LONGEST_REASON:
        message = f"At most {LONGEST_REASON} characters."
        return replace(filled, problems={**filled.problems, REASON: message})
    return replace(filled, reason=reason or None)


def input_of(ask: Ask) -> str:
    """The input that a problem with the answer as a whole is shown at."""
    return CHOICE if ask.choices else ANSWER


def _read(ask: Ask, posted: Posted) -> Filled:
    match ask.response_type:
        case ResponseType.CHOICE | ResponseType.CONFIRM:
            return _read_choice(ask, posted.one(CHOICE))
        case ResponseType.TEXT:
            text = posted.one(ANSWER)
            return Filled(text) if text.strip() else Filled(problems={ANSWER: "Write your answer."})
        case ResponseType.FORM:
            fields = form_fields(ask.form_schema, ask.context)
            return _read_fields(ask, fields, posted) if fields else _read_lines(posted.one(ANSWER))


def _read_choice(ask: Ask, given: str) -> Filled:
    index = int(given) if _INDEX.fullmatch(given) else len(ask.choices)
    if index >= len(ask.choices):
        return Filled(problems={CHOICE: "Pick one of these."})
    return Filled(choice=index)


def _read_lines(text: str) -> Filled:
    """A form with nothing to go by: as in a mail, ``name: value`` lines."""
    try:
        return Filled(dict(read_form(text.splitlines(), None)))
    except BadForm:
        return Filled(problems={ANSWER: _LINES_HINT})


def _read_fields(ask: Ask, fields: Sequence[Field], posted: Posted) -> Filled:
    values: dict[str, JsonValue] = {}
    problems: dict[str, str] = {}
    for one in fields:
        try:
            given = _given(one, posted)
            if given:
                values[one.name] = _value(one, given)
            elif one.is_required:
                values[one.name] = _nothing(one)
        except NotThat as problem:
            problems[one.input] = str(problem)
            continue
        if one.name in values and (refusal := _refusal(ask, one, values[one.name])):
            problems[one.input] = refusal
    return Filled(values, problems=problems)


def _given(one: Field, posted: Posted) -> tuple[str, ...]:
    """What was entered, empty where nothing was. A text of blanks alone is nothing."""
    if one.kind is Kind.OPTIONS:
        return posted.all(one.input)
    text = posted.one(one.input)
    return (text,) if text.strip() else ()


def _nothing(one: Field) -> JsonValue:
    """The value of a required field that was left empty."""
    if one.nullable:
        return None
    if one.kind in {Kind.OPTIONS, Kind.LIST}:
        return []
    raise NotThat("Pick one of these." if one.kind is Kind.OPTION else "Fill this in.")


def _value(one: Field, given: tuple[str, ...]) -> JsonValue:
    match one.kind:
        case Kind.OPTION:
            return _option(one, given[0])
        case Kind.OPTIONS:
            return [_option(one, index) for index in given]
        case Kind.LIST:
            return [_scalar(one.item, line.strip()) for line in given[0].splitlines() if line.strip()]
        case _:
            return _scalar(one.kind, given[0])


def _option(one: Field, given: str) -> JsonValue:
    index = int(given) if _INDEX.fullmatch(given) else len(one.options)
    if index >= len(one.options):
        raise NotThat("Pick one of these.")
    return one.options[index].value


def _scalar(kind: Kind, text: str) -> JsonValue:
    match kind:
        case Kind.INTEGER:
            if not _INTEGER.fullmatch(text.strip()):
                raise NotThat("Enter a whole number, such as 12.")
            return int(text)
        case Kind.NUMBER:
            if not _NUMBER.fullmatch(text.strip()):
                raise NotThat("Enter a number, such as 12.5.")
            return float(text) if "." in text else int(text)
        case Kind.DATE:
            return _day(text.strip())
        case Kind.EMAIL:
            return text.strip()
        case _:
            return text


def _day(text: str) -> str:
    if _DATE.fullmatch(text):
        with contextlib.suppress(ValueError):  # 2026-02-30: no date either
            return date.fromisoformat(text).isoformat()
    raise NotThat("Enter a date, such as 2026-03-24.")


def _refusal(ask: Ask, one: Field, value: JsonValue) -> str | None:
    """What the schema says of this field alone. Its sentences begin with the value, so they help with short ones."""
    if isinstance(value, str) and one.longest is not None and len(value) > one.longest:
        return f"At most {one.longest} characters; this has {len(value)}."
    schema, properties = ask.form_schema, (ask.form_schema or {}).get("properties")
    if schema is None or not isinstance(properties, dict):
        return None
    shared = {name: schema[name] for name in ("$schema", "$defs", "definitions") if name in schema}
    alone = {**shared, "type": "object", "properties": {one.name: properties[one.name]}}
    try:
        check_answer(replace(ask, form_schema=alone), {one.name: value})
    except InvalidAnswer as refusal:
        said = refusal.message.partition(f": {one.name}: ")[2] or refusal.message
        return said[:1].upper() + said[1:] if len(said) < _LONGEST_SENTENCE else "This does not fit what is asked for."
    return None
