"""The tables of words contradict each other in no language and between none."""

from __future__ import annotations

import itertools

import pytest

from channels.grammar.phrases import ANY, FAREWELL, LANGUAGES, Line, Phrases

IN_FAVOUR = ("yes", "approve")
AGAINST = ("no", "deny")
DECIDING = (*IN_FAVOUR, *AGAINST, "claim", "number", "polite")
OWN = {name: {one for words in LANGUAGES.values() for one in getattr(words, name).listed} for name in DECIDING}
SIGNS = "alone"
"""The list that has signs, too."""
LISTS = {**OWN, **{name: phrases.listed for name, phrases in ANY.items() if name != SIGNS}}


def test_all_ten_languages_are_there_and_say_everything_that_decides() -> None:
    assert set(LANGUAGES) == {"en", "de", "fr", "es", "it", "pt", "nl", "sv", "pl", "ja"}
    for words in LANGUAGES.values():
        assert all(getattr(words, name).listed for name in ("yes", "no", "approve", "deny", "claim"))


def test_an_entry_may_have_alternatives_and_parts_that_may_be_left_out() -> None:
    read = Phrases.read("[ich/wir] nehme(n) es, (a/b)c,\nno")

    assert {" ".join(one) for one in read.listed} == {"nehmen es", "ich nehmen es", "wir nehmen es", "ac", "bc", "no"}


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations([*IN_FAVOUR, *AGAINST, "claim"], 2)))
def test_no_word_that_decides_means_anything_else_in_any_language(one: str, other: str) -> None:
    assert not LISTS[one] & LISTS[other]


@pytest.mark.parametrize(("one", "other"), [("agree", "refuse"), ("yes", "refuse"), ("no", "agree"), ("true", "false")])
def test_what_only_proposes_takes_no_other_side(one: str, other: str) -> None:
    assert not LISTS[one] & LISTS[other]


@pytest.mark.parametrize("name", [*IN_FAVOUR, *AGAINST, "claim"])
def test_no_word_that_decides_is_mere_politeness_in_any_language(name: str) -> None:
    """Or else a farewell in one language would be an answer in another, and the line below it a second one."""
    for phrase, polite in itertools.product(LISTS[name], [*(one.polite for one in LANGUAGES.values()), FAREWELL]):
        at = 0
        while at < len(phrase) and (step := polite.at(phrase, at)):
            at += step
        assert at < len(phrase), phrase


@pytest.mark.parametrize("name", LISTS)
def test_entries_are_written_as_they_are_looked_up(name: str) -> None:
    """Lower case, straight apostrophes, no mark, no empty entry: a slip of the pen would never match."""
    for phrase in LISTS[name]:
        assert phrase
        assert all(word.replace("'", "").isalpha() and Line.of(word).words == (word,) for word in phrase), phrase
