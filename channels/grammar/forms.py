"""Written forms: ``key: value`` or ``key = value`` lines, read by the form's schema. Source: facts on mail §B4."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from pydantic import JsonValue

from channels.grammar.phrases import FALSE, POLITE, SPEAKING, TRUE, Line, hedges, plain, questions_in
from core.domain.field_words import FieldFault, label_of, problem_in
from core.domain.known_fields import ALLOWED, KnownKind, fits, known_kind

_PAIR = re.compile(r"\s*(?:[-*•・]\s+)?[*_]{0,2}([^:：=]{1,80}?)[*_]{0,2}\s*[:：=][*_]{0,2}\s*(.*)\Z", re.DOTALL)
_NEGATION, _FEW_WORDS = SPEAKING["negation"], 3
_LOOKED_AT = 4_000
"""Characters of one field. A longer text is no answer by mail."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_DECIMAL = re.compile(r"([+-]?[0-9]{1,18})[.,]([0-9]{1,18})")
_GROUPED = re.compile(r"([+-]?[0-9]{1,3}(?:([.,' ])[0-9]{3})(?:\2[0-9]{3}){0,4})(?:[.,]([0-9]{1,18}))?")


class BadForm(ValueError):
    """The lines are not a filled-in form, or say more than one. ``code`` is the stable reason; ``fields`` are those
    that were read all the same. ``said`` says what is wrong with a field, for its writer."""

    def __init__(self, code: str, fields: Mapping[str, JsonValue] | None = None, said: str | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.fields = fields
        self.said = said


QUESTION, REMARK, UNFIT = "question", "remark", "unfit_field"
REMARKS = frozenset({QUESTION, REMARK})
"""The fields fit, and something in them may be about the answer."""


def form_schema_of(
    form_schema: Mapping[str, JsonValue] | None, context: Mapping[str, JsonValue]
) -> Mapping[str, JsonValue] | None:
    """What a form may hold: the agent's schema, else each key of ``context`` as a string, else anything (API.md §4)."""
    if form_schema is not None or not context:
        return form_schema
    properties: dict[str, JsonValue] = {
        key: {"type": "string"} if suggested is None else {"type": "string", "default": suggested}
        for key, suggested in context.items()
    }
    return {"type": "object", "properties": properties}


def as_lines(meant: JsonValue) -> str:
    """A form as its writer fills it in, one ``field: value`` a line; a text unchanged."""
    if not isinstance(meant, dict):
        return str(meant)
    shown = {name: one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for name, one in meant.items()}
    return "\n".join(f"{name}: {one}" for name, one in shown.items())


def read_form(lines: Sequence[str], schema: Mapping[str, JsonValue] | None) -> dict[str, JsonValue]:
    """The fields that ``lines`` fill in, with the types of ``schema`` (a flat object).

    A line without a key continues the text above it; an empty line ends that. Beside the fields only a greeting and
    thanks may stand. A field takes a value, not a remark: the value has to fit the schema or, if the schema says
    nothing, the field's name. If a free text may say more than its value, its writer is asked. The engine checks
    required fields. Raises :class:`BadForm`.
    """
    properties = form_properties(schema)
    names = field_names(properties)
    filled: dict[str, str] = {}
    current: str | None = None
    beside = False
    for line in lines:
        pair = _PAIR.match(line)
        if pair is None:
            if current is not None and line.strip() and _is_text(properties.get(current)):
                filled[current] += "\n" + line.strip()
            else:
                current = current if line.strip() else None
                beside |= not POLITE.make_up(Line.of(line[:200]).words)
            continue
        current = names.get(_plain(pair[1])) if properties else pair[1].strip()
        if current is None and not filled and not pair[2].strip():
            beside = True  # "Hello, here you are:"
            continue
        if current is None:
            raise BadForm("unknown_field")
        if current in filled:
            raise BadForm("field_given_twice")
        filled[current] = pair[2].strip()
    if not any(filled.values()):
        raise BadForm("no_field")
    fields = {name: _value(name, text, properties.get(name)) for name, text in filled.items() if text}
    unfit = [said for name in fields if (said := _unfit(name, fields[name], schema))]
    if unfit:
        raise BadForm(UNFIT, said=" ".join(unfit))
    if beside or any(map(questions_in, lines)):
        raise BadForm("beside_fields" if beside else QUESTION, fields)
    if any(_is_free(name, properties.get(name)) and _may_be_remark(one) for name, one in fields.items()):
        raise BadForm(REMARK, fields)
    return fields


def _value(name: str, text: str, field: JsonValue) -> JsonValue:
    """An IBAN may be written in groups, and over two lines."""
    return " ".join(text.split()) if _known(name, field) is not None else _typed(text, field)


def _known(name: str, field: JsonValue) -> KnownKind | None:
    return known_kind(name, field if isinstance(field, dict) else {})


def _unfit(name: str, value: JsonValue, schema: Mapping[str, JsonValue] | None) -> str | None:
    """Which field has an invalid value, and what is allowed there."""
    field = form_properties(schema).get(name)
    kind = _known(name, field)
    if kind is not None and not fits(kind, str(value)):
        return FieldFault(ALLOWED[kind]).of(label_of(name, field))
    problem = None if schema is None else problem_in(schema, name, value)
    return None if problem is None else problem.of(label_of(name, field))


def _is_free(name: str, field: JsonValue) -> bool:
    """Whether the field takes any words, and so perhaps a remark."""
    described = field if isinstance(field, dict) else {}
    if described.get("type") == "array":
        return _is_free(name, described.get("items"))
    return _is_text(field) and not described.keys() & {"format", "pattern", "const"} and _known(name, field) is None


def _may_be_remark(value: JsonValue) -> bool:
    """Whether a text says how sure its writer is, or adds something aside."""
    texts = value if isinstance(value, list) else [value]
    lines = [Line.of(one) for text in texts if isinstance(text, str) for one in text[:_LOOKED_AT].split("\n")]
    return any({"(", ")"} & {*line.words} or hedges(line) or _denies(line) for line in lines)


def _denies(line: Line) -> bool:
    """Whether the line denies: "not DE" may be a country, or mean any other country."""
    return 1 < len(line.words) <= _FEW_WORDS and line.words[:1] in _NEGATION


def _is_text(field: JsonValue) -> bool:
    """Whether the field takes any words; all other kinds are exactly one value."""
    if not isinstance(field, dict):
        return True
    return "enum" not in field and field.get("type", "string") == "string"


def form_properties(schema: Mapping[str, JsonValue] | None) -> Mapping[str, JsonValue]:
    properties = schema.get("properties") if schema else None
    return properties if isinstance(properties, dict) else {}


def field_names(properties: Mapping[str, JsonValue]) -> Mapping[str, str]:
    """The field that a written name means: its key, else its label, whatever the case and the accents. What could mean
    two fields means none."""
    keys = _only_ones((_plain(name), name) for name in properties)
    labels = _only_ones((_plain(label_of(name, field)), name) for name, field in properties.items())
    taken = {_plain(name) for name in properties}
    return {**{label: name for label, name in labels.items() if label not in taken}, **keys}


def field_named(written: str, properties: Mapping[str, JsonValue]) -> str | None:
    """The field that a line with ``written`` before its colon fills in."""
    pair = _PAIR.match(f"{written}: x")
    return field_names(properties).get(_plain(pair[1])) if pair is not None and pair[2] == "x" else None


def _only_ones(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for written, name in pairs:
        found.setdefault(written, set()).add(name)
    return {written: next(iter(names)) for written, names in found.items() if written and len(names) == 1}


def _plain(key: str) -> str:
    """Without case, accents of letters that people leave out, and signs between words. A mark of another script is a
    letter of its own."""
    parts = unicodedata.normalize("NFKD", key.replace("ß", "ss"))
    latin = "".join(one for one in parts if not "\u0300" <= one <= "\u036f")
    return re.sub(r"[\W_]+", " ", unicodedata.normalize("NFKC", latin)).strip().casefold()


def _typed(text: str, field: JsonValue) -> JsonValue:
    """``text`` as the type in the schema; unchanged if that fails, for the engine to refuse."""
    kind = field.get("type") if isinstance(field, dict) else "string"
    listed = field.get("enum") if isinstance(field, dict) else None
    if isinstance(listed, list):
        named = [one for one in listed if isinstance(one, str) and plain(one).casefold() == plain(text).casefold()]
        return named[0] if len(named) == 1 else _typed(text, {"type": kind}) if kind != "string" else text
    if kind == "array":
        items = field.get("items") if isinstance(field, dict) else None
        return [_typed(one.strip(), items) for one in re.split("[,、，]", text) if one.strip()]
    if kind == "boolean":
        words = Line.of(text).words
        yes, no = words in TRUE, words in FALSE
        return yes if yes != no else text
    if kind in {"integer", "number"}:
        figures = plain(text)
        return int(figures) if _INTEGER.fullmatch(figures) else _fraction(figures, text) if kind == "number" else text
    return text


def _fraction(figures: str, text: str) -> JsonValue:
    """A number with a decimal point or comma; ``text`` if "1.234" and "1,234" could be either."""
    decimal = _DECIMAL.fullmatch(figures)
    if decimal and (len(decimal[2]) != 3 or decimal[1].lstrip("+-") == "0"):
        return float(f"{decimal[1]}.{decimal[2]}")
    grouped = _GROUPED.fullmatch(figures)
    if grouped and grouped[3] and figures[grouped.end(1)] != grouped[2]:
        return float(re.sub("[.,' ]", "", grouped[1]) + "." + grouped[3])
    return text
