"""What a webhook and a note say. The signature covers every byte of the body.

Source: https://developer.pagerduty.com/docs/webhook-signatures and …/webhooks-overview.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from channels.grammar.reader import ClaimWord, Matched, Unclear
from channels.pagerduty.webhooks import (
    READERS,
    Acknowledged,
    Annotated,
    FieldsSet,
    Ignored,
    Mentioned,
    Merged,
    Resolved,
    Unacknowledged,
    UncountedReply,
    Where,
    is_signed,
    read_answer_in,
    read_note,
    read_webhook,
)
from core.domain.notice import NoticeChoice
from core.domain.suspension import ResponseType

CHOICES = (NoticeChoice(0, "Approve refund", "approve"), NoticeChoice(1, "Deny refund", "deny"))
ALICE = {"id": "PALICE", "type": "user_reference", "summary": "Alice"}


def signed(raw: bytes, *secrets: str) -> str:
    return ",".join(f"v1={hmac.new(secret.encode(), raw, hashlib.sha256).hexdigest()}" for secret in secrets)


def webhook(event_type: str, data: Any, agent: Any = ALICE, **changes: Any) -> bytes:
    event = {"id": "01ABC", "event_type": event_type, "occurred_at": "2026-11-21T09:00:00.123Z", "client": None}
    return json.dumps({"event": {**event, "agent": agent, "data": data, **changes}}).encode()


def note(content: Any, **changes: Any) -> dict[str, Any]:
    data = {"id": "N1", "type": "incident_note", "incident": {"id": "PINC1"}, "content": content, "trimmed": False}
    return data | changes


# --- Signatures ---------------------------------------------------------------------------------------------------


def test_any_valid_signature_with_any_of_our_secrets_will_do() -> None:
    raw = "{“ü”}".encode()

    assert is_signed(raw, signed(raw, "new"), ["old", "new"])
    assert is_signed(raw, signed(raw, "old", "unknown"), ["old", "new"])
    assert is_signed(raw, f"v1={'0' * 64}, {signed(raw, 'old')} ", ["old"])


@pytest.mark.parametrize(
    "header", ["", "v1=", "v1=ü", "v0=abc", "abc", ",,,", "v1=" + "0" * 64, "v1=" + "é" * 64, "v1=a," * 10_000]
)
def test_anything_else_is_not_pagerdutys(header: str) -> None:
    assert not is_signed(b"{}", header, ["secret"])


def test_a_changed_body_or_no_secret_at_all_is_not_signed() -> None:
    assert not is_signed(b"{} ", signed(b"{}", "secret"), ["secret"])
    assert not is_signed(b"{}", signed(b"{}", "secret"), [])
    assert not is_signed(b"{}", signed(b"{}", "secret").replace("v1=", "v2="), ["secret"])


# --- Webhooks -----------------------------------------------------------------------------------------------------


ODD = [None, 5, [], {}, ["user_reference"], {"type": "user"}, "", "\x00"]
WHOLE = {
    "id": "PINC1",
    "incident_key": "key",
    "title": "[HR-7F3K] Refund?",
    "incident": {"id": "PINC1", "summary": "Refund?"},
    "assignees": [ALICE],
    "resolve_reason": {"type": "merge_resolve_reason", "incident": {"id": "PINC2"}},
    "content": "approve",
    "trimmed": False,
    "changed_custom_fields": [{"id": "F1", "name": "decision", "value": "approve"}],
}


def with_odd_parts(whole: Any) -> Iterator[Any]:
    """``whole`` with each part of it replaced in turn."""
    yield from ODD
    if isinstance(whole, dict):
        for key, part in whole.items():
            yield from ({**whole, key: odd} for odd in with_odd_parts(part))
    elif isinstance(whole, list):
        yield from ([odd] for part in whole for odd in with_odd_parts(part))


@pytest.mark.parametrize("event_type", sorted(READERS))
def test_whatever_stands_in_a_webhook_where_something_else_should_it_is_read(event_type: str) -> None:
    for data in with_odd_parts(WHOLE):
        read_webhook(webhook(event_type, data))
    for agent in with_odd_parts(ALICE):
        read_webhook(webhook(event_type, WHOLE, agent))
    for odd in ODD:
        read_webhook(webhook(event_type, WHOLE, id=odd, occurred_at=odd))


def test_an_acknowledgement_names_its_incident_and_its_person() -> None:
    read = read_webhook(webhook("incident.acknowledged", {"id": "PINC1"}))

    assert read.happening == Acknowledged(Where("PINC1"), "PALICE")
    assert read.id == "01ABC"
    assert read.occurred_at == datetime(2026, 11, 21, 9, 0, 0, 123_000, tzinfo=UTC)


def test_an_acknowledgement_can_time_out_by_itself() -> None:
    raw = webhook("incident.unacknowledged", {"id": "PINC1"}, agent=None)

    assert read_webhook(raw).happening == Unacknowledged(Where("PINC1"))


def test_a_note_is_read_whole() -> None:
    raw = webhook("incident.annotated", note("approve\nhe is right"))

    assert read_webhook(raw).happening == Annotated(Where("PINC1"), "PALICE", "approve\nhe is right")


def test_what_no_database_can_keep_is_taken_out_of_a_note() -> None:
    raw = webhook("incident.annotated", note("app\0rove \ud800"))

    assert read_webhook(raw).happening == Annotated(Where("PINC1"), "PALICE", "approve ?")


@pytest.mark.parametrize(
    ("event_type", "data"),
    [
        ("incident.priority_updated", {"id": "PINC1"}),
        ("incident.responder.replied", {"type": "incident_responder", "incident": {"id": "PINC1"}}),
        ("incident.status_update_published", {"incident": {"id": "PINC1"}}),
    ],
)
def test_what_else_happens_to_an_incident_names_it_alone(event_type: str, data: dict[str, Any]) -> None:
    assert read_webhook(webhook(event_type, data)).happening == Mentioned(Where("PINC1"))


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (webhook("pagey.ping", {"message": "Hello"}), "other_event"),
        (webhook("incident.workflow.started", {"id": "PINC1"}), "other_event"),
        (webhook("incident.priority_updated", {"id": 7}), "malformed"),
        (webhook("incident.custom_field_values.updated", {"incident": {"id": "PINC1"}}), "no_field_set"),
        (webhook("incident.annotated", note("Handraise: approve")), "own_note"),
        (webhook("incident.acknowledged", {"id": "PINC1"}, agent=None), "not_a_person"),
        (webhook("incident.acknowledged", {"id": "PINC1"}, agent={"id": 7, "type": "user_reference"}), "not_a_person"),
        (webhook("incident.acknowledged", {"id": "../users/PALICE"}), "malformed"),
        (webhook("incident.acknowledged", None), "malformed"),
        (webhook("incident.annotated", note(None)), "malformed"),
        (webhook("incident.annotated", note("x", incident=None)), "malformed"),
        (b'{"event": 5}', "other_event"),
        (b"[]", "other_event"),
        (b"", "malformed"),
        (b"\xff\xfe", "malformed"),
        (b"[" * 200_000, "malformed"),
    ],
)
def test_everything_else_is_ignored_whatever_its_shape(raw: bytes, reason: str) -> None:
    assert read_webhook(raw).happening == Ignored(reason)


@pytest.mark.parametrize(
    ("data", "agent", "by", "reason"),
    [
        (note("approve", trimmed=True), ALICE, "PALICE", "trimmed_note"),
        ({**note("approve"), "trimmed": None}, ALICE, "PALICE", "trimmed_note"),
        (note("approve"), None, None, "not_a_person"),
        (note("approve"), {"id": "PX", "type": "service_reference"}, None, "not_a_person"),
    ],
)
def test_a_note_that_is_cut_or_nobodys_says_why_it_never_counts(data: Any, agent: Any, by: Any, reason: str) -> None:
    assert read_webhook(webhook("incident.annotated", data, agent)).happening == UncountedReply(
        Where("PINC1"), by, reason
    )


def test_a_resolved_incident_that_was_merged_is_no_resolved_one() -> None:
    merged = {"type": "merge_resolve_reason", "incident": {"id": "PINC2", "type": "incident_reference"}}

    read = read_webhook(webhook("incident.resolved", {"id": "PINC1", "resolve_reason": merged}))

    assert read.happening == Merged(Where("PINC1"), "PINC2")
    assert read_webhook(webhook("incident.resolved", {"id": "PINC1"})).happening == Resolved(Where("PINC1"), "PALICE")


def test_only_a_field_that_has_just_changed_is_somebodys_word() -> None:
    decision, other = ({"id": f"PF{name}", "name": name, "value": "approve"} for name in ("decision", "other"))
    data = {"incident": {"id": "PINC1"}, "custom_fields": [decision, other], "changed_custom_fields": [other]}

    read = read_webhook(webhook("incident.custom_field_values.updated", data))

    assert read.happening == FieldsSet(Where("PINC1"), "PALICE", {"other": "approve", "PFother": "approve"})


@pytest.mark.parametrize("occurred_at", [None, 5, "yesterday", "", "0001-01-01T00:00:00+14:00"])
def test_an_instant_that_can_not_be_read_is_none(occurred_at: Any) -> None:
    read = read_webhook(webhook("incident.acknowledged", {"id": "PINC1"}, occurred_at=occurred_at))

    assert read.occurred_at is None
    assert read.happening == Acknowledged(Where("PINC1"), "PALICE")


# --- Notes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "ref", "rest"),
    [
        ("approve", None, "approve"),
        ("HR-7F3K yes", "HR-7F3K", "yes"),
        ("[hr-7f3k]: yes", "HR-7F3K", "yes"),
        ("HR-7F3K - yes", "HR-7F3K", "yes"),
        ("HR-7F3K -5 %", "HR-7F3K", "-5 %"),
        ("HR-7F3K: -5 %", "HR-7F3K", "-5 %"),
        ("  HR-7F3K\nyes", "HR-7F3K", "yes"),
        ("yes HR-7F3K", None, "yes HR-7F3K"),
        ("HR-department says yes", None, "HR-department says yes"),
    ],
)
def test_a_note_may_begin_with_the_question_it_answers(text: str, ref: str | None, rest: str) -> None:
    read = read_note(text)

    assert (read.ref, read.text) == (ref, rest)


@pytest.mark.parametrize(("text", "index"), [("1", 0), ("deny", 1), ("HR-7F3K deny refund", 1), ("Approve refund", 0)])
def test_a_note_that_says_a_choice_is_that_choice(text: str, index: int) -> None:
    reading = read_answer_in(read_note(text), ResponseType.CHOICE, CHOICES, None)

    assert isinstance(reading, Matched)
    assert reading.index == index


@pytest.mark.parametrize(
    "text", ["Approve, says Bob", "approve or deny?", "approval rates look low", "not approve", "3"]
)
def test_a_note_in_doubt_is_no_answer(text: str) -> None:
    assert isinstance(read_answer_in(read_note(text), ResponseType.CHOICE, CHOICES, None), Unclear)


def test_a_claim_word_alone_claims() -> None:
    assert isinstance(read_answer_in(read_note("I'm on it"), ResponseType.CHOICE, CHOICES, None), ClaimWord)


def test_a_remark_is_no_answer_to_a_question_for_text_unless_it_names_it() -> None:
    remark = read_answer_in(read_note("The customer called twice."), ResponseType.TEXT, (), None)
    answer = read_answer_in(read_note("HR-7F3K: half of it"), ResponseType.TEXT, (), None)

    assert remark == Unclear("no_ref")
    assert isinstance(answer, Matched)
    assert answer.value == "half of it"
