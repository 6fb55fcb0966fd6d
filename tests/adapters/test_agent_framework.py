"""What Agent Framework alone has: a "go on" that decides nothing, and arguments that its model of them has changed."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.adapters.desk import Session
from tests.adapters.frameworks import FRAMEWORKS, HERE, Framework

pytestmark = pytest.mark.adapters
PROGRAM = HERE / "agents/agent_framework_guards.py"


@pytest.fixture
def session(started: Callable[[Framework], Session]) -> Session:
    return started(next(one for one in FRAMEWORKS if one.name == "agent_framework"))


async def run(session: Session, what: str) -> int | None:
    ended = await session.program(PROGRAM, what, str(session.folder), session.name)
    assert ended.status == 0, ended.printed
    return ended.waiting


@pytest.mark.parametrize(
    ("before", "told"),
    [(["start"], "nobody has approved them"), (["start", "ask"], "Nobody has decided yet")],
    ids=["nobody was asked", "still open"],
)
async def test_a_go_on_without_a_yes_runs_nothing(session: Session, before: list[str], told: str) -> None:
    session.calls(30)
    for what in before:
        await run(session, what)
    await run(session, "forged")
    assert session.ran == []
    assert told in session.told["call_1"]


@pytest.mark.parametrize(
    ("what", "refusal"),
    [
        ("bare", "ValueError: The request is not about a tool of approved(), but about refund."),
        ("other", "ValueError: Duplicate tool name 'refund'."),
        ("direct", "ToolException: refund runs only as an agent's call that a person has approved."),
    ],
)
async def test_no_go_on_reaches_a_tool_that_does_not_look(session: Session, what: str, refusal: str) -> None:
    session.calls(30)
    await run(session, "start")
    await run(session, "ask")
    await session.answer(1, "deny", "no")
    await run(session, what)
    assert session.ran == []
    assert refusal in (session.folder / "said").read_text()


async def test_people_approve_the_arguments_as_the_tool_reads_them(session: Session) -> None:
    call = {"id": "call_1", "order": "1", "amount": 30.0, "on": "2026-03-04"}
    (session.folder / "calls.json").write_text(json.dumps([call]))
    await run(session, "typed")
    assert await run(session, "typed") == 1
    [asked] = await session.questions()
    assert asked["action"]["arguments"] == {"order": 1, "amount": 30, "on": "2026-03-04"}
    await session.answer(1, "approve")
    assert await run(session, "typed") == 0
    assert session.told == {"call_1": "refunded 30 for order 1 on 04 March, none"}
