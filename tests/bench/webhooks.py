"""PagerDuty's webhooks, offered at a steady rate, repeated and shuffled: how long each takes, and how it all ends.

Two runs on one service process: the stories of some hundred incidents told in order and once, and the same stories
told shuffled, with repeats, at the rate. Beside it the ceiling: the same requests once more, at the same rate, when
nothing is left to do but to check the signature and to read that it was seen.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from bot.sandbox.pagerduty.webhooks import envelope, incident_data, note_data, signature
from bot.sandbox.pagerduty.world import Incident, User
from bot.sandbox.serving import serving as serving_app
from tests.bench import measures
from tests.bench.process import processor_seconds
from tests.bench.service import AGENT_KEY, OPERATOR_KEY, Caller, serving
from tests.bench.sheet import Sheet
from tests.ports import free_port
from tests.vendors.pagerduty import API_TOKEN, WEBHOOK_SECRET, PagerDutySandbox

OFFERED = 10_000
RATE = 200
"""A second."""
REPEATED = 0.3
EVENTS_AN_INCIDENT = 25
ROUTING_KEY = "R" * 32
ALICE = User("PALICE", "Alice", "alice@example.com")
BOB = User("PBOB", "Bob", "bob@example.com")
PEOPLE = [ALICE, BOB]


@dataclass(frozen=True)
class Request:
    webhook_id: str
    raw: bytes


@dataclass
class Offering:
    """``http`` sends to ``url``; ``statuses`` are all there were."""

    http: aiohttp.ClientSession
    url: str
    come_again: set[str] = field(default_factory=set)
    """What was answered with 503: PagerDuty would repeat it."""

    async def one(self, request: Request) -> int:
        headers = {
            "X-PagerDuty-Signature": signature(request.raw, [WEBHOOK_SECRET]),
            "X-Webhook-Id": request.webhook_id,
        }
        async with self.http.post(self.url, data=request.raw, headers=headers) as response:
            await response.read()
            if response.status == 503:
                self.come_again.add(request.webhook_id)
            return response.status

    async def in_order(self, requests: Sequence[Request]) -> set[int]:
        return {await self.one(request) for request in requests}

    async def steadily(self, requests: Sequence[Request]) -> tuple[list[float], set[int]]:
        """At :data:`RATE`, whether earlier ones have been answered or not: milliseconds from when each was due."""
        latencies: list[float] = []
        statuses: set[int] = set()
        start = time.monotonic()

        async def send(due: float, request: Request) -> None:
            statuses.add(await self.one(request))
            latencies.append((time.monotonic() - due) * 1000)

        async with asyncio.TaskGroup() as sending:
            for number, request in enumerate(requests):
                due = start + number / RATE
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                sending.create_task(send(due, request))
        return sorted(latencies), statuses


async def sqlite(folder: Path, sheet: Sheet, offered: int = OFFERED) -> None:
    sandbox = PagerDutySandbox({"default": ROUTING_KEY}, PEOPLE)
    luck = random.Random(7)
    distinct = round(offered * (1 - REPEATED))
    incidents = max(2, distinct // EVENTS_AN_INCIDENT)
    connector = aiohttp.TCPConnector(limit=0)
    async with serving_app(sandbox.app) as pager, aiohttp.ClientSession(connector=connector) as http:
        config, url = _config(folder, pager)
        with serving(config) as process:
            await measures.until_ready(Caller(http, url), time.monotonic())
            offering = Offering(http, f"{url}/pagerduty/webhooks")
            sandbox.webhooks.url = offering.url  # as the real one, it tells of each incident when it is new
            ordered = await _ask(http, url, sandbox, incidents)
            shuffled = await _ask(http, url, sandbox, incidents)
            while any(not one.statuses for one in sandbox.webhooks.deliveries):
                await asyncio.sleep(0.05)
            stories = [_story(luck, distinct // incidents) for _ in range(incidents)]
            now = datetime.now(UTC)
            told = _told(sandbox, ordered, stories, now)
            statuses = await offering.in_order(told)
            twin = _told(sandbox, shuffled, stories, now)
            mixed = [*twin, *luck.choices(twin, k=offered - len(twin))]
            luck.shuffle(mixed)
            load, before = os.getloadavg()[0], processor_seconds(process.pid)
            latencies, more = await offering.steadily(mixed)
            cost = (processor_seconds(process.pid) - before) * 1000 / len(mixed)
            again_later = [one for one in mixed if one.webhook_id in offering.come_again]
            more |= await offering.in_order(again_later)
            ceiling, again = await offering.steadily(mixed[: max(len(mixed) // 5, 100)])
            ends = [[await _end(http, url, one) for one in run] for run in (ordered, shuffled)]
    await sandbox.close()
    sheet.note("load of the machine while they were offered", load, f"on {os.cpu_count()} cores")
    sheet.exactly("other answers than 202 and 503", float(len((statuses | more | again) - {202, 503})), 0, "")
    sheet.note("webhooks that had to come again (503)", float(len(offering.come_again)), "")
    differing = sum(first != second for first, second in zip(*ends, strict=True))
    sheet.exactly(f"questions of {incidents} that end otherwise than in order", float(differing), 0, "")
    sheet.note("of these answered", float(sum(end[0] == "responded" for end in ends[1])), "questions")
    sheet.note(f"{offered} webhooks at {RATE}/s, median", _at(latencies, 0.5), "ms")
    sheet.note(f"{offered} webhooks at {RATE}/s, p99", _at(latencies, 0.99), "ms")
    sheet.note("processor time of the service for each", cost, "ms")
    sheet.note("ceiling (signature and one read), median", _at(ceiling, 0.5), "ms")
    sheet.note("ceiling (signature and one read), p99", _at(ceiling, 0.99), "ms")
    sheet.note("median beside the ceiling", _at(latencies, 0.5) / _at(ceiling, 0.5), "times")
    sheet.note("p99 beside the ceiling", _at(latencies, 0.99) / _at(ceiling, 0.99), "times")


def _at(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share))]


def _config(folder: Path, pager: str) -> tuple[Path, str]:
    port = free_port()
    people = [{"name": one.name, "email": one.email, "pagerduty_user_id": one.id} for one in PEOPLE]
    settings = {
        "database_url": f"sqlite+aiosqlite:///{folder}/webhooks.db",
        "http": {"port": port},
        "secret_key": "the-secret-key-of-the-bench-alone",
        "api_keys": [
            {"name": "bench-agent", "key": AGENT_KEY, "roles": ["agent"]},
            {"name": "bench-operator", "key": OPERATOR_KEY, "roles": ["operator"]},
        ],
        "people": people,
        "recipients": {"allow": ["*@example.com", "pagerduty:*"]},
        "pagerduty": {
            "routing_key": ROUTING_KEY,
            "events_url": pager,
            "api_url": pager,
            "api_token": API_TOKEN,
            "webhook_secrets": [WEBHOOK_SECRET],
        },
        "log": {"level": "warning"},
    }
    file = folder / "handraise.yaml"
    file.write_text(yaml.safe_dump(settings))
    return file, f"http://127.0.0.1:{port}"


async def _ask(
    http: aiohttp.ClientSession, url: str, sandbox: PagerDutySandbox, count: int
) -> list[tuple[Any, Incident]]:
    asked = []
    for _ in range(count):
        body = {
            "question": "Refund?",
            "choices": [{"value": "approve", "label": "Approve"}, {"value": "deny", "label": "Deny"}],
            "notify_to": "pagerduty:default",
            "responders": [one.email for one in PEOPLE],
            "timeout_seconds": 86_400,
        }
        async with http.post(f"{url}/v1/suspensions", json=body, headers={"X-API-Key": AGENT_KEY}) as response:
            one = await response.json()
        asked.append((one, await sandbox.expect_incident(one["ref"], within=30)))
    return asked


def _story(luck: random.Random, length: int) -> list[tuple[str, User | None, str]]:
    """What people do with one incident: mostly claims and returns, some talk, and in every third an answer."""
    doings = luck.choices(
        ["acknowledged", "unacknowledged", "annotated", "resolved", "priority_updated"], [6, 4, 1, 0.2, 1], k=length
    )
    story = [(what, luck.choice(PEOPLE), "having a look") for what in doings]
    if luck.random() < 1 / 3:
        story[luck.randrange(length)] = ("annotated", luck.choice(PEOPLE), luck.choice(["approve", "2"]))
    return list(story)


def _told(
    sandbox: PagerDutySandbox,
    asked: Sequence[tuple[Any, Incident]],
    stories: Sequence[Sequence[tuple[str, User | None, str]]],
    now: datetime,
) -> list[Request]:
    """The webhooks of all stories, in the order in which everything happened."""
    told: list[tuple[datetime, Request]] = []
    for place, ((_, incident), story) in enumerate(zip(asked, stories, strict=True)):
        for number, (what, who, text) in enumerate(story):
            at = now - timedelta(seconds=120) + timedelta(seconds=number, milliseconds=place % 1000)
            if what == "annotated" and who is not None:
                data = note_data(incident, sandbox.account.annotate(incident, who, text))
            else:
                data = incident_data(incident)
            body = envelope(f"incident.{what}", data, who, at)
            told.append((at, Request(body["event"]["id"].lower(), json.dumps(body).encode())))
    return [request for _, request in sorted(told, key=lambda one: one[0])]


async def _end(http: aiohttp.ClientSession, url: str, one: tuple[Any, Incident]) -> tuple[Any, ...]:
    path = f"{url}/v1/suspensions/{one[0]['suspension_id']}"
    async with http.get(path, headers={"X-API-Key": OPERATOR_KEY}) as response:
        shown = await response.json()
    return tuple(shown[name] for name in ("status", "claimed_by", "claim_until", "response", "responded_by"))
