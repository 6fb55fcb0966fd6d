"""Phrases: lines of text as tokens, each language's lists of phrases to find in them, and which language it is. Pure.

The lists are ``languages/*.toml``; a further language is one more file. Writers do not say which language they use, so
the grammar tries each, and all of them together.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from core.domain.notice import DEFAULT_LANGUAGE

Phrase = tuple[str, ...]

_UNSPACED = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(
    rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+(?:'[^\W_{_UNSPACED}]+)*"  # a word; a run of kana and kanji, however long
    r"|\.{2,}|(?<!\S)(?:[.,]+\d|!+\w)\w*|(?!(?<=[^\W\d_])-(?=[^\W\d_]))\S"
)
"""1番 and OKです are two tokens each, as is allez-y. ".5" is no 5, nor "!5". Whatever else is no word is a
token of its own."""
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "´": "'", "`": "'"})
_INVISIBLE = frozenset({"Cf", "Cc"})
"""Categories of zero-width and control characters."""
_KEYCAP = dict.fromkeys((0xFE0F, 0x20E3))
_DIGITS = re.compile(r"(?![0-9])\d")
"""Those of another script."""
SOFT = frozenset(",.!¡*_、。")
"""Marks that change nothing, wherever they stand between phrases."""
_ASKS = frozenset(";\ufffd")
"""The Greek question mark, which normalising makes a semicolon, and what a lost character leaves."""
_RAISED = frozenset({"<super>", "<sub>", "<fraction>"})


def _asks(mark: str) -> bool:
    name = unicodedata.name(mark, "")
    return mark in _ASKS or "QUESTION MARK" in name or "INTERROBANG" in name


def questions_in(text: str) -> int:
    """How many question marks of any script ``text`` has, before any cleaning."""
    return sum(mark == "?" or (not mark.isascii() and _asks(mark)) for mark in text)


def plain(raw: str) -> str:
    """``raw`` as it looks: NFKC, nothing invisible, straight apostrophes, digits from 0 to 9, single spaces."""
    text = raw
    if not raw.isascii() or not raw.isprintable():
        marks = ("\ufffc" if unicodedata.decomposition(mark)[:10].split(" ")[0] in _RAISED else mark for mark in raw)
        shown = "".join(" " if mark == "\t" else mark for mark in marks if mark == "\t" or _is_seen(mark))
        text = unicodedata.normalize("NFKC", shown.translate(_APOSTROPHES).translate(_KEYCAP)).translate(_APOSTROPHES)
        text = _DIGITS.sub(lambda found: str(unicodedata.decimal(found[0])), text)
    return " ".join(text.translate(_APOSTROPHES).split())


def _is_seen(mark: str) -> bool:
    return unicodedata.category(mark) not in _INVISIBLE


@dataclass(frozen=True, slots=True)
class Line:
    """A line in lower case, its tokens and their positions. ``shown`` has its capitals."""

    text: str
    words: Phrase = ()
    spans: tuple[tuple[int, int], ...] = ()
    shown: str = ""

    @classmethod
    def of(cls, raw: str) -> Line:
        shown = plain(raw)
        text = shown.casefold()
        found = list(_TOKEN.finditer(text))
        return cls(text, tuple(one.group() for one in found), tuple(one.span() for one in found), shown)

    def between(self, start: int, end: int) -> str:
        """The text of tokens ``start`` to ``end``."""
        return self.text[self.spans[start][0] : self.spans[end - 1][1]]

    def spoken(self, start: int, end: int) -> Phrase:
        """The same without commas, as phrases are listed."""
        return tuple(word for word in self.words[start:end] if word not in {",", "、"})


_ALTERNATIVES = re.compile(r"([\[(])([^\])]*)[\])]")


def _written_out(entry: str) -> Iterable[str]:
    """Each phrase that ``entry`` stands for: ``(a/b)`` is a or b, ``[a/b]`` a, b or nothing."""
    found = _ALTERNATIVES.search(entry)
    if found is None:
        return [entry]
    ways = [*found[2].split("/"), *([""] if found[1] == "[" else [])]
    return [one for way in ways for one in _written_out(entry[: found.start()] + way + entry[found.end() :])]


class Phrases:
    """A list of phrases."""

    def __init__(self, listed: Iterable[Phrase]) -> None:
        self.listed = frozenset(listed)
        self.longest = max(map(len, self.listed), default=0)

    @classmethod
    def read(cls, text: str) -> Phrases:
        """The phrases of a comma-separated list."""
        return cls(Line.of(one).words for entry in " ".join(text.split()).split(",") for one in _written_out(entry))

    def at(self, words: Phrase, start: int) -> int:
        """The length in words of the longest phrase that begins at ``start``; 0 if none does."""
        most = min(len(words) - start, self.longest)
        return next((size for size in range(most, 0, -1) if words[start : start + size] in self.listed), 0)

    def places(self, words: Phrase) -> list[tuple[int, int]]:
        """The start and end of each phrase in ``words``, in order of their starts."""
        sizes = range(1, self.longest + 1)
        spans = ((start, start + size) for start in range(len(words)) for size in sizes if start + size <= len(words))
        return [(start, end) for start, end in spans if words[start:end] in self.listed]

    def edges(self, words: Phrase) -> tuple[set[int], set[int]]:
        """The positions with only phrases and soft marks before them, and those with only such behind them."""
        steps = sorted(self.places(words) + [(at, at + 1) for at, word in enumerate(words) if word in SOFT])
        starts, ends = {0}, {len(words)}
        for start, end in steps:
            starts |= {end} if start in starts else set()
        for start, end in reversed(steps):
            ends |= {start} if end in ends else set()
        return starts, ends

    def __contains__(self, words: object) -> bool:
        return words in self.listed

    def make_up(self, words: Phrase) -> bool:
        """Whether ``words`` are nothing but phrases and soft marks."""
        return len(words) in self.edges(words)[0]

    def __or__(self, others: Phrases) -> Phrases:
        return _united(self.listed, others.listed)


@lru_cache(maxsize=256)
def _united(some: frozenset[Phrase], others: frozenset[Phrase]) -> Phrases:
    return Phrases(some | others)


NOTHING = Phrases(())


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one language. Lower case, entries separated by commas: ``(a/b)`` is a or b, ``[a/b]`` a, b or
    nothing.

    All of them decide: an entry belongs there only if, standing alone, it can mean nothing else in any language. If a
    language is written without spaces, an entry is all between two marks of punctuation.
    """

    yes: Phrases
    """A bare yes."""
    no: Phrases
    approve: Phrases
    """The forms of a choice whose value is approve; ``deny`` is its opposite."""
    deny: Phrases
    claim: Phrases
    """ "I'm on it"."""
    number: Phrases
    """May stand before a bare number."""
    polite: Phrases
    """May stand beside anything. No entry may change what it stands beside."""
    own_yes: Phrases = NOTHING
    """A bare yes only from somebody who is known to write this language."""
    own_else: Phrases = NOTHING
    """What from such a person is no answer, though it is one in another language."""


def _lists(file: Path) -> Mapping[str, Phrases]:
    return {name: Phrases.read(text) for name, text in tomllib.loads(file.read_text("utf-8")).items()}


def _all(name: str) -> Phrases:
    return Phrases(one for words in LANGUAGES.values() for one in getattr(words, name).listed)


_FOLDER = Path(__file__).parent / "languages"
LANGUAGES: Mapping[str, Words] = {one.stem: Words(**_lists(one)) for one in sorted(_FOLDER.glob("??.toml"))}
ANY = _lists(_FOLDER / "any.toml")
SPEAKING = _lists(_FOLDER / "speaking.toml")
COMMON = _lists(_FOLDER / "common_words.toml")
YES, NO, APPROVE, DENY, CLAIM, POLITE = map(_all, ("yes", "no", "approve", "deny", "claim", "polite"))
BUSY, FAREWELL, REASON, HEDGE = (ANY[name] for name in ("busy", "farewell", "reason", "hedge"))
_HEDGES_WITHIN = tuple(one[0] for one in HEDGE.listed if len(one) == 1 and re.fullmatch(f"[{_UNSPACED}]+", one[0]))
"""Those of a language without spaces, which stand within a run of other words."""
TRUE, FALSE = YES | ANY["true"], NO | ANY["false"]
AFFIRMATIVE, NEGATIVE = TRUE | APPROVE | ANY["agree"], FALSE | DENY | ANY["refuse"]
"""Values of choices that a bare yes means, or a bare no."""


def hedges(line: Line) -> bool:
    """Whether ``line`` says, in any language, that its writer is not sure of it or wants it looked at."""
    return bool(HEDGE.places(line.words)) or any(one in line.text for one in _HEDGES_WITHIN)


_MOST_LINES = 200
_LONGEST_LINE = 400


def language_of(lines: Iterable[str]) -> str | None:
    """The code (``de``) of the language with clearly more common words there than each of the others; else ``None``.

    The language chooses the words of our reply, and never decides what the writer said. One exception: a word that
    means yes in one language and something else in others ("tak") counts only if its writer's language shows.
    """
    words = {word for line in list(lines)[:_MOST_LINES] for word in Line.of(line[:_LONGEST_LINE]).words}
    found = {language: sum(_weight(word) for word in words if (word,) in common) for language, common in COMMON.items()}
    text = " ".join(words)
    found["ja"] = sum(_ENOUGH for phrase in COMMON["ja"].listed if phrase[0] in text)
    best, second = sorted(found, key=lambda language: -found[language])[:2]
    return best if found[best] >= max(_ENOUGH, found[second] + 1) else None


_ENOUGH = 2
_LONG = 4
"""Letters of a word that says it alone. Shorter ones are words of several languages."""


def _weight(word: str) -> int:
    return _ENOUGH if len(word) >= _LONG else 1


def first_known(*texts: Iterable[str]) -> str:
    """The language of the first of ``texts`` that shows one; else English."""
    return next((found for lines in texts if (found := language_of(lines)) is not None), DEFAULT_LANGUAGE)
