"""Trigrams: a text that contains another is found by it, whatever its letters are."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.store.trigrams import SEGMENT, Terms, bitmap, folded, looked_up, of_creator, packed, places, trigrams


def test_letters_that_a_database_may_take_for_the_same_are_folded_alike() -> None:
    letters = [chr(number) for number in range(sys.maxunicode + 1)]
    assert [one for one in letters if folded(one.lower()) != folded(one)] == []


@pytest.mark.parametrize(("text", "part"), [("ΟΔΟΣ ΑΒ", "οδοσ"), ("İstanbul", "istan"), ("Straße", "STRASSE")])
def test_a_word_is_looked_up_by_what_the_text_has(text: str, part: str) -> None:
    assert set(looked_up(part)) <= trigrams(text)


@given(st.text(), st.text(min_size=3), st.text())
def test_a_part_is_always_among_the_texts_that_are_found_by_it(before: str, part: str, after: str) -> None:
    assert set(looked_up(part.upper())) <= trigrams(before + part.upper() + after)


@given(st.text(alphabet="abcdef", min_size=3, max_size=200))
def test_few_trigrams_are_looked_up_and_short_texts_are_covered(text: str) -> None:
    chosen = looked_up(text)
    assert 0 < len(chosen) <= 9
    if len(text) <= 12:
        assert set(text) <= set("".join(chosen))


@pytest.mark.parametrize("text", ["", "a", "ab", "\u0378\u0378\u0378"])
def test_what_is_too_short_or_unknown_is_not_looked_up(text: str) -> None:
    assert list(looked_up(text)) == []


@given(st.sets(st.integers(0, SEGMENT - 1), min_size=1))
def test_places_are_kept_as_they_are(given_places: set[int]) -> None:
    kept = packed(sorted(given_places))
    assert [*places(bitmap(kept))] == sorted(given_places)
    assert len(kept) <= SEGMENT // 8


def test_a_segment_knows_which_of_its_questions_have_a_term() -> None:
    made = Terms()
    made.add(0, "Refund?", "one")
    made.add(5, "A refund", "two")
    kept = made.packed()
    assert [*places(bitmap(kept["ref"]))] == [0, 5]
    assert [*places(bitmap(kept["nd?"]))] == [0]
    assert [*places(bitmap(kept[of_creator("two")]))] == [5]
