"""RFC-0010, "Error Codes": which of them another try may mend."""

from __future__ import annotations

import pytest

from tests.conformance.rfc_0010.failing import BACKUP, fail, intent_with, logged
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

TABLE = {
    "RATE_LIMIT": True,
    "TIMEOUT": True,
    "NETWORK_ERROR": True,
    "INVALID_OUTPUT": True,  # "Maybe"
    "BUDGET_EXCEEDED": False,
    "PERMISSION_DENIED": False,
    "CALLBACK_DEAD": False,  # API.md §5
    "CALLBACK_REFUSED": False,
    "ValueError": True,  # the RFC lists no such code
}


@pytest.mark.parametrize(("code", "retryable"), TABLE.items())
async def test_a_code_is_retryable_as_the_table_says(room: World, code: str, retryable: bool) -> None:
    intent = await intent_with(room, strategy="fixed", max_retries=9, fallback_agent_id=BACKUP)
    failure = await fail(room, intent, error_code=code, metadata={"retryable": not retryable})
    assert (failure["retry_scheduled_at"] is not None) is retryable
    assert failure["fallback_agent_id"] == (None if retryable else BACKUP)
    taken = await logged(room, intent, "fallback_triggered")
    assert [one["reason"] for one in taken] == ([] if retryable else ["not_retryable"])


async def test_no_code_is_one_that_may_be_mended(room: World) -> None:
    intent = await intent_with(room, strategy="fixed")
    assert (await fail(room, intent, error_code=None))["retry_scheduled_at"] is not None
