"""What LangGraph alone has: forms that come back typed, other checkpointers, and its page as it is printed."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.adapters.desk import Session
from tests.adapters.frameworks import FRAMEWORKS, HERE, ROOT, Framework
from tests.postgres import postgres

pytestmark = pytest.mark.adapters

FORMS = HERE / "agents/langgraph_forms.py"
PAGE = ROOT / "docs/how-to/frameworks/langgraph.md"


@pytest.fixture
def session(started: Callable[[Framework], Session]) -> Session:
    return started(next(one for one in FRAMEWORKS if one.name == "langgraph"))


async def _form(session: Session, kind: str, seconds: int = 600) -> int | None:
    """How many interrupts wait after one more process of the graph."""
    (session.folder / "seconds").write_text(str(seconds))
    ended = await session.program(FORMS, kind, str(session.folder), session.name)
    assert ended.status == 0, ended.printed
    return ended.waiting


@pytest.mark.parametrize("kind", ["ours", "plain"])
async def test_the_answer_to_a_form_is_typed_in_another_process(session: Session, kind: str) -> None:
    assert await _form(session, kind) == 1
    [asked] = await session.questions()
    assert asked["question"] == "How much?"
    assert asked["context"] == {"order": 7}
    assert set(asked["form_schema"]["properties"]) == {"amount", "note"}
    await session.respond(asked, {"amount": 5})
    assert await _form(session, kind) == 0
    assert (session.folder / "said").read_text() == "Refund(amount=5, note=None)"


async def test_the_form_of_the_page_is_one(session: Session) -> None:
    assert await _form(session, "page") == 1
    [asked] = await session.questions()
    assert asked["context"] == {"total": 80}
    await session.respond(asked, {"amount": 5})
    assert await _form(session, "page") == 0
    assert (session.folder / "said").read_text() == "5 it is."


async def test_an_interrupt_without_a_schema_is_answered_by_a_text(session: Session) -> None:
    assert await _form(session, "text") == 1
    [asked] = await session.questions()
    assert asked["question"] == "What shall the mail say?"
    await session.respond(asked, "Sorry.")
    assert await _form(session, "text") == 0
    assert (session.folder / "said").read_text() == "'Sorry.'"


async def test_a_form_that_nobody_filled_in_is_told_as_silence(session: Session) -> None:
    await _form(session, "ours", seconds=1)
    await session.ended()
    assert await _form(session, "ours") == 0
    assert (session.folder / "said").read_text().startswith("Nobody has answered in time")


async def test_silence_is_no_answer_for_a_node_that_can_not_tell_them_apart(session: Session) -> None:
    await _form(session, "plain", seconds=1)
    await session.ended()
    ended = await session.program(FORMS, "plain", str(session.folder), session.name)
    assert ended.status == 1
    assert "InputTimeoutError" in ended.printed


async def test_a_graph_may_be_kept_in_postgresql(session: Session) -> None:
    session.calls(30, 40)
    with postgres() as query:
        url = f"postgresql://postgres@/postgres{query}"
        assert (await session.agent("start", CHECKPOINTS=url)).waiting == 2
        await session.answer(2, "approve")
        assert (await session.agent("resume", CHECKPOINTS=url)).waiting == 1
        assert session.ran == ["2 40"]
        await session.answer(1, "deny", "too much")
        assert (await session.agent("resume", CHECKPOINTS=url)).waiting == 0
    assert session.ran == ["2 40"]
    assert "too much" in session.told["call_1"]


async def test_the_program_of_the_page_runs_as_it_is_printed(session: Session) -> None:
    program = session.folder / "refund.py"
    [printed] = re.findall(r"`refund\.py`:\n\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    program.write_text(printed.replace('"thread-1"', f'"{session.name}"'))
    assert (await session.program(program)).printed == "waiting for a person\n"
    await session.answer(12345, "approve")
    assert (await session.program(program)).printed == "paying 30 back for order 12345\nRefunded 30.\n"
    assert (await session.program(program)).printed == "Refunded 30.\n"
