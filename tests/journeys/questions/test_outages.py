"""After an outage of ours the remaining times move by it (API.md §3): nobody loses time in which we were away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from core.engine import outages as catching_up
from core.store import event_log
from tests.clock import ManualClock
from tests.patience import PATIENCE
from tests.world import World, after, running

MOVED = "intent.suspension_rescheduled"
ASKED_AGAIN = "intent.suspension_renotified"
EVERYTHING: dict[str, Any] = {"intent_id": None, "agent": None, "limit": 100}
HOURLY: dict[str, Any] = {"max_attempts": 3, "interval_seconds": 3600}


class Town:
    """One database, on which the service runs, is away, and runs again."""

    def __init__(self, folder: Path, database_url: str, **settings: Any) -> None:
        self.clock = ManualClock()
        self.folder, self.url, self._settings = folder, database_url, settings

    @asynccontextmanager
    async def open(self, *, away: timedelta = timedelta(0)) -> AsyncIterator[World]:
        self.clock.move_by(away)
        async with running(self.folder, self.url, self.clock, **self._settings) as world:
            await world.settle()
            yield world


@pytest.fixture
def town(tmp_path: Path, database_url: str) -> Town:
    return Town(tmp_path, database_url)


async def times(world: World, asked: dict[str, Any]) -> tuple[Any, Any]:
    shown = await world.show(asked)
    return shown["next_attempt_at"], shown["expires_at"]


async def test_all_remaining_times_move_by_the_outage_and_one_event_says_so(town: Town) -> None:
    async with town.open() as world:
        asked = await world.ask(retry_policy=HOURLY)
        await world.advance(minutes=10)
    async with town.open(away=timedelta(hours=5)) as world:
        assert await times(world, asked) == (after(asked, hours=6), after(asked, hours=8))
        [moved] = [event for event in await world.events(asked) if event["event_type"] == MOVED]
        assert moved["payload"] == {
            "suspension_id": asked["suspension_id"],
            "reason": "outage",
            "shift_seconds": 5 * 3600,
            "previous_expires_at": after(asked, hours=3),
            "expires_at": after(asked, hours=8),
            "next_attempt_at": after(asked, hours=6),
        }
        await world.advance(minutes=49)
        assert world.slack.workspace.posted() == []
        await world.advance(minutes=1)
        assert len(world.slack.workspace.posted()) == 1
        await world.advance(hours=1, minutes=59)
        assert (await world.show(asked))["status"] == "open"
        await world.advance(minutes=1)
        assert (await world.show(asked))["status"] == "expired"


async def test_a_deadline_moves_with_all_else(town: Town) -> None:
    async with town.open() as world:
        asked = await world.ask(deadline_seconds=9000, timeout_seconds=3600, retry_policy={"max_attempts": 3})
        assert asked["expires_at"] == after(asked, hours=2, minutes=30)
        await world.advance(minutes=10)
    async with town.open(away=timedelta(hours=5)) as world:
        assert await times(world, asked) == (after(asked, hours=6), after(asked, hours=7, minutes=30))
        await world.advance(hours=2, minutes=19)
        assert (await world.show(asked))["status"] == "open"
        await world.advance(minutes=1)
        assert (await world.show(asked))["status"] == "expired"


async def test_a_question_whose_end_passed_while_we_were_away_can_still_be_answered(town: Town) -> None:
    async with town.open() as world:
        asked = await world.ask(timeout_seconds=3600)
        await world.advance(minutes=30)
    town.clock.move_by(timedelta(hours=2))
    async with running(town.folder, town.url, town.clock) as world:  # nothing has been looked at
        assert (await world.answer(asked, "approve")).status_code == 200
        assert MOVED in await world.event_types(asked)


async def test_the_moved_deadline_is_what_people_are_shown(town: Town) -> None:
    policy = {**HOURLY, "escalation_ladder": [{"attempt": 2, "channel_hint": "email", "notify_to": "bob@example.com"}]}
    async with town.open() as world:
        asked = await world.ask(retry_policy=policy)
    async with town.open(away=timedelta(hours=5)) as world:
        await world.advance(hours=1)
        mail = await world.mailbox.expect(to="bob@example.com")
        assert "2026-03-24 18:00 UTC" in mail.text
        assert "2026-03-24 13:00 UTC" not in mail.text
        assert (await times(world, asked))[1] == after(asked, hours=8)


async def test_an_absence_within_the_grace_moves_nothing(town: Town) -> None:
    async with town.open() as world:
        asked = await world.ask(retry_policy=HOURLY)
    async with town.open(away=timedelta(seconds=60)) as world:
        assert await times(world, asked) == (after(asked, hours=1), after(asked, hours=3))
        assert MOVED not in await world.event_types(asked)


async def test_the_grace_can_be_set(tmp_path: Path, sqlite_url: str) -> None:
    town = Town(tmp_path, sqlite_url, suspension={"default_channel": "slack", "catch_up_grace_seconds": 7200})
    async with town.open() as world:
        asked = await world.ask(retry_policy={**HOURLY, "max_attempts": 5})
    async with town.open(away=timedelta(seconds=7200)) as world:
        assert MOVED not in await world.event_types(asked)
    async with town.open(away=timedelta(seconds=7201)) as world:
        assert MOVED in await world.event_types(asked)


@pytest.mark.slow
async def test_each_outage_counts_and_no_restart_counts_one_again(town: Town) -> None:
    async with town.open() as world:
        asked = await world.ask(retry_policy=HOURLY)
    for _ in range(3):
        async with town.open(away=timedelta(minutes=20)):
            pass
        async with town.open():
            pass
    async with town.open() as world:
        assert (await world.event_types(asked)).count(MOVED) == 3
        assert await times(world, asked) == (after(asked, hours=2), after(asked, hours=4))


async def test_with_burst_the_times_stay_and_what_is_overdue_goes_out_in_order(tmp_path: Path, sqlite_url: str) -> None:
    town = Town(tmp_path, sqlite_url, suspension={"default_channel": "slack", "catch_up": "burst"})
    async with town.open() as world:
        asked = await world.ask(retry_policy={**HOURLY, "max_attempts": 4})
        ended = await world.ask("Too late?", timeout_seconds=3600)
    async with town.open(away=timedelta(hours=2, minutes=30)) as world:
        told = [event["payload"] for event in await world.events(asked) if event["event_type"].endswith("renotified")]
        assert [payload["attempt"] for payload in told] == [2, 3]
        assert await times(world, asked) == (after(asked, hours=3), after(asked, hours=4))
        assert (await world.show(ended))["status"] == "expired"
        assert MOVED not in await world.event_types(asked)


async def test_a_question_without_times_is_left_as_it_is(town: Town) -> None:
    async with town.open() as world:
        asked = await world.ask()
        before = await world.show(asked)
    async with town.open(away=timedelta(days=3)) as world:
        assert await world.show(asked) == before
        assert MOVED not in await world.event_types(asked)


async def test_a_claim_lasts_as_long_as_was_said_our_absence_not_counted(town: Town) -> None:
    async with town.open() as world:
        asked = await world.ask(retry_policy=HOURLY)
        await world.advance(minutes=50)
        path = f"/v1/suspensions/{asked['suspension_id']}/claim"
        assert (await world.call("POST", path, "operator", json={"seconds": 1800})).status_code == 200
    async with town.open(away=timedelta(hours=4)) as world:
        shown = await world.show(asked)
        assert (shown["claimed_by"], shown["claim_until"]) == ("alice@example.com", after(asked, hours=5, minutes=20))
        await world.advance(minutes=29)
        assert world.slack.workspace.posted() == []
        await world.advance(minutes=1)
        assert len(world.slack.workspace.posted()) == 1
        [told] = [event["payload"] for event in await world.events(asked) if event["event_type"].endswith("renotified")]
        assert told["attempt"] == 2


async def test_an_ended_question_hears_of_no_outage(town: Town) -> None:
    async with town.open() as world:
        asked = await world.ask(retry_policy=HOURLY)
        await world.answer(asked, "approve")
        before = await world.show(asked)
    async with town.open(away=timedelta(days=3)) as world:
        assert await world.show(asked) == before


async def test_a_question_asked_after_an_outage_has_nothing_to_do_with_it(town: Town) -> None:
    async with town.open():
        pass
    async with town.open(away=timedelta(hours=5)) as world:
        asked = await world.ask(retry_policy=HOURLY)
        await world.advance(minutes=5)
    async with town.open() as world:
        assert await times(world, asked) == (after(asked, hours=1), after(asked, hours=3))


async def test_more_questions_than_fit_one_batch_all_move_once(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catching_up, "AT_ONCE", 4)
    many = 10
    async with town.open() as world:
        asked = [await world.ask(f"Question {n}?", retry_policy=HOURLY, channel_hint="email") for n in range(many)]
    async with town.open(away=timedelta(hours=5)) as world:
        for one in asked:
            assert (await world.event_types(one)).count(MOVED) == 1
            assert (await times(world, one))[1] == after(one, hours=8)


async def test_plain_and_other_questions_move_together_and_their_logs_hold(town: Town) -> None:
    async with town.open() as world:
        plain = [await world.ask(f"Question {n}?", retry_policy=HOURLY, channel_hint="email") for n in range(9)]
        claimed = await world.ask(retry_policy=HOURLY)
        bounded = await world.ask(deadline_seconds=9000, timeout_seconds=3600, retry_policy={"max_attempts": 3})
        path = f"/v1/suspensions/{claimed['suspension_id']}/claim"
        await world.call("POST", path, "operator", json={"seconds": 1800})
    async with town.open(away=timedelta(hours=5)) as world:
        for one in plain:
            [moved] = [event for event in await world.events(one) if event["event_type"] == MOVED]
            assert moved["payload"] == {
                "suspension_id": one["suspension_id"],
                "reason": "outage",
                "shift_seconds": 5 * 3600,
                "previous_expires_at": after(one, hours=3),
                "expires_at": after(one, hours=8),
                "next_attempt_at": after(one, hours=6),
            }
            assert await times(world, one) == (after(one, hours=6), after(one, hours=8))
        assert (await world.show(claimed))["claim_until"] == after(claimed, hours=5, minutes=30)
        assert (await times(world, bounded))[1] == after(bounded, hours=7, minutes=30)
        assert (await world.call("GET", "/v1/audit/verify", "admin")).json()["first_broken"] is None


async def test_a_question_that_somebody_holds_moves_once_it_is_free(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others do not wait for it."""
    monkeypatch.setattr(catching_up, "AT_ONCE", 2)
    town = Town(tmp_path, postgres_url)
    async with town.open() as world:
        held, *others = [await world.ask(retry_policy=HOURLY, channel_hint="email") for _ in range(5)]
    elsewhere = sa.create_engine(postgres_url)
    with elsewhere.connect() as conn:
        conn.execute(sa.text("SELECT id FROM intents WHERE id = :id FOR UPDATE"), {"id": held["intent_id"]})
        town.clock.move_by(timedelta(minutes=30))
        async with running(tmp_path, postgres_url, town.clock) as world:
            await all_moved(world, others)
            assert MOVED not in await world.event_types(held)
            conn.rollback()
            await all_moved(world, [held])
            assert [(await world.event_types(one)).count(MOVED) for one in (held, *others)] == [1] * 5
    elsewhere.dispose()


async def test_what_will_be_due_soonest_moves_first_and_is_asked_before_the_rest_moves(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catching_up, "AT_ONCE", 1)
    async with town.open() as world:
        policies = [{**HOURLY, "interval_seconds": hours * 3600} for hours in (24, 1, 3, 2)]
        daily, due, later, sooner = [await world.ask(retry_policy=policy) for policy in policies]
        town.clock.move_by(timedelta(hours=1))  # it was about to be asked again as we went away
    town.clock.move_by(timedelta(hours=5))
    async with running(town.folder, town.url, town.clock) as world:
        await all_moved(world, [daily, due, later, sooner])
        lines = await world.service.database.read(lambda conn: event_log.after(conn, (0, 0), **EVERYTHING).lines)
    came = [(line.intent_id, line.type) for line in lines if line.type in {MOVED, ASKED_AGAIN}]
    order = [(due, MOVED), (due, ASKED_AGAIN), (sooner, MOVED), (later, MOVED), (daily, MOVED)]
    assert came == [(asked["intent_id"], event) for asked, event in order]


async def all_moved(world: World, asked: Sequence[dict[str, Any]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not all([MOVED in await world.event_types(one) for one in asked]):
            await asyncio.sleep(0.01)


async def test_a_question_that_is_due_by_its_old_times_moves_and_asks_nobody(town: Town) -> None:
    async with town.open() as world:
        asked = [await world.ask(retry_policy=HOURLY, channel_hint="email") for _ in range(3)]
        await world.advance(minutes=59)
    async with town.open(away=timedelta(minutes=30)) as world:
        for one in asked:
            assert (await world.event_types(one)).count(MOVED) == 1
            assert (await world.show(one))["attempt"] == 1
        await world.advance(minutes=2)
        assert {(await world.show(one))["attempt"] for one in asked} == {2}
