"""More than one answer (API.md §4, ``answers_required``): who counts, who is told what, and how it ends."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from handraise.cli.app import app
from typer.testing import CliRunner

from bot.sandbox.pagerduty.world import User
from tests.bot.mail_world import words_back
from tests.world import KEYS, World, config, running

in_room = pytest.mark.asyncio(loop_scope="module")

ALICE, BOB, CAROL = "alice@example.com", "bob@example.com", "carol@example.com"
BOTH = {"responders": [ALICE, BOB], "answers_required": 2}


async def page_link(world: World, to: str) -> str:
    mail = await world.mailbox.expect(to=to)
    link = re.search(r"/a/[a-z2-7]+", mail.text)
    assert link is not None
    return world.url + link[0]


# --- Over the API -------------------------------------------------------------------------------------------------


@in_room
async def test_two_equal_answers_end_it_and_the_agent_is_told_who(any_room: World) -> None:
    asked = await any_room.ask(**BOTH)

    first = await any_room.answer(asked, "approve")
    assert (first.status_code, first.json()) == (202, {"received": 1, "required": 2})
    assert any_room.agent.told_of(asked) == []
    assert (await any_room.intent(asked))["status"] == "suspended_awaiting_input"

    last = await any_room.answer(asked, "approve", "second_operator", metadata={"reason": "He is right."})
    assert last.status_code == 200
    assert last.json()["responded_by"] == BOB
    told = (await any_room.told(asked))["data"]
    assert (told["value"], told["responded_by"], told["reason"]) == ("approve", BOB, "He is right.")
    assert told["metadata"] == {"reason": "He is right.", "responders": [ALICE, BOB]}


@in_room
async def test_the_record_and_the_timeline_show_how_far_it_is(room: World) -> None:
    asked = await room.ask(**BOTH)
    assert (asked["suspension"]["answers_required"], asked["suspension"]["answers_received"]) == (2, 0)

    await room.answer(asked, "approve", metadata={"reason": "A good customer."})

    shown = await room.show(asked)
    assert (shown["status"], shown["answers_required"], shown["answers_received"]) == ("open", 2, 1)
    (one,) = shown["answers"]
    assert (one["responded_by"], one["value"], one["channel"]) == (ALICE, "approve", "api")
    assert one["reason"] == "A good customer."
    assert (shown["response"], shown["responded_by"]) == (None, None)
    (recorded,) = [item for item in await room.timeline(asked) if item.get("type", "").endswith("answer_recorded")]
    assert (recorded["type"], recorded["actor"]) == ("intent.suspension_answer_recorded", ALICE)
    assert (recorded["payload"]["received"], recorded["payload"]["required"]) == (1, 2)

    await room.answer(asked, "approve", "second_operator")
    ended = await room.show(asked)
    assert ended["answers_received"] == 2
    assert [one["responded_by"] for one in ended["answers"]] == [ALICE, BOB]


@in_room
async def test_one_answer_is_enough_where_nothing_is_said(room: World) -> None:
    asked = await room.ask()
    assert asked["suspension"]["answers_required"] == 1
    assert (await room.answer(asked, "approve")).status_code == 200
    shown = await room.show(asked)
    assert (shown["answers_received"], shown["answers"], shown["metadata"]) == (1, [], {})


@in_room
async def test_nobody_counts_twice(room: World) -> None:
    asked = await room.ask(**BOTH)
    await room.answer(asked, "approve")

    again, other = await room.answer(asked, "approve"), await room.answer(asked, "deny")

    for refused, same in ((again, True), (other, False)):
        assert refused.status_code == 409
        detail = refused.json()["detail"]
        assert (detail["error"], detail["same_answer"]) == ("already_answered", same)
        assert (detail["received"], detail["required"]) == (1, 2)
    assert (await room.show(asked))["answers_received"] == 1


@in_room
async def test_another_answer_is_refused_with_what_the_others_think_and_changes_nothing(room: World) -> None:
    asked = await room.ask(**BOTH)
    await room.answer(asked, "approve")
    before = await room.show(asked)

    refused = await room.answer(asked, "deny", "second_operator")

    assert refused.status_code == 409
    detail = refused.json()["detail"]
    assert detail["error"] == "answers_disagree"
    assert (detail["given"], detail["responders"]) == ("approve", [ALICE])
    assert (detail["received"], detail["required"]) == (1, 2)
    assert await room.show(asked) == before
    assert (await room.answer(asked, "approve", "second_operator")).status_code == 200


@in_room
async def test_a_repeated_request_gets_the_same_partial_reply(room: World) -> None:
    asked = await room.ask(**BOTH)
    path, body = f"/v1/intents/{asked['intent_id']}/suspend/respond", {"value": "approve"}
    body |= {"suspension_id": asked["suspension_id"]}
    replies = [
        await room.call("POST", path, "operator", json=body, headers={"Idempotency-Key": "one"}) for _ in range(2)
    ]
    assert [(one.status_code, one.json()) for one in replies] == [(202, {"received": 1, "required": 2})] * 2
    assert replies[1].headers["Idempotency-Replayed"] == "true"


@in_room
async def test_texts_and_forms_count_together_where_they_are_equal(room: World) -> None:
    text = await room.ask(response_type="text", **BOTH)
    assert (await room.answer(text, "v1.2.3")).status_code == 202
    assert (await room.answer(text, "v1.2.4", "second_operator")).status_code == 409
    assert (await room.answer(text, " v1.2.3\n", "second_operator")).status_code == 200

    form = await room.ask(response_type="form", context={"city": ""}, **BOTH)
    assert (await room.answer(form, {"city": "Oslo", "n": 1})).status_code == 202
    assert (await room.answer(form, {"n": True, "city": "Oslo"}, "second_operator")).status_code == 409
    assert (await room.answer(form, {"n": 1, "city": "Oslo"}, "second_operator")).status_code == 200


@in_room
async def test_a_late_answer_is_told_the_truth_and_whose_it_was(room: World) -> None:
    asked = await room.ask(**BOTH)
    await room.answer(asked, "approve")
    await room.answer(asked, "approve", "second_operator")

    for role, value, same in (("operator", "approve", True), ("operator", "deny", False), ("admin", "approve", False)):
        detail = (await room.answer(asked, value, role)).json()["detail"]
        assert (detail["error"], detail["same_answer"]) == ("already_answered", same)


@in_room
async def test_signals_count_as_answers(room: World) -> None:
    asked = await room.ask(resume={"signal_id": "both-please"}, **BOTH)
    first = await room.call("POST", "/v1/signals/both-please", "operator", json={"value": "approve"})
    assert (first.status_code, first.json()) == (202, {"received": 1, "required": 2})
    last = await room.call("POST", "/v1/signals/both-please", "second_operator", json={"value": "approve"})
    assert last.status_code == 200
    assert (await room.told(asked))["data"]["metadata"]["responders"] == [ALICE, BOB]


# --- Can there be enough? -----------------------------------------------------------------------------------------


@in_room
@pytest.mark.parametrize(
    ("fields", "enough", "too_many"),
    [
        ({"responders": [ALICE, BOB, f"email:{ALICE}"]}, 2, 3),
        ({"responders": ["group:finance"]}, 2, 3),
        ({"responders": ["group:finance", CAROL, ALICE]}, 3, 4),
        ({"responders": [ALICE], "notify_to": CAROL}, 2, 3),
        ({"responders": [ALICE, BOB, CAROL], "on_behalf_of": BOB}, 2, 3),
        ({}, 3, 4),  # alice, bob and root hold operator keys
        ({"notify_to": CAROL}, 4, 5),
    ],
)
async def test_no_more_answers_are_asked_for_than_people_may_give(
    room: World, fields: dict[str, Any], enough: int, too_many: int
) -> None:
    await room.ask(answers_required=enough, **fields)
    body = {"question": "Deploy?", "response_type": "confirm", "answers_required": too_many, **fields}
    refused = await room.call("POST", "/v1/suspensions", json=body)
    assert refused.status_code == 422
    detail = refused.json()["detail"]
    assert detail["error"] == "answers_unreachable"
    assert detail["fields"][0]["path"] == "answers_required"
    assert str(enough) in detail["message"]
    preview = await room.call("POST", "/v1/suspensions/preview", json=body)
    assert [one["code"] for one in preview.json()["problems"]].count("answers_unreachable") == 1


@in_room
async def test_whoever_asks_is_not_counted(room: World) -> None:
    body = {"question": "Deploy?", "response_type": "confirm", "answers_required": 3}
    refused = await room.call("POST", "/v1/suspensions", "admin", json=body)
    assert refused.status_code == 422
    assert (await room.call("POST", "/v1/suspensions", json=body)).status_code == 201


async def test_people_of_a_later_rung_count(world: World) -> None:
    ladder = [{"attempt": 2, "channel_hint": "email", "notify_to": CAROL}]
    policy = {"max_attempts": 2, "interval_seconds": 3600, "escalation_ladder": ladder}
    asked = await world.ask(responders=[ALICE], answers_required=2, retry_policy=policy)
    await world.answer(asked, "approve")
    await world.advance(hours=1)
    await world.mailbox.reply(await world.mailbox.expect(to=CAROL), "approve")
    assert (await world.told(asked))["data"]["metadata"]["responders"] == [ALICE, CAROL]


# --- The ladder goes on -------------------------------------------------------------------------------------------

HOURLY = {"max_attempts": 3, "interval_seconds": 3600}


async def test_reminders_go_to_those_who_have_not_answered(any_world: World) -> None:
    world = any_world
    asked = await world.ask(channel_hint="email", retry_policy=HOURLY, **BOTH)
    await world.mailbox.reply(await world.mailbox.expect(to=ALICE), "approve")
    await world.advance(hours=1)

    assert len([mail for mail in world.mailbox.of(ALICE) if mail.sender]) == 1
    reminder = world.mailbox.of(BOB)[-1]
    assert "Reminder (2 of 3)" in reminder.text
    assert "2 people have to give the same answer. So far: alice@example.com." in reminder.text
    assert (await world.show(asked))["attempt"] == 2


async def test_an_attempt_that_finds_everybody_answered_passes_without_calling_the_next(world: World) -> None:
    ladder = [{"attempt": 2, "channel_hint": "email", "notify_to": ALICE}, {"attempt": 3, "channel_hint": "pagerduty"}]
    asked = await world.ask(retry_policy={**HOURLY, "escalation_ladder": ladder}, **BOTH)
    await world.answer(asked, "approve")
    await world.advance(hours=1)
    assert (await world.show(asked))["attempt"] == 2
    assert world.mailbox.of(ALICE) == []
    await world.advance(minutes=59)
    assert (await world.show(asked))["attempt"] == 2
    await world.advance(minutes=1)
    assert (await world.show(asked))["attempt"] == 3


@in_room
async def test_too_few_answers_are_silence_at_the_end(room: World) -> None:
    asked = await room.ask(
        timeout_seconds=3600, fallback_policy="complete_with_fallback", fallback_value="deny", **BOTH
    )
    await room.answer(asked, "approve")
    await room.advance(hours=1)
    told = await room.told(asked)
    assert (told["data"]["resolution"], told["data"]["value"], told["data"]["metadata"]) == ("expired", "deny", {})


@in_room
async def test_whoever_has_answered_holds_nobody_back_any_more(room: World) -> None:
    asked = await room.ask(channel_hint="email", retry_policy=HOURLY, **BOTH)
    await room.call("POST", f"/v1/suspensions/{asked['suspension_id']}/claim", "operator", json={"seconds": 7200})
    await room.advance(minutes=90)
    assert (await room.show(asked))["attempt"] == 1
    await room.answer(asked, "approve")
    await room.settle()
    shown = await room.show(asked)
    assert (shown["claimed_by"], shown["attempt"]) == (None, 2)


# --- Every way in -------------------------------------------------------------------------------------------------


async def test_a_click_in_slack_is_told_how_far_it_counts(any_world: World) -> None:
    world = any_world
    asked = await world.ask(notify_to="slack:C0OPS", **BOTH)
    message = await world.slack.expect_message("Refund order 12345?")
    await world.press("U0ALICE", message, "Approve refund")
    assert await world.slack.expect_private("U0ALICE", "Recorded (1 of 2): “Approve refund”. The question stays open")
    await world.press("U0ALICE", message, "Approve refund")
    assert await world.slack.expect_private("U0ALICE", "Your answer is recorded already (1 of 2).")
    await world.press("U0ALICE", message, "Deny refund")
    assert await world.slack.expect_private("U0ALICE", "That was not recorded: You have already answered")
    await world.press("U0BOB", message, "Deny refund")
    assert await world.slack.expect_private("U0BOB", "alice@example.com answered “Approve refund”")
    assert (await world.show(asked))["answers_received"] == 1

    await world.press("U0BOB", message, "Approve refund")
    assert await world.slack.expect_message("Answered “Approve refund” by alice@example.com and bob@example.com")
    assert (await world.told(asked))["data"]["channel"] == "slack"


async def test_a_reply_by_mail_is_told_how_far_it_counts(any_world: World) -> None:
    world = any_world
    asked = await world.ask(channel_hint="email", **BOTH)
    to_alice, to_bob = await world.mailbox.expect(to=ALICE), await world.mailbox.expect(to=BOB)
    partly = "Recorded (1 of 2): “Approve refund”. The question stays open until 1 more person gives the same answer."
    await world.mailbox.reply(to_alice, "approve")
    await world.mailbox.reply(to_alice, "Approve refund")
    assert await words_back(world, asked) == [partly], "the same is told once within an hour"
    await world.mailbox.reply(to_bob, "deny")
    differs = (await words_back(world, asked))[-1]
    assert differs.startswith("Your reply was not recorded: alice@example.com answered “Approve refund”")
    await world.mailbox.reply(to_bob, "approve")
    assert (await words_back(world, asked))[-1] == "Recorded: “Approve refund”.\n\nThe agent is told. Thank you."
    assert (await world.told(asked))["data"]["metadata"]["responders"] == [ALICE, BOB]


async def test_a_note_in_pagerduty_is_told_there_how_far_it_counts(any_world: World) -> None:
    world = any_world
    asked = await world.ask(channel_hint="pagerduty", notify_to="pagerduty:default", **BOTH)
    incident = await world.pager.expect_incident(asked["ref"])
    alice, bob = User("PALICE", "Alice", ALICE), User("PBOB", "Bob", BOB)

    def noted(text: str) -> bool:
        return any(text in note.content for note in incident.notes)

    await world.pager.add_note(incident, alice, "approve")
    await world.settle()
    assert noted("Recorded (1 of 2): “Approve refund”")
    assert (await world.show(asked))["answers_received"] == 1
    await world.pager.add_note(incident, bob, "deny")
    await world.settle()
    assert noted(f"the answer of {BOB} to {asked['ref']} was not recorded: {ALICE} answered “Approve refund”")
    await world.pager.add_note(incident, bob, "1")
    assert (await world.told(asked))["data"]["responded_by"] == BOB


async def test_the_answer_page_says_how_far_it_counts_and_asks_no_more(any_world: World) -> None:
    world = any_world
    asked = await world.ask(channel_hint="email", **BOTH)
    await world.settle()
    alice, bob = await page_link(world, ALICE), await page_link(world, BOB)
    async with httpx.AsyncClient(follow_redirects=True, timeout=30) as browser:
        sent = await send(browser, alice, "0")
        assert sent.status_code == 200
        assert "Recorded (1 of 2): “Approve refund”." in sent.text
        assert "Send answer" not in sent.text
    async with httpx.AsyncClient(follow_redirects=True, timeout=30) as browser:
        assert "So far: alice@example.com." in (await browser.get(bob)).text
        refused = await send(browser, bob, "1")
        assert refused.status_code == 409
        assert "alice@example.com answered “Approve refund”" in refused.text
        assert "Send answer" in refused.text
        assert f"<bdi>{ALICE} and {BOB}</bdi> via web" in (await send(browser, bob, "0")).text
    assert (await world.told(asked))["data"]["metadata"]["responders"] == [ALICE, BOB]


async def test_no_page_that_tells_of_a_disagreement_holds_what_pages_may_not(world: World) -> None:
    card = [{"value": "card", "label": "To 4111 1111 1111 1111"}, {"value": "deny", "label": "Deny refund"}]
    asked = await world.ask(channel_hint="email", choices=card, **BOTH)
    await world.settle()
    assert (await world.answer(asked, "card")).status_code == 202
    async with httpx.AsyncClient(follow_redirects=True, timeout=30) as browser:
        refused = await send(browser, await page_link(world, BOB), "1")
    assert refused.status_code == 409
    assert "Your answer was not recorded" in refused.text
    assert "4111" not in refused.text


async def send(browser: httpx.AsyncClient, link: str, choice: str) -> httpx.Response:
    page = (await browser.get(link)).text
    token = re.search(r'name="form_token" value="([^"]+)"', page)
    assert token is not None
    return await browser.post(link, data={"form_token": token[1], "do": "answer", "choice": choice})


@in_room
async def test_the_command_line_says_how_far_it_counts(room: World) -> None:
    asked = await room.ask(**BOTH)
    assert "recorded 'approve', 1 of 2 answers" in await cli(room, "operator", "answer", asked["ref"], "approve")
    assert "answers: 1 of 2, by Alice <alice@example.com>" in await cli(room, "operator", "show", asked["ref"])
    last = await cli(room, "second_operator", "answer", asked["suspension_id"], "approve")
    assert "recorded 'approve' by bob@example.com" in last


async def cli(world: World, role: str, *arguments: str) -> str:
    """What ``handraise`` prints, run beside the service."""
    env = {**os.environ, "HANDRAISE_URL": world.url, "HANDRAISE_API_KEY": KEYS[role]}
    done = await asyncio.to_thread(CliRunner().invoke, app, list(arguments), env=env)
    assert done.exit_code == 0, done.output
    return done.output


# --- At once ------------------------------------------------------------------------------------------------------

CROWD = [f"p{number}@example.com" for number in range(16)]


async def test_of_sixteen_people_at_once_exactly_three_count(tmp_path: Path, database_url: str) -> None:
    base = config(database_url, {})
    people = [{"name": one, "email": one, "groups": ["crowd"]} for one in CROWD]
    keys = [{"name": one, "key": f"key-of-{one}", "roles": ["operator"]} for one in CROWD]
    changes = {"people": [*base["people"], *people], "api_keys": [*base["api_keys"], *keys]}
    async with running(tmp_path, database_url, **changes) as world:
        asked = await world.ask(responders=["group:crowd"], notify_to="slack:C0OPS", answers_required=3)
        path = f"{world.url}/v1/intents/{asked['intent_id']}/suspend/respond"
        body = {"suspension_id": asked["suspension_id"], "value": "approve"}

        replies = await asyncio.gather(
            *(world.http.post(path, json=body, headers={"X-API-Key": f"key-of-{one}"}) for one in CROWD)
        )

        assert sorted(one.status_code for one in replies) == [200, 202, 202, *[409] * 13]
        assert sorted(one.json()["received"] for one in replies if one.status_code == 202) == [1, 2]
        refused = [one.json()["detail"] for one in replies if one.status_code == 409]
        assert {(one["error"], one["same_answer"]) for one in refused} == {("already_answered", False)}
        shown = await world.show(asked)
        counted = [one["responded_by"] for one in shown["answers"]]
        assert len(set(counted)) == 3 == shown["answers_received"]
        told = (await world.told(asked))["data"]
        assert (told["metadata"]["responders"], told["responded_by"]) == (counted, counted[-1])


@in_room
async def test_the_same_person_eight_times_at_once_counts_once(any_room: World) -> None:
    asked = await any_room.ask(**BOTH)
    replies = await asyncio.gather(*(any_room.answer(asked, "approve") for _ in range(8)))
    assert sorted(one.status_code for one in replies) == [202, *[409] * 7]
    assert (await any_room.show(asked))["answers_received"] == 1
