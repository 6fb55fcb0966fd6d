"""Handing a question over to one person (API.md §2, ``assign``)."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from tests.journeys.questions.test_quorum import cli
from tests.world import World, after

in_room = pytest.mark.asyncio(loop_scope="module")

ALICE, BOB, CAROL = "alice@example.com", "bob@example.com", "carol@example.com"
HOURLY = {"max_attempts": 3, "interval_seconds": 3600}


async def assign(
    world: World, asked: dict[str, Any], to: Any, role: str = "operator", **options: Any
) -> httpx.Response:
    return await world.call(
        "POST", f"/v1/suspensions/{asked['suspension_id']}/assign", role, json={"to": to}, **options
    )


async def claim(world: World, asked: dict[str, Any], role: str = "operator") -> None:
    response = await world.call("POST", f"/v1/suspensions/{asked['suspension_id']}/claim", role, json={"seconds": 7200})
    assert response.status_code == 200


async def test_the_person_is_asked_at_once_and_may_answer(any_world: World) -> None:
    world = any_world
    asked = await world.ask(responders=[ALICE], retry_policy=HOURLY)

    done = await assign(world, asked, "Carol@Example.com")

    assert (done.status_code, done.json()["assigned_to"]) == (200, CAROL)
    await world.settle()
    message = await world.slack.expect_message("Handed over to carol@example.com by alice@example.com.")
    assert message.channel.startswith("D")
    await world.press("U0CAROL", message, "Approve refund")
    told = (await world.told(asked))["data"]
    assert (told["value"], told["responded_by"]) == ("approve", CAROL)
    assert message.button("ans:0") is None, "the end withdraws that notice as well"


@in_room
async def test_it_is_no_attempt_and_the_ladder_goes_on_as_planned(room: World) -> None:
    asked = await room.ask(responders=[ALICE], retry_policy=HOURLY)
    before = await room.show(asked)
    await assign(room, asked, CAROL)
    shown = await room.show(asked)
    for name in ("attempt", "next_attempt_at", "expires_at", "claimed_by"):
        assert shown[name] == before[name]
    await room.advance(minutes=59, seconds=59)
    assert (await room.show(asked))["attempt"] == 1
    await room.advance(seconds=1)
    assert (await room.show(asked))["attempt"] == 2


async def test_later_attempts_ask_the_person_too(world: World) -> None:
    ladder = [{"attempt": 2, "channel_hint": "email"}]
    asked = await world.ask(responders=[ALICE], retry_policy={**HOURLY, "escalation_ladder": ladder})
    await assign(world, asked, CAROL)
    await world.advance(hours=1)
    assert "Reminder (2 of 3)" in (await world.mailbox.expect(to=CAROL)).text
    assert "Handed over to carol@example.com" in (await world.mailbox.expect(to=ALICE)).text


@in_room
async def test_timeline_and_events_tell_who_handed_it_to_whom(room: World) -> None:
    asked = await room.ask(responders=[ALICE])
    await assign(room, asked, CAROL)
    await room.settle()
    items = await room.timeline(asked)
    (event,) = [item for item in items if item.get("type") == "intent.suspension_assigned"]
    assert (event["actor"], event["payload"]["assigned_to"], event["payload"]["assigned_by"]) == (ALICE, CAROL, ALICE)
    (delivery,) = [item for item in items if item["kind"] == "delivery" and item["recipient"] == CAROL]
    assert (delivery["status"], delivery["attempt"], delivery["channel"]) == ("delivered", 1, "slack")


@in_room
async def test_a_claim_passes_on_with_the_end_it_had(room: World) -> None:
    asked = await room.ask(responders=[ALICE], retry_policy=HOURLY)
    await claim(room, asked)
    await room.advance(minutes=70)
    await assign(room, asked, CAROL)
    await room.settle()
    shown = await room.show(asked)
    assert (shown["claimed_by"], shown["claim_until"]) == (CAROL, after(asked, hours=2))
    assert shown["attempt"] == 1, "nothing that waited goes out because of it"
    await room.advance(minutes=50)
    shown = await room.show(asked)
    assert (shown["claimed_by"], shown["attempt"]) == (None, 3)


@in_room
async def test_whoever_holds_no_claim_can_not_take_anothers_away(room: World) -> None:
    asked = await room.ask(responders=["group:finance"])
    await claim(room, asked, "second_operator")
    refused = await assign(room, asked, CAROL)
    assert (refused.status_code, refused.json()["detail"]["error"]) == (409, "claimed_by_another")
    assert (await assign(room, asked, CAROL, "admin")).status_code == 200


@in_room
async def test_it_is_passed_on_and_the_first_may_still_answer(room: World) -> None:
    asked = await room.ask(responders=[ALICE])
    await assign(room, asked, BOB)
    assert (await assign(room, asked, CAROL, "second_operator")).status_code == 200
    assert (await room.show(asked))["assigned_to"] == CAROL
    assert (await assign(room, asked, BOB)).json()["assigned_to"] == BOB
    assert (await room.answer(asked, "approve", "second_operator")).status_code == 200


async def test_handing_over_to_somebody_makes_a_question_of_nobody_named_theirs_too(world: World) -> None:
    asked = await world.ask()
    await assign(world, asked, CAROL)
    await world.settle()
    message = await world.slack.expect_message("Handed over to carol")
    await world.press("U0CAROL", message, "Deny refund")
    assert (await world.told(asked))["data"]["responded_by"] == CAROL


@in_room
@pytest.mark.parametrize(
    ("to", "code"),
    [
        ("eve@elsewhere.example", "recipient_not_allowed"),
        ("group:finance", "invalid_recipient"),
        ("slack:U0CAROL", "invalid_recipient"),
        ("nobody", "invalid_recipient"),
        ("pagerduty-schedule:PXYZ", "invalid_recipient"),
        ("bob@example.com", "recipient_not_allowed"),  # it is asked on his behalf
        ("", "invalid_request"),
        (None, "invalid_request"),
        (["carol@example.com"], "invalid_request"),
    ],
)
async def test_only_one_person_who_may_be_asked_can_take_it_over(room: World, to: Any, code: str) -> None:
    asked = await room.ask(responders=[ALICE, BOB], on_behalf_of=BOB)
    refused = await assign(room, asked, to)
    assert (refused.status_code, refused.json()["detail"]["error"]) == (422, code)
    assert refused.json()["detail"]["fields"][0]["path"] == "to"
    assert (await room.show(asked))["assigned_to"] is None


@in_room
async def test_whoever_has_answered_already_can_not_take_it_over(room: World) -> None:
    asked = await room.ask(responders=[ALICE, BOB], answers_required=2)
    await room.answer(asked, "approve", "second_operator")
    refused = await assign(room, asked, BOB)
    assert (refused.status_code, refused.json()["detail"]["error"]) == (422, "recipient_not_allowed")


@in_room
async def test_who_may_hand_over(room: World) -> None:
    asked = await room.ask(responders=[ALICE])
    statuses = {role: (await assign(room, asked, CAROL, role)).status_code for role in ("agent", "second_operator")}
    assert statuses == {"agent": 403, "second_operator": 403}
    assert (await assign(room, asked, CAROL, None)).status_code == 401
    assert (await assign(room, {"suspension_id": "unknown"}, CAROL)).status_code == 404
    assert (await assign(room, asked, CAROL, "admin")).status_code == 200


@in_room
async def test_what_has_ended_can_not_be_handed_over(room: World) -> None:
    answered, expired = await room.ask(), await room.ask(timeout_seconds=60)
    await room.answer(answered, "approve")
    await room.advance(seconds=60)
    errors = [(await assign(room, one, CAROL)).json()["detail"]["error"] for one in (answered, expired)]
    assert errors == ["already_answered", "suspension_ended"]


async def test_repeated_under_one_key_it_asks_once(any_world: World) -> None:
    asked = await any_world.ask(responders=[ALICE])
    key = {"Idempotency-Key": "hand-over"}
    replies = await asyncio.gather(*(assign(any_world, asked, CAROL, headers=key) for _ in range(4)))
    assert {one.status_code for one in replies} == {200}
    assert len({one.text for one in replies}) == 1
    await any_world.settle()
    assert len([one for one in any_world.slack.workspace.posted() if one.channel.startswith("D")]) == 2
    assert (await any_world.event_types(asked)).count("intent.suspension_assigned") == 1


@in_room
async def test_from_the_command_line(room: World) -> None:
    asked = await room.ask(responders=[ALICE])
    assert f"{asked['ref']}: handed over to {CAROL}" in await cli(room, "operator", "assign", asked["ref"], CAROL)
    assert f"handed over to Carol <{CAROL}>" in await cli(room, "operator", "show", asked["ref"])
