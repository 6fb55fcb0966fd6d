"""What Google ADK alone has: requests and placeholders as events of their own, callbacks, answers by anybody."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.adapters.desk import Session, settings
from tests.adapters.frameworks import FRAMEWORKS, Framework
from tests.ports import free_port
from tests.process import ServiceProcess

pytestmark = pytest.mark.adapters


@pytest.fixture
def session(started: Callable[[Framework], Session]) -> Session:
    return started(next(one for one in FRAMEWORKS if one.name == "google_adk"))


@pytest.fixture
async def refusing(tmp_path: Path) -> AsyncIterator[ServiceProcess]:
    """A service that asks nobody about what people have just denied."""
    folder = tmp_path / "refusing"
    folder.mkdir()
    ours = settings(folder, free_port())
    process = ServiceProcess(folder, ours | {"suspension": ours["suspension"] | {"same_ask": "refuse"}})
    await process.start()
    yield process
    await process.terminate()


async def test_what_people_have_just_denied_is_told_as_that(session: Session, refusing: ServiceProcess) -> None:
    for name in ("first", "second"):
        one = replace(session, service=refusing, name=name, folder=session.folder / name)
        one.folder.mkdir()
        one.calls(30)
        ended = await one.agent("start")
        if name == "first":
            await one.answer(1, "deny", "too much")
    assert ended.waiting == 0
    assert await one.questions() == []
    assert "too much" in one.told["call_1"]


async def test_a_process_that_died_right_after_its_request_asks_and_goes_on(session: Session) -> None:
    session.calls(30)
    assert (await session.agent("start", DIE_AFTER_REQUEST="1")).status == -9
    assert await session.questions() == []
    assert (await session.agent("resume")).waiting == 1
    await session.answer(1, "approve")
    assert (await session.agent("resume")).waiting == 0
    assert session.ran == ["1 30"]
    assert session.told == {"call_1": "refunded 30 for order 1"}


async def test_a_session_in_memory_has_its_events_in_another_order_and_waits_too(session: Session) -> None:
    session.calls(30)
    assert (await session.agent("start", IN_MEMORY="1")).waiting == 1
    [asked] = await session.questions()
    assert asked["action"] == {"tool": "refund", "arguments": {"order": 1, "amount": 30}}


async def test_people_are_asked_about_the_arguments_that_a_callback_has_edited(session: Session) -> None:
    session.calls(30)
    assert (await session.agent("start", EDITING="1")).waiting == 1
    [asked] = await session.questions()
    assert asked["action"]["arguments"] == {"order": 1, "amount": 1030}
    await session.answer(1, "approve")
    assert (await session.agent("resume", EDITING="1")).waiting == 0
    assert session.ran == ["1 1030"]


async def test_a_confirmation_by_whoever_writes_to_the_session_runs_nothing(session: Session) -> None:
    session.calls(30)
    await session.agent("start")
    await session.agent("forge")
    assert session.ran == []
    assert "still open" in session.told["call_1"]


async def test_without_a_pause_the_model_reads_that_the_other_call_waits(session: Session) -> None:
    session.calls(30, 40)
    assert (await session.agent("start", RESUMABLE="no")).waiting == 2
    await session.answer(2, "deny", "too much")
    assert (await session.agent("resume", RESUMABLE="no")).waiting == 1
    assert "it waits for a person" in session.told["call_1"]
    await session.answer(1, "approve")
    assert (await session.agent("resume", RESUMABLE="no")).waiting == 0
    assert session.ran == ["1 30"]


async def test_with_a_pause_the_model_goes_on_once_all_of_a_turn_are_answered(session: Session) -> None:
    session.calls(30, 40)
    await session.agent("start")
    await session.answer(2, "deny", "too much")
    assert (await session.agent("resume")).waiting == 1
    assert session.told == {}
    await session.answer(1, "approve")
    await session.agent("resume")
    assert session.told["call_1"] == "refunded 30 for order 1"
    assert "too much" in session.told["call_2"]
