"""Lists (API.md §1, §2): filters, pages, cursors that neither skip nor repeat, and who sees what."""

from __future__ import annotations

from typing import Any

import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def page(world: World, role: str = "admin", **params: Any) -> dict[str, Any]:
    response = await world.call("GET", "/v1/suspensions", role, params=params)
    assert response.status_code == 200, response.text
    shown: dict[str, Any] = response.json()
    assert set(shown) >= {"items", "next_cursor"}
    return shown


async def ids(world: World, role: str = "admin", **params: Any) -> list[str]:
    return [one["id"] for one in (await page(world, role, **params))["items"]]


async def walk(world: World, limit: int, **params: Any) -> list[str]:
    """Every page, one after the other."""
    found: list[str] = []
    cursor = None
    while True:
        shown = await page(world, limit=limit, **params, **({"cursor": cursor} if cursor else {}))
        assert len(shown["items"]) <= limit
        found += [one["id"] for one in shown["items"]]
        cursor = shown["next_cursor"]
        if cursor is None:
            return found


async def test_pages_of_any_size_hold_everything_once(room: World) -> None:
    """All of the same instant, which is the hard case."""
    asked = [(await room.ask(f"Page {number}?"))["suspension_id"] for number in range(7)]
    for limit in (1, 2, 3, 7, 200):
        found = await walk(room, limit, q="Page ")
        assert sorted(found) == sorted(asked)


async def test_what_is_asked_between_two_pages_moves_nothing(room: World) -> None:
    asked = [(await room.ask(f"Walk {number}?"))["suspension_id"] for number in range(4)]
    first = await page(room, limit=2, q="Walk ")
    await room.advance(seconds=1)
    late = (await room.ask("Walk late?"))["suspension_id"]
    second = await page(room, limit=10, q="Walk ", cursor=first["next_cursor"])
    found = [one["id"] for one in first["items"] + second["items"]]
    assert sorted(one for one in found if one != late) == sorted(asked)
    assert len(found) == len(set(found))


async def test_the_status_filters(room: World) -> None:
    fields: dict[str, Any] = {"timeout_seconds": 60}
    asked = {name: await room.ask(f"Status {name}?") for name in ("open", "responded", "cancelled")}
    asked["expired"] = await room.ask("Status expired?", **fields)
    await room.answer(asked["responded"], "approve")
    await room.call("POST", f"/v1/suspensions/{asked['cancelled']['suspension_id']}/cancel", json={})
    await room.advance(seconds=60)
    for status, one in asked.items():
        assert await ids(room, status=status, q="Status ") == [one["suspension_id"]]
    assert len(await ids(room, q="Status ")) == 4


async def test_the_session_the_channel_and_the_words_filter(room: World) -> None:
    one = await room.ask("Filter by mail?", channel_hint="email", resume={"session_id": "sess-filter"})
    other = await room.ask("Filter by slack?", resume={"session_id": "sess-other"})
    assert await ids(room, session_id="sess-filter") == [one["suspension_id"]]
    assert await ids(room, channel="email", q="Filter") == [one["suspension_id"]]
    assert await ids(room, channel="slack", q="Filter") == [other["suspension_id"]]
    assert await ids(room, q=one["ref"]) == [one["suspension_id"]]
    assert await ids(room, q="Filter by", session_id="sess-other") == [other["suspension_id"]]
    assert await ids(room, session_id="nobody's") == []


async def test_an_invocation_finds_its_questions_newest_first(room: World) -> None:
    first = await room.ask("Invoked once?", resume={"invocation_id": "inv-filter", "correlation_id": "corr-filter"})
    await room.advance(seconds=1)
    second = await room.ask("Invoked twice?", resume={"invocation_id": "inv-filter"})
    await room.ask("Invoked elsewhere?", resume={"invocation_id": "inv-other"})
    found = (await page(room, "agent", invocation_id="inv-filter"))["items"]
    assert [one["id"] for one in found] == [second["suspension_id"], first["suspension_id"]]
    assert [one["invocation_id"] for one in found] == ["inv-filter", "inv-filter"]
    assert [one["correlation_id"] for one in found] == [None, "corr-filter"]
    assert await ids(room, "other_agent", invocation_id="inv-filter") == []
    assert await ids(room, invocation_id="inv-nobody's") == []


async def test_a_signal_finds_the_questions_that_registered_it(room: World) -> None:
    first = await room.ask("Signalled once?", resume={"signal_id": "sig-filter"})
    await room.answer(first, "approve")
    await room.advance(seconds=1)
    second = await room.ask("Signalled twice?", resume={"signal_id": "sig-filter"})
    await room.ask("Signalled elsewhere?", resume={"signal_id": "sig-other"})
    assert await ids(room, signal_id="sig-filter") == [second["suspension_id"], first["suspension_id"]]
    assert await ids(room, status="open", signal_id="sig-filter") == [second["suspension_id"]]
    assert await ids(room, "other_agent", signal_id="sig-filter") == []


@pytest.mark.parametrize("words", ["100%", "under_score", "back\\slash", "it's", '"quoted"', "%", "_"])
async def test_words_are_searched_as_they_are(room: World, words: str) -> None:
    asked = await room.ask(f"Discount of {words} granted?")
    await room.ask("Nothing of the kind, 100 under-score?")
    found = (await page(room, q=words))["items"]
    assert asked["suspension_id"] in [one["id"] for one in found]
    assert all(words in one["question"] for one in found)


@pytest.mark.parametrize(
    "params",
    [
        {"limit": 0},
        {"limit": -1},
        {"limit": "ten"},
        {"limit": 10**9},
        {"limit": "1.5"},
        {"cursor": "nonsense"},
        {"cursor": ""},
        {"cursor": "9" * 300},
        {"status": "waiting"},
        {"status": "suspended_awaiting_input"},
    ],
)
async def test_wrong_parameters_are_422(room: World, params: dict[str, Any]) -> None:
    response = await room.call("GET", "/v1/suspensions", "admin", params=params)
    assert response.status_code == 422, response.text
    assert response.json()["detail"]["error"]


async def test_an_agent_lists_its_own_and_everybody_else_all(room: World) -> None:
    mine = (await room.ask("Whose list?"))["suspension_id"]
    body = {"question": "Whose list?", "response_type": "confirm"}
    theirs = (await room.call("POST", "/v1/suspensions", "other_agent", json=body)).json()["suspension_id"]
    assert await ids(room, "agent", q="Whose list?") == [mine]
    assert await ids(room, "other_agent", q="Whose list?") == [theirs]
    assert sorted(await ids(room, "operator", q="Whose list?")) == sorted([mine, theirs])
    assert sorted(await ids(room, "admin", q="Whose list?")) == sorted([mine, theirs])


async def test_intents_are_listed_as_the_published_client_reads_them(room: World) -> None:
    mine = await room.active_intent("listed")
    theirs = await room.active_intent("listed", "other_agent")
    for prefix in ("/v1", "/api/v1"):
        listed = (await room.call("GET", prefix + "/intents")).json()["intents"]
        found = [one["id"] for one in listed if one["title"] == "listed"]
        assert found == [mine["id"]]
    listed = (await room.call("GET", "/v1/intents", "operator", params={"limit": 200})).json()["intents"]
    assert {mine["id"], theirs["id"]} <= {one["id"] for one in listed}


async def test_callbacks_are_listed_with_cursors_too(room: World) -> None:
    made = []
    for _ in range(3):
        asked = await room.ask()
        await room.answer(asked, "approve")
        made.append(asked["suspension_id"])
    await room.settle()
    found: list[str] = []
    cursor = None
    while True:
        params = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        shown = (await room.call("GET", "/v1/callbacks", params=params)).json()
        found += [one["suspension_id"] for one in shown["items"]]
        cursor = shown["next_cursor"]
        if cursor is None:
            break
    assert set(made) <= set(found)
    assert len(found) == len(set(found))
