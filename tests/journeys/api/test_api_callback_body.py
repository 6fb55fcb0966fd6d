"""What the agent is told (API.md §5): the callback's body and signature for each way a question can end."""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
from typing import Any

import pytest
from handraise import verify_callback

from tests.world import KEYS, WEBHOOK_SECRET, World, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHOICES = [
    {"value": "approve", "label": "Approve refund", "description": "All of it"},
    {"value": "deny", "label": "Deny refund"},
]
RESUME: dict[str, Any] = {
    "session_id": "sess-1",
    "state": {"cart": 7, "deep": [None, {"a": 1.5}]},
    "invocation_id": "inv-1",
    "correlation_id": "corr-1",
    "signal_metadata": {"queue": "refunds"},
}
ACTION = {"tool": "stripe.refund", "amount": 49999}
DIGEST = "sha256:" + hashlib.sha256(b'{"amount":49999,"tool":"stripe.refund"}').hexdigest()
FALLBACK = {"timeout_seconds": 60, "fallback_policy": "complete_with_fallback", "fallback_value": "deny"}
VETO = {"kind": "veto", "timeout_seconds": 60, "choices": None}
_numbers = itertools.count(1)


async def ended(world: World, how: str, **fields: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A question that has ended in this way: its outcome, and the callback's whole body."""
    resume = {**RESUME, "signal_id": f"refund-{next(_numbers)}"}
    asked = await world.ask(**{"choices": CHOICES, "action": ACTION, "resume": resume, **fields})
    match how:
        case "answer":
            await world.answer(
                asked, (fields.get("kind") == "veto" and "veto") or "approve", metadata={"reason": "fine"}
            )
        case "time":
            await world.advance(seconds=60)
        case "cancel":
            await world.call("POST", f"/v1/suspensions/{asked['suspension_id']}/cancel", json={"reason": "over"})
    return asked, await world.told(asked)


def data(asked: dict[str, Any], **other: Any) -> dict[str, Any]:
    """The documented data: all that is the same however it ends, and ``other``."""
    return {
        "event": None,
        "intent_id": asked["intent_id"],
        "suspension_id": asked["suspension_id"],
        "session_id": "sess-1",
        "invocation_id": "inv-1",
        "correlation_id": "corr-1",
        "signal_id": asked["descriptor"]["signal_id"],
        "resolution": "expired",
        "value": None,
        "choice_label": None,
        "choice_description": None,
        "responded_by": None,
        "responded_at": None,
        "channel": None,
        "reason": None,
        "metadata": {},
        "error": None,
        "signal_payload": None,
        "state": RESUME["state"],
        "action_digest": DIGEST,
        "receipt": None,
        "suspended_at": asked["suspended_at"],
        "signal_metadata": {"queue": "refunds"},
        **other,
    }


async def test_an_answer_resumes_the_intent(room: World) -> None:
    asked, body = await ended(room, "answer")
    assert set(body) == {"type", "timestamp", "data"}
    assert (body["type"], body["timestamp"]) == ("intent.resumed", asked["suspended_at"])
    assert body["data"] == data(
        asked,
        resolution="responded",
        value="approve",
        choice_label="Approve refund",
        choice_description="All of it",
        responded_by="alice@example.com",
        responded_at=asked["suspended_at"],
        channel="api",
        reason="fine",
        metadata={"reason": "fine"},
        signal_payload={"response": "approve", "reason": "fine"},
        receipt=body["data"]["receipt"],
    )
    assert isinstance(body["data"]["receipt"], str)


async def test_a_fallback_resumes_the_intent_too(room: World) -> None:
    asked, body = await ended(room, "time", **FALLBACK)
    assert body["type"] == "intent.resumed"
    payload = {"response": "deny", "reason": None}
    assert body["data"] == data(asked, value="deny", choice_label="Deny refund", signal_payload=payload) | {
        name: body["data"][name] for name in ("choice_label", "receipt")
    }


async def test_a_failure_tells_that_time_ran_out(room: World) -> None:
    asked, body = await ended(room, "time", timeout_seconds=60)
    assert body["type"] == "intent.suspension_expired"
    assert body["data"] == data(asked, error="input_timeout")  # and no payload that nobody gave


async def test_a_cancellation_tells_its_reason(room: World) -> None:
    asked, body = await ended(room, "cancel")
    assert body["type"] == "intent.suspension_cancelled"
    assert body["data"] == data(asked, resolution="cancelled", reason="over")


async def test_a_veto_has_its_event_twice(room: World) -> None:
    asked, body = await ended(room, "answer", **VETO)
    assert body["type"] == "intent_vetoed"
    told = body["data"]
    assert (told["event"], told["resolution"], told["value"]) == ("intent_vetoed", "responded", "veto")
    assert (told["reason"], told["responded_by"]) == ("fine", "alice@example.com")
    assert set(told) == set(data(asked))


async def test_a_window_without_objection_authorises(room: World) -> None:
    asked, body = await ended(room, "time", **VETO)
    assert (body["type"], body["data"]["event"]) == ("intent_authorized", "intent_authorized")
    assert (body["data"]["resolution"], body["data"]["error"]) == ("expired", None)
    assert set(body["data"]) == set(data(asked))


async def test_what_was_not_given_is_null(room: World) -> None:
    asked = await room.ask(choices=CHOICES)
    await room.answer(asked, "deny")
    told = (await room.told(asked))["data"]
    names = ("session_id", "invocation_id", "correlation_id", "signal_id", "state", "action_digest", "receipt")
    assert {name: told[name] for name in names} == dict.fromkeys(names)
    assert told["choice_description"] is None


@pytest.mark.parametrize(
    ("response_type", "value", "payload"),
    [
        ("text", "Dear Sir", {"response": "Dear Sir", "reason": None}),
        ("confirm", "no", {"response": "no", "reason": None}),
        ("form", {"amount": 5, "note": "x"}, {"amount": 5, "note": "x"}),
    ],
)
async def test_the_signals_payload_is_the_form_itself_or_response_and_reason(
    room: World, response_type: str, value: Any, payload: Any
) -> None:
    asked = await room.ask(response_type=response_type)
    await room.answer(asked, value)
    told = (await room.told(asked))["data"]
    assert (told["value"], told["signal_payload"]) == (value, payload)


async def test_the_signature_is_that_of_standard_webhooks(room: World) -> None:
    asked, _ = await ended(room, "answer")
    [told] = room.agent.told_of(asked)
    assert told.headers["content-type"].startswith("application/json")
    key = base64.b64decode(WEBHOOK_SECRET.removeprefix("whsec_"))
    signed = f"{told.headers['webhook-id']}.{told.headers['webhook-timestamp']}.".encode() + told.body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert f"v1,{expected}" in told.headers["webhook-signature"].split()
    assert int(told.headers["webhook-timestamp"]) == int(told.at.timestamp())


async def test_no_callback_is_sent_where_no_address_is_known(room: World) -> None:
    asked = await room.ask(resume={"callback_url": None})
    await room.answer(asked, "approve")
    await room.settle()
    assert room.agent.told_of(asked) == []
    assert "callback" not in {item["kind"] for item in await room.timeline(asked)}


async def test_while_one_secret_replaces_another_both_sign(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("rotating")
    old, new = WEBHOOK_SECRET, "whsec_" + base64.b64encode(b"the new secret of the agent's key").decode()
    keys = [
        {"name": "refund-agent", "key": KEYS["agent"], "roles": ["agent"], "webhook_secrets": [new, old]},
        {"name": "alice@example.com", "key": KEYS["operator"], "roles": ["operator"]},
    ]
    async with running(folder, f"sqlite+aiosqlite:///{folder}/handraise.db", api_keys=keys) as world:
        asked = await world.ask(choices=CHOICES)
        await world.answer(asked, "approve")
        await world.settle()
        [told] = world.agent.told_of(asked)
        for secret in (old, new):
            assert verify_callback(told.headers, told.body, secret, now=told.at).value == "approve"
