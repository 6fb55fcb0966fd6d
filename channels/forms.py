"""Reads a form that was filled in as ``key: value`` lines. Source: facts on mail §B4."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from channels.phrases import Line, Phrases
from channels.vocabulary import SPOKEN_NO, SPOKEN_YES
from channels.words import LOCALES

_PAIR = re.compile(r"\s*(?:[-*•・]\s+)?[*_]{0,2}([^:：]{1,80}?)[*_]{0,2}\s*[:：][*_]{0,2}\s*(.*)\Z", re.DOTALL)
_TRUE = SPOKEN_YES | Phrases.named("true", LOCALES.values())
_FALSE = SPOKEN_NO | Phrases.named("false", LOCALES.values())
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_DECIMAL = re.compile(r"([+-]?[0-9]{1,18})[.,]([0-9]{1,18})")
_GROUPED = re.compile(r"([+-]?[0-9]{1,3}(?:([.,' ])[0-9]{3})(?:\2[0-9]{3}){0,4})(?:[.,]([0-9]{1,18}))?")


class BadForm(ValueError):
    """The lines are no filled-in form. ``code`` says why, and is stable."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def form_schema_of(
    form_schema: Mapping[str, JsonValue] | None, context: Mapping[str, JsonValue]
) -> Mapping[str, JsonValue] | None:
    """What a form may hold: the agent's schema, else each key of ``context`` as a string, else anything (API.md §4)."""
    if form_schema is not None or not context:
        return form_schema
    return {"type": "object", "properties": {key: {"type": "string"} for key in context}}


def field_names(schema: Mapping[str, JsonValue] | None) -> list[str]:
    return list(_properties(schema))


def read_form(lines: Sequence[str], schema: Mapping[str, JsonValue] | None) -> dict[str, JsonValue]:
    """The fields that ``lines`` fill in, as the types that ``schema`` (a flat object) gives them.

    A line without a key continues the field above it; an empty line ends that. What comes before the first field is a
    greeting, what comes after the last one a farewell. Whether every required field is there is the engine's to
    check. Raises :class:`BadForm` where a field is given twice or is not in the schema.
    """
    properties = _properties(schema)
    names = {_plain(str(shown)): name for name, field in properties.items() for shown in (name, _title(field, name))}
    filled: dict[str, str] = {}
    current: str | None = None
    for line in lines:
        pair = _PAIR.match(line)
        if pair is None:
            if current is not None and line.strip():
                filled[current] += "\n" + line.strip()
            else:
                current = None
            continue
        current = names.get(_plain(pair[1])) if properties else pair[1].strip()
        if current is None and not filled and not pair[2].strip():
            continue  # "Hello, here you are:"
        if current is None:
            raise BadForm("unknown_field")
        if current in filled:
            raise BadForm("field_given_twice")
        filled[current] = pair[2].strip()
    if not any(filled.values()):
        raise BadForm("no_field")
    return {name: _typed(text, properties.get(name)) for name, text in filled.items() if text}


def _properties(schema: Mapping[str, JsonValue] | None) -> Mapping[str, JsonValue]:
    properties = schema.get("properties") if schema else None
    return properties if isinstance(properties, dict) else {}


def _title(field: JsonValue, name: str) -> JsonValue:
    return field.get("title", name) if isinstance(field, dict) else name


def _plain(key: str) -> str:
    return re.sub(r"[\W_]+", " ", unicodedata.normalize("NFKC", key)).strip().casefold()


def _typed(text: str, field: JsonValue) -> JsonValue:
    """``text`` as the type that the schema wants; as it is where it can't be, for the engine to refuse."""
    kind = field.get("type") if isinstance(field, dict) else "string"
    if kind == "array":
        items = field.get("items") if isinstance(field, dict) else None
        return [_typed(one.strip(), items) for one in re.split("[,、，]", text) if one.strip()]
    if kind == "boolean":
        words = Line.of(text).words
        yes, no = words in _TRUE.listed, words in _FALSE.listed
        return yes if yes != no else text
    if kind in {"integer", "number"}:
        plain = unicodedata.normalize("NFKC", text).strip()
        return int(plain) if _INTEGER.fullmatch(plain) else _fraction(plain, text) if kind == "number" else text
    return text


def _fraction(plain: str, text: str) -> JsonValue:
    """A number with a decimal point or comma; ``text`` where "1.234" and "1,234" could be either."""
    decimal = _DECIMAL.fullmatch(plain)
    if decimal and (len(decimal[2]) != 3 or decimal[1].lstrip("+-") == "0"):
        return float(f"{decimal[1]}.{decimal[2]}")
    grouped = _GROUPED.fullmatch(plain)
    if grouped and grouped[3] and plain[grouped.end(1)] != grouped[2]:
        return float(re.sub("[.,' ]", "", grouped[1]) + "." + grouped[3])
    return text
