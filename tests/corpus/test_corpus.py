"""The corpora: no answer that nobody gave."""

from __future__ import annotations

from functools import cache

import pytest

from tests.corpus.__main__ import corpora, line
from tests.corpus.load import HERE
from tests.corpus.score import Read, read

CORPORA = tuple(corpora())


@cache
def reads_of(name: str) -> list[Read]:
    """How the mails of one corpus are read, which takes a second or more."""
    return [read(case) for case in corpora()[name]]


@pytest.mark.parametrize("name", CORPORA)
def test_no_answer_is_recorded_that_the_person_did_not_give(name: str) -> None:
    wrong = [(one.case.name, one.value) for one in reads_of(name) if one.wrong]

    assert not wrong


def test_the_page_tells_what_is_counted() -> None:
    told = line(one for name in CORPORA for one in reads_of(name))

    assert told in (HERE.parents[1] / "docs" / "reference" / "mail-replies.md").read_text()


def test_the_corpus_is_as_broad_as_it_says() -> None:
    own = [one.case for one in reads_of("own")]

    assert len(own) >= 85
    assert len({case.client for case in own}) >= 15
    assert {case.language[:2] for case in own} == {"en", "de", "fr", "es", "it", "pt", "nl", "sv", "pl", "ja"}
    assert len(own) + len(reads_of("blind")) >= 150
