"""Capability tokens: stable, unguessable, and each good for one thing (RFC-0025 §11)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.tokens import TokenMaker, TokenPurpose, fingerprint

MAKER = TokenMaker(b"k" * 32)
text = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), min_size=1)


def a_token(**changes: str) -> str:
    given = {"purpose": TokenPurpose.PAGE, "suspension_id": "susp-1", "channel": "email", "address": "a@example.com"}
    return MAKER.token(**{**given, **changes})  # type: ignore[arg-type]


def test_a_repeated_send_renders_the_same_token() -> None:
    assert a_token() == a_token()


def test_a_token_survives_a_mail_address_and_a_url() -> None:
    assert re.fullmatch(r"[a-z2-7]{26}", a_token())


@pytest.mark.parametrize(
    "change",
    [
        {"purpose": TokenPurpose.MAIL},
        {"suspension_id": "susp-2"},
        {"channel": "slack"},
        {"address": "b@example.com"},
    ],
)
def test_a_token_is_good_for_one_purpose_one_question_and_one_recipient(change: dict[str, str]) -> None:
    assert a_token(**change) != a_token()


def test_where_one_part_ends_and_the_next_begins_counts() -> None:
    assert a_token(suspension_id="susp-1e", channel="mail") != a_token(suspension_id="susp-1", channel="email")


def test_another_installation_makes_other_tokens() -> None:
    other = TokenMaker(b"x" * 32)
    assert other.token(TokenPurpose.PAGE, "susp-1", "email", "a@example.com") != a_token()


@given(st.lists(text, min_size=3, max_size=3), st.lists(text, min_size=3, max_size=3))
def test_different_recipients_never_share_a_token(one: list[str], other: list[str]) -> None:
    same = MAKER.token(TokenPurpose.PAGE, *one) == MAKER.token(TokenPurpose.PAGE, *other)
    assert same == (one == other)


def test_a_token_is_found_whatever_case_a_mail_system_made_of_it() -> None:
    assert fingerprint(f" {a_token().upper()}\n") == fingerprint(a_token())


def test_what_is_stored_does_not_show_the_token() -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", fingerprint(a_token()))
    assert a_token() not in fingerprint(a_token())
