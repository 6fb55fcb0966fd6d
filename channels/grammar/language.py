"""The language of a few lines, of the ten that the grammar reads: by the common words in them. Pure.

It chooses the words that somebody is answered in, and never what they have said; but for a word that means yes in one
language and something else in others ("tak"), which counts only where its writer's language shows.
"""

from __future__ import annotations

from collections.abc import Iterable

from channels.grammar.phrases import COMMON, Line
from core.domain.notice import DEFAULT_LANGUAGE

_MOST_LINES = 200
_LONGEST_LINE = 400


def language_of(lines: Iterable[str]) -> str | None:
    """Its code (``de``), or ``None`` if no language has clearly more of its words there than each of the others."""
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
    """The language of the first of ``texts`` that shows one; English if none does."""
    return next((found for lines in texts if (found := language_of(lines)) is not None), DEFAULT_LANGUAGE)
