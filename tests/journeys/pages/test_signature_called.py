"""Lines that a person has called their signature, in the whole service on each database: pressed once, gone in time."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import httpx
import pytest

from core.domain.signature_lines import SignatureOffer
from core.store import signature_lines
from core.store.signature_lines import LinesKept
from tests.world import World

ALICE, BOB = "alice@example.com", "bob@example.com"
OFFER = SignatureOffer(("If you are not the intended recipient…",), ("Never stop innovating.",), 0)


async def asked_about_lines(world: World, **fields: Any) -> dict[str, Any]:
    """A question of which Alice's and Bob's echoes keep an offer each."""
    asked = await world.ask(channel_hint="email", responders=[ALICE, BOB], **fields)
    now = world.clock.now()
    for identity in (ALICE, BOB):
        await world.service.database.write(
            lambda tx, one=identity: signature_lines.offer(tx, asked["suspension_id"], one, OFFER, now)
        )
    return asked


async def offers(world: World, asked: dict[str, Any]) -> list[bool]:
    suspension_id = asked["suspension_id"]
    found = [
        await world.service.database.read(lambda c, one=one: signature_lines.offered(c, suspension_id, one))
        for one in (ALICE, BOB)
    ]
    return [offer is not None for offer in found]


async def kept(world: World, identity: str = ALICE) -> LinesKept:
    return await world.service.database.read(lambda conn: signature_lines.kept_of(conn, identity))


async def press(world: World, button: str, times: int = 1) -> list[httpx.Response]:
    """Alice presses it so often at once."""
    mail = await world.mailbox.expect(to=ALICE)
    link = re.search(r"/a/[a-z2-7]+", mail.text)
    assert link is not None
    place = world.url + link[0]
    async with httpx.AsyncClient(follow_redirects=True, timeout=30) as browser:
        page = (await browser.get(place)).text
        fields = {name: re.search(f'name="{name}" value="([^"]+)"', page) for name in ("form_token", "shown")}
        data = {name: found[1] for name, found in fields.items() if found is not None}
        data |= {"do": button, "choice": "0"}
        return await asyncio.gather(*(browser.post(place, data=data) for _ in range(times)))


async def test_one_press_calls_the_lines_and_answers(any_world: World) -> None:
    asked = await asked_about_lines(any_world)
    [response] = await press(any_world, "signature_and_answer")
    assert response.status_code == 200
    told = (await any_world.told(asked))["data"]
    assert (told["value"], told["responded_by"]) == ("approve", ALICE)
    assert await kept(any_world) == LinesKept(2, any_world.clock.now())
    assert await kept(any_world, BOB) == LinesKept(0, None)
    assert await offers(any_world, asked) == [False, False]


async def test_of_several_presses_at_once_one_is_in_the_log(any_world: World) -> None:
    asked = await asked_about_lines(any_world)
    responses = await press(any_world, "signature", times=5)
    assert {one.status_code for one in responses} == {200}
    assert (await any_world.event_types(asked)).count("notice.signature_called") == 1
    assert (await kept(any_world)).count == 2
    assert await offers(any_world, asked) == [False, True]


@pytest.mark.parametrize("end", ["an answer", "cancelled", "silence"])
async def test_however_a_question_ends_nobody_is_asked_about_lines_any_more(any_world: World, end: str) -> None:
    asked = await asked_about_lines(any_world, timeout_seconds=3600)
    assert await offers(any_world, asked) == [True, True]
    match end:
        case "an answer":
            assert (await any_world.answer(asked, "deny", "second_operator")).status_code == 200
        case "cancelled":
            path = f"/v1/suspensions/{asked['suspension_id']}/cancel"
            assert (await any_world.call("POST", path, json={"reason": "not needed"})).status_code == 200
        case "silence":
            await any_world.advance(hours=1)
    assert (await any_world.show(asked))["status"] != "open"
    assert await offers(any_world, asked) == [False, False]


async def test_lines_are_gone_400_days_after_the_press(any_world: World) -> None:
    await asked_about_lines(any_world, timeout_seconds=3600)
    await press(any_world, "signature")
    await any_world.advance(days=399)
    assert (await kept(any_world)).count == 2
    await any_world.advance(days=1, hours=1)
    assert (await kept(any_world)).count == 0
