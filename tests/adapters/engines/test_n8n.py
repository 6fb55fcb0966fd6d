"""The workflow of ``integrations/n8n`` step by step, as n8n would take it, against a running service.

n8n itself is not here. Its expressions are JavaScript, which node evaluates; what its nodes do is played.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from tests.adapters.desk import AGENT, OPERATOR, settings
from tests.adapters.frameworks import ROOT
from tests.ports import free_port
from tests.process import ServiceProcess

pytestmark = [
    pytest.mark.adapters,
    pytest.mark.skipif(shutil.which("node") is None, reason="needs node, for the expressions"),
    pytest.mark.skipif("engines" not in os.environ.get("HANDRAISE_ADAPTERS", ""), reason="left to make adapters"),
]
WORKFLOW = ROOT / "integrations/n8n/refund.json"
EVALUATE = """
const [expression, json, items, execution] = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const of = name => ({item: {json: items[name]}});
const value = new Function('$json', '$', '$execution', `return (${expression})`)(json, of, execution);
console.log(JSON.stringify(value));
"""


@dataclass
class Execution:
    """One execution. ``at`` is the node that is next; ``ended`` after the last."""

    http: httpx.AsyncClient
    name: str
    resume_url: str
    given: dict[str, Any]
    at: str = "Start"
    json: Any = field(default_factory=dict)
    items: dict[str, Any] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        workflow = json.loads(WORKFLOW.read_text())
        self.nodes = {node["name"]: node for node in workflow["nodes"]}
        self.connections = workflow["connections"]

    async def go_on(self) -> None:
        """Until it waits for a callback, or has ended."""
        while self.at != "ended":
            node, output = self.nodes[self.at], 0
            match node["type"].removeprefix("n8n-nodes-base."):
                case "set":
                    assigned = node["parameters"]["assignments"]["assignments"]
                    self.json = {one["name"]: one["value"] for one in assigned} | self.given
                case "httpRequest":
                    self.json = await self._request(node["parameters"])
                case "switch":
                    output = self._value(node["parameters"]["output"])
                case "wait" if self.ran[-1] != "waits":
                    self.ran.append("waits")
                    return
            self.items[self.at] = self.json
            self.ran.append(self.at)
            following = self.connections.get(self.at, {"main": []})["main"]
            self.at = following[output][0]["node"] if following else "ended"

    async def _request(self, parameters: dict[str, Any]) -> Any:
        headers = {
            one["name"]: self._value(one["value"]) for one in parameters.get("headerParameters", NONE)["parameters"]
        }
        reply = await self.http.request(
            parameters["method"],
            self._value(parameters["url"]),
            headers={**headers, "X-API-Key": AGENT, "Content-Type": "application/json"},
            content=self._value(parameters["jsonBody"]) if parameters.get("sendBody") else None,
        )
        assert reply.status_code < 300, reply.text  # n8n stops the execution
        return reply.json()

    def _value(self, written: str) -> Any:
        """A parameter: its expressions evaluated. Alone, one keeps its type."""
        if not written.startswith("="):
            return written
        parts = re.split(r"\{\{ (.*?) \}\}(?!\})", written[1:])
        if parts[0] == parts[-1] == "" and len(parts) == 3:
            return self._evaluated(parts[1])
        return "".join(str(self._evaluated(part)) if at % 2 else part for at, part in enumerate(parts))

    def _evaluated(self, expression: str) -> Any:
        execution = {"id": self.name, "resumeUrl": self.resume_url}
        given = json.dumps([expression, self.json, self.items, execution])
        ran = subprocess.run(["node", "-e", EVALUATE], input=given, capture_output=True, text=True, check=True)
        return json.loads(ran.stdout)


NONE: dict[str, list[dict[str, str]]] = {"parameters": []}


class Waiting:
    """n8n's address for callbacks: each is taken."""

    def __init__(self) -> None:
        self.came = asyncio.Event()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert (await reader.readline()).startswith(b"POST /webhook-waiting/")
        self.came.set()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def calling(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServiceProcess]:
    """A service that signs callbacks, and may call this machine back."""
    folder = tmp_path_factory.mktemp("n8n")
    made = settings(folder, free_port())
    made["api_keys"][0]["webhook_secrets"] = [f"whsec_{base64.b64encode(secrets.token_bytes(24)).decode()}"]
    made["resume"] = {"allow_networks": ["127.0.0.0/8"]}
    process = ServiceProcess(folder, made)
    await process.start()
    yield process
    await process.terminate()


@dataclass
class Desk:
    execution: Execution
    waiting: Waiting
    url: str
    http: httpx.AsyncClient

    async def questions(self) -> list[dict[str, Any]]:
        params = {"session_id": f"n8n-{self.execution.name}"}
        reply = await self.http.get(f"{self.url}/v1/suspensions", headers={"X-API-Key": OPERATOR}, params=params)
        found: list[dict[str, Any]] = reply.raise_for_status().json()["items"]
        return found

    async def answer(self, value: str) -> None:
        [asked] = await self.questions()
        path = f"{self.url}/v1/intents/{asked['intent_id']}/suspend/respond"
        said = {"suspension_id": asked["id"], "value": value}
        (await self.http.post(path, headers={"X-API-Key": OPERATOR}, json=said)).raise_for_status()

    async def called_back(self) -> None:
        async with asyncio.timeout(60):
            await self.waiting.came.wait()
        await self.execution.go_on()


@pytest.fixture
async def desk(calling: ServiceProcess, tmp_path: Path) -> AsyncIterator[Desk]:
    waiting = Waiting()
    server = await asyncio.start_server(waiting.take, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with httpx.AsyncClient(timeout=30, trust_env=False) as http:
        resume_url = f"http://127.0.0.1:{port}/webhook-waiting/{tmp_path.name}"
        given = {"handraise": calling.url, "wait_seconds": 600}
        yield Desk(Execution(http, tmp_path.name, resume_url, given), waiting, calling.url, http)
    server.close()
    await server.wait_closed()


async def test_an_approval_runs_the_refund_once_and_is_reported(desk: Desk) -> None:
    await desk.execution.go_on()
    await desk.answer("approve")
    await desk.called_back()
    assert desk.execution.ran[-3:] == ["Use the receipt", "Refund", "Say that it is done"]
    desk.execution.at, desk.execution.json = "Look", {}
    with pytest.raises(AssertionError, match="receipt_used"):
        await desk.execution.go_on()
    assert desk.execution.ran.count("Refund") == 1


async def test_a_denial_ends_at_its_own_node(desk: Desk) -> None:
    await desk.execution.go_on()
    await desk.answer("deny")
    await desk.called_back()
    assert desk.execution.ran[-1] == "Denied"


async def test_silence_ends_at_a_node_that_is_no_denial(desk: Desk) -> None:
    desk.execution.given["wait_seconds"] = 1
    await desk.execution.go_on()
    await desk.called_back()
    assert desk.execution.ran[-1] == "Nobody has decided"


async def test_whoever_else_wakes_the_execution_lets_it_wait_again(desk: Desk) -> None:
    await desk.execution.go_on()
    await desk.execution.go_on()
    assert desk.execution.ran[-3:] == ["Look", "Outcome", "waits"]
    await desk.answer("approve")
    await desk.called_back()
    assert desk.execution.ran.count("Refund") == 1


async def test_a_step_that_is_tried_again_joins_the_question_also_after_its_end(desk: Desk) -> None:
    await desk.execution.go_on()
    await desk.answer("approve")
    desk.execution.at, desk.execution.json = "Ask", desk.execution.items["The refund"]
    await desk.execution.go_on()
    assert len(await desk.questions()) == 1
