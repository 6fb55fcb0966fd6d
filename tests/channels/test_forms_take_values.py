"""A form's field takes its value, and not a remark about it (API.md §6)."""

from __future__ import annotations

from typing import Any

import pytest

from channels.grammar.forms import form_schema_of
from channels.grammar.phrases import ANY, Line, hedges
from channels.grammar.reader import Matched, Reading, Unclear, read_answer
from core.domain.suspension import ResponseType

IBAN = "DE89 3704 0044 0532 0130 00"


def fill_in(text: str, properties: dict[str, Any] | None = None, context: dict[str, Any] | None = None) -> Reading:
    given = None if properties is None else {"type": "object", "properties": properties}
    return read_answer(text.split("\n"), ResponseType.FORM, (), form_schema_of(given, context or {}))


def unfit(called: str, allowed: str) -> Unclear:
    return Unclear("unfit_field", said=f"“{called}” must be {allowed}.")


AN_IBAN = "an IBAN whose check digits are right, and nothing else"
TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("properties", "text", "allowed"),
    [
        (
            {"iban": TEXT},
            "iban: DE00 I think, please check that",
            AN_IBAN,
        ),
        ({"iban": TEXT}, "iban: DE89 3704 0044 0532 0130 01", AN_IBAN),
        ({"iban": TEXT}, f"iban: {IBAN}\nplease check that", AN_IBAN),
        ({"iban": TEXT}, f"iban: {IBAN}?", AN_IBAN),
        (
            {"payee": TEXT | {"title": "Payee's IBAN"}},
            "payee: DE00",
            AN_IBAN,
        ),
        (
            {"account": TEXT | {"format": "iban"}},
            "account: DE00",
            AN_IBAN,
        ),
        ({"due_date": TEXT}, "due_date: next Tuesday", "a date, such as 2026-03-24"),
        ({"when": TEXT | {"format": "date"}}, "when: 2026-02-30", "a date, such as 2026-03-24"),
        ({"when": TEXT | {"format": "date"}}, "when: 24.3.2026", "a date, such as 2026-03-24"),
        ({"amount": TEXT}, "amount: about 500", "an amount, such as 499.99 EUR"),
        ({"Erstattungsbetrag": TEXT}, "Erstattungsbetrag: 500 oder so", "an amount, such as 499.99 EUR"),
        ({"email": TEXT}, "email: alice@example.com (I think)", "an e-mail address and nothing else"),
        ({"to": TEXT | {"format": "email"}}, "to: alice", "an e-mail address and nothing else"),
        ({"host": TEXT | {"format": "ipv4"}}, "host: 192.0.2", "an IPv4 address, such as 192.0.2.1"),
    ],
)
def test_whoever_writes_something_else_is_told_which_field_and_what_it_takes(
    properties: dict[str, Any], text: str, allowed: str
) -> None:
    [(name, described)] = properties.items()
    assert fill_in(text, properties) == unfit(described.get("title", name), allowed)


def test_what_fits_no_pattern_is_told_in_words() -> None:
    reading = fill_in("code: ab", {"code": TEXT | {"pattern": "^[A-Z]{3}$", "title": "Code"}})
    assert isinstance(reading, Unclear)
    assert reading.said == "“Code” must be three capital letters."
    assert isinstance(fill_in("code: ABC", {"code": TEXT | {"pattern": "^[A-Z]{3}$"}}), Matched)


def test_every_field_that_does_not_fit_is_named() -> None:
    reading = fill_in("iban: x\nemail: y", {"iban": TEXT, "email": TEXT})
    assert isinstance(reading, Unclear)
    assert str(reading.said).count(" must be ") == 2


@pytest.mark.parametrize(
    ("name", "given", "kept"),
    [
        ("iban", "DE89370400440532013000", "DE89370400440532013000"),
        ("iban", "DE89 3704 0044\n0532 0130 00", IBAN),
        ("Payee's IBAN number", "DE89370400440532013000", "DE89370400440532013000"),
        ("IBAN", "gb82 west 1234 5698 7654 32", "gb82 west 1234 5698 7654 32"),
        ("invoice date", "24.3.2026", "24.3.2026"),
        ("Datum", "24. März 2026", "24. März 2026"),
        ("amount", "€ 1.200,50", "€ 1.200,50"),
        ("customerEmail", "Alice+x@example.com", "Alice+x@example.com"),
    ],
)
def test_a_value_is_taken_as_people_write_it(name: str, given: str, kept: str) -> None:
    reading = fill_in(f"{name}: {given}", {name: TEXT})
    assert isinstance(reading, Matched)
    assert reading.value == {name: kept}


@pytest.mark.parametrize(
    "name", ["iban_country", "data", "update", "candidate", "email body", "dateFormat", "mail", "reason"]
)
def test_a_name_that_says_something_else_takes_any_words(name: str) -> None:
    assert isinstance(fill_in(f"{name}: whatever it takes", {name: TEXT}), Matched)


def test_what_the_agent_suggests_may_say_that_a_field_is_something_else() -> None:
    assert isinstance(fill_in("date: on Friday", context={"date": "tomorrow"}), Matched)
    assert isinstance(fill_in("email: Dear Bob, it is done", context={"email": "Dear Bob"}), Matched)
    assert isinstance(fill_in("date: on Friday", context={"date": "2026-03-24"}), Unclear)
    assert isinstance(fill_in("iban: DE00", context={"iban": None}), Unclear)
    assert isinstance(fill_in("date: on Friday", {"date": TEXT | {"default": "soon"}}), Matched)


@pytest.mark.parametrize(
    "words",
    [
        "Main Street 5 (I think)",
        "Main Street 5（たぶん）",
        "Main Street 5, I think",
        "probably Main Street 5",
        "Main Street 5, please check that",
        "Main Street 5, not sure",
        "Hauptstraße 5, glaube ich",
        "vielleicht Hauptstraße 5",
        "5 rue de Lyon, je crois",
        "peut-être 5 rue de Lyon",
        "Calle Mayor 5, creo",
        "forse Via Roma 5",
        "acho que Rua Augusta 5",
        "misschien Dam 5",
        "kanske Storgatan 5",
        "chyba Długa 5",
        "銀座5丁目だと思います",
    ],
)
def test_a_free_text_that_may_be_more_than_a_value_is_asked_about(words: str) -> None:
    assert fill_in(f"ship to: {words}", {"ship_to": TEXT | {"title": "Ship to"}}) == Unclear(
        "remark", {"ship_to": words}
    )


def test_a_question_is_asked_about_as_ever() -> None:
    assert fill_in("ship to: Main Street 5?", {"ship to": TEXT}) == Unclear("question", {"ship to": "Main Street 5?"})


@pytest.mark.parametrize("words", ["Main Street 5", "Thinkers' Lane 1", "the customer is sure of it", "Maybach 5"])
def test_a_plain_text_is_taken(words: str) -> None:
    assert isinstance(fill_in(f"ship to: {words}", {"ship to": TEXT}), Matched)


@pytest.mark.parametrize("phrase", sorted(ANY["hedge"].listed))
def test_every_hedge_is_found_in_a_sentence(phrase: tuple[str, ...]) -> None:
    assert hedges(Line.of(f"5, {' '.join(phrase)}, 7"))
