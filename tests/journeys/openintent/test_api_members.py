"""Several agents on an intent (API.md §7, "Whose an intent is"): owner and members, of whom none answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.world import KEYS, WEBHOOK_SECRET, World, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION = {"question": "Refund?", "response_type": "confirm"}
HELPER_KEY = {"X-API-Key": "helper-key"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def team(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """A service whose ``helper`` is an agent and an operator at once: it could answer, but for what it works on."""
    folder = tmp_path_factory.mktemp("team")
    keys = [
        {"name": "refund-agent", "key": KEYS["agent"], "roles": ["agent"], "webhook_secrets": [WEBHOOK_SECRET]},
        {"name": "other-agent", "key": KEYS["other_agent"], "roles": ["agent"], "webhook_secrets": [WEBHOOK_SECRET]},
        {"name": "helper", "key": "helper-key", "roles": ["agent", "operator"]},
        {"name": "alice@example.com", "key": KEYS["operator"], "roles": ["operator"]},
        {"name": "root", "key": KEYS["admin"], "roles": ["admin"]},
    ]
    async with running(folder, f"sqlite+aiosqlite:///{folder}/handraise.db", api_keys=keys) as world:
        yield world


async def added(world: World, intent: dict[str, Any], agent: str, role: str = "worker", by: str = "agent") -> Any:
    body = {"agent_id": agent, "role": role}
    response = await world.call("POST", f"/v1/intents/{intent['id']}/agents", by, json=body)
    assert response.status_code == 200, response.text
    return response.json()


async def suspended(world: World, intent: dict[str, Any], by: str = "agent") -> dict[str, Any]:
    response = await world.call("POST", f"/v1/intents/{intent['id']}/suspend", by, json=QUESTION)
    assert response.status_code == 201, response.text
    outcome: dict[str, Any] = response.json()
    return outcome


async def answered_by_helper(world: World, asked: dict[str, Any]) -> tuple[int, Any]:
    body = {"suspension_id": asked["suspension_id"], "value": "yes"}
    path = f"/v1/intents/{asked['intent_id']}/suspend/respond"
    response = await world.call("POST", path, None, json=body, headers=HELPER_KEY)
    return response.status_code, response.json().get("detail", {}).get("error")


async def test_members_are_added_listed_and_removed(room: World) -> None:
    intent = await room.active_intent()
    member = await added(room, intent, "other-agent", "reviewer")
    assert (member["intent_id"], member["agent_id"], member["role"]) == (intent["id"], "other-agent", "reviewer")
    listed = await room.call("GET", f"/v1/intents/{intent['id']}/agents")
    assert listed.json() == {"agents": [member]}
    path = f"/v1/intents/{intent['id']}/agents/other-agent"
    assert (await room.call("DELETE", path)).status_code == 200
    assert (await room.call("DELETE", path)).status_code == 404
    assert (await room.call("GET", f"/v1/intents/{intent['id']}/agents")).json() == {"agents": []}
    log = (await room.call("GET", f"/v1/intents/{intent['id']}/events")).json()["events"]
    said = [(line["event_type"], line["payload"]) for line in log[1:]]
    assert said == [
        ("agent_assigned", {"agent_id": "other-agent", "role": "reviewer"}),
        ("agent_unassigned", {"agent_id": "other-agent", "role": "reviewer"}),
    ]


async def test_adding_a_member_again_changes_its_role_alone(room: World) -> None:
    intent = await room.active_intent()
    first = await added(room, intent, "other-agent")
    assert await added(room, intent, "other-agent") == first
    again = await added(room, intent, "other-agent", "lead")
    assert again == {**first, "role": "lead"}
    log = (await room.call("GET", f"/v1/intents/{intent['id']}/events")).json()["events"]
    assert [line["event_type"] for line in log].count("agent_assigned") == 2
    assert (await room.intent({"intent_id": intent["id"]}))["version"] == intent["version"]


async def test_a_member_reads_patches_logs_and_finds_the_intent(room: World) -> None:
    intent = await room.active_intent("shared work")
    path = f"/v1/intents/{intent['id']}"
    assert (await room.call("GET", path, "other_agent")).status_code == 404
    await added(room, intent, "other-agent")
    assert (await room.call("GET", path, "other_agent")).json()["id"] == intent["id"]
    patch = {"patches": [{"op": "set", "path": "page", "value": 2}]}
    patched = await room.call("POST", f"{path}/state", "other_agent", json=patch, headers={"If-Match": "1"})
    assert (patched.status_code, patched.json()["state"]) == (200, {"page": 2})
    logged = await room.call("POST", f"{path}/events", "other_agent", json={"event_type": "note.taken"})
    assert (logged.status_code, logged.json()["actor"]) == (200, "other-agent")
    found = (await room.call("GET", "/v1/intents", "other_agent", params={"limit": 100})).json()["intents"]
    assert intent["id"] in [one["id"] for one in found]


async def test_status_and_agents_are_the_owners_and_admins(room: World) -> None:
    intent = await room.active_intent()
    await added(room, intent, "other-agent")
    path, head = f"/v1/intents/{intent['id']}", {"If-Match": "1"}
    moved = await room.call("POST", f"{path}/status", "other_agent", json={"status": "completed"}, headers=head)
    assert (moved.status_code, moved.json()["detail"]["error"]) == (403, "forbidden")
    more = await room.call("POST", f"{path}/agents", "other_agent", json={"agent_id": "third"})
    assert (more.status_code, more.json()["detail"]["error"]) == (403, "forbidden")
    assert (await room.call("DELETE", f"{path}/agents/other-agent", "other_agent")).status_code == 403
    await added(room, intent, "third", by="admin")
    moved = await room.call("POST", f"{path}/status", "admin", json={"status": "completed"}, headers=head)
    assert moved.status_code == 200


async def test_another_keys_intent_has_no_agents_to_be_found(room: World) -> None:
    intent = await room.active_intent()
    path = f"/v1/intents/{intent['id']}/agents"
    assert (await room.call("GET", path, "other_agent")).status_code == 404
    assert (await room.call("POST", path, "other_agent", json={"agent_id": "other-agent"})).status_code == 404
    assert (await room.call("DELETE", f"{path}/x", "other_agent")).status_code == 404
    assert (await room.call("GET", path)).json() == {"agents": []}


NO_MEMBERS: list[dict[str, Any]] = [
    {},
    {"agent_id": ""},
    {"agent_id": 7},
    {"agent_id": "a\nb"},
    {"agent_id": "a", "x": 1},
]


@pytest.mark.parametrize("body", NO_MEMBERS)
async def test_a_member_that_can_not_be_is_refused(room: World, body: dict[str, Any]) -> None:
    intent = await room.active_intent()
    response = await room.call("POST", f"/v1/intents/{intent['id']}/agents", json=body)
    assert response.status_code == 422, response.text
    assert response.json()["detail"]["fields"]


async def test_the_member_that_suspends_is_the_one_that_is_called_back_and_may_cancel(team: World) -> None:
    intent = await team.active_intent()
    await added(team, intent, "other-agent")
    body = {**QUESTION, "resume": {"callback_url": team.agent.url}}
    asked = (await team.call("POST", f"/v1/intents/{intent['id']}/suspend", "other_agent", json=body)).json()
    assert asked["suspension"]["created_by"] == "other-agent"
    path = f"/v1/suspensions/{asked['suspension_id']}"
    assert (await team.call("GET", path)).status_code == 200
    refused = await team.call("POST", f"{path}/cancel", json={})
    assert (refused.status_code, refused.json()["detail"]["error"]) == (403, "forbidden")
    assert (await team.call("POST", f"{path}/cancel", "other_agent", json={})).status_code == 200
    assert (await team.told(asked))["type"] == "intent.suspension_cancelled"


async def test_whoever_is_neither_owner_nor_member_suspends_nothing(team: World) -> None:
    intent = await team.active_intent()
    refused = await team.call("POST", f"/v1/intents/{intent['id']}/suspend", "other_agent", json=QUESTION)
    assert (refused.status_code, refused.json()["detail"]["error"]) == (404, "not_found")
    assert (await team.call("GET", f"/v1/intents/{intent['id']}")).json()["status"] == "active"


async def test_neither_owner_nor_member_answers(team: World) -> None:
    """``helper`` may answer other questions: it is the intent that shuts it out."""
    alone = await suspended(team, await team.active_intent())
    assert await answered_by_helper(team, alone) == (200, None)
    intent = await team.active_intent()
    await added(team, intent, "helper")
    asked = await suspended(team, intent)
    assert await answered_by_helper(team, asked) == (403, "self_response_forbidden")
    assert (await team.answer(asked, "yes")).status_code == 200


async def test_the_owner_does_not_answer_what_a_member_asks(team: World) -> None:
    response = await team.call("POST", "/v1/intents", None, json={"title": "t", "status": "active"}, headers=HELPER_KEY)
    intent = response.json()
    await added(team, intent, "refund-agent", by="admin")
    assert await answered_by_helper(team, await suspended(team, intent)) == (403, "self_response_forbidden")


async def test_who_joins_while_a_question_is_open_does_not_answer_it_even_after_leaving(team: World) -> None:
    intent = await team.active_intent()
    asked = await suspended(team, intent)
    await added(team, intent, "helper")
    assert await answered_by_helper(team, asked) == (403, "self_response_forbidden")
    left = await team.call("DELETE", f"/v1/intents/{intent['id']}/agents/helper")
    assert left.status_code == 200
    assert await answered_by_helper(team, asked) == (403, "self_response_forbidden")
    assert (await team.answer(asked, "yes")).status_code == 200
    assert await answered_by_helper(team, await suspended(team, intent)) == (200, None)


async def test_those_who_work_on_the_intent_are_not_counted_among_those_who_may_answer(team: World) -> None:
    """Two answers are needed, and of Alice and Bob only Alice may give one while Bob works on the intent."""
    intent = await team.active_intent()
    body = {**QUESTION, "responders": ["alice@example.com", "bob@example.com"], "answers_required": 2}
    path = f"/v1/intents/{intent['id']}/suspend"
    await added(team, intent, "bob@example.com")
    refused = await team.call("POST", path, json=body)
    assert (refused.status_code, refused.json()["detail"]["error"]) == (422, "answers_unreachable")
    await team.call("DELETE", f"/v1/intents/{intent['id']}/agents/bob@example.com")
    assert (await team.call("POST", path, json=body)).status_code == 201
