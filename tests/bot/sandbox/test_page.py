"""The sandbox's one page and its world, without a service behind them: who gets in, and what is shown."""

from __future__ import annotations

import asyncio
import json
import smtplib
from collections.abc import AsyncIterator
from email.message import EmailMessage
from pathlib import Path

import httpx
import pytest

from bot.config.loading import load
from bot.sandbox.slack.world import Message
from bot.sandbox.vendor import YOU
from bot.sandbox.world import SandboxAddress, World


@pytest.fixture
async def world() -> AsyncIterator[tuple[World, SandboxAddress]]:
    world = World("http://127.0.0.1:9")  # nobody listens there
    async with world.serving() as place:
        yield world, place


@pytest.fixture
async def inside(world: tuple[World, SandboxAddress]) -> AsyncIterator[httpx.AsyncClient]:
    """A browser that has opened the signed-in URL."""
    _, place = world
    async with httpx.AsyncClient(base_url=place.url, trust_env=False, timeout=30) as browser:
        await browser.get(place.page, follow_redirects=True)
        yield browser


async def test_nothing_of_the_page_is_open_to_who_has_not_its_secret(world: tuple[World, SandboxAddress]) -> None:
    _, place = world
    async with httpx.AsyncClient(base_url=place.url, trust_env=False, timeout=30) as stranger:
        paths = ("/", "/?key=", "/?key=%00", "/world", "/static/page.js", "/mail/1/html")
        assert {(await stranger.get(path)).status_code for path in paths} == {403}
        acts = ("/slack/click", "/slack/submit", "/slack/trouble", "/mail/1/reply", "/pager/P1/note", "/ask")
        assert {(await stranger.post(path, json={})).status_code for path in acts} == {403}


async def test_the_secret_leaves_the_address_bar(world: tuple[World, SandboxAddress]) -> None:
    _, place = world
    async with httpx.AsyncClient(trust_env=False, timeout=30) as browser:
        response = await browser.get(place.page)
    assert (response.status_code, response.headers["location"]) == (303, "/")
    assert "HttpOnly" in response.headers["set-cookie"]


async def test_the_mailboxes_own_doors_are_not_open_beside_the_page(world: tuple[World, SandboxAddress]) -> None:
    """They would let anybody on this machine answer as the person."""
    _, place = world
    async with httpx.AsyncClient(base_url=place.url, trust_env=False, timeout=30) as stranger:
        assert (await stranger.get("/mails")).status_code == 404
        assert (await stranger.post("/mails/1/reply", json={"text": "approve"})).status_code == 404


async def test_a_form_of_another_site_does_nothing(inside: httpx.AsyncClient) -> None:
    """It would bring the cookie along, since cookies know no ports."""
    response = await inside.post("/mail/1/reply", data={"text": "approve"})
    assert response.status_code == 415


async def test_what_is_not_there_any_more_is_said_in_words(inside: httpx.AsyncClient) -> None:
    for path, body in (
        ("/mail/7/reply", {"text": "approve"}),
        ("/pager/PINC0007/acknowledge", {}),
        ("/slack/click", {"channel": "C0OPS", "ts": "1.000001", "action_id": "ans:0"}),
        ("/slack/submit", {"view": "V1", "values": {}}),
    ):
        response = await inside.post(path, json=body)
        assert (response.status_code, response.json()["ok"]) == (409, False), path


async def test_the_world_is_sent_again_only_when_it_has_changed(
    world: tuple[World, SandboxAddress], inside: httpx.AsyncClient
) -> None:
    first = await inside.get("/world")
    known = {"If-None-Match": first.headers["etag"]}
    assert (await inside.get("/world", headers=known)).status_code == 304

    world[0].page.board = {"samples": [], "agents": [{"number": 1}]}

    assert (await inside.get("/world", headers=known)).json()["board"]["agents"] == [{"number": 1}]


async def test_a_reply_stands_in_the_channel_with_its_thread_or_under_the_message_that_began_it(
    world: tuple[World, SandboxAddress], inside: httpx.AsyncClient
) -> None:
    workspace = world[0].slack.workspace
    root, between = (Message("C0OPS", f"{second}.000001", "U0HANDRAISE", f"line {second}\nmore") for second in (1, 2))
    shown = Message("C0OPS", "3.000001", "U0HANDRAISE", "shown", thread_ts=root.ts, broadcast=True)
    beside = Message("C0OPS", "4.000001", "U0HANDRAISE", "beside", thread_ts=root.ts)
    workspace.messages += [root, between, shown, beside]
    conversations = (await inside.get("/world")).json()["slack"]["conversations"]
    items = next(one["items"] for one in conversations if one["id"] == "C0OPS")
    assert [(item["text"].partition("\n")[0], item["thread"], item["replies"]) for item in items] == [
        ("line 1", None, 2),
        ("beside", {"text": "line 1", "beside": True}, 0),
        ("line 2", None, 0),
        ("shown", {"text": "line 1", "beside": False}, 0),
    ]


async def test_it_tells_once_that_somebody_looks_at_it() -> None:
    opened: list[str] = []
    async with (
        World("http://127.0.0.1:9", opened=lambda: opened.append("opened")).serving() as place,
        httpx.AsyncClient(base_url=place.url, trust_env=False, timeout=30) as browser,
    ):
        await browser.get(place.page, follow_redirects=True)
        assert opened == []  # the page itself is fetched by whoever starts it, too
        await browser.get("/world")
        await browser.get("/world")
    assert opened == ["opened"]


async def test_only_an_open_question_of_an_agent_here_can_be_left_alone() -> None:
    left_alone: list[str] = []
    world = World("http://127.0.0.1:9", stay_silent=left_alone.append)
    world.page.board["agents"] = [{"ref": "HR-OPEN", "got": None}, {"ref": "HR-ENDED", "got": {"value": "yes"}}]
    async with (
        world.serving() as place,
        httpx.AsyncClient(base_url=place.url, trust_env=False, timeout=30) as browser,
    ):
        await browser.get(place.page, follow_redirects=True)
        said = [
            (await browser.post("/silence", json={"ref": f"HR-{one}"})).status_code for one in ("OPEN", "ENDED", "X")
        ]
    assert (said, left_alone) == ([200, 404, 404], ["HR-OPEN"])


async def test_every_trouble_says_what_to_expect(inside: httpx.AsyncClient) -> None:
    troubles = (await inside.get("/world")).json()["troubles"]
    assert [one["name"] for one in troubles if not one["expect"].endswith(".")] == []


async def test_a_mail_is_shown_as_its_sender_wrote_it_and_runs_nothing(
    world: tuple[World, SandboxAddress], inside: httpx.AsyncClient
) -> None:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "somebody@example.com", YOU.email, "Hello"
    mail.set_content("Hello")
    mail.add_alternative("<html><head></head><body><script>alert(1)</script>Hello</body></html>", subtype="html")
    _, place = world
    host, _, port = place.smtp_url.removeprefix("smtp://").partition(":")
    await _send(mail, host, int(port))

    shown = await inside.get("/mail/1/html")

    assert "Hello" in shown.text
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    assert "script-src" not in shown.headers["content-security-policy"]
    [listed] = (await inside.get("/world")).json()["mail"]
    assert listed["mail_from"] == "somebody@example.com"
    assert ["Subject", "Hello"] in listed["headers"]


async def test_a_service_that_is_away_is_said_in_words(
    world: tuple[World, SandboxAddress], inside: httpx.AsyncClient
) -> None:
    pagerduty = world[0].pagerduty
    event = {"payload": {"summary": "Deploy?", "source": "agent", "severity": "error"}, "event_action": "trigger"}
    routing_key = next(iter(pagerduty.account.services))
    await inside.post("/v2/enqueue", json={**event, "routing_key": routing_key})

    response = await inside.post(f"/pager/{pagerduty.incidents[0].id}/note", json={"text": "yes"})

    assert response.status_code == 502
    assert "did not answer" in response.json()["message"]


async def test_what_goes_wrong_with_slack_is_switched_on_the_page(
    world: tuple[World, SandboxAddress], inside: httpx.AsyncClient
) -> None:
    slack = world[0].slack

    async def press(name: str) -> dict[str, bool]:
        assert (await inside.post("/slack/trouble", json={"name": name})).json() == {"ok": True}
        return {one["name"]: one["on"] for one in (await inside.get("/world")).json()["troubles"]}

    async with httpx.AsyncClient(base_url=world[1].url, trust_env=False) as app:

        async def posts() -> tuple[int, str | None]:
            headers = {"Authorization": f"Bearer {slack.workspace.bot_token}"}
            said = await app.post("/api/chat.postMessage", json={"channel": "C0OPS", "text": "Hi"}, headers=headers)
            return said.status_code, said.json().get("error")

        assert (await press("limit"))["limit"]
        assert await posts() == (429, "ratelimited")
        assert not (await press("limit"))["limit"]
        assert (await press("scope"))["scope"]
        assert await posts() == (200, "missing_scope")
        assert not (await press("scope"))["scope"]
        assert await posts() == (200, None)
    for name in ("drop", "silence", "refresh", "duplicate", "unheard", "cut"):
        assert not (await press(name))[name]
    assert (await inside.post("/slack/trouble", json={"name": "?"})).status_code == 409


async def test_its_settings_are_a_configuration_that_the_service_takes(
    world: tuple[World, SandboxAddress], tmp_path: Path
) -> None:
    made, place = world
    file = tmp_path / "handraise.yaml"
    file.write_text(json.dumps(made.settings(place)))

    settings = load(file, {})

    assert settings.set_up == ("slack", "email", "pagerduty")
    assert [person.email for person in settings.people] == [YOU.email]


async def test_no_two_worlds_share_a_secret() -> None:
    first, second = World(), World()
    assert first.slack.sockets.app_token != second.slack.sockets.app_token
    assert first.slack.workspace.bot_token != second.slack.workspace.bot_token
    assert first.pagerduty.webhooks.secrets != second.pagerduty.webhooks.secrets


async def _send(mail: EmailMessage, host: str, port: int) -> None:
    def send() -> None:
        with smtplib.SMTP(host, port, timeout=30) as smtp:
            smtp.send_message(mail)

    await asyncio.to_thread(send)
