"""The demo's "nobody answers": the time of one question passes, and the service does the rest."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.app import build_app
from bot.demo.service import PATH, add_door
from tests.world import KEYS, World, running

LADDER = {
    "max_attempts": 3,
    "interval_seconds": 3600,
    "escalation_ladder": [{"attempt": 2, "channel_hint": "email"}, {"attempt": 3, "channel_hint": "pagerduty"}],
    "final_fallback_policy": "complete_with_fallback",
}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with running(tmp_path, f"sqlite+aiosqlite:///{tmp_path / 'handraise.db'}") as world:
        yield world


async def nobody_answers(world: World, ref: str, role: str = "operator") -> httpx.Response:
    """Through the door, beside the service that runs."""
    app = build_app(world.service)
    add_door(app, world.service)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://demo") as client:
        response = await client.post(PATH, json={"ref": ref}, headers={"X-API-Key": KEYS[role]})
    await world.settle()
    return response


async def climbing(world: World, question: str) -> dict[str, Any]:
    return await world.ask(
        question, responders=["alice@example.com"], retry_policy=LADDER, fallback_value="deny", timeout_seconds=3600
    )


async def test_nobody_answers_brings_the_mail_then_the_page_then_the_end(world: World) -> None:
    asked = await climbing(world, "Refund order 12345?")

    response = await nobody_answers(world, asked["ref"])
    assert (response.status_code, response.json()) == (200, {"passed_seconds": 3600.0})
    assert [mail.subject for mail in world.mailbox.mails] == [f"[{asked['ref']}] Refund order 12345?"]
    assert world.pager.incidents == []

    await nobody_answers(world, asked["ref"])
    assert [incident.title for incident in world.pager.incidents] == [f"[{asked['ref']}] Refund order 12345?"]

    await nobody_answers(world, asked["ref"])
    told = (await world.told(asked))["data"]
    assert (told["resolution"], told["value"]) == ("expired", "deny")
    assert (await nobody_answers(world, asked["ref"])).status_code == 409


async def test_only_that_questions_time_passes(world: World) -> None:
    one, other = await climbing(world, "This one?"), await climbing(world, "The other?")

    await nobody_answers(world, one["ref"])

    assert [mail.subject for mail in world.mailbox.mails] == [f"[{one['ref']}] This one?"]
    await world.advance(minutes=59)
    assert len(world.mailbox.mails) == 1
    await world.advance(minutes=1)
    assert f"[{other['ref']}] The other?" in {mail.subject for mail in world.mailbox.mails}


async def test_a_claim_is_waited_out_too(world: World) -> None:
    asked = await climbing(world, "Refund order 12345?")
    path = f"/v1/suspensions/{asked['suspension_id']}/claim"
    assert (await world.call("POST", path, "operator", json={"seconds": 5400})).status_code == 200

    response = await nobody_answers(world, asked["ref"])

    assert response.json() == {"passed_seconds": 5400.0}
    assert len(world.mailbox.mails) == 1


async def test_messages_that_are_out_name_the_end_as_it_is_now(world: World) -> None:
    asked = await climbing(world, "Refund order 12345?")
    [message] = world.slack.workspace.messages
    assert "2026-03-24 13:00 UTC" in str(message.blocks)

    await nobody_answers(world, asked["ref"])

    [message] = world.slack.workspace.messages
    assert "2026-03-24 12:00 UTC" in str(message.blocks)


async def test_the_door_takes_an_operators_key_alone_and_serve_has_none(world: World) -> None:
    asked = await climbing(world, "Refund order 12345?")
    assert (await nobody_answers(world, asked["ref"], "agent")).status_code == 403
    assert (await nobody_answers(world, "HR-NONE")).status_code == 404
    assert (await world.call("POST", PATH, "admin", json={"ref": asked["ref"]})).status_code == 404
    assert world.mailbox.mails == []
