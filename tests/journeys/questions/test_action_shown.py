"""Whoever decides sees what will happen: the action on every channel, under one heading, with the digits of the digest
that the agent is called back with (API.md §2, "What is shown")."""

from __future__ import annotations

import json
from html import unescape
from typing import Any

import pytest

from tests.cli import handraise
from tests.journeys.questions.test_roads import page_of
from tests.vendors.slack import shown
from tests.world import World

CARD = "4111111111111111"
ACTION: dict[str, Any] = {"tool": "stripe.refund", "amount": 49999, "marker": "MARKER-7", "card": CARD}
RISK = {"risk": "high"}
LADDER = {
    "max_attempts": 3,
    "interval_seconds": 600,
    "escalation_ladder": [{"attempt": 2, "channel_hint": "email"}, {"attempt": 3, "channel_hint": "pagerduty"}],
}


async def test_every_channel_shows_what_will_run_and_hides_the_same(any_world: World) -> None:
    world = any_world
    asked = await world.ask("Refund 5 €?", action=ACTION, responders=["group:finance"], retry_policy=LADDER)
    message = world.slack.workspace.messages[-1]
    posted = (shown(message), message.text)
    await world.advance(seconds=1_200)
    mail = await world.mailbox.expect(subject="Refund 5 €?")
    incident = await world.pager.expect_incident(asked["ref"])
    paged = json.dumps([one.event for one in incident.alerts], ensure_ascii=False)
    page = (await world.http.get(await page_of(world, mail))).text
    assert (await world.answer(asked, "approve")).status_code == 200
    digest = (await world.told(asked))["data"]["action_digest"]
    for read in (*posted, mail.text, mail.html, paged, page):
        assert "Exactly this will run" in read
        assert digest.removeprefix("sha256:")[:8] in read
        assert "MARKER-7" in read
        assert "49999" in read
        assert CARD not in read
        assert "[masked: Visa …1111]" in unescape(read)


async def test_the_command_line_shows_what_people_are_shown(any_world: World) -> None:
    world = any_world
    context = {"order": "12345", "password": "hunter2hunter2"}
    asked = await world.ask("Refund 5 € to 4111111111111111?", action=ACTION, context=context, decision_record=RISK)
    ran = await handraise(world, "show", asked["ref"], role="operator")
    assert (ran.status, ran.err) == (0, "")
    digest = asked["suspension"]["action_digest"].removeprefix("sha256:")[:8]
    assert f"  Exactly this will run (sha256 {digest}):" in ran.lines
    assert '      "marker": "MARKER-7",' in ran.lines
    assert '      "amount": 49999,' in ran.lines
    assert "  What is marked [redacted] or [masked] is hidden here, and runs all the same." in ran.lines
    assert "  Refund 5 € to [redacted: card number]?" in ran.lines
    assert "  order: 12345" in ran.lines
    assert "  risk: high, says the agent" in ran.lines
    assert CARD not in ran.out
    assert "hunter2" not in ran.out


async def test_a_preview_shows_what_each_channel_would(world: World) -> None:
    choices = [{"value": "approve", "label": "Approve"}, {"value": "deny", "label": "Deny"}]
    body = {"question": "Refund 5 €?", "choices": choices, "responders": ["group:finance"], "retry_policy": LADDER}
    short, long = [
        (await world.call("POST", "/v1/suspensions/preview", json={**body, "action": action})).json()["notices"]
        for action in (ACTION, {**ACTION, "lines": ["x" * 100] * 100})
    ]
    none = (await world.call("POST", "/v1/suspensions/preview", json=body)).json()["notices"]
    asked = await world.ask(**{**body, "action": ACTION})
    digest = asked["suspension"]["action_digest"].removeprefix("sha256:")[:8]
    assert list(short) == ["slack", "email", "pagerduty"]
    for notice in short.values():
        assert notice["action"]["heading"] == f"Exactly this will run (sha256 {digest})"
        assert notice["action"]["digest"] == digest
        assert json.loads(notice["action"]["text"]) == {**ACTION, "card": "[masked: Visa …1111]"}
        assert notice["action"]["hidden"].startswith("What is marked [redacted] or [masked] is hidden here")
        assert notice["question"] == "Refund 5 €?"
        assert [one["label"] for one in notice["choices"]] == ["Approve", "Deny"]
    assert [one["cut"] for one in short.values()] == [False, False, False]
    assert [one["cut"] for one in long.values()] == [True, False, False]
    assert {one["action"] for one in none.values()} == {None}


@pytest.mark.parametrize(("role", "status"), [("agent", 200), ("other_agent", 404), ("operator", 200), (None, 401)])
async def test_what_people_are_shown_is_read_by_who_may_read_the_question(
    world: World, role: str | None, status: int
) -> None:
    asked = await world.ask("Refund 5 €?", action=ACTION)
    read = await world.call("GET", f"/v1/suspensions/{asked['suspension_id']}/notice", role)
    assert read.status_code == status
    assert ("MARKER-7" in read.text) == (status == 200)
