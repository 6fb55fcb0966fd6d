"""What CrewAI alone has: questions of a flow, outcomes that a language model picks, and its telemetry."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from tests.adapters.desk import Session
from tests.adapters.frameworks import FRAMEWORKS, HERE, ROOT, Framework

pytestmark = pytest.mark.adapters
PROGRAM = HERE / "agents/crewai_questions.py"


@pytest.fixture
def session(started: Callable[[Framework], Session]) -> Session:
    session = started(next(one for one in FRAMEWORKS if one.name == "crewai"))
    session.calls()
    return session


async def run(session: Session, what: str, **environ: str) -> int | None:
    ended = await session.program(PROGRAM, what, str(session.folder), session.name, **environ)
    assert ended.status == 0, ended.printed
    return ended.waiting


def said(session: Session) -> str:
    return (session.folder / "said").read_text()


async def test_an_answer_arrives_as_a_value_with_its_reason_and_nothing_leaves_the_machine(session: Session) -> None:
    assert await run(session, "start") == 1
    [asked] = await session.questions()
    assert asked["question"] == "Which colour?"
    assert [one["value"] for one in asked["choices"]] == ["red", "blue"]
    assert asked["context"] == {"output": "The wall of the kitchen."}
    await session.respond(asked, "blue", "it is the colour of the tiles")
    assert await run(session, "resume") == 0
    found = json.loads(said(session))
    assert (found["resolution"], found["value"]) == ("responded", "blue")
    assert found["reason"] == "it is the colour of the tiles"
    assert found["by"] == "alice@example.com"
    assert not (session.folder / "network").exists(), (session.folder / "network").read_text()


async def test_silence_is_no_outcome(session: Session) -> None:
    assert await run(session, "start", TIMEOUT_SECONDS="1") == 1
    await session.ended()
    assert await run(session, "resume") == 0
    found = json.loads(said(session))
    assert (found["resolution"], found["value"]) == ("expired", None)
    assert "Nobody has answered in time" in found["told"]


async def test_a_step_with_outcomes_for_a_model_to_pick_is_refused_before_anybody_is_asked(session: Session) -> None:
    await run(session, "emit")
    assert said(session).startswith("EmitRefused: The step ask has emit=['yes', 'no']")
    assert "a language model decides" in said(session)
    assert await session.questions() == []


async def test_a_feedback_that_is_not_from_people_is_refused(session: Session) -> None:
    await run(session, "start")
    await run(session, "foreign")
    assert "The feedback to ask does not come from handraise.adapters.crewai" in said(session)


async def test_a_flow_that_does_not_wait_says_so(session: Session) -> None:
    await run(session, "resume")
    assert "No pending feedback found" in said(session)


async def test_the_program_of_the_page_asks_ends_and_goes_on(session: Session) -> None:
    text = (ROOT / "docs/how-to/frameworks/crewai.md").read_text()
    [printed] = re.findall(r"`refund\.py`:\n\n```python\n(.*?)```", text, re.DOTALL)
    program = session.folder / "refund.py"
    program.write_text(printed.replace('"conversation-1"', f'"{session.name}"'))
    first = await session.program(program)
    assert first.printed.endswith("waiting for a person\n"), first.printed
    await session.answer(12345, "approve")
    second = await session.program(program)
    assert second.printed.count("paying 30 back for order 12345\n") == 1, second.printed
    assert second.printed.endswith("Refunded 30.\n")
