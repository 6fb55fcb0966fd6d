"""Field words: what a field of a form takes, and what is wrong with a value in it, for whoever fills it in. Pure.

The agent's own ``errorMessage`` comes first. Without one, the words are made of the field's schema: its pattern,
bounds, options, format and examples. A raw pattern or the schema library's own sentence is never among them. Every
channel says the same: :class:`FieldFault`. What is said holds the agent's words: a channel redacts and escapes it
like all else.

Source: API.md §4; https://ajv.js.org/packages/ajv-errors.html (``errorMessage``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from core.domain.error_messages import ERROR_MESSAGE, REST
from core.domain.json_schema import Violation, fits_alone, violations_in
from core.domain.known_fields import ALLOWED
from core.domain.pattern_words import pattern_words

Schema = Mapping[str, JsonValue]

NO_WORDS = "This does not fit what is asked for."
MISSING, NOT_PICKED = "Fill this in.", "Pick one of these."
LONGEST_EXAMPLE = 60
LONGEST_LABEL = 80
_LONGEST_HINT = 200
_MOST_LISTED = 20
_LONGEST_LIST = 300
_HIDDEN_EXAMPLE = re.compile(r", such as \[redacted: [^\[\]]{1,40}\]")

_FIRST = ("type", "enum", "const", "oneOf", "anyOf", "format", "pattern")
"""Of several things that are wrong, the one that says most."""
_NUMERIC = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_LENGTHS = frozenset({"minLength", "maxLength"})


@dataclass(frozen=True, slots=True)
class FieldFault:
    """What is wrong in one field: what it ``takes``, after "must be", or a whole sentence."""

    takes: str | None = None
    sentence: str = NO_WORDS

    @property
    def beside(self) -> str:
        """For a place beside the field."""
        return self.sentence if self.takes is None else f"Enter {self.takes}."

    def of(self, label: str) -> str:
        """For a text that names the field."""
        called = " ".join(label.split())
        called = called if len(called) <= LONGEST_LABEL else f"{called[: LONGEST_LABEL - 1]}…"
        return f"“{called}”: {self.sentence}" if self.takes is None else f"“{called}” must be {self.takes}."


def label_of(name: str, described: object) -> str:
    """What people call the field: its title, else its name."""
    title = described.get("title") if isinstance(described, dict) else None
    return title if isinstance(title, str) and title.strip() else name


def shown_with(said: str, hide: Callable[[str], str]) -> str:
    """``said`` as a channel may show it. An example that is redacted is left out: it would be of no use."""
    return _HIDDEN_EXAMPLE.sub("", hide(said))


def problem_in(schema: Schema, name: str, value: JsonValue) -> FieldFault | None:
    """What is wrong with ``value`` in the field ``name`` of a form's ``schema``; ``None`` for nothing."""
    found = violations_in(schema, name, value)
    if not found:
        return None
    rank = {keyword: number for number, keyword in enumerate(_FIRST)}
    found = sorted(found, key=lambda one: rank.get(one.keyword, len(rank)))
    own = next(filter(None, (_own(schema, name, one.keyword) for one in found)), None)
    if own is None and (own := _whole(schema)) is None:
        return _made(described_in(schema, name), found[0], value)
    return FieldFault(sentence=own)


def unreadable(schema: Schema | None, name: str, keyword: str, otherwise: str) -> str:
    """What is said beside a field whose input is no value of its kind: the agent's words, else those of its bounds,
    else ``otherwise``. ``keyword`` is the one that such an input breaks."""
    if schema is None:
        return otherwise
    own = _own(schema, name, keyword) or _whole(schema)
    if own is not None:
        return own
    takes = _number(described_in(schema, name)) if keyword == "type" else None
    return otherwise if takes is None else FieldFault(takes).beside


def missing(schema: Schema | None, name: str, otherwise: str = MISSING) -> FieldFault:
    """What is wrong with a required field that is empty."""
    own = None if schema is None else _own(schema, name, "required", alone=True) or _whole(schema)
    return FieldFault(sentence=otherwise if own is None else own)


def problems_in(schema: Schema, value: Mapping[str, JsonValue]) -> list[tuple[str, FieldFault]]:
    """What is wrong in each field that ``value`` does not fill in as it has to, in the form's order."""
    properties, needed = schema.get("properties"), schema.get("required")
    found: list[tuple[str, FieldFault]] = []
    for name in properties if isinstance(properties, dict) else ():
        if name in value:
            problem = problem_in(schema, name, value[name])
            found += [] if problem is None else [(name, problem)]
        elif name in (needed if isinstance(needed, list) else []):
            found.append((name, missing(schema, name)))
    return found


def described_in(schema: Schema, name: str) -> Schema:
    """The field's own schema."""
    properties = schema.get("properties")
    described = properties.get(name) if isinstance(properties, dict) else None
    return described if isinstance(described, dict) else {}


def takes_in(described: Schema) -> str | None:
    """What the field takes, with an example; ``None`` if its schema says nothing of that."""
    takes = next(filter(None, (_takes(described, one) for one in ("format", "pattern", "type"))), None)
    example = example_in(described)
    if example is None or (takes is not None and ("such as" in takes or takes.startswith("one of"))):
        return takes
    return f"such as {example}" if takes is None else f"{takes}, such as {example}"


def example_in(described: Schema) -> str | None:
    """The first of the agent's examples that is short, and that the field takes."""
    for one in _list(described.get("examples"))[:_MOST_LISTED]:
        text = _text(one)
        is_plain = isinstance(one, str | int | float) and not isinstance(one, bool)
        is_short = text.isprintable() and 0 < len(text.strip()) <= len(text) <= LONGEST_EXAMPLE
        if is_plain and is_short and fits_alone(described, one):
            return text.strip()
    return None


# --- The agent's own words -------------------------------------------------------------------------------------------


def _own(schema: Schema, name: str, keyword: str, *, alone: bool = False) -> str | None:
    """The agent's words for a field in which ``keyword`` is broken. ``alone``: only words for exactly that."""
    field = described_in(schema, name).get(ERROR_MESSAGE)
    if isinstance(field, str):
        return None if alone else field
    given = field if isinstance(field, dict) else {}
    form = schema.get(ERROR_MESSAGE)
    of_form = form if isinstance(form, dict) else {}
    needed, each = of_form.get(keyword) if alone else None, of_form.get("properties")
    found = [given.get(keyword), needed.get(name) if isinstance(needed, dict) else needed]
    if not alone:
        found += [given.get(REST), each.get(name) if isinstance(each, dict) else None]
    return next((one for one in found if isinstance(one, str)), None)


def _whole(schema: Schema) -> str | None:
    """The agent's words for whatever is wrong in the form."""
    form = schema.get(ERROR_MESSAGE)
    said = form.get(REST) if isinstance(form, dict) else form
    return said if isinstance(said, str) else None


# --- Words made of the schema ----------------------------------------------------------------------------------------


def _made(described: Schema, wrong: Violation, value: JsonValue) -> FieldFault:
    part = _part(described, wrong.way)
    keyword = wrong.keyword
    if keyword in {"anyOf", "oneOf"} and not _listed(part):
        others = [one for one in _list(part.get(keyword)) if isinstance(one, dict) and one.get("type") != "null"]
        part = others[0] if len(others) == 1 else {}
        keyword = "pattern" if "pattern" in part else "type"
    takes = _takes(part, keyword)
    if takes is not None:
        example = example_in(described) if part is described and keyword in {"pattern", *_LENGTHS} else None
        return FieldFault(f"{takes}, such as {example}" if example else takes)
    return FieldFault(sentence=_sentence(described, keyword, part, wrong.value))


def _takes(part: Schema, keyword: str) -> str | None:
    """What fits there, after "must be"; ``None`` if there are no words for it."""
    if options := _listed(part):
        listed = ", ".join(options)
        is_short = len(options) <= _MOST_LISTED and len(listed) <= _LONGEST_LIST
        return f"one of: {listed}" if is_short else "one of the options"
    if keyword == "format":
        return ALLOWED.get(str(part.get("format")))
    if keyword == "pattern" or keyword in _LENGTHS:
        return pattern_words(str(part.get("pattern", "")))
    return _number(part) if keyword == "type" or keyword in _NUMERIC else None


def _number(part: Schema) -> str | None:
    """``a whole number from 1 to 500``; also yes or no."""
    types = part.get("type")
    named = [one for one in (types if isinstance(types, list) else [types]) if one != "null"]
    if named == ["boolean"]:
        return "yes or no"
    if not named or not set(named) <= {"integer", "number"}:
        return None
    noun, such = ("a whole number", "12") if named == ["integer"] else ("a number", "12.5")
    words = _bounds(part)
    if (step := _bound(part, "multipleOf")) is not None and not (step == "1" and named == ["integer"]):
        words = f"{words} that is a multiple of {step}"
    return f"{noun}{words}" if words else f"{noun}, such as {such}"


def _bounds(part: Schema) -> str:
    low, high = _bound(part, "minimum"), _bound(part, "maximum")
    above, below = _bound(part, "exclusiveMinimum"), _bound(part, "exclusiveMaximum")
    if low is not None and high is not None and above is None and below is None:
        return f" from {low} to {high}"
    said = [
        *([f"of at least {low}"] if low is not None and above is None else []),
        *([f"above {above}"] if above is not None else []),
        *([f"of at most {high}"] if high is not None and below is None else []),
        *([f"below {below}"] if below is not None else []),
    ]
    return f" {' and '.join(said)}" if said else ""


def _bound(part: Schema, keyword: str) -> str | None:
    value = part.get(keyword)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else f"{value}"


def _sentence(described: Schema, keyword: str, part: Schema, value: JsonValue) -> str:
    limit = _bound(part, keyword)
    if keyword in _LENGTHS and limit is not None and isinstance(value, str):
        word = "character" if limit == "1" else "characters"
        return f"At {'least' if keyword == 'minLength' else 'most'} {limit} {word}; this has {len(value)}."
    if keyword in {"minItems", "maxItems"} and limit is not None and isinstance(value, list):
        word = "value" if limit == "1" else "values"
        return f"At {'least' if keyword == 'minItems' else 'most'} {limit} {word}; this has {len(value)}."
    if keyword == "uniqueItems":
        return "Give each value only once."
    example, hint = example_in(described), described.get("description")
    if example is not None:
        return f"Write it like this: {example}"
    if isinstance(hint, str) and hint.strip():
        said = " ".join(hint.split())
        return f"{NO_WORDS} {said if len(said) <= _LONGEST_HINT else f'{said[: _LONGEST_HINT - 1]}…'}"
    return NO_WORDS


def _listed(part: Schema) -> list[str]:
    """What the options of a field are called."""
    if isinstance(part.get("enum"), list):
        return [_text(one) for one in _list(part.get("enum"))]
    if "const" in part:
        return [_text(part["const"])]
    for keyword in ("oneOf", "anyOf"):
        variants = [one for one in _list(part.get(keyword)) if isinstance(one, dict)]
        if variants and all("const" in one for one in variants):
            return [label_of(_text(one["const"]), one) for one in variants]
    return []


def _part(described: Schema, way: Sequence[str | int]) -> Schema:
    """The part of the field's schema at ``way``."""
    found: Any = described
    for step in way:
        found = found[step]
    return found if isinstance(found, dict) else described


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
