"""The words of a reply that are the person's own: above the first quote, signature or disclaimer. Pure.

Source: facts on mail §B4.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from channels.email.quoting import (
    ANY_ATTRIBUTION,
    ATTRIBUTION,
    DISCLAIMER,
    HEAD_FIRST,
    HEAD_NEXT,
    MARKER,
    SEPARATOR,
    SIGNATURE,
)

_LONGEST_TEXT = 100_000
"""Characters that are looked at. A longer text than may be an answer stays longer than that."""
_LONGEST_MARK = 400
"""Longer lines are prose, whatever they begin with."""
_HEAD_LINES = 3
_WRAPPED_OVER = 3


@dataclass(frozen=True, slots=True)
class OwnWords:
    """``lines`` are the person's own, from the top to the first quote. ``below`` tells that they wrote under it."""

    lines: tuple[str, ...] = ()
    below: bool = False


def own_words(text: str) -> OwnWords:
    """What the person wrote above everything that is quoted, signed or legal."""
    lines = [_visible(line) for line in text[:_LONGEST_TEXT].splitlines()]
    for position, line in enumerate(lines):
        if _quote_begins(lines, position):
            return OwnWords(_stripped(lines[:position]), below=_wrote_below(lines[position:]))
        if len(line) <= _LONGEST_MARK and SIGNATURE.fullmatch(line):
            return OwnWords(_stripped(lines[:position]))
        if DISCLAIMER.match(line[:_LONGEST_MARK]) or _everything_after_is_quoted(lines, position):
            return OwnWords(_stripped(lines[:position]))
    return OwnWords(_stripped(lines))


def _visible(line: str) -> str:
    return re.sub("[\u00a0\u2007\u202f]", " ", line.replace("\0", "")).rstrip()


def _quote_begins(lines: Sequence[str], position: int) -> bool:
    return _is_quoted(lines[position]) or _attribution_begins(lines, position)


def _is_quoted(line: str) -> bool:
    return line.lstrip().startswith(">")


def _attribution_begins(lines: Sequence[str], position: int) -> bool:
    """Whether "On … wrote:" starts here. Its last line is found first, then the latest line that it can start at:
    "On it" above "On Saturday, 21 November Bob wrote:" is the person's own.
    """
    for last in range(position, min(position + _WRAPPED_OVER, len(lines))):
        if not lines[last] or _is_quoted(lines[last]):
            return False
        if not lines[last].endswith((":", "：")) or len(lines[last]) > _LONGEST_MARK:
            continue
        for first in range(last, max(last - _WRAPPED_OVER, -1), -1):
            if ATTRIBUTION.match(" ".join(line.strip() for line in lines[first : last + 1])):
                return first == position
        if last == position and ANY_ATTRIBUTION.fullmatch(lines[last].strip()):
            return True
    return False


def _everything_after_is_quoted(lines: Sequence[str], position: int) -> bool:
    line = lines[position]
    if len(line) > _LONGEST_MARK:
        return False
    if MARKER in " ".join(line.casefold().split()) or SEPARATOR.fullmatch(line):
        return True
    following = [one for one in lines[position + 1 : position + 2 + _HEAD_LINES] if one.strip()][:_HEAD_LINES]
    return bool(HEAD_FIRST.fullmatch(line)) and any(HEAD_NEXT.fullmatch(one) for one in following)


def _wrote_below(lines: Sequence[str]) -> bool:
    """Whether words of the person's own come after the quoted block."""
    quoted = False
    for position, line in enumerate(lines):
        if _is_quoted(line):
            quoted = True
        elif quoted and line.strip():
            return not SIGNATURE.fullmatch(line[:_LONGEST_MARK]) and not _everything_after_is_quoted(lines, position)
    return False


def _stripped(lines: Sequence[str]) -> tuple[str, ...]:
    """Without the empty lines around it."""
    filled = [position for position, line in enumerate(lines) if line.strip()]
    return tuple(lines[filled[0] : filled[-1] + 1]) if filled else ()
