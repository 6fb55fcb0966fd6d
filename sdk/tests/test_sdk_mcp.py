"""The MCP server's pure parts: what a result holds, whose seal opens, which rounds there are."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from handraise.mcp_server.asking_keys import KeySeal
from handraise.mcp_server.results import InputState, state_of
from handraise.mcp_server.rounds import MOST_ROUNDS, Round, knows_rounds
from handraise.records import SuspensionRecord
from mcp.server.request_state import InvalidRequestState


def record(**fields: Any) -> SuspensionRecord:
    choices = [{"value": "approve", "label": "Approve refund"}, {"value": "deny", "label": "Deny"}]
    return SuspensionRecord.model_validate(
        {"id": "secret-id", "ref": "HR-7F3K", "question": "Go?", "choices": choices, **fields}
    )


@pytest.mark.parametrize(
    ("fields", "status", "denied"),
    [
        ({}, "pending", None),
        ({"resolution": "responded", "response": "approve"}, "answered", False),
        ({"resolution": "responded", "response": "deny", "reason": "No budget."}, "answered", True),
        ({"resolution": "expired", "error": "input_timeout"}, "expired", None),
        ({"resolution": "cancelled", "reason": "Not needed."}, "cancelled", None),
    ],
)
def test_each_ending_has_a_status_of_its_own(fields: dict[str, Any], status: str, denied: bool | None) -> None:
    state = state_of(record(**fields))
    assert (state.status, state.denied) == (status, denied)
    assert "HR-7F3K" in state.message
    assert fields.get("reason", "") in state.message
    assert "secret-id" not in state.model_dump_json()


def test_a_question_back_is_pending_and_says_what_to_do() -> None:
    held = {"question": "Which customer?", "held_until": "2026-11-28T12:00:00Z"}
    state = state_of(record(clarification=held), "https://handraise.example/q/HR-7F3K")
    assert (state.status, state.asked_back) == ("pending", "Which customer?")
    assert "cancel_input" in state.message
    assert "https://handraise.example/q/HR-7F3K" in state.message
    told = state_of(record(clarification={"question": "Which customer?", "text": "Bob."}))
    assert told.asked_back is None


def test_every_field_of_a_result_is_described() -> None:
    assert all(field.description for field in InputState.model_fields.values())


def test_rounds_end_before_clients_give_up() -> None:
    this = Round("HR-7F3K")
    for _ in range(MOST_ROUNDS):
        assert not this.is_last
        this = Round.of(this.after())
    assert this.is_last
    assert MOST_ROUNDS < 10


@pytest.mark.parametrize(
    ("version", "knows"), [(None, False), ("2025-06-18", False), ("2025-11-25", False), ("2026-07-28", True)]
)
def test_rounds_are_for_clients_that_know_them(version: str | None, knows: bool) -> None:
    assert knows_rounds(version) is knows


def test_a_seal_opens_for_the_key_that_sealed_alone() -> None:
    sealed = KeySeal(lambda: "one-key").seal(b"state")
    assert KeySeal(lambda: "one-key").unseal(sealed) == b"state"
    with pytest.raises(InvalidRequestState):
        KeySeal(lambda: "another-key").unseal(sealed)


def test_an_agent_imports_nothing_of_it() -> None:
    imported = "import sys, handraise.client, handraise.approval, handraise.transport, handraise.cli.app"
    looked = f"{imported}; print({{'mcp', 'mcp_types', 'starlette', 'uvicorn'}} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", looked], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"
