"""RFC-0026 §11: recipients are checked against a list before anybody is asked; second answers are refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.world import World, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION: dict[str, Any] = {"question": "May they be asked?", "response_type": "confirm", "timeout_seconds": 60}


def ladder(notify_to: str, channel: str = "email") -> dict[str, Any]:
    rungs = [{"attempt": 2, "channel_hint": channel, "notify_to": notify_to}]
    return {"retry_policy": {"max_attempts": 2, "interval_seconds": 60, "escalation_ladder": rungs}}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def closed_house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """A service without a list: only the directory and the configured defaults are allowed."""
    folder = tmp_path_factory.mktemp("closed")
    url = f"sqlite+aiosqlite:///{folder}/handraise.db"
    async with running(folder, url, recipients={}) as world:
        yield world


async def refuse(world: World, code: str, **fields: Any) -> None:
    response = await world.call("POST", "/v1/suspensions", json={**QUESTION, **fields})
    assert (response.status_code, response.json()["detail"]["error"]) == (422, code), response.text
    assert (await world.call("GET", "/v1/suspensions", "admin")).json()["items"] == []
    assert (await world.call("GET", "/v1/intents", "admin")).json()["intents"] == []
    await world.settle()
    assert (world.slack.workspace.posted(), world.mailbox.mails, world.pager.events) == ([], [], [])


@pytest.mark.parametrize(
    "fields",
    [
        {"notify_to": "eve@elsewhere.example", "channel_hint": "email"},
        {"notify_to": "email:eve@elsewhere.example", "channel_hint": "email"},
        {"notify_to": "slack:C9SECRET"},
        {"responders": ["alice@example.com", "eve@elsewhere.example"]},
        ladder("eve@elsewhere.example"),
        ladder("slack:C9SECRET", "slack"),
        {"notify_to": "alice@example.com.elsewhere.example", "channel_hint": "email"},
    ],
)
async def test_who_is_not_on_the_list_is_not_asked(room: World, fields: dict[str, Any]) -> None:
    await refuse(room, "recipient_not_allowed", **fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"notify_to": "zoe@example.com", "channel_hint": "email"},
        {"notify_to": "email:zoe@example.com", "channel_hint": "email"},
        {"notify_to": "slack:C9SECRET"},
        {"responders": ["zoe@example.com"]},
        ladder("zoe@example.com"),
    ],
)
async def test_without_a_list_strangers_are_not_asked(closed_house: World, fields: dict[str, Any]) -> None:
    await refuse(closed_house, "recipient_not_allowed", **fields)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"notify_to": "bob@example.com"},
        {"notify_to": "group:finance"},
        {"notify_to": "slack:C0OPS"},
        {"notify_to": "slack:U0CAROL"},
        {"channel_hint": "email"},
        {"channel_hint": "email", "notify_to": "email:alice@example.com"},
        {"channel_hint": "pagerduty"},
        {"responders": ["group:finance", "carol@example.com"]},
    ],
)
async def test_without_a_list_the_directory_and_the_defaults_are_asked(
    closed_house: World, fields: dict[str, Any]
) -> None:
    response = await closed_house.call("POST", "/v1/suspensions/preview", json={**QUESTION, **fields})
    assert response.status_code == 200
    assert [problem["code"] for problem in response.json()["problems"] if problem["code"] != "pages_service_only"] == []
    assert response.json()["ladder"][0]["recipients"]


async def test_a_second_answer_is_refused(room: World) -> None:
    asked = await room.ask()
    assert (await room.answer(asked, "approve")).status_code == 200
    for role, value in (("operator", "approve"), ("operator", "deny"), ("second_operator", "deny")):
        response = await room.answer(asked, value, role)
        assert (response.status_code, response.json()["detail"]["error"]) == (409, "already_answered")
    assert (await room.show(asked))["response"] == "approve"
    assert (await room.told(asked))["data"]["value"] == "approve"
