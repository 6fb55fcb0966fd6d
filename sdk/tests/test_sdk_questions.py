"""Wrong arguments fail before anything is sent, and the message names the argument and no value of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from enum import Enum
from typing import Any, Literal

import pytest
from handraise import Handraise, HumanRetryPolicy, SuspensionChoice, SuspensionRecord, UnfitAnswer
from handraise.questions import body, policy_body
from pydantic import BaseModel, Field

from sdk.tests.pretend_server import KEY, PretendServer

SECRET = "4111-1111"


@pytest.fixture
async def server() -> AsyncIterator[PretendServer]:
    server = PretendServer()
    await server.start()
    yield server
    await server.stop()


@pytest.mark.parametrize(
    ("kind", "options", "named"),
    [
        (TypeError, {"chioces": ["approve"]}, "'chioces'; did you mean 'choices'"),
        (TypeError, {"timeout_secs": 5}, "'timeout_secs'; did you mean 'timeout_seconds'"),
        (TypeError, {"zzz": 5}, "keyword argument 'zzz'$"),
        (TypeError, {"choices": "approve"}, "choices"),
        (TypeError, {"choices": 7}, "choices"),
        (TypeError, {"choices": [7]}, r"choices\[0\]"),
        (TypeError, {"choices": [{"value": "a", "label": 3}]}, r"choices\[0\]\.label"),
        (TypeError, {"timeout_seconds": "60"}, "timeout_seconds"),
        (TypeError, {"timeout_seconds": 60.5}, "timeout_seconds"),
        (TypeError, {"context": [1]}, "context"),
        (TypeError, {"context": {"when": object()}}, "object has no form in JSON"),
        (TypeError, {"responders": "alice@example.com"}, "responders"),
        (TypeError, {"retry_policy": {"max_attempts": "three"}}, r"retry_policy\.max_attempts"),
        (TypeError, {"resume": {"session_id": 7}}, r"resume\.session_id"),
        (ValueError, {"choices": []}, "choices"),
        (ValueError, {"choices": None}, "choices"),
        (ValueError, {"choices": ["a"], "response_type": "text"}, "choices"),
        (ValueError, {"response_type": "chioce"}, "response_type.*'choice', 'confirm', 'text' or 'form'"),
        (ValueError, {"fallback_policy": "deny"}, "fallback_policy.*'complete_with_fallback'"),
        (ValueError, {"kind": "vote"}, "kind.*'input' or 'veto'"),
        (ValueError, {"choices": [SuspensionChoice(value="a", label="A", style="red")]}, r"choices\[0\]\.style"),
        (ValueError, {"retry_policy": HumanRetryPolicy(strategy="backoff")}, r"retry_policy\.strategy.*'fixed'"),
        (ValueError, {"retry_policy": HumanRetryPolicy(final_fallback_policy="deny")}, "final_fallback_policy"),
        (ValueError, {"retry_policy": {"escalation_ladder": [{"attempt": 0}]}}, r"escalation_ladder\[0\]\.attempt"),
        (ValueError, {"timeout_seconds": 0}, "timeout_seconds.*greater than or equal to 1"),
        (ValueError, {"deadline_seconds": 31_536_001}, "deadline_seconds.*31536000"),
        (ValueError, {"confidence": 1.5}, "confidence"),
        (ValueError, {"confidence": float("nan")}, "not JSON compliant"),
        (ValueError, {"answers_required": 0}, "answers_required"),
    ],
)
async def test_a_wrong_argument_is_named_and_nothing_is_sent(server, kind, options, named):
    options = {"choices": ["approve", "deny"], "notify_to": SECRET} | options
    if options["choices"] is None:
        del options["choices"]
    if options.get("response_type", "choice") != "choice" and "choices" not in str(named):
        del options["choices"]
    async with Handraise(server.url, KEY) as people:
        with pytest.raises(kind, match=named) as raised:
            await people.request_input("Refund?", **options)
    assert server.seen == []
    assert SECRET not in str(raised.value)


def test_a_question_needs_words():
    with pytest.raises(ValueError, match=r"question.*at least 1"):
        body("", {"choices": ["approve"]})
    with pytest.raises(TypeError, match="question"):
        body(7, {"choices": ["approve"]})  # type: ignore[arg-type]


def test_what_only_a_newer_server_knows_is_left_to_it():
    sent = json.loads(body("Refund?", {"choices": [{"value": "a", "label": "A", "icon": "fire"}]}))
    assert sent["choices"] == [{"value": "a", "label": "A", "icon": "fire"}]


def test_what_a_newer_server_says_can_be_read():
    choices = [{"value": "a", "label": "A", "style": "glowing"}]
    policy = {"strategy": "backoff", "final_fallback_policy": "ask_again", "escalation_ladder": [{"attempt": 2}]}
    record = SuspensionRecord.model_validate({"id": "s", "question": "?", "choices": choices, "retry_policy": policy})
    assert record.choices[0].style == "glowing"
    assert record.retry_policy is not None
    assert record.retry_policy.strategy == "backoff"
    assert record.retry_policy.escalation_ladder is not None
    assert record.retry_policy.escalation_ladder[0].attempt == 2


def test_a_default_policy_is_checked_too():
    assert json.loads(policy_body(HumanRetryPolicy(max_attempts=3))) == {"max_attempts": 3}
    with pytest.raises(ValueError, match="max_attempts"):
        policy_body({"max_attempts": 51})


# --- Response models ------------------------------------------------------------------------------------------------


class Card(Enum):
    OLD = "old"
    NEW = "new"


class Refund(BaseModel):
    amount: int = Field(ge=1, description="In cents.")
    card: Card = Card.OLD
    speed: Literal["now", "later"]
    note: str | None = None
    tags: list[Card] = []


def sent_for(model: Any, **options: Any) -> dict[str, Any]:
    sent: dict[str, Any] = json.loads(body("How much?", {"response_model": model, **options}))
    return sent


def test_a_response_model_becomes_the_flat_schema_of_a_form():
    sent = sent_for(Refund)
    assert sent["response_type"] == "form"
    schema = sent["form_schema"]
    assert "$defs" not in schema
    assert schema["required"] == ["amount", "speed"]
    assert schema["properties"]["amount"] == {
        "type": "integer", "minimum": 1, "description": "In cents.", "title": "Amount",
    }  # fmt: skip
    assert schema["properties"]["card"]["enum"] == ["old", "new"]
    assert schema["properties"]["card"]["default"] == "old"
    assert schema["properties"]["note"] == {"type": "string", "title": "Note"}
    assert schema["properties"]["tags"]["items"]["enum"] == ["old", "new"]


def test_a_fallback_may_be_a_model_too():
    sent = sent_for(Refund, fallback_value=Refund(amount=1, speed="now"), fallback_policy="complete_with_fallback")
    assert sent["fallback_value"] == {"amount": 1, "card": "old", "speed": "now", "tags": []}


class Nested(BaseModel):
    refund: Refund


class Deep(BaseModel):
    refunds: list[Refund]


class Itself(BaseModel):
    more: list[Itself]


class Nothing(BaseModel):
    pass


@pytest.mark.parametrize(
    ("model", "named"),
    [(Nested, "refund"), (Deep, "refunds"), (Itself, "more"), (Nothing, "no fields"), (dict, "pydantic model")],
)
def test_a_model_that_no_form_can_show_is_refused_by_its_field(model, named):
    with pytest.raises(TypeError, match=f"response_model.*{named}"):
        sent_for(model)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"form_schema": {}}, "form_schema"),
        ({"choices": ["a"]}, "choices"),
        ({"response_type": "text"}, "response_type"),
    ],
)
def test_beside_a_response_model_nothing_else_says_what_the_answer_is(options, named):
    with pytest.raises(ValueError, match=named):
        sent_for(Refund, **options)


def ended(value: Any) -> SuspensionRecord:
    return SuspensionRecord.model_validate(
        {"id": "s", "question": "?", "response_type": "form", "resolution": "responded", "response": value}
    )


def test_the_answer_is_one_of_the_model():
    assert ended({"amount": 5, "speed": "now", "card": "new"}).result(Refund) == Refund(
        amount=5, speed="now", card=Card.NEW
    )


def test_an_answer_that_does_not_fit_names_the_field_and_keeps_the_value_to_itself():
    with pytest.raises(UnfitAnswer, match="Refund: amount") as raised:
        ended({"amount": SECRET, "speed": "now"}).result(Refund)
    assert SECRET not in str(raised.value)
    assert raised.value.suspension.response == {"amount": SECRET, "speed": "now"}
