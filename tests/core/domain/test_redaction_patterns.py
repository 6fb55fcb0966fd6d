"""An installation's own patterns: what may be written, and what is refused before an agent's text meets it."""

from __future__ import annotations

import pytest

from core.domain.redaction.patterns import LONGEST_MATCH, compile_pattern, matched


@pytest.mark.parametrize(
    "pattern",
    [
        r"EMP-\d+",
        r"\bACME-[A-Z0-9]+\b",
        r"[A-Z]+-\d+",
        r"customer-\d{6,}",
        r"(?i)project (?:falcon|osprey)",
        r"(?:\d{4}-){3}\d{4}",
        r"(?<=ref )[a-f0-9]{32}",
        r"KD\d{2,9}(?:/\d{1,4})?",
        "ä+ß",
    ],
)
def test_usual_patterns_are_taken(pattern: str) -> None:
    assert compile_pattern(pattern).pattern == pattern


@pytest.mark.parametrize("pattern", ["(", "[a-", "*", "(?P<n>", r"\q", "a{2,1}", "(?P<n>a)(?P<n>b)"])
def test_what_is_no_regular_expression_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="must be a regular expression"):
        compile_pattern(pattern)


@pytest.mark.parametrize("pattern", ["", "a*", "(?:x|)", r"\b", "(?=a)", "^|a"])
def test_what_matches_nothing_at_all_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="must not match the empty text"):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+b",
        r"(?:a|a)+b",
        r"(?:a|aa){1,40}b",
        r"(?:\w+ ?)*x",
        r"(?:a{1,30}){1,30}b",
        r"(a|b)\1{1,400}(?:c|d){1,20}",
        r"\w{1,64}@\w{1,64}",
        r"(?:(?:a?){20}){20}a",
        r"(?=(?:a|a){1,30})b",
    ],
)
def test_what_could_be_tried_in_too_many_ways_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="more than 1000 ways"):
        compile_pattern(pattern)


def test_three_open_ended_repeats_are_one_too_many() -> None:
    with pytest.raises(ValueError, match=r"at most 2 of \*, \+ and \{n,\}"):
        compile_pattern(r"\w+-\w+-\w+")


def test_a_pattern_has_a_length() -> None:
    with pytest.raises(ValueError, match="at most 500 characters"):
        compile_pattern("a" * 501)


def test_a_match_is_looked_for_in_windows_so_that_no_text_is_too_long() -> None:
    [span] = matched((compile_pattern("x+y"),), "x" * (LONGEST_MATCH - 1) + "y" + "z" * 10_000)
    assert (span.start, span.end) == (0, LONGEST_MATCH)
    assert not list(matched((compile_pattern("x+y"),), "x" * 5_000 + "z"))
