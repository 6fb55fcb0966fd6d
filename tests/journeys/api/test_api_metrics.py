"""``GET /metrics``: what happened, counted once and after the commit (HOUSE.md, "Logs and metrics")."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from bot.web.monitoring import Monitored
from core.engine.opening import Opening
from tests.world import World, running

Samples = dict[tuple[str, ...], float]


async def scrape(world: World) -> Samples:
    """``(name, label value, …)`` → value, a second after whatever was scraped before."""
    await world.advance(seconds=1)
    response = await world.call("GET", "/metrics", None)
    assert response.status_code == 200
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


def changed(before: Samples, after: Samples) -> Samples:
    """What has grown, but for the buckets and lags of histograms."""
    return {
        key: value - before[key]
        for key, value in after.items()
        if value != before[key] and key[0].endswith(("_total", "_open", "_answer_seconds_count", "_answer_seconds_sum"))
    }


async def test_metrics_take_no_key_and_are_prometheus_text(world: World) -> None:
    response = await world.call("GET", "/metrics", None)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain; version=")
    assert "suspensions_open 0.0" in response.text


async def test_a_process_says_how_it_stands(world: World) -> None:
    found = await scrape(world)
    assert (found["service_ready",], found["database_connected",]) == (1, 1)
    assert found["database_disk_free_bytes",] > 0
    standing = (await world.call("GET", "/readyz", None)).json()
    ways = {way for way in ("slack", "mail_listener", "mail_poller") if way in standing}
    assert {key[1] for key in found if key[0] == "inbound_connected"} == ways


async def test_of_several_processes_only_the_one_that_hears_counts(world: World) -> None:
    standing = {"slack": "connected", "mail_listener": "listening", "mail_poller": "standby"}
    service = world.service
    monitored = Monitored(
        service.scrape, service.health, service.services.running.pausing, lambda: standing, lambda: False
    )
    text = (await monitored.take())[0].decode()
    assert 'inbound_connected{way="slack"} 1.0' in text
    assert 'inbound_connected{way="mail_listener"} 1.0' in text
    assert 'inbound_connected{way="mail_poller"} 0.0' in text
    assert "service_ready 0.0" in text


async def test_one_story_is_counted_as_it_was(any_world: World) -> None:
    world = any_world
    before = await scrape(world)
    ladder = [{"attempt": 2, "channel_hint": "email", "notify_to": "alice@example.com"}]
    policy = {"max_attempts": 3, "interval_seconds": 3600, "escalation_ladder": ladder}
    asked = await world.ask(responders=["alice@example.com"], retry_policy=policy)
    waiting = await scrape(world)
    assert changed(before, waiting) == {
        ("suspensions_open",): 1,
        ("suspension_attempts_total", "slack"): 1,
        ("relay_tries_total", "slack", "delivered"): 1,
    }
    await world.advance(hours=1)
    reminded = await scrape(world)
    assert changed(waiting, reminded) == {
        ("suspension_attempts_total", "email"): 1,
        ("relay_tries_total", "email", "delivered"): 1,
    }
    await world.answer(asked, "approve")
    await world.settle()
    since = changed(reminded, await scrape(world))
    assert since.pop(("relay_tries_total", "slack", "delivered")) in {1, 2}  # again, if it was before the callback
    assert since == {
        ("suspensions_open",): -1,
        ("suspension_resolutions_total", "responded"): 1,
        ("suspension_answer_seconds_count",): 1,
        ("suspension_answer_seconds_sum",): 3602,
        ("relay_tries_total", "agents", "delivered"): 1,
    }


async def test_questions_that_end_otherwise_have_no_answer_time(world: World) -> None:
    before = await scrape(world)
    await world.ask(timeout_seconds=60)
    cancelled = await world.ask()
    await world.call("POST", f"/v1/suspensions/{cancelled['suspension_id']}/cancel", json={})
    await world.advance(minutes=2)
    told = changed(before, await scrape(world))
    assert told["suspension_resolutions_total", "expired"] == 1
    assert told["suspension_resolutions_total", "cancelled"] == 1
    assert ("suspensions_open",) not in told
    assert ("suspension_answer_seconds_count",) not in told


async def test_what_was_refused_or_came_too_late_counts_nothing(world: World) -> None:
    asked = await world.ask()
    await world.answer(asked, "approve")
    await world.settle()
    before = await scrape(world)
    assert (await world.call("POST", "/v1/suspensions", json={"question": "Deploy?"})).status_code == 422
    assert (await world.answer(asked, "deny", "second_operator")).status_code == 409
    again = {"question": "Deploy?", "response_type": "confirm"}
    assert (await world.call("POST", f"/v1/intents/{asked['intent_id']}x/suspend", json=again)).status_code == 404
    assert changed(before, await scrape(world)) == {}


async def test_what_was_rolled_back_counts_nothing(world: World, monkeypatch: Any) -> None:
    """The transition is whole, and its transaction fails after it."""
    before = await scrape(world)
    body = {"question": "Deploy?", "response_type": "confirm"}
    opened = Opening.open

    def open_and_fail(*given: Any) -> None:
        opened(*given)
        raise httpx.HTTPError("the power is cut")

    monkeypatch.setattr(Opening, "open", open_and_fail)
    assert (await world.call("POST", "/v1/suspensions", json=body)).status_code == 500
    await world.settle()
    assert changed(before, await scrape(world)) == {}


async def test_tries_that_fail_are_told_apart(world: World) -> None:
    before = await scrape(world)
    world.agent.answers += [500, 410]
    await world.answer(await world.ask(), "approve")
    await world.advance(seconds=10)
    told = changed(before, await scrape(world))
    assert told["relay_tries_total", "agents", "deferred"] == 1
    assert told["relay_tries_total", "agents", "refused"] == 1


async def test_a_callback_that_is_given_up_is_counted_as_dead(tmp_path: Path, sqlite_url: str) -> None:
    retry = {"base_delay_ms": 1000, "give_up_after_seconds": 10}
    async with running(tmp_path, sqlite_url, resume__retry=retry) as world:
        before = await scrape(world)
        world.agent.answers += [500] * 20
        await world.answer(await world.ask(), "approve")
        await world.advance(minutes=1)
        assert changed(before, await scrape(world))["callbacks_dead_total",] == 1


async def test_lags_say_how_late_questions_and_messages_were(world: World) -> None:
    before = await scrape(world)
    await world.ask(retry_policy={"max_attempts": 2, "interval_seconds": 3600})
    world.clock.move_by(timedelta(hours=1, seconds=20))  # nobody looks for twenty seconds too long
    await world.settle()
    after = await scrape(world)
    assert after["work_lag_seconds_count",] - before["work_lag_seconds_count",] == 1
    assert after["work_lag_seconds_sum",] - before["work_lag_seconds_sum",] == 20
    assert after["relay_lag_seconds_count",] - before["relay_lag_seconds_count",] == 2
    assert after["relay_lag_seconds_sum",] == before["relay_lag_seconds_sum",]  # a notice is due when it is written


async def test_the_open_questions_are_counted_in_the_database_and_survive_a_restart(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with running(tmp_path, sqlite_url) as world:
        await world.ask()
        await world.ask()
    async with running(tmp_path, sqlite_url) as world:
        assert (await scrape(world))["suspensions_open",] == 2


async def test_a_count_stands_for_a_second_however_often_it_is_asked_for(world: World) -> None:
    async def shown() -> str:
        text = (await world.call("GET", "/metrics", None)).text
        return next(line for line in text.splitlines() if line.startswith("suspensions_open "))

    assert await shown() == "suspensions_open 0.0"
    await world.ask()
    assert await shown() == "suspensions_open 0.0"
    await world.advance(seconds=1)
    assert await shown() == "suspensions_open 1.0"


async def test_metrics_go_on_while_the_database_is_away(world: World) -> None:
    await world.ask()
    await world.advance(seconds=2)
    with world.service.database.engine.begin() as conn:
        conn.exec_driver_sql("ALTER TABLE suspensions RENAME TO away")
    response = await world.call("GET", "/metrics", None)
    with world.service.database.engine.begin() as conn:
        conn.exec_driver_sql("ALTER TABLE away RENAME TO suspensions")
    assert response.status_code == 200
    assert "suspensions_open NaN" in response.text
    assert 'suspension_attempts_total{channel="slack"} 1.0' in response.text


async def test_metrics_hold_no_ids_and_nothing_that_anybody_wrote(world: World) -> None:
    asked = await world.ask("Refund order 12345?", resume={"session_id": "sess-hunter2"})
    await world.answer(asked, "approve")
    await world.advance(seconds=2)
    text = (await world.call("GET", "/metrics", None)).text
    for secret in ("12345", "hunter2", asked["suspension_id"], asked["ref"], "alice", "refund-agent", "approve"):
        assert secret not in text


async def test_what_comes_in_after_the_end_counts_no_ending_again(world: World) -> None:
    asked = await world.ask(channel_hint="email", notify_to="alice@example.com")
    mail = await world.mailbox.expect(to="alice@example.com")
    await world.answer(asked, "approve")
    await world.mailbox.reply(mail, "2")
    await world.settle()
    assert (await world.event_types(asked))[-1] == "intent.suspension_message_received"
    assert (await scrape(world))["suspension_resolutions_total", "responded"] == 1
