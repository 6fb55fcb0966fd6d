"""Tasks, leases and workflows with the SDK, by either client (RFC-0003, RFC-0012, RFC-0024; RFC-0026 §6)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from handraise import Handraise, RequestRefused, ScopeLost, UpstreamIntentSuspendedError, Workflow

from sdk.tests.in_thread import InThread
from tests.workflows import report
from tests.world import KEYS, World


@pytest.fixture(params=[Handraise, InThread], ids=["async", "sync"])
def connect(request: pytest.FixtureRequest) -> Callable[..., Any]:
    connect: Callable[..., Any] = request.param
    return connect


async def made(agent: Any) -> Workflow:
    workflow = await agent.create_workflow("Compliance", report(), trigger={"order": 5})
    assert isinstance(workflow, Workflow)
    return workflow


async def test_an_agent_meets_a_phase_that_waits_for_a_person_and_goes_on_after(
    any_world: World, connect: Callable[..., Any]
) -> None:
    async with connect(any_world.url, KEYS["agent"]) as agent:
        workflow = await made(agent)
        fetch, review = workflow.phase("fetch"), workflow.phase("review")
        await agent.claim_task(fetch.task_id)
        asked = await agent.suspend("Go on?", choices=["yes"], timeout_seconds=3600, intent_id=fetch.intent_id)
        with pytest.raises(UpstreamIntentSuspendedError) as waits:
            await agent.claim_task(review.task_id)
        assert (waits.value.phase_name, waits.value.suspended_intent_id) == ("review", fetch.intent_id)
        assert waits.value.expected_resume_at is not None
        [suspended] = (await agent.workflow(workflow.id)).progress.suspended_phases
        assert (suspended.phase_name, suspended.intent_id) == ("fetch", fetch.intent_id)

        fields = {"intent_id": asked.intent_id, "suspension_id": asked.suspension_id}
        assert (await any_world.answer(fields, "yes")).status_code == 200
        with pytest.raises(RequestRefused) as early:
            await agent.claim_task(review.task_id)
        assert early.value.code == "dependencies_incomplete"
        assert (await agent.complete_intent(fetch.intent_id, {"rows": [1, 2]})).status == "completed"
        taken = await agent.claim_task(review.task_id)
        assert (taken.status, taken.input, taken.assigned_agent) == ("claimed", {"rows": [1, 2]}, "refund-agent")
        running = await agent.change_task(taken, "running")
        ended = await agent.change_task(running, "completed", output={"verdict": "fine"})
        assert (ended.status, ended.output) == ("completed", {"verdict": "fine"})
        with pytest.raises(RequestRefused) as stale:
            await agent.change_task(running, "failed")
        assert stale.value.code == "version_conflict"
        assert await agent.task(review.task_id) == ended
        await agent.complete_intent(review.intent_id, {"verdict": "fine"})
        assert (await agent.workflow(workflow.id)).progress.completion_percentage == 100


async def test_a_blocked_phase_is_not_completed(world: World, connect: Callable[..., Any]) -> None:
    async with connect(world.url, KEYS["agent"]) as agent:
        review = (await made(agent)).phase("review")
        with pytest.raises(RequestRefused) as refused:
            await agent.complete_intent(review.intent_id, {"verdict": "fine"})
        assert (refused.value.status, refused.value.code) == (409, "dependencies_incomplete")


class Held:
    """A lease of either client, as an asynchronous context manager."""

    def __init__(self, agent: Any, *args: Any, **options: Any) -> None:
        client = agent.people if isinstance(agent, InThread) else agent
        self.lease = client.lease(*args, **options)
        self.in_thread = isinstance(agent, InThread)

    async def __aenter__(self) -> Any:
        await (asyncio.to_thread(self.lease.__enter__) if self.in_thread else self.lease.__aenter__())
        return self.lease

    async def __aexit__(self, *ending: Any) -> None:
        await (asyncio.to_thread(self.lease.__exit__, *ending) if self.in_thread else self.lease.__aexit__(*ending))


async def leases(world: World, intent_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await world.call("GET", f"/v1/intents/{intent_id}/leases")).json()["leases"]
    return found


async def test_a_lease_is_renewed_while_its_block_runs_and_given_back_after(
    any_world: World, connect: Callable[..., Any]
) -> None:
    async with connect(any_world.url, KEYS["agent"]) as agent:
        intent = await agent.create_intent("Refund")
        async with Held(agent, intent.id, "refunds", seconds=1) as lease:
            with pytest.raises(RequestRefused) as refused:
                async with Held(agent, intent.id, "refunds"):
                    pass
            assert refused.value.code == "lease_held"
            [before] = await leases(any_world, intent.id)
            await any_world.advance(seconds=0.5)
            async with asyncio.timeout(10):
                while (await leases(any_world, intent.id))[0]["expires_at"] == before["expires_at"]:
                    await asyncio.sleep(0.05)
            lease.check()
        [after] = await leases(any_world, intent.id)
        assert after["status"] == "released"


async def test_a_lease_that_is_taken_away_says_so(world: World, connect: Callable[..., Any]) -> None:
    async with connect(world.url, KEYS["agent"]) as agent:
        intent = await agent.create_intent("Refund")
        async with Held(agent, intent.id, "refunds", seconds=1) as lease:
            [held] = await leases(world, intent.id)
            await world.call("DELETE", f"/v1/intents/{intent.id}/leases/{held['id']}", "admin")
            async with asyncio.timeout(10):
                while not lease.is_lost:
                    await asyncio.sleep(0.05)
            with pytest.raises(ScopeLost):
                lease.check()


async def test_a_lease_on_a_phase_whose_inputs_wait_for_a_person_is_refused(
    world: World, connect: Callable[..., Any]
) -> None:
    async with connect(world.url, KEYS["agent"]) as agent:
        workflow = await made(agent)
        await agent.suspend("Go on?", choices=["yes"], intent_id=workflow.phase("fetch").intent_id)
        with pytest.raises(UpstreamIntentSuspendedError):
            async with Held(agent, workflow.phase("review").intent_id, "review"):
                pass
