"""RFC-0010, ``failure_threshold``: enough unresolved failures in a row, and the fallback agent takes over."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.rfc_0010.failing import BACKUP, fail, intent_with, logged
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATIENT: dict[str, Any] = {"strategy": "fixed", "max_retries": 9, "failure_threshold": 3}


async def test_at_the_threshold_it_takes_over_though_retries_are_left(room: World) -> None:
    intent = await intent_with(room, **PATIENT, fallback_agent_id=BACKUP)
    recorded = [await fail(room, intent, attempt_number=1) for _ in range(3)]
    assert [one["fallback_agent_id"] for one in recorded] == [None, None, BACKUP]
    assert [one["retry_scheduled_at"] is None for one in recorded] == [False, False, True]
    [taken] = await logged(room, intent, "fallback_triggered")
    assert taken["reason"] == "failure_threshold"
    assert [one["exhausted"] for one in await logged(room, intent, "failure_recorded")] == [False, False, False]


async def test_a_resolved_failure_is_not_in_the_row(room: World) -> None:
    intent = await intent_with(room, **PATIENT, fallback_agent_id=BACKUP)
    for _ in range(4):
        await fail(room, intent)
        failure = await fail(room, intent)
        assert failure["fallback_agent_id"] is None
        await room.advance(seconds=0.5)
        await room.call("POST", f"/v1/intents/{intent['id']}/failures/{failure['id']}/resolve")
    assert await logged(room, intent, "fallback_triggered") == []


async def test_another_agents_failures_are_a_row_of_their_own(room: World) -> None:
    intent = await intent_with(room, **PATIENT, fallback_agent_id="third-agent")
    await room.call("POST", f"/v1/intents/{intent['id']}/agents", json={"agent_id": "other-agent"})
    recorded = [await fail(room, intent, role) for role in ("agent", "other_agent", "agent", "other_agent")]
    assert [one["fallback_agent_id"] for one in recorded] == [None] * 4
    assert (await fail(room, intent))["fallback_agent_id"] == "third-agent"


async def test_without_a_fallback_agent_the_retries_go_on(room: World) -> None:
    intent = await intent_with(room, **PATIENT)
    recorded = [await fail(room, intent) for _ in range(5)]
    assert all(one["retry_scheduled_at"] for one in recorded)


async def test_without_a_threshold_it_takes_over_when_no_retry_is_left(room: World) -> None:
    intent = await intent_with(room, strategy="fixed", max_retries=5, fallback_agent_id=BACKUP)
    recorded = [await fail(room, intent) for _ in range(6)]
    assert [one["fallback_agent_id"] for one in recorded] == [None] * 5 + [BACKUP]
    assert [one["retry_scheduled_at"] is None for one in recorded] == [False] * 5 + [True]
