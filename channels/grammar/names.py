"""Names of a question's options, and whether a line is one of them: the closed half of the grammar.

A line names an option only if all of it is: polite words, one name, polite words. A name is the option's number, its
value, its label, or a bare yes or no if that can mean only this option.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache
from itertools import pairwise

from channels.grammar.contact_details import without_numbers
from channels.grammar.phrases import (
    AFFIRMATIVE,
    ANY,
    APPROVE,
    DENY,
    FAREWELL,
    LANGUAGES,
    NEGATIVE,
    NO,
    NOTHING,
    SOFT,
    YES,
    Line,
    Phrase,
    Phrases,
    Words,
    plain,
)
from core.domain.notice import NoticeChoice

_LONGEST_LINE = 60
"""Tokens. A longer line is prose."""
_NOT = Phrases.read("not, nicht, kein, keine, keinen, pas, niet, geen, inte")
_ALONE, _OKAY = ANY["alone"], ANY["okay"]
"""A yes if nothing but polite words stand beside it."""
_GOING = {"approve": APPROVE, "deny": DENY, "yes": YES | _ALONE | _OKAY, "no": NO}


class Said(Enum):
    """The meaning of a line that names no option."""

    POLITE = auto()
    FAREWELL = auto()
    CLAIM = auto()
    ELSE = auto()


@dataclass(frozen=True, slots=True)
class Named:
    """The options that a line names in one language; more than one is a doubt. ``name`` is the name used; ``spoken``:
    by a yes or no, whatever else that may be."""

    indices: frozenset[int]
    name: str
    spoken: bool = False


@dataclass(frozen=True, slots=True)
class Names:
    """``written``: numbers, values and labels as they look. ``going``: the option that every entry of a list of words
    goes with. ``called`` is every name of the options, to be searched for in other lines."""

    written: Mapping[str, frozenset[int]]
    going: Mapping[str, int]
    numbers: frozenset[str] = frozenset()
    called: Mapping[Phrase, frozenset[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, choices: Sequence[NoticeChoice], question: str = "") -> Names:
        return _names_of(tuple(choices), question)

    @property
    def phrases(self) -> Collection[Phrase]:
        return self.called.keys()

    def named_in(self, raw: str) -> frozenset[int]:
        """Every option anywhere in the line ``raw``: by number or name, or by a yes or no for it."""
        words, numbered = Line.of(raw).words, Line.of(without_numbers(plain(raw))).words
        found = {index for start, end in Phrases(self.called).places(words) for index in self.called[words[start:end]]}
        found |= {int(word) - 1 for word in numbered if word in self.numbers}
        for own, phrases in _GOING.items():
            if own in self.going and phrases.places(words):
                found.add(self.going[own])
        return frozenset(found)

    def name_another(self, lines: Iterable[str], index: int) -> bool:
        """Whether any of ``lines`` names an option other than ``index``."""
        return any(self.named_in(line) - {index} for line in lines)

    def said(self, line: Line, language: str, *, native: bool = False, okay: bool = False) -> Named | Said:
        """The meaning of ``line`` in ``language``. ``native``: its writer is known to write that language. ``okay``: an
        "ok" is a yes."""
        lists = LANGUAGES[language]
        if len(line.words) > _LONGEST_LINE:
            return Said.ELSE
        alone = _ALONE | (lists.own_yes if native else NOTHING) | (_OKAY if okay else NOTHING)
        if named := self._named(line, lists, alone):
            return named
        if lists.polite.make_up(line.words):
            return Said.POLITE
        if (lists.polite | lists.claim).make_up(line.words):
            return Said.CLAIM
        farewell = tuple(word for word in line.words if word != "/")  # "Saludos / Agur"
        return Said.FAREWELL if FAREWELL.make_up(farewell) else Said.ELSE

    def _named(self, line: Line, lists: Words, alone: Phrases) -> Named | None:
        names, twice = self._between(line, lists, lists.polite, alone), False
        if not names:  # "Yes, approved"; not so a no: "no reject" may forbid to reject
            names, twice = self._between(line, lists, lists.polite | lists.yes), True
            if _stutters(line) or set(names.values()) != {frozenset({self.going.get("yes")})}:
                return None
        spoken = twice or any(Line.of(name).words in YES | NO | alone for name in names)
        return Named(frozenset().union(*names.values()), max(names, key=len), spoken)

    def _between(
        self, line: Line, lists: Words, beside: Phrases, alone: Phrases = NOTHING
    ) -> Mapping[str, frozenset[int]]:
        """Every name with only ``beside`` on both sides, as it is written, with the options of that name. ``alone`` is
        a yes as well."""
        words, found = line.words, dict[str, frozenset[int]]()
        starts, ends = beside.edges(words)
        numbering = {end for start, end in lists.number.places(words) if start in starts}
        counted = {end + (words[end : end + 1] in {(":",), (".",)}) for end in numbering}
        for start, end in ((start, end) for start in starts | counted for end in ends if start < end):
            name = line.between(start, end)
            means = self.written.get(name, frozenset())
            if start in starts:
                spoken = line.spoken(start, end)
                means |= {index for own, index in self.going.items() if spoken in getattr(lists, own)}
                means |= {self.going["yes"]} if spoken in alone and "yes" in self.going else set()
            elif not name.strip("(#)").isdecimal():
                continue
            if means:
                found[name] = found.get(name, frozenset()) | means
        return found


def _stutters(line: Line) -> bool:
    """Whether a word is said twice in a row: "ja, ja" is no yes."""
    said = [word for word in line.words if word not in SOFT]
    return any(word == following for word, following in pairwise(said))


@lru_cache(maxsize=256)
def _names_of(choices: tuple[NoticeChoice, ...], question: str) -> Names:
    written: dict[str, frozenset[int]] = {}
    for choice in choices:
        number, label = str(choice.number), plain(choice.label)
        numbered = {number, f"{number})", f"({number})", f"#{number}", f"[{number}]"}
        printed = {f"{number}{mark} {label}" for mark in (")", ".", ":", " -", " –", "")} | {f"[{number}] {label}"}
        for name in (numbered | printed | {label, plain(choice.value)}) - {""}:
            written[name.casefold()] = written.get(name.casefold(), frozenset()) | {choice.index}
    called = {choice.index: Line.of(re.sub("[_-]", " ", choice.value)).words for choice in choices}
    lists = {"approve": APPROVE, "deny": DENY}
    if not _asks_for_another(choices, called, question):
        lists |= {"yes": AFFIRMATIVE, "no": NEGATIVE}
    going = {own: [index for index, words in called.items() if words in values] for own, values in lists.items()}
    found: dict[Phrase, frozenset[int]] = {}
    for choice in choices:
        for words in {called[choice.index], Line.of(choice.label).words} - {()}:
            found[words] = found.get(words, frozenset()) | {choice.index}
    return Names(
        written,
        {own: indices[0] for own, indices in going.items() if len(indices) == 1},
        numbers=frozenset(str(choice.number) for choice in choices),
        called=found,
    )


def _asks_for_another(choices: Sequence[NoticeChoice], called: Mapping[int, Phrase], question: str) -> bool:
    """Whether the question itself names an option without a yes, or denies: yes to "Deny it?" says to deny it."""
    others = [one for one in choices if called[one.index] not in AFFIRMATIVE]
    names = {words for one in others for words in (called[one.index], Line.of(one.label).words) if words not in NO}
    return bool((Phrases(names) | NO | DENY | _NOT).places(Line.of(question).words))
