"""``alerts.notify``: what the people who run the service are told by itself, and how seldom."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.sandbox.slack.faults import RateLimited
from core.domain.wording import told_at
from tests.vendors.slack_faults import SaysNo
from tests.vendors.smtp import Stage
from tests.world import CHANNEL, World, running

OPS = "ops@example.com"


@asynccontextmanager
async def watched(folder: Path, url: str, notify: str = f"email:{OPS}", **changes: Any) -> AsyncIterator[World]:
    retry = {"base_delay_ms": 1000, "give_up_after_seconds": 10}
    async with running(folder, url, alerts={"notify": [notify]}, resume__retry=retry, **changes) as world:
        yield world


def told(world: World, whom: str = OPS) -> list[str]:
    return [mail.subject for mail in world.mailbox.of(whom)]


async def ask_a_broken_slack(world: World, code: str = "channel_not_found") -> Mapping[str, Any]:
    """The second attempt, which follows at once, meets no refusal that is meant for the next question."""
    world.slack.fail_next(SaysNo(code), "chat.postMessage")
    asked = await world.ask(retry_policy={"max_attempts": 2, "interval_seconds": 86400})
    await world.settle()
    return asked


@pytest.mark.parametrize("code", ["channel_not_found", "invalid_auth", "missing_scope"])
async def test_a_channel_that_is_set_up_wrongly_is_told_of(tmp_path: Path, sqlite_url: str, code: str) -> None:
    async with watched(tmp_path, sqlite_url) as world:
        asked = await ask_a_broken_slack(world, code)
        await world.settle()
        [mail] = world.mailbox.of(OPS)
        assert mail.subject == f"Notices by slack are refused ({code})"
        assert asked["ref"] in mail.text
        assert "Refund order" not in mail.text


async def test_it_is_told_once_an_hour_for_each_reason_and_not_for_each_message(
    tmp_path: Path, database_url: str
) -> None:
    async with watched(tmp_path, database_url) as world:
        for _ in range(3):
            await ask_a_broken_slack(world)
        await ask_a_broken_slack(world, "invalid_auth")
        await world.settle()
        both = ["Notices by slack are refused (channel_not_found)", "Notices by slack are refused (invalid_auth)"]
        assert told(world) == both
        await world.advance(minutes=59)
        await ask_a_broken_slack(world)
        await world.settle()
        assert told(world) == both
        await world.advance(minutes=1)
        await ask_a_broken_slack(world)
        await world.settle()
        assert told(world) == [*both, both[0]]


async def test_a_message_that_is_refused_for_itself_is_no_alarm(tmp_path: Path, sqlite_url: str) -> None:
    async with watched(tmp_path, sqlite_url) as world:
        world.mailbox.refuse("alice@example.com")
        await world.ask(channel_hint="email", retry_policy={"max_attempts": 2, "interval_seconds": 60})
        await world.settle()
        assert [subject for subject in told(world) if "refused" in subject] == []


async def test_a_mail_server_that_is_not_safe_enough_is_an_alarm_and_its_mail_waits(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with watched(tmp_path, sqlite_url, "pagerduty:default", email__require_tls=True) as world:
        await world.ask(channel_hint="email")
        await world.advance(minutes=30)
        titles = [incident.title for incident in world.pager.incidents]
        assert titles == ["Notices by email wait (smtp_starttls_missing)"]
        assert world.mailbox.mails == []


async def test_a_mail_server_that_wants_another_password_is_an_alarm(tmp_path: Path, sqlite_url: str) -> None:
    async with watched(tmp_path, sqlite_url, "pagerduty:default") as world:
        world.mailbox.say_next(Stage.MAIL, "530 5.7.0 Authentication required")
        await world.ask(channel_hint="email")
        await world.settle()
        assert [incident.title for incident in world.pager.incidents][:1] == ["Notices by email are refused (smtp_530)"]


async def test_a_mail_server_that_stays_away_is_an_alarm_and_one_that_restarts_is_none(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with watched(tmp_path, sqlite_url, "pagerduty:default") as world:
        port = world.mailbox.refuse_connections()
        await world.ask(channel_hint="email")
        await world.advance(seconds=20)
        assert world.pager.incidents == []
        await world.advance(minutes=5)
        assert [incident.title for incident in world.pager.incidents] == ["Notices by email wait (smtp_unreachable)"]
        await world.mailbox.start(port)
        await world.advance(minutes=10)
        assert len(world.mailbox.of("alice@example.com")) == 1


async def test_a_mail_server_that_takes_nothing_from_us_for_that_mailbox_is_an_alarm(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with watched(tmp_path, sqlite_url, "pagerduty:default") as world:
        world.mailbox.say_next(Stage.RCPT, "554 5.7.1 <alice@example.com>: Relay access denied")
        await world.ask(channel_hint="email")
        await world.settle()
        assert [incident.title for incident in world.pager.incidents][:1] == ["Notices by email are refused (smtp_554)"]


async def test_a_slack_that_takes_nothing_for_an_hour_is_told_of_once(tmp_path: Path, database_url: str) -> None:
    async with watched(tmp_path, database_url) as world:
        world.slack.workspace.add_channel("C0OTHER", "other")
        for place in (CHANNEL, "C0OTHER"):
            world.slack.fail_next(RateLimited(3600), "chat.postMessage")
            await world.ask(notify_to=f"slack:{place}", deadline_seconds=86_400)
            await world.ask("And this?", notify_to=f"slack:{place}", deadline_seconds=86_400)
        await world.advance(minutes=59)
        assert world.slack.workspace.messages == []
        until = told_at(world.clock.now() + timedelta(minutes=1))
        [mail] = world.mailbox.of(OPS)
        assert mail.subject == f"Notices by slack wait until {until} (ratelimited)"
        assert f"takes nothing more from Handraise before {until}" in " ".join(mail.text.split())
        assert "Refund order" not in mail.text

        await world.advance(minutes=2)
        assert len(world.slack.workspace.messages) == 4
        world.slack.fail_next(RateLimited(3600), "chat.postMessage")
        await world.ask("Once more?")
        await world.settle()
        assert len(told(world)) == 2


@pytest.mark.parametrize(("seconds", "alerts"), [(60, 0), (299, 0), (300, 1)])
async def test_an_ordinary_limit_of_slacks_is_no_alarm(
    tmp_path: Path, sqlite_url: str, seconds: int, alerts: int
) -> None:
    async with watched(tmp_path, sqlite_url) as world:
        world.slack.fail_next(RateLimited(seconds), "chat.postMessage")
        await world.ask()
        await world.advance(minutes=10)
        assert len(told(world)) == alerts
        assert len(world.slack.workspace.messages) == 1


async def test_a_limit_that_an_alert_or_an_edit_meets_is_not_told_of(tmp_path: Path, sqlite_url: str) -> None:
    async with watched(tmp_path, sqlite_url, "slack:C0OPS") as world:
        asked = await world.ask(notify_to="alice@example.com")
        world.slack.fail_next(RateLimited(3600), "chat.update")
        await world.answer(asked, "approve")
        await world.settle()
        world.slack.fail_next(RateLimited(3600), "chat.postMessage")
        await world.call("POST", "/v1/pause", "admin", json={"reason": "test"})
        await world.advance(hours=2)
        assert len(world.slack.workspace.posted("C0OPS")) == 1, "the pause alone"


async def test_an_alert_goes_around_the_channel_that_it_is_about(tmp_path: Path, sqlite_url: str) -> None:
    async with watched(tmp_path, sqlite_url, "carol@example.com") as world:
        await ask_a_broken_slack(world)
        await world.settle()
        assert told(world, "carol@example.com") == ["Notices by slack are refused (channel_not_found)"]


async def test_an_alert_that_is_refused_itself_is_not_told_of(tmp_path: Path, sqlite_url: str) -> None:
    async with watched(tmp_path, sqlite_url, "slack:C0OPS") as world:
        for _ in range(2):
            world.slack.fail_next(SaysNo("channel_not_found"), "chat.postMessage")
        await world.ask(retry_policy={"max_attempts": 2, "interval_seconds": 86400, "escalation_ladder": BY_MAIL})
        await world.advance(hours=2)
        posts = world.slack.workspace.posted()
        assert posts == []


BY_MAIL = [{"attempt": 2, "channel_hint": "email", "notify_to": "alice@example.com"}]


async def test_a_callback_that_is_given_up_is_told_of_once_an_hour(tmp_path: Path, sqlite_url: str) -> None:
    async with watched(tmp_path, sqlite_url) as world:
        world.agent.answers += [500] * 100
        for _ in range(2):
            asked = await world.ask()
            await world.answer(asked, "approve")
            await world.advance(minutes=1)
        [mail] = world.mailbox.of(OPS)
        assert mail.subject == "Callbacks to refund-agent are given up"
        assert "http_500" in mail.text
        assert world.agent.url not in mail.text
        await world.advance(hours=1)
        await world.answer(await world.ask(), "approve")
        await world.advance(minutes=1)
        assert len(told(world)) == 2


async def test_an_agent_that_wants_no_callback_is_told_of(tmp_path: Path, sqlite_url: str) -> None:
    async with watched(tmp_path, sqlite_url) as world:
        world.agent.answers += [410]
        await world.answer(await world.ask(), "approve")
        await world.advance(minutes=1)
        assert told(world) == ["refund-agent refuses callbacks"]


async def test_with_nobody_to_tell_everything_else_is_the_same(world: World) -> None:
    await ask_a_broken_slack(world)
    await world.settle()
    assert world.mailbox.mails == []
