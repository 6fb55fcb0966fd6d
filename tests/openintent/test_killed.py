"""The service, or the published client's agent, is killed while a person thinks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.openintent.office import office

pytestmark = pytest.mark.kills

ASK = {"question": "Go on?", "response_type": "confirm"}


async def test_the_service_is_killed_while_the_agent_waits_and_the_answer_reaches_it_all_the_same(
    tmp_path: Path, database_url: str, client_python: Path
) -> None:
    async with office(tmp_path, database_url, client_python) as place, place.agent(ASK) as agent:
        intent = await agent.said("intent")
        await agent.said("requested")
        await place.service.kill()
        await place.service.start()
        await place.answer(intent, "yes")
        assert (await agent.said("received"))["value"] == "yes"
        await place.service.kill()
        await place.service.start()
        assert (await place.record(intent))["response"] == "yes"


async def test_the_agent_is_killed_and_its_question_can_be_answered_still(
    tmp_path: Path, sqlite_url: str, client_python: Path
) -> None:
    async with office(tmp_path, sqlite_url, client_python) as place:
        async with place.agent(ASK) as agent:  # killed at the end of the block
            intent = await agent.said("intent")
            await agent.said("requested")
        await place.answer(intent, "yes")
        after = await place.intent(intent)
    assert (after["status"], after["state"]["_suspension"]["response"]) == ("active", "yes")
