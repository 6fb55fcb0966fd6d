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

from channels.claims import claims
from channels.farewell import letter_parts, without_farewell
from channels.forms import BadForm, read_form
from channels.named import Names
from channels.opening import LONGEST_GREETING, Said, ends_here, said_first, stands_alone
from channels.phrases import NONE, Line, Phrases
from channels.vocabulary import FILLER, GREETING, LATER, SPOKEN_NO
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
    return "\n" not in first and len(first) <= _LONGEST_LINE and claims(Line.of(first))


def _read_form(text: str, form_schema: Mapping[str, JsonValue] | None) -> Reading:
    try:
        return Matched(text, value=read_form(text.split("\n"), form_schema))
    except BadForm as problem:
        return Unclear(problem.code)


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
    if claims(opening):
        mixed = any(names.named_in(line) for line in [opening, *others])
        return Unclear("claim_and_choice") if mixed else ClaimWord(opening.text)
    said = said_first(opening, names)
    return _read_said(said, opening, others, names) if said else Unclear(_why_not(opening, names))


def _read_said(said: Said, opening: Line, others: list[Line], names: Names) -> Matched | Unclear:
    if len(said.indices) > 1:
        return Unclear("two_choices")
    (index,) = said.indices
    after = opening.after(said.end)
    if len(after.text) > _LONGEST_REASON:
        return Unclear("too_long")
    found = Matched(opening.text, index=index, reason=_reason(after, names.own(index)))
    besides = LATER if said.phrase in SPOKEN_NO.listed and stands_alone(opening, said) else NONE
    reading = _unless_doubtful(found, after, others, names, besides)
    if reading is found and not ends_here(opening, said, names, index):
        return Unclear("no_match")
    return reading


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
        following = said_first(lines[place + 1], names)
        alone = following is not None and following.end == len(lines[place + 1].words)
        if alone and said_first(lines[place], names) is None and not claims(lines[place]):
            return place + 1
    return place


def _greets(line: Line, names: Names) -> bool:
    short = len(line.words) <= LONGEST_GREETING
    return short and bool(GREETING.at(line.words, 0)) and not names.named_in(line) and names.is_exactly(line) is None


def _reason(after: Line, own: Phrases) -> str | None:
    """What was said behind the choice, where it is more than politeness and the choice again."""
    position = 0
    while position < len(after.words):
        step = own.at(after.words, position) or FILLER.at(after.words, position)
        if not step:
            return after.text[after.spans[0][0] :].rstrip(" \t,;:–—-")
        position += step
    return None


def _why_not(line: Line, names: Names) -> str:
    """Why the line is no answer, as far as it helps to say so."""
    if line.asks:
        return "question"
    if len(line.words) == 1 and line.words[0].isdecimal():
        return "no_such_number"
    return "two_choices" if len(names.named_in(line)) > 1 else "no_match"
