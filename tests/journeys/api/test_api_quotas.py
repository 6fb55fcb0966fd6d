"""Quotas per key (API.md §2, §8): how many questions may be open, and how many asked within a minute."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.statements import executed
from tests.world import KEYS, World, running

QUESTION: dict[str, Any] = {"question": "Go?", "response_type": "confirm"}


@pytest.fixture
async def limited(tmp_path: Path, sqlite_url: str) -> AsyncIterator[World]:
    """Every key may have three questions open and ask five a minute; the other agent may have one open."""
    async with running(tmp_path, sqlite_url, quotas={"open": 3, "per_minute": 5}, api_keys=_keys()) as world:
        yield world


def _keys() -> list[dict[str, Any]]:
    return [
        {"name": "refund-agent", "key": KEYS["agent"], "roles": ["agent"]},
        {"name": "other-agent", "key": KEYS["other_agent"], "roles": ["agent"], "quotas": {"open": 1}},
        {"name": "alice@example.com", "key": KEYS["operator"], "roles": ["operator"]},
        {"name": "root", "key": KEYS["admin"], "roles": ["admin"]},
    ]


def limited_on(folder: Path, url: str, **quotas: int) -> AbstractAsyncContextManager[World]:
    return running(folder, url, quotas=quotas)


async def ask(world: World, role: str = "agent", **options: Any) -> httpx.Response:
    return await world.call("POST", "/v1/suspensions", role, json=QUESTION, **options)


def refused(response: httpx.Response) -> dict[str, Any]:
    assert response.status_code == 429, response.text
    detail: dict[str, Any] = response.json()["detail"]
    assert detail["error"] == "quota_exceeded"
    return detail


async def test_so_many_questions_may_be_open_and_an_end_makes_room(limited: World) -> None:
    asked = [(await ask(limited)).json() for _ in range(3)]
    response = await ask(limited)
    detail = refused(response)
    assert (detail["quota"], detail["limit"], detail["current"]) == ("open", 3, 3)
    assert "Retry-After" not in response.headers
    assert (await limited.answer(asked[0], "yes")).status_code == 200
    assert (await ask(limited)).status_code == 201


async def test_suspending_an_intent_of_ones_own_counts_too(limited: World) -> None:
    intents = [await limited.active_intent() for _ in range(4)]
    paths = [f"/v1/intents/{intent['id']}/suspend" for intent in intents]
    statuses = [(await limited.call("POST", path, json=QUESTION)).status_code for path in paths]
    assert statuses == [201, 201, 201, 429]
    left = (await limited.call("GET", f"/v1/intents/{intents[3]['id']}")).json()
    assert (left["status"], left["version"]) == ("active", intents[3]["version"])


async def test_so_many_may_be_asked_within_a_minute_and_the_reply_says_when_again(limited: World) -> None:
    for _ in range(5):
        response = await ask(limited)
        assert response.status_code == 201
        await limited.call("POST", f"/v1/suspensions/{response.json()['suspension_id']}/cancel", json={})
        await limited.advance(seconds=10)
    response = await ask(limited)
    detail = refused(response)
    assert (detail["quota"], detail["limit"], detail["current"]) == ("per_minute", 5, 5)
    assert response.headers["Retry-After"] == "10"
    await limited.advance(seconds=9)
    assert (await ask(limited)).headers["Retry-After"] == "1"
    await limited.advance(seconds=1)
    assert (await ask(limited)).status_code == 201


async def test_a_key_may_have_a_quota_of_its_own_and_shares_nobody_elses(limited: World) -> None:
    assert [(await ask(limited, "other_agent")).status_code for _ in range(2)] == [201, 429]
    assert [(await ask(limited)).status_code for _ in range(3)] == [201] * 3


async def test_a_repeated_request_and_a_preview_cost_nothing(limited: World) -> None:
    key = {"Idempotency-Key": "k"}
    assert [(await ask(limited, "other_agent", headers=key)).status_code for _ in range(3)] == [201] * 3
    preview = await limited.call("POST", "/v1/suspensions/preview", "other_agent", json=QUESTION)
    assert (preview.status_code, preview.json()["problems"]) == (200, [])
    assert (await ask(limited, "other_agent")).status_code == 429


async def test_a_refused_question_leaves_nothing_and_may_be_repeated_under_its_key(limited: World) -> None:
    first = (await ask(limited, "other_agent")).json()
    key = {"Idempotency-Key": "later"}
    refused(await ask(limited, "other_agent", headers=key))
    listed = (await limited.call("GET", "/v1/suspensions", "admin")).json()["items"]
    assert [one["id"] for one in listed] == [first["suspension_id"]]
    await limited.call("POST", f"/v1/suspensions/{first['suspension_id']}/cancel", "other_agent", json={})
    assert (await ask(limited, "other_agent", headers=key)).status_code == 201


@pytest.mark.parametrize("quotas", [{"open": 4}, {"per_minute": 4}])
async def test_no_number_of_callers_at_once_gets_past(
    tmp_path: Path, database_url: str, quotas: dict[str, int]
) -> None:
    async with limited_on(tmp_path, database_url, **quotas) as world:
        replies = await asyncio.gather(*(ask(world) for _ in range(24)))
        assert sorted(reply.status_code for reply in replies) == [201] * 4 + [429] * 20
        listed = (await world.call("GET", "/v1/suspensions", "admin", params={"limit": 200})).json()["items"]
        assert len(listed) == 4


async def test_without_a_quota_nothing_is_counted_or_waited_for(any_world: World) -> None:
    await ask(any_world)
    async with executed(any_world.service.database) as found:
        assert (await ask(any_world)).status_code == 201
    statements = [one.lower() for one in found]
    assert [one for one in statements if one.startswith("insert")]
    assert not [one for one in statements if "count(" in one or "advisory" in one or "created_by = " in one]
