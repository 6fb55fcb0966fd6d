"""RFC-0026 §7: asking a person again, beside an agent's retry (RFC-0010)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.conformance.rfc_0010.failing import fail, intent_with, logged
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_one_look_finds_what_is_due_for_people_and_for_agents(room: World) -> None:
    """ "The server SHOULD use the same scheduled-job infrastructure for both"."""
    asked = await room.ask(timeout_seconds=600, retry_policy={"max_attempts": 2})
    intent = await intent_with(room, strategy="fixed", base_delay_ms=600_000, max_delay_ms=600_000)
    await fail(room, intent, retry_scheduled_at=(room.clock.now() + timedelta(minutes=10)).isoformat())
    room.clock.move_by(timedelta(minutes=10))
    await room.service.look()
    assert (await room.show(asked))["attempt"] == 2
    assert len(await logged(room, intent, "intent.retry_due")) == 1
