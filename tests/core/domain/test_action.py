"""What exactly will run, as people read it (API.md §2, "What is shown")."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.action import ShownAction, hides, shown_action, visible
from core.domain.request import action_digest

trees = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=12)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=20,
)
actions = st.dictionaries(st.text(max_size=6), trees, max_size=4)


def text(action: dict[str, Any]) -> str:
    return ShownAction(action, "1a2b3c4d").text()


def test_it_is_indented_json_in_the_agents_own_order() -> None:
    assert text({"tool": "refund", "amount": 49999, "lines": [{"sku": "A-1"}, []], "note": None}) == (
        '{\n  "tool": "refund",\n  "amount": 49999,\n  "lines": [\n    {\n      "sku": "A-1"\n    },\n    []\n  ],\n'
        '  "note": null\n}'
    )


def test_it_is_named_by_the_first_digits_of_the_digest_that_the_callback_carries() -> None:
    action = {"amount": 49999}
    digest = action_digest(action)
    assert digest is not None
    shown = shown_action(action, digest)
    assert shown is not None
    assert shown.heading == f"Exactly this will run (sha256 {digest[7:15]})"
    assert shown_action(None, None) is None


@given(actions)
def test_what_is_shown_is_what_will_run(action: dict[str, Any]) -> None:
    assert json.loads(text(action)) == action


@given(actions)
def test_every_sign_of_it_can_be_seen(action: dict[str, Any]) -> None:
    signs = text(action).replace("\n", "")
    assert signs.isprintable()
    assert not [sign for sign in signs if unicodedata.category(sign) in {"Cf", "Cc", "Me", "Co", "Cs"}]


@pytest.mark.parametrize(
    ("sign", "written"),
    [
        ("\u202e", "\\u202e"),  # what follows is read backwards
        ("\u2066", "\\u2066"),
        ("\x1b[31m", "\\u001b[31m"),
        ("\x7f", "\\u007f"),
        ("\u200b", "\\u200b"),
        ("\u00a0", "\\u00a0"),
        ("\u2028", "\\u2028"),
        ("\u3164", "\\u3164"),  # a letter that shows nothing
        ("\u034f", "\\u034f"),
        ("\ufe0f", "\\ufe0f"),
        ("\U000e0041", "\\udb40\\udc41"),  # a tag: an ASCII letter that nobody sees
        ("9\u0336", "9\\u0336"),  # struck through
        ("a\u20dd", "a\\u20dd"),  # put into a circle
        ("e\u0301", "e\u0301"),
        ("e" + "\u0301" * 5, "e" + "\u0301" * 3 + "\\u0301" * 2),
        ("שלום 🙂 naïve", "שלום 🙂 naïve"),
    ],
)
def test_what_hides_moves_or_covers_is_written_as_an_escape(sign: str, written: str) -> None:
    assert visible(f"x{sign}") == f'"x{written}"'
    assert f'"x{written}": 1' in text({f"x{sign}": 1})


@pytest.mark.parametrize(
    "blank",
    [
        *"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u200b\u200c\u200d\u200e\u200f",
        *"\u2060\u2061\u2064\u206f\u2800\u3164\ufe00\ufe0f\ufeff\uffa0\U0001bca0\U0001d173",
        *"\U000e0001\U000e0020\U000e007f\U000e0100\U000e01ef",
    ],
)
def test_nothing_that_shows_nothing_is_left_as_it_is(blank: str) -> None:
    """Default_Ignorable_Code_Point of Unicode, by its ranges, and the blank of Braille."""
    assert visible(f"a{blank}b").isascii()


def test_ten_thousand_levels_are_shown_without_ten_thousand_indentations() -> None:
    deep: dict[str, Any] = {}
    innermost = deep
    for _ in range(10_000):
        innermost["a"] = innermost = {}
    shown = text(deep)
    assert len(shown) < 100_000
    assert (shown.count("{"), shown.count("}")) == (10_001, 10_001)


@given(actions, st.integers(0, 200))
def test_its_beginning_is_as_long_as_is_asked_for(action: dict[str, Any], most: int) -> None:
    shown = ShownAction(action, "1a2b3c4d")
    assert shown.text(most) == shown.text()[:most]
    assert shown.is_longer_than(most) == (len(shown.text()) > most)
    assert not shown.is_longer_than(len(shown.text()))
    assert shown.is_longer_than(len(shown.text()) - 1)


def test_a_part_that_is_redacted_is_noticed() -> None:
    assert hides(text({"card": "[redacted: card number]"}))
    assert not hides(text({"card": "red"}))
