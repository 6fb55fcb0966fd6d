"""``kill -9`` at any instant loses nothing that was acknowledged (API.md §9)."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from bot.sandbox.serving import serving
from tests.agent import AgentReceiver
from tests.ports import free_port
from tests.process import ServiceProcess, service_process
from tests.vendors.mail import Mailbox
from tests.world import KEYS, WEBHOOK_SECRET, config

pytestmark = pytest.mark.kills

AGENT, OPERATOR = {"X-API-Key": KEYS["agent"]}, {"X-API-Key": KEYS["operator"]}


def receiver() -> AgentReceiver:
    return AgentReceiver(WEBHOOK_SECRET, lambda: datetime.now(UTC))


def settings(database_url: str, mailbox: Mailbox) -> dict[str, Any]:
    """By mail alone, and with callbacks tried again soon."""
    email = {
        "smtp_url": mailbox.smtp_url,
        "from": "handraise@handraise.example",
        "default_to": ["alice@example.com"],
    }
    return config(database_url, {"email": email}) | {
        "suspension": {"default_channel": "email"},
        "work": {"beat_seconds": 1, "silent_seconds": 3},
        "resume": {"allow_networks": ["127.0.0.0/8"], "retry": {"base_delay_ms": 50, "max_delay_ms": 200}},
    }


async def ask(service: ServiceProcess, http: httpx.AsyncClient, callback_url: str) -> dict[str, Any]:
    body = {"question": "Go on?", "response_type": "confirm", "resume": {"callback_url": callback_url}}
    response = await http.post(f"{service.url}/v1/suspensions", json=body, headers=AGENT)
    assert response.status_code == 201, response.text
    asked: dict[str, Any] = response.json()
    return asked


async def answer(service: ServiceProcess, http: httpx.AsyncClient, asked: dict[str, Any]) -> httpx.Response:
    path = f"{service.url}/v1/intents/{asked['intent_id']}/suspend/respond"
    return await http.post(path, json={"suspension_id": asked["suspension_id"], "value": "yes"}, headers=OPERATOR)


@pytest.fixture
async def mailbox() -> Any:
    box = Mailbox()
    await box.start()
    yield box
    await box.stop()


async def test_killed_between_an_answers_200_and_its_callback_the_agent_is_called_after_the_restart(
    tmp_path: Path, database_url: str, mailbox: Mailbox
) -> None:
    agent, port = receiver(), free_port()
    async with (
        service_process(tmp_path, settings(database_url, mailbox)) as service,
        httpx.AsyncClient(timeout=30) as http,
    ):
        await service.start()
        asked = await ask(service, http, f"http://127.0.0.1:{port}/resume")  # nobody listens there yet
        assert (await answer(service, http, asked)).status_code == 200
        await service.kill()
        async with serving(agent.app, port=port):
            await service.start()
            resumed = await agent.expect(within=90)
            assert (resumed.value, resumed.suspension_id) == ("yes", asked["suspension_id"])
            await service.terminate()
    assert Counter(agent.ids).most_common(1)[0][1] == 1


async def test_killed_while_the_callback_is_under_way_it_is_repeated_under_the_same_id(
    tmp_path: Path, sqlite_url: str, mailbox: Mailbox
) -> None:
    agent = receiver()
    arrived, never = asyncio.Event(), asyncio.Event()
    ids: list[str] = []

    async def hang(request: Any) -> Any:
        ids.append(request.headers["webhook-id"])
        arrived.set()
        await never.wait()

    port = free_port()
    async with (
        service_process(tmp_path, settings(sqlite_url, mailbox)) as service,
        httpx.AsyncClient(timeout=30) as http,
    ):
        await service.start()
        async with serving(Starlette(routes=[Route("/resume", hang, methods=["POST"])]), port=port):
            asked = await ask(service, http, f"http://127.0.0.1:{port}/resume")
            assert (await answer(service, http, asked)).status_code == 200
            await asyncio.wait_for(arrived.wait(), 90)
            await service.kill()
            never.set()
        async with serving(agent.app, port=port):
            await service.start()
            assert (await agent.expect(within=90)).value == "yes"
    assert agent.ids == ids


async def test_killed_right_after_the_201_the_question_still_goes_out_once(
    tmp_path: Path, sqlite_url: str, mailbox: Mailbox
) -> None:
    async with (
        service_process(tmp_path, settings(sqlite_url, mailbox)) as service,
        httpx.AsyncClient(timeout=30) as http,
    ):
        await service.start()
        for number in range(5):
            body = {"question": f"Question {number}?", "response_type": "confirm"}
            response = await http.post(f"{service.url}/v1/suspensions", json=body, headers=AGENT)
            assert response.status_code == 201
        await service.kill()
        await service.start()
        for number in range(5):
            await mailbox.expect(subject=f"Question {number}?", seconds=90)
    # A mail that had been sent before the kill may come again; it is the same mail then.
    by_subject: dict[str, set[str]] = {}
    for mail in mailbox.mails:
        by_subject.setdefault(mail.subject, set()).add(mail.message_id)
    assert {len(ids) for ids in by_subject.values()} == {1}


async def test_a_second_process_on_one_sqlite_file_refuses_to_start_with_one_line(
    tmp_path: Path, sqlite_url: str, mailbox: Mailbox
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    async with (
        service_process(first, settings(sqlite_url, mailbox)) as running,
        service_process(second, settings(sqlite_url, mailbox)) as other,
    ):
        await running.start()
        with pytest.raises(AssertionError, match="Another handraise process"):
            await other.start()
    said = (second / "log").read_text().strip().splitlines()
    assert len([line for line in said if not line.startswith("handraise: warning: ")]) == 1


async def test_sigterm_ends_it_cleanly_while_an_agent_waits(tmp_path: Path, sqlite_url: str, mailbox: Mailbox) -> None:
    async with (
        service_process(tmp_path, settings(sqlite_url, mailbox)) as service,
        httpx.AsyncClient(timeout=30) as http,
    ):
        await service.start()
        asked = await ask(service, http, "http://127.0.0.1:9/resume")
        path = f"{service.url}/v1/suspensions/{asked['suspension_id']}/wait?timeout_seconds=55"
        waiting = asyncio.create_task(http.get(path, headers=AGENT, timeout=60))
        await mailbox.expect(subject="Go on?")
        for _ in range(5):  # what has been asked since: the one that waits was heard before
            assert (await http.get(path.partition("/wait")[0], headers=AGENT)).status_code == 200
        assert await service.terminate() == 0
        assert (await waiting).status_code == 204
