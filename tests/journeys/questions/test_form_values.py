"""A form's field takes its value and not a remark, wherever it is filled in (API.md §4, §6)."""

from __future__ import annotations

from typing import Any

import pytest

from core.domain.known_fields import ALLOWED
from tests.bot.mail_world import ask_by_mail, is_open, reasons, words_back, written_back
from tests.world import World

in_room = pytest.mark.asyncio(loop_scope="module")

ALICE = "alice@example.com"
IBAN = "DE89 3704 0044 0532 0130 00"
PAYEE = {
    "type": "object",
    "properties": {"iban": {"type": "string"}, "note": {"type": "string"}, "due": {"type": "string", "format": "date"}},
}


async def ask(world: World, schema: dict[str, Any] | None = None, **fields: Any) -> tuple[dict[str, Any], Any]:
    form = {"response_type": "form", "form_schema": schema or PAYEE, "question": "Whom do we pay?"}
    return await ask_by_mail(world, **form | fields)


# --- By mail ----------------------------------------------------------------------------------------------------------


@in_room
async def test_a_remark_is_not_recorded_as_the_iban(any_room: World) -> None:
    asked, mail = await ask(any_room)

    await any_room.mailbox.reply(mail, "iban: DE00 I think, please check that")

    assert await is_open(any_room, asked)
    assert await reasons(any_room, asked) == [("reply", "unfit_field")]
    [told] = await words_back(any_room, asked)
    assert told.startswith(
        "Nothing has been recorded. “iban” must be an IBAN whose check digits are right, and nothing else."
    )

    await any_room.mailbox.reply(mail, f"iban: {IBAN}\nnote: the new account")
    assert (await any_room.told(asked))["data"]["value"] == {"iban": IBAN, "note": "the new account"}


@in_room
async def test_a_field_with_a_format_is_told_what_it_takes(room: World) -> None:
    asked, mail = await ask(room)

    await room.mailbox.reply(mail, "due: next Friday")

    assert await is_open(room, asked)
    [told] = await words_back(room, asked)
    assert "“due” must be a date, such as 2026-03-24." in told


@pytest.mark.parametrize("note", ["the old account (I think)", "vielleicht das alte Konto", "is it the old account?"])
@in_room
async def test_a_free_text_that_may_say_more_is_echoed_and_confirmed_by_ok(any_room: World, note: str) -> None:
    asked, mail = await ask(any_room)

    await any_room.mailbox.reply(mail, f"iban: {IBAN}\nnote: {note}")

    assert await is_open(any_room, asked)
    [echo] = await written_back(any_room, asked)
    assert f"The fields as they were understood:\n\niban: {IBAN}\nnote: {note}" in echo.text.replace(
        "[redacted: IBAN]", IBAN
    )
    await any_room.mailbox.reply(echo, "ok")
    assert (await any_room.told(asked))["data"]["value"] == {"iban": IBAN, "note": note}


@in_room
async def test_without_a_schema_the_names_of_the_context_say_what_is_wanted(room: World) -> None:
    asked, mail = await ask_by_mail(room, response_type="form", context={"iban": None, "amount": 5})

    await room.mailbox.reply(mail, "iban: the usual one\namount: 500 or so")

    [told] = await words_back(room, asked)
    assert "“iban” must be an IBAN" in told
    assert "“amount” must be an amount, such as 499.99 EUR." in told
    assert await is_open(room, asked)


# --- In Slack ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entered", "block", "said"),
    [
        ({"f:0": "DE00 I think"}, "f:0", "Enter an IBAN whose check digits are right, and nothing else."),
        ({"f:1": "ab"}, "f:1", "Enter three capital letters."),
        ({"f:2": "alice"}, "f:2", "Enter an e-mail address and nothing else."),
    ],
)
@in_room
async def test_a_modal_says_at_the_field_what_it_takes(
    room: World, entered: dict[str, str], block: str, said: str
) -> None:
    properties = {
        "iban": {"type": "string"},
        "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "to": {"type": "string", "format": "email"},
    }
    schema = {"type": "object", "properties": properties}
    question = f"Whom do we pay for {block}?"
    asked = await room.ask(question, response_type="form", form_schema=schema, responders=[ALICE], channel_hint="slack")
    message = await room.slack.expect_message(question)
    await room.slack.click("U0ALICE", message, "open_modal")
    view = await room.slack.expect_view("U0ALICE")

    response = await room.slack.submit(view.id, "U0ALICE", entered)

    errors = response.json()["errors"]
    assert list(errors) == [block]
    assert said in errors[block]
    assert view.is_open, "with what was typed"
    assert await is_open(room, asked)


# --- Over the API -----------------------------------------------------------------------------------------------------

FORMATS = {
    "date": ("2026-02-30", "2026-03-24"),
    "date-time": ("2026-03-24", "2026-03-24T11:00:00Z"),
    "time": ("25:00", "11:00:00Z"),
    "email": ("alice, I think", ALICE),
    "uri": ("example", "https://example.com/"),
    "uuid": ("1234", "123e4567-e89b-12d3-a456-426614174000"),
    "ipv4": ("192.0.2", "192.0.2.1"),
    "ipv6": ("2001:db8", "2001:db8::1"),
    "iban": ("DE00 I think", IBAN),
}


@pytest.mark.parametrize("format_", FORMATS)
@in_room
async def test_a_format_is_asserted_and_the_field_is_named(room: World, format_: str) -> None:
    wrong, right = FORMATS[format_]
    schema = {"type": "object", "properties": {"field": {"type": "string", "format": format_}}}
    asked = await room.ask(response_type="form", form_schema=schema, responders=[ALICE])

    refused = await room.answer(asked, {"field": wrong})

    assert (refused.status_code, refused.json()["detail"]["error"]) == (422, "invalid_answer")
    assert "“field”" in refused.json()["detail"]["message"]
    assert (await room.answer(asked, {"field": right})).status_code == 200


@in_room
async def test_a_pattern_is_asserted_and_the_field_is_named(room: World) -> None:
    schema = {"type": "object", "properties": {"code": {"type": "string", "pattern": "^[A-Z]{3}$"}}}
    asked = await room.ask(response_type="form", form_schema=schema, responders=[ALICE])

    refused = await room.answer(asked, {"code": "abc"})

    assert (refused.status_code, refused.json()["detail"]["error"]) == (422, "invalid_answer")
    assert "“code”" in refused.json()["detail"]["message"]


@pytest.mark.parametrize("fields", [{"form_schema": PAYEE}, {"context": {"iban": None}}, {}])
@in_room
async def test_a_field_that_is_merely_called_so_passes_through(room: World, fields: dict[str, Any]) -> None:
    asked = await room.ask(response_type="form", responders=[ALICE], **fields)

    assert (await room.answer(asked, {"iban": "DE00 I think, please check that"})).status_code == 200


# --- Over a note ------------------------------------------------------------------------------------------------------


@in_room
async def test_a_note_is_told_too(room: World) -> None:
    fields = {"channel_hint": "pagerduty", "notify_to": "pagerduty:default", "responders": [ALICE]}
    asked = await room.ask("Whom do we pay by pager?", response_type="form", form_schema=PAYEE, **fields)
    incident = await room.pager.expect_incident(asked["ref"])
    alice = next(one for one in room.pager.account.users.values() if one.email == ALICE)

    await room.pager.add_note(incident, alice, f"{asked['ref']}\niban: DE00 I think")
    await room.settle()

    assert await is_open(room, asked)
    assert any("“iban” must be an IBAN" in note.content for note in incident.notes)


@pytest.mark.parametrize("allowed", sorted(ALLOWED.values()))
@in_room
async def test_no_example_of_ours_is_hidden_as_somebodys_data(room: World, allowed: str) -> None:
    assert room.service.engine.channel_views.text_on("email", allowed) == allowed
