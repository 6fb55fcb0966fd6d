"""More than one answer (API.md §4, ``answers_required``): who counts, who is told what, and how it ends."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.sandbox.pagerduty.world import User
from tests.bot.mail_world import words_back
from tests.cli import handraise
from tests.world import World, config, running

in_room = pytest.mark.asyncio(loop_scope="module")

ALICE, BOB, CAROL = "alice@example.com", "bob@example.com", "carol@example.com"
BOTH = {"responders": [ALICE, BOB], "answers_required": 2}
THREE = {"responders": [ALICE, BOB, CAROL], "answers_required": 2}
APPROVE, DENY, LATER = (
    {"value": "approve", "label": "Approve refund"},
    {"value": "deny", "label": "Deny refund"},
    {"value": "later", "label": "Ask me later"},
)
PARTLY = {
    "received": 1,
    "required": 2,
    "counts": {"approve": {"received": 1, "required": 2}, "deny": {"received": 0, "required": 1}},
}


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
    assert (first.status_code, first.json()) == (202, PARTLY)
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
async def test_the_same_answer_again_counts_once(room: World) -> None:
    asked = await room.ask(**BOTH)
    await room.answer(asked, "approve")
    again = await room.answer(asked, "approve")
    assert again.status_code == 409
    detail = again.json()["detail"]
    assert (detail["error"], detail["same_answer"]) == ("already_answered", True)
    assert (detail["received"], detail["required"]) == (1, 2)
    assert (await room.show(asked))["answers_received"] == 1


@in_room
async def test_one_no_ends_what_two_have_to_approve_and_both_answers_are_kept(any_room: World) -> None:
    asked = await any_room.ask(**THREE)
    assert (await any_room.answer(asked, "approve")).status_code == 202
    denied = await any_room.answer(asked, "deny", "second_operator", metadata={"reason": "Not him."})
    assert (denied.status_code, denied.json()["value"]) == (200, "deny")

    told = (await any_room.told(asked))["data"]
    assert (told["value"], told["responded_by"], told["reason"]) == ("deny", BOB, "Not him.")
    assert told["metadata"]["responders"] == [BOB]
    shown = await any_room.show(asked)
    assert [(one["responded_by"], one["value"]) for one in shown["answers"]] == [(ALICE, "approve"), (BOB, "deny")]
    log = {item["type"]: item["payload"] for item in await any_room.timeline(asked) if item.get("type")}
    assert log["intent.suspension_answer_recorded"]["value"] == "approve"
    assert [one["value"] for one in log["intent.resumed"]["answers"]] == ["approve", "deny"]
    late = (await any_room.answer(asked, "approve", "admin")).json()["detail"]
    assert (late["error"], late["responded_by"]) == ("already_answered", BOB)


@in_room
async def test_a_choice_may_need_a_number_of_its_own(room: World) -> None:
    choices = [{**APPROVE, "answers_required": 1}, {**DENY, "answers_required": 2}, LATER]
    asked = await room.ask(choices=choices, **THREE)
    assert [one.get("answers_required") for one in asked["suspension"]["choices"]] == [1, 2, None]
    first = await room.answer(asked, "deny")
    needed = {value: one["required"] for value, one in first.json()["counts"].items()}
    assert (first.status_code, needed) == (202, {"approve": 1, "deny": 2, "later": 2})
    assert (await room.answer(asked, "approve", "second_operator")).status_code == 200


@in_room
@pytest.mark.parametrize("own", [0, 3, "2", 1.5])
async def test_a_choice_needs_no_more_than_the_question(room: World, own: Any) -> None:
    body = {"question": "Refund?", "choices": [{**APPROVE, "answers_required": own}, DENY], **THREE}
    refused = await room.call("POST", "/v1/suspensions", json=body)
    assert refused.status_code == 422
    assert refused.json()["detail"]["fields"][0]["path"] == "choices.0.answers_required"


@in_room
async def test_whoever_has_answered_may_change_it_until_the_end(any_room: World) -> None:
    asked = await any_room.ask(choices=[APPROVE, DENY, LATER], **BOTH)
    await any_room.answer(asked, "approve")
    changed = await any_room.answer(asked, "later")
    assert changed.status_code == 202
    assert (changed.json()["received"], changed.json()["required"]) == (1, 2)
    assert changed.json()["counts"]["approve"] == {"received": 0, "required": 2}
    assert (await any_room.answer(asked, "approve", "second_operator")).status_code == 202, "hers counts there no more"

    events = [item for item in await any_room.timeline(asked) if "answer" in item.get("type", "")]
    assert [(one["type"].rpartition(".")[2], one["payload"]["value"]) for one in events] == [
        ("suspension_answer_recorded", "approve"),
        ("suspension_answer_changed", "later"),
        ("suspension_answer_recorded", "approve"),
    ]
    last = await any_room.answer(asked, "approve")
    assert last.status_code == 200
    assert (await any_room.told(asked))["data"]["metadata"]["responders"] == [BOB, ALICE]
    assert (await any_room.answer(asked, "later")).json()["detail"]["same_answer"] is False


async def test_if_no_value_can_be_reached_any_more_the_rest_of_the_ladder_is_asked_at_once(any_world: World) -> None:
    world = any_world
    ladder = [{"attempt": 2, "channel_hint": "email", "notify_to": CAROL}]
    policy = {"max_attempts": 2, "interval_seconds": 3600, "escalation_ladder": ladder}
    asked = await world.ask(choices=[APPROVE, LATER], retry_policy=policy, **BOTH)
    await world.answer(asked, "approve")
    assert (await world.show(asked))["attempt"] == 1, "Bob may still agree"
    await world.answer(asked, "later", "second_operator")
    await world.settle()
    shown = await world.show(asked)
    assert (shown["attempt"], shown["next_attempt_at"], shown["expires_at"]) == (2, None, asked["expires_at"])
    await world.mailbox.reply(await world.mailbox.expect(to=CAROL), "approve")
    assert (await world.told(asked))["data"]["metadata"]["responders"] == [ALICE, CAROL]


@in_room
async def test_a_repeated_request_gets_the_same_partial_reply(room: World) -> None:
    asked = await room.ask(**BOTH)
    path, body = f"/v1/intents/{asked['intent_id']}/suspend/respond", {"value": "approve"}
    body |= {"suspension_id": asked["suspension_id"]}
    replies = [
        await room.call("POST", path, "operator", json=body, headers={"Idempotency-Key": "one"}) for _ in range(2)
    ]
    assert [(one.status_code, one.json()) for one in replies] == [(202, PARTLY)] * 2
    assert replies[1].headers["Idempotency-Replayed"] == "true"


@in_room
async def test_texts_and_forms_count_together_where_they_are_equal(room: World) -> None:
    text = await room.ask(response_type="text", **BOTH)
    assert (await room.answer(text, "v1.2.3")).status_code == 202
    other = await room.answer(text, "v1.2.4", "second_operator")
    one_each = {"v1.2.3": {"received": 1, "required": 2}, "v1.2.4": {"received": 1, "required": 2}}
    assert (other.status_code, other.json()["counts"]) == (202, one_each)
    assert (await room.answer(text, " v1.2.3\n", "second_operator")).status_code == 200

    form = await room.ask(response_type="form", context={"city": ""}, **BOTH)
    assert (await room.answer(form, {"city": "Oslo", "n": 1})).status_code == 202
    assert (await room.answer(form, {"n": True, "city": "Oslo"}, "second_operator")).status_code == 202
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
    assert (first.status_code, first.json()) == (202, PARTLY)
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
    needed = "2 people have to give the same answer; “Deny refund” needs 1. So far: alice@example.com."
    assert needed in " ".join(reminder.text.split())
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


SO_FAR = "2 people have to give the same answer; “Deny refund” needs 1. So far: "


async def test_a_click_in_slack_is_told_what_is_needed_and_may_be_changed(any_world: World) -> None:
    world = any_world
    asked = await world.ask(notify_to="slack:C0OPS", choices=[APPROVE, DENY, LATER], **BOTH)
    message = await world.slack.expect_message("Refund order 12345?")
    await world.press("U0ALICE", message, "Approve refund")
    assert await world.slack.expect_private("U0ALICE", f"Recorded: “Approve refund”. {SO_FAR}{ALICE}.")
    await world.press("U0ALICE", message, "Approve refund")
    assert await world.slack.expect_private("U0ALICE", f"Your answer is recorded already. {SO_FAR}{ALICE}.")
    await world.press("U0ALICE", message, "Ask me later")
    assert await world.slack.expect_private("U0ALICE", "Recorded: “Ask me later”.")
    await world.press("U0BOB", message, "Approve refund")
    assert await world.slack.expect_private("U0BOB", f"Recorded: “Approve refund”. {SO_FAR}{ALICE}, {BOB}.")
    assert (await world.show(asked))["answers_received"] == 2
    assert "Ask me later" not in str(message.blocks).partition("actions")[0], "others see who, not what"

    await world.press("U0ALICE", message, "Approve refund")
    assert await world.slack.expect_message("Answered “Approve refund” by bob@example.com and alice@example.com")
    assert (await world.told(asked))["data"]["channel"] == "slack"


async def test_a_denial_in_slack_ends_it_beside_an_approval(any_world: World) -> None:
    world = any_world
    asked = await world.ask(notify_to="slack:C0OPS", **THREE)
    message = await world.slack.expect_message("Refund order 12345?")
    await world.press("U0ALICE", message, "Approve refund")
    await world.press("U0BOB", message, "Deny refund")
    assert await world.slack.expect_message("Answered “Deny refund” by bob@example.com")
    assert (await world.told(asked))["data"]["value"] == "deny"


async def test_a_reply_by_mail_is_told_what_is_needed(any_world: World) -> None:
    world = any_world
    asked = await world.ask(channel_hint="email", choices=[APPROVE, DENY, LATER], **BOTH)
    to_alice, to_bob = await world.mailbox.expect(to=ALICE), await world.mailbox.expect(to=BOB)
    partly = f"Recorded: “Approve refund”. {SO_FAR}{ALICE}. You can change your answer until the question ends."
    await world.mailbox.reply(to_alice, "approve")
    await world.mailbox.reply(to_alice, "Approve refund")
    assert await words_back(world, asked) == [partly], "the same is told once within an hour"
    await world.mailbox.reply(to_bob, "later")
    assert (await world.show(asked))["answers_received"] == 2
    await world.mailbox.reply(to_bob, "approve")
    assert (await words_back(world, asked))[-1] == "Recorded: “Approve refund”.\n\nThe agent will be told. Thank you."
    assert (await world.told(asked))["data"]["metadata"]["responders"] == [ALICE, BOB]


async def test_a_note_in_pagerduty_is_told_there_what_is_needed(any_world: World) -> None:
    world = any_world
    asked = await world.ask(channel_hint="pagerduty", notify_to="pagerduty:default", **BOTH)
    incident = await world.pager.expect_incident(asked["ref"])
    alice, bob = User("PALICE", "Alice", ALICE), User("PBOB", "Bob", BOB)
    await world.pager.add_note(incident, alice, "approve")
    await world.settle()
    assert any("Recorded: “Approve refund”. 2 people have to" in note.content for note in incident.notes)
    assert (await world.show(asked))["answers_received"] == 1
    await world.pager.add_note(incident, bob, "deny")
    assert (await world.told(asked))["data"]["value"] == "deny"


async def test_the_answer_page_says_what_is_needed_and_lets_one_change_it(any_world: World) -> None:
    world = any_world
    asked = await world.ask(channel_hint="email", choices=[APPROVE, DENY, LATER], **BOTH)
    await world.settle()
    alice, bob = await page_link(world, ALICE), await page_link(world, BOB)
    async with httpx.AsyncClient(follow_redirects=True, timeout=30) as browser:
        sent = await send(browser, alice, "2")
        assert sent.status_code == 200
        assert "Recorded: “Ask me later”." in sent.text
        assert "Change my answer" in sent.text
        assert "Recorded: “Approve refund”." in (await send(browser, alice, "0")).text
    async with httpx.AsyncClient(follow_redirects=True, timeout=30) as browser:
        shown = (await browser.get(bob)).text
        assert "Answers so far: 1<" in shown
        assert "2 people have to give the same answer" in shown
        assert "<bdi>Alice</bdi> <span" in shown
        assert "Approve refund by" not in shown, "what she has said is for the end"
        assert "Change my answer" not in shown
        assert "<bdi>Alice and Bob</bdi> via web" in (await send(browser, bob, "0")).text
    assert (await world.told(asked))["data"]["metadata"]["responders"] == [ALICE, BOB]


async def test_no_page_that_tells_of_an_answer_holds_what_pages_may_not(world: World) -> None:
    card = [{"value": "card", "label": "To 4111 1111 1111 1111"}, LATER]
    await world.ask(channel_hint="email", choices=card, **BOTH)
    await world.settle()
    async with httpx.AsyncClient(follow_redirects=True, timeout=30) as browser:
        sent = await send(browser, await page_link(world, BOB), "0")
    assert sent.status_code == 200
    assert "Recorded: “To [redacted" in sent.text
    assert "4111" not in sent.text


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
    ran = await handraise(world, *arguments, role=role)
    assert ran.status == 0, ran.err
    return ran.out


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
