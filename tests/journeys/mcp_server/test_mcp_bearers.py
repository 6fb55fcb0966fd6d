"""``handraise mcp``: whose question it is, and who is kept out."""

from __future__ import annotations

import asyncio
import base64
import time
from typing import Any

import httpx
import pytest
from mcp import MCPError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from bot.sandbox.serving import serving
from tests.cli import environ, handraise
from tests.journeys.mcp_server.clients import COMMAND, LEGACY, MODERN, error_of, first_round, over_http, server, told
from tests.middle_box import middle_box
from tests.world import KEYS, World

pytestmark = pytest.mark.asyncio(loop_scope="module")

GO = {"question": "Go?", "choices": ["approve", "deny"]}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


async def post(url: str, **headers: str) -> httpx.Response:
    """A bare request for the list of tools."""
    sent = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25", **headers}
    async with httpx.AsyncClient(trust_env=False) as http:
        return await http.post(url, json=LIST, headers=sent)


def bearer(role: str) -> str:
    return f"Bearer {KEYS[role]}"


async def refusal_of(client: Any, state: str | None, tool: str = "request_input", **arguments: Any) -> str:
    """How a call with this ``request_state`` is refused."""
    given = arguments or GO
    with pytest.raises(MCPError) as refused:
        await client.session.call_tool(tool, given, request_state=state, allow_input_required=True)
    return str(refused.value)


async def test_a_bearer_is_needed_and_has_to_be_one_that_can_only_ask(room: World) -> None:
    async with server(room.url) as url:
        said = {
            name: await post(url, **({} if given is None else {"Authorization": given}))
            for name, given in (
                ("none", None),
                ("empty", "Bearer"),
                ("basic", f"Basic {base64.b64encode(b'agent-key-1:').decode()}"),
                ("unknown", "Bearer nobody-has-this"),
                ("operator", bearer("operator")),
                ("admin", bearer("admin")),
                ("agent", bearer("agent")),
            )
        }
    statuses = {name: response.status_code for name, response in said.items()}
    kept_out = dict.fromkeys(("none", "empty", "basic", "unknown"), 401)
    assert statuses == {**kept_out, "operator": 403, "admin": 403, "agent": 200}
    for name in ("none", "unknown"):
        assert said[name].headers["WWW-Authenticate"].startswith("Bearer")
    assert "nobody-has-this" not in said["unknown"].text
    assert "agent" in said["operator"].json()["error_description"]


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Origin", "https://evil.example", 403),
        ("Origin", "null", 403),
        ("Origin", "http://127.0.0.1.evil.example:80", 403),
        ("Host", "evil.example", 421),
        ("Host", "evil.example:8090", 421),
    ],
)
async def test_a_page_of_somebody_else_is_refused(room: World, header: str, value: str, status: int) -> None:
    async with server(room.url) as url:
        sent = {"Authorization": bearer("agent"), header: value}
        assert (await post(url, **sent)).status_code == status
        assert (await post(url, **sent, **{"MCP-Protocol-Version": "2026-07-28"})).status_code == status


async def test_names_and_origins_that_were_given_are_let_in(room: World) -> None:
    given = {"public_url": "https://mcp.example.com", "origins": ("https://console.example.com",)}
    async with server(room.url, **given) as url:
        behind = {"Authorization": bearer("agent"), "Host": "mcp.example.com"}
        assert (await post(url, **behind)).status_code == 200
        assert (await post(url, **behind, Origin="https://console.example.com")).status_code == 200
        assert (await post(url, **behind, Origin="https://other.example.com")).status_code == 403


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_another_bearer_can_neither_read_nor_wait_nor_cancel(room: World, mode: str) -> None:
    async with server(room.url) as url:
        async with over_http(url, KEYS["agent"], LEGACY) as owner:
            ref = (await told(owner, "request_input", GO))["ref"]
        async with over_http(url, KEYS["other_agent"], mode) as other:
            for tool in ("check_input", "wait_for_input", "cancel_input"):
                assert f"There is no question {ref}" in await error_of(other, tool, {"ref": ref})
        async with over_http(url, KEYS["agent"], LEGACY) as owner:
            assert (await told(owner, "check_input", {"ref": ref}))["status"] == "pending"


async def test_who_may_read_a_question_of_another_gets_no_further_by_it(room: World) -> None:
    intent = await room.active_intent()
    member = {"agent_id": "other-agent", "role": "worker"}
    assert (await room.call("POST", f"/v1/intents/{intent['id']}/agents", json=member)).status_code in {200, 201}
    asked = await room.call("POST", f"/v1/intents/{intent['id']}/suspend", json=GO)
    ref = asked.json()["ref"]
    read = await room.call("GET", f"/v1/suspensions/{asked.json()['suspension_id']}", "other_agent")
    assert read.status_code == 200, "the service lets a member read"
    async with server(room.url) as url, over_http(url, KEYS["other_agent"], LEGACY) as other:
        for tool in ("check_input", "wait_for_input", "cancel_input"):
            assert f"There is no question {ref}" in await error_of(other, tool, {"ref": ref})


async def test_a_state_is_good_for_its_bearer_its_tool_and_its_arguments_alone(room: World) -> None:
    async with server(room.url, 0.2) as url:
        async with over_http(url, KEYS["agent"], MODERN) as owner:
            state = (await first_round(owner, GO)).request_state
            assert state is not None
            forged = state[:-6] + ("AAAAAA" if not state.endswith("AAAAAA") else "BBBBBB")
            bare = base64.urlsafe_b64encode(b'{"ref": "HR-7F3K", "round": 1}').decode()
            for one in (forged, bare, "v1.", "x" * 100):
                assert "Invalid or expired requestState" in await refusal_of(owner, one)
            other_arguments = await refusal_of(owner, state, **{**GO, "question": "Something else?"})
            other_tool = await refusal_of(owner, state, "wait_for_input", ref="HR-7F3K")
            for refused in (other_arguments, other_tool):
                assert "Invalid or expired requestState" in refused
        async with over_http(url, KEYS["other_agent"], MODERN) as other:
            assert "Invalid or expired requestState" in await refusal_of(other, state)


@pytest.mark.parametrize("role", ["operator", "admin"])
async def test_a_key_that_can_answer_does_not_start(room: World, role: str) -> None:
    ran = await handraise(room, "mcp", role=role)
    assert (ran.status, ran.out) == (2, "")
    assert "use a key whose only role is agent" in ran.err


async def test_a_key_that_nobody_knows_does_not_start(room: World) -> None:
    environment = environ(room, "agent") | {"HANDRAISE_API_KEY": "nobody-has-this"}
    process = await asyncio.create_subprocess_exec(
        COMMAND, "mcp", env=environment, stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    _, said = await process.communicate()
    assert process.returncode == 2
    assert b"does not know this API key" in said
    assert b"nobody-has-this" not in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "0.0.0.0"], "--public-url is needed"),
        (["--host", "0.0.0.0", "--public-url", "http://mcp.example.com"], "has to be https"),
        (["--public-url", "mcp.example.com"], "is a URL"),
    ],
)
async def test_off_this_machine_it_is_https_or_nothing(room: World, arguments: list[str], said: str) -> None:
    ran = await handraise(room, "mcp", "--http", *arguments, role="agent")
    assert ran.status == 2
    assert said in ran.err


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_a_service_that_is_away_is_said_in_words(room: World, mode: str) -> None:
    async with (
        middle_box(room.url) as (box, service_url),
        server(service_url, 1.0) as url,
        over_http(url, KEYS["agent"], mode) as client,
    ):
        ref = (await told(client, "check_input", {"ref": (await room.ask())["ref"]}))["ref"]
        box.closed = True
        box.cut()
        texts = [await error_of(client, "request_input", GO), await error_of(client, "check_input", {"ref": ref})]
        unknown = await post(url, Authorization="Bearer never-seen-before")
        box.closed = False
        assert (await told(client, "check_input", {"ref": ref}))["status"] == "pending"
    for text in texts:
        assert "does not answer" in text
        assert "Traceback" not in text
        assert service_url not in text
    assert unknown.status_code == 503
    assert "does not answer" in unknown.json()["error_description"]


async def test_a_service_that_goes_away_meanwhile_leaves_the_question_pending(room: World) -> None:
    async with (
        middle_box(room.url) as (box, service_url),
        server(service_url, 2.0) as url,
        over_http(url, KEYS["agent"], LEGACY) as client,
    ):
        call = asyncio.create_task(told(client, "request_input", {**GO, "question": "Meanwhile?"}))
        while not (await room.call("GET", "/v1/suspensions", "admin", params={"q": "Meanwhile?"})).json()["items"]:
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)
        box.closed = True
        box.cut()
        assert (await call)["status"] == "pending"


async def test_a_service_that_hangs_is_left_in_time() -> None:
    async def me(_: Request) -> JSONResponse:
        return JSONResponse({"name": "refund-agent", "identity": "refund-agent", "roles": ["agent"]})

    async def hang(_: Request) -> JSONResponse:
        await asyncio.sleep(60)
        return JSONResponse({})

    hanging = Starlette(routes=[Route("/v1/me", me), Route("/{path:path}", hang, methods=["GET", "POST"])])
    async with (
        serving(hanging) as service_url,
        server(service_url, 0.5) as url,
        over_http(url, KEYS["agent"], LEGACY) as client,
    ):
        began = time.monotonic()
        assert "does not answer" in await error_of(client, "request_input", GO)
        assert time.monotonic() - began < 3
