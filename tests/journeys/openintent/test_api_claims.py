"""Claims over the API (API.md §2): somebody says that they are on it."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.world import World, after

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def claim(world: World, asked: dict[str, Any], role: str = "operator", **body: Any) -> httpx.Response:
    return await world.call("POST", f"/v1/suspensions/{asked['suspension_id']}/claim", role, json=body)


async def release(world: World, asked: dict[str, Any], role: str = "operator") -> httpx.Response:
    return await world.call("DELETE", f"/v1/suspensions/{asked['suspension_id']}/claim", role)


async def claimed(world: World, asked: dict[str, Any]) -> tuple[str | None, str | None]:
    shown = await world.show(asked)
    return shown["claimed_by"], shown["claim_until"]


async def test_a_claim_is_shown_with_its_end(room: World) -> None:
    asked = await room.ask()
    response = await claim(room, asked, seconds=600)
    assert response.status_code == 200
    until = after(asked, minutes=10)
    assert (response.json()["claimed_by"], response.json()["claim_until"]) == ("alice@example.com", until)
    assert await claimed(room, asked) == ("alice@example.com", until)
    event = (await room.events(asked))[-1]
    assert (event["event_type"], event["actor"]) == ("intent.suspension_claimed", "alice@example.com")
    await room.advance(seconds=600)
    assert await claimed(room, asked) == (None, None)


async def test_without_a_length_it_is_half_an_hour(room: World) -> None:
    asked = await room.ask()
    assert (await claim(room, asked)).json()["claim_until"] == after(asked, minutes=30)


async def test_it_ends_with_the_question_at_the_latest(room: World) -> None:
    asked = await room.ask(timeout_seconds=900)
    assert (await claim(room, asked, seconds=7200)).json()["claim_until"] == asked["expires_at"]


@pytest.mark.parametrize("seconds", [59, 7201, 0, -60, True, 60.0, "60", [60]])
async def test_a_claim_is_a_minute_to_two_hours(room: World, seconds: Any) -> None:
    asked = await room.ask()
    response = await claim(room, asked, seconds=seconds)
    assert response.status_code == 422
    assert await claimed(room, asked) == (None, None)


@pytest.mark.parametrize("seconds", [60, 7200])
async def test_a_minute_and_two_hours_are_claims(room: World, seconds: int) -> None:
    asked = await room.ask()
    assert (await claim(room, asked, seconds=seconds)).status_code == 200


async def test_what_somebody_has_claimed_is_nobody_elses(room: World) -> None:
    asked = await room.ask()
    await claim(room, asked)
    response = await claim(room, asked, "second_operator")
    assert (response.status_code, response.json()["detail"]["error"]) == (409, "claimed_by_another")
    assert response.json()["detail"]["claimed_by"] == "alice@example.com"
    assert (await claimed(room, asked))[0] == "alice@example.com"


async def test_a_claim_can_be_renewed_by_its_owner(room: World) -> None:
    asked = await room.ask()
    first = (await claim(room, asked, seconds=600)).json()["claim_until"]
    await room.advance(seconds=300)
    second = await claim(room, asked, seconds=600)
    assert second.status_code == 200
    assert second.json()["claim_until"] > first


async def test_after_its_end_anybody_else_may_claim(room: World) -> None:
    asked = await room.ask()
    await claim(room, asked, seconds=60)
    await room.advance(seconds=60)
    assert (await claim(room, asked, "second_operator")).status_code == 200
    assert (await claimed(room, asked))[0] == "bob@example.com"


async def test_its_owner_gives_it_back(room: World) -> None:
    asked = await room.ask()
    await claim(room, asked)
    assert (await release(room, asked, "second_operator")).status_code == 409
    assert (await claimed(room, asked))[0] == "alice@example.com"
    response = await release(room, asked)
    assert (response.status_code, response.json()["claimed_by"]) == (200, None)
    assert await claimed(room, asked) == (None, None)
    assert (await release(room, asked)).status_code == 409
    assert (await claim(room, asked, "second_operator")).status_code == 200


async def test_only_a_responder_claims(room: World) -> None:
    asked = await room.ask(responders=["alice@example.com"])
    response = await claim(room, asked, "second_operator")
    assert (response.status_code, response.json()["detail"]["error"]) == (403, "not_a_responder")
    assert (await claim(room, asked)).status_code == 200


async def test_a_claim_is_no_answer_and_keeps_nobody_from_answering(room: World) -> None:
    asked = await room.ask()
    await claim(room, asked)
    assert (await room.show(asked))["status"] == "open"
    assert (await room.answer(asked, "approve", "second_operator")).status_code == 200
    assert (await room.show(asked))["responded_by"] == "bob@example.com"


async def test_what_has_ended_can_not_be_claimed(room: World) -> None:
    answered, expired = await room.ask(), await room.ask(timeout_seconds=60)
    await room.answer(answered, "approve")
    await room.advance(seconds=60)
    assert [(await claim(room, one)).status_code for one in (answered, expired)] == [409, 409]
    assert (await claim(room, {"suspension_id": "unknown"})).status_code == 404
