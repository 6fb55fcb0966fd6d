"""``handraise doctor`` as its users have it: a process beside a running service; and the trial, ``--send``."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.sandbox.slack.world import Message
from tests import preloaded
from tests.bot.doctor.ward import ward
from tests.cli import handraise
from tests.patience import PATIENCE
from tests.world import KEYS, World

pytestmark = pytest.mark.slow


async def doctor(*arguments: str) -> tuple[int, str, str]:
    """Its exit status, and what it has printed."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
    status, out, err = await preloaded.run(["doctor", *arguments], environ)
    return status, out.decode(), err.decode()


async def test_beside_a_running_service_it_prints_one_line_each_and_ends_with_1_at_a_fault(
    tmp_path: Path, sqlite_url: str
) -> None:
    async with ward(tmp_path, sqlite_url) as good:
        file = tmp_path / "doctor.yaml"
        file.write_text(yaml.safe_dump(good.written))
        status, out, err = await doctor("--config", str(file))
        assert (status, err) == (1, "")  # nobody outside the tests knows the name in public_url
        lines = out.splitlines()
        assert [line.split()[:2] for line in lines if line.startswith("fault")] == [
            ["fault", "public_url"],
            ["fault", "alerts.heartbeat"],
        ]
        good.written["public_url"], good.written["alerts"]["heartbeat_url"] = good.world.url, good.world.url
        file.write_text(yaml.safe_dump(good.written))
        status, out, err = await doctor(
            "--config", str(file), "--json", "--reach", "ftp://127.0.0.1/hook", "--reach", "http://10.1.2.3/hook"
        )
    told = json.loads(out)
    assert (status, err, told["version"], told["level"]) == (1, "", 1, "fault")
    assert [set(one) for one in told["findings"]] == [{"level", "subject", "found", "mend"}] * len(lines)
    [callbacks] = [one for one in told["findings"] if one["level"] == "fault"]
    assert callbacks["subject"] == "callbacks"
    assert "The address 10.1.2.3 is not public" in callbacks["found"]
    assert "Only http and https URLs" in callbacks["found"]


async def test_every_error_of_the_configuration_is_a_line_and_nothing_else_is_looked_at(tmp_path: Path) -> None:
    file = tmp_path / "handraise.yaml"
    file.write_text("http: {port: 0}\nslak: {bot_token: xoxb-1}\npagerduty: {routing_key: short-key}\n")
    status, out, err = await doctor("--config", str(file))
    lines = out.splitlines()
    assert (status, err) == (1, "")
    assert [line.split()[:2] for line in lines] == [["fault", "configuration"]] * 3
    assert "Write slack" in out
    assert "32 letters and digits" in out
    assert "xoxb-1" not in out
    assert "short-key" not in out


async def test_a_channel_without_a_trial_is_refused() -> None:
    assert (await doctor("--channel", "slack"))[0] == 2


# --- The trial ----------------------------------------------------------------------------------------------------


async def test_a_trial_says_where_it_went_and_what_was_answered(world: World) -> None:
    asking = asyncio.create_task(handraise(world, "doctor", "--send", "alice@example.com", "--channel", "slack"))
    message = await _shown(world)
    await world.press("U0ALICE", message, "Yes, it has")
    ran = await asking
    assert ran.status == 0, ran.err
    assert "delivered to alice@example.com by slack" in ran.err
    assert "alice@example.com answered 'yes' by slack" in ran.out


async def test_a_trial_that_reaches_nobody_is_cancelled_and_says_why(world: World) -> None:
    world.mailbox.refuse("alice@example.com")
    asking = asyncio.create_task(handraise(world, "doctor", "--send", "alice@example.com", "--channel", "email"))
    while not (found := await _trials(world)):
        await asyncio.sleep(0.02)
    await world.settle()
    ran = await asking
    assert ran.status == 1
    assert "smtp_550" in ran.err
    assert "it has reached nobody" in ran.err
    assert (await world.show(found[0]))["status"] == "cancelled"


async def test_ctrl_c_cancels_a_trial(world: World) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
    environ |= {"HANDRAISE_URL": world.url, "HANDRAISE_API_KEY": KEYS["agent"], "NO_PROXY": "*"}
    read, write = os.pipe()
    process = preloaded.start(["doctor", "--send", "alice@example.com"], environ, write, write)
    os.close(write)
    await _shown(world)
    with os.fdopen(read, "rb", buffering=0) as out:
        said = b""
        while b"delivered to" not in said:
            said += await asyncio.to_thread(out.read, 4096)
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(PATIENCE):
            assert await process.wait() == 130
        said += await asyncio.to_thread(out.read, 4096)
    assert b"cancelled" in said
    [trial] = await _trials(world)
    assert (await world.show(trial))["status"] == "cancelled"


async def _trials(world: World) -> list[dict[str, Any]]:
    response = await world.call("GET", "/v1/suspensions", "admin")
    return [{**one, "suspension_id": one["id"]} for one in response.json()["items"]]


async def _shown(world: World) -> Message:
    """The trial's message in Slack, once it is there."""
    while not await _trials(world):
        await asyncio.sleep(0.02)
    await world.settle()
    return await world.slack.expect_message("This is a test of Handraise.")
