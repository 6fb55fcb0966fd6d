"""What is in the service when it is tried: questions, intents, a session, callbacks, of several callers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.store import api_keys
from core.store.api_keys import StoredKey
from tests.world import World

CHOICES = [{"value": "approve", "label": "Yes"}, {"value": "deny", "label": "No"}]

ACTION = {"tool": "stripe.refund", "amount": 49}


@dataclass(frozen=True)
class Ids:
    """Real ones. ``questions`` are open: the intent of each suspension; ``claims`` are open and claimed,
    ``asking_back`` wait for the agent's word; ``callbacks`` were refused; ``actives`` and ``drafts`` are intents."""

    questions: Mapping[str, str]
    claims: Sequence[str]
    asking_back: Sequence[str]
    ended: Sequence[str]
    actives: Sequence[str]
    drafts: Sequence[str]
    callbacks: Sequence[str]
    signals: Sequence[str]
    unreadable: str
    """A mail in quarantine."""
    subscriptions: Sequence[str]
    """Of an agent."""
    spare_keys: Sequence[str]
    """Names of keys that nobody uses."""
    members: Sequence[str]
    """Of the intent ``actives[1]``."""
    tasks: Sequence[str]
    """At version 1."""
    plans: Sequence[str]
    """Of the intent ``actives[1]``, at version 1."""
    checkpoints: Sequence[str]
    """That wait for approval."""
    workflows: Sequence[str]
    coordinators: Sequence[str]
    """Of the intent ``actives[2]``, at version 1, and the caller's own."""
    failures: Sequence[tuple[str, str]]
    """Each with its intent first."""
    leases: Sequence[str]
    """On the intent ``actives[2]``."""
    upstreams: Sequence[str]
    """Intents of an agent's."""
    dependents: Sequence[str]
    """Drafts at version 1; those but the first depend on ``upstreams[1]``."""
    portfolios: Sequence[str]
    """The intent ``actives[2]`` is in the first of them."""
    receipt: str
    """Of an agent whose :data:`ACTION` was approved."""

    @property
    def suspensions(self) -> list[str]:
        return [*self.questions, *self.claims, *self.asking_back, *self.ended]

    @property
    def intents(self) -> list[str]:
        return [*self.questions.values(), *self.actives, *self.drafts]

    @property
    def that_work(self) -> dict[str, dict[str, Any]]:
        """Requests that are accepted, by operation: of an agent, of an operator where somebody answers, and of an
        admin where nobody else may."""
        (asked, intent), (other, _) = list(self.questions.items())[-2:]
        answer = {"suspension_id": asked, "value": "approve"}
        patches = {"patches": [{"op": "set", "path": "/cart", "value": 7}]}
        return {
            "GET /suspensions/{suspension_id}": _to(suspension_id=other),
            "GET /suspensions/{suspension_id}/notice": _to(suspension_id=other),
            "GET /suspensions/{suspension_id}/timeline": _to(suspension_id=self.ended[0]),
            "GET /suspensions/{suspension_id}/wait": _to(suspension_id=self.ended[0]),
            "POST /suspensions/{suspension_id}/cancel": _to({}, suspension_id=self.claims[0]),
            "POST /suspensions/{suspension_id}/outcome": _to({"status": "done"}, suspension_id=self.ended[1]),
            "POST /suspensions/{suspension_id}/claim": _to({}, suspension_id=other),
            "DELETE /suspensions/{suspension_id}/claim": _to(suspension_id=self.claims[1]),
            "POST /suspensions/{suspension_id}/assign": _to({"to": "alice@example.com"}, suspension_id=other),
            "POST /suspensions/{suspension_id}/clarify": _to({"question": "Why?"}, suspension_id=other),
            "POST /suspensions/{suspension_id}/clarification": _to({"text": "So."}, suspension_id=self.asking_back[0]),
            "POST /intents/{intent_id}/suspend": _to(
                {"question": "Go?", "choices": CHOICES}, intent_id=self.actives[0]
            ),
            "POST /intents/{intent_id}/suspend/respond": _to(answer, intent_id=intent),
            "POST /intents/{intent_id}/status": _to({"status": "active"}, "1", intent_id=self.drafts[0]),
            "POST /intents/{intent_id}/state": _to(patches, '"1"', intent_id=self.drafts[1]),
            "POST /intents/{intent_id}/engagement": _to({}, intent_id=intent),
            "POST /intents/{intent_id}/children": _to({"title": "Step"}, intent_id=self.actives[0]),
            "GET /intents/{intent_id}/children": _to(intent_id=self.actives[0]),
            "GET /intents/{intent_id}/descendants": _to(intent_id=self.actives[0]),
            "GET /intents/{intent_id}/ancestors": _to(intent_id=self.actives[0]),
            "GET /intents/{intent_id}/ready": _to(intent_id=self.actives[0]),
            "GET /intents/{intent_id}/blocked": _to(intent_id=self.actives[0]),
            "GET /intents/{intent_id}/graph": _to(intent_id=self.actives[0]),
            "GET /intents/{intent_id}/dependents": _to(intent_id=self.upstreams[1]),
            "GET /intents/{intent_id}/dependencies": _to(intent_id=self.dependents[0]),
            "POST /intents/{intent_id}/dependencies": _to(
                {"dependency_id": self.upstreams[0]}, "1", intent_id=self.dependents[0]
            ),
            "DELETE /intents/{intent_id}/dependencies/{dependency_id}": _to(
                version="1", intent_id=self.dependents[1], dependency_id=self.upstreams[1]
            ),
            "GET /intents/{intent_id}/agents": _to(intent_id=self.actives[1]),
            "POST /intents/{intent_id}/agents": _to({"agent_id": "agent-backup"}, intent_id=self.actives[1]),
            "DELETE /intents/{intent_id}/agents/{agent_id}": _to(intent_id=self.actives[1], agent_id=self.members[0]),
            "GET /intents/{intent_id}/leases": _to(intent_id=self.actives[2]),
            "POST /intents/{intent_id}/leases": _to(
                {"scope": "the report", "duration_seconds": 300}, intent_id=self.actives[2]
            ),
            "PATCH /intents/{intent_id}/leases/{lease_id}": _to(
                {"duration_seconds": 300}, intent_id=self.actives[2], lease_id=self.leases[0]
            ),
            "DELETE /intents/{intent_id}/leases/{lease_id}": _to(intent_id=self.actives[2], lease_id=self.leases[1]),
            "POST /tasks": _to({"intent_id": self.actives[1], "name": "Look it up"}),
            "GET /tasks/{task_id}": _to(task_id=self.tasks[0]),
            "PATCH /tasks/{task_id}": _to({"status": "ready"}, "1", task_id=self.tasks[0]),
            "POST /tasks/{task_id}/claim": _to(task_id=self.tasks[1]),
            "GET /intents/{intent_id}/tasks": _to(intent_id=self.actives[1]),
            "POST /plans": _to({"intent_id": self.actives[1], "tasks": [self.tasks[2]]}),
            "GET /plans/{plan_id}": _to(plan_id=self.plans[0]),
            "PATCH /plans/{plan_id}": _to({"state": "active"}, "1", plan_id=self.plans[0]),
            "GET /intents/{intent_id}/plans": _to(intent_id=self.actives[1]),
            "POST /plans/{plan_id}/checkpoints": _to({"name": "n", "requires_approval": False}, plan_id=self.plans[1]),
            "POST /checkpoints/{checkpoint_id}/approve": _to({}, checkpoint_id=self.checkpoints[0]),
            "POST /checkpoints/{checkpoint_id}/reject": _to({}, checkpoint_id=self.checkpoints[1]),
            "POST /coordinators": _to({"agent_id": "agent-backup", "intent_id": self.actives[2]}),
            "GET /coordinators/{coordinator_id}": _to(coordinator_id=self.coordinators[0]),
            "PATCH /coordinators/{coordinator_id}": _to(
                {"suspension_policy": "escalate"}, "1", coordinator_id=self.coordinators[0]
            ),
            "POST /coordinators/{coordinator_id}/heartbeat": _to(coordinator_id=self.coordinators[1]),
            "GET /intents/{intent_id}/coordinators": _to(intent_id=self.actives[2]),
            "POST /workflows": _to({"name": "Compliance", "phases": PHASES}),
            "GET /workflows/{workflow_id}": _to(workflow_id=self.workflows[0]),
            "POST /portfolios": _to({"name": "Release 7"}),
            "GET /portfolios/{portfolio_id}": _to(portfolio_id=self.portfolios[0]),
            "PATCH /portfolios/{portfolio_id}/status": _to({"status": "completed"}, portfolio_id=self.portfolios[1]),
            "POST /portfolios/{portfolio_id}/intents": _to(
                {"intent_id": self.actives[1]}, portfolio_id=self.portfolios[2]
            ),
            "GET /portfolios/{portfolio_id}/intents": _to(portfolio_id=self.portfolios[0]),
            "DELETE /portfolios/{portfolio_id}/intents/{intent_id}": _to(
                portfolio_id=self.portfolios[0], intent_id=self.actives[2]
            ),
            "GET /intents/{intent_id}/portfolios": _to(intent_id=self.actives[2]),
            "GET /agents/{agent_id}/default-retry-policy": _to(agent_id="refund-agent"),
            "PUT /agents/{agent_id}/default-retry-policy": _to({}, agent_id="refund-agent"),
            "GET /agents/{agent_id}/callback": _to(agent_id="refund-agent"),
            "PUT /agents/{agent_id}/callback": _to({"url": None}, agent_id="refund-agent"),
            "PUT /intents/{intent_id}/retry-policy": _to({"strategy": "fixed"}, intent_id=self.actives[0]),
            "GET /intents/{intent_id}/retry-policy": _to(intent_id=self.failures[0][0]),
            "POST /intents/{intent_id}/failures": _to({"error_code": "TIMEOUT"}, intent_id=self.actives[0]),
            "POST /intents/{intent_id}/failures/{failure_id}/resolve": _to(
                intent_id=self.failures[0][0], failure_id=self.failures[0][1]
            ),
            "POST /pause": _to({}),
            "DELETE /pause": _to(),
            "POST /signin-links": _to({"email": "alice@example.com"}),
            "DELETE /keys/{name}": _to(name=self.spare_keys[0]),
            "GET /sessions/{session_id}": _to(session_id="sess-1"),
            "POST /subscriptions": _to({"webhook_url": "https://agent.example/events", "intent_id": self.actives[1]}),
            "DELETE /subscriptions/{subscription_id}": _to(subscription_id=self.subscriptions[0]),
            "POST /callbacks/{callback_id}/redrive": _to(callback_id=self.callbacks[0]),
            "GET /audit/export": _to(),
            "GET /audit/verify": _to(),
            "GET /mail/quarantine": _to(),
            "GET /mail/quarantine/{digest}": _to(digest=self.unreadable),
            "POST /audit/verify": _to({"lines": []}),
            "POST /receipts/verify": _to({"receipt": self.receipt, "action": ACTION, "when": "approve"}),
            "POST /signals/{signal_id}": _to({"value": "approve"}, signal_id=self.signals[0]),
        }


def _to(body: dict[str, Any] | None = None, version: str | None = None, **path: str) -> dict[str, Any]:
    """A request: its path's parameters, and what else it has."""
    headers = {} if version is None else {"If-Match": version}
    sent = {} if body is None else {"body": body, "media_type": "application/json"}
    return {"path_parameters": path, "headers": headers, **sent}


PHASES: list[dict[str, Any]] = [
    {"name": "fetch", "outputs": {"rows": "array"}},
    {"name": "review", "depends_on": ["fetch"], "inputs": {"rows": "fetch.rows", "day": "$trigger.day"}},
]


async def furnish(world: World) -> Ids:
    signals = [f"signal-{number}" for number in range(6)]
    questions = [await world.ask(resume={"signal_id": signal, "session_id": "sess-1"}) for signal in signals]
    for role in ("other_agent", "admin", "agent", "agent"):
        body = {"question": "Deploy?", "choices": CHOICES}
        questions.append(await _made(world, role, "/v1/suspensions", body))
    claims = [await world.ask() for _ in range(4)]
    for claimed in claims:
        await _made(world, "operator", f"/v1/suspensions/{claimed['suspension_id']}/claim", {})
    asking_back = [await world.ask() for _ in range(4)]
    for one in asking_back:
        await _made(world, "operator", f"/v1/suspensions/{one['suspension_id']}/clarify", {"question": "Why?"})
    await world.call("PUT", "/v1/sessions/sess-1", json={})
    ended = await _ended(world)
    actives = await _intents(world, "active")
    members = [f"member-{number}" for number in range(6)]
    for name in members:
        await _made(world, "agent", f"/v1/intents/{actives[1]}/agents", {"agent_id": name})
    task = {"intent_id": actives[1], "name": "Look it up"}
    tasks = [(await _made(world, "agent", "/v1/tasks", task))["id"] for _ in range(4)]
    plans = [(await _made(world, "agent", "/v1/plans", {"intent_id": actives[1]}))["id"] for _ in range(4)]
    leases = [{"scope": f"part {number}", "duration_seconds": 86_400} for number in range(6)]
    held = [(await _made(world, "agent", f"/v1/intents/{actives[2]}/leases", lease))["id"] for lease in leases]
    upstreams = [(await world.active_intent())["id"] for _ in range(2)]
    callbacks = (await world.call("GET", "/v1/callbacks", "admin")).json()["items"]
    return Ids(
        questions={one["suspension_id"]: one["intent_id"] for one in questions},
        claims=[one["suspension_id"] for one in claims],
        asking_back=[one["suspension_id"] for one in asking_back],
        ended=[one["suspension_id"] for one in ended],
        actives=actives,
        drafts=await _intents(world, "draft"),
        callbacks=[one["id"] for one in callbacks if one["status"] == "refused"],
        signals=signals,
        unreadable=await _unreadable(world),
        members=members,
        tasks=tasks,
        plans=plans,
        checkpoints=[await _checkpoint(world) for _ in range(4)],
        coordinators=[
            (await _made(world, "agent", "/v1/coordinators", {"agent_id": "refund-agent", "intent_id": actives[2]}))[
                "id"
            ]
            for _ in range(3)
        ],
        workflows=[
            (await _made(world, "agent", "/v1/workflows", {"name": "Compliance", "phases": PHASES}))["id"]
            for _ in range(2)
        ],
        failures=[await _failure(world) for _ in range(2)],
        leases=held,
        upstreams=upstreams,
        dependents=[
            (await _made(world, "agent", "/v1/intents", {"title": "Then", "depends_on": on}))["id"]
            for on in ([], [upstreams[1]], [upstreams[1]], [upstreams[1]])
        ],
        portfolios=await _portfolios(world, actives[2]),
        receipt=await _receipt(world),
        subscriptions=await _subscriptions(world),
        spare_keys=[await _spare_key(world, f"spare-{number}") for number in range(3)],
    )


async def _spare_key(world: World, name: str) -> str:
    key = StoredKey(name, f"hash of {name}", ("agent",), generation=1)
    await world.service.database.write(lambda tx: api_keys.put(tx, key, world.clock.now()))
    return name


async def _failure(world: World) -> tuple[str, str]:
    """An intent with a retry policy, and its one failure."""
    intent = await world.active_intent()
    path = f"/v1/intents/{intent['id']}"
    await world.call("PUT", f"{path}/retry-policy", json={"strategy": "fixed"})
    failure = await _made(world, "agent", f"{path}/failures", {"error_code": "TIMEOUT"})
    return intent["id"], failure["id"]


async def _checkpoint(world: World) -> str:
    """One that waits for approval, of an intent of its own."""
    intent = await world.active_intent()
    plan = await _made(world, "agent", "/v1/plans", {"intent_id": intent["id"]})
    body = {"name": "Go live", "requires_approval": True}
    return str((await _made(world, "agent", f"/v1/plans/{plan['id']}/checkpoints", body))["id"])


async def _subscriptions(world: World) -> list[str]:
    body = {"webhook_url": "https://agent.example/events", "event_types": ["refund.noted"]}
    return [(await _made(world, "agent", "/v1/subscriptions", body))["id"] for _ in range(4)]


async def _portfolios(world: World, intent_id: str) -> list[str]:
    made = [(await _made(world, "agent", "/v1/portfolios", {"name": "Release 7"}))["id"] for _ in range(4)]
    await _made(world, "agent", f"/v1/portfolios/{made[0]}/intents", {"intent_id": intent_id})
    return made


async def _receipt(world: World) -> str:
    asked = await world.ask(action=ACTION)
    await world.answer(asked, "approve")
    return str((await world.told(asked))["data"]["receipt"])


async def _unreadable(world: World) -> str:
    """The digest of a mail in quarantine."""
    await world.mailbox.post(b"X: " + b"a" * 300_000)
    kept = (await world.call("GET", "/v1/mail/quarantine", "admin")).json()["items"]
    return str(kept[0]["digest"])


async def _ended(world: World) -> list[dict[str, Any]]:
    """Four that were answered, with callbacks that the agent refused; one cancelled, one expired."""
    answered = [await world.ask() for _ in range(4)]
    world.agent.answers += [410] * len(answered)
    for one in answered:
        await world.answer(one, "approve")
    cancelled, expired = await world.ask(), await world.ask(timeout_seconds=60)
    await _made(world, "agent", f"/v1/suspensions/{cancelled['suspension_id']}/cancel", {})
    await world.advance(minutes=2)
    return [*answered, cancelled, expired]


async def _intents(world: World, status: str) -> list[str]:
    body = {"title": "Release 7", "status": status}
    return [
        (await _made(world, role, "/v1/intents", body))["id"]
        for role in ("agent", "agent", "agent", "admin", "admin", "other_agent")
    ]


async def _made(world: World, role: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    response = await world.call("POST", path, role, json=body)
    assert response.is_success, response.text
    made: dict[str, Any] = response.json()
    return made
