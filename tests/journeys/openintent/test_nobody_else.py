"""Whatever a stranger, a member, a coordinator or a lease holder calls, the owner's question stays as it was asked, and
so does what only the owner moves (API.md §7, "Whose an intent is")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from tests.world import World

STRANGER, MEMBER, COORDINATOR, HOLDER = "stranger", "member", "coordinator", "lease holder"
ACTION = {"tool": "refund"}
BACKUP = "agent-backup"
"""Named by the owner's retry policy: it joins when an agent that works on the intent fails (RFC-0010)."""


@dataclass(frozen=True, slots=True)
class Call:
    """One route, called on what is the owner's, which ``path`` and ``body`` name in braces: how a stranger's call ends,
    and how that of an agent which works on the intent."""

    path: str
    body: Any = None
    stranger: int = 404
    worker: int = 403


CALLS: Mapping[str, Call] = {
    # The question
    "POST /intents/{intent_id}/suspend": Call(
        "/intents/{asking}/suspend", {"question": "Mine?", "response_type": "confirm"}, worker=409
    ),
    "POST /intents/{intent_id}/suspend/respond": Call(
        "/intents/{asking}/suspend/respond", {"suspension_id": "{question}", "value": "approve"}, stranger=403
    ),
    "POST /signals/{signal_id}": Call("/signals/signal-1", {"value": "approve"}, stranger=403),
    "POST /suspensions/{suspension_id}/cancel": Call("/suspensions/{question}/cancel", {}),
    "POST /suspensions/{suspension_id}/outcome": Call("/suspensions/{question}/outcome", {"status": "done"}),
    "POST /suspensions/{suspension_id}/claim": Call("/suspensions/{question}/claim", {}, stranger=403),
    "DELETE /suspensions/{suspension_id}/claim": Call("/suspensions/{question}/claim", stranger=403),
    "POST /suspensions/{suspension_id}/assign": Call(
        "/suspensions/{question}/assign", {"to": "bob@example.com"}, stranger=403
    ),
    "POST /suspensions/{suspension_id}/clarify": Call(
        "/suspensions/{question}/clarify", {"question": "Why?"}, stranger=403
    ),
    "POST /suspensions/{suspension_id}/clarification": Call(
        "/suspensions/{asked_back}/clarification", {"text": "So."}, worker=404
    ),
    "POST /callbacks/{callback_id}/redrive": Call("/callbacks/{callback}/redrive", {}, worker=404),
    "POST /receipts/verify": Call(
        "/receipts/verify", {"receipt": "{receipt}", "action": ACTION, "when": "approve"}, stranger=422, worker=422
    ),
    # The intent
    "POST /intents/{intent_id}/status": Call("/intents/{asking}/status", {"status": "abandoned"}),
    "POST /intents/{intent_id}/state": Call(
        "/intents/{asking}/state", {"patches": [{"op": "set", "path": "/_suspension", "value": {}}]}
    ),
    "POST /intents/{intent_id}/events": Call(
        "/intents/{asking}/events", {"event_type": "intent.resumed", "payload": {}}, stranger=403
    ),
    "POST /intents/{intent_id}/engagement": Call("/intents/{asking}/engagement", {}, worker=200),
    "POST /intents/{intent_id}/children": Call("/intents/{asking}/children", {"title": "Mine"}, worker=201),
    "POST /intents/{intent_id}/dependencies": Call("/intents/{draft}/dependencies", {"dependency_id": "{free}"}),
    "DELETE /intents/{intent_id}/dependencies/{dependency_id}": Call("/intents/{draft}/dependencies/{upstream}"),
    "POST /intents/{intent_id}/agents": Call("/intents/{asking}/agents", {"agent_id": "third-agent"}),
    "DELETE /intents/{intent_id}/agents/{agent_id}": Call("/intents/{asking}/agents/helper"),
    "PUT /intents/{intent_id}/retry-policy": Call("/intents/{asking}/retry-policy", {"strategy": "fixed"}),
    "POST /intents/{intent_id}/failures": Call("/intents/{asking}/failures", {"error_code": "TIMEOUT"}, worker=200),
    "POST /intents/{intent_id}/failures/{failure_id}/resolve": Call(
        "/intents/{free}/failures/{failure}/resolve", {}, worker=200
    ),
    "POST /intents/{intent_id}/leases": Call(
        "/intents/{asking}/leases", {"scope": "the letter", "duration_seconds": 60}, worker=200
    ),
    "PATCH /intents/{intent_id}/leases/{lease_id}": Call("/intents/{asking}/leases/{lease}", {"duration_seconds": 60}),
    "DELETE /intents/{intent_id}/leases/{lease_id}": Call("/intents/{asking}/leases/{lease}"),
    # What is made of it
    "POST /tasks": Call("/tasks", {"intent_id": "{asking}", "name": "Mine"}, worker=200),
    "POST /tasks/{task_id}/claim": Call("/tasks/{task}/claim", {}, worker=409),
    "PATCH /tasks/{task_id}": Call("/tasks/{task}", {"status": "cancelled"}, worker=200),
    "POST /plans": Call("/plans", {"intent_id": "{asking}", "tasks": ["{task}"]}, worker=200),
    "POST /plans/{plan_id}/checkpoints": Call(
        "/plans/{plan}/checkpoints", {"name": "Mine", "requires_approval": True}, worker=409
    ),
    "PATCH /plans/{plan_id}": Call("/plans/{plan}", {"state": "cancelled"}, worker=200),
    "POST /checkpoints/{checkpoint_id}/approve": Call("/checkpoints/{checkpoint}/approve", {}, stranger=403),
    "POST /checkpoints/{checkpoint_id}/reject": Call("/checkpoints/{checkpoint}/reject", {}, stranger=403),
    "POST /coordinators": Call("/coordinators", {"agent_id": "third-agent", "intent_id": "{asking}"}),
    "PATCH /coordinators/{coordinator_id}": Call("/coordinators/{coordinator}", {"suspension_policy": "escalate"}),
    "POST /coordinators/{coordinator_id}/heartbeat": Call("/coordinators/{coordinator}/heartbeat", {}),
    "PATCH /portfolios/{portfolio_id}/status": Call(
        "/portfolios/{portfolio}/status", {"status": "completed"}, worker=404
    ),
    "POST /portfolios/{portfolio_id}/intents": Call(
        "/portfolios/{soon}/intents", {"intent_id": "{asking}"}, stranger=422
    ),
    "DELETE /portfolios/{portfolio_id}/intents/{intent_id}": Call(
        "/portfolios/{portfolio}/intents/{asking}", worker=404
    ),
    # The owner's own, and the service's
    "PUT /agents/{agent_id}/callback": Call("/agents/refund-agent/callback", {"url": None}, stranger=403),
    "PUT /agents/{agent_id}/default-retry-policy": Call("/agents/refund-agent/default-retry-policy", {}, stranger=403),
    "DELETE /subscriptions/{subscription_id}": Call("/subscriptions/{subscription}", worker=404),
    "POST /pause": Call("/pause", {}, stranger=403),
    "DELETE /pause": Call("/pause", stranger=403),
    "DELETE /keys/{name}": Call("/keys/refund-agent", stranger=403),
    "POST /signin-links": Call("/signin-links", {"email": "alice@example.com"}, stranger=403),
    "POST /reload": Call("/reload", stranger=403),
}
HOLDERS = {"POST /intents/{intent_id}/status": 409}
"""Who holds a lease may change the status (API.md §7), but not while a question is open."""
OWN = {
    *("POST /intents", "POST /suspensions", "POST /suspensions/preview", "POST /workflows", "POST /portfolios"),
    *("PUT /sessions/{session_id}", "POST /subscriptions", "POST /audit/verify"),
}
"""These make something of the caller's own, or nothing."""


async def test_every_route_that_changes_something_is_tried(world: World) -> None:
    paths = (await world.call("GET", "/openapi.json", None)).json()["paths"]
    changing = {
        f"{verb.upper()} {path.removeprefix('/v1')}"
        for path, verbs in paths.items()
        for verb in verbs
        if path.startswith("/v1/") and verb != "get"
    }
    assert changing == CALLS.keys() | OWN


@pytest.mark.slow
@pytest.mark.parametrize("who", [STRANGER, MEMBER, COORDINATOR, HOLDER])
async def test_what_is_the_owners_stays_as_it_is(world: World, who: str) -> None:
    ids = await furnished(world, who)
    before = await standing(world, ids)
    for operation, call in CALLS.items():
        expected = call.stranger if who == STRANGER else call.worker
        expected = HOLDERS.get(operation, expected) if who == HOLDER else expected
        path = f"/v1{call.path.format_map(ids)}"
        version = {"If-Match": await version_of(world, path)}
        body = filled(call.body, ids)
        response = await world.call(operation.split()[0], path, "other_agent", json=body, headers=version)
        assert response.status_code == expected, f"{operation}: {response.text}"
        assert await asked(world, ids) == before["question"], operation
    await world.advance(minutes=2)
    assert await standing(world, ids) == before


async def furnished(world: World, who: str) -> dict[str, str]:
    """The owner's things, by the names in :data:`CALLS`; ``soon`` is the other's portfolio, which ends in a minute."""
    ladder = {"max_attempts": 3, "interval_seconds": 3600}
    question = await world.ask(retry_policy=ladder, resume={"signal_id": "signal-1"})
    asked_back, answered = await world.ask(), await world.ask(action=ACTION)
    await made(world, "operator", f"/suspensions/{asked_back['suspension_id']}/clarify", {"question": "Why?"})
    await world.answer(answered, "approve")
    receipt = (await world.told(answered))["data"]["receipt"]
    (callback,) = (await world.call("GET", "/v1/callbacks", "admin")).json()["items"][:1]
    asking, free, upstream, checked = question["intent_id"], *[(await world.active_intent())["id"] for _ in range(3)]
    draft = (await made(world, "agent", "/intents", {"title": "Then", "depends_on": [upstream]}))["id"]
    await made(world, "agent", f"/intents/{asking}/agents", {"agent_id": "helper"})
    task = await made(world, "agent", "/tasks", {"intent_id": asking, "name": "Look it up"})
    plan = await made(world, "agent", "/plans", {"intent_id": asking})
    other_plan = await made(world, "agent", "/plans", {"intent_id": checked})
    body: dict[str, Any] = {"name": "Go live", "requires_approval": True}
    checkpoint = await made(world, "agent", f"/plans/{other_plan['id']}/checkpoints", body)
    portfolio = await made(world, "agent", "/portfolios", {"name": "Release 7"})
    await made(world, "agent", f"/portfolios/{portfolio['id']}/intents", {"intent_id": asking})
    end = (world.clock.now() + timedelta(minutes=1)).isoformat()
    soon = await made(world, "other_agent", "/portfolios", {"name": "Soon", "governance_policy": {"deadline": end}})
    await world.call("PUT", f"/v1/intents/{free}/retry-policy", json={"strategy": "fixed"})
    falls_back = {"strategy": "none", "fallback_agent_id": BACKUP}
    assert (await world.call("PUT", f"/v1/intents/{asking}/retry-policy", json=falls_back)).is_success
    failure = await made(world, "agent", f"/intents/{free}/failures", {"error_code": "TIMEOUT"})
    lease = await made(world, "agent", f"/intents/{asking}/leases", {"scope": "the report", "duration_seconds": 3600})
    coordinator = await made(world, "agent", "/coordinators", {"agent_id": "refund-agent", "intent_id": free})
    events = {"webhook_url": "https://agent.example/events", "event_types": ["refund.noted"]}
    subscription = await made(world, "agent", "/subscriptions", events)
    for intent in (asking, asked_back["intent_id"], free, draft, checked):
        await let_in(world, who, intent)
    things = {"task": task, "plan": plan, "checkpoint": checkpoint, "portfolio": portfolio, "soon": soon}
    more = {"failure": failure, "lease": lease, "coordinator": coordinator, "subscription": subscription}
    intents = {"asking": asking, "free": free, "upstream": upstream, "draft": draft, "receipt": receipt}
    questions = {"question": question["suspension_id"], "asked_back": asked_back["suspension_id"]}
    return {
        **{name: thing["id"] for name, thing in {**things, **more}.items()},
        **intents,
        **questions,
        "callback": callback["id"],
    }


async def let_in(world: World, who: str, intent: str) -> None:
    if who == COORDINATOR:
        await made(world, "agent", "/coordinators", {"agent_id": "other-agent", "intent_id": intent})
    elif who != STRANGER:
        await made(world, "agent", f"/intents/{intent}/agents", {"agent_id": "other-agent"})
    if who == HOLDER:
        await made(world, "other_agent", f"/intents/{intent}/leases", {"scope": "status", "duration_seconds": 3600})


async def made(world: World, role: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    response = await world.call("POST", f"/v1{path}", role, json=body)
    assert response.is_success, response.text
    thing: dict[str, Any] = response.json()
    return thing


def filled(body: Any, ids: Mapping[str, str]) -> Any:
    """``body`` with the ids in place of what it names."""
    if isinstance(body, dict):
        return {name: filled(value, ids) for name, value in body.items()}
    if isinstance(body, list):
        return [filled(value, ids) for value in body]
    return body.format_map(ids) if isinstance(body, str) else body


async def version_of(world: World, path: str) -> str:
    """The version of what ``path`` is about; 1 if that has none."""
    about = "/".join(path.split("/")[:4])
    thing = await world.call("GET", about, "agent")
    told = thing.json() if thing.is_success else {}
    return str(told.get("version", 1)) if isinstance(told, dict) else "1"


async def standing(world: World, ids: Mapping[str, str]) -> dict[str, Any]:
    """What nobody but the owner moves, as the owner reads it."""
    intents = [
        {
            **{
                name: value for name, value in (await shown(world, f"/intents/{ids[intent]}")).items() if name in OWNERS
            },
            "agents": [one for one in await shown(world, f"/intents/{ids[intent]}/agents") if BACKUP not in str(one)],
            "retry_policy": await shown(world, f"/intents/{ids[intent]}/retry-policy"),
        }
        for intent in ("asking", "free", "upstream", "draft")
    ]
    portfolio = await shown(world, f"/portfolios/{ids['portfolio']}/intents")
    within = [intent["id"] for intent in portfolio["intents"]]
    coordinator = await shown(world, f"/coordinators/{ids['coordinator']}")
    asked_back = await shown(world, f"/suspensions/{ids['asked_back']}")
    things = {"intents": intents, "portfolio": within, "coordinator": coordinator}
    return {"question": await asked(world, ids), "asked_back": asked_back, **things}


async def asked(world: World, ids: Mapping[str, str]) -> Any:
    return await shown(world, f"/suspensions/{ids['question']}")


OWNERS = ("status", "title", "created_by", "depends_on", "parent_id", "constraints", "governance_policy")


async def shown(world: World, path: str) -> Any:
    return (await world.call("GET", f"/v1{path}", "agent")).json()
