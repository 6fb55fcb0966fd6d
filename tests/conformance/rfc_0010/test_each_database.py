"""RFC-0010 on each database: one takeover for each exhaustion, and a retry that is due."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from tests.conformance.rfc_0010.failing import BACKUP, backup_receiver, fail, intent_with, logged, post_failure
from tests.world import World


async def test_failures_at_the_same_time_trigger_it_once(any_world: World) -> None:
    async with backup_receiver() as backup:
        await any_world.call("PUT", f"/v1/agents/{BACKUP}/callback", "other_agent", json={"url": backup.url})
        intent = await intent_with(any_world, strategy="fixed", max_retries=0, fallback_agent_id=BACKUP)
        done = await asyncio.gather(*(post_failure(any_world, intent) for _ in range(8)))
        assert [one.status_code for one in done] == [200] * 8
        assert [one.json()["fallback_agent_id"] for one in done].count(BACKUP) == 1
        assert len(await logged(any_world, intent, "fallback_triggered")) == 1
        await any_world.settle()
        assert len(backup.told) == 1


async def test_a_retry_whose_time_has_passed_is_due_at_once(any_world: World) -> None:
    world = any_world
    intent = await intent_with(world, strategy="fixed")
    past = (world.clock.now() - timedelta(days=1)).isoformat()
    await fail(world, intent, retry_scheduled_at=past)
    await world.settle()
    assert len(await logged(world, intent, "intent.retry_due")) == 1
