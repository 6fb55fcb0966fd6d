"""RFC-0025 §12: who asks nobody notices nothing, and who gives no retry policy notices nothing of RFC-0026."""

from __future__ import annotations

import pytest

from tests.world import World, after

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_an_intent_that_was_never_suspended_shows_nothing_of_it(room: World) -> None:
    intent = await room.active_intent()
    shown = await room.intent({"intent_id": intent["id"]})
    assert (shown["status"], shown["state"], shown["version"]) == ("active", {}, intent["version"])
    assert await room.event_types({"intent_id": intent["id"]}) == ["intent_created"]


async def test_without_a_retry_policy_nothing_of_rfc_0026_is_in_the_record(room: World) -> None:
    fallback = {"fallback_policy": "complete_with_fallback", "fallback_value": "deny"}
    asked = await room.ask(timeout_seconds=60, **fallback)
    record = asked["suspension"]
    assert (record["retry_policy"], record["fallback_policy"]) == (None, "complete_with_fallback")
    assert (record["max_attempts"], record["expires_at"]) == (1, after(asked, seconds=60))
    await room.advance(seconds=60)
    assert (await room.event_types(asked))[-2:] == ["intent.suspended", "intent.suspension_expired"]
    assert (await room.told(asked))["data"]["value"] == "deny"
