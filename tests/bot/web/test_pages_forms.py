"""From what was typed to the answer's value: nothing is guessed, and every problem stands beside its field."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bot.web.pages.forms import LONGEST_REASON, FieldKind, Filled, Posted, form_fields, read_answer
from core.domain.suspension import Ask, Choice, HumanRetryPolicy, PlannedAttempt, ResponseType
from tests.bot.web.pages_world import REFUND, START

ORDER: dict[str, Any] = {
    "type": "object",
    "required": ["amount", "notify"],
    "properties": {
        "amount": {"type": "number", "minimum": 1, "maximum": 500},
        "notify": {"type": "boolean"},
        "count": {"type": "integer"},
        "method": {"enum": ["card", "voucher", 7, None]},
        "on": {"type": "string", "format": "date"},
        "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "tags": {"type": "array", "items": {"enum": ["vip", "fraud"]}},
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "note": {"type": ["string", "null"], "maxLength": 2000},
    },
}
INPUTS = {name: f"f{number}" for number, name in enumerate(ORDER["properties"])}


def a_question(response_type: ResponseType, **fields: Any) -> Ask:
    return Ask(
        id="susp-1",
        ref="HR-7F3K",
        intent_id="intent-1",
        created_by="refund-agent",
        question="Refund?",
        response_type=response_type,
        suspended_at=START,
        attempts=(PlannedAttempt(1, "email", None, ("alice@example.com",)),),
        policy=HumanRetryPolicy(interval=timedelta(hours=1)),
        **{"choices": (), "context": {}, **fields},
    )


CHOICE = a_question(ResponseType.CHOICE, choices=REFUND)
TEXT = a_question(ResponseType.TEXT)
FORM = a_question(ResponseType.FORM, form_schema=ORDER)


def read(ask: Ask, **typed: str | list[str]) -> Filled:
    return read_answer(
        ask, Posted({name: tuple([given] if isinstance(given, str) else given) for name, given in typed.items()})
    )


def fill(**typed: str | list[str]) -> Filled:
    """The order's form, by the names of its properties; what it needs is filled in."""
    given = {"amount": "12", "notify": "0", **typed}
    return read(FORM, **{INPUTS[name]: value for name, value in given.items()})


def problem(name: str, **typed: str | list[str]) -> str | None:
    return fill(**typed).problems.get(INPUTS[name])


def value(name: str, typed: str | list[str]) -> Any:
    filled = fill(**{name: typed})
    assert not filled.problems
    assert isinstance(filled.value, dict)
    return filled.value.get(name, "left out")


def test_a_choice_is_answered_by_its_place() -> None:
    assert read(CHOICE, choice="1", reason=" already refunded ") == Filled(choice=1, reason="already refunded")


@pytest.mark.parametrize("given", ["", "2", "-1", "x", "1.0", "９", "99999999999999999999"])
def test_no_choice_is_made_for_somebody(given: str) -> None:
    assert read(CHOICE, choice=given).problems == {"choice": "Pick one of these."}
    assert read(CHOICE).problems


def test_a_text_is_kept_as_it_was_typed() -> None:
    assert read(TEXT, answer="  Dear Zoë,\n\nwe are sorry.\n") == Filled("  Dear Zoë,\n\nwe are sorry.\n")


def test_blanks_are_no_answer() -> None:
    assert "answer" in read(TEXT, answer=" \n\t ").problems


def test_a_reason_may_not_be_endless() -> None:
    assert read(CHOICE, choice="0", reason="x" * LONGEST_REASON).reason == "x" * LONGEST_REASON
    assert "reason" in read(CHOICE, choice="0", reason="x" * (LONGEST_REASON + 1)).problems


@pytest.mark.parametrize(
    ("name", "typed", "expected"),
    [
        ("amount", "12", 12),
        ("amount", " 12.50 ", 12.5),
        ("notify", "1", False),
        ("count", "-3", -3),
        ("count", "", "left out"),
        ("method", "0", "card"),
        ("method", "2", 7),
        ("method", "3", None),
        ("method", "", "left out"),
        ("on", "2026-03-24", "2026-03-24"),
        ("code", "ABC", "ABC"),
        ("tags", ["0", "1"], ["vip", "fraud"]),
        ("tags", [], "left out"),
        ("numbers", "1\n\n 2 \n", [1, 2]),
        ("note", "Two\nlines", "Two\nlines"),
        ("note", "", "left out"),
    ],
)
def test_each_field_is_read_as_its_type(name: str, typed: str | list[str], expected: Any) -> None:
    found = value(name, typed)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("name", "typed", "said"),
    [
        ("amount", "", "Fill this in"),
        ("amount", "twelve", "Enter a number"),
        ("amount", "1,500", "Enter a number"),
        ("amount", "NaN", "Enter a number"),
        ("amount", "1e9", "Enter a number"),
        ("amount", "501", "Enter a number from 1 to 500."),
        ("notify", "", "Pick one"),
        ("notify", "2", "Pick one"),
        ("notify", "true", "Pick one"),
        ("count", "1.5", "whole number"),
        ("count", "1_000", "whole number"),
        ("count", "٣", "whole number"),
        ("count", "9" * 5000, "whole number"),
        ("method", "9", "Pick one"),
        ("on", "24.3.2026", "Enter a date"),
        ("on", "2026-02-30", "Enter a date"),
        ("on", "20260324", "Enter a date"),
        ("code", "abcd", "Enter three capital letters."),
        ("tags", ["0", "7"], "Pick one"),
        ("numbers", "1\ntwo", "whole number"),
        ("code", "x" * 2001, "Enter three capital letters."),
        ("note", "x" * 2001, "At most 2000 characters; this has 2001"),
    ],
)
def test_what_can_t_be_read_is_said_beside_its_field(name: str, typed: str | list[str], said: str) -> None:
    assert said in (problem(name, **{name: typed}) or "")


def test_every_problem_is_told_at_once() -> None:
    assert set(fill(amount="x", notify="", on="x").problems) == {INPUTS["amount"], INPUTS["notify"], INPUTS["on"]}


def test_a_required_field_that_may_be_null_is_null_when_empty() -> None:
    schema = {"type": "object", "required": ["note"], "properties": {"note": {"type": ["string", "null"]}}}
    assert read(a_question(ResponseType.FORM, form_schema=schema), f0="") == Filled({"note": None})


def test_a_required_list_without_a_tick_is_empty_rather_than_missing() -> None:
    schema = {"type": "object", "required": ["tags"], "properties": {"tags": ORDER["properties"]["tags"]}}
    assert read(a_question(ResponseType.FORM, form_schema=schema)) == Filled({"tags": []})


def test_without_a_schema_each_key_of_the_context_is_an_optional_text() -> None:
    ask = a_question(ResponseType.FORM, context={"street": "Old Road 1", "city": None, "zip": 52062})
    assert [(one.name, one.kind, one.is_required) for one in form_fields(None, ask.context)] == [
        ("street", FieldKind.TEXT, False),
        ("city", FieldKind.TEXT, False),
        ("zip", FieldKind.TEXT, False),
    ]
    assert read(ask, f0="New Road 2", f2="012") == Filled({"street": "New Road 2", "zip": "012"})


def test_with_nothing_to_go_by_a_form_is_written_as_lines() -> None:
    ask = a_question(ResponseType.FORM)
    assert read(ask, answer="street: New Road 2\ncity: Aachen") == Filled({"street": "New Road 2", "city": "Aachen"})
    assert "answer" in read(ask, answer="just some words").problems


def test_what_the_agent_suggests_stands_in_the_form() -> None:
    properties = {
        "a": {"type": "string", "default": "x"},
        "b": {"enum": [1, True, "1"], "default": True},
        "c": {"type": "array", "items": {"enum": ["p", "q", "r"]}, "default": ["p", "r"]},
        "d": {"type": "boolean", "default": False},
        "e": {"oneOf": [{"const": "de", "title": "Germany"}, {"const": "fr", "title": "France"}], "default": "fr"},
    }
    fields = form_fields({"type": "object", "properties": properties}, {})
    assert [one.initial for one in fields] == [("x",), ("1",), ("0", "2"), ("1",), ("1",)]
    assert [option.label for option in fields[4].options] == ["Germany", "France"]


def test_fields_that_share_a_name_with_ours_do_not_mix() -> None:
    schema = {"type": "object", "properties": {"reason": {"type": "string"}, "form_token": {"type": "string"}}}
    filled = read(a_question(ResponseType.FORM, form_schema=schema), f0="theirs", f1="also theirs", reason="ours")
    assert filled == Filled({"reason": "theirs", "form_token": "also theirs"}, reason="ours")


def test_a_choice_of_many_is_reached_to_the_last() -> None:
    many = a_question(ResponseType.CHOICE, choices=tuple(Choice(f"v{n}", f"L{n}") for n in range(120)))
    assert read(many, choice="119").choice == 119
    assert read(many, choice="120").problems


@pytest.mark.parametrize(
    ("name", "typed", "said"),
    [
        ("iban", "DE00 I think, please check that", "Enter an IBAN whose check digits are right, and nothing else."),
        ("due_date", "next Friday", "Enter a date, such as 2026-03-24."),
        ("amount", "about 500", "Enter an amount, such as 499.99 EUR."),
        ("customer_email", "alice", "Enter an e-mail address and nothing else."),
    ],
)
def test_a_field_takes_what_its_name_says(name: str, typed: str, said: str) -> None:
    for fields in ({"context": {name: None}}, {"form_schema": {"type": "object", "properties": {name: {}}}}):
        ask = a_question(ResponseType.FORM, **fields)
        assert read(ask, f0=typed).problems == {"f0": said}


@pytest.mark.parametrize(
    ("format_", "typed", "said"),
    [
        ("email", "alice", "Enter an e-mail address and nothing else."),
        ("uri", "example", "Enter a whole web address, such as https://example.com/."),
        ("iban", "DE00", "Enter an IBAN whose check digits are right, and nothing else."),
        ("date-time", "now", "Enter an instant, such as 2026-03-24T11:00:00Z."),
    ],
)
def test_a_format_is_told_in_plain_words(format_: str, typed: str, said: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "format": format_}}}
    assert read(a_question(ResponseType.FORM, form_schema=schema), f0=typed).problems == {"f0": said}


def test_on_a_page_a_free_text_may_say_anything() -> None:
    ask = a_question(ResponseType.FORM, context={"note": ""})
    assert read(ask, f0="the old one (I think)?").value == {"note": "the old one (I think)?"}
    lines = a_question(ResponseType.FORM)
    assert read(lines, answer="note: the old one (I think)?").value == {"note": "the old one (I think)?"}
    assert "“iban” must be an IBAN" in read(lines, answer="iban: DE00").problems["answer"]
