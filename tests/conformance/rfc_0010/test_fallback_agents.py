"""RFC-0010, "Fallback Agents": who goes on once retries are exhausted, and how it learns of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest

from core.openintent.store.tables import intent_leases
from tests.conformance.rfc_0010.failing import (
    BACKUP,
    OWNER,
    Backup,
    fail,
    failures,
    intent_with,
    logged,
    members,
    set_policy,
)
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

FIXED: dict[str, Any] = {"strategy": "fixed", "fallback_agent_id": BACKUP}
TRIGGERED = "fallback_triggered"


async def tell_at(world: World, url: str | None, agent: str = BACKUP, role: str = "other_agent") -> httpx.Response:
    return await world.call("PUT", f"/v1/agents/{agent}/callback", role, json={"url": url})


async def test_once_retries_are_exhausted_the_fallback_agent_takes_over(room: World) -> None:
    intent = await intent_with(room, **FIXED, max_retries=1, failure_threshold=100)
    path = f"/v1/intents/{intent['id']}"
    await fail(room, intent)
    assert (await room.call("GET", path, "other_agent")).status_code == 404
    last = await fail(room, intent)
    assert (last["retry_scheduled_at"], last["fallback_agent_id"]) == (None, BACKUP)
    assert await members(room, intent) == {BACKUP: "fallback"}
    assert await logged(room, intent, TRIGGERED) == [
        {
            "from_agent_id": OWNER,
            "to_agent_id": BACKUP,
            "reason": "retries_exhausted",
            "failure_id": last["id"],
            "attempt_number": 2,
            "task_id": None,
        }
    ]


async def test_the_state_and_the_failures_are_there_for_the_fallback_agent(room: World) -> None:
    intent = await intent_with(room, **FIXED, max_retries=0)
    path = f"/v1/intents/{intent['id']}"
    patch = {"patches": [{"op": "set", "path": "cart", "value": 7}]}
    await room.call("POST", f"{path}/state", json=patch, headers={"If-Match": "1"})
    failed = await fail(room, intent, error_message="No stock.", metadata={"http_status": 429})
    assert (await room.call("GET", path, "other_agent")).json()["state"] == {"cart": 7}
    [seen] = await failures(room, intent, "other_agent")
    assert seen == failed


async def hold(world: World, intent: dict[str, Any], scope: str, agent: str = OWNER) -> None:
    """A lease of an hour, taken half an hour ago."""
    now = world.clock.now()
    lease = {"id": f"{intent['id']} {scope}", "intent_id": intent["id"], "agent_id": agent, "scope": scope}
    times = {"acquired_at": now - timedelta(minutes=30), "expires_at": now + timedelta(minutes=30)}
    values = {**lease, **times, "status": "active"}
    await world.service.database.write(lambda tx: tx.conn.execute(intent_leases.insert().values(**values)))


async def test_the_leases_of_the_agent_that_failed_are_released_and_taken_by_the_fallback_agent(room: World) -> None:
    intent = await intent_with(room, **FIXED, max_retries=0)
    await hold(room, intent, "research")
    await hold(room, intent, "writing", "somebody-else")
    now = room.clock.now()
    await fail(room, intent)
    table = intent_leases.select().where(intent_leases.c.intent_id == intent["id"])
    rows = await room.service.database.read(lambda conn: conn.execute(table).all())
    assert sorted((row.scope, row.agent_id, row.status) for row in rows) == [
        ("research", BACKUP, "active"),
        ("research", OWNER, "released"),
        ("writing", "somebody-else", "active"),
    ]
    [taken] = [row for row in rows if row.agent_id == BACKUP]
    assert (taken.acquired_at, taken.expires_at) == (now, now + timedelta(hours=1))
    [released] = await logged(room, intent, "lease_released")
    [acquired] = await logged(room, intent, "lease_acquired")
    assert (released["agent_id"], released["scope"]) == (OWNER, "research")
    assert (acquired["agent_id"], acquired["scope"], acquired["lease_id"]) == (BACKUP, "research", taken.id)


async def test_the_fallback_agent_is_told_at_its_own_url(room: World, backup: Backup) -> None:
    assert (await tell_at(room, backup.url)).status_code == 200
    intent = await intent_with(room, **FIXED, max_retries=0)
    failed = await fail(room, intent)
    await room.settle()
    told = backup.told[-1]
    [lease] = told["data"].pop("leases")
    assert lease["scope"] == "fallback", "the failing agent held none"
    held = (await room.call("GET", f"/v1/intents/{intent['id']}/leases", "admin")).json()["leases"]
    assert [(one["agent_id"], one["scope"], one["id"]) for one in held] == [(BACKUP, "fallback", lease["id"])]
    assert told["type"] == TRIGGERED and told["timestamp"] == failed["occurred_at"]
    assert told["data"] == {
        "intent_id": intent["id"],
        "status": "active",
        "suspension_id": None,
        "task_id": None,
        "from_agent_id": OWNER,
        "to_agent_id": BACKUP,
        "reason": "retries_exhausted",
        "failure_id": failed["id"],
        "attempt_number": 1,
        "error_code": "TIMEOUT",
    }
    assert [one["data"]["intent_id"] for one in backup.told].count(intent["id"]) == 1


async def test_clearing_the_url_is_said_in_so_many_words(room: World) -> None:
    path = f"/v1/agents/{BACKUP}/callback"
    before = (await room.call("GET", path, "admin")).json()
    refused = await room.call("PUT", path, "admin", json={})
    assert (refused.status_code, refused.json()["detail"]["fields"][0]["path"]) == (422, "url")
    assert (await room.call("GET", path, "admin")).json() == before


async def test_without_a_url_it_is_told_by_the_log_alone(room: World, backup: Backup) -> None:
    assert (await tell_at(room, None)).json() == {"agent_id": BACKUP, "url": None}
    before = len(backup.told)
    intent = await intent_with(room, **FIXED, max_retries=0)
    await fail(room, intent)
    await room.settle()
    assert len(backup.told) == before and len(await logged(room, intent, TRIGGERED)) == 1


async def test_what_tells_the_fallback_agent_is_tried_again_like_any_callback(room: World, backup: Backup) -> None:
    await tell_at(room, backup.url)
    backup.answers += [500, 503]
    intent = await intent_with(room, **FIXED, max_retries=0)
    before = len(backup.ids)
    await fail(room, intent)
    await room.advance(minutes=1)
    assert len(backup.ids) == before + 3 and len(set(backup.ids[before:])) == 1
    items = (await room.call("GET", "/v1/callbacks", "other_agent")).json()["items"]
    [shown] = [one for one in items if one["id"] == backup.ids[-1]]
    assert (shown["suspension_id"], shown["status"], shown["type"]) == (None, "delivered", TRIGGERED)
    mine = (await room.call("GET", "/v1/callbacks")).json()["items"]
    assert shown["id"] not in [one["id"] for one in mine]


async def test_a_fallback_agent_that_refuses_to_be_told_is_nobodys_failure(room: World, backup: Backup) -> None:
    await tell_at(room, backup.url)
    backup.answers += [410]
    intent = await intent_with(room, **FIXED, max_retries=0)
    await fail(room, intent)
    await room.advance(minutes=1)
    [refused] = (await room.call("GET", "/v1/callbacks?status=refused", "other_agent")).json()["items"]
    assert len(await failures(room, intent)) == 1 and len(await logged(room, intent, TRIGGERED)) == 1
    redrive = f"/v1/callbacks/{refused['id']}/redrive"
    assert (await room.call("POST", redrive)).status_code == 404
    assert (await room.call("POST", redrive, "other_agent")).status_code == 200
    await room.settle()
    assert backup.ids[-1] == refused["id"] and backup.told[-1]["data"]["intent_id"] == intent["id"]


async def test_further_failures_trigger_nothing_further(room: World) -> None:
    intent = await intent_with(room, **FIXED, max_retries=0)
    recorded = [await fail(room, intent) for _ in range(3)]
    assert [one["fallback_agent_id"] for one in recorded] == [BACKUP, None, None]
    assert len(await logged(room, intent, TRIGGERED)) == 1


async def test_the_fallback_agent_that_fails_hands_over_to_nobody(room: World) -> None:
    intent = await intent_with(room, **FIXED, max_retries=0)
    await fail(room, intent)
    own = await fail(room, intent, "other_agent")
    assert (own["retry_scheduled_at"], own["fallback_agent_id"]) == (None, None)
    assert len(await logged(room, intent, TRIGGERED)) == 1


async def test_another_fallback_agent_takes_over_from_the_first(room: World) -> None:
    intent = await intent_with(room, **FIXED, max_retries=0)
    await fail(room, intent)
    await set_policy(room, intent, strategy="fixed", max_retries=0, fallback_agent_id="third-agent")
    assert (await fail(room, intent, "other_agent"))["fallback_agent_id"] == "third-agent"
    taken = [(one["from_agent_id"], one["to_agent_id"]) for one in await logged(room, intent, TRIGGERED)]
    assert taken == [(OWNER, BACKUP), (BACKUP, "third-agent")]


async def test_once_its_failure_is_resolved_another_exhaustion_is_one_of_its_own(room: World) -> None:
    intent = await intent_with(room, **FIXED, max_retries=0)
    first = await fail(room, intent)
    await room.call("POST", f"/v1/intents/{intent['id']}/failures/{first['id']}/resolve", "other_agent")
    assert (await fail(room, intent))["fallback_agent_id"] == BACKUP
    assert len(await logged(room, intent, TRIGGERED)) == 2
    assert await members(room, intent) == {BACKUP: "fallback"}


@pytest.mark.parametrize("fallback", [None, OWNER])
async def test_with_nobody_else_to_go_on_it_is_only_recorded(room: World, fallback: str | None) -> None:
    intent = await intent_with(room, strategy="fixed", max_retries=0, fallback_agent_id=fallback)
    failed = await fail(room, intent)
    assert (failed["retry_scheduled_at"], failed["fallback_agent_id"]) == (None, None)
    [said] = await logged(room, intent, "failure_recorded")
    assert said["exhausted"] is True
    assert await logged(room, intent, TRIGGERED) == [] and await members(room, intent) == {}


async def test_an_intent_that_has_ended_is_taken_over_by_nobody(room: World) -> None:
    intent = await intent_with(room, **FIXED, max_retries=0)
    path = f"/v1/intents/{intent['id']}/status"
    await room.call("POST", path, json={"status": "completed"}, headers={"If-Match": "1"})
    failed = await fail(room, intent, retry_scheduled_at="2100-01-01T00:00:00Z")
    assert (failed["retry_scheduled_at"], failed["fallback_agent_id"]) == (None, None)
    assert await logged(room, intent, TRIGGERED) == []


async def test_a_member_keeps_its_role_and_is_not_added_twice(room: World) -> None:
    intent = await intent_with(room, **FIXED, max_retries=0)
    body = {"agent_id": BACKUP, "role": "reviewer"}
    await room.call("POST", f"/v1/intents/{intent['id']}/agents", json=body)
    await fail(room, intent)
    assert await members(room, intent) == {BACKUP: "reviewer"}


async def test_an_open_question_stays_and_its_answer_goes_to_whoever_asked(room: World, backup: Backup) -> None:
    """RFC-0025 §2: the intent waits for its answer, whoever works on it."""
    await tell_at(room, backup.url)
    asked = await room.ask()
    intent = {"id": asked["intent_id"]}
    await set_policy(room, intent, **FIXED, max_retries=0)
    await fail(room, intent)
    await room.settle()
    told = backup.told[-1]["data"]
    assert (told["status"], told["suspension_id"]) == ("suspended_awaiting_input", asked["suspension_id"])
    assert (await room.answer(asked, "approve")).status_code == 200
    assert (await room.told(asked))["data"]["value"] == "approve"
    assert (await room.call("GET", f"/v1/suspensions/{asked['suspension_id']}", "other_agent")).status_code == 200


async def test_who_takes_over_answers_no_question_of_the_intent(room: World) -> None:
    asked = await room.ask()
    intent = {"id": asked["intent_id"]}
    await set_policy(room, intent, strategy="none", fallback_agent_id="root")
    await fail(room, intent)
    refused = await room.answer(asked, "approve", "admin")
    assert (refused.status_code, refused.json()["detail"]["error"]) == (403, "self_response_forbidden")


# --- where it is told -----------------------------------------------------------------------------------------------


async def test_an_agents_url_is_its_own_or_an_admins_to_set(room: World) -> None:
    path, url = f"/v1/agents/{OWNER}/callback", "https://agent.example/told?token=secret"
    assert (await tell_at(room, url, OWNER, "other_agent")).status_code == 403
    assert (await tell_at(room, url, OWNER, "operator")).status_code == 403
    assert (await tell_at(room, url, OWNER, "admin")).status_code == 200
    assert (await room.call("GET", path)).json() == {"agent_id": OWNER, "url": url}
    assert (await room.call("GET", "/v1/agents/me/callback")).json() == {"agent_id": OWNER, "url": url}
    assert (await room.call("GET", path, "operator")).json()["url"] == "https://agent.example/told"
    assert (await room.call("GET", path, "other_agent")).status_code == 404
    assert (await tell_at(room, None, OWNER, "agent")).json()["url"] is None
    assert (await room.call("GET", path)).json() == {"agent_id": OWNER, "url": None}


@pytest.mark.parametrize("url", ["http://10.0.0.1/told", "ftp://agent.example/", "http://169.254.169.254/latest"])
async def test_a_url_that_may_not_be_called_is_refused(room: World, url: str) -> None:
    response = await tell_at(room, url)
    assert (response.status_code, response.json()["detail"]["error"]) == (422, "callback_not_allowed")
    assert response.json()["detail"]["fields"][0]["path"] == "url"


async def test_without_a_secret_to_sign_with_there_is_no_url(room: World) -> None:
    response = await tell_at(room, "https://agent.example/told", "alice@example.com", "admin")
    assert (response.status_code, response.json()["detail"]["error"]) == (422, "callback_not_allowed")


@pytest.mark.parametrize("body", [{"url": ""}, {"url": 5}, {"url": "https://a.example/" + "x" * 2000}])
async def test_what_is_no_url_is_refused(room: World, body: Any) -> None:
    response = await room.call("PUT", f"/v1/agents/{BACKUP}/callback", "other_agent", json=body)
    assert response.status_code == 422 and response.json()["detail"]["fields"][0]["path"] == "url"
