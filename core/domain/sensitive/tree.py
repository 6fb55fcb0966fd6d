"""A JSON value of any depth, redacted: texts and numbers by what they are, and what a key's name gives away."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from core.domain.sensitive.kinds import MARK, Finding, Kind
from core.domain.sensitive.names import Names, hides
from core.domain.sensitive.text import TextFinder

Note = Callable[[Finding], object]
"""Told of everything that is found."""

_CALLED = ("name", "key", "field", "header")


def ignore(finding: Finding) -> None:
    """The note of somebody who only wants it redacted."""


@dataclass(frozen=True, slots=True)
class TreeFinder:
    """Every method returns a new value and leaves the given one as it is."""

    texts: TextFinder = field(default_factory=TextFinder)
    names: Names = field(default_factory=Names)

    def text(self, text: str, path: str = "", note: Note = ignore) -> str:
        redacted, kinds = self.texts.redact(text)
        for kind in kinds:
            note(Finding(path, kind))
        return redacted

    def value(self, value: JsonValue, path: str = "", note: Note = ignore, name: Kind | None = None) -> JsonValue:
        """``value`` under a key that means ``name``."""
        if name is not None and hides(name, value) and name not in self.texts.keep:
            return self._hidden(value, name, path, note)
        match value:
            case str():
                return self.text(value, path, note)
            case bool() | None:
                return value
            case int() | float():
                written = self.text(str(value), path, note)
                return value if written == str(value) else self.value(written, path, note, name)
            case list():
                return [self.value(one, f"{path}.{index}", note, name) for index, one in enumerate(value)]
            case _:
                return self.mapping(value, path, note)

    def mapping(self, values: Mapping[str, JsonValue], path: str = "", note: Note = ignore) -> dict[str, JsonValue]:
        """With as many keys as before, in their order: forms are answered by position."""
        redacted: dict[str, JsonValue] = {}
        called = self._called(values)
        for key, value in values.items():
            shown = self.text(key, path, note)
            name = called if called is not None and key == "value" else self.names.kind_of(shown)
            redacted[_free(shown, redacted)] = self.value(value, f"{path}.{shown}" if path else shown, note, name)
        return redacted

    def schema(self, schema: Mapping[str, JsonValue], path: str = "", note: Note = ignore) -> dict[str, JsonValue]:
        """A form's schema. A field may be *called* password; only what is written about it is redacted.

        A default that would have to be redacted is left out: what stands in an input is sent back as the answer.
        """
        return {
            key: self._schema_part(value, f"{path}.{key}", note)
            for key, value in self._shown_keys(schema, path, note)
            if key != "default" or not self._found_in(value, path, note)
        }

    def _schema_part(self, value: JsonValue, path: str, note: Note) -> JsonValue:
        if isinstance(value, dict):
            return self.schema(value, path, note)
        if isinstance(value, list):
            return [self._schema_part(one, f"{path}.{index}", note) for index, one in enumerate(value)]
        return self.value(value, path, note)

    def _shown_keys(self, schema: Mapping[str, JsonValue], path: str, note: Note) -> list[tuple[str, JsonValue]]:
        """The schema's items, its keys redacted; a sensitive field's default goes, whatever it is."""
        shown: dict[str, JsonValue] = {}
        for key, value in schema.items():
            name, shown_key = self.names.kind_of(key), _free(self.text(key, path, note), shown)
            shown[shown_key] = value
            if name is not None and isinstance(value, dict) and hides(name, value.get("default")):
                note(Finding(f"{path}.{key}.default", name))
                shown[shown_key] = {keyword: said for keyword, said in value.items() if keyword != "default"}
        return list(shown.items())

    def _found_in(self, value: JsonValue, path: str, note: Note) -> bool:
        found: list[Finding] = []
        self.value(value, f"{path}.default", found.append)
        for finding in found:
            note(finding)
        return bool(found)

    def _hidden(self, value: JsonValue, name: Kind, path: str, note: Note) -> JsonValue:
        if isinstance(value, str) and MARK.fullmatch(value):
            return value
        note(Finding(path, name))
        return name.mark

    def _called(self, values: Mapping[str, JsonValue]) -> Kind | None:
        """``{"name": "password", "value": …}``, as headers and variables are often listed."""
        for key in _CALLED if "value" in values else ():
            called = values.get(key)
            if isinstance(called, str) and (kind := self.names.kind_of(called)) is not None:
                return kind
        return None


def _free(key: str, taken: Mapping[str, JsonValue]) -> str:
    """Two keys may have become the same."""
    free, count = key, 2
    while free in taken:
        free, count = f"{key} ({count})", count + 1
    return free
