"""Every call of the published client, as a process: makes each once, and says what came of it.

It prints one JSON object: by the name of each public method ``works``, or the status or the error that it ended with,
or ``unheard`` where the client does not look at the reply.
Those of :class:`Served` are called with values that make sense; the others, which the service does not serve, with
whatever their arguments take.
"""

from __future__ import annotations

import enum
import inspect
import json
import os
import threading
import typing
from collections.abc import Callable
from typing import Any

from openintent.client import OpenIntentClient
from openintent.exceptions import OpenIntentError
from openintent.models import (
    EventType,
    Intent,
    IntentStatus,
    MembershipRole,
    PlanState,
    PortfolioStatus,
    RetryStrategy,
    TaskStatus,
)
from openintent.streaming import SSEStream

UNHEARD = {"close_channel"}


class Served:
    """Calls by the client's own names, in an order in which each can succeed."""

    def __init__(self, client: OpenIntentClient) -> None:
        self._client = client
        self._id = client.create_intent("Refund order 12345", initial_state={"order": 12345}).id

    @property
    def _intent(self) -> Intent:
        return self._client.get_intent(self._id)

    def create_intent(self) -> None:
        on = [self._client.create_intent("First").id]
        made = self._client.create_intent(
            "Step", parent_intent_id=self._id, depends_on=on, governance_policy={"completion_mode": "auto"}
        )
        assert (made.parent_intent_id, made.depends_on) == (self._id, on)

    def get_intent(self) -> None:
        assert self._intent.state.to_dict() == {"order": 12345}

    def list_intents(self) -> None:
        assert self._id in [one.id for one in self._client.list_intents(status=IntentStatus.DRAFT, limit=100)]

    def create_child_intent(self) -> None:
        self._root = self._client.create_intent("Release").id
        self._build = self._client.create_child_intent(self._root, "Build").id
        self._deploy = self._client.create_child_intent(self._root, "Deploy", depends_on=[self._build]).id

    def get_children(self) -> None:
        assert _ids(self._client.get_children(self._root)) == {self._build, self._deploy}

    def get_descendants(self) -> None:
        assert _ids(self._client.get_descendants(self._root)) == {self._build, self._deploy}

    def get_ancestors(self) -> None:
        assert _ids(self._client.get_ancestors(self._deploy)) == {self._root}

    def get_dependencies(self) -> None:
        assert _ids(self._client.get_dependencies(self._deploy)) == {self._build}

    def get_dependents(self) -> None:
        assert _ids(self._client.get_dependents(self._build)) == {self._deploy}

    def get_ready_intents(self) -> None:
        assert _ids(self._client.get_ready_intents(self._root)) == {self._build}

    def get_blocked_intents(self) -> None:
        assert _ids(self._client.get_blocked_intents(self._root)) == {self._deploy}

    def get_intent_graph(self) -> None:
        graph = self._client.get_intent_graph(self._root)
        assert {"from": self._build, "to": self._deploy, "type": "dependency"} in graph["edges"]

    def remove_dependency(self) -> None:
        version = self._client.get_intent(self._deploy).version
        assert self._client.remove_dependency(self._deploy, self._build, version).depends_on == []

    def add_dependency(self) -> None:
        version = self._client.get_intent(self._deploy).version
        assert self._client.add_dependency(self._deploy, self._build, version).depends_on == [self._build]

    def set_status(self) -> None:
        after = self._client.set_status(self._id, self._intent.version, IntentStatus.ACTIVE, reason="Go")
        assert after.status is IntentStatus.ACTIVE

    def update_state(self) -> None:
        after = self._client.update_state(self._id, self._intent.version, {"note": {"by": "agent"}})
        assert after.state.to_dict()["note"] == {"by": "agent"}

    def log_event(self) -> None:
        assert self._client.log_event(self._id, EventType.COMMENT, {"text": "n"}).event_type is EventType.COMMENT

    def get_events(self) -> None:
        types = [one.event_type for one in self._client.get_events(self._id)]
        assert EventType.STATE_PATCHED in types
        assert {one.event_type for one in self._client.get_events(self._id, EventType.COMMENT)} == {EventType.COMMENT}

    def assign_agent(self) -> None:
        self._client.assign_agent(self._id, "other-agent")

    def unassign_agent(self) -> None:
        self._client.unassign_agent(self._id, "other-agent")

    def acquire_lease(self) -> None:
        assert self._client.acquire_lease(self._id, "research").is_active

    def get_leases(self) -> None:
        assert [one.scope for one in self._client.get_leases(self._id)] == ["research"]

    def renew_lease(self) -> None:
        [lease] = self._client.get_leases(self._id)
        assert self._client.renew_lease(self._id, lease.id).is_active

    def release_lease(self) -> None:
        [lease] = self._client.get_leases(self._id)
        self._client.release_lease(self._id, lease.id)

    def lease(self) -> None:
        with self._client.lease(self._id, "synthesis") as lease:
            assert lease.scope == "synthesis"

    def set_retry_policy(self) -> None:
        policy = self._client.set_retry_policy(self._id, RetryStrategy.LINEAR, fallback_agent_id="other-agent")
        assert policy.strategy is RetryStrategy.LINEAR

    def get_retry_policy(self) -> None:
        if self._client.get_retry_policy(self._id) is None:
            raise OpenIntentError("The client takes 404 for none.", status_code=404)

    def record_failure(self) -> None:
        assert self._client.record_failure(self._id, 1, "TIMEOUT", "Timed out.").error_code == "TIMEOUT"

    def get_failures(self) -> None:
        assert [one.attempt_number for one in self._client.get_failures(self._id)] == [1]

    def create_task(self) -> None:
        self._task = self._client.create_task(self._id, "refund", description="d").id

    def get_task(self) -> None:
        assert self._client.get_task(self._task).name == "refund"

    def list_tasks(self) -> None:
        assert [one.id for one in self._client.list_tasks(self._id)] == [self._task]

    def update_task(self) -> None:
        task = self._client.get_task(self._task)
        assert self._client.update_task(task.id, task.version, "ready").status is TaskStatus.READY

    def create_plan(self) -> None:
        said = {"id": "cp-1", "name": "Go live", "after_task": self._task, "requires_approval": True, "approvers": []}
        checkpoints = [{**said, "on_timeout": "escalate", "status": "pending"}]
        self._plan = self._client.create_plan(self._id, [self._task], checkpoints=checkpoints, metadata={"k": 1}).id

    def get_plan(self) -> None:
        plan = self._client.get_plan(self._plan)
        assert (plan.tasks, plan.metadata, plan.checkpoints[0].name) == ([self._task], {"k": 1}, "Go live")

    def list_plans(self) -> None:
        assert [one.id for one in self._client.list_plans(self._id)] == [self._plan]

    def update_plan(self) -> None:
        plan = self._client.get_plan(self._plan)
        assert self._client.update_plan(plan.id, plan.version, state="active").state is PlanState.ACTIVE

    def create_portfolio(self) -> None:
        made = self._client.create_portfolio("Release", governance_policy={"deadline": "2030-01-01T00:00:00Z"})
        self._portfolio = made.id
        assert made.governance_policy == {"deadline": "2030-01-01T00:00:00Z"}

    def add_intent_to_portfolio(self) -> None:
        made = self._client.add_intent_to_portfolio(self._portfolio, self._id, MembershipRole.PRIMARY, 2)
        assert (made.intent_id, made.role, made.priority) == (self._id, MembershipRole.PRIMARY, 2)

    def get_portfolio(self) -> None:
        found = self._client.get_portfolio(self._portfolio)
        assert (found.name, found.aggregate_status.total) == ("Release", 1)

    def list_portfolios(self) -> None:
        assert [one.id for one in self._client.list_portfolios(created_by="refund-agent")] == [self._portfolio]

    def get_portfolio_intents(self) -> None:
        found, counted = self._client.get_portfolio_intents(self._portfolio)
        assert ([one.id for one in found], counted.total) == ([self._id], 1)

    def get_intent_portfolios(self) -> None:
        assert [one.id for one in self._client.get_intent_portfolios(self._id)] == [self._portfolio]

    def remove_intent_from_portfolio(self) -> None:
        self._client.remove_intent_from_portfolio(self._portfolio, self._id)
        assert self._client.get_portfolio_intents(self._portfolio)[0] == []

    def update_portfolio_status(self) -> None:
        after = self._client.update_portfolio_status(self._portfolio, PortfolioStatus.COMPLETED)
        assert after.status is PortfolioStatus.COMPLETED

    def create_coordinator_lease(self) -> None:
        made = self._client.create_coordinator_lease("refund-agent", self._id, suspension_policy="escalate")
        self._coordinator = made.id
        assert (made.agent_id, made.intent_id) == ("refund-agent", self._id)

    def get_coordinator_lease(self) -> None:
        assert self._client.get_coordinator_lease(self._coordinator).heartbeat_interval_seconds == 60

    def list_coordinator_leases(self) -> None:
        assert [one.id for one in self._client.list_coordinator_leases(self._id)] == [self._coordinator]

    def coordinator_heartbeat(self) -> None:
        assert self._client.coordinator_heartbeat(self._coordinator)["status"] == "ok"

    def subscribe(self) -> None:
        self._client.subscribe(intent_id=self._id, webhook_url="https://agent.example/hook")

    def get_subscriptions(self) -> None:
        assert len(self._client.get_subscriptions(intent_id=self._id)) == 1

    def unsubscribe(self) -> None:
        [one] = self._client.get_subscriptions(intent_id=self._id)
        self._client.unsubscribe(one.id)

    def subscribe_sse(self) -> None:
        self._opens(self._client.subscribe_sse(self._id), lambda: self._patch("a"))

    def subscribe_agent(self) -> None:
        self._opens(self._client.subscribe_agent(), lambda: self._patch("b"))

    def subscribe_portfolio(self) -> None:
        portfolio = self._client.create_portfolio("Heard of").id
        self._client.add_intent_to_portfolio(portfolio, self._id)
        self._opens(self._client.subscribe_portfolio(portfolio), lambda: self._patch("c"))

    def create_event_queue(self) -> None:
        with self._client.create_event_queue(agent_id="refund-agent") as queue:
            for number in range(20):  # it begins when it has connected
                self._patch(f"queue{number}")
                if queue.get(timeout=0.5) is not None:
                    return
        raise TimeoutError

    def close(self) -> None:
        OpenIntentClient(self._client.base_url, self._client.api_key, "refund-agent").close()

    def log_tool_call_started(self) -> None:
        self._client.log_tool_call_started(self._id, "refund", "t", {})

    def _patch(self, key: str) -> None:
        self._client.update_state(self._id, self._intent.version, {key: 1})

    def _opens(self, stream: SSEStream, cause: Callable[[], None]) -> None:
        """Whether what is there at once, or what ``cause`` makes happen, comes as an event that is no error."""
        events = iter(stream)
        threading.Timer(1.0, cause).start()  # the stream begins when it has connected
        event = next(events)
        stream.stop()
        if event.type == "error":
            raise OpenIntentError("refused", status_code=event.data.get("status_code"))


def _ids(several: list[Intent]) -> set[str]:
    return {one.id for one in several}


def outcome(call: Callable[[], Any]) -> str:
    try:
        call()
    except OpenIntentError as refusal:
        return str(refusal.status_code)
    except Exception as failure:
        return type(failure).__name__
    return "works"


def anything(client: OpenIntentClient, name: str, intent_id: str) -> Callable[[], Any]:
    """The call with the arguments that it needs."""
    method = getattr(client, name)
    taken = [one for one in inspect.signature(method).parameters.values() if one.kind is not one.VAR_KEYWORD]
    needed = [one for one in taken if one.default is one.empty or one.name == "intent_id"]
    arguments = {one.name: _some(one.annotation, one.name, intent_id) for one in needed}
    return lambda: method(**arguments)


def _some(kind: Any, name: str, intent_id: str) -> Any:
    if name == "intent_id":
        return intent_id
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return next(iter(kind))
    made = {str: "x", int: 1, float: 0.5, bool: True, dict: {}, list: []}
    return made.get(typing.get_origin(kind) or kind, "x")


def main() -> None:
    client = OpenIntentClient(os.environ["HANDRAISE_URL"], os.environ["HANDRAISE_API_KEY"], "refund-agent")
    served = Served(client)
    known = [name for name in vars(Served) if not name.startswith("_")]
    found = {name: outcome(getattr(served, name)) for name in known}
    fresh = client.create_intent("For the rest").id
    rest = [name for name, _ in inspect.getmembers(OpenIntentClient, inspect.isfunction) if not name.startswith("_")]
    found |= {name: outcome(anything(client, name, fresh)) for name in rest if name not in found}
    found |= dict.fromkeys(UNHEARD, "unheard")
    print(json.dumps(found))


main()
