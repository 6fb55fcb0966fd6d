"""Proposals: what a reply that decides nothing may mean. Shown to its writer, and never recorded.

A proposer may be generous, for all it can do is ask. The built-in one takes the first option that is named anywhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Protocol

from channels.grammar.phrases import AFFIRMATIVE, NEGATIVE, Line, Phrase, Phrases

_LONGEST = 2_000
"""Characters that are looked at."""
_SHORTEST_WORD = 4
"""Letters of a single word out of a label that names its option."""
_BEFORE, _BEHIND = frozenset("$€£¥%+-−/:.,°"), frozenset("$€£¥%+-−/:°")
"""Signs that make a number count something."""
_ORDINAL = re.compile(r"\b(\d{1,2})(?:번[가-힣]{0,6}|号|號|st|nd|rd|th)(?!\w)")
_SHORT = 3
"""Words. So short a reply is also looked at for a name with slips in it, and for a yes or no of any language."""
_LIKE = 0.7
"""How much of a name and of what was written is alike, of 1: "Parigi" is taken for Paris, "Lisbon" is not."""
_YES_ELSEWHERE = Phrases.read(
    "да, так, ano, áno, igen, da, ναι, evet, kyllä, joo, jo, 네, 예, 是, 是的, 好, 好的, 可以, 同意, 批准, نعم, כן, "
    "हाँ, हां"
)
_NO_ELSEWHERE = Phrases.read(
    "нет, ні, не, ne, nie, nem, nu, όχι, hayır, ei, nei, 아니요, 아니오, 不, 不是, 不行, 不同意, 否, لا, לא, नहीं"
)


class Proposer(Protocol):
    """Guesses which option somebody means. It sees their own words and the labels, nothing else."""

    async def propose(self, words: str, labels: Sequence[str]) -> int | None:
        """The index into ``labels`` of the option that ``words`` seem to mean; ``None`` if they seem to mean none."""


class FirstNamed:
    """The built-in proposer."""

    async def propose(self, words: str, labels: Sequence[str]) -> int | None:
        names = _names(labels)
        listed = Phrases(names)
        lines = [Line.of(_ORDINAL.sub(r"\1", line)) for line in words[:_LONGEST].splitlines()]
        found = (_named_at(line.words, at, names, listed) for line in lines for at in range(len(line.words)))
        index = next((index for index in found if index is not None), None)
        return _nearly(lines, names) if index is None else index


def _named_at(words: Phrase, at: int, names: Mapping[Phrase, int], listed: Phrases) -> int | None:
    size = listed.at(words, at)
    if not size:
        return _inside(words[at], names)
    before, after = words[max(at - 1, 0) : at], words[at + size : at + size + 1]
    counts = _BEFORE.intersection(before) or _BEHIND.intersection(after)
    return None if words[at].isdecimal() and counts else names[words[at : at + size]]


def _nearly(lines: Sequence[Line], names: Mapping[Phrase, int]) -> int | None:
    """What a short first line says with a slip in it, or says in a language that the grammar does not read."""
    first = next((line for line in lines if line.words), Line(""))
    words = tuple(word for word in first.words if word[0].isalnum())
    if not 0 < len(words) <= _SHORT:
        return None
    for elsewhere, own in ((_YES_ELSEWHERE, "yes"), (_NO_ELSEWHERE, "no")):
        if words[:1] in elsewhere:
            return names.get((own,))
    alike = dict.fromkeys(names.values(), 0.0)
    for name, index in names.items():
        likeness = (_likeness(said, " ".join(name)) for said in (" ".join(words), *words))
        alike[index] = max(alike[index], *likeness)
    best, *others = sorted(alike, key=lambda index: -alike[index]) or [0]
    clearly = alike and alike[best] >= _LIKE and all(alike[one] < _LIKE for one in others)
    return best if clearly else None


def _likeness(said: str, name: str) -> float:
    return SequenceMatcher(None, said, name).ratio() if min(len(said), len(name)) > _SHORTEST_WORD else 0.0


def _inside(run: str, names: Mapping[Phrase, int]) -> int | None:
    """In a language without spaces a name stands inside other words: the first one there, or the longest of two."""
    if not "\u3040" <= run[0] <= "\u9fff":
        return None
    found = ((run.find(name), -len(name), index) for (name, *more), index in names.items() if name in run and not more)
    return min(found, default=(0, 0, None))[2]


def _names(labels: Sequence[str]) -> Mapping[Phrase, int]:
    """Numbers and labels, the words that stand in one label alone, and yes and no for the option that they go with."""
    lines = [Line.of(label).words for label in labels]
    long = [{word for word in words if len(word) >= _SHORTEST_WORD and word.isalpha()} for words in lines]
    labels_with = Counter(word for words in long for word in words)
    names: dict[Phrase, int] = {
        (word,): at for at, words in enumerate(long) for word in words if labels_with[word] == 1
    }
    for phrases in (NEGATIVE, AFFIRMATIVE):
        going = [index for index, words in enumerate(lines) if phrases.at(words, 0)]
        if len(going) == 1:
            names |= dict.fromkeys(phrases.listed, going[0])
    names |= {words: index for index, words in reversed(list(enumerate(lines))) if words}
    return names | {(str(number),): number - 1 for number in range(len(labels), 0, -1)}
