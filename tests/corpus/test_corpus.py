"""The corpora: no answer that nobody gave, and nearly all of the clear ones understood."""

from __future__ import annotations

import pytest

from tests.corpus.__main__ import corpora, line
from tests.corpus.load import HERE, Case
from tests.corpus.score import ENOUGH, read, share_understood

CORPORA: dict[str, list[Case]] = {name: list(cases) for name, cases in corpora().items()}


@pytest.mark.parametrize("cases", CORPORA.values(), ids=CORPORA)
def test_no_answer_is_recorded_that_the_person_did_not_give(cases: list[Case]) -> None:
    wrong = [(one.case.name, one.value) for one in map(read, cases) if one.wrong]

    assert not wrong


@pytest.mark.parametrize("cases", CORPORA.values(), ids=CORPORA)
def test_the_clear_ones_decide_or_are_proposed_rightly(cases: list[Case]) -> None:
    reads = [read(case) for case in cases]

    assert share_understood(reads) >= ENOUGH, [one.case.name for one in reads if one.is_clear and not one.understood]


def test_the_page_tells_what_is_counted() -> None:
    assert line() in (HERE.parents[1] / "docs" / "mail-replies.md").read_text()


def test_the_corpus_is_as_broad_as_it_says() -> None:
    own = CORPORA["own"]

    assert len(own) >= 85
    assert len({case.client for case in own}) >= 15
    assert {case.language[:2] for case in own} == {"en", "de", "fr", "es", "it", "pt", "nl", "sv", "pl", "ja"}
    assert len(own) + len(CORPORA["blind"]) >= 150
