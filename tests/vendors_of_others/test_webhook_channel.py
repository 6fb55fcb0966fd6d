"""A channel that another distribution brings: it is installed, and nothing of this repository is edited for it."""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.sandbox.serving import serving
from tests.process import ServiceProcess, service_process
from tests.world import KEYS

pytestmark = pytest.mark.io

OURS = Path(__file__).with_name("webhook_channel")
SECRET = os.urandom(16).hex()
AGENT, ADMIN = ({"X-API-Key": KEYS[name]} for name in ("agent", "admin"))


class Chat:
    """The vendor: keeps what is posted to it, and refuses what is not signed."""

    def __init__(self) -> None:
        self.posted: list[dict[str, Any]] = []
        self.app = Starlette(routes=[Route("/", self._take, methods=["GET", "POST"])])

    async def _take(self, request: Request) -> Response:
        raw = await request.body()
        if request.method == "POST":
            if request.headers.get("x-signature") != signed(raw):
                return Response(status_code=401)
            self.posted.append(json.loads(raw))
        return Response()

    async def message(self, number: int) -> dict[str, Any]:
        async with asyncio.timeout(20):
            while len(self.posted) <= number:
                await asyncio.sleep(0.02)
        return self.posted[number]


def signed(body: bytes, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), body, "sha256").hexdigest()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the distribution is installed in."""
    folder = tmp_path_factory.mktemp("site")
    source = shutil.copytree(OURS, folder / "source")
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--target", folder / "there", source], check=True)
    return folder / "there"


def settings(url: str, **more: Any) -> dict[str, Any]:
    return {
        "webhook": {"url": url, "secret": SECRET},
        "people": [{"name": "Alice", "email": "alice@example.com", "webhook": "alice"}],
        "api_keys": [
            {"name": "agent", "key": KEYS["agent"], "roles": ["agent"]},
            {"name": "admin", "key": KEYS["admin"], "roles": ["admin"]},
        ],
        **more,
    }


@pytest.fixture
async def chat() -> AsyncIterator[tuple[Chat, str]]:
    made = Chat()
    async with serving(made.app) as url:
        yield made, f"{url}/"


@pytest.fixture(autouse=True)
def _installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(site))


@asynccontextmanager
async def running(folder: Path, given: dict[str, Any]) -> AsyncIterator[tuple[ServiceProcess, httpx.AsyncClient]]:
    async with service_process(folder, given) as service, httpx.AsyncClient(trust_env=False) as http:
        await service.start()
        yield service, http


async def ask(service: ServiceProcess, http: httpx.AsyncClient, **more: Any) -> dict[str, Any]:
    body = {
        "question": "Refund order 12345?",
        "choices": [{"value": one, "label": one} for one in ("yes", "no")],
        **more,
    }
    response = await http.post(f"{service.url}/v1/suspensions", json=body, headers=AGENT)
    assert response.status_code == 201, response.text
    return dict(response.json())


async def answer(service: ServiceProcess, http: httpx.AsyncClient, said: Any, secret: str = SECRET) -> int:
    raw = json.dumps(said).encode()
    headers = {"X-Signature": signed(raw, secret)}
    return (await http.post(f"{service.url}/webhook/answers", content=raw, headers=headers)).status_code


@pytest.mark.parametrize("whom", [{"responders": ["alice@example.com"]}, {"notify_to": "webhook:alice"}])
async def test_a_question_goes_out_by_it_and_an_answer_comes_in_by_its_door(
    tmp_path: Path, chat: tuple[Chat, str], whom: dict[str, Any]
) -> None:
    made, url = chat
    async with running(tmp_path, settings(url)) as (service, http):
        asked = await ask(service, http, **whom)
        posted = await made.message(0)
        assert (posted["to"], posted["question"], posted["choices"]) == ("alice", "Refund order 12345?", ["yes", "no"])
        said = {"ref": posted["ref"], "by": "alice", "value": "yes"}
        assert await answer(service, http, said, "another secret") == 401
        assert await answer(service, http, {**said, "by": "mallory"}) == 202
        assert await answer(service, http, said) == 202
        path = f"{service.url}/v1/suspensions/{asked['suspension_id']}"
        record = (await http.get(path, headers=AGENT)).json()
        given = record["response"] if isinstance(record["response"], dict) else record
        assert (record["status"], given["channel"], given["responded_by"]) == (
            "responded",
            "webhook",
            "alice@example.com",
        ), record
        page = await http.get(posted["page"])
        described = (await http.get(f"{service.url}/openapi.json")).json()["components"]["schemas"]["SuspendBody"]
        [pattern] = [one["pattern"] for one in described["properties"]["notify_to"]["anyOf"] if "pattern" in one]
        assert [one for one in ("webhook:alice", "slack:C0OPS", "elsewhere:x") if re.search(pattern, one)] == [
            "webhook:alice",
            "slack:C0OPS",
        ]
        assert page.status_code == 200
        assert "via the chat" in page.text
        shown, happened = [
            (await asyncio.to_thread(command, one, asked["ref"], **speaking(service))).stdout
            for one in ("show", "timeline")
        ]
        assert "by the chat" in shown
        assert "via the chat" in shown
        assert "delivery via the chat" in happened
        assert "(by the chat)" in happened


async def test_redactions_default_counts_there_and_its_own_policy_is_a_setting(
    tmp_path: Path, chat: tuple[Chat, str]
) -> None:
    made, url = chat
    question = "Is password: hunter2-and-more the new one?"
    own = {"redaction": {"channels": {"webhook": {"policy": "off"}}}}
    for number, more in enumerate([{}, own]):
        folder = tmp_path / str(number)
        folder.mkdir()
        async with running(folder, settings(url, **more)) as (service, http):
            await ask(service, http, question=question, responders=["alice@example.com"])
            shown = (await made.message(number))["question"]
            assert ("hunter2" in shown) == bool(more)


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    given = [sys.executable, "-m", "handraise", *arguments]
    return subprocess.run(given, capture_output=True, text=True, check=False, env=os.environ | environment)


def speaking(service: ServiceProcess) -> dict[str, str]:
    return {"HANDRAISE_URL": service.url, "HANDRAISE_API_KEY": KEYS["agent"]}


async def test_doctor_looks_at_it(tmp_path: Path, chat: tuple[Chat, str]) -> None:
    async with running(tmp_path, settings(chat[1])) as (service, _http):
        found = await asyncio.to_thread(command, "doctor", "--config", str(service.file))
        assert "webhook.url" in found.stdout
        assert "the chat answers" in found.stdout


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"webhook": {"secret": SECRET}}, "webhook.url is missing"),
        ({"webhook": {"url": "ftp://chat", "secret": SECRET}}, "webhook.url must look like"),
        ({"suspension": {"default_channel": "fax"}}, "must be slack, email, pagerduty, webhook or inbox"),
    ],
)
def test_its_section_is_checked_as_any_other(tmp_path: Path, wrong: dict[str, Any], said: str) -> None:
    file = tmp_path / "handraise.yaml"
    file.write_text(json.dumps(settings("http://127.0.0.1:1/", **wrong)))
    refused = command("check", "--config", str(file))
    assert refused.returncode != 0
    assert said in refused.stdout + refused.stderr


def test_the_page_shows_what_stands_in_the_example() -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/a-channel-of-ones-own.md").read_text()
    blocks = re.findall(r"```(python|toml)\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 3
    for kind, block in blocks:
        assert block in (OURS / {"python": "handraise_webhook.py", "toml": "pyproject.toml"}[kind]).read_text()
