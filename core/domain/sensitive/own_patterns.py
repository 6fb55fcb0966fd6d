"""The installation's own patterns: compiled once, refused where they could take for ever.

Python's ``re`` backtracks and knows no time limit, and the text is an agent's. So a pattern has a bound on how many
ways there are to match it from one place, and is matched in windows, never over a long text at once.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from typing import Any

from core.domain.sensitive.kinds import Kind, Span

LONGEST_PATTERN = 500
LONGEST_MATCH = 128
"""A match of up to so many characters is found wherever it stands; a longer one may be found in part."""
_WINDOW = 2 * LONGEST_MATCH

MOST_UNBOUNDED = 2
MOST_WAYS = 1_000
_TOO_MANY = MOST_WAYS + 1

# The parser behind ``re.compile``. Only what it calls the parts of a pattern is relied on, and a test holds that.
_parser: Any = importlib.import_module("re._parser")
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_ONE_CHARACTER = frozenset({"LITERAL", "NOT_LITERAL", "IN", "ANY", "RANGE", "CATEGORY"})
_LOOKS = frozenset({"ASSERT", "ASSERT_NOT"})


def compile_pattern(text: str) -> re.Pattern[str]:
    """Raises ``ValueError`` with what is wrong, as the end of a sentence that begins with the setting's name."""
    if len(text) > LONGEST_PATTERN:
        raise ValueError(f"must have at most {LONGEST_PATTERN} characters")
    try:
        compiled, tree = re.compile(text), _parser.parse(text)
    except (re.error, OverflowError, RecursionError):
        raise ValueError("must be a regular expression as Python's re has them") from None
    if compiled.search("") is not None or tree.getwidth()[0] == 0:
        raise ValueError("must not match the empty text")
    ways, unbounded = _ways(tree)
    if unbounded > MOST_UNBOUNDED:
        raise ValueError(
            f"must have at most {MOST_UNBOUNDED} of *, + and {{n,}}; give the others a bound such as {{1,40}}"
        )
    if ways > MOST_WAYS:
        message = "must not repeat what can itself match in several ways, and give its repeats smaller bounds"
        raise ValueError(f"{message}: it could be tried in more than {MOST_WAYS} ways")
    return compiled


def _ways(parts: Any) -> tuple[int, int]:
    """In how many ways a sequence can be tried from one place, and how many unbounded repeats it has.

    An unbounded repeat of one character counts as one way here: it is the windows that bound it.
    """
    ways, unbounded = 1, 0
    for operator, argument in parts:
        more, open_ended = _ways_of(str(operator), argument)
        ways, unbounded = min(ways * more, _TOO_MANY), unbounded + open_ended
    return ways, unbounded


def _ways_of(operator: str, argument: Any) -> tuple[int, int]:
    if operator in _REPEATS:
        return _repeated(*argument)
    if operator == "BRANCH":
        branches = [_ways(branch) for branch in argument[1]]
        return sum(ways for ways, _ in branches), sum(unbounded for _, unbounded in branches)
    if operator == "SUBPATTERN":
        return _ways(argument[-1])
    if operator in _LOOKS:
        return _ways(argument[1])
    if operator == "ATOMIC_GROUP":
        return _ways(argument)
    return (1, 0) if operator in _ONE_CHARACTER | {"AT"} else (_TOO_MANY, 0)


def _repeated(least: int, most: Any, body: Any) -> tuple[int, int]:
    ways, unbounded = _ways(body)
    single = len(body) == 1 and str(body[0][0]) in _ONE_CHARACTER
    if not isinstance(most, int) or most is _parser.MAXREPEAT or most >= LONGEST_PATTERN:
        return (1, 1) if single else (_TOO_MANY, 1)
    if unbounded:
        return (ways, unbounded) if most == 1 else (_TOO_MANY, unbounded)
    return min(sum(ways ** min(count, 12) for count in range(least, most + 1)), _TOO_MANY), 0


def matched(patterns: tuple[re.Pattern[str], ...], text: str) -> Iterator[Span]:
    """What the installation's own patterns match, window by window; each match counts in the window it begins in."""
    for pattern in patterns:
        for start in range(0, len(text), LONGEST_MATCH):
            for found in pattern.finditer(text, start, start + _WINDOW):
                if found.start() < start + LONGEST_MATCH and found.end() > found.start():
                    yield Span(found.start(), found.end(), Kind.PRIVATE)
