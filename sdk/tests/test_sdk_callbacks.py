"""A callback is believed only when one of our secrets signed exactly these bytes just now (API.md §5)."""

from __future__ import annotations

import base64
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from handraise import ConfigurationError, InvalidCallback, Resumed, ResumeReceiver, verify_callback
from standardwebhooks import Webhook

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NEXT_SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
NOW = datetime(2026, 3, 23, 10, 1, 1, tzinfo=UTC)
BODY = {
    "type": "intent.resumed",
    "timestamp": "2026-03-23T10:01:00Z",
    "data": {
        "event": None,
        "intent_id": "intent-1",
        "suspension_id": "susp-1",
        "session_id": "sess-1",
        "invocation_id": "inv-1",
        "correlation_id": "corr-1",
        "signal_id": "refund-12345",
        "resolution": "responded",
        "value": "approve",
        "choice_label": "Approve refund",
        "choice_description": "The full amount",
        "responded_by": "alice@example.com",
        "responded_at": "2026-03-23T10:01:00Z",
        "channel": "slack",
        "reason": None,
        "metadata": {},
        "error": None,
        "signal_payload": {"response": "approve", "reason": None},
        "state": {"cart": 7, "step": None},
        "action_digest": None,
        "receipt": None,
    },
}


def encoded(body: Any = BODY) -> bytes:
    return json.dumps(body).encode()


def signed(body: bytes, secret: str = SECRET, at: datetime = NOW, webhook_id: str = "msg_1") -> dict[str, str]:
    """The headers as the reference implementation of Standard Webhooks makes them."""
    return {
        "webhook-id": webhook_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(webhook_id, at, body.decode()),
    }


def test_a_signed_callback_says_how_the_question_ended():
    body = encoded()
    resumed = verify_callback(signed(body), body, SECRET, now=NOW)
    assert isinstance(resumed, Resumed)
    assert (resumed.webhook_id, resumed.type, resumed.value, resumed.responded_by) == (
        "msg_1",
        "intent.resumed",
        "approve",
        "alice@example.com",
    )
    assert resumed.state == {"cart": 7, "step": None}
    assert resumed.responded_at == datetime(2026, 3, 23, 10, 1, tzinfo=UTC)
    assert resumed.answer is not None
    assert (resumed.answer.value, resumed.answer.choice_label) == ("approve", "Approve refund")


def test_a_person_who_asks_back_is_quoted_and_nothing_has_ended():
    asked = {"question": "Which card?", "asked_by": "alice@example.com", "asked_at": "2026-03-23T10:00:30Z"}
    held = {**asked, "text": None, "held_until": "2026-03-23T11:00:30Z"}
    data = {"intent_id": "intent-1", "suspension_id": "susp-1", "value": None, "clarification": held}
    body = encoded({"type": "clarification_requested", "timestamp": "2026-03-23T10:01:00Z", "data": data})
    told = verify_callback(signed(body), body, SECRET, now=NOW)
    assert (told.resolution, told.answer) == (None, None)
    assert told.clarification is not None
    assert (told.clarification.question, told.clarification.asked_by, told.clarification.text) == (
        "Which card?",
        "alice@example.com",
        None,
    )
    assert told.clarification.held_until == datetime(2026, 3, 23, 11, 0, 30, tzinfo=UTC)


def test_a_callback_says_when_it_was_asked_and_gives_the_signals_own_metadata_back():
    extra = {"suspended_at": "2026-03-23T10:00:00Z", "signal_metadata": {"queue": "refunds"}}
    body = encoded({**BODY, "data": {**BODY["data"], **extra}})
    told = verify_callback(signed(body), body, SECRET, now=NOW)
    assert told.suspended_at == datetime(2026, 3, 23, 10, 0, tzinfo=UTC)
    assert told.signal_metadata == {"queue": "refunds"}
    older = encoded()
    assert verify_callback(signed(older), older, SECRET, now=NOW).signal_metadata == {}


def test_the_clock_is_the_systems_own_when_none_is_given():
    body = encoded()
    assert verify_callback(signed(body, at=datetime.now(UTC)), body, SECRET).value == "approve"
    with pytest.raises(InvalidCallback):
        verify_callback(signed(body, at=datetime(2020, 1, 1, tzinfo=UTC)), body, SECRET)


def test_the_vector_of_the_reference_implementations_is_accepted():
    """https://github.com/standard-webhooks/standard-webhooks, libraries/python/tests: the key, id and text are its."""
    at = datetime.fromtimestamp(1614265330, UTC)
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    # Its body is not one of ours, so that the signature is what gets past and the body what does not.
    with pytest.raises(InvalidCallback) as raised:
        verify_callback(headers, b'{"test": 2432232314}', SECRET, now=at)
    assert raised.value.reason == "malformed_body"


@pytest.mark.parametrize("secret", [NEXT_SECRET, SECRET])
def test_while_a_secret_is_being_replaced_both_are_good(secret):
    body = encoded()
    assert verify_callback(signed(body, secret), body, [SECRET, NEXT_SECRET], now=NOW).value == "approve"


def test_one_good_signature_among_several_is_enough():
    body = encoded()
    headers = signed(body)
    other = signed(body, NEXT_SECRET)["webhook-signature"]
    headers["webhook-signature"] = f"v1a,AAAA {other} {headers['webhook-signature']}"
    assert verify_callback(headers, body, SECRET, now=NOW).value == "approve"


def test_header_names_are_read_in_any_case():
    body = encoded()
    headers = {name.title(): value for name, value in signed(body).items()}
    assert verify_callback(headers, body, SECRET, now=NOW).webhook_id == "msg_1"


def secret_of(size: int) -> str:
    return "whsec_" + base64.b64encode(b"k" * size).decode()


@pytest.mark.parametrize("size", [24, 25, 32, 64])
@pytest.mark.parametrize("written", [str, lambda secret: secret.rstrip("="), lambda secret: f" {secret}\n"])
def test_a_secret_may_lack_its_padding_or_have_spaces_around_it(size, written):
    secret, body = secret_of(size), encoded()
    assert verify_callback(signed(body, secret), body, written(secret), now=NOW).value == "approve"


@pytest.mark.parametrize(
    ("secret", "said"),
    [
        (SECRET.removeprefix("whsec_"), "begins with whsec_"),
        (SECRET.replace("_", "-", 1), "begins with whsec_"),
        (SECRET.upper(), "begins with whsec_"),
        ("", "begins with whsec_"),
        ("whsec_", "has 0"),
        (secret_of(23), "24 to 64 bytes; one of those given has 23"),
        (secret_of(65), "24 to 64 bytes; one of those given has 65"),
        (SECRET + "!", "base64"),
        (SECRET[:20] + " " + SECRET[20:], "base64"),
        (SECRET[:-4] + "é" * 4, "base64"),
        (SECRET[:-2] + "==" + SECRET[-2:], "base64"),
    ],
)
def test_what_can_not_be_a_secret_is_said_by_its_fault(secret, said):
    for given in (secret, [SECRET, secret]):
        with pytest.raises(ConfigurationError) as raised:
            ResumeReceiver(given, print)
        assert said in str(raised.value)
        assert secret == "" or secret.removeprefix("whsec_") == "" or secret not in str(raised.value)


def refusal(headers: dict[str, str], body: bytes, secrets: Any = SECRET) -> str:
    with pytest.raises(InvalidCallback) as raised:
        verify_callback(headers, body, secrets, now=NOW)
    assert "approve" not in str(raised.value)
    return raised.value.reason


def test_another_secret_is_refused():
    body = encoded()
    assert refusal(signed(body, NEXT_SECRET), body) == "wrong_signature"


def test_a_changed_body_is_refused():
    body = encoded()
    assert refusal(signed(body), body.replace(b'"value": "approve"', b'"value": "deny"')) == "wrong_signature"
    assert refusal(signed(body), body + b" ") == "wrong_signature"


@pytest.mark.parametrize(("header", "value"), [("webhook-id", "msg_2"), ("webhook-timestamp", "1774260062")])
def test_a_changed_header_is_refused(header, value):
    body = encoded()
    assert signed(body)[header] != value
    assert refusal(signed(body) | {header: value}, body) == "wrong_signature"


@pytest.mark.parametrize(("seconds", "reason"), [(-301, "stale"), (-300, None), (300, None), (301, "from_the_future")])
def test_five_minutes_either_way_are_allowed_and_not_a_second_more(seconds, reason):
    body = encoded()
    headers = signed(body, at=NOW + timedelta(seconds=seconds))
    if reason is None:
        assert verify_callback(headers, body, SECRET, now=NOW).value == "approve"
    else:
        assert refusal(headers, body) == reason


def test_the_tolerance_can_be_narrowed():
    body = encoded()
    headers = signed(body, at=NOW - timedelta(seconds=11))
    with pytest.raises(InvalidCallback) as raised:
        verify_callback(headers, body, SECRET, tolerance_seconds=10, now=NOW)
    assert raised.value.reason == "stale"


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_missing_header_is_named(name, value):
    body = encoded()
    headers = signed(body)
    if value is None:
        del headers[name]
    else:
        headers[name] = value
    with pytest.raises(InvalidCallback, match=name) as raised:
        verify_callback(headers, body, SECRET, now=NOW)
    assert raised.value.reason == "missing_header"


@pytest.mark.parametrize("timestamp", ["soon", "-1", "1e9", "1.5", "٣", "nan", "9" * 400, "0x10", "1_0"])
def test_a_timestamp_that_is_no_number_is_refused(timestamp):
    body = encoded()
    assert refusal(signed(body) | {"webhook-timestamp": timestamp}, body) == "malformed_timestamp"


@pytest.mark.parametrize(
    "signature", ["v1", "v1,", "v1,é", "v1,\udc80", "v2,AAAA", ",", "v1,AAAA v1,", "v1,====", "\ud800"]
)
def test_a_signature_that_is_none_is_refused(signature):
    body = encoded()
    assert refusal(signed(body) | {"webhook-signature": signature}, body) == "wrong_signature"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no",
        b"[]",
        b"null",
        b"{}",
        b'{"type": "intent.resumed", "timestamp": "2026-03-23T10:01:00Z", "data": []}',
        b'{"type": "intent.resumed", "timestamp": "2026-03-23T10:01:00Z", "data": {}}',
        b'{"type": "intent.resumed", "timestamp": "approve", "data": {"intent_id": "i", "suspension_id": "s"}}',
        b'{"timestamp": "2026-03-23T10:01:00Z", "data": {"intent_id": "i", "suspension_id": "s"}}',
        b'{"data": ' + b"[" * 100_000,
    ],
)
def test_a_signed_body_that_is_not_ours_is_refused(body):
    assert refusal(signed(body), body) == "malformed_body"


def test_what_a_newer_server_adds_or_leaves_empty_does_not_disturb():
    newer = {"type": "intent.rescheduled", "timestamp": "2026-03-23T10:01:00", "sequence": 4}
    body = encoded({**newer, "data": {"intent_id": "i", "suspension_id": "s", "metadata": None, "mood": "calm"}})
    resumed = verify_callback(signed(body), body, SECRET, now=NOW)
    assert (resumed.type, resumed.resolution, resumed.metadata, resumed.answer) == (
        "intent.rescheduled",
        None,
        {},
        None,
    )
    assert resumed.timestamp == datetime(2026, 3, 23, 10, 1, tzinfo=UTC)


def test_silence_is_not_taken_for_an_answer():
    expired = {**BODY["data"], "resolution": "expired", "value": "deny", "responded_by": None}
    body = encoded({**BODY, "data": expired})
    resumed = verify_callback(signed(body), body, SECRET, now=NOW)
    assert (resumed.value, resumed.answer) == ("deny", None)


@pytest.mark.parametrize("secrets", [[], "", "whsec_", "whsec_not base64!", [SECRET, "whsec_***"]])
def test_a_broken_secret_is_our_fault_and_never_shown(secrets):
    body = encoded()
    with pytest.raises(ConfigurationError) as raised:
        verify_callback(signed(body), body, secrets, now=NOW)
    assert "***" not in str(raised.value)
    assert "not base64" not in str(raised.value)


def test_a_callback_can_not_be_changed_after_it_was_verified():
    body = encoded()
    resumed = verify_callback(signed(body), body, SECRET, now=NOW)
    with pytest.raises(ValueError, match="frozen"):
        resumed.value = "deny"


async def test_the_receiver_in_the_documentation_believes_our_callbacks_only_and_goes_on_once(
    monkeypatch, capsys, tmp_path
):
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "agents.md").read_text()
    (program,) = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "app = " in block]
    monkeypatch.setenv("AGENT_WEBHOOK_SECRETS", f"{SECRET} {NEXT_SECRET}")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(program, names)
    body = encoded()
    good = signed(body, NEXT_SECRET, at=datetime.now(UTC))
    transport = httpx.ASGITransport(names["app"])
    async with httpx.AsyncClient(transport=transport, base_url="http://agent.example") as http:
        forged = await http.post("/resume", content=body, headers=good | {"webhook-id": "msg_2"})
        assert (forged.status_code, forged.json()) == (401, {"error": "wrong_signature"})
        statuses = [(await http.post("/resume", content=body, headers=good)).status_code for _ in range(2)]
    assert statuses == [204, 204]
    assert capsys.readouterr().out.count("goes on with approve by alice@example.com") == 1
