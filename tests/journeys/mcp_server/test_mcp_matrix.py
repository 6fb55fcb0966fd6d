"""``handraise mcp``: a person takes longer than the client waits. Over each transport, in each era: rows of the matrix.

``make adapters`` prints it, beside the frameworks' rows (``tests/adapters``). No tool of ours runs anything, so nothing
can die in one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from mcp import Client, MCPError

from tests.adapters.frameworks import mcp_row
from tests.adapters.matrix import Record, column
from tests.journeys.mcp_server.clients import (
    CLIENT_SECONDS,
    LEGACY,
    MODERN,
    REFUND,
    answered,
    connected,
    error_of,
    first_round,
    open_question,
    questions,
    told,
)
from tests.world import World

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.mcp]

QUESTION = str(REFUND["question"])


@dataclass(frozen=True)
class Row:
    """Clients of the era ``mode`` over ``transport``."""

    world: World
    transport: str
    mode: str

    def connected(self) -> AbstractAsyncContextManager[Client]:
        """A client of a server that knows nothing of any other's."""
        return connected(self.world, self.transport, self.mode)

    @asynccontextmanager
    async def asking(self, *given: Mapping[str, Any]) -> AsyncIterator[list[Callable[[], Any]]]:
        """One client, and each question asked by it. Yields how the end of each is got, once it has been answered:
        an older client has been told ``pending`` and asks for the ref, a newer one still is in its only call."""
        async with self.connected() as client:
            if self.mode == MODERN:
                calls = [asyncio.create_task(told(client, "request_input", one)) for one in given]
                for one in given:
                    await open_question(self.world, one["question"])
                yield [lambda call=call: call for call in calls]
                return
            first = await asyncio.gather(*(told(client, "request_input", one) for one in given))
            for one in first:
                assert (one["status"], one["answer"]) == ("pending", None)
                assert one["ref"] in one["message"]
            yield [lambda ref=one["ref"]: told(client, "wait_for_input", {"ref": ref}) for one in first]


@pytest.fixture(params=[LEGACY, MODERN], ids=["2025-11-25", "2026-07-28"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["stdio", "http"])
def row(request: pytest.FixtureRequest, quiet_room: World, mode: str, record_property: Record) -> Row:
    record_property("row", mcp_row(mode, request.param))
    record_property("column", request.function.column)
    return Row(quiet_room, request.param, mode)


@column("approve")
async def test_an_approval_that_came_after_the_client_gave_up_is_what_the_call_returns(row: Row) -> None:
    async with row.connected() as client:
        began = time.monotonic()
        call = asyncio.create_task(told(client, "request_input", REFUND))
        one = await open_question(row.world, QUESTION)
        if row.mode == LEGACY:
            assert (await call)["status"] == "pending"
        while time.monotonic() - began < CLIENT_SECONDS + 0.5:
            if row.mode == LEGACY:
                assert (await told(client, "wait_for_input", {"ref": one["ref"]}))["status"] == "pending"
            else:
                await asyncio.sleep(0.5)
                assert not call.done()
        await answered(row.world, one, "approve", metadata={"reason": "It was our fault."})
        end = await (call if row.mode == MODERN else told(client, "wait_for_input", {"ref": one["ref"]}))
    assert (end["status"], end["answer"], end["answer_label"]) == ("answered", "approve", "Approve refund")
    assert end["denied"] is False
    assert (end["reason"], end["answered_by"]) == ("It was our fault.", "alice@example.com")
    assert "It was our fault." in end["message"]
    assert one["action"] == REFUND["action"]
    assert len(await questions(row.world, one["ref"])) == 1


@column("deny with reason")
async def test_a_denial_says_that_it_is_one_and_why(row: Row) -> None:
    async with row.asking(REFUND) as [end_of]:
        await answered(row.world, await open_question(row.world, QUESTION), "deny", metadata={"reason": "Too late."})
        end = await end_of()
    assert (end["status"], end["answer"], end["reason"]) == ("answered", "deny", "Too late.")
    assert end["denied"] is True
    assert "A person has said no" in end["message"]
    assert "Too late." in end["message"]


@column("silence")
async def test_silence_is_no_refusal_and_a_question_taken_back_is_neither(row: Row) -> None:
    silent, gone = ({**REFUND, "question": text, "timeout_seconds": 600} for text in ("Silent?", "Gone?"))
    async with row.asking(silent, gone) as ends, row.connected() as another:
        ref = (await open_question(row.world, "Gone?"))["ref"]
        back = await told(another, "cancel_input", {"ref": ref, "reason": "The customer has called."})
        again = await told(another, "cancel_input", {"ref": ref})
        await row.world.advance(minutes=10)
        expired, cancelled = [await end_of() for end_of in ends]
    assert (expired["status"], expired["answer"], expired["answered_by"]) == ("expired", None, None)
    assert "neither an approval nor a denial" in expired["message"]
    assert (expired["denied"], back["denied"]) == (None, None)
    assert (back["status"], back["reason"]) == ("cancelled", "The customer has called.")
    assert again == back == cancelled


@column("edited")
async def test_other_arguments_don_t_get_the_old_answer(row: Row, record_property: Record) -> None:
    given = {**REFUND, "question_id": f"edited by {row.mode} and {row.transport}"}
    edited = {**given, "action": {"tool": "stripe.refund", "amount": 1}}
    async with row.connected() as client:
        if row.mode == LEGACY:
            await told(client, "request_input", given)
            await answered(row.world, await open_question(row.world, QUESTION), "approve")
        else:
            state = (await first_round(client, given)).request_state
            await answered(row.world, await open_question(row.world, QUESTION), "approve")
            with pytest.raises(MCPError, match="Invalid or expired requestState"):
                await client.session.call_tool("request_input", edited, request_state=state)
        assert "idempotency_conflict" in await error_of(client, "request_input", edited)
    record_property("cell", "refused")


@column("two at once")
async def test_two_calls_at_once_are_two_questions_with_two_answers(row: Row) -> None:
    given = [{**REFUND, "question": text} for text in ("The first of two?", "The second of two?")]
    async with row.asking(*given) as ends:
        first, second = [await open_question(row.world, one["question"]) for one in given]
        await answered(row.world, second, "deny", metadata={"reason": "Too much."})
        await answered(row.world, first, "approve")
        told_of = [await end_of() for end_of in ends]
    assert [(one["ref"], one["answer"], one["reason"]) for one in told_of] == [
        (first["ref"], "approve", None),
        (second["ref"], "deny", "Too much."),
    ]


@column("died asking")
async def test_a_server_that_died_in_between_is_not_missed(row: Row) -> None:
    """Each client has a server of its own: nothing of the one before is left."""
    given = {**REFUND, "question": f"Across servers, by {row.mode} and {row.transport}?"}
    if row.mode == LEGACY:
        async with row.connected() as client:
            ref = (await told(client, "request_input", given))["ref"]
        async with row.connected() as client:
            assert (await told(client, "wait_for_input", {"ref": ref}))["status"] == "pending"
    else:
        async with row.connected() as client:
            state = (await first_round(client, given)).request_state
        async with row.connected() as client:
            again = await client.session.call_tool(
                "request_input", given, request_state=state, allow_input_required=True
            )
            state = again.request_state
    [one] = await questions(row.world, given["question"])
    await answered(row.world, one, "approve")
    async with row.connected() as client:
        checked = await told(client, "check_input", {"ref": one["ref"]})
        if row.mode == MODERN:
            end = await client.session.call_tool("request_input", given, request_state=state)
            assert end.structured_content == checked
    assert (checked["ref"], checked["answer"]) == (one["ref"], "approve")


@column("second resume")
async def test_a_second_resume_tells_the_same_and_asks_nobody_again(row: Row) -> None:
    given = {**REFUND, "question": f"Twice, by {row.mode} and {row.transport}?"}
    async with row.connected() as client:
        if row.mode == LEGACY:
            ref = (await told(client, "request_input", given))["ref"]
        else:
            state = (await first_round(client, given)).request_state
        [one] = await questions(row.world, given["question"])
        await answered(row.world, one, "deny")
        if row.mode == LEGACY:
            ends = [await told(client, tool, {"ref": ref.lower()}) for tool in ("wait_for_input", "check_input")]
        else:
            ends = [
                (await client.session.call_tool("request_input", given, request_state=state)).structured_content
                for _ in range(2)
            ]
    assert [end["answer"] for end in ends] == ["deny", "deny"]
    assert ends[0] == ends[1]
    assert len(await questions(row.world, given["question"])) == 1
