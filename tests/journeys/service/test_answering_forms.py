"""``handraise answer`` and forms: asked for field by field at a terminal, given by options in a script."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.cli import handraise, typing
from tests.world import World, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

SCHEMA = {
    "type": "object",
    "required": ["postcode", "amount", "size", "urgent"],
    "properties": {
        "postcode": {
            "type": "string",
            "title": "Postcode",
            "description": "Where it goes.",
            "pattern": "^[0-9]{5}$",
            "examples": ["12345"],
            "errorMessage": "Five digits, please.",
        },
        "amount": {"type": "integer", "title": "Amount", "minimum": 1, "maximum": 500, "default": 20},
        "size": {"title": "Size", "enum": ["Small", "Large"]},
        "urgent": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "note": {"type": "string", "default": "none"},
        "due": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "default": None},
    },
}
GIVEN = ("--field", "postcode=10115", "--field", "size=Large", "--field", "urgent=no", "--field", "amount=7")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def office(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("forms")
    async with running(folder, f"sqlite+aiosqlite:///{folder}/handraise.db") as world:
        yield world


async def asked(world: World, schema: Any = SCHEMA, **fields: Any) -> str:
    more = {"response_type": "form", "responders": ["alice@example.com"], "resume": None} | fields
    found = await world.ask("Where does the parcel go?", form_schema=schema, **more)
    return str(found["ref"])


async def record(world: World, ref: str) -> dict[str, Any]:
    [found] = (await world.call("GET", "/v1/suspensions", "admin", params={"q": ref})).json()["items"]
    return dict(found)


async def test_a_form_is_asked_for_field_by_field_and_what_does_not_fit_once_more(office: World) -> None:
    ref = await asked(office)
    async with typing(office, "answer", ref, "--reason", "On the phone", role="operator") as typist:
        await typist.types("1011", "Postcode: Where it goes.\nPostcode (such as 12345): ")
        await typist.types("many", "Amount (a whole number from 1 to 500) [20]: ")
        await typist.types("large", "Size (one of: Small, Large): ")
        await typist.types("", "urgent (yes or no): ")
        await typist.types("Yes", "urgent: Fill this in.\nurgent (yes or no): ")
        await typist.types("a, b", "tags (several, with commas between; optional): ")
        await typist.types("-", "note (optional; - leaves it out) [none]: ")
        await typist.types("", "due (a date, such as 2026-03-24; optional): ")
        await typist.types("10115", "Postcode: Five digits, please.\nPostcode (such as 12345): ")
        await typist.types(
            "", "Amount: Enter a whole number from 1 to 500.\nAmount (a whole number from 1 to 500) [20]: "
        )
        ran = await typist.ended()
    given = {"size": "Large", "urgent": True, "tags": ["a", "b"], "postcode": "10115", "amount": 20}
    assert ran.err.startswith(f"{ref}: Where does the parcel go?\n")
    assert ran.status == 0
    told = ran.out.removeprefix(f"{ref}: recorded ").removesuffix(" by alice@example.com\n")
    assert json.loads(told) == given
    found = await record(office, ref)
    assert (found["response"], found["reason"]) == (given, "On the phone")


async def test_enter_takes_what_stands_in_brackets(office: World) -> None:
    schema = {"type": "object", "properties": {"to": {"type": "string", "default": "Alice"}}}
    ref = await asked(office, schema)
    async with typing(office, "answer", ref, "--json", role="operator") as typist:
        await typist.types("", "to (optional; - leaves it out) [Alice]: ")
        ran = await typist.ended()
    assert json.loads(ran.out)["value"] == {"to": "Alice"}


async def test_without_a_schema_each_key_of_the_context_may_be_filled_in(office: World) -> None:
    ref = await asked(office, None, context={"street": "", "door": ""})
    async with typing(office, "answer", ref, role="operator") as typist:
        await typist.types("High Street", "street (optional): ")
        await typist.types("", "door (optional): ")
        assert (await typist.ended()).status == 0
    assert (await record(office, ref))["response"] == {"street": "High Street"}


async def test_whoever_breaks_off_has_answered_nothing(office: World) -> None:
    ref = await asked(office)
    async with typing(office, "answer", ref, role="operator") as typist:
        await typist.types("10115", "Postcode (such as 12345): ")
        await typist.sees("[20]: ")
        typist.interrupt()
        ran = await typist.ended()
    assert (ran.status, ran.out) == (130, "")
    assert ran.err.endswith(f"\n{ref}: nothing was sent. The question stays open.\n")
    assert (await record(office, ref))["status"] == "open"


async def test_nobody_fills_in_a_form_that_has_ended_or_that_names_no_field(office: World) -> None:
    ref = await asked(office)
    assert (await handraise(office, "answer", ref, *GIVEN, role="operator")).status == 0
    async with typing(office, "answer", ref, role="operator") as typist:
        ran = await typist.ended()
    assert (ran.status, ran.err) == (1, f"handraise: {ref} is not open any more\n")
    ref = await asked(office, None)
    async with typing(office, "answer", ref, role="operator") as typist:
        ran = await typist.ended()
    assert (ran.status, "'--form': this form names no fields: give --form JSON." in ran.err) == (2, True)


async def test_a_terminal_obeys_nothing_that_a_form_says(office: World) -> None:
    evil = "\x1b]0;owned\x07\nHR-FAKE"
    described = {"type": "string", "title": evil, "description": evil, "default": evil, "examples": [evil]}
    ref = await asked(office, {"type": "object", "properties": {"a": described}})
    async with typing(office, "answer", ref, role="operator") as typist:
        await typist.types("b", "]: ")
        ran = await typist.ended()
    assert ran.status == 0
    assert not set(ran.err) & {"\x1b", "\x07"}
    assert not [line for line in ran.err.splitlines() if line.startswith("HR-FAKE")]


async def test_a_script_gives_each_field_or_the_whole_form(office: World, tmp_path: Path) -> None:
    given = {"postcode": "10115", "size": "Large", "urgent": False, "amount": 7}
    ref = await asked(office)
    ran = await handraise(
        office, "answer", ref, *GIVEN, "--field", "tags=a", "--field", 'tags=["b, c"]', role="operator"
    )
    assert (ran.status, ran.err) == (0, "")
    assert (await record(office, ref))["response"] == {**given, "tags": ["a", "b, c"]}
    (tmp_path / "form.json").write_text(json.dumps(given))
    for form in (json.dumps(given), f"@{tmp_path}/form.json"):
        ref = await asked(office)
        ran = await handraise(office, "answer", ref, "--form", form, "--field", "amount=8", role="operator")
        assert (ran.status, ran.err) == (0, "")
        assert (await record(office, ref))["response"] == {**given, "amount": 8}


async def test_what_a_script_gives_wrongly_is_refused_with_the_services_words(office: World) -> None:
    ref = await asked(office)
    ran = await handraise(office, "answer", ref, "--field", "postcode=1", "--field", "amount=many", role="operator")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.splitlines()[1:] == [
        "  value.postcode: Five digits, please.",
        "  value.amount: Enter a whole number from 1 to 500.",
        "  value.size: Fill this in.",
        "  value.urgent: Fill this in.",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "'--field': the question asks for a form: give --field NAME=VALUE for each field, or --form JSON, or "),
        ((), " It needs: postcode, amount, size, urgent."),
        (("10115",), "'VALUE': the question asks for a form: give --field NAME=VALUE."),
        (("--field", "postcod=1"), "'--field': postcod is no field of this form. Did you mean postcode?"),
        (
            ("--field", "xyz=1"),
            "xyz is no field of this form. It has: postcode, amount, size, urgent, tags, note, due.",
        ),
        (("--field", "postcode"), "'--field': must be NAME=VALUE."),
        (("--field", "amount=1", "--field", "amount=2"), "'--field': amount is given twice, and takes one value."),
        (("--form", "[1]"), "'--form': it is JSON, but not an object."),
        (("--form", "@no/such"), "'--form': no/such can't be read: No such file or directory."),
    ],
)
async def test_a_script_is_told_what_is_missing_and_answers_nothing(
    office: World, arguments: tuple[str, ...], said: str
) -> None:
    ref = await asked(office)
    ran = await handraise(office, "answer", ref, *arguments, role="operator")
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err
    assert (await record(office, ref))["status"] == "open"


@pytest.mark.parametrize(
    ("fields", "arguments", "said"),
    [
        ({}, (), "'VALUE': give one of: approve, deny."),
        ({"response_type": "confirm"}, (), "'VALUE': give one of: yes, no."),
        ({"response_type": "text"}, (), "'VALUE': give a text."),
        ({}, ("approve", "--field", "a=b"), "'--field': the question asks for no form."),
        ({}, ("--form", "{}"), "'--form': the question asks for no form."),
    ],
)
async def test_other_questions_take_one_value(
    office: World, fields: dict[str, str], arguments: tuple[str, ...], said: str
) -> None:
    ref = (await office.ask("Refund?", responders=["alice@example.com"], **fields))["ref"]
    ran = await handraise(office, "answer", ref, *arguments, role="operator")
    assert (ran.status, ran.out, ran.err.splitlines()[-1]) == (2, "", f"Error: Invalid value for {said}")


async def test_the_card_says_how_a_form_is_answered(office: World) -> None:
    ref = await asked(office)
    assert f"Answer it: handraise answer {ref}. " in (await handraise(office, "show", ref, role="operator")).out
