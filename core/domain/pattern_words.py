"""Patterns in words: ``^[0-9]{5}$`` is "five digits". Pure.

Only patterns that say the whole text, piece by piece, have words. All others have none: half of a pattern's meaning
would mislead whoever fills in the field.

Source: ECMA-262 (the dialect of JSON Schema's ``pattern``).
"""

from __future__ import annotations

import re

LONGEST_PATTERN = 120
MOST_PIECES = 5

_CLASSES = {
    "[0-9]": ("digit", "digits"),
    r"\d": ("digit", "digits"),
    "[A-Z]": ("capital letter", "capital letters"),
    "[a-z]": ("small letter", "small letters"),
    "[A-Za-z]": ("letter", "letters"),
    "[a-zA-Z]": ("letter", "letters"),
    "[A-Z0-9]": ("capital letter or digit", "capital letters or digits"),
    "[0-9A-Z]": ("capital letter or digit", "capital letters or digits"),
    "[a-z0-9]": ("small letter or digit", "small letters or digits"),
    "[0-9a-z]": ("small letter or digit", "small letters or digits"),
    "[A-Za-z0-9]": ("letter or digit", "letters or digits"),
    "[a-zA-Z0-9]": ("letter or digit", "letters or digits"),
    "[0-9A-Za-z]": ("letter or digit", "letters or digits"),
    "[0-9a-f]": ("hexadecimal digit", "hexadecimal digits"),
    "[a-f0-9]": ("hexadecimal digit", "hexadecimal digits"),
}
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_PIECE = re.compile(r"(\[[^\[\]\\]{1,12}\]|\\d)|\\([-./#:_ ])|([\w #:_,/@&'%=<>~-])", re.ASCII)
_TIMES = re.compile(r"\{([0-9]{1,3})(?:(,)([0-9]{1,3})?)?\}|(\+)")
_LISTED = re.compile(r"\((?:\?:)?([\w -]{1,40}(?:\|[\w -]{1,40}){1,9})\)")


def pattern_words(pattern: str) -> str | None:
    """What ``pattern`` takes, after "must be"; ``None`` if there are no words for it."""
    if len(pattern) > LONGEST_PATTERN or pattern[:1] != "^" or pattern[-1:] != "$" or pattern[-2:] == r"\$":
        return None
    inner = pattern[1:-1]
    if listed := _LISTED.fullmatch(inner):
        return f"one of: {', '.join(listed[1].split('|'))}"
    pieces: list[str] = []
    literal, at = "", 0
    while at < len(inner):
        piece = _PIECE.match(inner, at)
        if piece is None:
            return None
        at = piece.end()
        times = _TIMES.match(inner, at)
        at = times.end() if times is not None else at
        if piece[1] is None:
            if times is not None:
                return None
            literal += piece[2] or piece[3]
            continue
        counted = _counted(piece[1], times)
        if counted is None:
            return None
        pieces += [f"“{literal}”", counted] if literal else [counted]
        literal = ""
    pieces += [f"“{literal}”"] if literal else []
    return ", then ".join(pieces) if 0 < len(pieces) <= MOST_PIECES else None


def _counted(one: str, times: re.Match[str] | None) -> str | None:
    """``five digits``."""
    if one not in _CLASSES:
        return None
    single, several = _CLASSES[one]
    if times is None:
        return f"one {single}"
    if times[4]:
        return f"{several} only"
    least, most = int(times[1]), times[3]
    if most is None and times[2]:
        return f"at least {_number(least)} {several if least != 1 else single}"
    if most is not None and int(most) != least:
        return f"{_number(least)} to {_number(int(most))} {several}"
    return f"{_number(least)} {single if least == 1 else several}"


def _number(count: int) -> str:
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)
