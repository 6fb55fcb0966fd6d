"""The reader of written answers: a few lines that a person wrote, in a mail or in a PagerDuty note.

A reply decides only if it can mean nothing else: all of it has to be one option, said politely, in one language. Only a
farewell may follow, or a block that begins with "Reason:". Everything else is no answer. Nothing is guessed: at most
the option that the first line alone names is proposed.

Source: API.md §6 ("What a reply means"); docs/decisions/0035, 0103.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from channels.grammar.forms import BadForm, read_form
from channels.grammar.names import Named, Names, Said
from channels.grammar.phrases import ANY, BUSY, CLAIM, LANGUAGES, POLITE, REASON, SOFT, Line, Phrase, questions_in
from channels.grammar.signatures import unaddressed, without_farewell
from core.domain.notice import NoticeChoice, Proposal
from core.domain.suspension import ResponseType

_ASSENT = Names({" ".join(words): frozenset({0}) for words in ANY["assent"].listed}, {"yes": 0})
_MARKS = re.compile(r"^\s*[„“”\"«「]\s*|\s*[“”\"»」]\s*$")
"""Quotation marks, which a word is printed in that is to be written back."""
_NOBODYS = Names.of(())
NOT_PROPOSED = "not_proposed"
"""A bare yes or no that can mean two things."""
_SHORT = 10  # words
_LONGEST_ANSWER = 2_000
"""Characters above the reason. More than this is a letter, not an answer."""
LONGEST_REASON = 3_000
"""As over HTTP (API.md §4)."""
_REASON = re.compile(r"\s*([^\W\d_]{1,20})\s?[:：]\s*(.*)")


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is known of the writer, beside their words. ``seen`` is what they may have had before their eyes: proposals,
    and ``None`` for the question itself. ``language`` is the language of the rest of their reply. ``okay``: a bare "ok"
    is a yes, and not "I have seen it". ``writer`` is their name and address."""

    seen: Sequence[Proposal | None] = ()
    language: str | None = None
    okay: bool = False
    writer: str = ""


UNKNOWN = Circumstances()


@dataclass(frozen=True, slots=True)
class Matched:
    """An answer: ``index`` into the choices, or else ``value``. ``reason`` is the text after "Reason:", in their own
    words. ``spoken``: by a bare yes or no, which means something else beside a proposal."""

    text: str
    index: int | None = None
    value: JsonValue = None
    reason: str | None = None
    spoken: bool = False


@dataclass(frozen=True, slots=True)
class ClaimWord:
    """ "I'm on it": holds reminders back and answers nothing."""

    text: str


@dataclass(frozen=True, slots=True)
class Unclear:
    """Words that decide nothing. ``reason`` is a stable code. ``meant`` is what their writer may confirm: a form's
    fields as far as they were read, or a text. ``said`` says in a sentence what is wrong with a field. ``first`` is the
    option that the first line alone names, if no other line names another one."""

    reason: str
    meant: JsonValue = None
    said: str | None = None
    first: int | None = None


@dataclass(frozen=True, slots=True)
class Nothing:
    """No words at all."""


Reading = Matched | ClaimWord | Unclear | Nothing


def read_answer(
    lines: Sequence[str],
    response_type: ResponseType,
    choices: Sequence[NoticeChoice],
    form_schema: Mapping[str, JsonValue] | None = None,
    question: str = "",
    known: Circumstances = UNKNOWN,
) -> Reading:
    """The answer of ``lines`` to ``question``. Quoted lines (``>``) say nothing; beside an option they are a doubt."""
    own = [line for line in map(str.rstrip, lines) if line.lstrip()[:1] != ">"]
    text = "\n".join(own).strip()
    if not text:
        return Nothing()
    names = Names.of(choices, question)
    match response_type:
        case ResponseType.TEXT:
            reading = _read_text(without_farewell(text))
        case ResponseType.FORM:
            reading = ClaimWord(text) if _is_claim(text) else _read_form(without_farewell(text), form_schema)
        case ResponseType.CHOICE | ResponseType.CONFIRM:
            reading = _read_choice(lines, names, known)
    reading = _beside(reading, lines, known, names)
    return replace(reading, first=_first_named(own, names, known)) if isinstance(reading, Unclear) else reading


def _beside(reading: Reading, lines: Sequence[str], known: Circumstances, names: Names) -> Reading:
    """A bare yes takes the proposal, if it can mean nothing else. A bare no means nothing: it may deny the option, or
    the proposal. A number or a name is always the question's own option. If the lines may answer the question itself,
    its yes is among the meanings, and a text is its answer."""
    proposals = [one for one in known.seen if one is not None]
    own = reading if isinstance(reading, Matched) else None
    if not proposals:
        return reading
    if not agrees(lines, known.language):
        return Unclear(NOT_PROPOSED) if own is not None and own.spoken else reading
    meant = {repr(one.value) if one.index is None else one.index: one for one in proposals}
    to_question = names.going.get("yes") if None in known.seen else None
    if own is not None and not own.spoken and own.index is not None:
        to_question = own.index
    if to_question is not None:
        meant.setdefault(to_question, Proposal(to_question, None))
    if own is not None and own.index is None and None in known.seen:
        return Unclear(NOT_PROPOSED)
    if len(meant) != 1:
        return Unclear(NOT_PROPOSED)
    (one,) = meant.values()
    return Matched("\n".join(lines), one.index, one.value if one.index is None else None)


def agrees(lines: Sequence[str], language: str | None = None) -> bool:
    """Whether ``lines`` are a bare yes, "ok" or "confirmed", and nothing more, by a writer of ``language``."""
    copied = [_MARKS.sub("", line) for line in lines]
    reading = _read_choice(copied, _ASSENT, Circumstances(language=language))
    return isinstance(reading, Matched) and reading.reason is None and not re.search(r"\d", reading.text)


def _first_named(lines: Sequence[str], names: Names, known: Circumstances) -> int | None:
    """The option that the first of ``lines``, below a greeting at most, names by itself. ``None`` if another line has
    another option in it."""
    said = list(filter(str.strip, unaddressed(lines, names.phrases, known.writer)))
    at = next((at for at, line in enumerate(said) if not is_polite(line)), len(said))
    alone = said[at : at + 1]
    first = _beside(_read_choice(alone, names, known), alone, known, names)
    if not isinstance(first, Matched) or first.index is None or first.reason is not None:
        return None
    return None if names.name_another((*said[:at], *said[at + 1 :]), first.index) else first.index


def first_line(lines: Sequence[str]) -> str:
    """The first of ``lines`` that is not a greeting; else empty."""
    return next((line for line in unaddressed(lines) if line.strip() and not is_polite(line)), "")


def option_alone(line: str, names: Names, known: Circumstances = UNKNOWN) -> int | None:
    """The option that ``line`` alone is."""
    reading = _read_choice([line], names, known)
    return reading.index if isinstance(reading, Matched) and reading.reason is None else None


def is_polite(line: str) -> bool:
    """Whether the line is a greeting, thanks or a please, in any one language."""
    return any(_NOBODYS.said(Line.of(line), language) is Said.POLITE for language in LANGUAGES)


def way_to_write(choices: Sequence[NoticeChoice], index: int) -> str | None:
    """The shortest text that decides for the option: its number, unless that is another option's name."""
    choice = choices[index]
    forms = (str(choice.number), f"{choice.number}) {choice.label}", choice.value, choice.label)
    readings = ((form, _read_choice([form], Names.of(choices))) for form in forms)
    return next((form for form, read in readings if isinstance(read, Matched) and read.index == index), None)


def _read_text(text: str) -> Reading:
    """The whole text. If it asks something or may be a claim, its writer is asked whether it is the answer."""
    if not text:
        return Nothing()
    if _is_claim(text):
        return ClaimWord(text)
    if not any(map(str.isalnum, text)):
        return Unclear("no_words")
    meant, words = text if len(text) <= _LONGEST_ANSWER else None, Line.of(text[:_LONGEST_ANSWER]).words
    if any(CLAIM.at(words, at) for at in POLITE.edges(words)[0]) or (len(words) <= _SHORT and BUSY.places(words)):
        return Unclear("claim_or_text", meant)
    return Unclear("question", meant) if questions_in(text) else Matched(text, value=text)


def _is_claim(text: str) -> bool:
    return isinstance(_read_choice(text.split("\n"), _NOBODYS), ClaimWord)


def _read_form(text: str, form_schema: Mapping[str, JsonValue] | None) -> Reading:
    try:
        return Matched(text, value=read_form(text.split("\n"), form_schema))
    except BadForm as problem:
        return Unclear(problem.code, None if problem.fields is None else dict(problem.fields), problem.said)


def _read_choice(lines: Sequence[str], names: Names, known: Circumstances = UNKNOWN) -> Reading:
    block = list(filter(str.strip, lines))
    above, reason = _reasoned(block)
    if len("\n".join(above)) > _LONGEST_ANSWER or len(reason or "") > LONGEST_REASON:
        return Unclear("too_long")
    said = [Line.of(line) for line in unaddressed(above, names.phrases, known.writer)]
    readings = _readings(said, names, known)
    text = "\n".join(block)
    if len({(one.indices if isinstance(one, Named) else one) for one in readings}) != 1:
        return Unclear(_why_not(text, said, readings))
    found = max(readings, key=str)
    if questions_in(text) > (questions_in(found.name) if isinstance(found, Named) else 0):
        return Unclear("question")
    if isinstance(found, Said):
        return ClaimWord(text) if reason is None else Unclear("claim_and_choice")
    beside = (_read_choice([line], names) for line in {*(reason or "").split("\n")})  # two prefilled replies in one
    if len(found.indices) != 1 or any(isinstance(one, Matched) and one.index not in found.indices for one in beside):
        return Unclear("two_choices")
    return Matched("\n".join(above), index=min(found.indices), reason=reason or None, spoken=found.spoken)


def _readings(said: Sequence[Line], names: Names, known: Circumstances) -> set[Named | Said]:
    """The meanings of the lines in each language; none if a line means something else in its writer's own."""
    own = LANGUAGES.get(known.language or "")
    if own is not None and any(_bare(line) in own.own_else for line in said):
        return set()
    return {one for language in LANGUAGES if (one := _read_in(language, said, names, known)) is not None}


def _bare(line: Line) -> Phrase:
    return tuple(word for word in line.words if word not in SOFT)


def _read_in(language: str, lines: Sequence[Line], names: Names, known: Circumstances) -> Named | Said | None:
    """The one meaning of all ``lines`` together in ``language``: an option, or a claim."""
    found: Named | Said | None = None
    for line in lines:
        said = names.said(line, language, native=language == known.language, okay=known.okay)
        if isinstance(said, Named) or said is Said.CLAIM:
            if found is not None:
                return None
            found = said
        elif said is Said.ELSE or (said is Said.FAREWELL and found is None):
            return None
    return found


def _reasoned(block: Sequence[str]) -> tuple[Sequence[str], str | None]:
    """The lines above "Reason:", and the text after it: empty if there is none, ``None`` without "Reason:"."""
    for at, line in enumerate(block):
        found = _REASON.match(line)
        if found and Line.of(found[1]).words in REASON:
            return block[:at], without_farewell("\n".join([found[2], *block[at + 1 :]])).strip()
    return block, None


def _why_not(text: str, lines: Sequence[Line], readings: Collection[Named | Said]) -> str:
    """The code of why it is not an answer, as far as that helps its writer."""
    if readings:
        return "two_choices"
    if questions_in(text):
        return "question"
    alone = len(lines) == 1 and len(lines[0].words) == 1 and lines[0].text.isdecimal()
    return "no_such_number" if alone else "no_match"
