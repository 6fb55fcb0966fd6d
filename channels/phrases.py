"""Lines of text as words, and lists of phrases that are looked for in them. Used by the grammar alone."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field

from channels.words import QUESTION_MARKS, Words

Phrase = tuple[str, ...]

_UNSPACED = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+(?:'[^\W_{_UNSPACED}]+)*")
"""A run of kana and kanji is one word, however long, and ends where Latin letters or digits begin: 1番, OKです."""
_RUN = re.compile(rf"[{_UNSPACED}]+")
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "´": "'", "`": "'"})
_INVISIBLE = frozenset({"Cf", "Cc"})
"""Categories of zero-width and control characters."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line as it looks (NFKC, nothing invisible), its words in lower case, and where they stand."""

    text: str
    words: Phrase = ()
    spans: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, raw: str) -> Line:
        visible = raw
        if not raw.isascii() or not raw.isprintable():
            visible = "".join(
                " " if mark == "\t" else mark
                for mark in raw
                if mark == "\t" or unicodedata.category(mark) not in _INVISIBLE
            )
        text = unicodedata.normalize("NFKC", visible.translate(_APOSTROPHES)).translate(_APOSTROPHES).strip()
        found = list(_WORD.finditer(text))
        return cls(text, tuple(one.group().casefold() for one in found), tuple(one.span() for one in found))

    @property
    def asks(self) -> bool:
        return not QUESTION_MARKS.isdisjoint(self.text)

    @property
    def digits(self) -> int:
        return sum(mark.isdigit() for mark in self.text)

    def gap(self, position: int) -> str:
        """What stands between a word and the one before it."""
        return self.text[self.spans[position - 1][1] : self.spans[position][0]] if position else ""

    def after(self, position: int) -> Line:
        """The rest of the line, from behind its first ``position`` words."""
        if not position:
            return self
        cut = self.spans[position - 1][1]
        spans = tuple((start - cut, end - cut) for start, end in self.spans[position:])
        return Line(self.text[cut:], self.words[position:], spans)


def is_run(word: str) -> bool:
    """Whether the word is of a language without spaces, and may thus be a sentence."""
    return _RUN.match(word) is not None


@dataclass(frozen=True, slots=True)
class Phrases:
    """A list of phrases; :meth:`at` finds the longest one that begins at a word."""

    listed: frozenset[Phrase]
    longest: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "longest", max((len(one) for one in self.listed), default=0))

    @classmethod
    def read(cls, texts: Iterable[str]) -> Phrases:
        """The phrases of comma-separated lists, all together."""
        return cls(frozenset(Line.of(one).words for text in texts for one in text.split(",") if Line.of(one).words))

    @classmethod
    def named(cls, name: str, locales: Iterable[Words]) -> Phrases:
        """The phrases that every language has under ``name``."""
        return cls.read(getattr(words, name) for words in locales)

    def at(self, words: Phrase, start: int) -> int:
        """How many words the phrase there has; 0 where none begins there."""
        most = min(len(words) - start, self.longest)
        return next((size for size in range(most, 0, -1) if words[start : start + size] in self.listed), 0)

    def __or__(self, others: Phrases) -> Phrases:
        return Phrases(self.listed | others.listed)


NONE = Phrases(frozenset())
