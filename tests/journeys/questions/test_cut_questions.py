"""``answers.require_open_when_cut``: what a channel could show only a part of is answered where all of it is shown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.sandbox.pagerduty.world import User
from tests.bot.web.pages_world import Page
from tests.journeys.questions.test_roads import page_of
from tests.vendors.slack import type_command
from tests.world import World, running

pytestmark = pytest.mark.slow

ALICE = "alice@example.com"
PAGER_ALICE = User("PALICE", "Alice", ALICE)
LONG = {"action": {"tool": "shell", "script": "echo fine; " * 7_000 + "rm -rf /"}}
"""Longer than a mail and an incident hold; its last words are the ones that matter."""
SHORT = {"action": {"tool": "shell", "script": "echo fine"}}
BY_MAIL: dict[str, Any] = {"channel_hint": "email", "notify_to": ALICE}
BY_PAGER: dict[str, Any] = {"channel_hint": "pagerduty", "notify_to": "pagerduty:default", "responders": [ALICE]}
ON_ACKNOWLEDGE = [
    {"value": "yes", "label": "Yes", "metadata": {"on_acknowledge": True}},
    {"value": "no", "label": "No"},
]


@pytest.fixture(params=["answers", "slack"])
async def strict(request: pytest.FixtureRequest, tmp_path: Path, sqlite_url: str) -> AsyncIterator[World]:
    """With the setting, and with its older name, which holds for every channel as well."""
    setting = {f"{request.param}__require_open_when_cut": True} if request.param == "slack" else {}
    answers = {} if setting else {"answers": {"require_open_when_cut": True}}
    async with running(tmp_path, sqlite_url, **setting, **answers) as world:
        yield world


async def is_open(world: World, asked: dict[str, Any]) -> bool:
    await world.settle()
    return bool((await world.show(asked))["status"] == "open")


async def test_a_reply_to_a_mail_that_shows_a_part_decides_nothing_and_is_told_the_page(strict: World) -> None:
    asked = await strict.ask(**BY_MAIL, **LONG)
    mail = await strict.mailbox.expect(to=ALICE)
    assert "rm -rf" not in mail.text
    assert "can be approved only on its page" in " ".join(mail.text.split())
    came = len(strict.mailbox.mails)
    await strict.mailbox.reply(mail, "Approve refund")
    assert await is_open(strict, asked)
    [told] = strict.mailbox.mails[came:]
    assert "can be approved only on its page" in told.text
    assert await page_of(strict, told) == await page_of(strict, mail)
    assert "mailto:" not in told.html


async def test_a_mail_that_shows_everything_is_answered_by_a_reply(strict: World) -> None:
    asked = await strict.ask(**BY_MAIL, **SHORT)
    await strict.mailbox.reply(await strict.mailbox.expect(to=ALICE), "Approve refund")
    assert not await is_open(strict, asked)


async def test_the_page_shows_all_of_it_and_takes_the_answer(strict: World) -> None:
    asked = await strict.ask(**BY_MAIL, **LONG)
    page = await page_of(strict, await strict.mailbox.expect(to=ALICE))
    shown = await strict.http.get(page)
    assert "rm -rf /" in shown.text
    [form] = [one for one in Page(shown).forms if any(field["name"] == "choice" for field in one.inputs)]
    sent = {**dict(form.fields), "choice": "0", "reason": "read to the end"}
    assert (await strict.http.post(page, data=sent)).status_code == 303
    await strict.settle()
    record = await strict.show(asked)
    assert (record["response"], record["responded_by"], record["channel"]) == ("approve", ALICE, "web")
    assert record["reason"] == "read to the end"
    assert (await strict.told(asked))["data"]["value"] == "approve"


INVITES = ("Reply 1", "Reply 2", "Reply with one number", "Reply “ok”", "reply once more", "mailto:")


@pytest.mark.parametrize(
    ("words", "seems"),
    [
        ("approve, I think", "Nothing has been recorded. As a whole, it is none of the choices."),
        ("What is this about?", "Nothing has been recorded. It asks something"),
        ("", "Nothing has been recorded. No words of your own"),
    ],
)
async def test_no_mail_about_a_question_that_was_cut_asks_for_a_reply(words: str, seems: str, strict: World) -> None:
    asked = await strict.ask(**BY_MAIL, **LONG)
    mail = await strict.mailbox.expect(to=ALICE)
    came = len(strict.mailbox.mails)
    await strict.mailbox.reply(mail, words)
    assert await is_open(strict, asked)
    [told] = strict.mailbox.mails[came:]
    assert seems in told.text
    assert "can be approved only on its page" in told.text
    assert await page_of(strict, told) == await page_of(strict, mail)
    assert [one for one in INVITES if one in told.text or one in told.html] == []


async def test_a_form_that_was_cut_is_echoed_with_its_page(strict: World) -> None:
    asked = await strict.ask(**BY_MAIL, **LONG, response_type="form", context={"amount": 5})
    came = len(strict.mailbox.mails)
    await strict.mailbox.reply(await strict.mailbox.expect(to=ALICE), "I looked it up.\namount: 250")
    assert await is_open(strict, asked)
    [told] = strict.mailbox.mails[came:]
    assert "The fields as they were understood:\n\namount: 250" in told.text
    assert "can be approved only on its page" in told.text
    assert [one for one in INVITES if one in told.text or one in told.html] == []


async def test_a_reply_that_nobody_vouches_for_is_told_the_page_alone(strict: World) -> None:
    asked = await strict.ask(**BY_MAIL, **LONG)
    came = len(strict.mailbox.mails)
    await strict.mailbox.forge_reply(await strict.mailbox.expect(to=ALICE), "1", sender=ALICE)
    assert await is_open(strict, asked)
    [told] = strict.mailbox.mails[came:]
    assert "please answer here." in told.text
    assert "reply from the mailbox" not in told.text


@pytest.mark.parametrize("words", ["approve\nI think", "Has anybody looked at this?"])
async def test_no_note_about_a_question_that_was_cut_asks_for_a_note(words: str, strict: World) -> None:
    asked = await strict.ask(**BY_PAGER, **LONG)
    incident = await strict.pager.expect_incident(asked["ref"])
    await strict.pager.add_note(incident, PAGER_ALICE, words)
    assert await is_open(strict, asked)
    said = [note.content for note in incident.notes if note.content.startswith("Handraise: ")]
    assert said
    for one in said:
        assert one.endswith(f"answer at {strict.service.settings.public_url}/q/{asked['ref']}")
        assert "dd a note" not in one
    assert any("You wrote “approve”, and more around it." in one for one in said) == words.startswith("approve")


async def test_a_form_on_an_incident_that_was_cut_is_echoed_with_its_page(strict: World) -> None:
    asked = await strict.ask(**BY_PAGER, **LONG, response_type="form", context={"amount": 5})
    incident = await strict.pager.expect_incident(asked["ref"])
    await strict.pager.add_note(incident, PAGER_ALICE, f"{asked['ref']}\nI looked it up.\namount: 250")
    assert await is_open(strict, asked)
    said = [note.content for note in incident.notes if note.content.startswith("Handraise: ")]
    assert any("This was read:\namount: 250\n" in one for one in said)
    for one in said:
        assert one.endswith(f"answer at {strict.service.settings.public_url}/q/{asked['ref']}")
        assert "dd a note" not in one


async def test_of_several_questions_on_an_incident_those_that_are_cut_are_named_with_their_page(strict: World) -> None:
    cut, short = await strict.ask("First?", **BY_PAGER, **LONG), await strict.ask("Second?", **BY_PAGER, **SHORT)
    incident, other = [await strict.pager.expect_incident(one["ref"]) for one in (cut, short)]
    strict.pager.merge(other, incident)
    await strict.pager.webhooks.answered()
    await strict.pager.add_note(incident, PAGER_ALICE, "approve")
    await strict.settle()
    [said] = [note.content for note in incident.notes if "several questions" in note.content]
    page = f"{strict.service.settings.public_url}/q/{cut['ref']}"
    assert f"What waits for an answer: {cut['ref']} (only at {page}), {short['ref']}." in said
    assert said.endswith(f"for example: {short['ref']} approve")


async def test_a_resolved_incident_that_shows_a_part_is_told_the_page(strict: World) -> None:
    asked = await strict.ask(**BY_PAGER, **LONG)
    incident = await strict.pager.expect_incident(asked["ref"])
    await strict.pager.resolve(incident, PAGER_ALICE)
    assert await is_open(strict, asked)
    [said] = [note.content for note in incident.notes if "resolving does not answer" in note.content]
    assert f"answer at {strict.service.settings.public_url}/q/{asked['ref']}" in said
    assert "dd a note" not in said


@pytest.mark.parametrize("words", ["approve, I think", "maybe", "1"])
async def test_a_command_that_would_answer_what_its_message_cuts_is_told_the_page(words: str, strict: World) -> None:
    asked = await strict.ask(**LONG, responders=[ALICE])
    await type_command(strict.slack, "U0ALICE", "C0OPS", f"answer {asked['ref']} {words}")
    assert await is_open(strict, asked)
    said = strict.slack.workspace.ephemerals[-1].text
    assert f"/q/{asked['ref']}" in said
    assert "One of these is" not in said


async def test_a_claim_by_mail_counts_however_long_the_question_is(strict: World) -> None:
    asked = await strict.ask(**BY_MAIL, **LONG, retry_policy={"max_attempts": 2, "interval_seconds": 600})
    await strict.mailbox.reply(await strict.mailbox.expect(to=ALICE), "on it")
    await strict.settle()
    assert (await strict.show(asked))["claimed_by"] == ALICE


async def test_a_note_on_an_incident_that_shows_a_part_decides_nothing_and_is_told_the_page(strict: World) -> None:
    asked = await strict.ask(**BY_PAGER, **LONG)
    incident = await strict.pager.expect_incident(asked["ref"])
    await strict.pager.add_note(incident, PAGER_ALICE, "1")
    assert await is_open(strict, asked)
    said = [note.content for note in incident.notes if note.content.startswith("Handraise: ")]
    assert len(said) == 1
    assert said[0].endswith(f"Read all of it and answer at {strict.service.settings.public_url}/q/{asked['ref']}")


async def test_an_acknowledgement_of_what_is_shown_in_part_is_a_claim_whatever_the_agent_marked(strict: World) -> None:
    asked = await strict.ask(**BY_PAGER, **LONG, response_type="confirm", choices=ON_ACKNOWLEDGE)
    incident = await strict.pager.expect_incident(asked["ref"])
    assert "Acknowledging answers" not in incident.title
    await strict.pager.acknowledge(incident, PAGER_ALICE)
    assert await is_open(strict, asked)
    assert (await strict.show(asked))["claimed_by"] == ALICE


async def test_an_acknowledgement_of_what_is_shown_whole_answers(strict: World) -> None:
    asked = await strict.ask(**BY_PAGER, **SHORT, response_type="confirm", choices=ON_ACKNOWLEDGE)
    await strict.pager.acknowledge(await strict.pager.expect_incident(asked["ref"]), PAGER_ALICE)
    assert not await is_open(strict, asked)


async def test_without_the_setting_a_part_is_enough_unless_it_is_of_what_will_run(world: World) -> None:
    words = await world.ask(**BY_MAIL, **SHORT, context={"log": "line " * 40_000})
    await world.mailbox.reply(await world.mailbox.expect(to=ALICE), "Approve refund")
    assert not await is_open(world, words)
    action = await world.ask(**BY_MAIL, **LONG)
    await world.mailbox.reply(world.mailbox.of(ALICE)[-1], "Approve refund")
    assert await is_open(world, action)
