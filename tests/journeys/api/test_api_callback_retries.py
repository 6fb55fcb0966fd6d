"""Callbacks that don't come through (API.md §5): growing waits, one id, refused, dead, and driven again."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.sandbox.serving import serving
from tests.world import World, running

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def answered(world: World, *statuses: int, **fields: Any) -> dict[str, Any]:
    """A question whose agent answers the callback with these statuses, then with 200."""
    world.agent.answers[:] = statuses
    asked = await world.ask(**fields)
    assert (await world.answer(asked, "approve")).status_code == 200
    await world.settle()
    return asked


async def callback(world: World, asked: dict[str, Any]) -> dict[str, Any]:
    items = (await world.call("GET", "/v1/callbacks", params={"limit": 200})).json()["items"]
    [found] = [item for item in items if item["suspension_id"] == asked["suspension_id"]]
    shown: dict[str, Any] = found
    return shown


def waits(world: World, asked: dict[str, Any]) -> list[float]:
    """The seconds between one try and the next."""
    at = [told.at for told in world.agent.told_of(asked)]
    return [(later - earlier).total_seconds() for earlier, later in itertools.pairwise(at)]


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
async def test_any_2xx_ends_it(room: World, status: int) -> None:
    asked = await answered(room, status)
    await room.advance(hours=2)
    assert len(room.agent.told_of(asked)) == 1
    shown = await callback(room, asked)
    assert (shown["status"], shown["tries"]) == ("delivered", 1)


@pytest.mark.parametrize("status", [300, 301, 304, 400, 401, 404, 409, 422, 429, 500, 502, 503])
async def test_anything_else_is_tried_again(room: World, status: int) -> None:
    asked = await answered(room, status)
    assert (await callback(room, asked))["status"] == "pending"
    await room.advance(seconds=5)
    assert len(room.agent.told_of(asked)) == 2
    assert (await callback(room, asked))["status"] == "delivered"


async def test_410_ends_it_as_refused(room: World) -> None:
    asked = await answered(room, 410)
    await room.advance(hours=100)
    assert len(room.agent.told_of(asked)) == 1
    shown = await callback(room, asked)
    assert (shown["status"], shown["tries"]) == ("refused", 1)


async def test_the_waits_double_from_a_second_under_one_id(room: World) -> None:
    asked = await answered(room, *[500] * 9)
    await room.advance(hours=1)
    told = room.agent.told_of(asked)
    assert len(told) == 10
    assert len({one.headers["webhook-id"] for one in told}) == 1
    assert len({one.body for one in told}) == 1
    for number, wait in enumerate(waits(room, asked)):
        assert 2**number / 2 <= wait <= 2**number * 1.5, (number, wait)


@pytest.mark.slow
async def test_after_72_hours_it_is_dead_and_can_be_driven_again(room: World) -> None:
    asked = await answered(room, *[500] * 1000)
    await room.advance(hours=71)
    assert (await callback(room, asked))["status"] == "pending"
    assert max(waits(room, asked)) <= 3600 * 1.5
    await room.advance(hours=3)
    shown = await callback(room, asked)
    assert shown["status"] == "dead"
    tries = len(room.agent.told_of(asked))
    assert shown["tries"] == tries
    assert sum(waits(room, asked)) == pytest.approx(72 * 3600, abs=2), "the last try comes when the time is over"
    await room.advance(hours=100)
    assert len(room.agent.told_of(asked)) == tries

    room.agent.answers.clear()
    path = f"/v1/callbacks/{shown['id']}/redrive"
    assert (await room.call("POST", path, "other_agent")).status_code == 404
    driven = await room.call("POST", path)
    assert driven.status_code == 200
    await room.settle()
    assert len(room.agent.told_of(asked)) == tries + 1
    assert len({one.headers["webhook-id"] for one in room.agent.told_of(asked)}) == 1
    assert (await callback(room, asked))["status"] == "delivered"


async def test_a_callback_that_is_not_there_is_404(room: World) -> None:
    assert (await room.call("POST", "/v1/callbacks/unknown/redrive", "admin")).status_code == 404


async def test_another_keys_callback_is_like_one_that_there_is_not(room: World) -> None:
    found = await callback(room, await answered(room, 410))
    foreign = await room.call("POST", f"/v1/callbacks/{found['id']}/redrive", "other_agent")
    unknown = await room.call("POST", f"/v1/callbacks/{'0' * 32}/redrive", "other_agent")
    assert foreign.status_code == unknown.status_code == 404
    assert foreign.content == unknown.content


async def test_whoever_did_not_ask_sees_a_callbacks_url_without_its_secrets(room: World) -> None:
    secret = f"{room.agent.url}?token=hunter2"
    asked = await room.ask(resume={"callback_url": secret})
    await room.call("PUT", "/v1/sessions/with-secret", json={"callback_url": secret})
    assert (await callback(room, await ended(room, asked)))["url"] == secret
    assert (await room.call("GET", "/v1/sessions/with-secret")).json()["callback_url"] == secret
    for role in ("operator", "admin"):
        listed = await room.call("GET", "/v1/callbacks", role, params={"limit": 200})
        [found] = [one for one in listed.json()["items"] if one["suspension_id"] == asked["suspension_id"]]
        assert found["url"] == room.agent.url
        again = await room.call("POST", f"/v1/callbacks/{found['id']}/redrive", role)
        session = await room.call("GET", "/v1/sessions/with-secret", role)
        assert session.json()["callback_url"] == room.agent.url
        timeline = await room.call("GET", f"/v1/suspensions/{asked['suspension_id']}/timeline", role)
        assert "hunter2" not in listed.text + again.text + session.text + timeline.text
        await room.settle()


async def ended(world: World, asked: dict[str, Any]) -> dict[str, Any]:
    """Answered, and called back in vain."""
    world.agent.answers[:] = [410] * 3
    assert (await world.answer(asked, "approve")).status_code == 200
    await world.settle()
    return asked


async def test_callbacks_are_listed_by_status_and_owner(room: World) -> None:
    pending = await answered(room, 500)
    refused = await answered(room, 410)
    delivered = await answered(room)

    async def listed(status: str, role: str = "agent") -> set[str]:
        params = {"status": status, "limit": 200}
        response = await room.call("GET", "/v1/callbacks", role, params=params)
        items = response.json()["items"]
        assert all(item["status"] == status for item in items)
        assert all({"id", "suspension_id", "status", "tries"} <= set(item) for item in items)
        return {item["suspension_id"] for item in items}

    for one, status in ((pending, "pending"), (refused, "refused"), (delivered, "delivered")):
        assert one["suspension_id"] in await listed(status)
        assert one["suspension_id"] in await listed(status, "admin")
        assert await listed(status, "other_agent") == set()
    wrong = await room.call("GET", "/v1/callbacks", params={"status": "lost"})
    assert wrong.status_code == 422
    await room.advance(seconds=5)


async def test_a_redirect_is_not_followed(room: World) -> None:
    reached: list[str] = []

    async def redirect(request: Request) -> Response:
        reached.append("first")
        return Response(status_code=307, headers={"Location": "/second"})

    async def second(request: Request) -> Response:
        reached.append("second")
        return Response()

    app = Starlette(routes=[Route("/first", redirect, methods=["POST"]), Route("/second", second, methods=["POST"])])
    async with serving(app) as url:
        asked = await room.ask(resume={"callback_url": f"{url}/first"})
        await room.answer(asked, "approve")
        await room.advance(seconds=5)
        assert reached[:2] == ["first", "first"]
        assert "second" not in reached
        assert (await callback(room, asked))["status"] == "pending"


async def test_an_agent_that_is_down_is_told_when_it_is_up_again(room: World) -> None:
    async with serving(Starlette()) as url:
        pass
    asked = await room.ask(resume={"callback_url": f"{url}/resume"})
    await room.answer(asked, "approve")
    await room.settle()
    assert (await callback(room, asked))["status"] == "pending"
    async with serving(room.agent.app, port=int(url.rpartition(":")[2])):
        await room.advance(seconds=5)
        assert (await room.told(asked))["data"]["value"] == "approve"


@pytest.mark.slow
async def test_an_agent_that_does_not_answer_in_time_is_told_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("slow")
    released = asyncio.Event()
    tries: list[str] = []

    async def slow(request: Request) -> Response:
        tries.append(request.headers["webhook-id"])
        if len(tries) == 1:
            await released.wait()
        return Response()

    resume = {"allow_networks": ["127.0.0.0/8"], "timeout_seconds": 3}
    url = f"sqlite+aiosqlite:///{folder}/handraise.db"
    app = Starlette(routes=[Route("/resume", slow, methods=["POST"])])
    async with running(folder, url, resume=resume) as world, serving(app) as agent:
        asked = await world.ask(resume={"callback_url": f"{agent}/resume"})
        await world.answer(asked, "approve")
        await world.settle()
        assert (await callback(world, asked))["status"] == "pending"
        released.set()
        await world.advance(seconds=5)
        assert (await callback(world, asked))["status"] == "delivered"
        assert len(tries) == 2 and tries[0] == tries[1]


async def test_the_retries_can_be_configured(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("hasty")
    retry = {"base_delay_ms": 100, "max_delay_ms": 400, "give_up_after_seconds": 3}
    resume = {"allow_networks": ["127.0.0.0/8"], "retry": retry}
    async with running(folder, f"sqlite+aiosqlite:///{folder}/handraise.db", resume=resume) as world:
        asked = await answered(world, *[500] * 100)
        await world.advance(seconds=10)
        assert (await callback(world, asked))["status"] == "dead"
        assert 0.05 <= waits(world, asked)[0] <= 0.15
        assert max(waits(world, asked)) <= 0.6
        assert 5 <= len(world.agent.told_of(asked)) <= 20
