"""Forms on a page: their inputs, a strict parser of the posted body, and the answer's value from it.

The fields are those of ``core.domain.forms``. An unreadable value is a problem beside its field. A field's own rules
are checked early only so that the message stands beside it.

The body is parsed here and not by ``python-multipart``, which silently replaces bytes that are not UTF-8: an answer
would be recorded that nobody typed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qsl

from pydantic import JsonValue
from starlette.requests import Request

from channels.grammar.forms import REMARKS, BadForm, read_form
from core.domain import forms
from core.domain.forms import Field, FieldKind, NotThat, pick, read_one, read_scalar
from core.domain.suspension import Ask, ResponseType
from core.domain.wording import shortened


def form_fields(schema: Mapping[str, JsonValue] | None, context: Mapping[str, JsonValue]) -> tuple[Field, ...]:
    """Empty if there is neither a schema nor a context; then the answer is written as ``name: value`` lines."""
    return forms.form_fields(schema, context, shown)


def shown(value: JsonValue) -> str:
    """A value as text; numbers and lists as JSON writes them."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if value is None:
        return "—"
    return json.dumps(value, ensure_ascii=False, indent=2 if isinstance(value, dict | list) else None)


LARGEST_FORM = 768 * 1024
"""Bytes. The longest text, every character of it percent-encoded, fits."""

MOST_FIELDS = 5_000
_FORM = "application/x-www-form-urlencoded"


class BadPost(Exception):
    """The body is not a form of our pages. ``status`` and ``message`` are for the person."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True, slots=True)
class Posted:
    """The fields of a form, each with all its values."""

    fields: Mapping[str, tuple[str, ...]]

    def one(self, name: str) -> str:
        """The field's value, empty if it has none; raises :class:`BadPost` if it has several."""
        values = self.fields.get(name, ())
        if len(values) > 1:
            raise BadPost(400, "The form held a field twice.")
        return values[0] if values else ""

    def all(self, name: str) -> tuple[str, ...]:
        return self.fields.get(name, ())


NOTHING = Posted({})


async def read_post(request: Request) -> Posted:
    """The form in ``request``; raises :class:`BadPost`."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != _FORM:
        raise BadPost(400, "The request held no form.")
    return parse_form(await _body(request))


def parse_form(body: bytes) -> Posted:
    """Raises :class:`BadPost` for bytes that are not a form, or that no database can store."""
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS, separator="&"
        )
    except ValueError:  # no ASCII, no UTF-8 behind the percent signs, or too many fields
        raise BadPost(400, "A field of the form is not text.") from None
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        if "\x00" in name or "\x00" in value:
            raise BadPost(400, "A field of the form is not text.")
        # browsers send the lines of a text with CR LF, whatever was typed (HTML, "constructing the entry list")
        fields.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return Posted({name: tuple(values) for name, values in fields.items()})


async def _body(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_FORM:
            raise BadPost(413, "That is too long.")
    return body


LONGEST_REASON = 3_000
"""As in the API."""

CHOICE, ANSWER, REASON = "choice", "answer", "reason"

_INDEX = re.compile(r"[0-9]{1,5}")
_LINES_HINT = "Write one `name: value` to a line."


@dataclass(frozen=True, slots=True)
class Filled:
    """A person's answer: a ``choice`` or a ``value``. ``problems`` are messages by input; if there are any, nothing
    else counts."""

    value: JsonValue = None
    choice: int | None = None
    reason: str | None = None
    problems: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FormError:
    """What is wrong in one input, for the list above the form. ``label`` is what people call the input."""

    input: str
    label: str
    message: str


_LABELS = {CHOICE: "Your answer", ANSWER: "Your answer", REASON: "Reason", "clarify": "Your question", "to": "To whom"}
_LONGEST_LABEL = 80


def form_errors(fields: Sequence[Field], problems: Mapping[str, str]) -> tuple[FormError, ...]:
    """Every problem, in the order of the page."""
    named = {CHOICE: _LABELS[CHOICE], ANSWER: _LABELS[ANSWER], **{one.input: one.label for one in fields}, **_LABELS}
    labels = {at: shortened(" ".join(label.split()), _LONGEST_LABEL) for at, label in named.items()}
    return tuple(FormError(at, label, problems[at]) for at, label in labels.items() if at in problems)


def read_answer(ask: Ask, posted: Posted) -> Filled:
    """The answer to ``ask`` in ``posted``. Raises :class:`bot.web.pages.forms.BadPost`."""
    filled = _read(ask, posted)
    reason = posted.one(REASON).strip()
    if len(reason) > LONGEST_REASON:
        message = f"At most {LONGEST_REASON} characters."
        return replace(filled, problems={**filled.problems, REASON: message})
    return replace(filled, reason=reason or None)


def input_of(ask: Ask) -> str:
    """The input that shows a problem with the answer as a whole."""
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
    """A form without a schema: ``name: value`` lines, as in a mail."""
    try:
        return Filled(dict(read_form(text.splitlines(), None)))
    except BadForm as bad:
        if bad.code in REMARKS and bad.fields is not None:  # a person who fills in a page means all of it
            return Filled(dict(bad.fields))
        return Filled(problems={ANSWER: bad.said or _LINES_HINT})


def _read_fields(ask: Ask, fields: Sequence[Field], posted: Posted) -> Filled:
    values: dict[str, JsonValue] = {}
    problems: dict[str, str] = {}
    for one in fields:
        try:
            given = _given(one, posted)
            if given:
                values[one.name] = _value(one, given)
            elif one.is_required:
                values[one.name] = _nothing(ask, one)
        except _Unfilled as problem:
            problems[one.input] = str(problem)
            continue
        except NotThat as problem:
            problems[one.input] = forms.misread(ask.form_schema, one, problem)
            continue
        if one.name in values and (said := forms.refusal(ask.form_schema, one, values[one.name])):
            problems[one.input] = said
    return Filled(values, problems=problems)


def _given(one: Field, posted: Posted) -> tuple[str, ...]:
    """The entered values, empty if there are none. A text of only blanks is empty."""
    if one.kind is FieldKind.OPTIONS:
        return posted.all(one.input)
    text = posted.one(one.input)
    return (text,) if text.strip() else ()


class _Unfilled(NotThat):
    """A required field is empty."""


def _nothing(ask: Ask, one: Field) -> JsonValue:
    """The value of an empty required field."""
    if one.nullable:
        return None
    if one.kind in {FieldKind.OPTIONS, FieldKind.LIST}:
        return []
    raise _Unfilled(forms.unfilled(ask.form_schema, one))


def _value(one: Field, given: tuple[str, ...]) -> JsonValue:
    match one.kind:
        case FieldKind.OPTION:
            return _option(one, given[0])
        case FieldKind.OPTIONS:
            return [_option(one, index) for index in given]
        case FieldKind.LIST:
            return [read_scalar(one.item, line.strip()) for line in given[0].splitlines() if line.strip()]
        case _:
            return read_one(one, given[0])


def _option(one: Field, given: str) -> JsonValue:
    return pick(one, int(given) if _INDEX.fullmatch(given) else None)
