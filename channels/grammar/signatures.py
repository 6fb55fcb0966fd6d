"""Signatures and salutations: where a letter's text ends, which lines of its signature may be about the answer, and the
names in a greeting, in thanks and below a farewell, which say nothing about the answer. Pure.

Nobody can list all signatures. So a line of a signature is ignored if it can't speak: a title, a company, a street, a
register, a slogan. A line could speak if it has an option's name or number, a word that decides, denies or sets a
condition, a question mark, the writer or the reader in person, or a "PS". A line in a script or a language that the
grammar does not read could speak, too.

"Hi Robin," above an answer, "Approved, thx Robin" and "VG Robin" below it are polite words and a name, whatever name
the directory has for the writer. A capital alone makes no name: "bitte Teilzahlung" is a condition. So a name that is
not the writer's own is one word behind a greeting, thanks or a farewell, never behind a request. It is no word that
decides, counts or limits in any form.

Source: API.md §6 ("What a reply means"); docs/decisions/0098.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence

from channels.grammar.contact_details import CONTACT, spelled, without_addresses, without_numbers
from channels.grammar.phrases import (
    ANY,
    APPROVE,
    CLAIM,
    DENY,
    FAREWELL,
    HEDGE,
    NO,
    SOFT,
    SPEAKING,
    YES,
    Line,
    Phrase,
    Phrases,
    plain,
    questions_in,
)

LONGEST_BLOCK = 15
"""Lines of a signature below a name. More than that is a letter."""
_MOST_LINES = 400
"""That are searched for a name. A longer text is no answer that is signed."""
_LONGEST_LINE = 400
_LONGEST_CLOSING = 5
"""Words of a farewell."""
_SHORTEST_START = 3
"""Letters of a name that may stand for it: "Tobi"."""
_CURT = re.compile("[A-Za-z]?[a-z]{1,2}")
"""A word so short may be a yes or no of any language."""
_WORD = re.compile(r"[^\W\d_]+")
_DECIDING = YES | NO | APPROVE | DENY

_DAY = re.compile(
    r"(?<![\d./-])(?:\d{1,2}[./-]\d{1,2}[./-](?:\d{2}|\d{4})|(?:19|20)\d\d[./-]\d{1,2}[./-]\d{1,2}|\d{1,2}月\d{1,2}日)"
    r"(?![\d./-]|\w)"
)
"""A date alone may be until when, or from when on."""
_MONEY = re.compile(
    r"[$€£¥]\s?\d|\d[\d.,' ]*\s?(?:[$€£¥%]|(?:eur|euros?|usd|dollars?|gbp|chf|sek|kr|pln|zł|yen|brl|reais)\b)|[0-9]円",
    re.IGNORECASE,
)
_HONOURS = re.compile(
    r"\s*(?:(?:dr|prof|dipl|ing|mag|mr|mrs|ms|mx|m|mme|mlle|herr|frau|sr|sra|srta|dott|dottssa|ir|drs|mgr|inż|ppa)"
    r"\b\.?(?:-ing\.?)?\s*){1,3}",
    re.IGNORECASE,
)
_DEGREE = re.compile(r"\(([A-Z]\w{0,4})\)")
"""A degree, such as "(FH)"."""
_SEPARATOR = re.compile(r"\s*(?:,|\||\(|/|•|·|\s[-–—]\s|\t)")
_CODES = re.compile(r"\b(?!NO\b|IF\b)[A-Z]{2}\b")
"""Countries, states, provinces and forms of companies: "SE", "MI", "US"."""
_SPEAKER = re.compile(r"(?<![\w.])(?:I|u) [a-z]{2}|\bI'(?:m|d|ll|ve)\b")
"""Who speaks in English and is spoken to in Dutch. "i" joins words in Polish and Swedish, and "U." is a short form."""
_POSTSCRIPT = re.compile(
    r"\s*\W?\s*(?:p\.?\s?){1,3}[sd]\b\.?\s*(?:[:：\-–—.]|\s|$)|追伸|\bN\.?B\.?\b[:.]?", re.IGNORECASE
)
_WITHIN = tuple(one for (one, *_) in SPEAKING["within"].listed)
_APPROVAL = SPEAKING["approval"]
_APPROVAL_WITHIN = tuple(one for (one, *_) in _APPROVAL.listed if not one.isascii() and "\u3040" <= one[0] <= "\u9fff")
_COMMON = frozenset({("y",), ("n",), ("dale",), ("on",), ("go",), ("vale",), ("prima",)})
"""Words that say yes or no in one language, and are names or join nouns in another."""

_SPEAKS = Phrases(
    (
        _DECIDING
        | ANY["agree"]
        | ANY["refuse"]
        | CLAIM
        | HEDGE
        | SPEAKING["negation"]
        | SPEAKING["condition"]
        | SPEAKING["person"]
        | SPEAKING["elsewhere"]
    ).listed
    - _COMMON
)
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzäöüßàâæçéèêëîïôœùûüÿñáíóúìòãõåøąćęłńśźżºª'")
"""Of the nine languages in Latin letters. ``ø`` and ``æ`` stand in names everywhere."""


def without_farewell(text: str) -> str:
    """``text`` without the farewells at its end."""
    lines = text.rstrip().split("\n")
    while len(lines) > 1 and (not lines[-1].strip() or bids_farewell(lines[-1])):
        lines.pop()
    return "" if len(lines) == 1 and bids_farewell(lines[0]) else "\n".join(lines).strip("\n").rstrip()


def parted(lines: Sequence[str], sender: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The lines above the name of ``sender`` ("Alice Doe <alice@example.com>"), and the rest, which begins with the
    name. Without a name, or with one only in the first line, there is no rest."""
    at = _name_at(lines, sender) if len(lines) <= _MOST_LINES else None
    if at is None:
        return tuple(lines), ()
    at = _below_words(lines, at)
    if _closes(lines[at - 1]) and any(map(str.strip, lines[: at - 1])):
        at = _below_words(lines, at - 1)
    return tuple(lines[:at]), tuple(lines[at:])


def _below_words(lines: Sequence[str], at: int) -> int:
    """``at``, or the first of the empty lines above it. There is a line of words above those."""
    while not lines[at - 1].strip():
        at -= 1
    return at


def _closes(line: str) -> bool:
    """Whether a name may follow the line: "Warmly,"."""
    return re.fullmatch(r"[^:=\d]+,\s*", line) is not None and len(line.split()) <= _LONGEST_CLOSING


def beside_name(named: Sequence[str], sender: str) -> list[str]:
    """The lines of the second part of :func:`parted`, without the line with the name and without farewells."""
    lines = [line for line in named if line.strip() and not bids_farewell(line)]
    at = next((at for at, line in enumerate(lines) if _signed_at(line, sender) is not None), len(lines))
    return lines[:at] + lines[at + 1 :]


def could_speak(line: str, names: Collection[Phrase] = (), numbers: Collection[str] = (), known: str = "") -> bool:
    """Whether ``line`` of a signature may be about the answer. ``names`` and ``numbers`` are those of the options;
    ``known`` is the signer: their name and address say nothing."""
    if len(line) > _LONGEST_LINE or questions_in(line) or _POSTSCRIPT.match(line) or _SPEAKER.search(plain(line)):
        return True
    if Phrases(names).places(Line.of(CONTACT.sub(" ", plain(line))).words):  # also if the sender is called so
        return True
    signed = _signed_at(line, known)
    text = plain(spelled(line if signed is None else signed[1]))
    return not bids_farewell(line) and _says_something(text, numbers, _names(known))


def decides_by_law(line: str) -> bool:
    """Whether a line of a disclaimer gives or takes an approval, which no usual disclaimer does."""
    return bool(_APPROVAL.places(Line.of(line).words)) or any(one in line for one in _APPROVAL_WITHIN)


def has_speaking_word(line: str) -> bool:
    """Whether a word of ``line`` decides, denies, limits or speaks to somebody, in any language."""
    words = Line.of(line).words
    return bool(_SPEAKS.places(words)) or any(_is_foreign(word) for word in words if any(map(str.isalpha, word)))


def _says_something(text: str, numbers: Collection[str], own: Collection[str]) -> bool:
    """:func:`could_speak`, without the names. Words of ``own`` are names."""
    if _has_sum(text) or _DAY.search(text) or _CURT.fullmatch(text.strip(" .,!|•·-–—()")):
        return True
    if any(word in numbers for word in Line.of(without_numbers(text)).words):
        return True
    words = Line.of(_without_codes(without_addresses(text))).words
    foreign = (_is_foreign(word) for word in words if word not in own and any(map(str.isalpha, word)))
    return bool(_SPEAKS.places(words)) or any(foreign)


def begins_with_name(lines: Sequence[str], sender: str) -> bool:
    """Whether ``lines`` are the name of ``sender`` and more: a signature alone, or a list of people."""
    return len(lines) > 1 and _signed_at(lines[0], sender) is not None


def is_contact(line: str) -> bool:
    """Whether the line is only a way to reach a person."""
    return not any(map(str.isalnum, CONTACT.sub("", plain(line))))


def _has_sum(line: str) -> bool:
    found = _MONEY.search(line)
    return found is not None and not SPEAKING["company"].places(Line.of(line[: found.start()]).words)


def _without_codes(text: str) -> str:
    return _CODES.sub(" ", text) if any(map(str.islower, text)) else text


def _is_foreign(word: str) -> bool:
    """Whether the word is in no script or spelling that the grammar reads, or in Japanese and more than a name."""
    if all(mark in _LETTERS or mark.isdecimal() for mark in word):
        return False
    if any("\u3040" <= mark <= "\u9fff" for mark in word):
        return any(part in word for part in _WITHIN) or _kana(word) > _FEW_KANA
    return any(mark.isalpha() and mark not in _LETTERS for mark in word)


_FEW_KANA = 2
"""Hiragana. "の" and "と" join nouns; more of it is a sentence."""


def _kana(word: str) -> int:
    return sum("\u3040" <= mark <= "\u309f" for mark in word)


def bids_farewell(line: str) -> bool:
    """Whether the line is a farewell without a name."""
    words = Line.of(line[:200].replace(" / ", ", ")).words
    return FAREWELL.make_up(words) and not SOFT.issuperset(words)


def _name_at(lines: Sequence[str], sender: str) -> int | None:
    """The first line below the first own one that is the name of ``sender``, alone or behind a farewell."""
    first = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    below = (at for at in range(first + 1, len(lines)) if _signed_at(lines[at], sender) is not None)
    at = next(below, None)
    if at is None or sum(bool(line.strip()) for line in lines[at + 1 :]) > LONGEST_BLOCK:
        return None
    return at


def _signed_at(line: str, sender: str) -> tuple[str, str] | None:
    """The farewell before the name of ``sender`` and the words behind it, if the line is a farewell with a name."""
    farewell, rest = _behind_farewell(line)
    rest = _DEGREE.sub(r"\1", rest)
    for one in (rest, _HONOURS.sub("", rest, count=1) if _HONOURS.match(rest) else rest):
        found = _SEPARATOR.search(one)
        name, behind = (one, "") if found is None or not found.start() else (one[: found.start()], one[found.end() :])
        if _is_name(name, sender) or _holds_name(name, sender):
            return farewell, behind.rstrip(")")
    return None


def _behind_farewell(line: str) -> tuple[str, str]:
    """The farewell that the line begins with, and the name behind it. A dash before a name is part of neither."""
    read = Line.of(line[:200])
    size = FAREWELL.at(read.words, 0)
    if not size or size == len(read.words):
        return "", re.sub(r"\A\s*(?:[-–—~*_]{1,2}|/)\s?", "", line)
    return read.between(0, size), read.text[read.spans[size - 1][1] :].lstrip(" ,")


def _is_name(line: str, sender: str) -> bool:
    """Whether the line is only names of ``sender`` (whole, begun or as initials), and no word that decides."""
    known, words = _names(sender.partition("@")[0]), [word.casefold() for word in _WORD.findall(plain(line[:200]))]
    if re.sub(r"[\s.,*_-]", "", plain(line)).casefold() != "".join(words) or tuple(words) in _DECIDING:
        return False
    called = [word in known or (len(word) != 2 and any(one.startswith(word) for one in known)) for word in words]
    whole = all(called) and any(word in known or len(word) >= _SHORTEST_START for word in words)
    return whole or _is_initials("".join(words), line, sender)


_CAPITALISED = re.compile(r"[^\W\d_a-zà-ÿ]\S*|[^\W\d_]{1,4}\.\S*|[^\W\d_]{1,3}")
_MOST_NAMES = 8


def _holds_name(line: str, sender: str) -> bool:
    """Whether the line is a name with degrees, titles or further names beside the known ones of ``sender``: each word
    has a capital, or is short for something."""
    words, known = plain(line).split(), {_bare(one) for one in _names(sender.partition("@")[0])}
    found = [word for word in _WORD.findall(plain(line)) if len(word) >= _SHORTEST_START and _bare(word) in known]
    is_name = 0 < len(words) <= _MOST_NAMES and all(map(_CAPITALISED.fullmatch, words))
    said = Line.of(line).words
    is_foreign = any(_is_foreign(word) for word in said if _bare(word) not in known and any(map(str.isalpha, word)))
    return bool(found) and is_name and not is_foreign and not _SPEAKS.places(said)


def _bare(word: str) -> str:
    """``word`` without accents, as in an address."""
    apart = unicodedata.normalize("NFD", word.casefold().translate(_STROKES))
    return "".join(mark for mark in apart if not unicodedata.combining(mark))


_STROKES = str.maketrans({"ł": "l", "ø": "o", "ß": "s"})


def _is_initials(letters: str, line: str, sender: str) -> bool:
    """ "AD" or "A.D." of Alice Doe."""
    name = [word[0].casefold() for word in _WORD.findall(plain(sender.partition("<")[0][:200]))]
    return (
        len(name) >= 2
        and letters == "".join(name)
        and plain(line).strip(" .").replace(".", "").replace(" ", "").isupper()
    )


def _names(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(plain(text[:200]))}


_MOST_GREETED = 3
_LONGEST_GREETING = 5
"""Words."""
_NAME = re.compile(r"[^\W\d_]{3,}(?:['’-][^\W\d_]+)?")
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
    for count in range(1, min(_MOST_GREETED, len(words) - 1) + 1):
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
    if not 0 < len(words) <= _MOST_GREETED or Phrases(options).places(Line.of(text).words):
        return False
    own = {one.casefold() for one in _WORD.findall(plain(writer))}
    strangers = [word for word in words if word.casefold().strip(".") not in own]
    return not strangers or (len(words) == 1 and _is_any_name(words[0]))


def _is_any_name(word: str) -> bool:
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
