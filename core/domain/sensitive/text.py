"""One text, redacted: everything found in it gives way to a mark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from core.domain.sensitive.kinds import MARK, WITHHELD, Kind, Span
from core.domain.sensitive.numbers import cards, ibans
from core.domain.sensitive.own_patterns import matched
from core.domain.sensitive.shapes import is_plain, shaped

_MOST_PASSES = 6


@dataclass(frozen=True, slots=True)
class TextFinder:
    """Finds every kind but those in ``keep``; ``patterns`` are the installation's own."""

    patterns: tuple[re.Pattern[str], ...] = ()
    keep: frozenset[Kind] = frozenset()

    def redact(self, text: str) -> tuple[str, tuple[Kind, ...]]:
        """``text`` with its marks, and what they stand for. Text in which nothing is found comes back as it is.

        A mark may set free what stood beside it, so this goes on until nothing more is found, which also makes it
        change nothing when done again. A text that has been made to go on for long is withheld whole.
        """
        if not self.patterns and is_plain(text):
            return text, ()
        kinds: list[Kind] = []
        for _ in range(_MOST_PASSES):
            again, found = self._once(text)
            if not found:
                return text, tuple(dict.fromkeys(kinds))
            text = again
            kinds += found
        return WITHHELD, tuple(dict.fromkeys(kinds))

    def _once(self, text: str) -> tuple[str, list[Kind]]:
        pieces: list[str] = []
        kinds: list[Kind] = []
        done = 0
        for start, end in _between_marks(text) if WITHHELD[:-1] in text else ((0, len(text)),):
            spans = self._spans(text[start:end])
            for span in _apart(spans) if spans else ():
                pieces += (text[done : start + span.start], span.kind.mark)
                kinds.append(span.kind)
                done = start + span.end
        return ("".join((*pieces, text[done:])) if kinds else text), kinds

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
    """``spans`` in order, those that overlap as one, of the kind of the longest."""
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
