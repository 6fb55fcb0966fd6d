"""A worker that is frozen while it sends, is taken for dead, and comes back: its word no longer counts, and whatever it
has sent is withdrawn with the rest (DESIGN.md, "The outbox").
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bot.sandbox.slack.faults import WebApiFault
from bot.sandbox.slack.world import Message
from core.database.database import Tx
from core.store import outbox
from core.store.outbox import Row, RowKind, RowStatus
from tests.core.store_examples import take_due
from tests.vendors.slack import shown
from tests.vendors.slack_faults import SaysNo, Slow
from tests.world import CHANNEL, World

ANOTHER = "another-worker"
QUESTION = "Refund order 12345?"


@asynccontextmanager
async def frozen(world: World, **fields: Any) -> AsyncIterator[tuple[dict[str, Any], Row]]:
    """A question whose notice is in Slack, while the worker that sent it has not heard so; inside, another worker has
    the row, as of one that has gone. Afterwards the first one hears, and says what became of it."""
    held = Slow(seconds=60)
    world.slack.fail_next(held, "chat.postMessage")
    asking = asyncio.create_task(world.ask(QUESTION, **fields))
    await world.slack.expect_message(QUESTION)
    [row] = await world.service.database.write(lambda tx: _taken_over(tx, world))
    [shown_to] = (await world.call("GET", "/v1/suspensions", "admin")).json()["items"]
    yield {**shown_to, "suspension_id": shown_to["id"]}, row
    held.released.set()
    await asking
    await world.settle()


def _taken_over(tx: Tx, world: World) -> list[Row]:
    now = world.clock.now()
    outbox.void_leases(tx, owner=ANOTHER, now=now)
    return take_due(tx, "slack", now=now, limit=10, owner=ANOTHER, until=now)


async def settled(world: World, row: Row, status: RowStatus, receipt: dict[str, str] | None = None) -> None:
    """What the other worker says of it."""
    now = world.clock.now()
    job: Callable[[Tx], object] = lambda tx: outbox.settle(tx, row, status, now, ANOTHER, receipt=receipt)  # noqa: E731
    await world.service.database.write(job)


async def posted_again(world: World) -> dict[str, str]:
    """The other worker did not find the first message and has posted its own; returns its receipt."""
    response = await world.http.post(
        f"{world.service.settings.slack.api_url.rstrip('/')}/chat.postMessage",
        headers={"Authorization": f"Bearer {world.slack.workspace.bot_token}"},
        json={"channel": CHANNEL, "text": QUESTION},
    )
    return {"channel": CHANNEL, "ts": response.json()["ts"]}


def edited(message: Message) -> bool:
    return "approve" in shown(message).lower() and not any(block["type"] == "actions" for block in message.blocks)


async def deliveries(world: World, asked: dict[str, Any]) -> list[str]:
    items = await world.timeline(asked)
    return [item["status"] for item in items if item["kind"] == "delivery" and item["channel"] == "slack"]


async def test_a_message_that_two_workers_have_sent_is_withdrawn_twice(any_world: World) -> None:
    async with frozen(any_world) as (asked, row):
        await settled(any_world, row, RowStatus.DELIVERED, await posted_again(any_world))
    await any_world.answer(asked, "approve")
    await any_world.settle()
    messages = any_world.slack.workspace.messages
    assert [edited(message) for message in messages] == [True, True]


async def test_a_message_that_came_through_after_the_other_gave_up_is_withdrawn_at_the_end(any_world: World) -> None:
    async with frozen(any_world) as (asked, row):
        await settled(any_world, row, RowStatus.REFUSED)
    await any_world.answer(asked, "approve")
    await any_world.settle()
    assert [edited(message) for message in any_world.slack.workspace.messages] == [True]


async def test_a_message_that_came_through_after_the_end_is_withdrawn_at_once(any_world: World) -> None:
    async with frozen(any_world) as (asked, row):
        await any_world.answer(asked, "approve")
        await settled(any_world, row, RowStatus.DROPPED)
    assert [edited(message) for message in any_world.slack.workspace.messages] == [True]


async def test_what_both_found_to_be_the_same_message_is_one_delivery(any_world: World) -> None:
    async with frozen(any_world) as (asked, row):
        [message] = any_world.slack.workspace.messages
        await settled(any_world, row, RowStatus.DELIVERED, {"channel": CHANNEL, "ts": message.ts})
    assert await deliveries(any_world, asked) == ["delivered"]


async def test_what_nobody_has_begun_with_again_is_delivered_and_not_sent_twice(any_world: World) -> None:
    async with frozen(any_world) as (asked, row):
        await any_world.service.database.write(lambda tx: outbox.give_back(tx, [row.id], ANOTHER))
    await any_world.advance(minutes=5)
    assert await deliveries(any_world, asked) == ["delivered"]
    assert len(any_world.slack.workspace.posted()) == 1


@pytest.mark.parametrize("fault", [SaysNo("channel_not_found"), SaysNo("ratelimited")], ids=["refused", "deferred"])
async def test_a_failure_that_comes_late_changes_nothing(any_world: World, fault: WebApiFault) -> None:
    """Neither is the next attempt due at once, nor is the message sent again."""
    asked = await any_world.ask(QUESTION, timeout_seconds=3600, retry_policy={"max_attempts": 2})
    [row] = await any_world.service.database.read(lambda conn: outbox.of_suspension(conn, asked["suspension_id"]))
    assert row.kind is RowKind.NOTIFY
    outcome = await _of_a_late_try(any_world, row, fault)
    assert outcome == row
    assert await any_world.event_types(asked) == ["intent.suspended"]
    assert len(any_world.slack.workspace.posted()) == 1


async def _of_a_late_try(world: World, row: Row, fault: WebApiFault) -> Row | None:
    """The frozen worker still has the row in its hands, though the other one's outcome stands."""
    world.slack.fail_next(fault, "chat.postMessage")
    world.service.lanes.hand_over([row])
    await world.settle()
    return await world.service.database.read(lambda conn: outbox.get(conn, row.id))
