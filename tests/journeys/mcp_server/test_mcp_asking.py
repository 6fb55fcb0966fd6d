"""``handraise mcp``: how a model asks a person, and what it is told. Beside what the matrix has of each client."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp_types import ElicitRequestURLParams, ElicitResult

from tests.journeys.mcp_server.clients import (
    LEGACY,
    MODERN,
    REFUND,
    answered,
    error_of,
    open_question,
    over_http,
    over_stdio,
    server,
    told,
)
from tests.world import KEYS, World

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION = str(REFUND["question"])


async def test_a_newer_client_that_has_waited_enough_rounds_gets_pending(quiet_room: World) -> None:
    async with server(quiet_room.url, 0.2) as url, over_http(url, KEYS["agent"], MODERN) as client:
        first = await told(client, "request_input", REFUND)
        assert first["status"] == "pending"
        assert first["url"].endswith(f"/q/{first['ref']}")
        one = await open_question(quiet_room, QUESTION)
        waiting = asyncio.create_task(told(client, "wait_for_input", {"ref": first["ref"]}))
        await asyncio.sleep(0.5)
        await answered(quiet_room, one, "approve")
        assert (await waiting)["status"] == "answered"


async def test_nobodys_answer_never_means_yes_whatever_the_policy_inherits(quiet_room: World) -> None:
    policy = {"max_attempts": 2, "interval_seconds": 300, "final_fallback_policy": "complete_with_fallback"}
    path = "/v1/agents/me/default-retry-policy"
    assert (await quiet_room.call("PUT", path, json=policy)).is_success
    try:
        async with server(quiet_room.url) as url, over_http(url, KEYS["agent"], LEGACY) as client:
            ref = (await told(client, "request_input", REFUND))["ref"]
            await quiet_room.advance(minutes=10)
            end = await told(client, "check_input", {"ref": ref})
    finally:
        assert (await quiet_room.call("PUT", path, json={})).is_success
    assert (end["status"], end["answer"]) == ("expired", None)


async def test_every_kind_of_answer_comes_back_as_it_was_given(quiet_room: World) -> None:
    schema = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
    kinds: list[tuple[dict[str, Any], Any]] = [
        ({"response_type": "confirm"}, "yes"),
        ({}, "Because it rained."),
        ({"response_type": "form", "form_schema": schema}, {"amount": 7}),
    ]
    async with server(quiet_room.url) as url, over_http(url, KEYS["agent"], LEGACY) as client:
        for number, (given, value) in enumerate(kinds):
            text = f"Question number {number}?"
            call = asyncio.create_task(told(client, "request_input", {"question": text, **given}))
            await answered(quiet_room, await open_question(quiet_room, text), value)
            first = await call
            end = await told(client, "check_input", {"ref": first["ref"]})
            assert (end["status"], end["answer"]) == ("answered", value)


async def test_a_person_who_asks_back_is_heard_at_once(quiet_room: World) -> None:
    async with server(quiet_room.url) as url, over_http(url, KEYS["agent"], MODERN) as client:
        call = asyncio.create_task(told(client, "request_input", REFUND))
        one = await open_question(quiet_room, QUESTION)
        path = f"/v1/suspensions/{one['id']}/clarify"
        said = await quiet_room.call("POST", path, "operator", json={"question": "Which customer?"})
        assert said.status_code == 200
        async with asyncio.timeout(5):  # eight rounds take longer
            end = await call
    assert (end["status"], end["asked_back"]) == ("pending", "Which customer?")
    assert "Which customer?" in end["message"]


async def test_a_repeated_call_of_the_same_name_asks_nobody_twice(quiet_room: World) -> None:
    named = {**REFUND, "question_id": "refund-12345"}
    async with server(quiet_room.url) as url, over_http(url, KEYS["agent"], LEGACY) as client:
        refs = [(await told(client, "request_input", one))["ref"] for one in (named, named, REFUND)]
        other = await error_of(client, "request_input", {**named, "question": "Something else?"})
    assert refs[0] == refs[1] != refs[2]
    assert "idempotency_conflict" in other


async def test_a_client_that_can_is_shown_the_page_and_its_word_counts_for_nothing(quiet_room: World) -> None:
    shown: list[str] = []

    async def decline(_: Any, params: Any) -> ElicitResult:
        assert isinstance(params, ElicitRequestURLParams)
        shown.append(params.url)
        return ElicitResult(action="decline")

    async with over_stdio(quiet_room, LEGACY, elicitation_callback=decline) as client:
        first = await told(client, "request_input", REFUND)
    assert shown == [first["url"]]
    assert first["status"] == "pending"


async def test_bad_arguments_are_named_and_nobody_is_asked(quiet_room: World) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"question": "Go?", "response_type": "choice"}, "choices"),
        ({"question": "Go?", "response_type": "essay"}, "response_type"),
        ({"question": ""}, "question"),
        ({}, "question"),
        ({"question": "Go?", "choices": [{"label": "Yes"}]}, "choices"),
        ({"question": "Go?", "choices": ["a", "a"]}, "choices"),
        ({"question": "Go?", "timeout_seconds": 0}, "timeout_seconds"),
        ({"question": "Go?", "responders": ["nobody@elsewhere.example"]}, "recipient_not_allowed"),
    ]
    async with server(quiet_room.url) as url, over_http(url, KEYS["agent"], MODERN) as client:
        for arguments, named in wrong:
            text = await error_of(client, "request_input", arguments)
            assert named in text
            assert "Traceback" not in text
        for ref in ("HR-ZZZZ", "%", "", "HR-ZZZZ/../x"):
            assert "There is no question" in await error_of(client, "check_input", {"ref": ref})
    found = await quiet_room.call("GET", "/v1/suspensions", "admin", params={"status": "open"})
    assert found.json()["items"] == []


async def test_the_tools_say_what_they_do_and_none_of_them_answers(quiet_room: World) -> None:
    async with server(quiet_room.url) as url, over_http(url, KEYS["agent"], LEGACY) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert client.instructions is not None
        assert client.server_info is not None
        assert client.server_info.icons
    assert set(tools) == {"request_input", "wait_for_input", "check_input", "cancel_input"}
    for tool in tools.values():
        assert tool.description
        assert tool.title
        assert tool.icons
        assert tool.output_schema is not None
        assert {"status", "ref", "answer", "reason"} <= set(tool.output_schema["properties"])
        assert all("description" in field for field in tool.input_schema["properties"].values())


async def test_no_suspension_id_reaches_the_client(quiet_room: World) -> None:
    seen: list[str] = []
    async with server(quiet_room.url) as url, over_http(url, KEYS["agent"], LEGACY) as client:
        first = await client.call_tool("request_input", REFUND)
        one = await open_question(quiet_room, QUESTION)
        seen.append(first.model_dump_json())
        for tool in ("wait_for_input", "check_input", "cancel_input"):
            seen.append((await client.call_tool(tool, {"ref": one["ref"]})).model_dump_json())
    async with server(quiet_room.url) as url, over_http(url, KEYS["agent"], MODERN) as client:
        round_ = await client.session.call_tool("request_input", REFUND, allow_input_required=True)
        seen.append(round_.model_dump_json())
        two = await open_question(quiet_room, QUESTION)
    assert one["id"] not in "".join(seen)
    assert two["id"] not in "".join(seen)
    assert two["ref"] not in seen[-1]  # the state is sealed
