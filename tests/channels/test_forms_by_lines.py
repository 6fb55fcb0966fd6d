"""Forms filled in line by line: a boolean, a number and an enumeration are exactly that, and whatever else is written
beside the fields is asked about.
"""

from __future__ import annotations

from typing import Any

import pytest

from channels.grammar.reader import Matched, Reading, Unclear, read_answer
from core.domain.suspension import ResponseType

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "amount": {"type": "integer"},
        "ship_to": {"type": "string", "title": "Ship to"},
        "express": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "rate": {"type": "number"},
        "size": {"enum": ["S", "M", "XL"]},
    },
}


def fill_in(text: str) -> Reading:
    return read_answer(text.split("\n"), ResponseType.FORM, (), SCHEMA)


def test_a_form_is_filled_in_line_by_line_in_the_schema_s_types() -> None:
    text = "Hi,\n\nAmount: 12\nShip to: Main Street 5\nOslo\nexpress: yes\ntags: a, b\nrate: 0.5\nsize: xl\n\nThanks"

    assert fill_in(text) == Matched(
        text.removesuffix("\n\nThanks"),
        value={
            "amount": 12,
            "ship_to": "Main Street 5\nOslo",
            "express": True,
            "tags": ["a", "b"],
            "rate": 0.5,
            "size": "XL",
        },
    )


def test_a_field_may_be_set_by_the_sign_of_equality() -> None:
    assert fill_in("amount = 12\nexpress=yes") == Matched(
        "amount = 12\nexpress=yes", value={"amount": 12, "express": True}
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("As you asked, here is what I know so far:\namount: 12", "beside_fields"),
        ("I am not sure yet.\namount: 12", "beside_fields"),
        ("amount: 12\n\nPlease check with Bob before you use this.", "beside_fields"),
        ("amount: 12\nwithout postage", "beside_fields"),
        ("amount: 12\nship to: Oslo?", "question"),
        ("amount: 12\nship to: Oslo？", "question"),
    ],
)
def test_whatever_stands_beside_the_fields_leaves_them_to_be_confirmed(text: str, code: str) -> None:
    reading = fill_in(text)

    assert isinstance(reading, Unclear)
    assert reading.reason == code
    assert isinstance(reading.meant, dict)
    assert reading.meant["amount"] == 12


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("amount: a dozen", "“amount” must be a whole number, such as 12."),
        ("amount: 12 EUR", "“amount” must be a whole number, such as 12."),
        ("ship to: Oslo\nexpress: yes?", "“express” must be yes or no."),
        ("size: L\nrate: x", "“size” must be one of: S, M, XL. “rate” must be a number, such as 12.5."),
    ],
)
def test_a_value_that_the_field_can_t_hold_is_told_with_what_it_takes(text: str, said: str) -> None:
    assert fill_in(text) == Unclear("unfit_field", said=said)


@pytest.mark.parametrize(
    ("text", "code"),
    [("looks fine to me", "no_field"), ("colour: red", "unknown_field"), ("amount: 1\namount: 2", "field_given_twice")],
)
def test_a_form_that_is_not_filled_in_is_asked_about(text: str, code: str) -> None:
    assert fill_in(text) == Unclear(code)


@pytest.mark.parametrize(
    ("given", "meant"),
    [("0,5", 0.5), ("1.234,56", 1234.56), ("1,234.56", 1234.56), ("１２", 12), ("1.234", None), ("1,234", None)],
)
def test_a_number_is_read_only_if_its_comma_can_be_one_thing(given: str, meant: object) -> None:
    reading = fill_in(f"rate：{given}")
    assert (
        isinstance(reading, Unclear) if meant is None else reading == Matched(f"rate：{given}", value={"rate": meant})
    )


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("ja", True),
        ("tak", True),
        ("non", False),
        ("はい", True),
    ],
)
def test_a_boolean_is_a_bare_yes_or_no_of_any_language(given: str, meant: object) -> None:
    assert fill_in(f"express: {given}") == Matched(f"express: {given}", value={"express": meant})


@pytest.mark.parametrize("given", ["vielleicht", "yes, mostly", "yes?", "ja (denke ich)"])
def test_and_nothing_more_than_that(given: str) -> None:
    assert fill_in(f"express: {given}") == Unclear("unfit_field", said="“express” must be yes or no.")


@pytest.mark.parametrize("figures", ["1²", "²", "1½", ".5", "1 2"])
def test_a_figure_that_is_raised_or_incomplete_is_no_number(figures: str) -> None:
    assert fill_in(f"amount: {figures}") == Unclear("unfit_field", said="“amount” must be a whole number, such as 12.")


LABELLED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "zip": {"type": "string", "title": "Código postal"},
        "size": {"type": "string", "title": "Größe"},
        "a": {"type": "string", "title": "Name"},
        "b": {"type": "string", "title": "name"},
        "note": {"type": "string", "title": "zip"},
        "الرمز": {"type": "string", "title": "رمز البريد"},
    },
}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Código postal: 12345", {"zip": "12345"}),
        ("codigo POSTAL: 12345", {"zip": "12345"}),
        ("grösse: M", {"size": "M"}),
        ("رمز البريد: 12345", {"الرمز": "12345"}),
        ("zip: 12345", {"zip": "12345"}),
        ("a: Bo", {"a": "Bo"}),
        ("Name: Bo", None),
        ("Codigo: 12345", None),
    ],
)
def test_a_field_is_named_by_its_key_or_its_label_and_what_could_be_two_is_none(text: str, meant: object) -> None:
    reading = read_answer(text.split("\n"), ResponseType.FORM, (), LABELLED)
    assert reading == (Unclear("unknown_field") if meant is None else Matched(text, value=meant))
