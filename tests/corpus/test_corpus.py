"""Both halves of the corpus: no answer that nobody gave, and nearly all of the clear ones understood."""

from __future__ import annotations

import pytest

from tests.corpus.load import DISPUTED, HERE, Case, in_folder, own_half
from tests.corpus.score import ENOUGH, read, share_understood

HALVES: dict[str, list[Case]] = {"own": list(own_half()), "blind": list(in_folder(HERE / "blind"))}
AGAIN: list[Case] = list(in_folder(HERE / "again"))
"""More by somebody else who had not seen the grammar, after what the blind half had shown was mended."""


@pytest.mark.parametrize("cases", [*HALVES.values(), AGAIN], ids=[*HALVES, "again"])
def test_no_answer_is_recorded_that_the_person_did_not_give(cases: list[Case]) -> None:
    wrong = [(one.case.name, one.value) for one in map(read, cases) if one.wrong and one.case.name not in DISPUTED]

    assert not wrong


@pytest.mark.parametrize("half", HALVES)
def test_the_clear_ones_are_understood(half: str) -> None:
    reads = [read(case) for case in HALVES[half]]

    assert share_understood(reads) >= ENOUGH, [one.case.name for one in reads if one.is_clear and not one.understood]


def test_the_corpus_is_as_broad_as_it_says() -> None:
    own = HALVES["own"]

    assert len(own) >= 85
    assert len({case.client for case in own}) >= 15
    assert {case.language[:2] for case in own} == {"en", "de", "fr", "es", "it", "pt", "nl", "sv", "pl", "ja"}
    assert len(own) + len(HALVES["blind"]) >= 150
