"""Salutations: the names in a greeting, in thanks and below a farewell, which say nothing about the answer. Pure.

"Hi Robin," and "Approved, thx Robin" are polite words and a name; so is "VG Robin", whatever name the directory has for
whoever signs so. A name has capitals, and no word that speaks (``channels.grammar.signatures``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from channels.grammar.phrases import ANY, FAREWELL, POLITE, SOFT, Line, Phrase, Phrases, plain
from channels.grammar.signatures import has_speaking_word

_MOST_NAMES = 3
_LONGEST_GREETING = 5
"""Words."""
_NAME = re.compile(r"[^\W\d_]{3,}(?:['’.-][^\W\d_]+)*|[^\W\d_]\.")
_GREETING = ANY["greeting"]
_BEFORE_NAMES = FAREWELL | POLITE
_PRODUCT = {("handraise",), ("team",), ("all",), ("bot",)}


def unaddressed(lines: Sequence[str], options: Collection[Phrase] = ()) -> list[str]:
    """``lines`` without such names. One of ``options`` is never a name."""
    found: list[str] = []
    for line in lines:
        if found and _bids_farewell(found[-1]) and _are_names(plain(line).split(), options):
            continue  # on the line below a farewell
        if _greets(line, options) and len(lines) > 1:
            continue  # in whatever language
        found.append(_without_thanked(line, options))
    return found


def _greets(line: str, options: Collection[Phrase]) -> bool:
    """Whether it greets somebody, and says nothing else."""
    words = plain(line).rstrip(",:!. ").split()
    for size in range(min(_LONGEST_GREETING, len(words)), 0, -1):
        if Line.of(" ".join(words[:size])).words in _GREETING:
            return size == len(words) or _are_names(words[size:], options, greeted=True)
    return False


def _without_thanked(line: str, options: Collection[Phrase]) -> str:
    """Without the names that ``line`` ends in behind a farewell or thanks."""
    words = plain(line).split()
    for count in range(1, min(_MOST_NAMES, len(words) - 1) + 1):
        before, names = words[:-count], words[-count:]
        if _ends_polite(" ".join(before)) and _are_names([*names[:-1], names[-1].rstrip("!.")], options):
            return " ".join(before)
    return line


def _ends_polite(text: str) -> bool:
    words = Line.of(text).words
    while words and words[-1] in SOFT:
        words = words[:-1]
    return any(end == len(words) for _, end in _BEFORE_NAMES.places(words))


def _are_names(words: Sequence[str], options: Collection[Phrase], *, greeted: bool = False) -> bool:
    text = " ".join(words)
    if not 0 < len(words) <= _MOST_NAMES or Phrases(options).places(Line.of(text).words):
        return False
    if greeted and all(Line.of(word).words in _PRODUCT for word in words):
        return True
    return all(_NAME.fullmatch(word) and word[0].isupper() for word in words) and not has_speaking_word(text)


def _bids_farewell(line: str) -> bool:
    words = Line.of(line).words
    return FAREWELL.make_up(words) and not SOFT.issuperset(words)
