"""The channel ``inbox``: a question stands on its page alone, and nothing is sent. Source: API.md §2."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from core.domain.notice import Message, Purpose
from tests.world import World, running

pytestmark = pytest.mark.io

VETO = {"kind": "veto", "timeout_seconds": 600}
ALONE: Mapping[str, Any] = {"slack": None, "email": None, "pagerduty": None, "suspension": {}}


@pytest.fixture
async def alone(tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    """No other channel is set up."""
    async with running(tmp_path, database_url, **ALONE) as world:
        yield world


@asynccontextmanager
async def signed_in(world: World, person: str) -> AsyncIterator[httpx.AsyncClient]:
    """``person``'s browser."""
    made = await world.call("POST", "/v1/signin-links", "admin", json={"email": person})
    async with httpx.AsyncClient(base_url=world.url, follow_redirects=True, trust_env=False) as browser:
        link = made.json()["url"].replace(world.service.settings.public_url.rstrip("/"), world.url)
        await _press(browser, link)
        yield browser


async def _press(browser: httpx.AsyncClient, url: str, **fields: str) -> httpx.Response:
    page = await browser.get(url)
    *_, token = re.findall(r'name="form_token" value="([^"]+)"', page.text)  # the first is the sign-out button's
    return await browser.post(url, data={"form_token": token, **fields})


async def deliveries(world: World, asked: Mapping[str, Any]) -> list[tuple[int, str, str, str]]:
    found = (one for one in await world.timeline(asked) if one["kind"] == "delivery")
    return sorted((one["attempt"], one["channel"], one["recipient"], one["status"]) for one in found)


async def test_without_another_channel_a_question_waits_in_the_inbox_of_every_operator(alone: World) -> None:
    asked = await alone.ask()
    await alone.settle()
    assert await deliveries(alone, asked) == [
        (1, "inbox", "alice@example.com", "delivered"),
        (1, "inbox", "bob@example.com", "delivered"),
    ]
    async with signed_in(alone, "alice@example.com") as browser:
        assert re.findall(r'href="/q/([^"]+)"', (await browser.get("/inbox")).text) == [asked["ref"]]
        answered = await _press(browser, f"/q/{asked['ref']}", do="answer", choice="0")
        assert answered.status_code == 200
        assert asked["ref"] not in (await browser.get("/inbox")).text
    record = await alone.show(asked)
    assert (record["status"], record["responded_by"]) == ("responded", "alice@example.com")


async def test_it_asks_whom_the_call_names_if_they_can_sign_in(alone: World) -> None:
    asked = await alone.ask(responders=["carol@example.com"])
    await alone.settle()
    assert await deliveries(alone, asked) == [(1, "inbox", "carol@example.com", "delivered")]
    async with signed_in(alone, "carol@example.com") as browser:
        assert asked["ref"] in (await browser.get("/inbox")).text
    async with signed_in(alone, "alice@example.com") as browser:
        assert asked["ref"] not in (await browser.get("/inbox")).text
    body = {"question": "Refund?", "choices": ["yes", "no"], "notify_to": "stranger@example.com"}
    preview = (await alone.call("POST", "/v1/suspensions/preview", json=body)).json()
    assert "recipient_unreachable" in {one["code"] for one in preview["problems"]}


async def test_nobody_to_ask_is_said_before_anything_is_stored(tmp_path: Path, sqlite_url: str) -> None:
    agent = {"name": "refund-agent", "key": "the-only-key-of-this-one", "roles": ["agent"]}
    async with running(tmp_path, sqlite_url, **ALONE, api_keys=[agent]) as world:
        body = {"question": "Refund?", "choices": ["yes", "no"]}
        refused = await world.http.post(
            f"{world.url}/v1/suspensions", json=body, headers={"X-API-Key": str(agent["key"])}
        )
        assert (refused.status_code, refused.json()["detail"]["error"]) == (422, "no_recipient")


async def test_a_reminder_there_is_a_new_attempt_that_its_page_shows(alone: World) -> None:
    asked = await alone.ask(
        responders=["alice@example.com"],
        timeout_seconds=3600,
        retry_policy={"max_attempts": 2, "interval_seconds": 3600},
    )
    await alone.advance(hours=1)
    assert [one[:2] for one in await deliveries(alone, asked)] == [(1, "inbox"), (2, "inbox")]
    assert "intent.suspension_renotified" in await alone.event_types(asked)
    async with signed_in(alone, "alice@example.com") as browser:
        assert "URGENT: final reminder" in (await browser.get("/inbox")).text
        assert "URGENT: final reminder" in (await browser.get(f"/q/{asked['ref']}")).text


async def test_a_ladder_goes_on_from_the_inbox_to_mail(any_world: World) -> None:
    ladder = [{"attempt": 2, "channel_hint": "email"}]
    asked = await any_world.ask(
        channel_hint="inbox",
        responders=["alice@example.com"],
        retry_policy={"max_attempts": 2, "interval_seconds": 3600, "escalation_ladder": ladder},
    )
    await any_world.settle()
    assert not any_world.mailbox.mails
    assert not any_world.slack.workspace.messages
    await any_world.advance(hours=1)
    assert [one[:2] for one in await deliveries(any_world, asked)] == [(1, "inbox"), (2, "email")]
    [mail] = any_world.mailbox.mails
    assert asked["ref"] in mail.subject


@pytest.mark.parametrize("looks", [True, False])
async def test_silence_to_a_veto_there_counts_only_if_somebody_has_opened_its_page(alone: World, looks: bool) -> None:
    asked = await alone.ask(**VETO)
    async with signed_in(alone, "alice@example.com") as browser:
        await browser.get("/inbox")
        await browser.get(f"/q/{asked['ref']}", headers={"Sec-Purpose": "prefetch"})
        await browser.head(f"/q/{asked['ref']}")
        for _ in range(2 if looks else 0):
            await browser.get(f"/q/{asked['ref']}")
    await alone.advance(minutes=11)
    record = await alone.show(asked)
    opened = [one for one in await alone.events(asked) if one["event_type"] == "notice.opened"]
    assert [one["payload"]["opened_by"] for one in opened] == (["alice@example.com"] if looks else [])
    assert (record["resolution"], record["error"]) == ("expired", None if looks else "notice_undelivered")


async def test_a_veto_that_has_gone_out_elsewhere_needs_no_page(any_world: World) -> None:
    asked = await any_world.ask(**VETO)
    await any_world.advance(minutes=11)
    record = await any_world.show(asked)
    assert (record["resolution"], record["error"]) == ("expired", None)


async def test_the_page_of_another_question_notes_nothing(alone: World) -> None:
    asked = await alone.ask()
    async with signed_in(alone, "alice@example.com") as browser:
        await browser.get(f"/q/{asked['ref']}")
    assert "notice.opened" not in await alone.event_types(asked)


async def test_no_alert_ends_there(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, **ALONE, alerts={"notify": ["carol@example.com"]}) as world:
        assert world.service.transitions.alert_rows(Message(Purpose.ALERT, "", ""), world.clock.now()) == []


async def test_it_hides_and_refuses_what_the_pages_do(tmp_path: Path, sqlite_url: str) -> None:
    secret = "Is password: hunter2-and-more the new one?"
    async with running(tmp_path, sqlite_url, **ALONE, redaction={"policy": "reject"}) as world:
        asked = await world.ask(secret)
        async with signed_in(world, "alice@example.com") as browser:
            assert "hunter2" not in (await browser.get("/inbox")).text
            assert "hunter2" not in (await browser.get(f"/q/{asked['ref']}")).text


async def test_a_question_is_handed_over_there_if_it_is_asked_there(alone: World) -> None:
    asked = await alone.ask(responders=["alice@example.com"])
    handed = await alone.call(
        "POST", f"/v1/suspensions/{asked['suspension_id']}/assign", "operator", json={"to": "carol@example.com"}
    )
    assert handed.status_code == 200, handed.text
    await alone.settle()
    assert (1, "inbox", "carol@example.com", "delivered") in await deliveries(alone, asked)


async def test_nobody_is_handed_a_question_there_that_is_asked_elsewhere(tmp_path: Path, sqlite_url: str) -> None:
    dora = {"name": "Dora", "email": "dora@example.com"}
    alice = {"name": "Alice", "email": "alice@example.com", "slack_user_id": "U0ALICE"}
    async with running(tmp_path, sqlite_url, email=None, people=[alice, dora]) as world:
        asked = await world.ask(responders=["alice@example.com"])
        refused = await world.call(
            "POST", f"/v1/suspensions/{asked['suspension_id']}/assign", "operator", json={"to": "dora@example.com"}
        )
        assert (refused.status_code, refused.json()["detail"]["error"]) == (422, "no_recipient")
