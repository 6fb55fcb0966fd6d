"""Reads an answer out of a few lines that a person wrote: a mail's own words, a PagerDuty note.

Strict by intent: a doubt is asked about, never resolved. An answer is the first thing said, named by number, value or
label, and nothing near it takes it back. To a yes-or-no question the words for yes and no count too.

Source: facts on mail §B4; API.md §4.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from channels.farewell import letter_parts, without_farewell
from channels.forms import BadForm, read_form
from channels.named import Names, gives_reason
from channels.phrases import NONE, Line, Phrase, Phrases, is_run
from channels.vocabulary import (
    CLAIM,
    FILLER,
    GREETING,
    HARMLESS,
    LATER,
    LEAD_IN,
    NEGATING,
    POLITE,
    SPOKEN_NO,
    SPOKEN_YES,
    SUBJECT,
)
from channels.words import QUESTION_MARKS
from core.domain.notice import NoticeChoice
from core.domain.suspension import ResponseType

_TOP_LINES = 3
"""The answer stands in the first lines that are not empty; what is below may only take it back."""
_MOST_LINES = 40
_LONGEST_LETTER = 8_000
_LONGEST_REASON = 300
_LONGEST_LINE = 1_000
"""More than this is a letter, not an answer."""
_LONGEST_GREETING = 4
_MOST_LEAD_INS = 5


@dataclass(frozen=True, slots=True)
class Matched:
    """An answer: ``index`` into the choices, or else ``value``. ``reason`` is what followed it, in their own words."""

    text: str
    index: int | None = None
    value: JsonValue = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimWord:
    """ "I'm on it": holds reminders back and answers nothing."""

    text: str


@dataclass(frozen=True, slots=True)
class Unclear:
    """Words, but no answer that is beyond doubt. ``reason`` is a stable code."""

    reason: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """No words at all."""


Reading = Matched | ClaimWord | Unclear | Nothing


def read_answer(
    lines: Sequence[str],
    response_type: ResponseType,
    choices: Sequence[NoticeChoice],
    form_schema: Mapping[str, JsonValue] | None = None,
) -> Reading:
    """What ``lines`` say to a question of this type. Quoted lines (``>``) say nothing."""
    own = [line.rstrip() for line in lines if not line.lstrip().startswith(">")]
    text = "\n".join(own).strip()
    if not text:
        return Nothing()
    match response_type:
        case ResponseType.TEXT:
            return _read_text(without_farewell(text))
        case ResponseType.FORM:
            return ClaimWord(text) if _is_claim(text) else _read_form(without_farewell(text), form_schema)
        case ResponseType.CHOICE | ResponseType.CONFIRM:
            return _read_choice([line for line in own if line.strip()], Names.of(choices))


_SENTENCES = re.compile(r"[^.!?。！？]+([.!?。！？]*)")


def _read_text(text: str) -> Reading:
    """All of it; unless every sentence is a question, which asks back and tells nothing."""
    if not text:
        return Nothing()
    ends = [found[1] for found in _SENTENCES.finditer(text) if found[0].strip()]
    if ends and all(set(end) & QUESTION_MARKS for end in ends):
        return Unclear("question")
    return ClaimWord(text) if _is_claim(text) else Matched(text, value=text)


def _is_claim(text: str) -> bool:
    first = without_farewell(text)
    return "\n" not in first and len(first) <= _LONGEST_LINE and _claims(Line.of(first))


def _read_form(text: str, form_schema: Mapping[str, JsonValue] | None) -> Reading:
    try:
        return Matched(text, value=read_form(text.split("\n"), form_schema))
    except BadForm as problem:
        return Unclear(problem.code)


@dataclass(frozen=True, slots=True)
class _Said:
    """What a line opens with: the choices that its first ``end`` words name."""

    indices: frozenset[int]
    end: int
    stop: re.Pattern[str]
    phrase: Phrase


_STOP = re.compile(r"[,;:.!()…–—、。「」]|\s-+|-+\s")
_STOP_AFTER_NUMBER = re.compile(r"[,;!–—、。」]|\s-+|-+\s")
"""The mark of a list item ends nothing: "2) the price is wrong" is no answer."""
_NO_STOP = re.compile(r"(?!)")
"""After a single letter nothing but politeness: "N. Okafor" is a signature."""
_SENTENCE_END = re.compile(r"[.!。]")
"""What ends a sentence without spaces: a comma in it does not, for the negation may come behind it."""


def _read_choice(block: list[str], names: Names) -> Reading:
    top = block[:_TOP_LINES]
    if any(len(line) > _LONGEST_LINE for line in top):
        return Unclear("too_long")
    if len(block) > _MOST_LINES or sum(map(len, block)) > _LONGEST_LETTER:
        return Unclear("too_long")
    lines = [Line.of(line) for line in block]
    place = _where_to_look(lines[:_TOP_LINES], names)
    opening = lines[place]
    others = lines[:place] + letter_parts(lines[place + 1 :])
    exactly = names.is_exactly(opening)
    if exactly is not None:
        return _unless_doubtful(Matched(opening.text, index=exactly), Line(""), others, names)
    if _claims(opening):
        mixed = any(names.named_in(line) for line in [opening, *others])
        return Unclear("claim_and_choice") if mixed else ClaimWord(opening.text)
    said = _said_first(opening, names)
    return _read_said(said, opening, others, names) if said else Unclear(_why_not(opening, names))


def _read_said(said: _Said, opening: Line, others: list[Line], names: Names) -> Matched | Unclear:
    if len(said.indices) > 1:
        return Unclear("two_choices")
    (index,) = said.indices
    after = opening.after(said.end)
    if len(after.text) > _LONGEST_REASON:
        return Unclear("too_long")
    found = Matched(opening.text, index=index, reason=_reason(after, names.own(index)))
    besides = LATER if said.phrase in SPOKEN_NO.listed and _stands_alone(opening, said) else NONE
    reading = _unless_doubtful(found, after, others, names, besides)
    if reading is found and not _ends_here(opening, said, names, index):
        return Unclear("no_match")
    return reading


def _stands_alone(line: Line, said: _Said) -> bool:
    return said.end < len(line.words) and _STOP.search(line.gap(said.end)) is not None


def _unless_doubtful(
    found: Matched, after: Line, others: list[Line], names: Names, besides: Phrases = NONE
) -> Matched | Unclear:
    """``found``, unless something near it names another choice, asks, negates, conditions or defers."""
    near = (after, *others)
    if any(names.named_in(line) - {found.index} for line in near):
        return Unclear("two_choices")
    if any(line.asks for line in near):
        return Unclear("question")
    if any(names.doubts(line, found.index, besides) for line in near) or names.doubts(Line(found.text), found.index):
        return Unclear("doubt")
    return found


def _where_to_look(lines: list[Line], names: Names) -> int:
    """The line that has to hold the answer. A greeting or a finished sentence may come before it.

    The line after a sentence counts only where it is a choice and nothing else, since it may be the rest of a wrapped
    line ("ask Bob to / approve").
    """
    place = 0
    while place < len(lines) - 1 and (_greets(lines[place], names) or not lines[place].words):
        place += 1
    if place < len(lines) - 1 and lines[place].text.endswith((".", "!", "。")):
        following = _said_first(lines[place + 1], names)
        alone = following is not None and following.end == len(lines[place + 1].words)
        if alone and _said_first(lines[place], names) is None and not _claims(lines[place]):
            return place + 1
    return place


def _greets(line: Line, names: Names) -> bool:
    short = len(line.words) <= _LONGEST_GREETING
    return short and bool(GREETING.at(line.words, 0)) and not names.named_in(line) and names.is_exactly(line) is None


def _behind_greeting(line: Line, names: Names) -> int:
    """Where the line goes on after "Hi Bob, "; 0 where it greets nobody."""
    if not GREETING.at(line.words, 0):
        return 0
    for position in range(1, min(len(line.words), _LONGEST_GREETING + 1)):
        if any(mark in ",!.:、。" for mark in line.gap(position)):
            return position
        if names.phrases.at(line.words, position):
            return 0
    return 0


def _said_first(line: Line, names: Names) -> _Said | None:
    """The longest name at the start of the line, behind at most a few words such as "please" or "option".

    A name that opens a longer saying is none: "no problem" is no "no", "ok thanks" is no "ok". A yes may come before
    a choice that agrees with it, a no before one that refuses.
    """
    start = _behind_greeting(line, names)
    agrees = refuses = subject = False
    for _ in range(_MOST_LEAD_INS + 1):
        if length := names.phrases.at(line.words, start):
            if names.saying_at(line.words, start) > length:
                return None
            phrase = line.words[start : start + length]
            means = names.meaning[phrase]
            if (agrees and means & names.refusing) or (refuses and not means <= names.refusing):
                return None
            if (subject and not means <= names.refusing | names.agreeing) or (subject and phrase in names.numbers):
                return None
            return _with_its_name(_Said(means, start + length, _stop_after(phrase, names), phrase), line, names)
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


def _with_its_name(said: _Said, line: Line, names: Names) -> _Said:
    """A number and the name of the same choice right behind it, as one: "2) No"."""
    length = names.phrases.at(line.words, said.end) if said.phrase in names.numbers else 0
    phrase = line.words[said.end : said.end + length]
    if not length or phrase in names.numbers or names.meaning[phrase] != said.indices:
        return said
    return _Said(said.indices, said.end + length, said.stop, phrase)


def _yes_or_no_at(line: Line, start: int, spoken: Phrases, names: Names) -> int:
    """How long a yes (or a no) is there that stands by itself, before a comma or a stop."""
    length = spoken.at(line.words, start)
    end = start + length
    alone = length and end < len(line.words) and _STOP.search(line.gap(end)) is not None
    return length if alone and HARMLESS.at(line.words, start) <= length else 0


def _stop_after(phrase: tuple[str, ...], names: Names) -> re.Pattern[str]:
    if phrase in names.numbers:
        return _STOP_AFTER_NUMBER
    letter = len("".join(phrase)) == 1 and not is_run(phrase[0])
    return _NO_STOP if letter else _STOP


def _ends_here(line: Line, said: _Said, names: Names, index: int) -> bool:
    """Whether the answer is over before anything else begins.

    Up to the next punctuation only fillers and more of the same choice's words may follow: "approve it please, he is
    right" is an answer, "approve rates are low" and "2 issues with this" are none.
    """
    position, stop = said.end, said.stop
    negating = said.phrase in NEGATING
    fillers = POLITE if negating else FILLER
    while position < len(line.words):
        stopped = _stops(line, position, stop)
        if stopped or gives_reason(line.words, position):
            return True
        own = 0 if negating else names.own(index).at(line.words, position)
        step = own or fillers.at(line.words, position) or _harmless_run(line, position)
        if not step:
            return False
        position += step
        stop = _STOP if said.stop is not _NO_STOP else _NO_STOP
        fillers = FILLER if own else fillers
    return True


def _stops(line: Line, position: int, stop: re.Pattern[str]) -> bool:
    gap = line.gap(position)
    if is_run(line.words[position]):
        return _SENTENCE_END.search(gap) is not None
    return stop.search(gap) is not None


def _harmless_run(line: Line, position: int) -> int:
    return HARMLESS.at(line.words, position) if is_run(line.words[position]) else 0


def _reason(after: Line, own: Phrases) -> str | None:
    """What was said behind the choice, where it is more than politeness and the choice again."""
    position = 0
    while position < len(after.words):
        step = own.at(after.words, position) or FILLER.at(after.words, position)
        if not step:
            return after.text[after.spans[0][0] :].rstrip(" \t,;:–—-")
        position += step
    return None


def _claims(line: Line) -> bool:
    """Whether the line says that somebody is on it, and no question."""
    position = 0
    for _ in range(_MOST_LEAD_INS):
        if length := CLAIM.at(line.words, position):
            return not line.asks and _only_politeness(line, position + length)
        position += _lead_to_claim(line, position)
    return False


def _lead_to_claim(line: Line, position: int) -> int:
    known = LEAD_IN.at(line.words, position) or FILLER.at(line.words, position)
    return known or GREETING.at(line.words, position) or _yes_before_claim(line, position)


def _yes_before_claim(line: Line, position: int) -> int:
    length = SPOKEN_YES.at(line.words, position)
    end = position + length
    return length if length and end < len(line.words) and _STOP.search(line.gap(end)) else 0


def _only_politeness(line: Line, position: int) -> bool:
    """Whether nothing but fillers comes before the next punctuation."""
    while position < len(line.words) and not _stops(line, position, _STOP):
        step = FILLER.at(line.words, position)
        if not step:
            return False
        position += step
    return True


def _why_not(line: Line, names: Names) -> str:
    """Why the line is no answer, as far as it helps to say so."""
    if line.asks:
        return "question"
    if len(line.words) == 1 and line.words[0].isdecimal():
        return "no_such_number"
    return "two_choices" if len(names.named_in(line)) > 1 else "no_match"
