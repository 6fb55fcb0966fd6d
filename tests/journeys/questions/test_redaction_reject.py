"""``redaction.policy: reject`` (API.md §2): a question with secrets is refused before anything is stored."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.world import World, running

CARD = "4111 1111 1111 1111"
BODY: dict[str, Any] = {
    "question": f"Charge {CARD}?",
    "choices": [
        {"value": "a", "label": "Yes"},
        {"value": "b", "label": "No", "description": "IBAN DE89370400440532013000"},
    ],
    "context": {"order_id": "12345", "customer": {"api_key": "letmein", "mails": ["bob@shop.example"]}},
}
CLEAN = {"question": "Refund order 12345?", "response_type": "confirm", "context": {"amount": 499.99}}
SECRETS = ("4111", "letmein", "bob@", "DE89")


@pytest.fixture
async def strict(tmp_path: Path, sqlite_url: str) -> AsyncIterator[World]:
    async with running(tmp_path, sqlite_url, redaction={"policy": "reject"}) as world:
        yield world


@pytest.fixture
async def pager_strict(tmp_path: Path, sqlite_url: str) -> AsyncIterator[World]:
    """Only PagerDuty rejects; the others redact."""
    async with running(tmp_path, sqlite_url, redaction={"channels": {"pagerduty": {"policy": "reject"}}}) as world:
        yield world


async def test_it_is_refused_with_each_field_and_kind_and_never_the_content(strict: World) -> None:
    response = await strict.call("POST", "/v1/suspensions", json=BODY)
    assert response.status_code == 422
    detail = response.json()["detail"]
    assert detail["error"] == "sensitive_content"
    assert [field["path"] for field in detail["fields"]] == [
        "question",
        "choices.1.description",
        "context.customer.api_key",
        "context.customer.mails.0",
    ]
    kinds = ("card number", "IBAN", "access token", "e-mail address")
    for field, kind in zip(detail["fields"], kinds, strict=True):
        assert kind in field["message"]
    assert [secret for secret in SECRETS if secret in response.text] == []


async def test_nothing_is_stored_and_nobody_is_asked(strict: World) -> None:
    intent = await strict.active_intent()
    for path in ("/v1/suspensions", f"/v1/intents/{intent['id']}/suspend"):
        assert (await strict.call("POST", path, json=BODY)).status_code == 422
    await strict.settle()
    assert (await strict.call("GET", "/v1/suspensions", "admin")).json()["items"] == []
    assert strict.slack.workspace.posted() == []
    assert (await strict.call("GET", f"/v1/intents/{intent['id']}")).json()["status"] == "active"


async def test_a_preview_names_the_same_as_problems(strict: World) -> None:
    response = await strict.call("POST", "/v1/suspensions/preview", json=BODY)
    assert response.status_code == 200
    problems = response.json()["problems"]
    assert [(one["attempt"], one["code"]) for one in problems] == [(1, "sensitive_content")] * 4
    assert "context.customer.api_key" in problems[2]["message"]
    assert [secret for secret in SECRETS if secret in response.text] == []


async def test_an_ordinary_question_is_asked(strict: World) -> None:
    assert (await strict.call("POST", "/v1/suspensions", json=CLEAN)).status_code == 201
    await strict.settle()
    assert len(strict.slack.workspace.posted()) == 1


async def test_what_only_the_agent_gets_back_is_its_own_affair(strict: World) -> None:
    body = {**CLEAN, "resume": {"state": {"password": "hunter2"}}}
    assert (await strict.call("POST", "/v1/suspensions", json=body)).status_code == 201


async def test_an_action_is_shown_and_so_its_secrets_refuse_the_question(strict: World) -> None:
    body = {**CLEAN, "action": {"tool": "charge", "card": CARD}}
    response = await strict.call("POST", "/v1/suspensions", json=body)
    assert (response.status_code, response.json()["detail"]["error"]) == (422, "sensitive_content")
    assert [one["path"] for one in response.json()["detail"]["fields"]] == ["action.card"]


async def test_only_a_channel_that_an_attempt_goes_through_rejects(pager_strict: World) -> None:
    world = pager_strict
    await world.ask(BODY["question"], choices=BODY["choices"], context=BODY["context"])
    assert "Charge [redacted: card number]?" in repr(world.slack.workspace.posted())
    ladder = [{"attempt": 2, "channel_hint": "pagerduty"}]
    policy = {"max_attempts": 2, "interval_seconds": 60, "escalation_ladder": ladder}
    response = await world.call("POST", "/v1/suspensions", json={**BODY, "retry_policy": policy})
    assert (response.status_code, response.json()["detail"]["error"]) == (422, "sensitive_content")
    shown = await world.call("POST", "/v1/suspensions/preview", json={**BODY, "retry_policy": policy})
    assert {one["attempt"] for one in shown.json()["problems"]} == {2}


async def test_a_person_who_answers_with_a_secret_is_not_refused_but_redacted(strict: World) -> None:
    asked = await strict.ask("Which account?", response_type="text")
    assert (await strict.answer(asked, f"the one of {CARD}")).status_code == 200
    await strict.settle()
    assert "4111" not in repr(strict.slack.workspace.messages)
