"""Finders: replace everything sensitive in a text or in a JSON value by its mark. Pure.

:class:`TextFinder` redacts one text. :class:`TreeFinder` redacts a JSON value of any depth: texts and numbers by their
content, other values by their key's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from core.domain.redaction.kinds import MARK, OPENINGS, WITHHELD, Finding, FindingKind, SensitiveNames, Span, hides
from core.domain.redaction.masks import PAYEES, PERSONAL, masked
from core.domain.redaction.patterns import cards, ibans, is_plain, matched, shaped

_MOST_PASSES = 6
AHEAD = 1_000
"""Characters that are looked at beyond what is wanted, so that nothing is shown of a secret that goes on there."""


@dataclass(frozen=True, slots=True)
class TextFinder:
    """Finds every kind but those in ``keep``; ``patterns`` are the installation's own. With ``masks``, a kind that
    has a mask gets it in place of its mark."""

    patterns: tuple[re.Pattern[str], ...] = ()
    keep: frozenset[FindingKind] = frozenset()
    masks: bool = False

    def mark(self, kind: FindingKind, text: str) -> str:
        """The replacement of ``text``."""
        return masked(kind, text) if self.masks else kind.mark

    def redact(self, text: str, most: int | None = None) -> tuple[str, tuple[FindingKind, ...]]:
        """``text`` with its marks, and the kinds that they replace. Text without findings is returned unchanged.

        A mark may expose what stood beside it, so this repeats until nothing more is found; redacting twice therefore
        changes nothing. A text that keeps it repeating for long is withheld whole.

        With ``most``, only that many first characters come back, redacted as in the whole text. The cost does not grow
        with the rest.
        """
        end = len(text) if most is None else min(most, len(text))
        text = text[: end + AHEAD]
        if not self.patterns and is_plain(text):
            return text[:end], ()
        kinds: list[FindingKind] = []
        for _ in range(_MOST_PASSES):
            text, end, found = self._once(text, end)
            if not found:
                return text[:end], tuple(dict.fromkeys(kinds))
            kinds += found
        return WITHHELD, tuple(dict.fromkeys(kinds))

    def _once(self, text: str, wanted: int) -> tuple[str, int, list[FindingKind]]:
        """The text with marks, where in it the first ``wanted`` characters end, and what was found."""
        pieces: list[str] = []
        kinds: list[FindingKind] = []
        done, ends_at = 0, wanted
        for start, end in _between_marks(text) if any(one in text for one in OPENINGS) else ((0, len(text)),):
            spans = self._spans(text[start:end])
            for span in _apart(spans) if spans else ():
                mark = self.mark(span.kind, text[start + span.start : start + span.end])
                pieces += (text[done : start + span.start], mark)
                kinds.append(span.kind)
                done = start + span.end
                if start + span.start < wanted:  # what a mark stands for in part is shown as the whole mark
                    ends_at += len(mark) - (min(done, wanted) - start - span.start)
        return ("".join((*pieces, text[done:])) if kinds else text), ends_at, kinds

    def _spans(self, piece: str) -> list[Span]:
        found = list(matched(self.patterns, piece)) if self.patterns else []
        if not is_plain(piece):
            for look in (shaped, cards, ibans):
                found += (span for span in look(piece) if span.kind not in self.keep)
        return found


def _between_marks(text: str) -> Iterator[tuple[int, int]]:
    """The parts of ``text`` that are not marks already."""
    start = 0
    for mark in MARK.finditer(text):
        yield start, mark.start()
        start = mark.end()
    yield start, len(text)


def _apart(spans: list[Span]) -> Iterator[Span]:
    """``spans`` in order; overlapping ones become one, of the kind of the longest."""
    spans.sort()
    index = 0
    while index < len(spans):
        widest = spans[index]
        start, end = widest.start, widest.end
        index += 1
        while index < len(spans) and spans[index].start < end:
            following = spans[index]
            end = max(end, following.end)
            if following.end - following.start > widest.end - widest.start:
                widest = following
            index += 1
        yield Span(start, end, widest.kind)


Note = Callable[[Finding], object]
"""Told of everything that is found."""

_CALLED = ("name", "key", "field", "header")


def ignore(finding: Finding) -> None:
    """Takes a finding and does nothing: for callers that only want the redacted text."""


REST = "…"
"""Stands for all that there was no room for, and at the end of a cut text."""
_PART = 8
"""The room that each part of a container takes beside its own characters."""


@dataclass(slots=True)
class CharacterBudget:
    """How many characters of a value are wanted. The rest is neither looked at nor shown; ``is_cut``: there was
    more."""

    left: int
    is_cut: bool = False

    def take(self, wanted: int) -> int:
        """How many of ``wanted`` characters there is room for."""
        taken = min(wanted, self.left)
        self.left -= taken
        self.is_cut = self.is_cut or taken < wanted
        return taken

    def has_none(self) -> bool:
        """Whether there is no room for one part more."""
        return self.take(_PART) < _PART


@dataclass(frozen=True, slots=True)
class TreeFinder:
    """Every method returns a new value and leaves the given one as it is; with ``room`` its beginning."""

    texts: TextFinder = field(default_factory=TextFinder)
    names: SensitiveNames = field(default_factory=SensitiveNames)

    def text(self, text: str, path: str = "", note: Note = ignore, room: CharacterBudget | None = None) -> str:
        wanted = None if room is None else room.take(len(text))
        redacted, kinds = self.texts.redact(text, wanted)
        for kind in kinds:
            note(Finding(path, kind))
        return redacted if wanted is None or wanted == len(text) else redacted + REST

    def value(
        self,
        value: JsonValue,
        path: str = "",
        note: Note = ignore,
        name: FindingKind | None = None,
        room: CharacterBudget | None = None,
    ) -> JsonValue:
        """``value`` under a key that means ``name``."""
        if name is not None and hides(name, value) and name not in self.texts.keep:
            return self._hidden(value, name, path, note)
        match value:
            case str():
                return self.text(value, path, note, room)
            case bool() | None:
                return value
            case int() | float():
                written = self.text(str(value), path, note)
                return value if written == str(value) else self.value(written, path, note, name)
            case list():
                return self._list(value, path, note, name, room)
            case _:
                return self.mapping(value, path, note, room)

    def _list(
        self, values: list[JsonValue], path: str, note: Note, name: FindingKind | None, room: CharacterBudget | None
    ) -> list[JsonValue]:
        redacted: list[JsonValue] = []
        for index, value in enumerate(values):
            if room is not None and room.has_none():
                redacted.append(REST)
                break
            redacted.append(self.value(value, f"{path}.{index}", note, name, room))
        return redacted

    def mapping(
        self, values: Mapping[str, JsonValue], path: str = "", note: Note = ignore, room: CharacterBudget | None = None
    ) -> dict[str, JsonValue]:
        """With as many keys as before, in their order: forms are answered by position."""
        redacted: dict[str, JsonValue] = {}
        counts: dict[str, int] = {}
        called = self._called(values)
        for key, value in values.items():
            if room is not None and room.has_none():
                redacted[_free(REST, redacted, counts)] = REST
                break
            shown = self.text(key, path, note, room)
            if room is not None and room.is_cut:
                redacted[_free(shown, redacted, counts)] = REST
                break
            name = called if called is not None and key == "value" else self.names.kind_of(shown)
            inner = f"{path}.{shown}" if path else shown
            redacted[_free(shown, redacted, counts)] = self.value(value, inner, note, name, room)
        return redacted

    def schema(self, schema: Mapping[str, JsonValue], path: str = "", note: Note = ignore) -> dict[str, JsonValue]:
        """A form's schema. A field may be *called* password; only the texts about it are redacted.

        A default that would have to be redacted is left out: an input's content is sent back as the answer.
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
        counts: dict[str, int] = {}
        for key, value in schema.items():
            name, shown_key = self.names.kind_of(key), _free(self.text(key, path, note), shown, counts)
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

    def _hidden(self, value: JsonValue, name: FindingKind, path: str, note: Note) -> JsonValue:
        if isinstance(value, str) and MARK.fullmatch(value):
            return value
        kind = self._payee_in(value, name)
        note(Finding(path, kind))
        return kind.mark if isinstance(value, dict | list) else self.texts.mark(kind, str(value))

    def _payee_in(self, value: JsonValue, name: FindingKind) -> FindingKind:
        """The kind that a name hides. In an action no payee is hidden as a secret, which nobody may see."""
        if not self.texts.masks or name in PERSONAL or not isinstance(value, str | int):
            return name
        return next((kind for kind in self.texts.redact(str(value))[1] if kind in PAYEES), name)

    def _called(self, values: Mapping[str, JsonValue]) -> FindingKind | None:
        """``{"name": "password", "value": …}``, as headers and variables are often listed."""
        for key in _CALLED if "value" in values else ():
            called = values.get(key)
            if isinstance(called, str) and (kind := self.names.kind_of(called)) is not None:
                return kind
        return None


def _free(key: str, taken: Mapping[str, JsonValue], counts: dict[str, int]) -> str:
    """A free name for a key: two may have become the same. ``counts`` keeps this cheap for many of them."""
    free = key
    while free in taken:
        counts[key] = counts.get(key, 1) + 1
        free = f"{key} ({counts[key]})"
    return free
