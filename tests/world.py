"""The whole service on real parts, for the journeys: real HTTP, SMTP and webhooks against the sandboxes on loopback.

Nothing of our own is replaced but the clock, which is a port.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from handraise_testing.database import lay_down

from bot.app import build_app
from bot.config.loading import load, settings_of, without_nulls
from bot.front.admission import Limits
from bot.front.connections import Connections
from bot.front.protocol import protocol_for, watched
from bot.observability.tracing import NO_TRACING, Tracing
from bot.sandbox.pagerduty import webhooks
from bot.sandbox.pagerduty.world import User as PagerUser
from bot.sandbox.serving import loopback_client, serving, serving_all
from bot.sandbox.slack.world import Message
from bot.vendors import slack_accounts
from bot.wiring.composition import wire
from bot.wiring.service import Service
from channels.pagerduty import channel as pagerduty
from channels.pagerduty import incidents, rest
from core.engine import engine
from core.work.distributed import DistributedWork
from core.work.embedded import EmbeddedWork
from tests.agent import AgentReceiver
from tests.clock import ManualClock
from tests.patience import PATIENCE
from tests.vendors.mail import Mailbox
from tests.vendors.pagerduty import PagerDutySandbox
from tests.vendors.slack import SlackSandbox

WEBHOOK_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
INBOUND_SECRET = "inbound-secret-of-the-tests"
ROUTING_KEY = "R0000000000000000000000000000000"
CHANNEL = "C0OPS"
OWN_PAGER_USER = PagerUser("PHANDRAISE", "Handraise", "handraise@handraise.example")
"""By whose hand the service writes into PagerDuty."""

MOST_ROUNDS, MOST_STOPS = 500, 5_000
"""More than any test needs: work without an end then fails its test, in place of hanging all of them."""
UNHURRIED = timedelta(seconds=60)
"""How long the service takes for a click before it tells Slack that it needs longer, and for whatever else it waits for
only briefly. On a busy machine two seconds pass quickly."""

KEYS = {
    "agent": "agent-key-1",
    "other_agent": "agent-key-2",
    "operator": "alice-key",
    "second_operator": "bob-key",
    "admin": "admin-key",
}


@dataclass
class World:
    """One running service and everybody around it."""

    service: Service
    url: str
    slack: SlackSandbox
    mailbox: Mailbox
    pager: PagerDutySandbox
    agent: AgentReceiver
    clock: ManualClock
    http: httpx.AsyncClient

    async def call(self, method: str, path: str, role: str | None = "agent", **options: Any) -> httpx.Response:
        headers = {**options.pop("headers", {})}
        if role is not None:
            headers["X-API-Key"] = KEYS[role]
        return await self.http.request(method, self.url + path, headers=headers, **options)

    async def ask(self, question: str = "Refund order 12345?", **fields: Any) -> dict[str, Any]:
        """Suspend; returns the suspended outcome. Choices approve and deny unless ``fields`` say otherwise."""
        body = {"question": question, **fields}
        if body.get("response_type", "choice") == "choice" and "choices" not in body and body.get("kind") != "veto":
            body["choices"] = [
                {"value": "approve", "label": "Approve refund", "style": "primary"},
                {"value": "deny", "label": "Deny refund", "style": "danger"},
            ]
        body.setdefault("resume", {})
        if body["resume"] is not None:
            body["resume"].setdefault("callback_url", self.agent.url)
        response = await self.call("POST", "/v1/suspensions", json=body)
        assert response.status_code == 201, response.text
        await self.settle()
        asked: dict[str, Any] = response.json()
        return asked

    async def active_intent(self, title: str = "compliance_review", role: str = "agent") -> dict[str, Any]:
        response = await self.call("POST", "/v1/intents", role, json={"title": title, "status": "active"})
        assert response.status_code == 201, response.text
        intent: dict[str, Any] = response.json()
        return intent

    async def told(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The body of the one callback about this question."""
        await self.settle()
        [callback] = self.agent.told_of(asked)
        return callback.json

    async def answer(self, asked: Mapping[str, Any], value: Any, role: str = "operator", **more: Any) -> httpx.Response:
        path = f"/v1/intents/{asked['intent_id']}/suspend/respond"
        body = {"suspension_id": asked["suspension_id"], "value": value, **more}
        return await self.call("POST", path, role, json=body)

    async def press(self, user_id: str, message: Message, label: str) -> None:
        """Press the button with this label, and let what follows happen."""
        elements = [element for block in message.blocks for element in block.get("elements", [])]
        [action_id] = [
            element["action_id"]
            for element in elements
            if element["type"] == "button" and element["text"]["text"] == label
        ]
        await self.slack.click(user_id, message, action_id)
        await self.settle()

    async def show(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        response = await self.call("GET", f"/v1/suspensions/{asked['suspension_id']}", "admin")
        shown: dict[str, Any] = response.json()
        return shown

    async def intent(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        response = await self.call("GET", f"/v1/intents/{asked['intent_id']}", "admin")
        shown: dict[str, Any] = response.json()
        return shown

    async def events(self, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
        response = await self.call("GET", f"/v1/intents/{asked['intent_id']}/events", "admin")
        events: list[dict[str, Any]] = response.json()["events"]
        return events

    async def event_types(self, asked: Mapping[str, Any]) -> list[str]:
        return [event["event_type"] for event in await self.events(asked)]

    async def timeline(self, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
        response = await self.call("GET", f"/v1/suspensions/{asked['suspension_id']}/timeline", "admin")
        items: list[dict[str, Any]] = response.json()["items"]
        return items

    async def advance(self, **step: float) -> None:
        """Move the clock on, stopping at every instant at which something is due, until nothing is left to do."""
        target = self.clock.now() + timedelta(**step)
        for _ in range(MOST_STOPS):
            due = await self.settle()
            if due is None or due > target:
                break
            self.clock.move_to(max(due, self.clock.now()))
        else:
            raise AssertionError(
                f"The service was woken {MOST_STOPS} times by {self.clock.now()}, and wants to be again."
            )
        self.clock.move_to(target)
        await self.settle()

    async def settle(self) -> Any:
        """Do all that is due now; returns when the next thing is. Work that is due again and again fails the test."""
        for _ in range(MOST_ROUNDS):
            due = await self._look()
            if (pager := self.service.doors.get("pagerduty")) is not None:
                await pager.parking.finished()
            await self.service.lanes.empty()
            if self.pager.rest.answering.is_set():  # else the door may wait for it
                await self.pager.webhooks.answered()
            if due is None or due > self.clock.now():
                again = await self._look()
                await self._own_look()  # the engine looks too, and may have been first
                busy = self.service.lanes.held
                if not busy and (again is None or again > self.clock.now()):
                    return again
        raise AssertionError(f"Something is still due at {self.clock.now()}, after {MOST_ROUNDS} rounds of work.")

    async def _look(self) -> datetime | None:
        async with asyncio.timeout(PATIENCE):
            return await self.service.look()

    async def _own_look(self) -> None:
        """Return when the engine's own look, if one is under way, has ended: what it has taken is in hand then."""
        work = self.service.work
        assert isinstance(work, EmbeddedWork | DistributedWork)
        looking = work._looking
        while looking._ended < looking._begun and looking._task is not None and not looking._task.done():
            await asyncio.sleep(0.001)


def after(asked: Mapping[str, Any], **step: float) -> str:
    """So long after the suspension, as the wire has it."""
    at = datetime.fromisoformat(asked["suspended_at"]) + timedelta(**step)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def config(database_url: str, sandboxes: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration in which every channel is set up against the sandboxes."""
    return {
        "database_url": database_url,
        "secret_key": "the-secret-key-of-the-tests-alone",
        "api_keys": [
            {"name": "refund-agent", "key": KEYS["agent"], "roles": ["agent"], "webhook_secrets": [WEBHOOK_SECRET]},
            {"name": "other-agent", "key": KEYS["other_agent"], "roles": ["agent"]},
            {"name": "alice@example.com", "key": KEYS["operator"], "roles": ["operator"]},
            {"name": "bob@example.com", "key": KEYS["second_operator"], "roles": ["operator"]},
            {"name": "root", "key": KEYS["admin"], "roles": ["admin"], "webhook_secrets": [WEBHOOK_SECRET]},
        ],
        "people": [
            {
                "name": "Alice",
                "email": "alice@example.com",
                "slack_user_id": "U0ALICE",
                "pagerduty_user_id": "PALICE",
                "groups": ["finance"],
            },
            {
                "name": "Bob",
                "email": "bob@example.com",
                "slack_user_id": "U0BOB",
                "pagerduty_user_id": "PBOB",
                "groups": ["finance"],
            },
            {"name": "Carol", "email": "carol@example.com", "slack_user_id": "U0CAROL"},
        ],
        "recipients": {"allow": ["*@example.com", "group:*", "slack:C0*", "pagerduty:*"]},
        "suspension": {"default_channel": "slack"},
        "resume": {"allow_networks": ["127.0.0.0/8"]},
        **sandboxes,
    }


@asynccontextmanager
async def running(
    folder: Path,
    database_url: str,
    clock: ManualClock | None = None,
    *,
    tracing: Tracing = NO_TRACING,
    connections: Connections | None = None,
    **overrides: Any,
) -> AsyncIterator[World]:
    """A service of its own, with its sandboxes, for as long as the block lasts.

    ``overrides`` replace what :func:`config` says: whole sections, or one key of one (``email__default_to=[]``).
    """
    clock = clock or ManualClock()
    async with AsyncExitStack() as stack:
        stack.enter_context(_unhurried())
        if connections is None:
            connections = Connections(Limits())
            connections.start()
            stack.push_async_callback(connections.stop)
        slack, mailbox, pager, agent = _people(clock)
        apps = (slack.app, pager.app, agent.app)
        slack_url, pager_url, agent_url = await stack.enter_async_context(serving_all(*apps))
        agent.url = f"{agent_url}/resume"
        await mailbox.start()
        stack.push_async_callback(mailbox.stop)
        stack.push_async_callback(pager.close)
        sandboxes = {
            "slack": {
                "bot_token": slack.workspace.bot_token,
                "signing_secret": slack.signing_secret,
                "api_url": f"{slack_url}/api/",
                "default_channel": CHANNEL,
            },
            "email": {
                "smtp_url": mailbox.smtp_url,
                "from": "Handraise <handraise@handraise.example>",
                "reply_to": "answers@handraise.example",
                "inbound_secret": INBOUND_SECRET,
                "default_to": ["alice@example.com"],
            },
            "pagerduty": {
                "routing_key": ROUTING_KEY,
                "events_url": pager_url,
                "api_url": pager_url,
                "api_token": pager.rest.token,
                "from_email": OWN_PAGER_USER.email,
                "webhook_secrets": list(pager.webhooks.secrets),
            },
        }
        lay_down(database_url)
        patient = {"database": {"statement_seconds": 60, "transaction_seconds": 120}}
        service = _wired(folder, _changed(config(database_url, sandboxes) | patient, overrides), clock, tracing)
        connections.knows = service.keys.knows
        url = await stack.enter_async_context(serving(watched(build_app(service)), http=protocol_for(connections)))
        slack.events_url = f"{url}/slack/events"
        mailbox.answer_at(f"{url}/email/inbound", INBOUND_SECRET)
        pager.webhooks.url = f"{url}/pagerduty/webhooks"
        http = await stack.enter_async_context(loopback_client(timeout=30))
        yield World(service, url, slack, mailbox, pager, agent, clock, http)


def _changed(settings: dict[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in overrides.items():
        section, _, key = name.partition("__")
        settings[section] = {**settings[section], key: value} if key else value
    return settings


def _wired(folder: Path, settings: Mapping[str, Any], clock: ManualClock, tracing: Tracing) -> Service:
    file = folder / "handraise.yaml"
    written = json.dumps(settings, default=str)  # which is YAML too
    file.write_text(written)
    as_read = without_nulls(json.loads(written))  # to read it as YAML takes a third of the start
    service = wire(settings_of(as_read, file, {}), folder, clock, tracing=tracing, reread=lambda: load(file, {}))
    if "slack" in service.doors:
        service.doors["slack"].app._listeners.background._limit = UNHURRIED
    return service


@contextmanager
def _unhurried() -> Iterator[None]:
    """What the service waits for only briefly, it has time for: a note in PagerDuty that is to come before the resolve
    (0.6 s), whether an incident is open (2 s), who is on call (2 s), who has which account in Slack (1 s). So has
    the pretend PagerDuty, for our answer to its webhook (5 s). A busy machine takes longer, and what then happens is
    another story. A test that tells it sets the time itself."""
    seconds = UNHURRIED.total_seconds()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pagerduty, "NOTE_SECONDS", seconds)
        patch.setattr(pagerduty, "LOOK_SECONDS", seconds)
        patch.setattr(rest, "TIMEOUT_SECONDS", seconds)
        patch.setattr(incidents, "TIMEOUT_SECONDS", seconds)
        patch.setattr(slack_accounts, "PATIENCE", UNHURRIED)
        patch.setattr(webhooks, "TIMEOUT_SECONDS", seconds)
        patch.setattr(engine, "ON_CALL_SECONDS", seconds)
        yield


def _people(clock: ManualClock) -> tuple[SlackSandbox, Mailbox, PagerDutySandbox, AgentReceiver]:
    slack = SlackSandbox(now=clock.now, ack_within=2 * UNHURRIED.total_seconds())
    slack.workspace.add_user("U0ALICE", "Alice", "alice@example.com")
    slack.workspace.add_user("U0BOB", "Bob", "bob@example.com")
    slack.workspace.add_user("U0CAROL", "Carol", "carol@example.com")
    slack.workspace.add_user("U0EVE", "Eve", "eve@elsewhere.example")
    slack.workspace.add_channel(CHANNEL, "ops", "U0ALICE", "U0BOB", "U0CAROL", "U0EVE")
    pager = PagerDutySandbox(
        {"default": ROUTING_KEY},
        [
            PagerUser("PALICE", "Alice", "alice@example.com"),
            PagerUser("PBOB", "Bob", "bob@example.com"),
            OWN_PAGER_USER,
        ],
        now=clock.now,
    )
    return slack, Mailbox(now=clock.now), pager, AgentReceiver(WEBHOOK_SECRET, clock.now)
