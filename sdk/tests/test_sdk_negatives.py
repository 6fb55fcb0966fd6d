"""Which choices say no (API.md §2, §4)."""

from __future__ import annotations

import pytest
from handraise.negatives import is_affirmative, is_negative

YES = ("approve", "Approve refund")


@pytest.mark.parametrize("value", ["deny", "Deny", "no", "veto", "do not", "don't", "Ablehnen", "却下", "block"])
def test_a_value_that_is_a_no_says_no(value: str) -> None:
    assert is_negative(value, {}, YES)


@pytest.mark.parametrize("value", ["deny_refund", "Deny refund", "reject-it"])
def test_a_longer_value_says_no_beside_an_approval_only(value: str) -> None:
    assert is_negative(value, {}, ["Approve refund"])
    assert not is_negative(value, {}, ["keep", "wait"])


@pytest.mark.parametrize("value", ["approve", "no_limit", "north", "cancel", "candidate"])
def test_what_only_looks_like_a_no_says_none(value: str) -> None:
    assert not is_negative(value, {}, ["keep"])


def test_the_asker_overrides_it() -> None:
    assert is_negative("later", {"negative": True}, YES)
    assert not is_negative("block", {"negative": False}, YES)
    assert not is_negative("later", {"negative": "maybe"}, YES)
    assert is_negative("stop", {"veto": True}, YES)


@pytest.mark.parametrize("value", ["approve", "Yes", "go ahead", "OK", "genehmigen"])
def test_an_approval_can_not_be_called_a_no(value: str) -> None:
    assert is_affirmative(value)
    assert not is_negative(value, {"negative": True, "veto": True}, ["deny"])
