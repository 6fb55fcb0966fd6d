"""Leases on an intent (RFC-0003; RFC-0025 §2; API.md §7): one holder for a scope, also while a person is asked."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from core.openintent.store.tables import due_times, intent_leases
from tests.journeys.openintent.test_api_client_streams import AGENTS, reading, take
from tests.journeys.questions.test_outages import Town, town
from tests.world import World

in_room = pytest.mark.asyncio(loop_scope="module")

__all__ = ["town"]

QUESTION = {"question": "Refund?", "response_type": "confirm", "timeout_seconds": 86_400}


def path(intent: dict[str, Any], lease: dict[str, Any] | None = None, prefix: str = "/v1") -> str:
    leases = f"{prefix}/intents/{intent['id']}/leases"
    return leases if lease is None else f"{leases}/{lease['id']}"


async def acquire(
    world: World, intent: dict[str, Any], scope: str = "refunds", seconds: Any = 300, by: str = "agent"
) -> httpx.Response:
    return await world.call("POST", path(intent), by, json={"scope": scope, "duration_seconds": seconds})


async def acquired(world: World, intent: dict[str, Any], *what: Any, **more: Any) -> dict[str, Any]:
    response = await acquire(world, intent, *what, **more)
    assert response.status_code == 200, response.text
    lease: dict[str, Any] = response.json()
    return lease


async def renew(
    world: World, intent: dict[str, Any], lease: dict[str, Any], seconds: int = 300, by: str = "agent"
) -> httpx.Response:
    return await world.call("PATCH", path(intent, lease), by, json={"duration_seconds": seconds})


async def release(world: World, intent: dict[str, Any], lease: dict[str, Any], by: str = "agent") -> httpx.Response:
    return await world.call("DELETE", path(intent, lease), by)


async def listed(world: World, intent: dict[str, Any], by: str = "agent") -> list[dict[str, Any]]:
    response = await world.call("GET", path(intent), by)
    assert response.status_code == 200, response.text
    leases: list[dict[str, Any]] = response.json()["leases"]
    return leases


async def shared(world: World, *members: str) -> dict[str, Any]:
    intent = await world.active_intent()
    for member in members or ("other-agent",):
        body = {"agent_id": member}
        assert (await world.call("POST", f"/v1/intents/{intent['id']}/agents", json=body)).is_success
    return intent


async def move(world: World, intent: dict[str, Any], status: str, by: str = "agent") -> httpx.Response:
    current = await world.intent({"intent_id": intent["id"]})
    headers = {"If-Match": str(current["version"])}
    return await world.call("POST", f"/v1/intents/{intent['id']}/status", by, json={"status": status}, headers=headers)


async def suspended(world: World, intent: dict[str, Any], **fields: Any) -> dict[str, Any]:
    response = await world.call("POST", f"/v1/intents/{intent['id']}/suspend", json={**QUESTION, **fields})
    assert response.status_code == 201, response.text
    await world.settle()
    asked: dict[str, Any] = response.json()
    return asked


async def lease_events(world: World, intent: dict[str, Any]) -> list[str]:
    types = await world.event_types({"intent_id": intent["id"]})
    return [one for one in types if one.startswith("lease_")]


def error(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["detail"]["error"]


HELD, ENDED = (409, "lease_held"), (409, "scope_not_held")


def later(lease: dict[str, Any], seconds: int, since: str = "acquired_at") -> datetime:
    return datetime.fromisoformat(lease[since]) + timedelta(seconds=seconds)


# --- Taking, renewing, giving back --------------------------------------------------------------------------------


@in_room
async def test_a_lease_is_taken_renewed_and_given_back(room: World) -> None:
    intent = await room.active_intent()
    lease = await acquired(room, intent, "refunds", 300)
    assert lease == {
        "id": lease["id"],
        "intent_id": intent["id"],
        "agent_id": "refund-agent",
        "scope": "refunds",
        "status": "active",
        "acquired_at": lease["acquired_at"],
        "expires_at": lease["expires_at"],
        "released_at": None,
    }
    assert lease["expires_at"].endswith("Z")
    assert datetime.fromisoformat(lease["expires_at"]) == later(lease, 300)
    await room.advance(seconds=200)
    longer = (await renew(room, intent, lease, 600)).json()
    assert longer == {**lease, "expires_at": longer["expires_at"]}
    assert datetime.fromisoformat(longer["expires_at"]) == later(lease, 800)
    assert await listed(room, intent) == [longer]
    back = (await release(room, intent, lease)).json()
    assert back == {**longer, "status": "released", "released_at": back["released_at"]}
    assert datetime.fromisoformat(back["released_at"]) == later(lease, 200)
    assert await listed(room, intent) == [back]
    assert await lease_events(room, intent) == ["lease_acquired", "lease_renewed", "lease_released"]
    assert (await room.intent({"intent_id": intent["id"]}))["version"] == intent["version"]


@in_room
async def test_a_held_scope_is_refused_to_everybody_until_it_is_free(room: World) -> None:
    intent = await shared(room)
    lease = await acquired(room, intent)
    for by in ("agent", "other_agent", "admin"):
        refused = await acquire(room, intent, by=by)
        assert error(refused) == HELD
        detail = refused.json()["detail"]
        assert "lease" in detail["message"]
        assert refused.json()["message"] == detail["message"]
        assert (detail["agent_id"], detail["expires_at"]) == ("refund-agent", lease["expires_at"])
    assert (await acquired(room, intent, "reports", by="other_agent"))["agent_id"] == "other-agent"
    assert (await acquired(room, await shared(room)))["status"] == "active"
    await release(room, intent, lease)
    assert (await acquired(room, intent, by="other_agent"))["agent_id"] == "other-agent"


@in_room
async def test_a_shorter_renewal_counts_too(room: World) -> None:
    intent = await room.active_intent()
    lease = await acquired(room, intent, seconds=3600)
    assert (await renew(room, intent, lease, 10)).status_code == 200
    await room.advance(seconds=10)
    assert [one["status"] for one in await listed(room, intent)] == ["expired"]


@in_room
async def test_only_the_holder_and_admins_renew_and_the_owner_may_end_it_too(room: World) -> None:
    intent = await shared(room, "other-agent")
    mine = await acquired(room, intent, "mine")
    theirs = await acquired(room, intent, "theirs", by="other_agent")
    assert error(await renew(room, intent, mine, by="other_agent")) == (403, "forbidden")
    assert error(await renew(room, intent, theirs, by="agent")) == (403, "forbidden")
    assert error(await release(room, intent, mine, by="other_agent")) == (403, "forbidden")
    assert (await renew(room, intent, theirs, by="admin")).json()["agent_id"] == "other-agent"
    assert (await release(room, intent, theirs, by="agent")).json()["status"] == "revoked"
    assert (await release(room, intent, mine, by="admin")).json()["status"] == "revoked"
    assert (await lease_events(room, intent))[-2:] == ["lease_revoked", "lease_revoked"]


@in_room
async def test_what_has_ended_is_neither_renewed_nor_ended_again(room: World) -> None:
    intent = await shared(room)
    given_back = await acquired(room, intent, "one")
    await release(room, intent, given_back)
    taken_away = await acquired(room, intent, "two", by="other_agent")
    await release(room, intent, taken_away, by="agent")
    run_out = await acquired(room, intent, "three", 5)
    await room.advance(seconds=5)
    for lease, by in ((given_back, "agent"), (taken_away, "other_agent"), (run_out, "agent")):
        for refused in (await renew(room, intent, lease, by=by), await release(room, intent, lease, by=by)):
            assert error(refused) == ENDED
            assert "lease" not in refused.text.lower()  # the published client takes it for a scope that is held


@in_room
async def test_a_lease_is_found_on_its_own_intent_alone(room: World) -> None:
    intent, other = await room.active_intent(), await room.active_intent()
    lease = await acquired(room, intent)
    for where, what in ((other, lease), (intent, {"id": "no-such"})):
        assert error(await renew(room, where, what)) == (404, "not_found")
        assert error(await release(room, where, what)) == (404, "not_found")
    assert [one["status"] for one in await listed(room, intent)] == ["active"]


@in_room
async def test_who_does_not_belong_to_an_intent_finds_none_of_its_leases(room: World) -> None:
    intent = await room.active_intent()
    lease = await acquired(room, intent)
    assert (await room.call("GET", path(intent), "other_agent")).status_code == 404
    assert (await acquire(room, intent, by="other_agent")).status_code == 404
    assert (await renew(room, intent, lease, by="other_agent")).status_code == 404
    assert (await release(room, intent, lease, by="other_agent")).status_code == 404
    assert [one["id"] for one in await listed(room, intent, by="operator")] == [lease["id"]]
    assert (await acquire(room, intent, "more", by="operator")).status_code == 403


WRONG: list[dict[str, Any]] = [
    {},
    {"scope": "s"},
    {"duration_seconds": 5},
    {"scope": "", "duration_seconds": 5},
    {"scope": " \t", "duration_seconds": 5},
    {"scope": "s" * 256, "duration_seconds": 5},
    {"scope": 7, "duration_seconds": 5},
    {"scope": "a\x00b", "duration_seconds": 5},
    *({"scope": "s", "duration_seconds": wrong} for wrong in (0, -1, 31_536_001, 5.0, "5", True, None, 10**400)),
    {"scope": "s", "duration_seconds": 5, "agent_id": "somebody"},
]


@in_room
async def test_a_lease_that_can_not_be_is_refused(room: World) -> None:
    intent = await room.active_intent()
    lease = await acquired(room, intent)
    for body in WRONG:
        response = await room.call("POST", path(intent), json=body)
        assert response.status_code in {400, 422}, (body, response.text)
        renewal = {name: value for name, value in body.items() if name != "scope"}
        if renewal != {"duration_seconds": 5}:
            response = await room.call("PATCH", path(intent, lease), json=renewal)
            assert response.status_code in {400, 422}, (renewal, response.text)
    assert await listed(room, intent) == [lease]


@in_room
async def test_the_longest_lease_and_the_longest_scope_are_taken(room: World) -> None:
    intent = await room.active_intent()
    lease = await acquired(room, intent, "ü" * 255, 31_536_000)
    assert datetime.fromisoformat(lease["expires_at"]) == later(lease, 31_536_000)


@in_room
async def test_the_list_has_what_is_held_first_and_then_the_newest(room: World) -> None:
    intent = await room.active_intent()
    leases = []
    for scope in "abcd":
        leases.append(await acquired(room, intent, scope))
        await room.advance(seconds=1)
    for lease in leases[2:]:
        await release(room, intent, lease)
    assert [one["scope"] for one in await listed(room, intent)] == ["b", "a", "d", "c"]
    two = (await room.call("GET", path(intent), params={"limit": 2, "offset": 1})).json()["leases"]
    assert [one["scope"] for one in two] == ["a", "d"]


@in_room
async def test_for_the_published_client_the_times_carry_no_zone(room: World) -> None:
    """Its ``IntentLease.is_active`` compares them with a naive clock, and fails on the events that it does not know."""
    intent = await room.active_intent()
    made = await room.call("POST", path(intent, prefix="/api/v1"), json={"scope": "s", "duration_seconds": 60})
    lease = made.json()
    renewed = await room.call("PATCH", path(intent, lease, "/api/v1"), json={"duration_seconds": 90})
    shown = (await room.call("GET", path(intent, prefix="/api/v1"))).json()["leases"]
    ended = await room.call("DELETE", path(intent, lease, "/api/v1"))
    assert shown == [renewed.json()]
    for one in (lease, renewed.json(), ended.json()):
        times = [one["acquired_at"], one["expires_at"], *([one["released_at"]] if one["released_at"] else [])]
        assert all(datetime.fromisoformat(at).tzinfo is None for at in times)
    [aware] = await listed(room, intent)
    assert aware["released_at"] == ended.json()["released_at"] + "Z"
    log = await room.call("GET", f"/api/v1/intents/{intent['id']}/events")
    told = [event["event_type"] for event in log.json()["events"] if event["event_type"].startswith("lease_")]
    assert told == ["lease_acquired", "lease_released"]


@in_room
async def test_no_client_writes_the_events_of_leases(room: World) -> None:
    intent = await room.active_intent()
    for event in ("acquired", "renewed", "released", "expired", "revoked"):
        body = {"event_type": f"lease_{event}"}
        assert (await room.call("POST", f"/v1/intents/{intent['id']}/events", json=body)).status_code == 403


# --- The end ------------------------------------------------------------------------------------------------------


@in_room
async def test_a_lease_ends_at_its_time_for_everybody_before_anybody_has_written_it_down(room: World) -> None:
    intent = await shared(room)
    lease = await acquired(room, intent, seconds=60, by="other_agent")
    room.clock.move_by(timedelta(seconds=59))
    assert error(await acquire(room, intent)) == HELD
    room.clock.move_by(timedelta(seconds=1))
    assert [one["status"] for one in await listed(room, intent)] == ["expired"]
    assert error(await renew(room, intent, lease, by="other_agent")) == ENDED
    assert error(await move(room, intent, "completed", "other_agent")) == (403, "forbidden")
    mine = await acquired(room, intent)
    assert [one["id"] for one in await listed(room, intent)] == [mine["id"], lease["id"]]
    await room.settle()
    assert await lease_events(room, intent) == ["lease_acquired", "lease_expired", "lease_acquired"]


async def test_the_end_is_written_down_at_its_time(any_world: World) -> None:
    intent = await any_world.active_intent()
    lease = await acquired(any_world, intent, seconds=60)
    await any_world.advance(seconds=30)
    assert (await renew(any_world, intent, lease, 60)).status_code == 200
    await any_world.advance(seconds=59)
    assert await lease_events(any_world, intent) == ["lease_acquired", "lease_renewed"]
    await any_world.advance(seconds=1)
    assert await lease_events(any_world, intent) == ["lease_acquired", "lease_renewed", "lease_expired"]
    last = (await any_world.events({"intent_id": intent["id"]}))[-1]
    assert (last["actor"], last["payload"]["scope"], last["payload"]["lease_id"]) == (
        "handraise",
        "refunds",
        lease["id"],
    )
    assert await stored(any_world) == [("expired", 0)]


async def stored(world: World) -> list[tuple[str, int]]:
    """Each lease's status as it is written down, and how many times are kept for it."""
    times = sa.select(sa.func.count()).where(due_times.c.subject == intent_leases.c.id).scalar_subquery()
    rows = sa.select(intent_leases.c.status, times)
    return [tuple(row) for row in await world.service.database.read(lambda conn: conn.execute(rows).all())]


async def test_no_outage_of_ours_moves_a_leases_end(town: Town) -> None:
    async with town.open() as world:
        intent = await shared(world)
        lease = await acquired(world, intent, seconds=3600)
    async with town.open(away=timedelta(hours=2)) as world:
        await world.settle()
        [after] = await listed(world, intent)
        assert (after["status"], after["expires_at"]) == ("expired", lease["expires_at"])
        assert (await acquire(world, intent, by="other_agent")).status_code == 200


@pytest.mark.parametrize("status", ["completed", "abandoned"])
async def test_nobody_holds_a_part_of_an_intent_that_is_over(world: World, status: str) -> None:
    intent = await shared(world)
    lease = await acquired(world, intent)
    assert (await move(world, intent, status)).status_code == 200
    [after] = await listed(world, intent)
    assert (after["status"], after["released_at"]) == ("released", after["acquired_at"])
    assert error(await renew(world, intent, lease)) == ENDED
    refused = await acquire(world, intent, "another")
    assert error(refused) == (409, "intent_not_active")
    assert "lease" not in refused.text.lower()
    assert await lease_events(world, intent) == ["lease_acquired", "lease_released"]
    assert await stored(world) == [("released", 0)]


@in_room
async def test_nobody_holds_a_part_of_an_intent_that_silence_has_abandoned(room: World) -> None:
    """A question's end pays nothing for leases: this one is written down at its own end."""
    intent = await room.active_intent()
    lease = await acquired(room, intent, seconds=7200)
    await suspended(room, intent, timeout_seconds=600)
    await room.advance(seconds=600)
    assert (await room.intent({"intent_id": intent["id"]}))["status"] == "abandoned"
    assert [one["status"] for one in await listed(room, intent)] == ["released"]
    assert error(await renew(room, intent, lease)) == ENDED
    await room.advance(seconds=6600)
    assert (await lease_events(room, intent))[-1] == "lease_released"


@in_room
async def test_whoever_leaves_an_intent_holds_nothing_on_it(room: World) -> None:
    intent = await shared(room, "other-agent", "third")
    theirs = await acquired(room, intent, "theirs", by="other_agent")
    mine = await acquired(room, intent, "mine")
    left = await room.call("DELETE", f"/v1/intents/{intent['id']}/agents/other-agent")
    assert left.status_code == 200
    after = {one["scope"]: one["status"] for one in await listed(room, intent)}
    assert after == {"theirs": "revoked", "mine": "active"}
    assert (await lease_events(room, intent))[-1] == "lease_revoked"
    assert (await move(room, intent, "completed", "other_agent")).status_code == 404
    assert (await room.call("POST", f"/v1/intents/{intent['id']}/agents", json={"agent_id": "other-agent"})).is_success
    assert error(await renew(room, intent, theirs, by="other_agent")) == ENDED
    assert error(await move(room, intent, "completed", "other_agent")) == (403, "forbidden")
    assert (await acquired(room, intent, "theirs"))["agent_id"] == mine["agent_id"]


@in_room
async def test_a_member_with_a_lease_changes_the_status_and_one_without_does_not(room: World) -> None:
    intent = await shared(room)
    assert error(await move(room, intent, "blocked", "other_agent")) == (403, "forbidden")
    lease = await acquired(room, intent, by="other_agent")
    assert (await move(room, intent, "blocked", "other_agent")).status_code == 200
    assert (await move(room, intent, "active", "other_agent")).status_code == 200
    await release(room, intent, lease, by="other_agent")
    assert error(await move(room, intent, "completed", "other_agent")) == (403, "forbidden")


# --- While a person is asked --------------------------------------------------------------------------------------


@in_room
async def test_while_a_person_is_asked_a_lease_neither_ends_nor_is_taken(any_room: World) -> None:
    """RFC-0025 §2: whoever writes leases off skips the intent, and renewal succeeds."""
    intent = await shared(any_room)
    lease = await acquired(any_room, intent, seconds=60)
    asked = await suspended(any_room, intent)
    await any_room.advance(hours=3)
    assert [one["status"] for one in await listed(any_room, intent)] == ["active"]
    assert error(await acquire(any_room, intent, by="other_agent")) == HELD
    assert await lease_events(any_room, intent) == ["lease_acquired"]
    renewed = await renew(any_room, intent, lease, 120)
    assert renewed.status_code == 200
    assert datetime.fromisoformat(renewed.json()["expires_at"]) == any_room.clock.now() + timedelta(seconds=120)
    await any_room.answer(asked, "yes")
    await any_room.advance(seconds=119)
    assert error(await acquire(any_room, intent, by="other_agent")) == HELD
    await any_room.advance(seconds=1)
    assert (await acquire(any_room, intent, by="other_agent")).status_code == 200


@in_room
async def test_an_agent_that_is_resumed_has_a_minute_to_renew_what_lapsed_meanwhile(room: World) -> None:
    intent = await shared(room)
    lease = await acquired(room, intent, seconds=60)
    asked = await suspended(room, intent)
    await room.advance(hours=3)
    await room.answer(asked, "yes")
    room.clock.move_by(timedelta(seconds=59))
    assert error(await acquire(room, intent, by="other_agent")) == HELD
    assert (await renew(room, intent, lease, 30)).status_code == 200
    room.clock.move_by(timedelta(seconds=30))
    assert (await acquire(room, intent, by="other_agent")).status_code == 200


async def test_after_that_minute_the_scope_is_free_and_the_end_is_soon_written_down(world: World) -> None:
    intent = await shared(world)
    lease = await acquired(world, intent, seconds=60)
    asked = await suspended(world, intent)
    await world.advance(hours=3)
    await world.answer(asked, "yes")
    world.clock.move_by(timedelta(seconds=60))
    assert [one["status"] for one in await listed(world, intent)] == ["expired"]
    assert error(await renew(world, intent, lease)) == ENDED
    await world.advance(minutes=16)
    assert await lease_events(world, intent) == ["lease_acquired", "lease_expired"]
    assert await stored(world) == [("expired", 0)]


@in_room
async def test_asked_twice_in_a_row_a_lease_stands_through_both(room: World) -> None:
    intent = await shared(room)
    lease = await acquired(room, intent, seconds=60)
    for _ in range(2):
        asked = await suspended(room, intent)
        await room.advance(hours=1)
        await room.answer(asked, "yes")
        room.clock.move_by(timedelta(seconds=30))
    assert error(await acquire(room, intent, by="other_agent")) == HELD
    assert (await renew(room, intent, lease)).status_code == 200


@in_room
async def test_what_had_ended_before_the_question_does_not_come_back_with_it(room: World) -> None:
    intent = await shared(room)
    lease = await acquired(room, intent, seconds=60)
    room.clock.move_by(timedelta(seconds=60))
    asked = await suspended(room, intent)
    assert error(await renew(room, intent, lease)) == ENDED
    theirs = await acquired(room, intent, seconds=60, by="other_agent")
    await room.advance(hours=1)
    assert (await renew(room, intent, theirs, by="other_agent")).status_code == 200
    await room.answer(asked, "yes")


@in_room
async def test_a_lease_that_is_taken_or_runs_on_after_the_answer_gets_no_minute_more(room: World) -> None:
    intent = await shared(room)
    await acquired(room, intent, "long", 7210)
    asked = await suspended(room, intent)
    await room.advance(hours=2)
    await room.answer(asked, "yes")
    await acquired(room, intent, "short", 5)
    room.clock.move_by(timedelta(seconds=10))
    assert {one["status"] for one in await listed(room, intent)} == {"expired"}


@in_room
async def test_between_the_steps_of_the_published_client_a_lease_is_held_up_already(room: World) -> None:
    intent = await shared(room)
    lease = await acquired(room, intent, seconds=10)
    headers, body = {"If-Match": str(intent["version"])}, {"status": "suspended_awaiting_input"}
    moved = await room.call("POST", f"/api/v1/intents/{intent['id']}/status", json=body, headers=headers)
    assert moved.status_code == 200, moved.text
    room.clock.move_by(timedelta(seconds=20))
    assert error(await acquire(room, intent, by="other_agent")) == HELD
    assert (await renew(room, intent, lease)).status_code == 200


# --- Told as it happens -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["released", "expired", "revoked"])
async def test_the_published_client_hears_that_a_scope_is_free(world: World, how: str) -> None:
    intent = await shared(world)
    async with reading(world, AGENTS) as stream:
        lease = await acquired(world, intent, seconds=60, by="other_agent")
        if how == "expired":
            await world.advance(seconds=60)
        else:
            await release(world, intent, lease, by="other_agent" if how == "released" else "agent")
        [(_, name, data)] = await take(stream, 1)
    assert name == "LEASE_RELEASED"
    assert (data["intent_id"], data["scope"], data["agent_id"]) == (intent["id"], "refunds", "other-agent")
    assert data["event_type"] == f"lease_{how}"


# --- At once ------------------------------------------------------------------------------------------------------


@in_room
async def test_many_that_want_a_scope_at_once_leave_one_holder(any_room: World) -> None:
    intent = await shared(any_room)
    roles = ["agent", "other_agent", "admin"] * 8
    replies = await asyncio.gather(*(acquire(any_room, intent, by=role) for role in roles))
    assert Counter(reply.status_code for reply in replies) == {200: 1, 409: 23}
    assert {reply.json()["detail"]["error"] for reply in replies if reply.status_code == 409} == {"lease_held"}
    [lease] = [reply.json() for reply in replies if reply.status_code == 200]
    assert await listed(any_room, intent) == [lease]


@in_room
async def test_many_that_want_it_as_it_is_given_back_or_runs_out_leave_one_holder(any_room: World) -> None:
    intent = await shared(any_room)
    for how in ("given back", "run out"):
        lease = await acquired(any_room, intent, how, 60, by="other_agent")
        if how == "run out":
            any_room.clock.move_by(timedelta(seconds=60))
        replies = await asyncio.gather(
            release(any_room, intent, lease, by="other_agent"),
            any_room.service.look(),
            *(acquire(any_room, intent, how, by=role) for role in ("agent", "other_agent") * 6),
            renew(any_room, intent, lease, by="other_agent"),
        )
        held = [one for one in await listed(any_room, intent) if (one["status"], one["scope"]) == ("active", how)]
        new = [one.json() for one in replies[2:-1] if isinstance(one, httpx.Response) and one.status_code == 200]
        assert held == new
        assert len(held) <= 1
        if not held:  # every one of them came before it was given back
            assert (await acquire(any_room, intent, how)).status_code == 200


async def test_a_row_that_was_there_in_spite_of_everything_is_a_held_scope_too(any_world: World) -> None:
    """The index is the last guard: whoever meets it is told what everybody is told."""
    intent = await shared(any_world)
    held = await acquired(any_world, intent, "refunds")
    insert = sa.event.listens_for(any_world.service.database.engine, "before_cursor_execute", retval=True)

    @insert
    def blind(_conn: Any, _cursor: Any, sql: str, parameters: Any, _context: Any, _many: bool) -> tuple[str, Any]:
        """Whoever looks for a lease on the scope finds none."""
        looks = sql.lstrip().upper().startswith("SELECT") and "intent_leases.scope = " in sql
        return (sql.replace("intent_leases.scope = ", "'' = ") if looks else sql), parameters

    refused = await acquire(any_world, intent, "refunds", by="other_agent")
    assert error(refused) == HELD
    sa.event.remove(any_world.service.database.engine, "before_cursor_execute", blind)
    assert await listed(any_world, intent) == [held]
