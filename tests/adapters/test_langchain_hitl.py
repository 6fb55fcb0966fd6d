"""What LangChain's own middleware has beside the matrix: its decisions, its descriptions, its words, and its page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.adapters.desk import AGENT, Session
from tests.adapters.frameworks import FRAMEWORKS, HERE, ROOT, Framework

pytestmark = pytest.mark.adapters

PAGE = ROOT / "docs/how-to/frameworks/langchain.md"
THEIRS = "User rejected the tool call for `refund` with reason: "


@pytest.fixture(params=["batched", "per_call"])
def session(request: pytest.FixtureRequest, started: Callable[[Framework], Session]) -> Session:
    session = started(next(one for one in FRAMEWORKS if one.name == f"langchain_{request.param}"))
    session.calls(30)
    return session


def allowing(*decisions: str, **others: object) -> dict[str, str]:
    return {"INTERRUPT_ON": json.dumps({"allowed_decisions": decisions, **others})}


async def test_a_denial_is_told_in_their_words_and_the_persons(session: Session) -> None:
    await session.agent("start")
    await session.answer(1, "deny", "too much")
    await session.agent("resume")
    assert session.told["call_1"].startswith(f"{THEIRS}A person has said no (HR-")
    assert session.told["call_1"].endswith("Their reason: too much")


async def test_silence_says_that_no_person_has_rejected_it(session: Session) -> None:
    await session.agent("start", TIMEOUT_SECONDS="1")
    await session.ended()
    await session.agent("resume")
    told = session.told["call_1"]
    assert told.startswith(f"{THEIRS}No person has rejected it; LangChain writes so of every call that does not run.")
    assert "Nobody has answered in time" in told


async def test_what_was_taken_back_says_that_no_person_has_rejected_it(session: Session) -> None:
    await session.agent("start")
    asked = await session.question(1)
    taken_back = f"{session.service.url}/v1/suspensions/{asked['id']}/cancel"
    reply = await session.http.post(taken_back, headers={"X-API-Key": AGENT}, json={"reason": "out of stock"})
    assert reply.status_code == 200
    await session.agent("resume")
    assert "No person has rejected it" in session.told["call_1"]
    assert session.told["call_1"].endswith("The reason: out of stock")
    assert session.ran == []


async def test_a_tool_that_may_not_be_rejected_tells_a_denial_by_a_response(session: Session) -> None:
    allowed = allowing("approve", "respond")
    await session.agent("start", **allowed)
    await session.answer(1, "deny", "too much")
    await session.agent("resume", **allowed)
    assert session.told["call_1"].startswith("A person has said no")
    assert session.ran == []


@pytest.mark.parametrize("decisions", [["approve"], ["approve", "edit"], ["reject"], ["edit", "reject"]])
async def test_a_tool_that_can_not_be_decided_on_is_refused_before_anybody_is_asked(
    session: Session, decisions: list[str]
) -> None:
    ended = await session.program(
        session.framework.program, "start", str(session.folder), session.name, **allowing(*decisions)
    )
    assert ended.status == 1
    assert f"ValueError: interrupt_on['refund'] allows {', '.join(sorted(decisions))}." in ended.printed
    assert await session.questions() == []


async def test_a_description_is_the_question_and_theirs_is_left_out(session: Session) -> None:
    await session.agent("start", **allowing("approve", "reject", description="Pay it back?"))
    assert [one["question"] for one in await session.questions()] == ["Pay it back?"]


async def test_without_a_description_people_are_asked_whether_the_tool_may_run(session: Session) -> None:
    await session.agent("start")
    assert [one["question"] for one in await session.questions()] == ["May refund run?"]


@pytest.mark.parametrize("answer", ["In blue.", None])
async def test_a_tool_that_only_responds_is_answered_by_a_text_or_told_of_silence(
    session: Session, answer: str | None
) -> None:
    allowed = allowing("respond")
    await session.agent("start", TIMEOUT_SECONDS="600" if answer else "1", **allowed)
    [asked] = await session.questions()
    assert (asked["question"], asked["context"]) == ("What do you answer to refund?", {"order": 1, "amount": 30})
    if answer:
        await session.respond(asked, answer)
    else:
        await session.ended()
    assert (await session.agent("resume", **allowed)).waiting == 0
    assert session.told["call_1"].startswith(answer or "Nobody has answered in time")
    assert session.ran == []


async def test_an_edit_by_another_client_does_not_run_on_the_old_approval(session: Session) -> None:
    await session.agent("start")
    await session.answer(1, "approve")
    await session.agent("other client")
    assert session.ran == []
    assert "nobody has approved them" in session.told["call_1"]


async def test_both_of_two_approvals_run_once_in_one_process(session: Session) -> None:
    session.calls(30, 30)
    await session.agent("start")
    await session.answer(1, "approve")
    await session.answer(2, "approve")
    assert (await session.agent("resume")).waiting == 0
    assert sorted(session.ran) == ["1 30", "2 30"]


async def test_two_calls_with_the_same_arguments_are_two_questions(session: Session) -> None:
    made: list[dict[str, Any]] = [{"id": f"call_{at}", "order": 7, "amount": 30} for at in (1, 2)]
    (session.folder / "calls.json").write_text(json.dumps(made))
    await session.agent("start")
    first, second = await session.questions()
    await session.respond(first, "deny")
    await session.respond(second, "approve")
    assert (await session.agent("resume")).waiting == 0
    assert session.ran == ["7 30"]
    assert "A person has said no" in session.told[first["invocation_id"]]


async def test_the_program_of_the_page_runs_as_it_is_printed(session: Session) -> None:
    [printed] = re.findall(r"`reviewed\.py`:\n\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    mode = session.framework.name.removeprefix("langchain_")
    model = 'MODEL = "openai:gpt-5"'
    assert model in printed
    assert 'interrupt_mode="per_call"' in printed
    scripted = f"import sys\nsys.path.insert(0, {str(HERE / 'agents')!r})\nfrom langchain_model import Scripted\n"
    program = session.folder / "reviewed.py"
    program.write_text(
        printed.replace(model, f"{scripted}MODEL = Scripted()")
        .replace('"conversation-1"', f'"{session.name}"')
        .replace('"per_call"', f'"{mode}"')
    )
    (session.folder / "calls.json").write_text('[{"id": "call_1", "order": 12345, "amount": 30}]')
    assert (await session.program(program, ".", str(session.folder), session.name)).printed == "waiting for a person\n"
    await session.answer(12345, "approve")
    second = await session.program(program, ".", str(session.folder), session.name)
    assert second.printed == "paying 30 back for order 12345\nDone.\n"
