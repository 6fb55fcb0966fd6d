"""Everything that names a choice: its number, value and label, the verbs that mean the same in any language and,
between yes and no, the words for them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from channels.phrases import NONE, Line, Phrase, Phrases, is_run
from channels.vocabulary import (
    BECAUSE,
    CONCEPTS,
    DOUBT,
    DOUBTFUL_PARTS,
    HARMLESS,
    NEGATING,
    NEGATION,
    NO,
    PLAIN_NO,
    PLAIN_YES,
    REFRAIN,
    YES,
)
from channels.words import AGAINST, IN_DOUBT, IN_FAVOUR
from core.domain.notice import NoticeChoice

_PHONE_NUMBER = 7
"""A line with this many digits is a telephone number or a date; its single digits choose nothing."""
_SHORTEST_REASON = 4
_CLAUSE_ENDS = re.compile(r"[,;:.!()…–—]|\s-+|-+\s")
_PUNCTUATED = tuple(part for part in DOUBTFUL_PARTS if not Line.of(part).spans or part[-1] in "、。")
_STRUCK = "~~"
"""Stands around what was struck through (``channels.email.html``)."""


@dataclass(frozen=True, slots=True)
class Names:
    """What the choices of one question are called. ``numbers`` are the phrases that are nothing but a number;
    ``agreeing`` and ``refusing`` the choices that a yes and a no go with.
    """

    meaning: Mapping[Phrase, frozenset[int]]
    phrases: Phrases
    numbers: frozenset[Phrase]
    agreeing: frozenset[int]
    refusing: frozenset[int]
    _whole: Mapping[str, frozenset[int]]
    _own: Mapping[int, Phrases]

    @classmethod
    def of(cls, choices: Sequence[NoticeChoice]) -> Names:
        called = {choice.index: (Line.of(choice.value), Line.of(choice.label)) for choice in choices}
        written = {index: {line.words for line in lines if line.words} for index, lines in called.items()}
        decided = {name: only for name in CONCEPTS if (only := _only(written, CONCEPTS[name])) is not None}
        spoken = {index: set(phrases) for index, phrases in written.items()}
        for name, index in decided.items():
            spoken[index] |= CONCEPTS[name].listed
        pair = _yes_and_no(written, decided) if len(choices) == 2 else None
        if pair:
            spoken[pair[0]] |= YES.listed
            spoken[pair[1]] |= NO.listed
        numbers = {(str(choice.number),): choice.index for choice in choices}
        meaning: dict[Phrase, frozenset[int]] = {}
        for phrase, index in [(one, at) for at, names in spoken.items() for one in names] + [*numbers.items()]:
            meaning[phrase] = meaning.get(phrase, frozenset()) | {index}
        whole: dict[str, frozenset[int]] = {}
        for index, lines in called.items():
            for line in lines:
                whole[line.text.casefold()] = whole.get(line.text.casefold(), frozenset()) | {index}
        single = {index: {(word,) for phrase in names for word in phrase} for index, names in written.items()}
        own = {at: Phrases(frozenset(spoken[at] | single[at] | {(str(at + 1),)})) for at in spoken}
        refusing = {index for name, index in decided.items() if name == "deny"} | ({pair[1]} if pair else set())
        agreeing = {index for name, index in decided.items() if name != "deny"} | ({pair[0]} if pair else set())
        return cls(
            meaning,
            Phrases(frozenset(meaning)),
            frozenset(numbers),
            frozenset(agreeing),
            frozenset(refusing),
            whole,
            own,
        )

    def own(self, index: int) -> Phrases:
        """The names of one choice and the single words in its value and label."""
        return self._own[index]

    def saying_at(self, words: Phrase, start: int) -> int:
        """How long the saying is that begins there and chooses nothing."""
        return max(DOUBT.at(words, start), HARMLESS.at(words, start))

    def is_exactly(self, line: Line) -> int | None:
        """The one choice whose value or label the line is, in whole; ``None`` where there is none, or two."""
        found = self._whole.get(line.text.casefold(), frozenset())
        if found:
            found |= self.meaning.get(line.words, frozenset())
        return next(iter(found)) if len(found) == 1 else None

    def named_in(self, line: Line) -> frozenset[int]:
        """Every choice that the line names anywhere. The longest name counts, not the shorter ones inside it.

        A single letter names nothing in the middle of a sentence; in a run without spaces a name counts anywhere.
        """
        found: frozenset[int] = frozenset()
        position = 0
        while position < len(line.words):
            length = self.phrases.at(line.words, position)
            harmless = HARMLESS.at(line.words, position)
            if length and length >= harmless and self._counts(line, line.words[position : position + length]):
                found |= self.meaning[line.words[position : position + length]]
            elif not length and not harmless and is_run(line.words[position]):
                found |= self._inside(line.words[position])
            position += max(length, harmless, 1)
        return found

    def _inside(self, run: str) -> frozenset[int]:
        names = [(one, means) for (one, *more), means in self.meaning.items() if not more and is_run(one)]
        inside = [(one, means) for one, means in names if len(one) > 1 and one in run]
        return frozenset(index for _, means in inside for index in means)

    def _counts(self, line: Line, phrase: Phrase) -> bool:
        if phrase in self.numbers:
            return line.digits < _PHONE_NUMBER
        return len(line.words) == 1 or len("".join(phrase)) > 1

    def doubts(self, line: Line, index: int | None, besides: Phrases = NONE) -> bool:
        """Whether the line negates, conditions or defers, other than by the name of the choice itself.

        ``besides`` are doubts that are none there. A "not" never is the choice's name: "deny, bitte nicht".
        """
        names = Phrases(frozenset(phrase for phrase, means in self.meaning.items() if means == {index}) - NEGATING)
        position = 0
        while position < len(line.words):
            harmless = names.at(line.words, position) or HARMLESS.at(line.words, position)
            if besides.listed:
                harmless = max(harmless, _refrains(line, position), besides.at(line.words, position))
            if not harmless and index in self.refusing and _in_a_reason(line, position):
                harmless = NEGATION.at(line.words, position) or int(line.words[position].endswith("n't"))
            if not harmless and _doubtful(line.words, position):
                return True
            position += harmless or 1
        return self._signs_against(line.text, index) or any(part in line.text for part in _PUNCTUATED)

    def _signs_against(self, text: str, index: int | None) -> bool:
        against = IN_FAVOUR if index in self.refusing else AGAINST
        return _STRUCK in text or not (IN_DOUBT | against).isdisjoint(text)


def _only(written: Mapping[int, set[Phrase]], concept: Phrases) -> int | None:
    """The one choice that is called by a word of the concept; ``None`` where there is none, or two."""
    found = [index for index, names in written.items() if names & concept.listed]
    return found[0] if len(found) == 1 else None


def _yes_and_no(written: Mapping[int, set[Phrase]], decided: Mapping[str, int]) -> tuple[int, int] | None:
    """The choices that "yes" and "no" choose, of two: called so, or called approve and deny."""
    yes, no = _only(written, PLAIN_YES), _only(written, PLAIN_NO)
    if yes is None and no is None:
        yes, no = decided.get("approve"), decided.get("deny")
    return None if yes is None or no is None or yes == no else (yes, no)


def _refrains(line: Line, position: int) -> int:
    """How long "don't do it" is there, where nothing but punctuation follows: "don't wait" refrains from nothing."""
    length = REFRAIN.at(line.words, position)
    end = position + length
    if length and (end == len(line.words) or any(mark in ",;.!、。" for mark in line.gap(end))):
        return length
    return 0


def _in_a_reason(line: Line, position: int) -> bool:
    """Whether the word is inside a sentence: "he never sent it back", but not "well, no" or "not before Monday"."""
    first = position
    while first and not _CLAUSE_ENDS.search(line.gap(first)):
        first -= 1
    last = position
    while last + 1 < len(line.words) and not _CLAUSE_ENDS.search(line.gap(last + 1)):
        last += 1
    return position > first and last - first + 1 >= _SHORTEST_REASON


def _doubtful(words: Phrase, position: int) -> bool:
    word = words[position]
    if DOUBT.at(words, position) or word.endswith("n't") or word.startswith("n'"):
        return True
    return is_run(word) and any(part in word for part in DOUBTFUL_PARTS)


def gives_reason(words: Phrase, position: int) -> bool:
    """Whether a reason begins there; a run without spaces says so at its end."""
    word = words[position]
    if is_run(word):
        return any(word.endswith(one) for (one, *more) in BECAUSE.listed if not more and is_run(one))
    return bool(BECAUSE.at(words, position))
