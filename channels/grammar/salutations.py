"""Salutations: the names in a greeting, in thanks and below a farewell, which say nothing about the answer. Pure.

"Hi Robin," above an answer, "Approved, thx Robin" and "VG Robin" below it are polite words and a name, whatever name
the directory has for the writer. A capital alone makes no name: "bitte Teilzahlung" is a condition. So a name that is
not the writer's own is one word behind a greeting, thanks or a farewell, never behind a request. It is no word that
decides, counts or limits in any form.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from channels.grammar.phrases import ANY, FAREWELL, SOFT, SPEAKING, Line, Phrase, Phrases, plain
from channels.grammar.signatures import has_speaking_word

_MOST_NAMES = 3
_LONGEST_GREETING = 5
"""Words."""
_NAME = re.compile(r"[^\W\d_]{3,}(?:['’-][^\W\d_]+)?")
_WORD = re.compile(r"[^\W\d_]+")
_GREETING, _THANKS = ANY["greeting"], FAREWELL | ANY["thanks"]
_PRODUCT = {("handraise",), ("team",), ("all",), ("bot",)}
_STEMS = tuple(one for (one, *_) in SPEAKING["stems"].listed)
"""Beginnings of words that decide, count or limit; the long ones may have something before them."""
_TELLING = 5
"""Letters."""


def unaddressed(lines: Sequence[str], options: Collection[Phrase] = (), writer: str = "") -> list[str]:
    """``lines`` without such names. One of ``options`` is never a name; all of ``writer``'s are."""
    found: list[str] = []
    for line in lines:
        is_first = not any(map(str.strip, found))
        if is_first and len(lines) > 1 and _greets(line, options, writer):
            continue  # in whatever language
        if found and _bids_farewell(found[-1]) and _are_names(plain(line).split(), options, writer):
            continue  # on the line below a farewell
        found.append(_without_thanked(line, options, writer))
    return found


def _greets(line: str, options: Collection[Phrase], writer: str) -> bool:
    """Whether the line greets a person, and says nothing else."""
    words = plain(line).rstrip(",:!. ").split()
    for size in range(min(_LONGEST_GREETING, len(words)), 0, -1):
        if Line.of(" ".join(words[:size])).words in _GREETING:
            return size == len(words) or _are_greeted(words[size:], options, writer)
    return False


def _are_greeted(words: Sequence[str], options: Collection[Phrase], writer: str) -> bool:
    is_product = all(Line.of(word).words in _PRODUCT for word in words)
    return is_product or _are_names(words, options, writer)


def _without_thanked(line: str, options: Collection[Phrase], writer: str) -> str:
    """``line`` without the names at its end behind a farewell or thanks."""
    words = plain(line).split()
    for count in range(1, min(_MOST_NAMES, len(words) - 1) + 1):
        before, names = words[:-count], words[-count:]
        if _ends_thanking(" ".join(before)) and _are_names([*names[:-1], names[-1].rstrip("!.")], options, writer):
            return " ".join(before)
    return line


def _ends_thanking(text: str) -> bool:
    words = Line.of(text).words
    while words and words[-1] in SOFT:
        words = words[:-1]
    return any(end == len(words) for _, end in _THANKS.places(words))


def _are_names(words: Sequence[str], options: Collection[Phrase], writer: str) -> bool:
    """Whether the words are the writer's own names, or one word that can only be a name."""
    text = " ".join(words)
    if not 0 < len(words) <= _MOST_NAMES or Phrases(options).places(Line.of(text).words):
        return False
    own = {one.casefold() for one in _WORD.findall(plain(writer))}
    strangers = [word for word in words if word.casefold().strip(".") not in own]
    return not strangers or (len(words) == 1 and _is_name(words[0]))


def _is_name(word: str) -> bool:
    folded = word.casefold()
    return (
        _NAME.fullmatch(word) is not None
        and word[0].isupper()
        and not word.isupper()
        and not has_speaking_word(word)
        and not any(folded.startswith(stem) or (len(stem) >= _TELLING and stem in folded) for stem in _STEMS)
    )


def _bids_farewell(line: str) -> bool:
    words = Line.of(line).words
    return FAREWELL.make_up(words) and not SOFT.issuperset(words)
