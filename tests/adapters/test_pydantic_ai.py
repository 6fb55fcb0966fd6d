"""What Pydantic AI alone has: a run that waits itself, and tools that ask the user a question."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest

from tests.adapters.desk import LIMIT, Session
from tests.adapters.frameworks import FRAMEWORKS, Framework

pytestmark = pytest.mark.adapters


@pytest.fixture
def session(started: Callable[[Framework], Session]) -> Session:
    return started(next(one for one in FRAMEWORKS if one.name == "pydantic_ai"))


async def test_a_run_may_wait_for_all_its_people_itself(session: Session) -> None:
    session.calls(30, 40)
    running = asyncio.create_task(session.agent("inline"))
    async with asyncio.timeout(LIMIT):
        while len(await session.questions()) < 2:
            await asyncio.sleep(0.1)
    await session.answer(1, "approve")
    await session.answer(2, "deny", "too much")
    assert (await running).waiting == 0
    assert session.ran == ["1 30"]
    assert session.told["call_1"] == "refunded 30 for order 1"
    assert "too much" in session.told["call_2"]


@pytest.mark.parametrize("answer", ["In blue.", None])
async def test_a_tool_that_asks_the_user_gets_the_answer_or_is_told_of_silence(
    session: Session, answer: str | None
) -> None:
    (session.folder / "calls.json").write_text(json.dumps([{"id": "call_1", "question": "Which colour?"}]))
    assert (await session.agent("start", TIMEOUT_SECONDS="600" if answer else "1")).waiting == 1
    [asked] = await session.questions()
    assert (asked["question"], asked["action"]) == ("Which colour?", None)
    if answer:
        await session.respond(asked, answer)
    else:
        await session.ended()
    assert (await session.agent("resume")).waiting == 0
    assert session.told["call_1"].startswith(answer or "Nobody has answered in time")
