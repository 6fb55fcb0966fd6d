"""``handraise run``: a command that runs once, after a yes to exactly it (decision 0111)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.cli import Begun, Ran, begun, handraise
from tests.middle_box import middle_box
from tests.world import World, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

ASKING = ("run", "--question", "Run it?")
COUNTED = ("sh", "-c", 'echo ran >> count; cat; echo "to stderr" >&2; exit "$1"', "sh")
"""It notes that it has run, passes standard input on, and exits as it is told."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def office(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("office")
    async with running(folder, f"sqlite+aiosqlite:///{folder}/handraise.db") as world:
        yield world


async def answered(world: World, process: Begun, answer: str, reason: str = "because") -> None:
    asked = await process.asked()
    assert (await world.answer(asked, answer, metadata={"reason": reason})).status_code == 200


def times_run(folder: Path) -> int:
    count = folder / "count"
    return len(count.read_text().splitlines()) if count.exists() else 0


async def test_what_was_approved_runs_once_with_its_own_streams_and_status(office: World, tmp_path: Path) -> None:
    async with begun(office, *ASKING, "--", *COUNTED, "7", folder=tmp_path) as process:
        asked = await process.asked()
        assert (await office.answer(asked, "approve")).status_code == 200
        ran = await process.ended(b"through\n")
    assert (ran.status, ran.out) == (7, "through\n")
    assert ran.err.endswith("to stderr\n")
    assert times_run(tmp_path) == 1
    action = (await office.show(asked))["action"]
    assert action["argv"] == [*COUNTED, "7"]
    assert (action["tool"], action["cwd"], action["host"]) == ("run", str(tmp_path), socket.gethostname())
    assert Path(action["program"]).is_absolute()
    assert action["user"]
    reported = (await office.show(asked))["reported"]
    assert (reported["status"], reported["text"]) == ("failed", "Exit status 7.")


async def test_nothing_runs_after_a_no_and_the_status_and_the_last_line_say_so(office: World, tmp_path: Path) -> None:
    async with begun(office, *ASKING, "--", *COUNTED, "0", folder=tmp_path) as process:
        await answered(office, process, "deny", "not today")
        ran = await process.ended()
    assert (ran.status, ran.out, times_run(tmp_path)) == (3, "", 0)
    lines = ran.err.splitlines()
    assert lines[-2].endswith(": answered by alice@example.com: not today")
    assert lines[-1].startswith("handraise: not run (status 3): HR-")


async def test_nothing_runs_after_silence_or_if_it_was_taken_back(office: World, tmp_path: Path) -> None:
    async with begun(office, *ASKING, "--timeout", "10m", "--", *COUNTED, "0", folder=tmp_path) as process:
        await process.asked()
        await office.advance(minutes=11)
        assert (await process.ended()).status == 4
    async with begun(office, *ASKING, "--", *COUNTED, "0", folder=tmp_path) as process:
        await handraise(office, "cancel", (await process.asked())["ref"], role="agent")
        assert (await process.ended()).status == 5
    assert times_run(tmp_path) == 0


async def test_the_same_key_runs_it_once_however_often_it_is_started(office: World, tmp_path: Path) -> None:
    command = (*ASKING, "--idempotency-key", "once", "--", *COUNTED, "0")
    async with (
        begun(office, *command, folder=tmp_path) as first,
        begun(office, *command, folder=tmp_path) as second,
    ):
        refs = [(await one.asked())["ref"] for one in (first, second)]
        assert refs[0] == refs[1]
        await answered(office, first, "approve")
        both = [await one.ended(b"") for one in (first, second)]
    assert sorted(one.status for one in both) == [0, 1]
    async with begun(office, *command, folder=tmp_path) as later:
        again = await later.ended()
    assert (again.status, "receipt_used" in again.err, times_run(tmp_path)) == (1, True, 1)
    async with begun(office, *command, "another argument", folder=tmp_path) as other:
        assert "idempotency_conflict" in (await other.ended()).err


async def test_a_service_that_is_gone_after_the_question_runs_nothing(office: World, tmp_path: Path) -> None:
    command = (*ASKING, "--patience", "1s", "--idempotency-key", "gone", "--", *COUNTED, "0")
    async with middle_box(office.url) as (box, url), begun(office, *command, url=url, folder=tmp_path) as process:
        asked = await process.asked()
        box.closed = True
        box.cut()
        assert (await office.answer(asked, "approve")).status_code == 200
        ran = await process.ended()
    assert (ran.status, times_run(tmp_path)) == (2, 0)
    assert ran.err.splitlines()[-1] == (
        f"handraise: not run (status 2): {asked['ref']} was open when it was last looked at; "
        "the same again with this --idempotency-key goes on waiting."
    )
    async with begun(office, *command, folder=tmp_path) as process:
        assert (await process.ended(b"")).status == 0
    assert times_run(tmp_path) == 1


async def test_json_says_whether_it_ran(office: World, tmp_path: Path) -> None:
    told = []
    for answer in ("approve", "deny"):
        async with begun(office, *ASKING, "--json", "--", *COUNTED, "3", folder=tmp_path) as process:
            await answered(office, process, answer)
            told.append(json.loads((await process.ended(b"")).err.splitlines()[-1]))
    assert [(one["ran"], one["status"], one["answer"]) for one in told] == [(True, 3, "approve"), (False, 3, "deny")]
    assert (told[1]["reason"], told[1]["by"]) == ("because", "alice@example.com")


TRAPPED = ("sh", "-c", 'trap "echo stopped; exit 9" TERM INT; echo started > started; while :; do sleep 0.05; done')


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
async def test_signals_reach_the_command(office: World, tmp_path: Path, which: signal.Signals) -> None:
    async with begun(office, *ASKING, "--", *TRAPPED, folder=tmp_path) as process:
        await answered(office, process, "approve")
        while not (tmp_path / "started").exists():
            await asyncio.sleep(0.01)
        process.interrupt(which)
        ran = await process.ended()
    assert (ran.status, ran.out) == (9, "stopped\n")


async def test_a_command_that_a_signal_ends_has_a_shells_status(office: World, tmp_path: Path) -> None:
    async with begun(office, *ASKING, "--", "sh", "-c", "kill -TERM $$", folder=tmp_path) as process:
        await answered(office, process, "approve")
        assert (await process.ended()).status == 128 + signal.SIGTERM


async def test_ctrl_c_while_it_is_open_runs_nothing(office: World, tmp_path: Path) -> None:
    async with begun(office, *ASKING, "--", *COUNTED, "0", folder=tmp_path) as process:
        await process.asked()
        process.interrupt()
        ran = await process.ended()
    assert (ran.status, times_run(tmp_path)) == (130, 0)


async def test_a_program_that_is_gone_by_then_uses_the_approval_up(office: World, tmp_path: Path) -> None:
    program = tmp_path / "deploy"
    program.write_text("#!/bin/sh\necho deployed\n")
    program.chmod(0o755)
    async with begun(office, *ASKING, "--", str(program), folder=tmp_path) as process:
        asked = await process.asked()
        program.unlink()
        assert (await office.answer(asked, "approve")).status_code == 200
        ran: Ran = await process.ended()
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.splitlines()[-1].endswith(
        "it can't be started (No such file or directory), and the approval is used up."
    )


async def test_what_can_not_be_run_is_said_before_anybody_is_asked(office: World) -> None:
    for command, said in ((("no-such-program",), "is no program that can be run"), ((), "Missing argument 'COMMAND'")):
        ran = await handraise(office, "run", "--question", "Never asked?", "--", *command, role="agent")
        assert (ran.status, said in ran.err) == (2, True), ran.err
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "handraise", "run", "--question", "Never asked?", "--", "true", b"\xff"),
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | {"HANDRAISE_URL": office.url, "HANDRAISE_API_KEY": "k"},
    )
    _, err = await process.communicate()
    assert (process.returncode, b"must be UTF-8" in err) == (2, True)
    found = await office.call("GET", "/v1/suspensions", "admin", params={"q": "Never asked?"})
    assert found.json()["items"] == []
