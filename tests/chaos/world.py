"""Everybody around the service, in this process: the vendors' sandboxes, the agent's end, and the configuration."""

from __future__ import annotations

import random
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from bot.sandbox.pagerduty.world import Incident
from bot.sandbox.pagerduty.world import User as PagerUser
from bot.sandbox.serving import serving_all
from bot.sandbox.slack.world import Message
from tests.chaos.receiver import PATIENCE, Receiver
from tests.chaos.records import Records
from tests.vendors.mail import Mail, Mailbox
from tests.vendors.pagerduty import PagerDutySandbox
from tests.vendors.slack import SlackSandbox
from tests.world import CHANNEL, INBOUND_SECRET, KEYS, ROUTING_KEY, WEBHOOK_SECRET, config

_REF = re.compile(r"\bHR-[0-9A-Z]+")


@dataclass
class World:
    """``settings`` configure the service for this world, but for its database and addresses."""

    slack: SlackSandbox
    mailbox: Mailbox
    pager: PagerDutySandbox
    agent: Receiver
    callback_url: str
    settings: dict[str, Any]
    board: Board


@dataclass
class Board:
    """What people have in front of them, found by the question's ref; each thing is looked at once."""

    slack: SlackSandbox
    mailbox: Mailbox
    pager: PagerDutySandbox
    messages: dict[str, list[Message]] = field(default_factory=dict)
    mails: dict[str, list[Mail]] = field(default_factory=dict)
    incidents: dict[str, Incident] = field(default_factory=dict)
    _seen: list[int] = field(default_factory=lambda: [0, 0, 0])

    def message(self, ref: str, user: str) -> Message | None:
        """The newest one that ``user`` can press."""
        self._read()
        members = self.slack.workspace.conversations
        mine = [one for one in self.messages.get(ref, []) if user in members[one.channel].members]
        return mine[-1] if mine else None

    def mail(self, ref: str, to: str) -> Mail | None:
        """The newest one that asks ``to``."""
        self._read()
        mine = [one for one in self.mails.get(ref, []) if one.recipient == to]
        return mine[-1] if mine else None

    def incident(self, ref: str) -> Incident | None:
        self._read()
        return self.incidents.get(ref)

    def _read(self) -> None:
        self._take(0, self.slack.workspace.messages, lambda one: self._file(self.messages, one.text, one))
        self._take(1, self.mailbox.mails, self._file_mail)
        self._take(2, self.pager.incidents, self._file_incident)

    def _take(self, which: int, things: list[Any], file: Callable[[Any], None]) -> None:
        for thing in things[self._seen[which] :]:
            file(thing)
        self._seen[which] = len(things)

    def _file(self, under: dict[str, list[Any]], text: str, thing: Any) -> None:
        if found := _REF.search(text):
            under.setdefault(found[0], []).append(thing)

    def _file_mail(self, mail: Mail) -> None:
        if not mail.subject.lower().startswith("re:"):  # a short message about it
            self._file(self.mails, mail.subject, mail)

    def _file_incident(self, incident: Incident) -> None:
        if found := _REF.search(incident.title):
            self.incidents[found[0]] = incident


@asynccontextmanager
async def a_world(records: Records, chance: random.Random) -> AsyncIterator[World]:
    """The sandboxes on loopback for as long as the block lasts."""
    slack, mailbox, agent = SlackSandbox(), Mailbox(), Receiver(records, chance)
    pager = PagerDutySandbox(
        {"default": ROUTING_KEY},
        [PagerUser("PALICE", "Alice", "alice@example.com"), PagerUser("PBOB", "Bob", "bob@example.com")],
    )
    pager.retry_after_seconds = 1
    for name in ("Alice", "Bob", "Carol"):
        slack.workspace.add_user(f"U0{name.upper()}", name, f"{name.lower()}@example.com")
    slack.workspace.add_channel(CHANNEL, "ops", "U0ALICE", "U0BOB")
    async with AsyncExitStack() as stack:
        urls = await stack.enter_async_context(serving_all(slack.app, pager.app, agent.app))
        await mailbox.start()
        stack.push_async_callback(mailbox.stop)
        stack.push_async_callback(pager.close)
        slack_url, pager_url, agent_url = urls
        channels = _channels(slack, slack_url, mailbox, pager, pager_url)
        board = Board(slack, mailbox, pager)
        yield World(slack, mailbox, pager, agent, f"{agent_url}/resume", channels, board)


def settings_for(world: World, database_url: str, silent: int | None, grace: int | None) -> dict[str, Any]:
    """Failed callbacks are tried again soon, and every word of the service's is kept.

    A worker is taken for dead after ``silent`` seconds, and an outage counts after ``grace``; by default as by default.
    """
    usual = config(database_url, world.settings)
    other = next(key for key in usual["api_keys"] if key["key"] == KEYS["other_agent"])
    other["webhook_secrets"] = [WEBHOOK_SECRET]
    return usual | {
        "suspension": {**usual["suspension"], **({} if grace is None else {"catch_up_grace_seconds": grace})},
        "resume": {
            "allow_networks": ["127.0.0.0/8"],
            "timeout_seconds": PATIENCE,
            "retry": {"base_delay_ms": 200, "max_delay_ms": 2000},
        },
        "work": {"beat_seconds": 1} | ({} if silent is None else {"silent_seconds": silent}),
        "log": {"level": "info", "format": "json"},
    }


def _channels(
    slack: SlackSandbox, slack_url: str, mailbox: Mailbox, pager: PagerDutySandbox, pager_url: str
) -> dict[str, Any]:
    return {
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
            "webhook_secrets": list(pager.webhooks.secrets),
            "retry_seconds": [1],
        },
    }
