"""A reply that decides nothing is asked once more: the whole list, and nothing guessed.

Source: API.md §6 ("What a reply means").
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.bot.mail_world import (
    Asked,
    ask_by_mail,
    is_open,
    reasons,
    words_back,
    written_back,
)
from tests.vendors.mail import Mail
from tests.world import World, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

THREE = [
    {"value": "approve", "label": "Approve refund"},
    {"value": "half", "label": "Refund half of it"},
    {"value": "deny", "label": "Deny refund"},
]
HOURLY = {"max_attempts": 3, "interval_seconds": 3600}


async def echoed(world: World, words: str, **fields: Any) -> tuple[Asked, Mail, Mail]:
    asked, mail = await ask_by_mail(world, **({"choices": THREE} | fields))
    await world.mailbox.reply(mail, words)
    (echo,) = await written_back(world, asked)
    return asked, mail, echo


async def test_nothing_is_guessed_and_all_of_it_is_asked_again(quiet_room: World) -> None:
    asked, mail, echo = await echoed(quiet_room, "I can't approve this one, it is too late")

    assert await is_open(quiet_room, asked)
    assert "Nothing has been recorded. As a whole, it is none of the choices." in echo.text
    assert "Reply with one number, and nothing else:\n\n  1) Approve refund\n  2) Refund half of it" in echo.text
    assert "> I can't approve this one, it is too late" in echo.text
    assert "Silence until " in echo.text
    assert "the agent stops" in echo.text
    assert echo.header("X-Handraise-Proposal") == ""
    assert "yes" not in echo.text.casefold()
    assert echo.header("References") == mail.header("References")
    assert echo.header("Auto-Submitted") == "auto-replied"
    assert echo.answers_to == mail.answers_to
    assert [f"#c={at}" in echo.html and f"body={at + 1}%29" in echo.html for at in range(3)] == [True] * 3
    assert echo.html.index("#c=2") < echo.html.index("Silence until"), "where the list stands"
    assert await reasons(quiet_room, asked) == [("reply", "no_match")]


async def test_buttons_have_the_styles_of_the_question_and_the_action_its_digest(quiet_room: World) -> None:
    styled = [
        {"value": "approve", "label": "Approve", "style": "primary"},
        {"value": "deny", "label": "Deny", "style": "danger"},
    ]
    _, mail, echo = await echoed(
        quiet_room, "hm, let me think about it", choices=styled, action={"tool": "refund", "amount": 5}
    )

    colours = [set(re.findall(r'bgcolor="(#[0-9a-f]{6})"', one.html)) - {"#ffffff"} for one in (mail, echo)]
    assert len(colours[1]) == 2
    assert colours[1] <= colours[0]
    (digest,) = re.findall(r"sha256 ([0-9a-f]+)", mail.text)
    assert f"What exactly will run: sha256 {digest}" in echo.text


async def test_the_first_200_characters_are_quoted(quiet_room: World) -> None:
    _, _, echo = await echoed(quiet_room, "well " * 80)

    (quoted,) = [line for line in echo.text.splitlines() if line.startswith("> ")]
    assert quoted == "> " + ("well " * 80)[:199].rstrip() + "…"


async def test_a_first_line_that_is_an_option_is_proposed_if_only_what_stands_around_it_is_unclear(
    quiet_room: World,
) -> None:
    asked, _, echo = await echoed(quiet_room, "3\n\nonly if Bob agrees")

    assert await is_open(quiet_room, asked)
    assert echo.header("X-Handraise-Proposal") == "deny"
    assert "You wrote “3”, and more around it. Reply “yes” or “3” to take it" in echo.text


@pytest.mark.parametrize(
    "words",
    [
        "1\n\nno wait, deny it",
        "1\n3",
        "3\n\nAlice\napproved by Bob",
        "I deny it",
        "two please",
        "An sich würde ich das",
    ],
)
async def test_what_names_another_option_too_or_none_is_not_proposed(quiet_room: World, words: str) -> None:
    asked, _, echo = await echoed(quiet_room, words)

    assert await is_open(quiet_room, asked)
    assert echo.header("X-Handraise-Proposal") == ""


@pytest.mark.parametrize(
    "words", ["yes", "ok", "OK.", "confirmed", "yes, exactly", "Ja, genau", "Sí", "Bestätigt", "3"]
)
async def test_a_bare_yes_to_the_echo_takes_what_was_proposed(quiet_room: World, words: str) -> None:
    """Whatever a yes would be to the question itself: it is a reply to "You wrote “3”"."""
    asked, _, echo = await echoed(quiet_room, "3\n\nonly if Bob agrees")

    await quiet_room.mailbox.reply(echo, words)

    assert (await quiet_room.told(asked))["data"]["value"] == "deny"


@pytest.mark.parametrize(
    ("words", "value"), [("1", "approve"), ("2", "half"), ("approve", "approve"), ("3) Deny refund", "deny")]
)
async def test_a_number_or_a_name_is_always_the_question_s_own_option(
    quiet_room: World, words: str, value: str
) -> None:
    asked, _, echo = await echoed(quiet_room, "3\n\nonly if Bob agrees")

    await quiet_room.mailbox.reply(echo, words)

    assert (await quiet_room.told(asked))["data"]["value"] == value


@pytest.mark.parametrize("words", ["yes", "Ja, danke", "ok"])
async def test_a_yes_that_may_be_to_the_question_decides_nothing(quiet_room: World, words: str) -> None:
    """It answers the first mail, where a yes is to approve, below an echo that proposed to deny."""
    asked, mail, _ = await echoed(quiet_room, "3\n\nonly if Bob agrees")

    await quiet_room.mailbox.reply(mail, words)

    assert await is_open(quiet_room, asked)


@pytest.mark.parametrize("first", ["1\n\nonly if Bob agrees", "3\n\nonly if Bob agrees"])
async def test_a_bare_no_beside_a_proposal_decides_nothing(quiet_room: World, first: str) -> None:
    """It may deny the refund, or that this was meant."""
    asked, _, echo = await echoed(quiet_room, first)

    await quiet_room.mailbox.reply(echo, "No.")

    assert await is_open(quiet_room, asked)


async def test_a_yes_to_an_echo_without_a_proposal_takes_none_of_an_earlier_one(quiet_room: World) -> None:
    asked, mail, _ = await echoed(quiet_room, "3\n\nonly if Bob agrees")
    await quiet_room.advance(seconds=1)
    await quiet_room.mailbox.reply(mail, "oh, I don't know")
    *_, later = await written_back(quiet_room, asked)
    assert later.header("X-Handraise-Proposal") == ""

    await quiet_room.mailbox.reply(later, "confirmed")

    assert await is_open(quiet_room, asked)


async def test_a_condition_below_a_yes_is_a_condition(quiet_room: World) -> None:
    asked, _, echo = await echoed(quiet_room, "3\n\nonly if Bob agrees")

    for words in ("yes\n\nAlice\nonly if Bob agrees", "yes\n-- \nonly if Bob agrees", "ok if Bob agrees"):
        await quiet_room.mailbox.reply(echo, words)

    assert await is_open(quiet_room, asked)


async def test_the_same_condition_sent_twice_is_never_recorded(quiet_room: World) -> None:
    asked, mail, echo = await echoed(quiet_room, "1\n\nonly up to 100 EUR")

    for one in (mail, echo):
        await quiet_room.mailbox.reply(one, "1\n\nonly up to 100 EUR")

    assert await is_open(quiet_room, asked)


async def test_each_reply_is_echoed_up_to_six_times_an_hour_and_then_the_link_comes_once(quiet_room: World) -> None:
    asked, mail, _ = await echoed(quiet_room, "well, deny", retry_policy=HOURLY, timeout_seconds=None)

    for nth in range(8):
        await quiet_room.mailbox.reply(mail, f"hm, {nth}")
    told = await words_back(quiet_room, asked)

    assert ["as it was read" in one for one in told] == [True] * 6 + [False]
    assert "no more of them are answered for now" in told[6]

    await quiet_room.advance(minutes=61)
    await quiet_room.mailbox.reply(mail, "1\n\nif Bob agrees")
    *_, again = await written_back(quiet_room, asked)
    assert again.header("X-Handraise-Proposal") == "approve"


@pytest.mark.parametrize(
    ("words", "nothing"),
    [
        ("Das kann ich so nicht genehmigen, bitte erst den Beleg schicken", "Es wurde nichts"),
        ("Je ne peux pas approuver cela, il manque la facture", "Rien"),
        ("承認できません。領収書を送ってください", "記録"),
    ],
)
async def test_the_echo_is_in_the_language_of_the_reply(quiet_room: World, words: str, nothing: str) -> None:
    _, _, echo = await echoed(quiet_room, words)

    assert nothing in echo.text
    assert "Nothing has been recorded" not in echo.text


async def test_the_yes_that_an_echo_asks_for_is_understood_in_its_language(quiet_room: World) -> None:
    """ "tak" alone is a yes in Polish, and thanks in Danish."""
    asked, _, echo = await echoed(quiet_room, "3\n\nale tylko jeśli Bob się zgadza")
    assert "„tak”" in echo.text

    await quiet_room.mailbox.reply(echo, "tak")

    assert (await quiet_room.told(asked))["data"]["value"] == "deny"


async def test_a_reply_without_a_language_is_echoed_in_that_of_the_question(quiet_room: World) -> None:
    _, _, echo = await echoed(quiet_room, "4711", question="Soll die Rechnung von Bob bezahlt werden?")

    assert "Nothing has been recorded" not in echo.text
    assert 'lang="de"' in echo.html


async def test_silence_after_an_echo_moves_no_clock_and_claims_nothing(quiet_room: World) -> None:
    asked, _, _ = await echoed(quiet_room, "yes, bananas", retry_policy=HOURLY, timeout_seconds=None)
    record = await quiet_room.show(asked)
    assert (record["claimed_by"], record["attempt"]) == (None, 1)

    await quiet_room.advance(hours=1)
    assert (await quiet_room.show(asked))["attempt"] == 2

    await quiet_room.advance(hours=2)
    assert not await is_open(quiet_room, asked)


async def test_a_number_that_is_another_option_s_name_is_echoed_with_a_way_that_decides(quiet_room: World) -> None:
    crossed = [{"value": "2", "label": "Two"}, {"value": "1", "label": "One"}]
    asked, _, echo = await echoed(quiet_room, "1", choices=crossed)
    assert "It names more than one choice." in echo.text

    await quiet_room.mailbox.reply(echo, "1) Two")

    assert (await quiet_room.told(asked))["data"]["value"] == "2"


async def test_what_is_hidden_from_mail_is_hidden_in_the_echo(quiet_room: World) -> None:
    card = "4111 1111 1111 1111"
    choices = [{"value": "card", "label": f"Refund to {card}"}, {"value": "deny", "label": "Deny refund"}]
    _, _, echo = await echoed(quiet_room, f"card, I suppose: {card}", choices=choices)

    assert "1) Refund to [redacted: card number]" in echo.text
    assert "4111" not in echo.text + echo.subject


@pytest.mark.parametrize("words", ["2. Deny refund", "2)", "[2]", "（２）", "٢", "answer 2", "2 - Deny refund"])
async def test_what_we_print_is_taken_back(quiet_room: World, words: str) -> None:
    two = [{"value": "approve", "label": "Approve refund"}, {"value": "deny", "label": "Deny refund"}]
    asked, mail = await ask_by_mail(quiet_room, choices=two)

    await quiet_room.mailbox.reply(mail, words)

    assert (await quiet_room.told(asked))["data"]["value"] == "deny"


@pytest.mark.parametrize("risk", ["low", "high"])
async def test_ok_is_a_yes_unless_the_risk_is_high(quiet_room: World, risk: str) -> None:
    two = [{"value": "approve", "label": "Approve refund"}, {"value": "deny", "label": "Deny refund"}]
    asked, mail = await ask_by_mail(quiet_room, choices=two, context={"risk": risk})

    await quiet_room.mailbox.reply(mail, "OK, thanks")

    assert await is_open(quiet_room, asked) is (risk == "high")


@pytest.mark.parametrize("language", [None, "pl", "sv"])
async def test_tak_is_a_yes_by_the_language_of_the_directory(
    tmp_path: Path, sqlite_url: str, language: str | None
) -> None:
    alice = {"name": "Alice", "email": "alice@example.com", "language": language}
    people = [{name: one for name, one in alice.items() if one}, {"name": "Bob", "email": "bob@example.com"}]
    async with running(tmp_path, sqlite_url, people=people) as world:
        asked, mail = await ask_by_mail(world)
        await world.mailbox.reply(mail, "Tak")

        assert await is_open(world, asked) is (language != "pl")


# --- Forms --------------------------------------------------------------------------------------------------------

FORM = {
    "response_type": "form",
    "choices": None,
    "form_schema": {
        "type": "object",
        "properties": {"amount": {"type": "integer"}, "express": {"type": "boolean"}},
        "required": ["amount"],
    },
}


async def test_a_form_with_more_beside_it_is_confirmed_by_ok(quiet_room: World) -> None:
    asked, _, echo = await echoed(quiet_room, "As far as I know:\n\namount: 12\nexpress: ja", **FORM)
    assert await is_open(quiet_room, asked)
    assert "The fields as they were understood:\n\namount: 12\nexpress: true\n\nReply “ok” to confirm them" in echo.text
    assert echo.header("X-Handraise-Proposal") == "form"

    await quiet_room.mailbox.reply(echo, "ok")

    assert (await quiet_room.told(asked))["data"]["value"] == {"amount": 12, "express": True}


async def test_ok_confirms_no_form_that_was_never_echoed(quiet_room: World) -> None:
    asked, _, _ = await echoed(quiet_room, "ok", **FORM)

    assert await is_open(quiet_room, asked)


async def test_an_echoed_form_may_be_filled_in_anew(quiet_room: World) -> None:
    asked, _, echo = await echoed(quiet_room, "amount: 12\nexpress: yes?", **FORM)

    await quiet_room.mailbox.reply(echo, "amount: 13")

    assert (await quiet_room.told(asked))["data"]["value"] == {"amount": 13}


# --- Texts --------------------------------------------------------------------------------------------------------

TEXT = {"response_type": "text", "choices": None, "question": "What shall we tell them?"}


@pytest.mark.parametrize(
    "words",
    [
        "Could they wait until Monday?",
        "It ships on Monday.\n\nAlice\n\nPS: don't send this yet, I still have to check.",
    ],
)
async def test_a_text_in_doubt_is_confirmed_by_ok(quiet_room: World, words: str) -> None:
    asked, _, echo = await echoed(quiet_room, words, **TEXT)
    assert await is_open(quiet_room, asked)
    assert f"Your reply, as it was read:\n\n{words}\n\nReply “ok” to confirm that this is the answer, or" in echo.text
    assert echo.header("X-Handraise-Proposal") == "text"

    await quiet_room.mailbox.reply(echo, "ok")

    assert (await quiet_room.told(asked))["data"]["value"] == words


async def test_another_text_below_the_echo_is_the_answer(quiet_room: World) -> None:
    asked, _, echo = await echoed(quiet_room, "Which delivery?", **TEXT)

    await quiet_room.mailbox.reply(echo, "It ships on Monday.")

    assert (await quiet_room.told(asked))["data"]["value"] == "It ships on Monday."


async def test_what_a_machine_seems_to_have_written_is_not_put_to_anybody(quiet_room: World) -> None:
    asked, _, back = await echoed(quiet_room, "I am out of the office until Monday.", **TEXT)

    assert await is_open(quiet_room, asked)
    assert "Reply “ok”" not in back.text
