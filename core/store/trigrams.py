"""Trigrams: what a text is looked up by, and how is kept which of a segment's questions have one.

A text that contains another has all its trigrams. It may have them and not contain it: whoever looks up reads what is
found.
"""

from __future__ import annotations

import struct
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

SEGMENT = 1024
"""How many questions a segment has. More would make fewer rows to look at, and more that no segment has yet."""

_LENGTH = 3
_MOST = 8
"""Of a text that is looked up; more tell hardly more."""
_BITMAP = SEGMENT // 8
_DOTS = {0x131: "i", 0x307: None}
"""The i without a dot, and the dot. Some languages tell them apart and some do not, and so do databases."""
_OF_CREATOR = "creator "
"""How the term of a creator begins; no trigram is as long."""


def folded(text: str) -> str:
    """``text`` without what a database that ignores case may ignore. A part of a text is folded as it is within the
    whole."""
    return text.casefold().translate(_DOTS)


def trigrams(text: str) -> set[str]:
    return set(_at(folded(text), range(len(text) * _LENGTH)))


def looked_up(text: str) -> Collection[str]:
    """Some trigrams that every text has that contains ``text``; together they cover it if it is short. Empty if it is
    too short for any.

    A letter that this version of Unicode does not know is left out: a database may know its upper case.
    """
    whole = folded(text)
    last = len(whole) - _LENGTH
    step = max(_LENGTH, -(-last // (_MOST - 1)))
    chosen = dict.fromkeys(_at(whole, (*range(0, max(last, 0), step), max(last, 0))))
    return [one for one in chosen if all(unicodedata.category(letter) != "Cn" for letter in one)]


def _at(whole: str, places: Iterable[int]) -> Iterator[str]:
    for place in places:
        if place + _LENGTH > len(whole):
            return
        yield whole[place : place + _LENGTH]


def of_creator(creator: str) -> str:
    """What the questions of one key are looked up by, beside their trigrams."""
    return f"{_OF_CREATOR}{creator}"


class Terms:
    """Which of a segment's questions have a term. Questions are added in the order of their places."""

    def __init__(self) -> None:
        self.questions = 0
        self._having: dict[str, list[int]] = {}

    def add(self, place: int, text: str, creator: str) -> None:
        self.questions += 1
        for term in (*trigrams(text), of_creator(creator)):
            self._having.setdefault(term, []).append(place)

    def packed(self) -> Mapping[str, bytes]:
        return {term: packed(self._having[term]) for term in sorted(self._having)}


def packed(places: Sequence[int]) -> bytes:
    """Two bytes for each place if they are few, else a bit for each question of the segment."""
    if 2 * len(places) < _BITMAP:
        return struct.pack(f"<{len(places)}H", *places)
    return sum(1 << place for place in places).to_bytes(_BITMAP, "little")


def bitmap(kept: bytes) -> int:
    """What :func:`packed` has made, with a bit for each place."""
    if len(kept) == _BITMAP:
        return int.from_bytes(kept, "little")
    return sum(1 << place for place in struct.unpack(f"<{len(kept) // 2}H", kept))


def places(bits: int) -> Iterator[int]:
    """The places whose bits are set, in order."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
