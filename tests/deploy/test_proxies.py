"""The service behind nginx and behind Caddy, as ``deploy/`` sets them up: what passes, how fast, and what does not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from slack_sdk.signature import SignatureVerifier

from bot.sandbox.pagerduty.webhooks import signature
from tests.deploy.proxies import INSIDE, OUTSIDE, PROXIES, Proxy
from tests.patience import PATIENCE
from tests.world import KEYS, World

pytestmark = [pytest.mark.deployment, pytest.mark.asyncio(loop_scope="module")]

AGENT, OPERATOR = {"X-API-Key": KEYS["agent"]}, {"X-API-Key": KEYS["operator"]}
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Behind:
    """The service, a proxy before it, and two clients: one of your network, one of the world outside."""

    world: World
    proxy: Proxy
    inside: httpx.AsyncClient
    outside: httpx.AsyncClient


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=PROXIES)
async def behind(
    request: pytest.FixtureRequest, room: World, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Behind]:
    folder: Path = tmp_path_factory.mktemp(request.param)
    async with (
        PROXIES[request.param](folder, room.url.removeprefix("http://")) as proxy,
        proxy.client(INSIDE) as inside,
        proxy.client(OUTSIDE) as outside,
    ):
        yield Behind(room, proxy, inside, outside)


async def test_an_event_arrives_at_once(behind: Behind) -> None:
    """A proxy that collects what it forwards would hold it back until much more has come."""
    async with behind.inside.stream("GET", "/v1/events/stream", headers=AGENT) as stream:
        lines = stream.aiter_lines()
        async with asyncio.timeout(PATIENCE):
            assert (await anext(lines)).startswith(": connected")
            asked = await behind.world.ask()
            while not (line := await anext(lines)).startswith("data:"):
                pass
    assert json.loads(line.removeprefix("data:"))["intent_id"] == asked["intent_id"]


async def test_a_wait_ends_with_the_answer(behind: Behind) -> None:
    asked = await behind.world.ask()
    path = f"/v1/suspensions/{asked['suspension_id']}/wait"
    waiting = asyncio.create_task(behind.inside.get(path, headers=AGENT, timeout=60))
    body = {"suspension_id": asked["suspension_id"], "value": "approve"}
    answered = await behind.inside.post(
        f"/v1/intents/{asked['intent_id']}/suspend/respond", json=body, headers=OPERATOR
    )
    assert answered.status_code == 200, answered.text
    assert (await waiting).json()["response"] == "approve"


async def test_a_hook_is_open_to_everybody_and_the_service_asks_for_the_signature(behind: Behind) -> None:
    raw = json.dumps({"event": {"id": "01", "event_type": "pagey.ping", "resource_type": "pagey"}}).encode()
    signed = {"X-PagerDuty-Signature": signature(raw, behind.world.pager.webhooks.secrets)}
    pagerduty, slack = "/pagerduty/webhooks", "/slack/events"
    assert (await behind.outside.post(pagerduty, content=raw, headers=signed)).status_code == 202
    assert (await behind.outside.post(pagerduty, content=raw)).status_code == 401

    body = json.dumps({"type": "url_verification", "challenge": "of Slack's"})
    at = str(int(behind.world.clock.now().timestamp()))
    verifier = SignatureVerifier(behind.world.slack.signing_secret)
    headers = {"Content-Type": "application/json", "X-Slack-Request-Timestamp": at}
    proven = headers | {"X-Slack-Signature": str(verifier.generate_signature(timestamp=at, body=body))}
    said = await behind.outside.post(slack, content=body, headers=proven)
    assert (said.status_code, said.json()) == (200, {"challenge": "of Slack's"})
    assert (await behind.outside.post(slack, content=body, headers=headers)).status_code == 401


@pytest.mark.parametrize("path", ["/", "/v1/me", "/api/v1/me", "/inbox", "/openapi.json", "/static/page.css", "/a/x"])
async def test_the_rest_is_for_your_network_alone(behind: Behind, path: str) -> None:
    for method in ("GET", "POST"):
        refused = await behind.outside.request(method, path, headers=OPERATOR)
        assert (refused.status_code, "alice" in refused.text) == (403, False)
    assert (await behind.inside.get("/v1/me", headers=OPERATOR)).json()["name"] == "alice@example.com"


@pytest.mark.parametrize("hook", ["/pagerduty/webhooks", "/slack/events"])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_a_hook_takes_nothing_but_what_vendors_send(behind: Behind, hook: str, method: str) -> None:
    assert (await behind.outside.request(method, hook)).status_code == 403


METRICS = (
    *("/metrics", "/metrics/", "/metrics?x=1", "//metrics", "/./metrics", "/%6Detrics", "/%6d%65trics", "/METRICS"),
    *("/pagerduty/webhooks/../../metrics", "/slack/events/..%2f..%2fmetrics", "/static/../metrics", "/metrics%2f"),
    *("/metrics%20", "/metrics;x", "/metrics%00", "/x/%2e%2e/metrics", "http://localhost/metrics", "/\\metrics"),
)


@pytest.mark.parametrize("target", METRICS)
async def test_metrics_do_not_leave_however_they_are_asked_for(behind: Behind, target: str) -> None:
    direct = await behind.world.http.get(behind.world.url + "/metrics")
    assert "suspensions_open" in direct.text, "they are there"
    for address in (INSIDE, OUTSIDE):
        reply = await behind.proxy.raw(target, address)
        assert reply.startswith(b"HTTP/1.1 4")
        assert b"suspensions_open" not in reply


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_nobody_outside_hears_how_the_service_is(behind: Behind, path: str) -> None:
    assert (await behind.outside.get(path)).status_code == 404


async def test_nobody_sends_more_than_the_service_takes(behind: Behind) -> None:
    mail = {"X-Handraise-Signature": "t=1,v1=" + "0" * 64}
    hook = await behind.outside.post("/pagerduty/webhooks", content=b"x" * (2 * MIB))
    door = await behind.inside.post("/email/inbound", content=b"x" * (8 * MIB), headers=mail)
    for refused in (hook, door):
        assert refused.status_code in {413, 502}, "Debian's Caddy says 502, and newer ones 413"
        assert "too_large" not in refused.text, "the proxy says so, before the service has to"
    whole = await behind.inside.post("/email/inbound", content=b"x" * (5 * MIB), headers=mail)
    assert whole.status_code == 401, "what the service itself would take reaches it"
