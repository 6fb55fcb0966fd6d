"""Language detection for a few lines: which of the grammar's ten languages, by their common words. Pure.

The language chooses the words of our reply, and never decides what the writer said. One exception: a word that means
yes in one language and something else in others ("tak") counts only if its writer's language shows.
"""

from __future__ import annotations

from collections.abc import Iterable

from channels.grammar.phrases import COMMON, Line
from core.domain.notice import DEFAULT_LANGUAGE

_MOST_LINES = 200
_LONGEST_LINE = 400


def language_of(lines: Iterable[str]) -> str | None:
    """The code (``de``) of the language with clearly more words there than each of the others; else ``None``."""
    words = {word for line in list(lines)[:_MOST_LINES] for word in Line.of(line[:_LONGEST_LINE]).words}
    found = {language: sum(_weight(word) for word in words if (word,) in common) for language, common in COMMON.items()}
    text = " ".join(words)
    found["ja"] = sum(_ENOUGH for phrase in COMMON["ja"].listed if phrase[0] in text)
    best, second = sorted(found, key=lambda language: -found[language])[:2]
    return best if found[best] >= max(_ENOUGH, found[second] + 1) else None


_ENOUGH = 2
_LONG = 4
"""Letters of a word that says it alone. Shorter ones are words of several languages."""


def _weight(word: str) -> int:
    return _ENOUGH if len(word) >= _LONG else 1


def first_known(*texts: Iterable[str]) -> str:
    """The language of the first of ``texts`` that shows one; else English."""
    return next((found for lines in texts if (found := language_of(lines)) is not None), DEFAULT_LANGUAGE)
