"""What a model is told of a question, in each of its states."""

from __future__ import annotations

import json
from typing import Any

import pytest
from handraise import Denied, SuspensionRecord

CHOICES = [
    {"value": "approve", "label": "Approve refund"},
    {"value": "later", "label": "Ask me tomorrow"},
    {"value": "deny", "label": "Deny refund"},
]
APPROVED = "A person has said yes (HR-7F3K): approve (Approve refund)"
DENIED = (
    "A person has said no (HR-7F3K): deny (Deny refund). Do not do it, and do not try it again unless you are told to."
)
UNDECIDED = "This is neither an approval nor a denial. Do not go ahead; say that nobody has decided."


def record(**fields: Any) -> SuspensionRecord:
    known = {
        "id": "susp-secret",
        "question": "Refund?",
        "ref": "HR-7F3K",
        "choices": CHOICES,
        "receipt": "receipt-secret",
    }
    return SuspensionRecord.model_validate({**known, "responded_by": "alice@example.com", **fields})


def answered(value: Any, **fields: Any) -> dict[str, Any]:
    return {"resolution": "responded", "response": value, **fields}


def asked_back(**fields: Any) -> dict[str, Any]:
    return {"clarification": {"question": "Which card?", "asked_by": "alice@example.com", **fields}}


ENDINGS: list[tuple[dict[str, Any], str]] = [
    (answered("approve"), APPROVED),
    (answered("approve", reason="fine, “once”\nonly"), f"{APPROVED}. Their reason: fine, “once”\nonly"),
    (answered("later"), "A person has answered (HR-7F3K): later (Ask me tomorrow)"),
    (answered("deny", reason="wrong customer"), f"{DENIED} Their reason: wrong customer"),
    (answered("deny"), f"{DENIED} They gave no reason."),
    (answered("To the card.", choices=[]), "A person has answered (HR-7F3K): To the card."),
    (answered("no", choices=[]), "A person has answered (HR-7F3K): no"),
    (answered({"amount": 5, "to": "Zoë"}, choices=[]), 'A person has answered (HR-7F3K): {"amount": 5, "to": "Zoë"}'),
    (
        {"resolution": "expired", "error": "input_timeout"},
        f"Nobody has answered in time (HR-7F3K). {UNDECIDED}",
    ),
    (
        {"resolution": "expired", "error": "notice_undelivered"},
        f"No message about this could be delivered (HR-7F3K). {UNDECIDED}",
    ),
    (
        {"resolution": "expired", "error": "portfolio_deadline_exceeded"},
        f"The deadline of the work around this came before an answer (HR-7F3K). {UNDECIDED}",
    ),
    (
        {"resolution": "expired", "continued_with": "deny"},
        "Nobody has answered in time (HR-7F3K), so no person has decided. What was agreed for this case applies: deny "
        "(Deny refund)",
    ),
    (
        {"resolution": "cancelled", "reason": "out of stock"},
        "The question was taken back (HR-7F3K). Nobody has decided. Do not go ahead; say so. The reason: out of stock",
    ),
    (
        asked_back(held_until="2026-03-24T09:00:00Z"),
        "A person asks back before they decide (HR-7F3K). Nothing is decided yet: do not go ahead. They ask: Which "
        "card?",
    ),
    (
        asked_back(text="To the first."),
        "Nobody has decided yet (HR-7F3K); the question is still open. Do not go ahead, and do not ask it again.",
    ),
    (
        {},
        "Nobody has decided yet (HR-7F3K); the question is still open. Do not go ahead, and do not ask it again.",
    ),
    ({"resolution": "merged"}, "The question has ended as merged (HR-7F3K). Do not go ahead; say so."),
    (
        {"resolution": "cancelled", "ref": None},
        "The question was taken back. Nobody has decided. Do not go ahead; say so.",
    ),
]


@pytest.mark.parametrize(("fields", "told"), ENDINGS)
def test_each_state_is_told_in_words_without_a_secret(fields: dict[str, Any], told: str) -> None:
    said = record(**fields).tool_result()
    assert said == told
    assert not [kept for kept in ("susp-secret", "receipt-secret", "alice") if kept in said]


@pytest.mark.parametrize("fields", [fields for fields, _ in ENDINGS if fields.get("resolution") != "responded"])
def test_what_no_person_has_answered_is_never_a_denial(fields: dict[str, Any]) -> None:
    ended = record(**fields)
    assert not ended.is_denial
    assert "said no" not in ended.tool_result()


@pytest.mark.parametrize(
    ("value", "choices", "is_denial"),
    [
        (
            "veto",
            [{"value": "go", "label": "Go"}, {"value": "veto", "label": "Stop", "metadata": {"veto": True}}],
            True,
        ),
        (
            "later",
            [{"value": "now", "label": "Now"}, {"value": "later", "label": "L", "metadata": {"negative": True}}],
            True,
        ),
        ("block", [{"value": "block", "label": "Block them", "metadata": {"negative": False}}], False),
        ("no", [{"value": "yes", "label": "Yes"}, {"value": "no", "label": "No"}], True),
    ],
)
def test_what_is_a_denial_is_the_servers_rule(value: str, choices: list[dict[str, Any]], is_denial: bool) -> None:
    ended = record(**answered(value, choices=choices))
    assert ended.is_denial is is_denial
    assert ("said no" in ended.tool_result()) is is_denial


def test_denied_tells_the_same_words() -> None:
    ended = record(**answered("deny", reason="wrong customer"))
    assert Denied("refund", ended).tool_result() == ended.tool_result()
    assert "wrong customer" not in json.dumps(str(Denied("refund", ended)))
