"""``deadline_seconds`` from the request to the end (API.md §2): the whole window, whatever happens in it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli import handraise
from tests.world import World, after

LADDER: dict[str, Any] = {
    "max_attempts": 3,
    "interval_seconds": 3600,
    "escalation_ladder": [{"attempt": 2, "channel_hint": "email"}, {"attempt": 3, "channel_hint": "pagerduty"}],
}


async def inherit(world: World, policy: dict[str, Any]) -> None:
    saved = await world.call("PUT", "/v1/agents/refund-agent/default-retry-policy", json=policy)
    assert saved.status_code == 200, saved.text


async def clarify(world: World, asked: dict[str, Any]) -> None:
    path = f"/v1/suspensions/{asked['suspension_id']}/clarify"
    assert (await world.call("POST", path, "operator", json={"question": "Which card?"})).status_code == 200


async def test_ten_minutes_are_ten_minutes_under_a_policy_of_three_hours(any_world: World) -> None:
    await inherit(any_world, LADDER)
    asked = await any_world.ask(deadline_seconds=600)
    assert [step["attempt"] for step in asked["ladder"]] == [1]
    await any_world.advance(seconds=599)
    assert (await any_world.show(asked))["status"] == "open"
    await any_world.advance(seconds=1)
    ended = await any_world.show(asked)
    assert (ended["status"], ended["ended_at"], ended["error"]) == (
        "expired",
        after(asked, minutes=10),
        "input_timeout",
    )
    assert any_world.mailbox.mails == []


async def test_asking_back_never_moves_the_end_past_the_deadline_and_skips_nobody(any_world: World) -> None:
    asked = await any_world.ask(
        deadline_seconds=2 * 3600,
        timeout_seconds=3600,
        retry_policy={**LADDER, "max_attempts": 2, "escalation_ladder": LADDER["escalation_ladder"][:1]},
    )
    await any_world.advance(minutes=50)
    await clarify(any_world, asked)
    assert (await any_world.show(asked))["expires_at"] == after(asked, hours=2)
    await any_world.advance(minutes=39)
    assert any_world.mailbox.mails == []
    await any_world.advance(minutes=1)
    assert len(any_world.mailbox.mails) == 1, "the clock held for 40 minutes, and the next person is asked all the same"
    await any_world.advance(minutes=30)
    assert (await any_world.show(asked))["status"] == "expired"


@pytest.mark.slow
async def test_the_terminal_says_the_end_where_it_is_set(world: World) -> None:
    arguments = ("ask", "Deploy?", "--choice", "yes", "--choice", "no", "--fallback", "no", "--deadline", "600")
    ran = await handraise(world, *arguments, role="agent")
    assert ran.status == 0, ran.err
    said = "If nobody answers by 2026-03-24 10:10 UTC, the agent goes on with “No”. That is in 10 min."
    assert ran.err.strip().endswith(said)
    assert len(ran.lines) == 1, "standard output stays what a script reads: the ref and the id"
    refused = await handraise(world, "ask", "Deploy?", "--deadline", "0", role="agent")
    assert (refused.status, "--deadline" in refused.err) == (2, True)
