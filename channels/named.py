"""Everything that names a choice: its number, value and label and, between yes and no, the words for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from channels.phrases import Line, Phrase, Phrases
from channels.words import LOCALES
from core.domain.notice import NoticeChoice

_YES = Phrases.read(words.yes for words in LOCALES.values())
_NO = Phrases.read(words.no for words in LOCALES.values())
CLAIM = Phrases.read(words.claim for words in LOCALES.values())
_DOUBT = Phrases(Phrases.read(words.doubt for words in LOCALES.values()).listed | CLAIM.listed)
_HARMLESS = Phrases.read(words.harmless for words in LOCALES.values())

_DECIDED = [pair for pair in Phrases.read(words.decided for words in LOCALES.values()).listed if len(pair) == 2]

_PHONE_NUMBER = 7
"""A line with this many digits is a telephone number or a date; its single digits choose nothing."""


@dataclass(frozen=True, slots=True)
class Names:
    """What the choices of one question are called. ``numbers`` are the phrases that are nothing but a number."""

    meaning: Mapping[Phrase, frozenset[int]]
    phrases: Phrases
    numbers: frozenset[Phrase]
    _whole: Mapping[str, frozenset[int]]
    _own: Mapping[int, Phrases]

    @classmethod
    def of(cls, choices: Sequence[NoticeChoice]) -> Names:
        meaning: dict[Phrase, frozenset[int]] = {}
        whole: dict[str, frozenset[int]] = {}
        own: dict[int, set[Phrase]] = {}
        yes_or_no = {choice.value for choice in choices} == {"yes", "no"}
        for choice in choices:
            texts = [Line.of(choice.value), Line.of(choice.label)]
            spoken = {line.words for line in texts}
            spoken |= {(reported,) for reported, choice_word in _DECIDED if (choice_word,) in spoken}
            if yes_or_no:
                spoken |= (_YES if choice.value == "yes" else _NO).listed
            own[choice.index] = {phrase for phrase in spoken if phrase}
            for line in texts:
                exact = line.text.casefold()
                whole[exact] = whole.get(exact, frozenset()) | {choice.index}
        numbers = {(str(choice.number),): choice.index for choice in choices}
        for phrase, index in [(phrase, index) for index, names in own.items() for phrase in names] + [*numbers.items()]:
            meaning[phrase] = meaning.get(phrase, frozenset()) | {index}
        for phrase, index in numbers.items():
            own[index].add(phrase)
        words = {index: {(word,) for phrase in names for word in phrase} for index, names in own.items()}
        return cls(
            meaning,
            Phrases(frozenset(meaning)),
            frozenset(numbers),
            whole,
            {index: Phrases(frozenset(names | words[index])) for index, names in own.items()},
        )

    def own(self, index: int) -> Phrases:
        """The names of one choice and the single words in them."""
        return self._own[index]

    def saying_at(self, words: Phrase, start: int) -> int:
        """How long the saying is that begins there and chooses nothing."""
        return max(_DOUBT.at(words, start), _HARMLESS.at(words, start))

    def is_exactly(self, line: Line) -> int | None:
        """The one choice whose value or label the line is, in whole; ``None`` where there is none, or two."""
        found = self._whole.get(line.text.casefold(), frozenset())
        if found:
            found |= self.meaning.get(line.words, frozenset())
        return next(iter(found)) if len(found) == 1 else None

    def named_in(self, line: Line) -> frozenset[int]:
        """Every choice that the line names anywhere. The longest name counts, not the shorter ones inside it.

        A single letter names nothing in the middle of a sentence.
        """
        found: frozenset[int] = frozenset()
        position = 0
        while position < len(line.words):
            length = self.phrases.at(line.words, position)
            harmless = _HARMLESS.at(line.words, position)
            if length and length >= harmless and self._counts(line, line.words[position : position + length]):
                found |= self.meaning[line.words[position : position + length]]
            position += max(length, harmless, 1)
        return found

    def _counts(self, line: Line, phrase: Phrase) -> bool:
        if phrase in self.numbers:
            return line.digits < _PHONE_NUMBER
        return len(line.words) == 1 or len("".join(phrase)) > 1

    def doubts(self, line: Line, index: int | None) -> bool:
        """Whether the line negates, conditions or defers, other than by the name of the choice itself."""
        names = Phrases(frozenset(phrase for phrase, means in self.meaning.items() if means == {index}))
        position = 0
        while position < len(line.words):
            harmless = names.at(line.words, position) or _HARMLESS.at(line.words, position)
            if not harmless and (_DOUBT.at(line.words, position) or line.words[position].endswith("n't")):
                return True
            position += harmless or 1
        return False
