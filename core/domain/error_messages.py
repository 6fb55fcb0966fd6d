"""``errorMessage`` in a form's schema: whether it has a shape that is said somewhere. Pure.

An agent's own words for what is wrong in a field. Of a field it is a text, or an object of texts by keyword; of the
form a text, or an object of ``required``, ``properties`` and ``_``. Anything else is refused, so that no words are
accepted and never said.

Source: API.md §4; https://ajv.js.org/packages/ajv-errors.html.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import JsonValue

from core.errors import InvalidRequest

ERROR_MESSAGE, REST = "errorMessage", "_"
"""The agent's own words for what is wrong in a field; :data:`REST` is whatever has no words of its own."""

LONGEST_MESSAGE = 300

OF_A_FIELD = frozenset(
    {
        *("type", "enum", "const", "format", "pattern", "minLength", "maxLength", "minimum", "maximum", "required"),
        *("exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "contains"),
        *("anyOf", "oneOf", "allOf", "not", REST),
    }
)
_OF_THE_FORM = frozenset({"required", "properties", REST})
_NAMES = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
"""What holds schemas by names of the agent's own."""
_VALUES = ("enum", "const", "default", "examples")
_VISIBLE = re.compile(r"[^\s\x00-\x1f\x7f\x85\ufeff]")


def check_error_messages(schema: Mapping[str, JsonValue], path: str) -> None:
    """Raises :class:`InvalidRequest`, which names the field, for an ``errorMessage`` of any other shape."""
    properties = schema.get("properties")
    fields = properties if isinstance(properties, dict) else {}
    if ERROR_MESSAGE in schema:
        _check_message(schema[ERROR_MESSAGE], f"{path}.{ERROR_MESSAGE}", path, _OF_THE_FORM, fields)
    for name, part in fields.items():
        if isinstance(part, dict) and ERROR_MESSAGE in part:
            _check_message(part[ERROR_MESSAGE], f"{path}.properties.{name}.{ERROR_MESSAGE}", path, OF_A_FIELD)
        _check_nowhere_else(part, f"{path}.properties.{name}", path)
    rest = {key: value for key, value in schema.items() if key != "properties"}
    _check_nowhere_else(rest, path, path)


def _check_message(
    said: JsonValue, where: str, path: str, known: frozenset[str], fields: Mapping[str, JsonValue] | None = None
) -> None:
    if isinstance(said, str):
        return _check_said(said, where, path)
    if not isinstance(said, dict) or not said:
        raise InvalidRequest(f"{where} must be a text, or an object of texts by keyword.", path=path)
    for keyword, one in said.items():
        if keyword not in known:
            allowed = ", ".join(sorted(known))
            raise InvalidRequest(f"{where} has {keyword[:80]!r}, and may have only: {allowed}.", path=path)
        if keyword == "properties" or (fields is not None and isinstance(one, dict)):
            _check_by_field(one, f"{where}.{keyword}", path, fields or {})
        else:
            _check_said(one, f"{where}.{keyword}", path)
    return None


def _check_by_field(said: JsonValue, where: str, path: str, fields: Mapping[str, JsonValue]) -> None:
    if not isinstance(said, dict):
        raise InvalidRequest(f"{where} must be an object of texts by field.", path=path)
    for name, one in said.items():
        if name not in fields:
            raise InvalidRequest(f"{where} names {name[:80]!r}, and the form has no such field.", path=path)
        _check_said(one, f"{where}.{name}", path)


def _check_said(said: JsonValue, where: str, path: str) -> None:
    if not isinstance(said, str) or not _VISIBLE.search(said) or len(said) > LONGEST_MESSAGE:
        raise InvalidRequest(f"{where} must be a text of 1 to {LONGEST_MESSAGE} characters.", path=path)
    if "${" in said:
        raise InvalidRequest(f"{where} has a place to fill in (${{…}}), and nothing is filled in here.", path=path)


def _check_nowhere_else(part: JsonValue, where: str, path: str) -> None:
    """That no part below ``part`` has words: they would never be said."""
    inner = part if isinstance(part, dict) else {}
    below = [value for key, value in inner.items() if key not in {ERROR_MESSAGE, *_VALUES, *_NAMES}]
    for key in _NAMES:
        named = inner.get(key)
        below += list(named.values()) if isinstance(named, dict) else []
    for one in below:
        for each in one if isinstance(one, list) else [one]:
            if isinstance(each, dict) and ERROR_MESSAGE in each:
                raise InvalidRequest(f"{where}: {ERROR_MESSAGE} stands in a field or in the form itself.", path=path)
            _check_nowhere_else(each, where, path)
