"""Whether a line says that somebody is on it. Used by the grammar alone."""

from __future__ import annotations

from channels.opening import MOST_LEAD_INS, STOP, stops_at
from channels.phrases import Line
from channels.vocabulary import CLAIM, FILLER, GREETING, LEAD_IN, SPOKEN_YES


def claims(line: Line) -> bool:
    """Whether the line says that somebody is on it, and no question."""
    position = 0
    for _ in range(MOST_LEAD_INS):
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
    return length if length and end < len(line.words) and STOP.search(line.gap(end)) else 0


def _only_politeness(line: Line, position: int) -> bool:
    """Whether nothing but fillers comes before the next punctuation."""
    while position < len(line.words) and not stops_at(line, position, STOP):
        step = FILLER.at(line.words, position)
        if not step:
            return False
        position += step
    return True
