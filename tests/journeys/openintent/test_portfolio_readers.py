"""Who hears of a portfolio's members: by webhook, and by the stream that the published client opens (API.md §7)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.journeys.openintent.portfolios import portfolio_of, put_in, suspend
from tests.journeys.openintent.test_api_client_streams import assert_not_found, reading, take
from tests.journeys.openintent.test_subscriptions import House, housed
from tests.world import World


@pytest.fixture
async def house(tmp_path: Path, database_url: str) -> AsyncIterator[House]:
    async with housed(tmp_path, database_url) as made:
        yield made


async def test_a_subscription_to_a_portfolio_hears_of_an_intent_while_it_is_in(house: House) -> None:
    world = house.world
    portfolio, before, intent = await portfolio_of(world), await world.active_intent(), await world.active_intent()
    await put_in(world, portfolio, before)
    made = await house.subscribe(portfolio_id=portfolio["id"])
    assert made["portfolio_id"] == portfolio["id"]
    await house.note(before, "note.first")
    await house.note(intent, "note.not_yet")
    await put_in(world, portfolio, intent)
    await house.note(intent, "note.within")
    await world.call("DELETE", f"/v1/portfolios/{portfolio['id']}/intents/{intent['id']}")
    await house.note(intent, "note.no_more")
    await house.note(before, "note.last")
    sent = await house.own.expect(5)
    assert sorted(one.event["event_type"] for one in sent) == [
        "added_to_portfolio",
        "note.first",
        "note.last",
        "note.within",
        "removed_from_portfolio",
    ]
    assert await house.all_done() == {"delivered": 5}
    listed = await world.call("GET", f"/v1/subscriptions?portfolio_id={portfolio['id']}")
    assert [one["id"] for one in listed.json()["subscriptions"]] == [made["id"]]


async def test_another_keys_portfolio_is_subscribed_to_by_nobody_else(house: House) -> None:
    portfolio = await portfolio_of(house.world)
    body = {"webhook_url": house.other.url, "portfolio_id": portfolio["id"]}
    assert (await house.world.call("POST", "/v1/subscriptions", "other_agent", json=body)).status_code == 404


async def test_a_stream_tells_what_happens_to_a_portfolios_members_alone(any_world: World) -> None:
    world = any_world
    intent, other = await world.active_intent(), await world.active_intent()
    portfolio = await portfolio_of(world, "agent", intent)
    async with reading(world, f"/api/v1/portfolios/{portfolio['id']}/subscribe") as stream:
        await suspend(world, other)
        asked = await suspend(world, intent)
        await world.answer(asked, "yes")
        told = await take(stream, 2)
    assert {(name, data["intent_id"]) for _, name, data in told} == {("STATUS_CHANGED", intent["id"])}
    assert [data["event_type"] for _, _, data in told] == ["intent.suspended", "intent.resumed"]


async def test_another_keys_portfolio_has_no_stream(world: World) -> None:
    portfolio = await portfolio_of(world)
    assert_not_found(await world.call("GET", f"/v1/portfolios/{portfolio['id']}/subscribe", "other_agent"))
