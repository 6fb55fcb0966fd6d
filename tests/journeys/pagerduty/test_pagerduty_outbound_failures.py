"""What goes wrong on the way to PagerDuty, a test for each row of the table, named like the row (facts on channels §F).

The service's own clock is moved by hand; the sandbox is asked what it stored, the operators' mailbox what it was told.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.sandbox.pagerduty.world import IncidentStatus
from bot.sandbox.serving import serving
from tests.process import service_process
from tests.vendors.pagerduty import EventFault, PagerDutySandbox
from tests.world import KEYS, ROUTING_KEY, World, config, running

OPS = "ops@example.com"
PAGING = {"channel_hint": "pagerduty", "notify_to": "pagerduty:default"}
LADDER = {
    "max_attempts": 2,
    "interval_seconds": 86400,
    "escalation_ladder": [{"attempt": 2, "channel_hint": "email", "notify_to": "alice@example.com"}],
}


@pytest.fixture
async def watched(tmp_path: Path, sqlite_url: str) -> AsyncIterator[World]:
    """A service whose operators are told by mail."""
    async with running(tmp_path, sqlite_url, alerts={"notify": [f"email:{OPS}"]}) as world:
        yield world


def told(world: World) -> list[str]:
    return [mail.subject for mail in world.mailbox.of(OPS)]


async def deliveries(world: World, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [item for item in await world.timeline(asked) if item["kind"] == "delivery"]


def nobody_there() -> str:
    """An address at which nobody listens."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{door.getsockname()[1]}"


# --- All channels -------------------------------------------------------------------------------------------------


async def test_state_no_longer_open_at_send_time_pages_nobody(world: World) -> None:
    world.pager.fail_next(EventFault.RATE_LIMITED)
    asked = await world.ask(**PAGING)
    assert (await world.answer(asked, "approve")).status_code == 200
    await world.advance(minutes=10)

    assert world.pager.incidents == []
    [delivery] = await deliveries(world, asked)
    assert delivery["status"] == "dropped"


@pytest.mark.parametrize("api", [True, False])
async def test_a_page_that_pagerduty_never_took_is_not_delivered_once_its_question_has_ended(
    tmp_path: Path, sqlite_url: str, api: bool
) -> None:
    setup: dict[str, Any] = {} if api else {"pagerduty__api_token": None}
    async with running(tmp_path, sqlite_url, **setup) as world:
        world.pager.fail_next(EventFault.DROP_BEFORE_STORING)
        asked = await world.ask(**PAGING)
        await world.answer(asked, "approve")
        await world.advance(minutes=10)

        assert world.pager.incidents == []
        [delivery] = await deliveries(world, asked)
        assert (delivery["status"], delivery["reason"]) == ("dropped", "unconfirmed")


async def test_a_page_in_doubt_that_has_come_is_delivered_and_resolved(world: World) -> None:
    world.pager.fail_next(EventFault.DROP_AFTER_STORING)
    asked = await world.ask(**PAGING)
    await world.answer(asked, "approve")
    await world.advance(minutes=10)

    assert [incident.status for incident in world.pager.incidents] == [IncidentStatus.RESOLVED]
    [delivery] = await deliveries(world, asked)
    assert delivery["status"] == "delivered"


async def test_a_page_in_doubt_is_resolved_where_nobody_can_say_whether_it_came(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with running(tmp_path, sqlite_url, pagerduty__api_token=None) as world:
        world.pager.fail_next(EventFault.DROP_AFTER_STORING)
        asked = await world.ask(**PAGING)
        await world.answer(asked, "approve")
        await world.advance(minutes=10)

        assert [incident.status for incident in world.pager.incidents] == [IncidentStatus.RESOLVED]
        [delivery] = await deliveries(world, asked)
        assert (delivery["status"], delivery["reason"]) == ("dropped", "unconfirmed")


async def test_a_page_that_was_never_taken_lets_no_veto_window_go_ahead(world: World) -> None:
    veto = {"kind": "veto", "timeout_seconds": 3600}
    world.pager.fail_next(*[EventFault.DROP_BEFORE_STORING] * 20)
    asked = await world.ask(**PAGING, **veto)
    await world.advance(hours=2)

    assert (await world.told(asked))["data"]["error"] == "notice_undelivered"


@pytest.mark.kills
async def test_worker_dies_while_sending_the_same_key_is_sent_again(tmp_path: Path, sqlite_url: str) -> None:
    pager = PagerDutySandbox({"default": ROUTING_KEY})
    async with serving(pager.app) as url:
        section = {"pagerduty": {"routing_key": ROUTING_KEY, "events_url": url}}
        settings = config(sqlite_url, section) | {"work": {"beat_seconds": 1, "silent_seconds": 3}}
        settings["suspension"] = {}
        async with service_process(tmp_path, settings) as service, httpx.AsyncClient(timeout=30) as http:
            await service.start()
            pager.fail_next(EventFault.SLOW)
            body = {"question": "Go on?", "response_type": "confirm", **PAGING}
            asking = {"json": body, "headers": {"X-API-Key": KEYS["agent"]}}
            assert (await http.post(f"{service.url}/v1/suspensions", **asking)).status_code == 201  # type: ignore[arg-type]
            incident = await pager.expect_incident("Go on?")
            await service.kill()
            await service.start()
            await pager.account.until(lambda: incident if len(incident.log) > 1 else None, within=90)
            await service.terminate()
        await pager.close()
    assert len(pager.incidents) == 1
    assert len(pager.pages) <= 1


async def test_permanent_the_ladder_advances_now_and_the_timer_is_unchanged(tmp_path: Path, sqlite_url: str) -> None:
    other = {"pagerduty__routing_key": "X" * 32, "alerts": {"notify": [f"email:{OPS}"]}}
    async with running(tmp_path, sqlite_url, **other) as world:
        asked = await world.ask(**PAGING, retry_policy=LADDER)
        now = await world.show(asked)

        assert len(world.mailbox.of("alice@example.com")) == 1
        assert now["attempt"] == 2
        assert now["expires_at"] == asked["expires_at"]


async def test_attempts_exhausted_at_the_last_rung_alarms_the_operators(tmp_path: Path, sqlite_url: str) -> None:
    other = {"pagerduty__routing_key": "X" * 32, "alerts": {"notify": [f"email:{OPS}"]}}
    async with running(tmp_path, sqlite_url, **other) as world:
        asked = await world.ask(**PAGING)

        assert f"[{asked['ref']}] nobody could be reached" in told(world)


# --- PagerDuty ----------------------------------------------------------------------------------------------------


async def test_202_is_sent(watched: World) -> None:
    asked = await watched.ask(**PAGING)

    [delivery] = await deliveries(watched, asked)
    assert (delivery["status"], delivery["tries"], delivery["reason"]) == ("delivered", 1, None)
    assert delivery["receipt"]["service"] == "default"


async def test_202_and_no_triggered_webhook_in_five_minutes_warns_once(watched: World) -> None:
    watched.pager.fail_next(EventFault.LOST, EventFault.LOST)
    await watched.ask(**PAGING)
    await watched.ask("Another?", **PAGING)
    await watched.advance(minutes=4)
    assert told(watched) == []

    await watched.advance(minutes=2)
    assert told(watched) == ["pagerduty accepted a notice, and nothing came of it"]
    await watched.advance(minutes=30)
    assert len(told(watched)) == 1


async def test_202_and_the_triggered_webhook_warns_nobody(watched: World) -> None:
    await watched.ask(**PAGING)
    await watched.pager.webhooks.answered()
    await watched.advance(minutes=10)

    assert told(watched) == []


async def test_400_is_permanent_alarms_and_the_next_rung_is_due_now(tmp_path: Path, sqlite_url: str) -> None:
    other = {"pagerduty__routing_key": "X" * 32, "alerts": {"notify": [f"email:{OPS}"]}}
    async with running(tmp_path, sqlite_url, **other) as world:
        asked = await world.ask(**PAGING, retry_policy=LADDER)

        [first] = [one for one in await deliveries(world, asked) if one["channel"] == "pagerduty"]
        assert (first["status"], first["reason"], first["tries"]) == ("refused", "http_400", 1)
        assert "Notices by pagerduty are refused (http_400)" in told(world)
        assert len(world.mailbox.of("alice@example.com")) == 1
        await world.advance(hours=1)
        assert world.pager.tries == 1


@pytest.mark.parametrize(
    "fault",
    [EventFault.RATE_LIMITED, EventFault.SERVER_ERROR, EventFault.DROP_BEFORE_STORING, EventFault.DROP_AFTER_STORING],
)
async def test_429_5xx_or_network_is_tried_again_after_30_s_1_2_and_5_min_with_the_same_dedup_key(
    world: World, fault: EventFault
) -> None:
    world.pager.retry_after_seconds = None
    world.pager.fail_next(fault, fault, fault, fault, fault)
    asked = await world.ask(**PAGING, retry_policy=LADDER)

    tries = []
    for seconds in (29, 1, 59, 1, 119, 1, 299, 1, 299, 1):
        await world.advance(seconds=seconds)
        tries.append(world.pager.tries)

    assert tries == [1, 2, 2, 3, 3, 4, 4, 5, 5, 6]
    assert {event["dedup_key"].rpartition(":")[2] for event in world.pager.events} == {asked["ref"]}
    assert len(world.pager.incidents) == 1
    assert len(world.pager.pages) == 1


async def test_429_waits_as_long_as_pagerduty_wants(world: World) -> None:
    world.pager.retry_after_seconds = 90
    world.pager.fail_next(EventFault.RATE_LIMITED)
    await world.ask(**PAGING)
    await world.advance(seconds=89)
    assert world.pager.tries == 1

    await world.advance(seconds=1)
    assert len(world.pager.incidents) == 1


async def test_nobody_there_is_tried_again_and_pages_once_somebody_is(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, pagerduty__events_url=nobody_there()) as world:
        asked = await world.ask(**PAGING)
        await world.advance(minutes=4)

        [delivery] = await deliveries(world, asked)
        assert (delivery["status"], delivery["tries"], delivery["reason"]) == ("pending", 4, "connect_failed")


async def test_resolve_lost_is_tried_again_until_it_is_taken(world: World) -> None:
    asked = await world.ask(**PAGING)
    world.pager.retry_after_seconds = None
    world.pager.fail_next(*[EventFault.SERVER_ERROR] * 15)
    assert (await world.answer(asked, "approve")).status_code == 200
    await world.settle()
    await world.advance(hours=1)
    assert world.pager.incidents[0].is_open

    await world.advance(hours=2)
    assert world.pager.incidents[0].status is IncidentStatus.RESOLVED


async def test_resolve_lost_after_its_202_the_nightly_sweep_resolves_again(any_world: World) -> None:
    world = any_world
    asked = await world.ask(**PAGING)
    other = await world.ask("Still open?", **PAGING)
    world.pager.fail_next(EventFault.LOST)
    await world.answer(asked, "approve")
    await world.settle()
    assert all(one.is_open for one in world.pager.incidents)

    await sweep(world)

    [swept, waiting] = world.pager.incidents
    assert (swept.status, waiting.is_open) == (IncidentStatus.RESOLVED, True)
    assert other["ref"] in waiting.title
    assert len([note for note in swept.notes if "Answered" in note.content]) == 1


async def test_without_a_token_the_sweep_resolves_what_has_ended_lately_once_more(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with running(tmp_path, sqlite_url, pagerduty__api_token=None, pagerduty__webhook_secrets=["s"]) as world:
        asked = await world.ask(**PAGING)
        waiting = await world.ask("Still open?", **PAGING)
        world.pager.fail_next(EventFault.LOST)
        await world.answer(asked, "approve")
        await world.settle()

        await sweep(world)
        assert [one.is_open for one in world.pager.incidents] == [False, True]
        tries = world.pager.tries
        await sweep(world)
        assert world.pager.tries == tries
        assert (await world.show(waiting))["resolution"] is None


async def test_the_sweep_asks_again_another_night_where_pagerduty_did_not_say(world: World) -> None:
    """It then does what it can without asking."""
    asked = await world.ask(**PAGING)
    world.pager.fail_next(EventFault.LOST)
    await world.answer(asked, "approve")
    await world.settle()
    world.pager.rest.down_with = 503

    await sweep(world)

    assert not world.pager.incidents[0].is_open


async def sweep(world: World) -> None:
    """Let a night pass."""
    await world.advance(hours=24)
    await world.service.sweeping.finished()
    await world.settle()
