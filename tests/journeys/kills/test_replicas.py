"""Several processes on one PostgreSQL: one service, whoever of them is asked, and whoever of them dies."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.sandbox.serving import serving
from tests.journeys.kills.replicas import AGENT, PATIENCE, Replicas, replicas_on
from tests.ports import free_port
from tests.process import service_process
from tests.world import INBOUND_SECRET, config

pytestmark = pytest.mark.kills


@pytest.fixture
async def replicas(tmp_path: Path, postgres_url: str) -> AsyncIterator[Replicas]:
    async with replicas_on(tmp_path, postgres_url) as replicas:
        yield replicas


async def test_two_apis_and_two_workers_are_one_service(replicas: Replicas) -> None:
    one, two, *_ = await asyncio.gather(*(replicas.start(role) for role in ("api", "api", "worker", "worker")))
    asked = await replicas.ask(one)
    await replicas.mailbox.expect(subject="Go on?", seconds=PATIENCE)
    waiting = asyncio.create_task(replicas.wait(two, asked))
    await asyncio.sleep(0.3)  # other processes: only real time shows that it has not returned
    assert not waiting.done()
    assert (await replicas.answer(one, asked)).status_code == 200
    async with asyncio.timeout(PATIENCE):
        woken = await waiting
    assert (woken.status_code, woken.json()["response"]) == (200, "yes")
    assert (await replicas.agent.expect(within=PATIENCE)).value == "yes"
    for process in replicas.started:
        assert await process.terminate() == 0
    assert [Counter(replicas.agent.ids).total(), len(replicas.mailbox.mails)] == [1, 1]


async def test_a_bounce_that_one_process_takes_in_lets_another_ask_the_next_person(replicas: Replicas) -> None:
    api, door, _ = await asyncio.gather(*(replicas.start(role) for role in ("api", "mail", "worker")))
    replicas.mailbox.answer_at(f"{door.url}/email/inbound", INBOUND_SECRET)
    rungs = [{"attempt": 2, "channel_hint": "email", "notify_to": "bob@example.com"}]
    policy = {"max_attempts": 2, "interval_seconds": 3600, "escalation_ladder": rungs}
    await replicas.ask(api, timeout_seconds=3600, retry_policy=policy)
    mail = await replicas.mailbox.expect(to="alice@example.com", seconds=PATIENCE)

    assert (await replicas.mailbox.bounce(mail)).status_code == 202

    await replicas.mailbox.expect(to="bob@example.com", seconds=PATIENCE)


async def test_of_many_questions_asked_anywhere_each_goes_out_once(replicas: Replicas) -> None:
    one, two, *_ = await asyncio.gather(*(replicas.start(role) for role in ("api", "api,worker", "worker")))
    policy = {"timeout_seconds": 3600, "retry_policy": {"max_attempts": 2, "interval_seconds": 1}}
    asked = await asyncio.gather(
        *(replicas.ask((one, two)[number % 2], f"Number {number}?", **policy) for number in range(20))
    )
    # Everything is asked again after a second and expires after another, whichever worker looks.
    resumed = [await replicas.agent.expect(number + 1, within=PATIENCE) for number in range(20)]
    assert {told.suspension_id for told in resumed} == {one["suspension_id"] for one in asked}
    assert {told.resolution for told in resumed} == {"expired"}
    assert Counter(replicas.agent.ids).most_common(1)[0][1] == 1
    for told, most in ((False, 2), (True, 1)):  # asked twice, then told once that nobody answered
        mails = [mail for mail in replicas.mailbox.mails if ("Nobody answered by" in mail.text) is told]
        assert Counter(mail.subject.removeprefix("Re: ") for mail in mails).most_common(1)[0][1] <= most
    assert len({mail.message_id for mail in replicas.mailbox.mails}) == len(replicas.mailbox.mails)


async def test_an_event_stream_hears_what_another_replica_did(replicas: Replicas) -> None:
    one, two = await asyncio.gather(replicas.start("api"), replicas.start("api"))
    async with replicas.http.stream("GET", f"{two.url}/v1/events/stream", headers=AGENT) as response:
        lines = response.aiter_lines()
        assert (await anext(lines)).startswith(":")
        asked = await replicas.ask(one)
        async with asyncio.timeout(PATIENCE):
            while not (line := await anext(lines)).startswith("data: "):
                pass
    event = json.loads(line.removeprefix("data: "))
    assert (event["event_type"], event["intent_id"]) == ("intent.suspended", asked["intent_id"])


async def test_what_a_killed_worker_had_in_hand_is_sent_by_another_under_the_same_id(replicas: Replicas) -> None:
    arrived, ids = asyncio.Event(), []

    async def hang(request: Request) -> Response:
        ids.append(request.headers["webhook-id"])
        arrived.set()
        await asyncio.sleep(60)
        return Response()

    api, worker = await asyncio.gather(replicas.start("api"), replicas.start("worker"))
    port = free_port()
    replicas.agent.url = f"http://127.0.0.1:{port}/resume"
    async with serving(Starlette(routes=[Route("/resume", hang, methods=["POST"])]), port=port):
        assert (await replicas.answer(api, await replicas.ask(api))).status_code == 200
        await asyncio.wait_for(arrived.wait(), PATIENCE)
        await replicas.start("worker")
        await worker.kill()
    async with serving(replicas.agent.app, port=port):
        await replicas.agent.expect(within=PATIENCE)
    assert replicas.agent.ids == ids


async def test_a_worker_that_lives_keeps_what_it_has_in_hand(replicas: Replicas) -> None:
    ids: list[str] = []

    async def slow(request: Request) -> Response:
        ids.append(request.headers["webhook-id"])
        await asyncio.sleep(6)  # twice as long as a worker may be silent
        return Response()

    api, *_ = await asyncio.gather(replicas.start("api"), replicas.start("worker"), replicas.start("worker"))
    async with serving(Starlette(routes=[Route("/resume", slow, methods=["POST"])])) as url:
        replicas.agent.url = f"{url}/resume"
        asked = await replicas.ask(api)
        assert (await replicas.answer(api, asked)).status_code == 200
        path = f"{api.url}/v1/callbacks?status=delivered"
        async with asyncio.timeout(PATIENCE):
            while not (await replicas.http.get(path, headers=AGENT)).json()["items"]:
                await asyncio.sleep(0.2)
    assert len(ids) == 1


async def test_sigterm_hands_what_is_left_to_another_worker(replicas: Replicas) -> None:
    api, worker = await asyncio.gather(replicas.start("api"), replicas.start("worker"))
    await asyncio.gather(*(replicas.ask(api, f"Number {number}?") for number in range(30)))
    _, status = await asyncio.gather(replicas.start("worker"), worker.terminate())
    assert status == 0
    await asyncio.gather(*(replicas.ask(api, f"Later {number}?") for number in range(3)))
    for number in range(30):
        await replicas.mailbox.expect(subject=f"Number {number}?", seconds=PATIENCE)
    for number in range(3):
        await replicas.mailbox.expect(subject=f"Later {number}?", seconds=PATIENCE)
    assert set(Counter(mail.subject for mail in replicas.mailbox.mails).values()) == {1}


async def test_a_process_serves_the_paths_of_its_roles_alone(replicas: Replicas) -> None:
    api, worker = await asyncio.gather(replicas.start("api"), replicas.start("worker,mail"))
    for process in (api, worker):
        for path in ("/healthz", "/readyz"):
            assert (await replicas.http.get(process.url + path)).status_code == 200
    assert (await replicas.http.get(f"{api.url}/v1/suspensions", headers=AGENT)).status_code == 200
    assert (await replicas.http.get(f"{api.url}/openapi.json")).status_code == 200
    for path in (
        "/v1/suspensions",
        "/inbox",
        "/openapi.json",
        "/static/pages.css",
        "/slack/events",
        "/pagerduty/webhooks",
    ):
        refused = await replicas.http.get(worker.url + path, headers=AGENT)
        assert (refused.status_code, refused.json()["detail"]["error"]) == (404, "not_found"), path


@pytest.mark.parametrize(
    ("role", "on", "said"),
    [
        ("worker", "sqlite_url", "--role: a process that runs only a part of the service needs PostgreSQL"),
        ("api,worker,slack", "sqlite_url", "--role: a process that runs only a part of the service needs PostgreSQL"),
        ("clock", "postgres_url", "--role: 'clock' is none of api, worker, slack, mail."),
        ("", "postgres_url", "--role: '' is none of api, worker, slack, mail."),
    ],
)
async def test_a_role_that_can_not_be_is_refused_in_one_line(
    tmp_path: Path, request: pytest.FixtureRequest, role: str, on: str, said: str
) -> None:
    settings = config(request.getfixturevalue(on), {})
    settings |= {"suspension": {}}
    async with service_process(tmp_path / "refused", settings, role) as process:
        with pytest.raises(AssertionError) as refused:
            await process.start()
    [line] = str(refused.value).strip().splitlines()
    assert line.startswith(f"handraise: {said}")


async def test_all_roles_by_name_are_all_roles_on_sqlite_too(tmp_path: Path, sqlite_url: str) -> None:
    settings = config(sqlite_url, {}) | {"suspension": {}}
    async with service_process(tmp_path / "all", settings, "api,worker", "slack,mail") as process:
        await process.start()
        with contextlib.suppress(httpx.HTTPError):
            assert await process.terminate() == 0
