"""``answers.operators_read: own_groups``: an operator finds only the questions that mean them (API.md §8).

Every route that reads stands in a table with what each role gets there; a route that is new has no place in it yet, and
the test says so. Alice is named by the question, Bob is another operator.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bot.app import build_app
from bot.web.api import streams
from core.store import suspension_lists
from tests.journeys.api.test_api_streams import reading
from tests.journeys.openintent.coordinating import coordinate
from tests.journeys.openintent.portfolios import portfolio_of
from tests.journeys.openintent.test_api_plans import planned
from tests.journeys.openintent.test_api_tasks import created
from tests.workflows import make_workflow, report
from tests.world import World, running

OWN_GROUPS = {"operators_read": "own_groups"}
GROUPS = {"finance": ["alice@example.com"], "legal": ["bob@example.com"]}
QUESTION = "May zebra 4711 be refunded?"

ASKED = {"operator": 200, "second_operator": 404, "admin": 200, "agent": 200, "other_agent": 404}
"""What is about the question."""
AGENTS = {"operator": 404, "second_operator": 404, "admin": 200, "agent": 200, "other_agent": 404}
"""What is about the intent, which is its agents'."""
EVERYBODY = dict.fromkeys(ASKED, 200)
OPERATORS = {**EVERYBODY, "agent": 403, "other_agent": 403}
ADMINS = {**dict.fromkeys(ASKED, 403), "admin": 200}

READS: dict[str, dict[str, int]] = {
    "/suspensions": EVERYBODY,
    "/suspensions/{suspension_id}": ASKED,
    "/suspensions/{suspension_id}/notice": ASKED,
    "/suspensions/{suspension_id}/timeline": ASKED,
    "/suspensions/{suspension_id}/wait": ASKED,
    **dict.fromkeys(
        [
            "/intents/{intent_id}",
            *(f"/intents/{{intent_id}}/{part}" for part in ("agents", "ancestors", "blocked", "children")),
            *(f"/intents/{{intent_id}}/{part}" for part in ("coordinators", "dependencies", "dependents")),
            *(f"/intents/{{intent_id}}/{part}" for part in ("descendants", "events", "failures", "graph", "leases")),
            *(f"/intents/{{intent_id}}/{part}" for part in ("plans", "portfolios", "ready", "retry-policy", "tasks")),
            "/plans/{plan_id}",
            "/portfolios/{portfolio_id}",
            "/portfolios/{portfolio_id}/intents",
            "/tasks/{task_id}",
            "/workflows/{workflow_id}",
            "/coordinators/{coordinator_id}",
            "/sessions/{session_id}",
            "/agents/{agent_id}/callback",
            "/agents/{agent_id}/default-retry-policy",
        ],
        AGENTS,
    ),
    **dict.fromkeys(["/callbacks", "/coordinators", "/intents", "/portfolios", "/subscriptions"], EVERYBODY),
    **dict.fromkeys(["/workflows", "/me", "/pause", "/server/config"], EVERYBODY),
    **dict.fromkeys(["/audit/export", "/audit/verify", "/mail/quarantine"], ADMINS),
    "/inbox": OPERATORS,
    "/insights": {**dict.fromkeys(ASKED, 403), "admin": 200},
    "/mail/quarantine/{digest}": {**ADMINS, "admin": 404},
}
STREAMS = {
    "/events/stream",
    "/intents/{intent_id}/subscribe",
    "/agents/{agent_id}/subscribe",
    "/portfolios/{portfolio_id}/subscribe",
}
LISTS = ("/suspensions", "/callbacks", "/intents", "/portfolios", "/workflows", "/coordinators")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def narrow(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("narrow")
    url = f"sqlite+aiosqlite:///{folder}/handraise.db"
    async with running(folder, url, answers=OWN_GROUPS, groups=GROUPS, people=_people()) as world:
        yield world


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ids(narrow: World) -> dict[str, str]:
    """One of everything, of one agent; the question names Alice's group and she has answered it."""
    world = narrow
    await world.call("PUT", "/v1/sessions/session-1", json={"metadata": {}})
    await world.call("PUT", "/v1/agents/me/callback", json={"url": world.agent.url})
    intent = await world.active_intent()
    task, plan = await created(world, intent), await planned(world, intent)
    portfolio = await portfolio_of(world, "agent", intent)
    workflow = await make_workflow(world, report())
    coordinator = await coordinate(world, intent_id=intent["id"], agent_id="refund-agent")
    policy = {"strategy": "fixed", "max_retries": 1}
    await world.call("PUT", f"/v1/intents/{intent['id']}/retry-policy", json=policy)
    body = {"question": QUESTION, "choices": ["yes"], "responders": ["group:finance"], "resume": {"signal_id": "sig"}}
    body["resume"]["callback_url"] = world.agent.url  # type: ignore[index]
    asked = (await world.call("POST", f"/v1/intents/{intent['id']}/suspend", json=body)).json()
    await world.call("POST", "/v1/subscriptions", json={"intent_id": intent["id"], "webhook_url": world.agent.url})
    await world.settle()
    assert (await world.answer(asked, "yes")).status_code == 200
    await world.settle()
    return {
        "suspension_id": asked["suspension_id"],
        "intent_id": intent["id"],
        "task_id": task["id"],
        "plan_id": plan["id"],
        "portfolio_id": portfolio["id"],
        "workflow_id": workflow["id"],
        "coordinator_id": coordinator["id"],
        "session_id": "session-1",
        "agent_id": "refund-agent",
        "digest": "0" * 64,
    }


def _people() -> list[dict[str, Any]]:
    return [
        {"name": "Alice", "email": "alice@example.com", "slack_user_id": "U0ALICE", "pagerduty_user_id": "PALICE"},
        {"name": "Bob", "email": "bob@example.com", "slack_user_id": "U0BOB", "pagerduty_user_id": "PBOB"},
        {"name": "Carol", "email": "carol@example.com", "slack_user_id": "U0CAROL"},
    ]


def filled(path: str, ids: dict[str, str]) -> str:
    return "/v1" + path.format(**ids)


def test_every_route_that_reads_has_its_place_in_the_table(narrow: World) -> None:
    paths = build_app(narrow.service).openapi()["paths"]
    found = {path.removeprefix("/v1") for path, of in paths.items() if path.startswith("/v1/") and "get" in of}
    assert found == READS.keys() | STREAMS


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("path", READS)
async def test_each_role_reads_what_is_meant_for_it(narrow: World, ids: dict[str, str], path: str) -> None:
    query = {"timeout_seconds": 1} if path.endswith("/wait") else {}
    for role, status in READS[path].items():
        response = await narrow.call("GET", filled(path, ids), role, params=query)
        assert response.status_code == status, (role, response.text)
        finds = role in {"agent", "admin"} or (role == "operator" and "suspensions" in path)
        if not finds and path != "/me":
            about = [QUESTION, ids["suspension_id"], ids["workflow_id"], ids["portfolio_id"], ids["coordinator_id"]]
            assert [one for one in about if one in response.text] == [], role


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "path", ["/suspensions", "/callbacks", "/intents", "/portfolios", "/workflows", "/coordinators"]
)
async def test_lists_hold_for_each_operator_what_they_may_read(narrow: World, ids: dict[str, str], path: str) -> None:
    key = {"/suspensions": "suspension_id", "/callbacks": "suspension_id", "/intents": "intent_id"}.get(path)
    wanted = ids[key or f"{path.strip('/').removesuffix('s')}_id"]
    found = {role: wanted in (await narrow.call("GET", f"/v1{path}", role)).text for role in ASKED}
    reads = path == "/suspensions"
    assert found == {"admin": True, "agent": True, "operator": reads, "second_operator": False, "other_agent": False}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("words", [{"q": "zebra"}, {"status": "responded"}, {"signal_id": "sig"}])
async def test_a_search_finds_no_more_than_the_list(narrow: World, ids: dict[str, str], words: dict[str, str]) -> None:
    for role, count in {"operator": 1, "second_operator": 0, "admin": 1}.items():
        found = (await narrow.call("GET", "/v1/suspensions", role, params=words)).json()
        assert (len(found["items"]), found["next_cursor"]) == (count, None), role


ACTS: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/intents/{intent_id}/suspend/respond", {"suspension_id": "{suspension_id}", "value": "approve"}),
    ("POST", "/intents/{intent_id}/suspend/respond", {"suspension_id": str(uuid.UUID(int=7)), "value": "approve"}),
    ("POST", "/intents/{intent_id}/suspend/respond", {"value": "approve"}),
    ("POST", "/signals/{signal_id}", {"value": "approve"}),
    ("POST", "/suspensions/{suspension_id}/claim", {}),
    ("DELETE", "/suspensions/{suspension_id}/claim", {}),
    ("POST", "/suspensions/{suspension_id}/assign", {"to": "bob@example.com"}),
    ("POST", "/suspensions/{suspension_id}/clarify", {"question": "Why?"}),
    ("POST", "/suspensions/{suspension_id}/cancel", {}),
    ("POST", "/callbacks/{suspension_id}/redrive", {}),
]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize(("method", "path", "body"), ACTS)
async def test_whoever_may_not_read_a_question_can_t_tell_it_from_none(
    narrow: World, method: str, path: str, body: dict[str, Any], is_open: bool
) -> None:
    resume = {"signal_id": f"sig-{uuid.uuid4()}"}
    asked = await narrow.ask(responders=["alice@example.com"], resume=resume)
    if not is_open:
        await narrow.answer(asked, "approve")
    there = {"suspension_id": asked["suspension_id"], "intent_id": asked["intent_id"], **resume}
    absent = {name: str(uuid.uuid4()) for name in there}
    said = [await _acted(narrow, method, path, body, these) for these in (there, absent)]
    assert said[0][0] == 404
    assert said[0] == said[1]


async def _acted(world: World, method: str, path: str, body: dict[str, Any], ids: dict[str, str]) -> tuple[int, Any]:
    body = {name: ids["suspension_id"] if value == "{suspension_id}" else value for name, value in body.items()}
    options: dict[str, Any] = {} if method == "DELETE" else {"json": body}
    response = await world.call(method, "/v1" + path.format(**ids), "second_operator", **options)
    return response.status_code, response.json()["detail"]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("needs_approval", [True, False])
async def test_a_checkpoint_is_found_by_whom_its_question_means(narrow: World, needs_approval: bool) -> None:
    plan = await planned(narrow, await narrow.active_intent())
    body: dict[str, Any] = {"name": "Go live", "requires_approval": needs_approval}
    if needs_approval:
        body["responders"] = ["alice@example.com"]
    made = (await narrow.call("POST", f"/v1/plans/{plan['id']}/checkpoints", json=body)).json()
    absent = await narrow.call("POST", f"/v1/checkpoints/{uuid.uuid4()}/approve", "second_operator", json={})
    hidden = await narrow.call("POST", f"/v1/checkpoints/{made['id']}/approve", "second_operator", json={})
    assert (hidden.status_code, hidden.json()["detail"]) == (404, absent.json()["detail"])
    found = await narrow.call("POST", f"/v1/checkpoints/{made['id']}/approve", "operator", json={})
    assert found.status_code == (200 if needs_approval else 404)


@pytest.mark.asyncio(loop_scope="module")
async def test_an_ambiguous_signal_names_no_key_whose_question_is_hidden(narrow: World) -> None:
    for role in ("agent", "other_agent"):
        body = {"question": "Which?", "choices": ["a"], "responders": ["alice@example.com"]}
        asked = await narrow.call("POST", "/v1/suspensions", role, json={**body, "resume": {"signal_id": "both"}})
        assert asked.status_code == 201
    said = {role: await narrow.call("POST", "/v1/signals/both", role, json={"value": "a"}) for role in ASKED}
    assert said["operator"].json()["detail"]["error"] == "signal_id_ambiguous"
    assert said["second_operator"].json()["detail"]["error"] == "harness_signal_correlation_failed"


@pytest.mark.asyncio(loop_scope="module")
async def test_whoever_may_answer_is_told_what_is_wrong_with_an_answer(narrow: World) -> None:
    """The intent itself they do not find; its question they do."""
    asked = await narrow.ask(responders=["alice@example.com"])
    response = await narrow.call("POST", f"/v1/intents/{asked['intent_id']}/suspend/respond", "operator", json={})
    assert response.json()["detail"]["error"] == "suspension_id_required"


@pytest.mark.asyncio(loop_scope="module")
async def test_a_question_that_names_nobody_is_every_operators(narrow: World) -> None:
    asked = await narrow.ask("Whoever?")
    for role in ("operator", "second_operator"):
        assert (await narrow.call("GET", f"/v1/suspensions/{asked['suspension_id']}", role)).status_code == 200
        listed = (await narrow.call("GET", "/v1/suspensions", role, params={"q": "Whoever"})).json()["items"]
        assert [one["id"] for one in listed] == [asked["suspension_id"]]


@pytest.mark.asyncio(loop_scope="module")
async def test_an_inbox_holds_and_counts_what_waits_for_its_reader(narrow: World) -> None:
    before = (await narrow.call("GET", "/v1/inbox", "operator")).json()["total"]
    asked = await narrow.ask(responders=["alice@example.com"])
    found = {role: (await narrow.call("GET", "/v1/inbox", role)).json() for role in ("operator", "second_operator")}
    assert found["operator"]["total"] == before + 1
    assert asked["suspension_id"] not in str(found["second_operator"])


@pytest.mark.asyncio(loop_scope="module")
async def test_whoever_a_question_is_handed_to_reads_it_from_then_on(narrow: World) -> None:
    asked = await narrow.ask(responders=["alice@example.com"])
    path = f"/v1/suspensions/{asked['suspension_id']}"
    await narrow.call("POST", f"{path}/assign", "operator", json={"to": "bob@example.com"})
    await narrow.answer(asked, "approve", "second_operator")
    for role in ("operator", "second_operator"):
        assert (await narrow.call("GET", path, role)).json()["status"] == "responded"


@pytest.mark.asyncio(loop_scope="module")
async def test_streams_open_for_what_is_ones_own_alone(
    narrow: World, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "REFUSED_AFTER_SECONDS", 0)
    for path in STREAMS - {"/events/stream"}:
        for role in ("operator", "second_operator"):
            assert (await narrow.call("GET", filled(path, ids), role)).status_code == 404, path


async def test_lists_and_streams_pass_over_what_is_not_theirs(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On each database, in parts of every size, although the database looks at few rows for each part."""
    monkeypatch.setattr(suspension_lists, "LOOKED_AT", 3)
    monkeypatch.setattr(suspension_lists, "AT_ONCE", 2)
    async with running(tmp_path, database_url, answers=OWN_GROUPS) as world:
        of = {"operator": [], "second_operator": []}  # type: dict[str, list[str]]
        async with reading(world, role="second_operator") as stream:
            for number in range(8):
                role = "second_operator" if number in {2, 6, 7} else "operator"
                who = "bob@example.com" if role == "second_operator" else "alice@example.com"
                asked = await world.ask(f"Number {number}?", responders=[who], context={"owner": "bob@example.com"})
                of[role].insert(0, asked["suspension_id"])
                await world.advance(seconds=1)
            async with asyncio.timeout(30):
                events = [event for _, event in await stream.read(3)]
        assert [one["payload"]["suspension_id"] for one in events] == of["second_operator"][::-1]
        for role, wanted in of.items():
            for limit in (1, 2, 5, 50):
                assert await _walk(world, role, limit) == wanted


async def _walk(world: World, role: str, limit: int) -> list[str]:
    found: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        page = (await world.call("GET", "/v1/suspensions", role, params={"limit": limit, **cursor})).json()
        assert len(page["items"]) <= limit, json.dumps(page)
        found += [one["id"] for one in page["items"]]
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}
