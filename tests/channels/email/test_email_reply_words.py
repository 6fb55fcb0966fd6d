"""The words of an echo: the same in each of the ten languages, with the same places to fill in."""

from __future__ import annotations

import re

import pytest

from channels.email.reply_words import reply_words
from channels.grammar.phrases import LANGUAGES
from channels.grammar.reader import Circumstances, ClaimWord, agrees, read_answer
from core.domain.suspension import ResponseType

ENGLISH_WORDS = reply_words("en")
_QUOTED = re.compile(r"“([^”]+)”|„([^“”]+)[“”]|«\s*([^»]+?)\s*»|「([^」]+)」|”([^”]+)”")


def quoted_in(sentence: str) -> list[str]:
    return ["".join(found) for found in _QUOTED.findall(sentence)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_says_all_of_it(language: str) -> None:
    words = reply_words(language)

    assert words.language == language
    assert words.sentences.keys() == ENGLISH_WORDS.sentences.keys()
    assert words.why.keys() == ENGLISH_WORDS.why.keys()
    for name, sentence in words.sentences.items():
        assert sorted(re.findall(r"{\w+}", sentence)) == sorted(re.findall(r"{\w+}", ENGLISH_WORDS[name])), name
    assert language == "en" or words["nothing"] != ENGLISH_WORDS["nothing"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_yes_and_the_ok_that_it_asks_for_are_understood(language: str) -> None:
    words = reply_words(language)
    quoted = [quoted_in(words[name]) for name in ("first", "confirm_fields", "confirm_text")]

    assert all(any(agrees([word], language) for word in some) for some in quoted), quoted
    assert [some[-1] for some in quoted[1:]] == ["ok", "ok"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_claim_that_it_asks_for_is_one(language: str) -> None:
    *_, claim = quoted_in(reply_words(language).why["claim_or_text"])

    read = read_answer([claim], ResponseType.TEXT, (), known=Circumstances(language=language))
    assert isinstance(read, ClaimWord), claim


def test_a_language_that_is_not_there_is_english() -> None:
    assert reply_words("xx") == ENGLISH_WORDS
