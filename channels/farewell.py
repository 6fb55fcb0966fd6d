"""Where a letter ends: its farewell, and what stands below it. Used by the grammar alone."""

from __future__ import annotations

import re

from channels.phrases import Line
from channels.vocabulary import DOUBT, FAREWELL

_LONGEST_BLOCK = 8
"""Lines of a signature below a farewell."""
_LONGEST_NAME = 4
_SENTENCE = 4
_AFTERTHOUGHT = re.compile(r"(?:p\.?\s?s\b|n\.?b\b|edit\b|update\b|追伸)", re.IGNORECASE)
_DASHED_NAME = re.compile(r"[-–—~]{1,2}\s?[^\W\d_a-z][\w.'-]*(?:\s[^\W\d_a-z][\w.'-]*){0,2}")


def letter_parts(lines: list[Line]) -> list[Line]:
    """The lines that can take an answer back: all above the farewell, and below it the sentences: no name, no
    title and no street, which may hold any word.
    """
    end = next((at for at, line in enumerate(lines) if _bids_farewell(line)), len(lines))
    return lines[:end] + [line for line in lines[end:] if _is_sentence(line)]


def without_farewell(text: str) -> str:
    """``text`` without the farewell and the name and address below it, where it ends in them."""
    lines = text.split("\n")
    filled = [at for at, line in enumerate(lines) if line.strip()]
    for at in reversed(filled[-_LONGEST_BLOCK:]):
        line = Line.of(lines[at][:200])
        below = [Line.of(one[:200]) for one in lines[at + 1 :] if one.strip()]
        named = at == filled[-1] and bool(_DASHED_NAME.fullmatch(lines[at].strip()))
        if (
            not any(map(_is_sentence, below))
            and (named or _bids_farewell(line))
            and (below or named or at != filled[0])
        ):
            return without_farewell("\n".join(lines[:at])) if at else ""
    return text.strip("\n").rstrip()


def without_name(lines: tuple[str, ...], sender: str) -> tuple[str, ...]:
    """``lines`` without the sender's name at their end, and the title and address below it: what signs a letter
    may hold any word. A line below it that says something keeps all.
    """
    name = Line.of(sender[:100]).words
    for at in range(len(lines) - 1, max(len(lines) - _LONGEST_BLOCK, 0), -1):
        words = Line.of(lines[at][:100]).words
        if words and name and words in {name, name[:1]}:
            below = [Line.of(one[:200]) for one in lines[at + 1 :] if one.strip()]
            doubtful = any(DOUBT.at(line.words, place) for line in below for place in range(len(line.words)))
            return lines if doubtful or any(map(_is_sentence, below)) else _ended(lines[:at])
    return lines


def _ended(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Without the empty lines at the end."""
    filled = [at for at, line in enumerate(lines) if line.strip()]
    return lines[: filled[-1] + 1] if filled else ()


def _bids_farewell(line: Line) -> bool:
    """Whether the line is a farewell, with a name behind it at most."""
    length = FAREWELL.at(line.words, 0)
    if not length or line.asks:
        return False
    rest = range(length, len(line.words))
    if len(rest) > _LONGEST_NAME or any(DOUBT.at(line.words, at) for at in rest):
        return False
    return all(line.text[line.spans[at][0]].isupper() or FAREWELL.at(line.words, at) for at in rest)


def _is_sentence(line: Line) -> bool:
    if _AFTERTHOUGHT.match(line.text):
        return True
    if DOUBT.at(line.words, 0):
        return True
    if len(line.words) < _SENTENCE:
        return len(line.words) > 1 and line.text[:1].islower()
    return line.text[:1].islower() or line.text.endswith((".", "!", "?", "。"))
