"""What holds of every framework: ask, the process ends, a person answers, another process goes on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.adapters.desk import Session
from tests.adapters.frameworks import FRAMEWORKS, Framework
from tests.adapters.matrix import Record, column

pytestmark = pytest.mark.adapters


@pytest.fixture(params=FRAMEWORKS, ids=lambda framework: framework.name)
def session(
    request: pytest.FixtureRequest, started: Callable[[Framework], Session], record_property: Record
) -> Session:
    record_property("row", request.param.name)
    record_property("column", request.function.column)
    return started(request.param)


@column("approve")
async def test_what_was_approved_runs_once_in_another_process(session: Session) -> None:
    session.calls(30)
    assert (await session.agent("start")).waiting == 1
    assert (await session.agent("resume")).waiting == 1, "nobody has answered yet"
    [asked] = await session.questions()
    assert asked["action"] == {"tool": "refund", "arguments": {"order": 1, "amount": 30}}
    await session.answer(1, "approve")
    assert (await session.agent("resume")).waiting == 0
    assert session.ran == ["1 30"]
    assert session.told == {"call_1": "refunded 30 for order 1"}


@column("deny with reason")
async def test_the_reason_of_a_denial_reaches_the_model_and_nothing_runs(session: Session) -> None:
    session.calls(30)
    await session.agent("start")
    await session.answer(1, "deny", "the customer has it back already")
    assert (await session.agent("resume")).waiting == 0
    assert session.ran == []
    assert "A person has said no" in session.told["call_1"]
    assert "the customer has it back already" in session.told["call_1"]


@column("silence")
async def test_silence_is_told_as_silence_and_nothing_runs(session: Session) -> None:
    session.calls(30)
    await session.agent("start", TIMEOUT_SECONDS="1")
    await session.ended()
    assert (await session.agent("resume")).waiting == 0
    assert session.ran == []
    assert "Nobody has answered in time" in session.told["call_1"]
    assert "said no" not in session.told["call_1"]


@column("edited")
async def test_edited_arguments_do_not_run_on_the_old_approval(session: Session, record_property: Record) -> None:
    session.calls(30)
    await session.agent("start")
    await session.answer(1, "approve")
    ended = await session.agent("edit")
    assert session.ran == []
    if not ended.waiting:
        record_property("cell", "refused")
        assert "nobody has approved them" in session.told["call_1"]
        return
    record_property("cell", "asked anew")
    assert [one["action"]["arguments"]["amount"] for one in await session.questions()] == [30, 1030]
    await session.answer(1, "approve")
    assert (await session.agent("resume")).waiting == 0
    assert session.ran == ["1 1030"]


@column("two at once")
async def test_two_calls_of_one_turn_are_two_questions_with_two_answers(
    session: Session, record_property: Record
) -> None:
    session.calls(30, 40)
    if session.framework.one_at_a_time:
        record_property("cell", "one at a time")
        await _one_after_the_other(session)
        return
    assert (await session.agent("start")).waiting == 2
    await session.answer(2, "deny", "too much")
    await session.agent("resume")
    assert session.ran == []
    await session.answer(1, "approve")
    assert (await session.agent("resume")).waiting == 0
    assert session.ran == ["1 30"]
    assert session.told["call_1"] == "refunded 30 for order 1"
    assert "too much" in session.told["call_2"]
    assert len(await session.questions()) == 2


async def _one_after_the_other(session: Session) -> None:
    assert (await session.agent("start")).waiting == 1
    assert len(await session.questions()) == 1
    await session.answer(1, "deny", "too much")
    assert (await session.agent("resume")).waiting == 1
    await session.answer(2, "approve")
    assert (await session.agent("resume")).waiting == 0
    assert session.ran == ["2 40"]
    assert "too much" in session.told["call_1"]
    assert session.told["call_2"] == "refunded 40 for order 2"
    assert len(await session.questions()) == 2


@column("died asking")
async def test_a_process_that_died_while_it_asked_asks_nobody_twice(session: Session) -> None:
    session.calls(30, 40)
    assert (await session.agent("start", DIE_AFTER_ASKS="1")).status == -9
    at_once = 1 if session.framework.one_at_a_time else 2
    assert (await session.agent("resume")).waiting == at_once
    assert len(await session.questions()) == at_once
    await session.answer(1, "approve")
    if at_once == 1:
        assert (await session.agent("resume")).waiting == 1
    await session.answer(2, "approve")
    assert (await session.agent("resume")).waiting == 0
    assert sorted(session.ran) == ["1 30", "2 40"]


@column("died in the tool")
async def test_a_process_that_died_in_the_tool_does_not_run_it_again(session: Session) -> None:
    session.calls(30)
    await session.agent("start")
    await session.answer(1, "approve")
    assert (await session.agent("resume", DIE_IN_TOOL="1")).status == -9
    await session.agent("resume")
    assert session.ran == ["1 30"]
    assert "it may have run" in session.told["call_1"]


@column("second resume")
async def test_a_second_resume_runs_nothing_twice(session: Session) -> None:
    session.calls(30)
    await session.agent("start")
    await session.answer(1, "approve")
    session.keep()
    await session.agent("resume")
    await session.agent("resume")
    assert session.ran == ["1 30"]
    session.restore()
    await session.agent("resume")
    assert session.ran == ["1 30"], "what was saved before the tool ran is resumed once more"
    assert "it may have run" in session.told["call_1"]
