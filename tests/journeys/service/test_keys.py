"""Keys that are revoked, renewed and made anew, while the service runs (API.md §1, §5, §9)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import preloaded
from tests.clock import ManualClock
from tests.journeys.api.test_api_streams import reading
from tests.process import service_process
from tests.world import KEYS, WEBHOOK_SECRET, World, config, running


@pytest.fixture
async def office(tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    """A service that goes by the true time, as the command line does."""
    async with running(tmp_path, database_url, ManualClock(datetime.now(UTC))) as world:
        yield world


async def keys(folder: Path, *arguments: str, status: int = 0) -> str:
    """``handraise keys …`` beside the service of ``folder``; returns what it printed."""
    command = ["keys", *arguments, "--config", str(folder / "handraise.yaml")]
    ended, out, err = await preloaded.run(command, os.environ)
    assert ended == status, f"{ended}: {out.decode()} {err.decode()}"
    return (out + err if status else out).decode()


def told(printed: str, what: str) -> str:
    return next(line for line in printed.splitlines() if line.startswith(what)).removeprefix(what).strip()


def later(office: World, **span: float) -> None:
    """So long after now, by the true time: what the command line has said stands from then on."""
    office.clock.move_to(datetime.now(UTC) + timedelta(**span))


async def me(world: World, key: str) -> httpx.Response:
    return await world.call("GET", "/v1/me", None, headers={"X-API-Key": key})


async def revoke(world: World, name: str, role: str = "admin") -> httpx.Response:
    return await world.call("DELETE", f"/v1/keys/{name}", role)


# --- Who am I? ----------------------------------------------------------------------------------------------------


async def test_a_key_is_told_what_it_is(tmp_path: Path, sqlite_url: str) -> None:
    named = {"name": "Alice+bot@Example.com", "key": "named", "roles": ["operator", "agent"], "quotas": {"open": 7}}
    own = [*config(sqlite_url, {})["api_keys"][:1], named]
    async with running(tmp_path, sqlite_url, api_keys=own, quotas={"open": 9, "per_minute": 60}) as world:
        policy = {"max_attempts": 3, "interval_seconds": 60}
        assert (await world.call("PUT", "/v1/agents/me/default-retry-policy", json=policy)).status_code == 200
        assert (await me(world, KEYS["agent"])).json() == {
            "name": "refund-agent",
            "identity": "refund-agent",
            "roles": ["agent"],
            "webhook_secrets": 1,
            "quotas": {"open": 9, "per_minute": 60},
            "default_retry_policy": policy,
        }
        said = (await me(world, "named")).json()
        assert (said["name"], said["identity"]) == ("alice+bot@example.com", "alice@example.com")
        assert (said["roles"], said["webhook_secrets"]) == (["agent", "operator"], 0)
        assert (said["quotas"], said["default_retry_policy"]) == ({"open": 7, "per_minute": 60}, {})
        assert (await me(world, "unknown")).status_code == 401


async def test_me_stands_for_the_callers_own_name(world: World) -> None:
    policy = {"max_attempts": 2, "interval_seconds": 60}
    put = await world.call("PUT", "/v1/agents/me/default-retry-policy", json=policy)
    assert put.json() == {"agent_id": "refund-agent", "default_retry_policy": policy}
    for path in ("me", "refund-agent"):
        got = await world.call("GET", f"/v1/agents/{path}/default-retry-policy")
        assert got.json()["default_retry_policy"] == policy
    others = await world.call("GET", "/v1/agents/me/default-retry-policy", "other_agent")
    assert others.json() == {"agent_id": "other-agent", "default_retry_policy": {}}


# --- Revoking -----------------------------------------------------------------------------------------------------


async def test_a_revoked_key_is_out_at_once_and_what_it_holds_open_ends(any_world: World) -> None:
    world = any_world
    asked = await world.ask()
    waiting = asyncio.create_task(world.call("GET", f"/v1/suspensions/{asked['suspension_id']}/wait"))
    async with reading(world) as stream, reading(world, f"/v1/intents/{asked['intent_id']}/subscribe") as own:
        done = await revoke(world, "refund-agent")
        assert done.status_code == 200
        assert done.json() == {"name": "refund-agent", "revoked_at": done.json()["revoked_at"]}
        async with asyncio.timeout(30):
            for open_stream in (stream, own):
                assert [line async for line in open_stream.lines if line.startswith("data")] == []
            assert (await waiting).status_code == 401

    assert (await me(world, KEYS["agent"])).status_code == 401
    assert (await me(world, KEYS["other_agent"])).status_code == 200
    assert (await world.answer(asked, "approve")).status_code == 200
    assert (await world.told(asked))["data"]["value"] == "approve", "what it asked goes on, and is called back"


async def test_revoked_again_it_says_the_same_and_unknown_ones_are_404(world: World) -> None:
    first = await revoke(world, "other-agent")
    world.clock.move_by(timedelta(minutes=5))
    assert (await revoke(world, "other-agent")).json() == first.json()
    unknown = await revoke(world, "nobody")
    assert (unknown.status_code, unknown.json()["detail"]["error"]) == (404, "not_found")


@pytest.mark.parametrize("role", ["agent", "operator"])
async def test_only_an_admin_revokes(world: World, role: str) -> None:
    assert (await revoke(world, "other-agent", role)).status_code == 403
    assert (await me(world, KEYS["other_agent"])).status_code == 200


async def test_a_revoked_operator_answers_nowhere_any_more(world: World) -> None:
    asked = await world.ask()
    await revoke(world, "bob@example.com")
    engine = world.service.engine
    assert engine.permissions.responders.actor("bob@example.com").roles == frozenset()
    suspension = await engine.queries.get(asked["suspension_id"])
    assert suspension is not None
    assert (
        engine.permissions.refusal(suspension, engine.permissions.responders.actor("bob@example.com"))
        == "not_a_responder"
    )
    assert "bob@example.com" not in engine.permissions.responders.operators()


@pytest.mark.slow
async def test_on_the_command_line_it_ends_in_the_service_that_runs(office: World, tmp_path: Path) -> None:
    made = await keys(tmp_path, "create", "deploy-bot", "--role", "agent")
    key = told(made, "api key")
    assert (await me(office, key)).status_code == 200
    headers = {"X-API-Key": key}
    url = f"{office.url}/v1/events/stream"
    async with office.http.stream("GET", url, headers=headers) as response:
        assert "is revoked since" in await keys(tmp_path, "revoke", "deploy-bot")
        assert (await me(office, key)).status_code == 401
        await keys(tmp_path, "revoke", "refund-agent")
        async with asyncio.timeout(30):
            assert [line async for line in response.aiter_lines() if line.startswith("data")] == []
            while (await me(office, KEYS["agent"])).status_code == 200:
                await asyncio.sleep(0.05)
    assert "There is no key named nobody." in await keys(tmp_path, "revoke", "nobody", status=2)


@pytest.mark.slow
async def test_another_replica_knows_it_too(tmp_path: Path, postgres_url: str) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    async with running(here, postgres_url) as one, running(there, postgres_url) as other:
        async with reading(other) as stream:
            await revoke(one, "refund-agent")
            async with asyncio.timeout(30):
                assert [line async for line in stream.lines if line.startswith("data")] == []
        assert (await me(other, KEYS["agent"])).status_code == 401


# --- The configuration's keys -------------------------------------------------------------------------------------


async def test_a_key_of_the_file_stays_revoked_and_its_name_can_be_made_anew(office: World, tmp_path: Path) -> None:
    await revoke(office, "refund-agent")

    made = await keys(tmp_path, "create", "refund-agent", "--role", "agent", "--role", "operator")
    await office.service.keys.refresh()

    said = (await me(office, told(made, "api key"))).json()
    assert (said["name"], said["roles"], said["webhook_secrets"]) == ("refund-agent", ["agent", "operator"], 1)
    assert office.service.keys.secrets("refund-agent") == (told(made, "webhook secret"),)
    assert (await me(office, KEYS["agent"])).status_code == 401


@pytest.mark.slow
async def test_it_stays_revoked_under_another_key_in_the_file_and_serve_says_so(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with running(tmp_path, sqlite_url) as world:
        assert (await revoke(world, "refund-agent")).status_code == 200
    settings = {**config(sqlite_url, {}), "suspension": {}}
    settings["api_keys"][0]["key"] = "another-key-of-the-file"
    async with service_process(tmp_path / "again", settings) as process:
        await process.start()
        async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
            found = await http.get(f"{process.url}/v1/me", headers={"X-API-Key": "another-key-of-the-file"})
        assert found.status_code == 401
        assert await process.terminate() == 0
    printed = (tmp_path / "again" / "log").read_text()
    assert "handraise: warning: api_keys has refund-agent, which was revoked" in printed


async def test_a_key_of_the_file_is_renewed_above_the_file(office: World, tmp_path: Path) -> None:
    renewed = await keys(tmp_path, "rotate", "refund-agent", "--api-key", "--overlap", "1h")
    assert "The key of the configuration works until" in renewed
    await office.service.keys.refresh()
    for key in (KEYS["agent"], told(renewed, "api key")):
        assert (await me(office, key)).json()["name"] == "refund-agent"
    assert office.service.keys.secrets("refund-agent") == (WEBHOOK_SECRET,)
    later(office, hours=1, seconds=5)
    assert (await me(office, KEYS["agent"])).status_code == 401
    assert (await me(office, told(renewed, "api key"))).json()["roles"] == ["agent"]


# --- Renewing -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_while_a_key_is_renewed_both_work_and_then_the_new_one_alone(office: World, tmp_path: Path) -> None:
    made = await keys(tmp_path, "create", "deploy-bot", "--role", "agent")
    old = told(made, "api key")
    renewed = await keys(tmp_path, "rotate", "deploy-bot", "--api-key")
    new = told(renewed, "api key")
    assert new != old
    for key in (old, new):
        assert (await me(office, key)).json()["name"] == "deploy-bot"

    async with office.http.stream("GET", f"{office.url}/v1/events/stream", headers={"X-API-Key": old}) as response:
        later(office, hours=24, seconds=5)
        async with asyncio.timeout(30):
            assert [line async for line in response.aiter_lines() if line.startswith("data")] == []
    assert (await me(office, old)).status_code == 401
    assert (await me(office, new)).status_code == 200
    await office.service.keys.refresh()
    assert list(office.service.keys.secrets("deploy-bot")) == [told(made, "webhook secret")], "the secret stays"


async def test_at_the_door_a_key_is_known_for_as_long_as_it_is_valid(office: World, tmp_path: Path) -> None:
    """There a newcomer with one is told from strangers, at once: as far as the last refresh knows."""
    at_the_door = office.service.keys
    old = told(await keys(tmp_path, "create", "deploy-bot", "--role", "agent"), "api key")
    assert not at_the_door.knows(old)
    await at_the_door.refresh()
    assert at_the_door.knows(old)

    new = told(await keys(tmp_path, "rotate", "deploy-bot", "--api-key", "--overlap", "1h"), "api key")
    await at_the_door.refresh()
    later(office, minutes=30)
    assert (at_the_door.knows(old), at_the_door.knows(new)) == (True, True)
    later(office, hours=2)
    assert (at_the_door.knows(old), at_the_door.knows(new)) == (False, True)
    assert (await revoke(office, "deploy-bot")).status_code == 200
    assert not at_the_door.knows(new)


async def test_without_overlap_the_old_key_ends_at_once(office: World, tmp_path: Path) -> None:
    old = told(await keys(tmp_path, "create", "deploy-bot", "--role", "agent"), "api key")
    new = told(await keys(tmp_path, "rotate", "deploy-bot", "--api-key", "--overlap", "0"), "api key")
    assert [(await me(office, key)).status_code for key in (old, new)] == [401, 200]


async def test_a_plain_rotation_still_adds_a_webhook_secret(office: World, tmp_path: Path) -> None:
    made = await keys(tmp_path, "create", "deploy-bot", "--role", "agent")
    second = told(await keys(tmp_path, "rotate", "deploy-bot"), "webhook secret")
    await office.service.keys.refresh()
    assert list(office.service.keys.secrets("deploy-bot")) == [second, told(made, "webhook secret")]
    assert (await me(office, told(made, "api key"))).json()["webhook_secrets"] == 2


async def test_a_key_that_is_made_anew_has_another_webhook_secret(office: World, tmp_path: Path) -> None:
    first = await keys(tmp_path, "create", "deploy-bot", "--role", "agent")
    await keys(tmp_path, "revoke", "deploy-bot")
    assert "is revoked; `handraise keys create deploy-bot`" in await keys(
        tmp_path, "rotate", "deploy-bot", "--api-key", status=2
    )
    second = await keys(tmp_path, "create", "deploy-bot", "--role", "agent")
    await office.service.keys.refresh()
    assert list(office.service.keys.secrets("deploy-bot")) == [told(second, "webhook secret")]
    assert told(first, "webhook secret") != told(second, "webhook secret")
    assert [(await me(office, told(one, "api key"))).status_code for one in (first, second)] == [401, 200]


# --- Names --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "must not be empty"),
        ("  ", "must not be empty"),
        ("me", "must not be 'me'"),
        ("Me", "must not be 'me'"),
        ("a\nb", "must be one line of printable text"),
        ("a\x1b[2Jb", "must be one line of printable text"),
        ("x" * 256, "must have at most 255 characters"),
    ],
)
async def test_a_name_that_can_not_be_a_keys_is_refused(world: World, tmp_path: Path, name: str, why: str) -> None:
    said = await keys(tmp_path, "create", name, "--role", "agent", status=2)
    assert f"The name of a key {why}" in said
    assert name.strip() not in {key.name for key in await stored(world)}


async def stored(world: World) -> list[Any]:
    from core.store import api_keys

    return await world.service.database.read(api_keys.every)


@pytest.mark.parametrize("overlap", ["", "1 day", "-1h", "24H30", "9999999d", "∞"])
async def test_an_overlap_that_is_none_is_refused(world: World, tmp_path: Path, overlap: str) -> None:
    said = await keys(tmp_path, "rotate", "refund-agent", "--api-key", f"--overlap={overlap}", status=2)
    assert "--overlap must be a number" in said
    assert await stored(world) == []


async def test_the_list_says_where_each_key_is_and_that_it_is_revoked(world: World, tmp_path: Path) -> None:
    await keys(tmp_path, "create", "deploy-bot", "--role", "agent")
    await revoke(world, "other-agent")
    lines = (await keys(tmp_path, "list")).splitlines()
    assert "deploy-bot  agent  (database)" in lines
    assert "refund-agent  agent  (configuration)" in lines
    assert [line for line in lines if line.startswith("other-agent  agent  (revoked 2026-03-24")]
