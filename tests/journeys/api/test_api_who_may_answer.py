"""Who may answer (API.md §2, §4): responders, addressed people, operators; never oneself, never in another's name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from tests.world import KEYS, WEBHOOK_SECRET, World, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHOICES = [{"value": "approve", "label": "Approve"}, {"value": "deny", "label": "Deny"}]
MORE_KEYS: dict[str, dict[str, Any]] = {
    "both": {
        "name": "two-hats",
        "key": "both-key",
        "roles": ["agent", "operator"],
        "webhook_secrets": [WEBHOOK_SECRET],
    },
    "carol": {"name": "carol@example.com", "key": "carol-key", "roles": ["operator"]},
    "dora": {"name": "dora-desk", "key": "dora-key", "roles": ["operator"]},
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def office(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """A service with more kinds of keys."""
    folder = tmp_path_factory.mktemp("office")
    keys = [
        {"name": "refund-agent", "key": KEYS["agent"], "roles": ["agent"], "webhook_secrets": [WEBHOOK_SECRET]},
        {"name": "bob@example.com", "key": KEYS["second_operator"], "roles": ["operator"]},
        {"name": "root", "key": KEYS["admin"], "roles": ["admin"], "webhook_secrets": [WEBHOOK_SECRET]},
        {"name": "alice@example.com", "key": KEYS["operator"], "roles": ["operator"]},
        *MORE_KEYS.values(),
    ]
    url, allow = f"sqlite+aiosqlite:///{folder}/handraise.db", ["*@example.com", "group:*", "slack:*"]
    async with running(folder, url, api_keys=keys, recipients={"allow": allow}) as world:
        yield world


async def answer(world: World, asked: dict[str, Any], who: str, **more: Any) -> httpx.Response:
    path = f"/v1/intents/{asked['intent_id']}/suspend/respond"
    body = {"suspension_id": asked["suspension_id"], "value": "approve", **more}
    key = KEYS.get(who) or MORE_KEYS[who]["key"]
    return await world.call("POST", path, None, json=body, headers={"X-API-Key": str(key)})


async def ask_as(world: World, who: str, **fields: Any) -> dict[str, Any]:
    key = KEYS.get(who) or MORE_KEYS[who]["key"]
    body = {"question": "May I?", "choices": CHOICES, **fields}
    response = await world.call("POST", "/v1/suspensions", None, json=body, headers={"X-API-Key": str(key)})
    assert response.status_code == 201, response.text
    await world.settle()
    asked: dict[str, Any] = response.json()
    return asked


def is_refused(response: httpx.Response, code: str) -> None:
    assert (response.status_code, response.json()["detail"]["error"]) == (403, code), response.text


# --- oneself ----------------------------------------------------------------------------------------------------------


async def test_the_key_that_asked_may_not_answer_though_it_is_an_operators(office: World) -> None:
    asked = await ask_as(office, "both")
    is_refused(await answer(office, asked, "both"), "self_response_forbidden")
    assert (await office.show(asked))["status"] == "open"
    assert (await answer(office, asked, "operator")).status_code == 200


async def test_the_key_that_asked_may_not_answer_by_signal_or_claim(office: World) -> None:
    asked = await ask_as(office, "both", resume={"signal_id": "sig-self"})
    headers = {"X-API-Key": "both-key"}
    signalled = await office.call("POST", "/v1/signals/sig-self", None, json={"value": "approve"}, headers=headers)
    is_refused(signalled, "self_response_forbidden")
    path = f"/v1/suspensions/{asked['suspension_id']}/claim"
    is_refused(await office.call("POST", path, None, json={}, headers=headers), "self_response_forbidden")


async def test_an_admin_that_asked_may_not_answer_in_anybodys_name(office: World) -> None:
    asked = await ask_as(office, "admin")
    is_refused(await answer(office, asked, "admin"), "self_response_forbidden")
    is_refused(await answer(office, asked, "admin", responded_by="alice@example.com"), "self_response_forbidden")
    assert (await office.show(asked))["status"] == "open"


async def test_whom_it_is_asked_for_may_not_answer(office: World) -> None:
    asked = await ask_as(office, "agent", on_behalf_of="Bob@Example.com", responders=["group:finance"])
    is_refused(await answer(office, asked, "second_operator"), "self_response_forbidden")
    is_refused(await answer(office, asked, "admin", responded_by="bob@example.com"), "self_response_forbidden")
    assert (await answer(office, asked, "operator")).status_code == 200


async def test_whom_it_is_asked_for_may_not_press_a_button_either(office: World) -> None:
    asked = await ask_as(office, "agent", question="For Bob?", on_behalf_of="bob@example.com")
    message = await office.slack.expect_message("For Bob?")
    await office.press("U0BOB", message, "Approve")
    assert (await office.show(asked))["status"] == "open"
    await office.press("U0ALICE", message, "Approve")
    assert (await office.show(asked))["responded_by"] == "alice@example.com"


# --- others' names ----------------------------------------------------------------------------------------------------


async def test_nobody_answers_in_anothers_name(office: World) -> None:
    asked = await ask_as(office, "agent")
    is_refused(await answer(office, asked, "second_operator", responded_by="alice@example.com"), "identity_mismatch")
    is_refused(await answer(office, asked, "operator", responded_by="Alice"), "identity_mismatch")
    assert (await office.show(asked))["status"] == "open"


@pytest.mark.parametrize("name", ["alice@example.com", "Alice@Example.COM", " alice@example.com ", None])
async def test_ones_own_name_may_be_said(office: World, name: str | None) -> None:
    asked = await ask_as(office, "agent")
    response = await answer(office, asked, "operator", responded_by=name)
    assert (response.status_code, response.json()["responded_by"]) == (200, "alice@example.com")


async def test_an_admin_is_a_trusted_gateway(office: World) -> None:
    asked = await ask_as(office, "agent", responders=["alice@example.com"])
    is_refused(await answer(office, asked, "admin", responded_by="carol@example.com"), "not_a_responder")
    response = await answer(office, asked, "admin", responded_by="Alice@example.com")
    assert (response.status_code, response.json()["responded_by"]) == (200, "alice@example.com")


async def test_a_gateway_that_names_nobody_answers_as_itself(office: World) -> None:
    asked = await ask_as(office, "agent")
    response = await answer(office, asked, "admin")
    assert (response.status_code, response.json()["responded_by"]) == (200, "root")


async def test_a_key_that_is_no_persons_answers_under_its_name(office: World) -> None:
    asked = await ask_as(office, "agent")
    assert (await answer(office, asked, "dora")).json()["responded_by"] == "dora-desk"


# --- responders -------------------------------------------------------------------------------------------------------


async def test_without_responders_every_operator_may_answer(office: World) -> None:
    for who in ("operator", "second_operator", "carol", "dora"):
        assert (await answer(office, await ask_as(office, "agent"), who)).status_code == 200


async def test_with_responders_nobody_else_may(office: World) -> None:
    asked = await ask_as(office, "agent", responders=["Alice@example.com"])
    for who in ("second_operator", "carol", "dora", "admin"):
        is_refused(await answer(office, asked, who), "not_a_responder")
    assert (await answer(office, asked, "operator")).status_code == 200


@pytest.mark.parametrize(("who", "status"), [("operator", 200), ("second_operator", 200), ("carol", 403)])
async def test_a_group_answers_by_its_members(office: World, who: str, status: int) -> None:
    asked = await ask_as(office, "agent", responders=["group:finance"])
    assert (await answer(office, asked, who)).status_code == status


async def test_whoever_an_attempt_has_addressed_may_answer_from_then_on(office: World) -> None:
    rungs = [{"attempt": 2, "channel_hint": "email", "notify_to": "carol@example.com"}]
    policy = {"max_attempts": 2, "interval_seconds": 60, "escalation_ladder": rungs}
    fields: dict[str, Any] = {"timeout_seconds": 60, "retry_policy": policy}
    asked = await ask_as(office, "agent", responders=["alice@example.com"], **fields)
    is_refused(await answer(office, asked, "carol"), "not_a_responder")
    await office.advance(seconds=60)
    assert (await answer(office, asked, "carol")).status_code == 200


@pytest.mark.parametrize("notify_to", ["carol@example.com", "slack:U0CAROL"])
async def test_a_person_addressed_on_slack_may_answer(office: World, notify_to: str) -> None:
    asked = await ask_as(office, "agent", responders=["alice@example.com"], notify_to=notify_to)
    assert (await answer(office, asked, "carol")).status_code == 200


async def test_an_addressed_group_may_answer(office: World) -> None:
    asked = await ask_as(office, "agent", responders=["carol@example.com"], notify_to="group:finance")
    assert (await answer(office, asked, "second_operator")).status_code == 200


async def test_a_slack_channel_addresses_nobody(office: World) -> None:
    asked = await ask_as(
        office, "agent", question="In the channel?", responders=["alice@example.com"], notify_to="slack:C0OPS"
    )
    message = await office.slack.expect_message("In the channel?")
    await office.press("U0CAROL", message, "Approve")
    is_refused(await answer(office, asked, "carol"), "not_a_responder")
    assert (await office.show(asked))["status"] == "open"
    await office.press("U0ALICE", message, "Approve")
    assert (await office.show(asked))["responded_by"] == "alice@example.com"


async def test_the_reason_travels_to_the_agent(office: World) -> None:
    asked = await ask_as(office, "agent", resume={"callback_url": office.agent.url})
    metadata = {"reason": "limit exceeded", "ticket": "T-1"}
    response = await answer(office, asked, "operator", metadata=metadata)
    assert response.status_code == 200
    data = (await office.told(asked))["data"]
    assert (data["reason"], data["metadata"]) == ("limit exceeded", metadata)
    assert data["signal_payload"] == {"response": "approve", "reason": "limit exceeded"}


@pytest.mark.parametrize("reason", [5, ["a"], {"text": "a"}, "x" * 100_000])
async def test_a_reason_is_a_text(office: World, reason: Any) -> None:
    asked = await ask_as(office, "agent")
    assert (await answer(office, asked, "operator", metadata={"reason": reason})).status_code == 422
    assert (await office.show(asked))["status"] == "open"


async def test_in_development_one_may_answer_oneself(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("development")
    keys = [MORE_KEYS["both"], {"name": "root", "key": KEYS["admin"], "roles": ["admin"]}]
    url = f"sqlite+aiosqlite:///{folder}/handraise.db"
    async with running(folder, url, api_keys=keys, answers={"allow_self_response": True}) as world:
        asked = await ask_as(world, "both")
        assert (await answer(world, asked, "both")).status_code == 200
