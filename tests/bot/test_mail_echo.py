"""A reply that decides nothing, and names an option, gets a proposal back: one more keystroke decides.

Source: API.md §6 ("What a reply means").
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.inbound.mail.inbox import Arrival, MailInbox
from bot.inbound.proposals import Proposals, load_proposer
from core.errors import ConfigError
from tests.bot.mail_world import (
    RULES,
    Asked,
    ask_by_mail,
    correspondence_of,
    is_open,
    reasons,
    signed_reply,
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


async def test_what_names_an_option_is_proposed_and_records_nothing(quiet_room: World) -> None:
    asked, mail, echo = await echoed(quiet_room, "I'd rather deny this one, it is too late")

    assert await is_open(quiet_room, asked)
    assert "Nothing has been recorded. You seem to mean 3. Deny refund. Reply 3 to confirm it, 1 for" in echo.text
    assert echo.header("X-Handraise-Proposal") == "deny"
    assert echo.header("References") == mail.header("References")
    assert echo.header("Auto-Submitted") == "auto-replied"
    assert echo.answers_to == mail.answers_to
    assert [f"#c={at}" in echo.html and f"body={at + 1}%29" in echo.html for at in range(3)] == [True] * 3
    assert await reasons(quiet_room, asked) == [("reply", "no_match")]


@pytest.mark.parametrize(
    ("words", "value"), [("3", "deny"), ("1", "approve"), ("2", "half"), ("No", "deny"), ("approve", "approve")]
)
async def test_the_echo_is_answered_by_any_number_and_by_the_word_that_goes_with_it(
    quiet_room: World, words: str, value: str
) -> None:
    asked, _, echo = await echoed(quiet_room, "deny it, he is too late")

    await quiet_room.mailbox.reply(echo, words)

    assert (await quiet_room.told(asked))["data"]["value"] == value


@pytest.mark.parametrize("words", ["yes", "Ja, danke", "ok"])
@pytest.mark.parametrize("to_the_echo", [True, False])
async def test_a_bare_yes_beside_a_proposal_that_it_does_not_go_with_decides_nothing(
    quiet_room: World, words: str, to_the_echo: bool
) -> None:
    """It would agree to the proposal, or to the question, and nobody can tell; also if the mail lost its thread."""
    asked, mail, echo = await echoed(quiet_room, "deny it, he is too late")

    await quiet_room.mailbox.reply(echo if to_the_echo else mail, words)

    assert await is_open(quiet_room, asked)


async def test_a_choice_without_a_yes_of_its_own_is_confirmed_by_its_number_alone(quiet_room: World) -> None:
    asked, _, echo = await echoed(quiet_room, "half of it, I think")
    assert "You seem to mean 2. Refund half of it." in echo.text

    await quiet_room.mailbox.reply(echo, "yes")
    assert await is_open(quiet_room, asked)

    await quiet_room.mailbox.reply(echo, "2")
    assert (await quiet_room.told(asked))["data"]["value"] == "half"


async def test_nobody_gets_more_than_one_echo_an_hour_and_the_link_in_between(quiet_room: World) -> None:
    asked, mail, _ = await echoed(quiet_room, "deny it, he is too late", retry_policy=HOURLY, timeout_seconds=None)

    for words in ("no, wait, approve it after all", "well, deny"):
        await quiet_room.mailbox.reply(mail, words)
    told = await words_back(quiet_room, asked)
    assert len(told) == 2
    assert "may mean more than one thing" in told[1]
    assert (await written_back(quiet_room, asked))[1].header("X-Handraise-Proposal") == ""

    await quiet_room.advance(minutes=61)
    await quiet_room.mailbox.reply(mail, "approve it after all")
    *_, again = await written_back(quiet_room, asked)
    assert again.header("X-Handraise-Proposal") == "approve"


async def test_silence_after_an_echo_moves_no_clock_and_claims_nothing(quiet_room: World) -> None:
    asked, _, _ = await echoed(quiet_room, "yes, bananas", retry_policy=HOURLY, timeout_seconds=None)
    record = await quiet_room.show(asked)
    assert (record["claimed_by"], record["attempt"]) == (None, 1)

    await quiet_room.advance(hours=1)
    assert (await quiet_room.show(asked))["attempt"] == 2

    await quiet_room.advance(hours=2)
    assert not await is_open(quiet_room, asked)


async def test_what_names_nothing_is_asked_back(quiet_room: World) -> None:
    _, _, back = await echoed(quiet_room, "I was not told about this")

    assert back.header("X-Handraise-Proposal") == ""
    assert "Your reply was not recorded" in back.text


async def test_a_number_that_is_another_option_s_name_is_echoed_with_a_way_that_decides(quiet_room: World) -> None:
    crossed = [{"value": "2", "label": "Two"}, {"value": "1", "label": "One"}]
    asked, _, echo = await echoed(quiet_room, "1", choices=crossed)
    assert "Reply 1) Two to confirm it, 2) One for One." in echo.text

    await quiet_room.mailbox.reply(echo, "1) Two")

    assert (await quiet_room.told(asked))["data"]["value"] == "2"


async def test_what_is_hidden_from_mail_is_hidden_in_the_echo(quiet_room: World) -> None:
    card = "4111 1111 1111 1111"
    choices = [{"value": "card", "label": f"Refund to {card}"}, {"value": "deny", "label": "Deny refund"}]
    _, _, echo = await echoed(quiet_room, "card, I suppose", choices=choices)

    assert "You seem to mean 1. Refund to [redacted: card number]." in echo.text
    assert "4111" not in echo.text + echo.subject


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
    assert "You seem to mean:\n\namount: 12\nexpress: true\n\nReply “ok” to confirm it" in echo.text
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
    assert f"You seem to mean:\n\n{words}\n\nReply “ok” to confirm it, or with the text alone." in echo.text
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
    assert "You seem to mean" not in back.text


# --- Proposers ----------------------------------------------------------------------------------------------------


class Second:
    """Proposes the second option, and remembers what it saw."""

    def __init__(self) -> None:
        self.saw: list[tuple[str, Sequence[str]]] = []

    async def propose(self, words: str, labels: Sequence[str]) -> int | None:
        self.saw.append((words, labels))
        return 1


class Broken:
    def __init__(self, says: Any) -> None:
        self._says = says

    async def propose(self, words: str, labels: Sequence[str]) -> int | None:
        if isinstance(self._says, Exception):
            raise self._says
        if self._says is Ellipsis:
            await asyncio.Event().wait()
        return self._says  # type: ignore[no-any-return]


async def proposed_by(world: World, proposals: Proposals, words: str) -> tuple[Asked, str]:
    asked, mail = await ask_by_mail(world, choices=THREE)
    inbox = MailInbox(world.service.engine, correspondence_of(world), world.clock, RULES, proposals)
    await inbox.take(Arrival(signed_reply(world, mail, words), "lmtp"))
    (echo,) = await written_back(world, asked)
    assert await is_open(world, asked)
    return asked, echo.header("X-Handraise-Proposal")


async def test_a_proposer_sees_the_words_and_the_labels_and_can_only_propose(quiet_room: World) -> None:
    model = Second()

    _, value = await proposed_by(quiet_room, Proposals(model), "half of it, I guess")

    assert value == "half"
    assert model.saw == [("half of it, I guess", [one["label"] for one in THREE])]


@pytest.mark.parametrize("says", [None, 3, -1, True, "deny", RuntimeError("down"), ...])
async def test_what_a_proposer_can_not_say_the_built_in_one_does(quiet_room: World, says: Any) -> None:
    _, value = await proposed_by(quiet_room, Proposals(Broken(says), timedelta(milliseconds=20)), "deny it, he is late")

    assert value == "deny"


async def test_a_proposer_is_named_in_the_configuration(tmp_path: Path, sqlite_url: str) -> None:
    name = f"{__name__}:Second"
    async with running(tmp_path, sqlite_url, answers={"proposer": name}) as world:
        _, _, echo = await echoed(world, "deny it, he is too late")

    assert echo.header("X-Handraise-Proposal") == "half"


@pytest.mark.parametrize("name", ["nothing.there:x", "bot.inbound.proposals", "bot.inbound.proposals:PATIENCE", ":"])
async def test_a_proposer_that_can_not_be_one_is_refused_at_the_start(name: str) -> None:
    with pytest.raises(ConfigError, match=r"answers\.proposer"):
        load_proposer(name)
