"""The tables of words contradict each other in no language and between none."""

from __future__ import annotations

import itertools

import pytest

from channels.phrases import Phrases
from channels.vocabulary import NEGATING
from channels.words import LOCALES

IN_FAVOUR = ("yes", "approve", "accept", "confirm", "allow")
AGAINST = ("no", "deny", "false")
LISTS = {
    name: Phrases.named(name, LOCALES.values()).listed
    for name in (
        *IN_FAVOUR,
        *AGAINST,
        "claim",
        "doubt",
        "negation",
        "harmless",
        "greeting",
        "polite",
        "filler",
        "because",
    )
}


def test_all_ten_languages_are_there_and_say_everything_that_decides() -> None:
    assert set(LOCALES) == {"en", "de", "fr", "es", "it", "pt", "nl", "sv", "pl", "ja"}
    assert all(words.yes and words.no and words.approve and words.deny and words.claim for words in LOCALES.values())


@pytest.mark.parametrize("name", IN_FAVOUR)
@pytest.mark.parametrize("other", [*AGAINST, "claim", "doubt", "negation", "harmless", "greeting"])
def test_no_word_for_yes_means_anything_else_in_any_language(name: str, other: str) -> None:
    assert not LISTS[name] & LISTS[other]


@pytest.mark.parametrize("name", AGAINST)
@pytest.mark.parametrize("other", ["claim", "harmless", "greeting", "doubt"])
def test_a_word_for_no_is_at_most_a_not_in_another_language(name: str, other: str) -> None:
    assert LISTS[name] & LISTS[other] <= NEGATING


def test_a_verb_of_deciding_decides_one_thing() -> None:
    verbs = ("approve", "accept", "confirm", "allow", "deny")

    assert not [
        LISTS[one] & LISTS[other] for one, other in itertools.combinations(verbs, 2) if LISTS[one] & LISTS[other]
    ]


@pytest.mark.parametrize("name", ["harmless", "polite", "filler", "because"])
def test_what_may_stand_beside_an_answer_is_no_doubt(name: str) -> None:
    assert not LISTS[name] & (LISTS["doubt"] | LISTS["negation"])


@pytest.mark.parametrize("language", LOCALES)
def test_entries_are_written_as_they_are_looked_up(language: str) -> None:
    """Lower case, straight apostrophes, no empty entry: a slip of the pen would never match."""
    for name in (*IN_FAVOUR, *AGAINST, "claim", "doubt", "negation", "filler"):
        entries = (
            [one.strip() for one in getattr(LOCALES[language], name).split(",")]
            if getattr(LOCALES[language], name)
            else []
        )
        assert all(one and one == one.lower().replace("’", "'") for one in entries), (name, entries)
