"""``pause`` and ``unpause``: no new notice leaves, and nothing else stops (API.md §9)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.sandbox.slack.faults import DropAfterStoring, RateLimited
from core.delivery.pause import Pausing
from core.domain.people import Actor
from tests import cli
from tests.vendors.slack import shown
from tests.world import World, running

EVERY_HOUR = {"max_attempts": 4, "interval_seconds": 3600}


async def pause(world: World, **body: Any) -> dict[str, Any]:
    response = await world.call("POST", "/v1/pause", "admin", json=body)
    assert response.status_code == 200, response.text
    told: dict[str, Any] = response.json()
    return told


async def unpause(world: World) -> dict[str, Any]:
    response = await world.call("DELETE", "/v1/pause", "admin")
    assert response.status_code == 200, response.text
    await world.settle()
    told: dict[str, Any] = response.json()
    return told


def messages(world: World, text: str = "Refund order 12345?") -> int:
    """How many messages in Slack show this question, reminders included."""
    return sum(text in shown(message) for message in world.slack.workspace.posted())


async def deliveries(world: World, asked: Mapping[str, Any]) -> list[tuple[int, str, str | None]]:
    """Attempt, status and reason of each notice."""
    items = await world.timeline(asked)
    return [(one["attempt"], one["status"], one["reason"]) for one in items if one["kind"] == "delivery"]


async def test_while_paused_nobody_is_asked_and_afterwards_everybody_once(any_world: World) -> None:
    world = any_world
    await pause(world)
    asked = await world.ask(retry_policy=EVERY_HOUR)
    await world.advance(hours=2, minutes=30)
    assert messages(world) == 0
    assert (await world.show(asked))["attempt"] == 3  # the ladder kept its times
    assert await unpause(world) == {"paused": False, "released": 1, "dropped": 2}
    assert messages(world) == 1
    assert await deliveries(world, asked) == [
        (1, "dropped", "superseded"),
        (2, "dropped", "superseded"),
        (3, "delivered", None),
    ]
    await world.advance(minutes=30)
    assert messages(world) == 2  # and the fourth at its time


async def test_a_paused_question_can_be_answered_and_its_agent_goes_on(world: World) -> None:
    await pause(world)
    asked = await world.ask(retry_policy=EVERY_HOUR)
    assert (await world.answer(asked, "approve")).status_code == 200
    assert (await world.told(asked))["data"]["value"] == "approve"
    assert await unpause(world) == {"paused": False, "released": 0, "dropped": 0}
    assert messages(world) == 0


async def test_what_was_asked_before_the_pause_is_still_withdrawn(world: World) -> None:
    asked = await world.ask()
    [message] = world.slack.workspace.posted()
    await pause(world)
    await world.answer(asked, "approve")
    await world.settle()
    assert "Approve refund" in shown(message)
    assert not [block for block in message.blocks if block["type"] == "actions"]


async def test_a_question_that_ends_during_the_pause_is_never_asked(world: World) -> None:
    await pause(world)
    asked = await world.ask(timeout_seconds=60)
    await world.advance(minutes=2)
    assert (await world.show(asked))["resolution"] == "expired"
    await unpause(world)
    await world.advance(minutes=5)
    assert messages(world) == 0


async def test_a_veto_window_that_nobody_was_told_of_does_not_authorize(world: World) -> None:
    await pause(world)
    asked = await world.ask("Deploy at noon unless somebody objects.", kind="veto", timeout_seconds=600)
    await world.advance(minutes=11)
    data = (await world.told(asked))["data"]
    assert (data["resolution"], data["error"], data["value"]) == ("expired", "notice_undelivered", None)


async def test_a_notice_that_waits_for_its_next_try_waits_for_the_pause_too(world: World) -> None:
    world.slack.fail_next(RateLimited(), "chat.postMessage")
    asked = await world.ask()
    assert messages(world) == 0
    await pause(world)
    await world.advance(minutes=30)
    assert messages(world) == 0
    assert await unpause(world) == {"paused": False, "released": 1, "dropped": 0}
    assert messages(world) == 1
    assert (await deliveries(world, asked))[0][1] == "delivered"


async def test_the_pause_outlives_a_restart_and_the_notices_with_it(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url) as world:
        await pause(world, reason="refund-agent asks in a loop")
        await world.ask()
        start = world.clock
    async with running(tmp_path, sqlite_url, start) as world:
        await world.ask("And this one?")
        assert messages(world) + messages(world, "And this one?") == 0
        told = (await world.call("GET", "/v1/pause", "operator")).json()
        assert (told["reason"], told["held"]) == ("refund-agent asks in a loop", 2)
        await unpause(world)
        assert (messages(world), messages(world, "And this one?")) == (1, 1)


async def test_another_process_hears_of_it_within_a_second(any_world: World) -> None:
    service, clock = any_world.service, any_world.clock
    transitions = service.engine._transitions
    here, there = (Pausing(service.database, transitions, clock) for _ in range(2))
    root = Actor("root")
    assert not await there.stands()
    await here.pause(root, None)
    assert await here.stands()
    assert not await there.stands()
    await any_world.advance(seconds=1)
    assert await there.stands()
    await here.lift()
    await any_world.advance(seconds=1)
    assert not await there.stands()


async def test_a_notice_held_by_a_process_that_has_not_heard_of_the_end_goes_out(any_world: World) -> None:
    """It decided to hold while the pause stood, and writes so after it was lifted."""
    world = any_world
    here = world.service.services.running.pausing
    there = Pausing(world.service.database, world.service.engine._transitions, world.clock)
    world.service.relay.pausing = world.service.relay.tries.pausing = there
    await here.pause(Actor("root"), None)
    assert await there.stands()
    await here.lift()
    await world.ask()
    assert messages(world) == 1


async def test_a_doubtful_notice_is_still_found_and_withdrawn_once_its_question_ends(world: World) -> None:
    world.slack.fail_next(DropAfterStoring(), "chat.postMessage")
    asked = await world.ask()
    assert messages(world) == 1
    await pause(world)
    await world.advance(minutes=1)
    await world.answer(asked, "approve")
    await world.advance(minutes=2)
    [message] = world.slack.workspace.posted()
    assert not [block for block in message.blocks if block["type"] == "actions"]


async def test_pausing_is_for_admins_and_everybody_with_a_key_may_know(world: World) -> None:
    for role in ("agent", "operator"):
        assert (await world.call("POST", "/v1/pause", role, json={})).status_code == 403
        assert (await world.call("DELETE", "/v1/pause", role)).status_code == 403
    assert (await world.call("GET", "/v1/pause", None)).status_code == 401
    nothing = {"paused": False, "paused_at": None, "paused_by": None, "reason": None, "held": 0}
    assert (await world.call("GET", "/v1/pause")).json() == nothing
    await pause(world, reason="at night")
    told = (await world.call("GET", "/v1/pause")).json()
    assert told == nothing | {"paused": True, "paused_at": "2026-03-24T10:00:00Z"}
    seen = (await world.call("GET", "/v1/pause", "operator")).json()
    assert seen == told | {"paused_by": "root", "reason": "at night"}


async def test_pausing_and_unpausing_twice_changes_nothing(world: World) -> None:
    first = await pause(world, reason="at night")
    await world.advance(minutes=5)
    assert await pause(world) == first
    assert (await pause(world, reason="still"))["reason"] == "still"
    await unpause(world)
    assert await unpause(world) == {"paused": False, "released": 0, "dropped": 0}


async def test_a_pause_with_a_field_that_is_none_is_refused_and_does_not_pause(world: World) -> None:
    response = await world.call("POST", "/v1/pause", "admin", json={"for": "ever"})
    assert response.status_code == 422
    assert response.json()["detail"]["fields"][0]["path"] == "for"
    assert (await world.call("GET", "/v1/pause")).json()["paused"] is False


async def test_those_who_run_the_service_are_told_that_it_is_paused(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, alerts={"notify": ["email:ops@example.com"]}) as world:
        await pause(world, reason="refund-agent asks in a loop")
        await pause(world, reason="and another")
        await world.settle()
        [mail] = world.mailbox.of("ops@example.com")
        assert mail.subject == "All new notices are paused"
        assert "root has paused all new notices (refund-agent asks in a loop)" in mail.text


async def test_a_pause_is_seen_where_people_look(world: World) -> None:
    ready = await world.call("GET", "/readyz", None)
    assert ready.json() == {"status": "ready", "paused": False}
    await pause(world)
    ready = await world.call("GET", "/readyz", None)
    assert (ready.status_code, ready.json()) == (200, {"status": "ready", "paused": True})
    assert "notices_paused 1.0" in (await world.call("GET", "/metrics", None)).text


async def handraise(world: World, *words: str, role: str = "admin") -> tuple[int | None, str, str]:
    """The command: status, output, errors."""
    ran = await cli.handraise(world, *words, role=role)
    return ran.status, ran.out, ran.err


async def test_the_command_line_pauses_says_so_and_unpauses(world: World) -> None:
    status, out, _ = await handraise(world, "pause", "--reason", "at night")
    assert (status, out) == (
        0,
        "Paused since 2026-03-24T10:00:00Z by root. `handraise unpause` ends it.\n",
    )
    await world.ask()
    _, out, err = await handraise(world, "list", role="operator")
    assert err == "New notices are paused since 2026-03-24T10:00:00Z; 1 wait.\n"
    assert "Refund order 12345?" in out
    status, out, _ = await handraise(world, "unpause")
    assert (status, out) == (0, "Notices leave again: 1 that waited go out, 0 older ones were dropped.\n")
    assert (await handraise(world, "list", role="operator"))[2] == ""


async def test_the_command_line_refuses_a_key_that_is_no_admins(world: World) -> None:
    status, out, err = await handraise(world, "pause", role="agent")
    assert (status, out) == (1, "")
    assert err == "handraise: This needs the role admin. (forbidden)\n"
