"""Servers that know no suspensions (RFC-0025 §12), and refusals that have an exception of their own (RFC-0026 §6)."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator

import pytest
from handraise import (
    BaseAgent,
    Handraise,
    HumanRetryPolicy,
    RequestRefused,
    SuspensionNotSupported,
    UpstreamIntentSuspendedError,
    WorkflowError,
    on_input_requested,
)

from sdk.tests.pretend_server import KEY, PretendServer

NOT_FOUND = (404, b'{"detail":"Not Found"}')


@pytest.fixture
async def server() -> AsyncIterator[PretendServer]:
    server = PretendServer()
    await server.start()
    yield server
    await server.stop()


class Refunds(BaseAgent):
    default_human_retry_policy = HumanRetryPolicy(max_attempts=2)

    @on_input_requested
    def notify(self, intent, suspension):
        raise AssertionError("there is nobody who could tell")


async def test_an_agent_can_go_on_without_a_person_if_the_server_knows_no_suspensions(server, caplog):
    server.faults.extend([NOT_FOUND] * 20)
    caplog.set_level(logging.WARNING, "handraise")
    async with Refunds(server.url, KEY, agent_id="refunds") as agent:
        try:
            value = await agent.request_input("intent-1", "Refund?", choices=["approve", "deny"])
        except SuspensionNotSupported as missing:
            value = "deny"
            assert missing.status == 404
        with pytest.raises(SuspensionNotSupported):
            await agent.should_request_input("intent-1", risk=0.9)
        with pytest.raises(SuspensionNotSupported):
            await agent.people.respond("intent-1", "susp-1", "approve")
    assert value == "deny"
    assert len([record for record in caplog.records if "refunds goes on without hooks" in record.getMessage()]) == 1


async def test_an_intent_that_is_not_there_is_another_matter(server):
    async with Handraise(server.url, KEY) as people:
        with pytest.raises(RequestRefused) as refused:
            await people.respond("intent-1", "susp-1", "approve")
    assert not isinstance(refused.value, SuspensionNotSupported)
    assert refused.value.code == "not_found"


@pytest.mark.parametrize("resume_at", ["2026-03-24T13:00:00Z", None])
async def test_a_claim_whose_upstream_is_suspended_says_which_and_until_when(server, resume_at):
    details = {
        "task_id": "task_01XYZ",
        "phase_name": "compliance_review",
        "suspended_intent_id": "intent_01ABC",
        "expected_resume_at": resume_at,
    }
    detail = {"error": "upstream_intent_suspended", "message": "It waits for a person.", **details}
    server.faults.append((409, json.dumps({"detail": detail}).encode()))
    async with Handraise(server.url, KEY) as people:
        with pytest.raises(WorkflowError) as refused:
            await people.get("susp-1")
    error = refused.value
    assert isinstance(error, UpstreamIntentSuspendedError)
    assert {name: getattr(error, name) for name in details} == details
    assert (error.status, error.code) == (409, "upstream_intent_suspended")
    assert "compliance_review" in str(error)


def test_it_is_made_as_the_rfc_makes_it():
    error = UpstreamIntentSuspendedError(
        task_id="task_01XYZ",
        phase_name="compliance_review",
        suspended_intent_id="<upstream_intent_id>",
        expected_resume_at="<ISO-8601 or None>",
    )
    assert isinstance(error, WorkflowError)
    assert error.suspended_intent_id == "<upstream_intent_id>"
