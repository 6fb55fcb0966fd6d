"""What decides is in the closed language, whoever looks; and nothing that is written below changes what was decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.email.choice_views import prefilled
from channels.email.inbound import read_reply
from channels.email.own_words import own_words
from channels.grammar.phrases import ANY, LANGUAGES, Words
from channels.grammar.reader import ClaimWord, Matched, Reading, read_answer
from channels.pagerduty.webhooks import read_answer_in, read_note
from core.domain.notice import NoticeChoice
from core.domain.suspension import ResponseType
from tests.channels.email.incoming import read
from tests.channels.recogniser import listed, means

REFUND = (
    NoticeChoice(0, "Approve refund", "approve"),
    NoticeChoice(1, "Approve with limit", "limit"),
    NoticeChoice(2, "Deny refund", "deny"),
)
YES_NO = (NoticeChoice(0, "Yes", "yes"), NoticeChoice(1, "No", "no"))
REGION = (NoticeChoice(0, "Frankfurt", "eu-central-1"), NoticeChoice(1, "1", "one"), NoticeChoice(2, "2 %", "two"))
QUESTIONS = (REFUND, YES_NO, REGION)


def by_words(text: str, choices: tuple[NoticeChoice, ...]) -> Reading:
    return read_answer(text.split("\n"), ResponseType.CHOICE, choices)


def by_mail(text: str, choices: tuple[NoticeChoice, ...]) -> Reading:
    return read_reply(read(text).words, ResponseType.CHOICE, choices)


def by_note(text: str, choices: tuple[NoticeChoice, ...]) -> Reading:
    return read_answer_in(read_note(text), ResponseType.CHOICE, choices, None)


DOORS = (by_words, by_mail, by_note)
Door = Callable[[str, tuple[NoticeChoice, ...]], Reading]


def decided(reading: Reading) -> int | str | None:
    if isinstance(reading, ClaimWord):
        return "claim"
    return reading.index if isinstance(reading, Matched) else None


LISTED = sorted({one for name in (*[field.name for field in fields(Words)], *ANY) for one in listed(name)})
SIGNS = [
    "$",
    "€",
    "%",
    "+",
    "-",
    "/",
    "?",
    "¿",
    "？",
    ";",
    "\ufffd",
    "👍",
    "~~",
    "(",
    ")",
    ":",
    "…",
    "#",
    "²",
    "“",
    ">",
]
MARKS = [" ", ", ", ". ", "! ", "\n", "", " - ", "、", "。", "\n\n", ": "]
LIKELY = [
    "1",
    "2",
    "3",
    "4",
    "２",
    "②",
    "2)",
    "1) Yes",
    "Frankfurt",
    "eu-central-1",
    "Approve refund",
    "3) Deny refund",
]
COUNTED = ["$2", "+1", "-1", "2 %", "1-2", "1.5", "2/3", "2 EUR", "2?", "²", "1 or 2", "#2", "(2)", "2.", "n° 2"]
LATER = ["reason: ", "Grund: x", "up to", "weeks", "EUR", "not", "wait", "Bob", "with limit", "12"]


@cache
def said_in(language: str) -> st.SearchStrategy[str]:
    """Words of one language, mostly; with names of options, and now and then something else."""
    kind = [st.sampled_from(listed(name, language)) for name in ("yes", "no", "approve", "deny", "claim")]
    beside = st.sampled_from([*listed("polite", language), *listed("farewell")])
    words = st.one_of(
        *kind, st.sampled_from([*LIKELY, *COUNTED]), beside, beside, st.sampled_from([*LISTED, *SIGNS, *LATER])
    )
    return st.lists(st.tuples(words, st.sampled_from(MARKS)).map("".join), min_size=1, max_size=4).map("".join)


TEXTS = st.sampled_from(sorted(LANGUAGES)).flatmap(said_in)
PIECES = st.tuples(st.sampled_from([*LISTED, *SIGNS, *LATER, *LIKELY]), st.sampled_from(MARKS)).map("".join)


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS)
@settings(max_examples=3 * settings.default.max_examples, deadline=None)
@given(text=TEXTS, choices=st.sampled_from(QUESTIONS))
def test_whatever_decides_is_in_the_closed_language(door: Door, text: str, choices: tuple[NoticeChoice, ...]) -> None:
    index = decided(door(text, choices))

    if isinstance(index, int):
        assert means(text, choices) == {index}


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS)
@settings(max_examples=3 * settings.default.max_examples, deadline=None)
@given(
    above=TEXTS | st.sampled_from(["2", "Yes", "Approve", "Ja, danke", "3) Deny refund", "on it", "Non\n\nMerci"]),
    below=TEXTS | PIECES,
    choices=st.sampled_from(QUESTIONS),
)
def test_a_further_line_leaves_what_was_decided_or_leaves_nothing(
    door: Door, above: str, below: str, choices: tuple[NoticeChoice, ...]
) -> None:
    before = decided(door(above, choices))

    if before is not None:
        assert decided(door(f"{above}\n{below}", choices)) in {before, None}


FIELDS = {
    "urgent": {"type": "boolean"},
    "days": {"type": "integer"},
    "size": {"type": "string", "enum": ["small", "large"]},
    "country": {"type": "string"},
}
FILLED = [
    "urgent: yes",
    "urgent: nein",
    "days: 3",
    "size: small",
    "country: DE",
    "days: 3 weeks",
    "Urgent：はい",
    "hello",
]


@pytest.mark.slow
@settings(max_examples=5 * settings.default.max_examples, deadline=None)
@given(
    above=st.lists(st.sampled_from(FILLED), min_size=1, max_size=4, unique=True).map("\n".join),
    below=TEXTS | PIECES | st.sampled_from([*FILLED, "days: 4", "size: large", "", "\nno", "hello", "a: b"]),
)
def test_a_further_line_changes_no_field_of_a_form_that_has_one_value(above: str, below: str) -> None:
    """Only a text goes on in the next line."""
    schema: dict[str, Any] = {"type": "object", "properties": FIELDS}
    before = read_answer(above.split("\n"), ResponseType.FORM, (), schema)
    after = read_answer(f"{above}\n{below}".split("\n"), ResponseType.FORM, (), schema)

    if isinstance(before, Matched) and isinstance(after, Matched):
        was, now = dict(before.value), dict(after.value)  # type: ignore[arg-type, call-overload]
        assert now.pop("country", "").startswith(was.pop("country", ""))
        assert now | was == now


@pytest.mark.parametrize("lines", ["", "\nIt is a good customer.", "\nIt is.\n\nBest,\nAlice\n"])
def test_a_prefilled_reply_may_be_given_a_reason(lines: str) -> None:
    text = prefilled("3) Deny refund").rstrip() + lines
    reading = read_answer(own_words(text).lines, ResponseType.CHOICE, REFUND)

    assert isinstance(reading, Matched)
    assert reading.index == 2
    assert (reading.reason or "").startswith(lines.strip()[:5])
