"""What the built-in proposer takes a reply for. It may be generous: all it does is ask."""

from __future__ import annotations

import pytest

from channels.grammar.proposals import FirstNamed

REGIONS = ("Frankfurt", "Ireland", "Stockholm", "Paris")
YES_NO = ("Yes", "No")


@pytest.mark.parametrize(
    ("words", "index"),
    [
        ("Irlanda", 1),
        ("Parigi, grazie", 3),
        ("Sztokholm", 2),
        ("Stokholm pls", 2),
        ("1번이요", 0),
        ("2번", 1),
        ("1번으로 부탁드립니다.", 0),
        ("the 3rd", 2),
        ("Lisbon", None),
        ("We should ask the people in Irlanda", None),
    ],
)
async def test_a_name_with_a_slip_in_it_is_taken_for_the_one_option_that_it_is_like(
    words: str, index: int | None
) -> None:
    assert await FirstNamed().propose(words, REGIONS) == index


async def test_a_slip_that_is_like_two_options_names_neither() -> None:
    assert await FirstNamed().propose("Approv reund", ("Approve refund A", "Approve refund B")) is None


@pytest.mark.parametrize(
    ("words", "index"),
    [
        ("Да", 0),
        ("네", 0),
        ("Igen, köszönöm.", 0),
        ("Ναι", 0),
        ("Ano", 0),
        ("Hayır.", 1),
        ("Ei.", 1),
        ("לא", 1),
        ("不行", 1),
        ("Ich bin da", None),
    ],
)
async def test_a_short_yes_or_no_of_any_language_is_put_to_its_writer(words: str, index: int | None) -> None:
    assert await FirstNamed().propose(words, YES_NO) == index
