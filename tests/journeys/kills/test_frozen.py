"""What was agreed when a question opened stays agreed; whom we may ask is looked at before each send (RFC-0026 §11)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.clock import ManualClock
from tests.vendors.smtp import Stage
from tests.world import World, running

EVERYBODY = {"recipients": {"allow": ["*@example.com", "group:*", "slack:C0*", "pagerduty:*"]}}
WITHOUT_BOB = {"recipients": {"allow": ["alice@example.com", "carol@example.com", "slack:C0*"]}}
PLATFORM: dict[str, Any] = {
    "max_attempts": 3,
    "interval_seconds": 3600,
    "escalation_ladder": [{"attempt": 2, "channel_hint": "email", "notify_to": "carol@example.com"}],
    "final_fallback_policy": "fail",
}
LADDER: dict[str, Any] = {
    "max_attempts": 3,
    "interval_seconds": 3600,
    "escalation_ladder": [
        {"attempt": 1, "channel_hint": "email", "notify_to": "bob@example.com"},
        {"attempt": 2, "channel_hint": "email", "notify_to": "carol@example.com"},
    ],
}


class Installation:
    """One database, on which the service is restarted with other settings."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.clock = ManualClock()
        self._folder, self._url = folder, database_url

    @asynccontextmanager
    async def started(self, **settings: Any) -> AsyncIterator[World]:
        async with running(self._folder, self._url, self.clock, **settings) as world:
            await world.settle()
            yield world


@pytest.fixture
def installation(tmp_path: Path, sqlite_url: str) -> Installation:
    return Installation(tmp_path, sqlite_url)


def platform(**policy: Any) -> dict[str, Any]:
    return {"suspension": {"default_channel": "slack", "default_retry_policy": policy}}


async def test_a_config_that_is_edited_changes_later_questions_only(installation: Installation) -> None:
    async with installation.started(**platform(**PLATFORM)) as world:
        asked = await world.ask()
        before = await world.show(asked)
    rungs = [{"attempt": 2, "channel_hint": "pagerduty"}]
    edited = platform(max_attempts=2, interval_seconds=600, escalation_ladder=rungs)
    async with installation.started(**edited, email__default_to=["bob@example.com"]) as world:
        assert await world.show(asked) == before
        later = await world.ask("And this one?")
        assert later["suspension"]["retry_policy"]["max_attempts"] == 2
        assert [step["channel"] for step in later["ladder"]] == ["slack", "pagerduty"]
        await world.advance(hours=1)
        mail = await world.mailbox.expect(to="carol@example.com")
        assert "Refund order 12345?" in mail.subject
        assert (await world.show(later))["status"] == "expired"
        await world.advance(hours=1)
        assert (await world.show(asked))["attempt"] == 3


async def test_choices_and_default_recipients_are_those_of_the_start(installation: Installation) -> None:
    async with installation.started() as world:
        asked = await world.ask(channel_hint="email", retry_policy={"max_attempts": 2, "interval_seconds": 3600})
    async with installation.started(email__default_to=["carol@example.com"]) as world:
        shown = await world.show(asked)
        assert [choice["value"] for choice in shown["choices"]] == ["approve", "deny"]
        await world.advance(hours=1)
        # The old default is no longer configured, but the allow-list has it: it is still the one that was agreed.
        assert [mail.recipient for mail in world.mailbox.mails] == ["alice@example.com"]


async def test_a_message_that_waited_is_not_sent_to_whom_we_may_no_longer_ask(installation: Installation) -> None:
    async with installation.started(**EVERYBODY) as world:
        world.mailbox.say_next(Stage.RCPT, "451 4.3.0 Try again later")
        asked = await world.ask(retry_policy=LADDER)
        assert world.mailbox.mails == []
    async with installation.started(**WITHOUT_BOB) as world:
        await world.advance(minutes=5)
        assert [mail.recipient for mail in world.mailbox.mails] == ["carol@example.com"]
        refused = [item for item in await world.timeline(asked) if item.get("status") == "refused"]
        assert [(item["attempt"], item["reason"]) for item in refused] == [(1, "recipient_not_allowed")]
        assert (await world.show(asked))["attempt"] == 2


async def test_a_message_that_waited_is_not_sent_to_whoever_has_left_the_group(installation: Installation) -> None:
    rungs = [{"attempt": 2, "channel_hint": "email", "notify_to": "carol@example.com"}]
    policy = {"max_attempts": 2, "interval_seconds": 3600, "escalation_ladder": rungs}
    with_bob = {"groups": {"night": ["bob@example.com"]}}
    async with installation.started(**with_bob) as world:
        world.mailbox.say_next(Stage.RCPT, "451 4.3.0 Try again later")
        asked = await world.ask(channel_hint="email", notify_to="group:night", retry_policy=policy)
    async with installation.started(groups={"night": ["alice@example.com"]}) as world:
        await world.advance(minutes=5)
        assert [mail.recipient for mail in world.mailbox.mails] == ["carol@example.com"]
        refused = [item for item in await world.timeline(asked) if item.get("status") == "refused"]
        assert [item["reason"] for item in refused] == ["recipient_gone"]


async def test_an_attempt_all_of_whose_people_we_may_no_longer_ask_gives_way_to_the_next(
    installation: Installation,
) -> None:
    rungs = [
        {"attempt": 2, "channel_hint": "email", "notify_to": "bob@example.com"},
        {"attempt": 3, "channel_hint": "email", "notify_to": "carol@example.com"},
    ]
    async with installation.started(**EVERYBODY) as world:
        asked = await world.ask(retry_policy={**PLATFORM, "escalation_ladder": rungs})
    async with installation.started(**WITHOUT_BOB) as world:
        await world.advance(hours=1)
        assert [mail.recipient for mail in world.mailbox.mails] == ["carol@example.com"]
        assert (await world.show(asked))["attempt"] == 3
