"""What a line opens with: the choice that it names first, and where that ends. Used by the grammar alone."""

from __future__ import annotations

import re
from dataclasses import dataclass

from channels.named import Names, gives_reason
from channels.phrases import Line, Phrase, Phrases, is_run
from channels.vocabulary import (
    FILLER,
    GREETING,
    HARMLESS,
    LEAD_IN,
    NEGATING,
    POLITE,
    SPOKEN_NO,
    SPOKEN_YES,
    SUBJECT,
)

LONGEST_GREETING = 4
MOST_LEAD_INS = 5


@dataclass(frozen=True, slots=True)
class Said:
    """What a line opens with: the choices that its first ``end`` words name."""

    indices: frozenset[int]
    end: int
    stop: re.Pattern[str]
    phrase: Phrase


STOP = re.compile(r"[,;:.!()…–—、。「」]|\s-+|-+\s")
_STOP_AFTER_NUMBER = re.compile(r"[,;!–—、。」]|\s-+|-+\s")
"""The mark of a list item ends nothing: "2) the price is wrong" is no answer."""
_LIST_MARK = re.compile(r"[).:–-]")
_NO_STOP = re.compile(r"(?!)")
"""After a single letter nothing but politeness: "N. Okafor" is a signature."""
_SENTENCE_END = re.compile(r"[.!。]")
"""What ends a sentence without spaces: a comma in it does not, for the negation may come behind it."""


def said_first(line: Line, names: Names) -> Said | None:
    """The longest name at the start of the line, behind at most a few words such as "please" or "option".

    A name that opens a longer saying is none: "no problem" is no "no", "ok thanks" is no "ok". A yes may come before
    a choice that agrees with it, a no before one that refuses.
    """
    start = _behind_greeting(line, names)
    agrees = refuses = subject = False
    for _ in range(MOST_LEAD_INS + 1):
        if length := names.phrases.at(line.words, start):
            if names.saying_at(line.words, start) > length:
                return None
            phrase = line.words[start : start + length]
            means = names.meaning[phrase]
            if (agrees and means & names.refusing) or (refuses and not means <= names.refusing):
                return None
            if (subject and not means <= names.refusing | names.agreeing) or (subject and phrase in names.numbers):
                return None
            return _with_its_name(Said(means, start + length, _stop_after(phrase, names), phrase), line, names)
        if skipped := LEAD_IN.at(line.words, start):
            start += skipped
        elif skipped := _yes_or_no_at(line, start, SPOKEN_YES, names):
            agrees, start = True, start + skipped
        elif skipped := SUBJECT.at(line.words, start):
            subject, start = True, start + skipped
        elif skipped := _yes_or_no_at(line, start, SPOKEN_NO, names):
            refuses, start = True, start + skipped
        else:
            return None
    return None


def _with_its_name(said: Said, line: Line, names: Names) -> Said:
    """A number and the name of the same choice right behind it, as one: "2) No". Not "la 2 no", which says not 2."""
    length = names.phrases.at(line.words, said.end) if said.phrase in names.numbers else 0
    phrase = line.words[said.end : said.end + length]
    if not length or phrase in names.numbers or names.meaning[phrase] != said.indices:
        return said
    if phrase in NEGATING and _LIST_MARK.search(line.gap(said.end)) is None:
        return said
    return Said(said.indices, said.end + length, _stop_after(phrase, names), phrase)


def _yes_or_no_at(line: Line, start: int, spoken: Phrases, names: Names) -> int:
    """How long a yes (or a no) is there that stands by itself, before a comma or a stop."""
    length = spoken.at(line.words, start)
    end = start + length
    alone = length and end < len(line.words) and STOP.search(line.gap(end)) is not None
    return length if alone and HARMLESS.at(line.words, start) <= length else 0


def _stop_after(phrase: tuple[str, ...], names: Names) -> re.Pattern[str]:
    if phrase in names.numbers:
        return _STOP_AFTER_NUMBER
    letter = len("".join(phrase)) == 1 and not is_run(phrase[0])
    return _NO_STOP if letter else STOP


def _behind_greeting(line: Line, names: Names) -> int:
    """Where the line goes on after "Hi Bob, "; 0 where it greets nobody."""
    if not GREETING.at(line.words, 0):
        return 0
    for position in range(1, min(len(line.words), LONGEST_GREETING + 1)):
        if any(mark in ",!.:、。" for mark in line.gap(position)):
            return position
        if names.phrases.at(line.words, position):
            return 0
    return 0


def stands_alone(line: Line, said: Said) -> bool:
    return said.end < len(line.words) and STOP.search(line.gap(said.end)) is not None


def ends_here(line: Line, said: Said, names: Names, index: int) -> bool:
    """Whether the answer is over before anything else begins.

    Up to the next punctuation only fillers and more of the same choice's words may follow: "approve it please, he is
    right" is an answer, "approve rates are low" and "2 issues with this" are none.
    """
    position, stop = said.end, said.stop
    negating = said.phrase in NEGATING
    fillers = POLITE if negating else FILLER
    while position < len(line.words):
        stopped = stops_at(line, position, stop)
        if stopped or gives_reason(line.words, position):
            return True
        own = 0 if negating else names.own(index).at(line.words, position)
        step = own or fillers.at(line.words, position) or _harmless_run(line, position)
        if not step:
            return False
        position += step
        stop = STOP if said.stop is not _NO_STOP else _NO_STOP
        fillers = FILLER if own else fillers
    return True


def stops_at(line: Line, position: int, stop: re.Pattern[str]) -> bool:
    gap = line.gap(position)
    if is_run(line.words[position]):
        return _SENTENCE_END.search(gap) is not None
    return stop.search(gap) is not None


def _harmless_run(line: Line, position: int) -> int:
    return HARMLESS.at(line.words, position) if is_run(line.words[position]) else 0
