"""RFC-0025 §11: who may answer through the endpoint, and what never leaves through a channel."""

from __future__ import annotations

import json

import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALL_CHANNELS = {
    "max_attempts": 3,
    "interval_seconds": 60,
    "escalation_ladder": [
        {"attempt": 2, "channel_hint": "email"},
        {"attempt": 3, "channel_hint": "pagerduty"},
    ],
}


async def test_a_key_that_may_ask_may_not_answer(room: World) -> None:
    asked = await room.ask()
    for role in ("agent", "other_agent"):
        response = await room.answer(asked, "approve", role)
        assert (response.status_code, response.json()["detail"]["error"]) == (403, "forbidden")
    assert (await room.show(asked))["status"] == "open"


async def test_the_suspension_id_is_in_no_message_to_anybody(room: World) -> None:
    asked = await room.ask("Does the id leave?", timeout_seconds=600, retry_policy=ALL_CHANNELS)
    await room.advance(seconds=150)
    slack = [str(message) for message in room.slack.workspace.messages]
    mails = [mail.raw.decode() + mail.text + mail.html for mail in room.mailbox.mails]
    pages = [json.dumps(event) for event in room.pager.events]
    assert all((slack, mails, pages))
    for sent in (*slack, *mails, *pages):
        assert asked["suspension_id"] not in sent
        assert asked["suspension_id"].replace("-", "") not in sent


async def test_the_public_reference_authorises_nothing(room: World) -> None:
    asked = await room.ask()
    response = await room.answer({**asked, "suspension_id": asked["ref"]}, "approve")
    assert (response.status_code, response.json()["detail"]["error"]) == (409, "suspension_mismatch")
    assert (await room.call("GET", f"/v1/suspensions/{asked['ref']}", "operator")).status_code == 404
