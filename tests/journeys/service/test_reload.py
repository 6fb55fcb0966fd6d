"""A configuration that is read again while the service runs: what is taken in, and what goes on (API.md §9)."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.sandbox.serving import loopback_client
from channels.email.lmtp_server import TAKEN
from core.errors import ConfigError
from tests import preloaded
from tests.bot.mail_talk import talking
from tests.bot.mail_world import ask_by_mail, is_open, signed_reply
from tests.cli import handraise
from tests.imap_pretend import PretendImap, pretending
from tests.journeys.api.test_api_streams import reading
from tests.journeys.service.test_keys import keys, me
from tests.journeys.slack.test_slack_socket_mode import in_socket_mode, slack_is
from tests.patience import PATIENCE
from tests.ports import free_port
from tests.process import ServiceProcess, service_process
from tests.vendors.mail import Mailbox
from tests.vendors.slack import shown
from tests.vendors.slack_faults import Slow
from tests.world import INBOUND_SECRET, KEYS, ROUTING_KEY, World, config, running

EVE = {"name": "Eve", "email": "eve@elsewhere.example", "slack_user_id": "U0EVE", "groups": ["finance"]}
EVERYBODY = ["*@*", "group:*", "slack:*"]


async def eventually(holds: Callable[[], bool | Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            said = holds()
            if await said if inspect.isawaitable(said) else said:
                return
            await asyncio.sleep(0.02)


class Office:
    """A service whose file may be rewritten."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world = world
        self.file = folder / "handraise.yaml"
        self.written: dict[str, Any] = json.loads(self.file.read_text())

    def write(self, **changes: Any) -> None:
        """Each change replaces a section, or one key of one (``slack__bot_token``)."""
        for name, value in changes.items():
            section, _, key = name.partition("__")
            self.written[section] = {**self.written[section], key: value} if key else value
        self.file.write_text(json.dumps(self.written))

    async def reload(self, **changes: Any) -> dict[str, Any]:
        self.write(**changes)
        response = await self.world.call("POST", "/v1/reload", "admin")
        assert response.status_code == 200, response.text
        done: dict[str, Any] = response.json()
        return done


@pytest.fixture
async def office(tmp_path: Path, database_url: str) -> AsyncIterator[Office]:
    async with running(tmp_path, database_url) as world:
        yield Office(world, tmp_path)


# --- People and keys ----------------------------------------------------------------------------------------------


async def test_people_groups_and_the_allow_list_are_taken_in(office: Office) -> None:
    world = office.world
    asked = await world.ask(responders=["group:finance"], notify_to="slack:C0OPS")
    refused = await world.call("POST", "/v1/suspensions", json={"question": "?", "notify_to": "x@elsewhere.example"})
    assert refused.status_code == 422

    done = await office.reload(people=[*office.written["people"], EVE], recipients__allow=EVERYBODY)
    assert done == {"changed": ["people", "recipients.allow"], "needs_restart": [], "warnings": done["warnings"]}
    await world.press("U0EVE", world.slack.workspace.posted()[0], "Approve refund")
    assert (await world.show(asked))["responded_by"] == "eve@elsewhere.example", "who came after the question was asked"
    allowed = {"question": "?", "response_type": "text", "channel_hint": "email", "notify_to": "x@elsewhere.example"}
    assert (await world.call("POST", "/v1/suspensions", json=allowed)).status_code == 201


async def test_a_key_that_is_gone_is_out_and_what_it_holds_open_ends(office: Office) -> None:
    world = office.world
    asked = await world.ask()
    waiting = asyncio.create_task(world.call("GET", f"/v1/suspensions/{asked['suspension_id']}/wait"))
    first, *others = office.written["api_keys"]
    fresh = {"name": "new-agent", "key": "agent-key-9", "roles": ["agent"], "quotas": {"open": 3}}
    async with reading(world) as stream, reading(world, f"/v1/intents/{asked['intent_id']}/subscribe") as own:
        assert (await office.reload(api_keys=[*others, fresh]))["changed"] == ["api_keys"]
        async with asyncio.timeout(30):
            for open_stream in (stream, own):
                assert [line async for line in open_stream.lines if line.startswith("data")] == []
            assert (await waiting).status_code == 401
    assert first["key"] == KEYS["agent"]
    assert (await me(world, KEYS["agent"])).status_code == 401
    assert (await me(world, "agent-key-9")).json()["quotas"] == {"open": 3, "per_minute": None}
    assert (await world.answer(asked, "approve")).status_code == 200
    assert (await world.told(asked))["data"]["value"] == "approve", "what it asked goes on, and is called back, signed"


# --- Channels -----------------------------------------------------------------------------------------------------


async def test_slack_goes_on_with_a_new_token_and_what_is_under_way_ends(office: Office) -> None:
    """A message that Slack has not yet acknowledged is there once; one from before can be answered."""
    world = office.world
    before = await world.ask()
    held = Slow(60)
    world.slack.fail_next(held, "chat.postMessage")
    body = {"question": "Ship it?", "response_type": "confirm"}
    under_way = (await world.call("POST", "/v1/suspensions", json=body)).json()
    await eventually(lambda: any("Ship it?" in shown(one) for one in world.slack.workspace.messages))

    world.slack.workspace.bot_token = "xoxb-another"
    world.slack.signing_secret = "another-signing-secret"
    done = await office.reload(slack__bot_token="xoxb-another", slack__signing_secret="another-signing-secret")
    assert done["changed"] == ["slack.bot_token", "slack.signing_secret"]
    held.released.set()
    await world.settle()
    assert len([one for one in world.slack.workspace.messages if "Ship it?" in shown(one)]) == 1
    [delivery] = [one for one in await world.timeline(under_way) if one["kind"] == "delivery"]
    assert (delivery["status"], delivery["tries"]) == ("delivered", 1)

    await world.ask("Refund order 999?")
    assert await world.slack.expect_message("Refund order 999?")
    await world.press("U0ALICE", world.slack.workspace.posted()[0], "Approve refund")
    assert (await world.show(before))["response"] == "approve"


async def test_sockets_are_opened_anew(tmp_path: Path, database_url: str) -> None:
    async with in_socket_mode(tmp_path, database_url) as world:
        await slack_is(world, "connected")
        asked = await world.ask()
        world.slack.workspace.bot_token = "xoxb-another"
        await Office(world, tmp_path).reload(slack__bot_token="xoxb-another")
        await slack_is(world, "connected")
        await world.press("U0ALICE", world.slack.workspace.posted()[0], "Approve refund")
        assert (await world.show(asked))["status"] == "responded"


async def test_mail_goes_by_another_server_and_comes_in_by_another_secret(office: Office) -> None:
    world = office.world
    asked = await world.ask(channel_hint="email", notify_to="alice@example.com")
    mail = await world.mailbox.expect(to="alice@example.com", subject=asked["ref"])
    other = Mailbox(now=world.clock.now)
    await other.start()
    try:
        done = await office.reload(
            email__smtp_url=other.smtp_url,
            email__inbound_secret="another-secret",
            email__default_to=["bob@example.com"],
        )
        assert done["changed"] == ["email.smtp_url", "email.inbound_secret", "email.default_to"]
        later = await world.ask("Another?", channel_hint="email")
        assert await other.expect(to="bob@example.com", subject=later["ref"])
        assert (await world.mailbox.reply(mail, "approve")).status_code == 401, "signed with the old secret"
        world.mailbox.answer_at(f"{world.url}/email/inbound", "another-secret")
        assert (await world.mailbox.reply(mail, "approve")).status_code == 202
        assert (await world.show(asked))["response"] == "approve"
    finally:
        await other.stop()


async def test_a_mail_server_goes_on_with_its_connection(tmp_path: Path, sqlite_url: str) -> None:
    """And what it brings is looked at by what the file says now."""
    port = free_port()
    async with running(tmp_path, sqlite_url, email__listen=f"lmtp://127.0.0.1:{port}") as world:
        office = Office(world, tmp_path)
        asked, mail = await ask_by_mail(world)
        async with talking(port) as talk:
            await talk.begin(mail.answers_to)
            assert (await office.reload(email__quarantine_days=7))["changed"] == ["email.quarantine_days"]
            assert (await talk.bring(signed_reply(world, mail)))[0] == TAKEN
        assert not await is_open(world, asked)

        await office.reload(email__authserv_id="elsewhere.example")
        asked, mail = await ask_by_mail(world)
        async with talking(port) as talk:
            await talk.begin(mail.answers_to)
            assert (await talk.bring(signed_reply(world, mail)))[0] == TAKEN
        assert await is_open(world, asked), "nobody whom we believe has found it authentic"


async def test_another_mailbox_is_looked_into(tmp_path: Path, sqlite_url: str) -> None:
    async with pretending(PretendImap()) as old, pretending(PretendImap()) as new:
        urls = [f"imap://answers:secret@127.0.0.1:{box.port}" for box in (old, new)]
        async with running(tmp_path, sqlite_url, email__imap_url=urls[0]) as world:
            await eventually(lambda: world.service.doors.standing["mail_poller"] == "connected")
            asked, mail = await ask_by_mail(world)
            await Office(world, tmp_path).reload(email__imap_url=urls[1])
            new.lay(signed_reply(world, mail))

            async def is_answered() -> bool:
                return not await is_open(world, asked)

            await eventually(is_answered)
            assert old.fetched == []


async def test_pagerduty_pages_by_another_key_and_hears_by_another_secret(office: Office) -> None:
    world = office.world
    key, secret = "N" * 32, "another-webhook-secret"
    world.pager.account.services[key] = world.pager.account.services.pop(ROUTING_KEY)
    world.pager.webhooks.secrets = (secret,)
    done = await office.reload(pagerduty__routing_key=key, pagerduty__webhook_secrets=[secret])
    assert done["changed"] == ["pagerduty.routing_key", "pagerduty.webhook_secrets"]
    asked = await world.ask(channel_hint="pagerduty", notify_to="pagerduty:default", responders=["alice@example.com"])
    assert await world.pager.expect_incident(asked["ref"])


# --- What is wrong, and what has to wait --------------------------------------------------------------------------


async def test_a_wrong_file_changes_nothing_and_every_error_is_told(world: World, tmp_path: Path) -> None:
    office = Office(world, tmp_path)
    office.write(api_keys=[], slack__bot_token=3, people=[{"name": "A"}], logg={})
    response = await world.call("POST", "/v1/reload", "admin")
    detail = response.json()["detail"]
    assert (response.status_code, detail["error"]) == (422, "invalid_configuration")
    assert detail["message"] == "there are 3 errors in the configuration"
    assert {field["path"]: field["message"] for field in detail["fields"]} == {
        "logg": "unknown key logg; did you mean log?",
        "slack.bot_token": "must be text (in quotes, if YAML reads it as something else); found a number",
        "people[0].email": "is missing",
    }
    assert (await me(world, KEYS["agent"])).status_code == 200, "the keys are those from before"
    await world.ask()
    assert world.slack.workspace.posted(), "and so is Slack"


async def test_files_that_the_configuration_names_are_wrong_too(world: World, tmp_path: Path) -> None:
    """Templates are looked at before anything is replaced."""
    office = Office(world, tmp_path)
    office.write(api_keys=office.written["api_keys"][1:], email__templates="nowhere")
    response = await world.call("POST", "/v1/reload", "admin")
    assert (response.status_code, response.json()["detail"]["error"]) == (422, ConfigError.code)
    assert (await me(world, KEYS["agent"])).status_code == 200


async def test_what_needs_a_restart_is_named_and_the_rest_is_taken_in(world: World, tmp_path: Path) -> None:
    office = Office(world, tmp_path)
    done = await office.reload(
        http={"port": 9090}, secret_key="another-secret-key-of-32-characters", quotas={"open": 1}
    )
    assert done["changed"] == ["quotas.open"]
    assert [waiting["message"] for waiting in done["needs_restart"]] == [
        "http.port needs a restart; it stays 8080",
        "public_url needs a restart; it stays http://127.0.0.1:8080",
        "secret_key needs a restart; it stays as it was",
    ]
    await world.ask()
    again = await world.call("POST", "/v1/suspensions", json={"question": "?", "response_type": "text"})
    assert again.status_code == 429


# --- What would shut everybody out --------------------------------------------------------------------------------

ROOT = {"name": "root", "key": KEYS["admin"], "roles": ["admin"]}
AGENT = {"name": "refund-agent", "key": KEYS["agent"], "roles": ["agent"]}
SHORTENED: dict[str, tuple[str, list[str]]] = {
    "an empty file": ("", ["api_keys", "api_keys", "people"]),
    "null": ("null\n", ["api_keys", "api_keys", "people"]),
    "comments alone": ("# people:\n", ["api_keys", "api_keys", "people"]),
    "no admin": (json.dumps({"api_keys": [AGENT], "people": [EVE]}), ["api_keys"]),
    "no keys": (json.dumps({"people": [EVE]}), ["api_keys", "api_keys"]),
    "nobody": (json.dumps({"api_keys": [ROOT]}), ["people"]),
    "not the one who asks": (
        json.dumps({"api_keys": [{**ROOT, "name": "else", "key": "another-key"}], "people": [EVE]}),
        ["api_keys"],
    ),
}
"""What the file holds, and what would be lost by it."""


async def refused(office: Office, query: str = "") -> dict[str, Any]:
    response = await office.world.call("POST", f"/v1/reload{query}", "admin")
    assert response.status_code == 422, response.text
    detail: dict[str, Any] = response.json()["detail"]
    return detail


@pytest.mark.parametrize("name", SHORTENED)
async def test_what_would_shut_everybody_out_is_refused_and_nothing_changes(office: Office, name: str) -> None:
    text, lost = SHORTENED[name]
    office.file.write_text(text)
    detail = await refused(office)
    assert detail["error"] == "reload_loses_access"
    assert [field["path"] for field in detail["fields"]] == lost
    assert "handraise reload --force" in detail["message"]
    assert (await me(office.world, KEYS["admin"])).status_code == 200
    await office.world.ask(responders=["group:finance"])
    assert office.world.slack.workspace.posted(), "people are asked as before"


async def test_it_is_taken_in_if_it_is_meant(office: Office) -> None:
    office.write(api_keys=[AGENT], people=[], suspension={})
    assert (await refused(office, "?force=false"))["error"] == "reload_loses_access"
    done = await office.world.call("POST", "/v1/reload?force=true", "admin")
    assert done.json()["changed"] == ["api_keys", "people"]
    assert (await me(office.world, KEYS["admin"])).status_code == 401
    assert (await me(office.world, KEYS["agent"])).status_code == 200


async def test_keys_of_the_database_count(office: Office) -> None:
    """Whoever has moved all keys there empties ``api_keys`` without force."""
    made = await keys(office.file.parent, "create", "second-admin", "--role", "admin", "--json")
    mine = {"X-API-Key": json.loads(made)["api_key"]}
    office.write(api_keys=[])
    assert [field["message"] for field in (await refused(office))["fields"]] == [
        "Your own key would be no admin's key any more."
    ]
    office.write(api_keys=[ROOT])
    async with loopback_client(timeout=30) as http:
        url = f"{office.world.url}/v1/reload"
        assert (await http.post(url, headers=mine)).status_code == 200
        office.write(api_keys=[])
        assert (await http.post(url, headers=mine)).json()["changed"] == ["api_keys"]
        assert (await http.get(f"{office.world.url}/v1/me", headers=mine)).status_code == 200


async def test_a_key_that_was_revoked_does_not_count(office: Office) -> None:
    world = office.world
    office.write(api_keys=[*office.written["api_keys"], {"name": "old", "key": "old-admin-key", "roles": ["admin"]}])
    assert (await world.call("POST", "/v1/reload", "admin")).status_code == 200
    assert (await world.call("DELETE", "/v1/keys/old", "admin")).status_code == 200
    office.write(api_keys=[AGENT, {"name": "old", "key": "old-admin-key", "roles": ["admin"]}])
    [lost] = (await refused(office))["fields"]
    assert lost["message"] == "No admin's key would be left (now root)."


async def test_the_command_says_what_would_be_lost_and_how_to_insist(world: World, tmp_path: Path) -> None:
    office = Office(world, tmp_path)
    office.write(people=[], suspension={})
    ran = await handraise(world, "reload")
    assert (ran.status, ran.out) == (2, "")
    assert "nobody would be left to be asked (now 3 in people and groups)" in ran.err
    assert "handraise reload --force" in ran.err
    ran = await handraise(world, "reload", "--force")
    assert (ran.status, ran.out) == (0, "Taken in: people.\n")


async def test_a_file_that_has_gone_is_no_empty_configuration(office: Office) -> None:
    office.file.unlink()
    detail = await refused(office, "?force=true")
    assert detail["error"] == "invalid_configuration"
    assert "No such file" in detail["message"]
    assert (await me(office.world, KEYS["admin"])).status_code == 200


@pytest.mark.parametrize("role", ["agent", "operator"])
async def test_only_an_admin_reloads(world: World, role: str) -> None:
    assert (await world.call("POST", "/v1/reload", role)).status_code == 403


async def test_the_command_says_what_was_taken_in(world: World, tmp_path: Path) -> None:
    office = Office(world, tmp_path)
    office.write(people=[*office.written["people"], EVE], work={"beat_seconds": 6})
    ran = await handraise(world, "reload")
    assert (ran.status, ran.out) == (0, "Taken in: people.\n")
    assert "handraise: warning: work.beat_seconds needs a restart; it stays 5\n" in ran.err
    office.write(people=[{"name": "A"}], logg={})
    ran = await handraise(world, "reload")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.splitlines() == [
        "handraise: there are 2 errors in the configuration (invalid_configuration)",
        "  logg: unknown key logg; did you mean log?",
        "  people[0].email: is missing",
    ]


# --- Processes ----------------------------------------------------------------------------------------------------


def reachable(database_url: str) -> dict[str, Any]:
    """A service by mail, for nobody in particular."""
    mail = {"smtp_url": "smtp://127.0.0.1:9", "from": "h@example.com", "inbound_secret": INBOUND_SECRET}
    return {**config(database_url, {"email": mail}), "suspension": {"default_channel": "email"}}


async def knows(http: httpx.AsyncClient, process: ServiceProcess, key: str) -> bool:
    return (await http.get(f"{process.url}/v1/me", headers={"X-API-Key": key})).status_code == 200


def rewrite(process: ServiceProcess, settings: dict[str, Any]) -> None:
    process.file.write_text(json.dumps({**settings, "http": {"port": process.port}}))


@pytest.mark.slow
async def test_a_process_reads_its_file_again_at_sighup(tmp_path: Path, sqlite_url: str) -> None:
    settings = reachable(sqlite_url)
    key = {"name": "late", "key": "late-key-1", "roles": ["agent"]}
    async with service_process(tmp_path / "service", settings) as process, loopback_client(timeout=30) as http:
        await process.start()
        rewrite(process, {**settings, "api_keys": [*settings["api_keys"], key]})
        process.hang_up()
        await eventually(lambda: knows(http, process, "late-key-1"))
        rewrite(process, {**settings, "api_keys": [], "logg": {}})
        process.hang_up()
        await eventually(lambda: "unknown key logg; did you mean log?" in process.written)
        rewrite(process, {**settings, "api_keys": []})
        process.hang_up()
        await eventually(lambda: "no admin's key would be left" in process.written)
        assert await knows(http, process, "late-key-1")
        assert await process.terminate() == 0


@pytest.mark.slow
async def test_a_service_ends_with_the_terminal_that_it_was_started_in(tmp_path: Path, sqlite_url: str) -> None:
    """Closing the window sends the same signal."""
    file, port = tmp_path / "handraise.yaml", free_port()
    file.write_text(json.dumps({**reachable(sqlite_url), "http": {"port": port}}))
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
    terminal, its_end = os.openpty()
    process = preloaded.start(["serve", "--config", str(file)], environ, its_end, its_end, tmp_path)
    os.close(its_end)
    said = b""
    async with asyncio.timeout(PATIENCE):
        while b"handraise is ready" not in said:
            said += await asyncio.to_thread(os.read, terminal, 65_536)
        os.close(terminal)
        process.send_signal(signal.SIGHUP)
        assert await process.wait() == 0


@pytest.mark.slow
async def test_a_file_that_was_found_and_has_gone_is_missed(tmp_path: Path, sqlite_url: str) -> None:
    """`serve` without --config finds its file by itself. Without the file nobody would be left."""
    file, port = tmp_path / "handraise.yaml", free_port()
    file.write_text(json.dumps({**reachable(sqlite_url), "api_keys": [], "people": [], "http": {"port": port}}))
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
    said = tmp_path / "log"
    with said.open("wb") as log:
        process = preloaded.start(["serve"], environ, log.fileno(), log.fileno(), tmp_path)
    await eventually(lambda: "handraise is ready" in said.read_text())
    file.unlink()
    process.send_signal(signal.SIGHUP)
    await eventually(lambda: "can't be read: No such file" in said.read_text())
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == 0


@pytest.mark.slow
async def test_a_reload_reaches_every_process_of_the_database(tmp_path: Path, postgres_url: str) -> None:
    """Each reads its own file; a worker has no way to be told over HTTP."""
    settings = reachable(postgres_url)
    fewer = {**settings, "api_keys": [one for one in settings["api_keys"] if one["key"] != KEYS["agent"]]}
    async with (
        service_process(tmp_path / "one", settings) as one,
        service_process(tmp_path / "two", settings, "worker") as two,
        service_process(tmp_path / "three", settings, "api") as three,
        loopback_client(timeout=30) as http,
    ):
        for process in (one, two, three):
            await process.start()
            rewrite(process, fewer)
        assert await knows(http, three, KEYS["agent"])
        done = await http.post(f"{one.url}/v1/reload", headers={"X-API-Key": KEYS["admin"]})
        assert done.json()["changed"] == ["api_keys"]
        assert not await knows(http, one, KEYS["agent"])

        async def is_out() -> bool:
            return not await knows(http, three, KEYS["agent"])

        await eventually(is_out)
        await eventually(lambda: "configuration.reloaded" in two.written)

        for process in (one, two, three):
            rewrite(process, {**fewer, "people": []})
        admin = {"X-API-Key": KEYS["admin"]}
        assert (await http.post(f"{one.url}/v1/reload", headers=admin)).status_code == 422
        assert (await http.post(f"{one.url}/v1/reload?force=true", headers=admin)).json()["changed"] == ["people"]
        await eventually(lambda: two.written.count("configuration.reloaded") == 2)
        assert "configuration.refused" not in two.written, "what was meant is meant for all"
