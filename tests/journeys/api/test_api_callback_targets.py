"""Where callbacks may go (API.md §5): signed, to the public internet and to what the configuration allows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.world import World, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION: dict[str, Any] = {"question": "Where to?", "response_type": "confirm"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def strict(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """A service that calls the public internet back, and nothing else."""
    folder = tmp_path_factory.mktemp("strict")
    async with running(folder, f"sqlite+aiosqlite:///{folder}/handraise.db", resume={}) as world:
        yield world


PRIVATE = [
    "http://127.0.0.1:8080/resume",
    "http://127.9.9.9/resume",
    "http://10.0.0.1/resume",
    "http://172.16.0.1/resume",
    "http://192.168.1.1/resume",
    "http://169.254.169.254/latest/meta-data",
    "http://0.0.0.0/resume",
    "http://0.1.2.3/resume",
    "http://100.64.0.1/resume",
    "http://224.0.0.1/resume",
    "http://255.255.255.255/resume",
    "http://[::1]/resume",
    "http://[::]/resume",
    "http://[fe80::1]/resume",
    "http://[fc00::1]/resume",
    "http://[::ffff:127.0.0.1]/resume",
    "http://[::ffff:a00:1]/resume",
    "http://[64:ff9b::7f00:1]/resume",
    "http://[64:ff9b::a9fe:a9fe]/resume",
    "https://user:password@10.0.0.1/resume",
    "http://a b/resume",
    "http://a%20b/resume",
    "http://a;b/resume",
]


@pytest.mark.parametrize("url", PRIVATE)
async def test_a_private_address_is_refused_at_once(strict: World, url: str) -> None:
    response = await strict.call("POST", "/v1/suspensions", json={**QUESTION, "resume": {"callback_url": url}})
    assert (response.status_code, response.json()["detail"]["error"]) == (422, "callback_not_allowed"), response.text
    assert (await strict.call("GET", "/v1/intents", "admin")).json()["intents"] == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/resume", "http://[::1]/resume"])
async def test_a_session_can_not_register_one_either(strict: World, url: str) -> None:
    response = await strict.call("PUT", "/v1/sessions/sess-private", json={"callback_url": url})
    assert (response.status_code, response.json()["detail"]["error"]) == (422, "callback_not_allowed")
    assert (await strict.call("GET", "/v1/sessions/sess-private")).status_code == 404


@pytest.mark.parametrize("host", ["localhost", "2130706433", "0x7f000001", "127.1", "localhost."])
async def test_a_name_of_a_private_address_is_never_reached(room: World, strict: World, host: str) -> None:
    """Names are resolved when connecting; ``room`` shows that the same address answers where it is allowed."""
    port = strict.agent.url.rpartition(":")[2].partition("/")[0]
    url = f"http://{host}:{port}/resume"
    response = await strict.call("POST", "/v1/suspensions", json={**QUESTION, "resume": {"callback_url": url}})
    if response.status_code == 422:
        assert response.json()["detail"]["error"] == "callback_not_allowed"
        return
    asked = response.json()
    await strict.answer(asked, "yes")
    await strict.advance(minutes=5)
    assert strict.agent.told_of(asked) == []
    items = (await strict.call("GET", "/v1/callbacks", params={"limit": 200})).json()["items"]
    [callback] = [item for item in items if item["suspension_id"] == asked["suspension_id"]]
    assert callback["status"] == "pending"
    assert callback["tries"] > 1


async def test_a_name_is_reached_where_its_address_is_allowed(room: World) -> None:
    asked = await room.ask(resume={"callback_url": room.agent.url.replace("127.0.0.1", "localhost")})
    await room.answer(asked, "approve")
    assert (await room.told(asked))["data"]["value"] == "approve"


async def test_a_name_that_does_not_resolve_yet_is_accepted(strict: World) -> None:
    resume = {"callback_url": "https://agent.not-there-yet.example/resume"}
    response = await strict.call("POST", "/v1/suspensions", json={**QUESTION, "resume": resume})
    assert response.status_code == 201


@pytest.mark.parametrize("url", ["ftp://agent.example/", "agent.example/resume", "http://", "http:///resume", "x"])
async def test_what_is_no_web_address_is_refused(strict: World, url: str) -> None:
    response = await strict.call("POST", "/v1/suspensions", json={**QUESTION, "resume": {"callback_url": url}})
    assert response.status_code == 422


async def test_a_key_without_a_secret_can_not_be_called_back(room: World) -> None:
    body = {**QUESTION, "resume": {"callback_url": room.agent.url}}
    response = await room.call("POST", "/v1/suspensions", "other_agent", json=body)
    assert (response.status_code, response.json()["detail"]["error"]) == (422, "callback_not_allowed")
    session = {"callback_url": room.agent.url}
    response = await room.call("PUT", "/v1/sessions/sess-unsigned", "other_agent", json=session)
    assert response.status_code in {200, 422}
    body = {**QUESTION, "resume": {"session_id": "sess-unsigned"}}
    asked = (await room.call("POST", "/v1/suspensions", "other_agent", json=body)).json()
    if "suspension_id" in asked:
        await room.answer(asked, "yes")
        await room.settle()
        assert room.agent.told_of(asked) == []


# --- sessions ---------------------------------------------------------------------------------------------------------


async def test_a_session_registers_where_its_agent_is_called_back(room: World) -> None:
    session = {"callback_url": room.agent.url, "metadata": {"user": "u-1"}}
    put = await room.call("PUT", "/v1/sessions/sess-9", json=session)
    assert put.status_code == 200
    shown = (await room.call("GET", "/v1/sessions/sess-9")).json()
    assert {name: shown[name] for name in session} == session
    asked = await room.ask(resume={"session_id": "sess-9", "callback_url": None})
    await room.answer(asked, "approve")
    told = await room.told(asked)
    assert (told["data"]["session_id"], told["data"]["value"]) == ("sess-9", "approve")


async def test_the_calls_own_address_goes_before_the_sessions(room: World) -> None:
    session = {"callback_url": room.agent.url + "/nowhere"}
    await room.call("PUT", "/v1/sessions/sess-10", json=session)
    asked = await room.ask(resume={"session_id": "sess-10", "callback_url": room.agent.url})
    await room.answer(asked, "approve")
    assert (await room.told(asked))["data"]["value"] == "approve"


async def test_a_session_belongs_to_the_key_that_registered_it(room: World) -> None:
    await room.call("PUT", "/v1/sessions/sess-11", json={"callback_url": room.agent.url})
    assert (await room.call("GET", "/v1/sessions/sess-11", "other_agent")).status_code == 404
    body = {**QUESTION, "resume": {"session_id": "sess-11"}}
    asked = (await room.call("POST", "/v1/suspensions", "other_agent", json=body)).json()
    await room.answer(asked, "yes")
    await room.settle()
    assert room.agent.told_of(asked) == []


async def test_an_unknown_session_is_404(room: World) -> None:
    assert (await room.call("GET", "/v1/sessions/unknown")).status_code == 404
