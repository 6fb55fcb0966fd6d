"""Portfolios over the API (RFC-0007; API.md §7): whose they are, what is in them, what they come to."""

from __future__ import annotations

from typing import Any

import pytest

from tests.journeys.openintent.portfolios import ended_with, move, portfolio_of, put_in, shown, suspend
from tests.statements import executed
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOBODYS = "7d4c4bb0-0000-0000-0000-000000000000"


async def test_a_portfolio_is_as_it_was_asked_for_under_both_prefixes_and_spellings(room: World) -> None:
    said = {"deadline": "2030-03-24T12:00:00+01:00", "budget_limit_cents": 5000}
    for prefix, spelling in (("/v1", "governance"), ("/api/v1", "governance_policy")):
        body = {
            "name": "Release 7",
            "created_by": "somebody",
            "description": None,
            spelling: said,
            "metadata": {"a": 1},
        }
        made = (await room.call("POST", f"{prefix}/portfolios", json=body)).json()
        governance = {"deadline": "2030-03-24T11:00:00Z", "budget_limit_cents": 5000}
        assert made == {
            "id": made["id"],
            "name": "Release 7",
            "description": None,
            "created_by": "refund-agent",
            "status": "active",
            "governance_policy": governance,
            "governance": governance,
            "metadata": {"a": 1},
            "aggregate_status": {
                "status": "in_progress",
                "total": 0,
                "by_status": {
                    "draft": 0,
                    "active": 0,
                    "blocked": 0,
                    "suspended_awaiting_input": 0,
                    "completed": 0,
                    "abandoned": 0,
                },
                "completion_percentage": 0,
            },
            "has_suspended_members": False,
            "suspended_member_count": 0,
            "created_at": made["created_at"],
            "updated_at": made["created_at"],
        }
        assert (await room.call("GET", f"{prefix}/portfolios/{made['id']}")).json() == made


async def test_a_naive_deadline_is_utc(room: World) -> None:
    made = await portfolio_of(room, governance_policy={"deadline": "2030-03-24T12:00:00"})
    assert made["governance"]["deadline"] == "2030-03-24T12:00:00Z"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"name": " "}, "name"),
        ({}, "name"),
        ({"name": "P", "owner": "me"}, "owner"),
        ({"name": "P", "governance_policy": []}, "governance_policy"),
        ({"name": "P", "governance": {"deadline": "tomorrow"}}, "governance.deadline"),
        ({"name": "P", "governance": {"deadline": 1_900_000_000}}, "governance.deadline"),
        ({"name": "P", "governance": {"deadline": "2020-01-01T00:00:00Z"}}, "governance.deadline"),
        ({"name": "P", "governance_policy": {"deadline": "2020-01-01T00:00:00Z"}}, "governance_policy.deadline"),
        ({"name": "P", "governance_policy": {"a": 1}, "governance": {"a": 2}}, "governance"),
        ({"name": "P", "metadata": "text"}, "metadata"),
    ],
)
async def test_what_can_be_no_portfolio_names_its_field_and_makes_none(
    room: World, body: dict[str, Any], path: str
) -> None:
    before = len((await room.call("GET", "/v1/portfolios?limit=200")).json()["portfolios"])
    response = await room.call("POST", "/v1/portfolios", json=body)
    assert (response.status_code, response.json()["detail"]["fields"][0]["path"]) == (422, path)
    assert len((await room.call("GET", "/v1/portfolios?limit=200")).json()["portfolios"]) == before


async def test_repeated_under_one_key_it_is_made_once_and_an_intent_added_once(room: World) -> None:
    headers = {"Idempotency-Key": "portfolio-1"}
    first, second = [
        await room.call("POST", "/v1/portfolios", json={"name": "Once"}, headers=headers) for _ in range(2)
    ]
    assert first.json() == second.json()
    assert second.headers["idempotency-replayed"] == "true"
    intent = await room.active_intent()
    path, headers = f"/v1/portfolios/{first.json()['id']}/intents", {"Idempotency-Key": "member-1"}
    added = [await room.call("POST", path, json={"intent_id": intent["id"]}, headers=headers) for _ in range(2)]
    assert added[0].json() == added[1].json()
    other = await room.call("POST", path, json={"intent_id": intent["id"], "priority": 2}, headers=headers)
    assert (other.status_code, other.json()["detail"]["error"]) == (409, "idempotency_conflict")


async def test_a_portfolio_is_its_creators_operators_read_it_and_admins_change_it(room: World) -> None:
    intent = await room.active_intent()
    portfolio = await portfolio_of(room, "agent", intent)
    path = f"/v1/portfolios/{portfolio['id']}"
    for found, method, way, body in (
        (404, "GET", path, None),
        (404, "GET", f"{path}/intents", None),
        (404, "PATCH", f"{path}/status", {"status": "completed"}),
        (404, "POST", f"{path}/intents", {"intent_id": intent["id"]}),
        (404, "DELETE", f"{path}/intents/{intent['id']}", None),
    ):
        response = await room.call(method, way, "other_agent", json=body)
        assert (response.status_code, response.json()["detail"]["error"]) == (found, "not_found")
    assert (await room.call("GET", path, "operator")).status_code == 200
    assert (await room.call("PATCH", f"{path}/status", "operator", json={"status": "completed"})).status_code == 403
    assert await ended_with(room, portfolio, "abandoned", "admin") == 200
    assert (await shown(room, portfolio))["status"] == "abandoned"


async def test_lists_hold_ones_own_and_everybodys_for_operators_and_go_on_page_by_page(room: World) -> None:
    own = []
    for number in range(3):
        await room.advance(seconds=1)
        own.append((await portfolio_of(room, name=f"P{number}"))["id"])
    others = (await portfolio_of(room, "other_agent"))["id"]
    found, cursor = list[str](), ""
    while cursor is not None:
        page = (await room.call("GET", f"/v1/portfolios?limit=2{cursor and f'&cursor={cursor}'}")).json()
        found += [one["id"] for one in page["portfolios"]]
        cursor = page["next_cursor"]
    assert found[:3] == own[::-1]
    assert others not in found and len(found) == len(set(found))
    everybodys = (await room.call("GET", "/v1/portfolios?created_by=other-agent", "operator")).json()["portfolios"]
    assert [one["id"] for one in everybodys] == [others]
    assert (await room.call("GET", "/v1/portfolios?created_by=other-agent")).json()["portfolios"] == []


async def test_an_active_portfolio_is_completed_or_abandoned_once(room: World) -> None:
    portfolio = await portfolio_of(room)
    assert await ended_with(room, portfolio, "active") == 409
    assert await ended_with(room, portfolio, "completed") == 200
    for status in ("active", "completed", "abandoned"):
        assert await ended_with(room, portfolio, status) == 409
    assert await ended_with(room, portfolio, "in_progress") == 422
    assert (
        await room.call("PATCH", f"/v1/portfolios/{NOBODYS}/status", json={"status": "completed"})
    ).status_code == 404


# --- Members --------------------------------------------------------------------------------------------------------


async def test_an_intent_is_put_in_and_taken_out_and_its_log_says_so(room: World) -> None:
    portfolio, intent = await portfolio_of(room), await room.active_intent()
    member = await put_in(room, portfolio, intent, role="primary", priority=7)
    assert member == {
        "id": member["id"],
        "portfolio_id": portfolio["id"],
        "intent_id": intent["id"],
        "role": "primary",
        "priority": 7,
        "added_at": member["added_at"],
    }
    path = f"/v1/portfolios/{portfolio['id']}/intents"
    listed = (await room.call("GET", path)).json()
    assert [one["id"] for one in listed["intents"]] == [intent["id"]]
    assert listed["aggregate_status"]["total"] == 1
    of_intent = (await room.call("GET", f"/v1/intents/{intent['id']}/portfolios")).json()["portfolios"]
    assert of_intent == [await shown(room, portfolio)]
    assert (await room.call("DELETE", f"{path}/{intent['id']}")).status_code == 200
    assert (await room.call("DELETE", f"{path}/{intent['id']}")).status_code == 404
    assert (await shown(room, portfolio))["aggregate_status"]["total"] == 0
    said = [(one["event_type"], one["actor"]) for one in await room.events({"intent_id": intent["id"]})][1:]
    assert said == [("added_to_portfolio", "refund-agent"), ("removed_from_portfolio", "refund-agent")]


async def test_put_in_twice_it_is_the_same_membership_with_the_later_role(room: World) -> None:
    portfolio, intent = await portfolio_of(room), await room.active_intent()
    first = await put_in(room, portfolio, intent, priority=3)
    assert await put_in(room, portfolio, intent, priority=3) == first
    again = await put_in(room, portfolio, intent, role="dependency", priority=4)
    assert again == {**first, "role": "dependency", "priority": 4}
    assert (await shown(room, portfolio))["aggregate_status"]["total"] == 1
    types = await room.event_types({"intent_id": intent["id"]})
    assert types.count("added_to_portfolio") == 2


async def test_only_intents_that_the_caller_may_read_are_put_in(room: World) -> None:
    portfolio, others = await portfolio_of(room), await room.active_intent(role="other_agent")
    for intent_id in (others["id"], NOBODYS):
        response = await room.call("POST", f"/v1/portfolios/{portfolio['id']}/intents", json={"intent_id": intent_id})
        assert (response.status_code, response.json()["detail"]["fields"][0]["path"]) == (422, "intent_id")
    await room.call("POST", f"/v1/intents/{others['id']}/agents", "other_agent", json={"agent_id": "refund-agent"})
    await put_in(room, portfolio, others)
    theirs = (await room.call("GET", f"/v1/intents/{others['id']}/portfolios", "other_agent")).json()
    assert theirs == {"portfolios": []}
    assert (await room.call("GET", f"/v1/portfolios/{portfolio['id']}", "other_agent")).status_code == 404


async def test_a_member_that_the_owner_may_no_longer_read_is_counted_and_not_shown_and_can_be_taken_out(
    room: World,
) -> None:
    portfolio, others = await portfolio_of(room), await room.active_intent(role="other_agent")
    agents = f"/v1/intents/{others['id']}/agents"
    await room.call("POST", agents, "other_agent", json={"agent_id": "refund-agent"})
    await put_in(room, portfolio, others)
    await room.call("DELETE", f"{agents}/refund-agent", "other_agent")
    path = f"/v1/portfolios/{portfolio['id']}/intents"
    listed = (await room.call("GET", path)).json()
    assert (listed["intents"], listed["aggregate_status"]["total"]) == ([], 1)
    assert [one["id"] for one in (await room.call("GET", path, "operator")).json()["intents"]] == [others["id"]]
    assert (await room.call("DELETE", f"{path}/{others['id']}")).status_code == 200


async def test_a_portfolio_that_has_ended_takes_no_intent_and_gives_its_own_back(room: World) -> None:
    intent = await room.active_intent()
    portfolio = await portfolio_of(room, "agent", intent)
    await ended_with(room, portfolio, "completed")
    path = f"/v1/portfolios/{portfolio['id']}/intents"
    response = await room.call("POST", path, json={"intent_id": (await room.active_intent())["id"]})
    assert (response.status_code, response.json()["detail"]["error"]) == (409, "invalid_transition")
    assert (await room.call("DELETE", f"{path}/{intent['id']}")).status_code == 200


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "intent_id"),
        ({"intent_id": 7}, "intent_id"),
        ({"intent_id": "x", "role": "boss"}, "role"),
        ({"intent_id": "x", "priority": "high"}, "priority"),
        ({"intent_id": "x", "priority": 2**70}, "priority"),
    ],
)
async def test_what_can_be_no_membership_names_its_field(room: World, body: dict[str, Any], path: str) -> None:
    portfolio = await portfolio_of(room)
    response = await room.call("POST", f"/v1/portfolios/{portfolio['id']}/intents", json=body)
    assert (response.status_code, response.json()["detail"]["fields"][0]["path"]) == (422, path)


async def test_members_come_by_priority_and_page_by_page(room: World) -> None:
    portfolio, intents = await portfolio_of(room), [await room.active_intent() for _ in range(5)]
    for number, intent in enumerate(intents):
        await put_in(room, portfolio, intent, priority=number)
    path = f"/v1/portfolios/{portfolio['id']}/intents?limit=2&offset="
    found = [one["id"] for at in (0, 2, 4) for one in (await room.call("GET", f"{path}{at}")).json()["intents"]]
    assert found == [one["id"] for one in intents[::-1]]


async def test_suspended_members_are_counted_as_long_as_they_wait(room: World) -> None:
    first, second = await room.active_intent(), await room.active_intent()
    before = await suspend(room, first)
    portfolio = await portfolio_of(room, "agent", first, second)
    now = await shown(room, portfolio)
    assert (now["has_suspended_members"], now["suspended_member_count"]) == (True, 1)
    asked = await suspend(room, second)
    assert (await shown(room, portfolio))["suspended_member_count"] == 2
    for one in (before, asked):
        await room.answer(one, "yes")
    now = await shown(room, portfolio)
    assert (now["has_suspended_members"], now["suspended_member_count"]) == (False, 0)
    types = await room.event_types({"intent_id": first["id"]})
    assert "portfolio.member_suspended" not in types  # nothing was suspended while it was in
    assert types.count("portfolio.member_resumed") == 1


async def test_a_page_of_portfolios_counts_all_their_members_in_one_statement(room: World) -> None:
    for _ in range(3):
        await portfolio_of(room, "agent", await room.active_intent())
    said = {}
    for limit in (1, 3):
        async with executed(room.service.database) as statements:
            assert (await room.call("GET", f"/v1/portfolios?limit={limit}")).status_code == 200
        said[limit] = [one for one in statements if "portfolio" in one]
    assert len(said[1]) == len(said[3]) > 0


async def test_what_members_come_to_is_worked_out_when_it_is_read(room: World) -> None:
    first, second = await room.active_intent(), await room.active_intent()
    portfolio = await portfolio_of(room, "agent", first, second)
    await move(room, first, "completed")
    now = await shown(room, portfolio)
    assert (now["aggregate_status"]["status"], now["aggregate_status"]["completion_percentage"]) == ("in_progress", 50)
    await move(room, second, "completed")
    now = await shown(room, portfolio)
    assert (now["aggregate_status"]["status"], now["status"]) == ("completed", "active")
    assert now["updated_at"] == portfolio["updated_at"]
