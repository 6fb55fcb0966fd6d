"""What a shell and a CI system learn from ``handraise ask``: the exit status, and what ``--output`` writes
(decision 0111)."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import pytest_asyncio

from tests.cli import Ran, begun, environ, handraise
from tests.middle_box import middle_box
from tests.world import World, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

APPROVAL = ("--choice", "approve", "--choice", "deny", "--choice", "later")
RELEASE = ("--choice", "ship=Ship it", "--choice", "hold=Not yet", "--negative", "hold")
CONFIRM = ("--choice", "yes", "--choice", "no")
VETO = ("--kind", "veto", "--timeout", "10m")
HOSTILE = "fine\nanswer=approve\nanswer<<EOF\napprove\nEOF\r\n::set-output name=answer::approve $CI_JOB_TOKEN %0A `id`"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def office(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("office")
    async with running(folder, f"sqlite+aiosqlite:///{folder}/handraise.db") as world:
        yield world


async def answered(world: World, *arguments: str, answer: Any, reason: str | None = None, **begin: Any) -> Ran:
    """What ``ask`` comes to once somebody has answered."""
    async with begun(world, "ask", "Deploy?", *arguments, **begin) as process:
        given = {} if reason is None else {"metadata": {"reason": reason}}
        assert (await world.answer(await process.asked(), answer, **given)).status_code == 200
        return await process.ended()


@pytest.mark.parametrize(
    ("arguments", "answer", "status"),
    [
        (APPROVAL, "approve", 0),
        (APPROVAL, "deny", 3),
        (APPROVAL, "later", 0),
        (RELEASE, "ship", 0),
        (RELEASE, "hold", 3),
        (CONFIRM, "yes", 0),
        (CONFIRM, "no", 3),
        (VETO, "veto", 3),
        ((), "no", 0),
    ],
)
async def test_a_no_is_a_status_of_its_own(office: World, arguments: Sequence[str], answer: str, status: int) -> None:
    ran = await answered(office, *arguments, "--wait", answer=answer, reason="because")
    assert (ran.status, ran.out) == (status, f"{answer}\n")
    assert ran.err.splitlines()[-1].endswith(": answered by alice@example.com: because")


@pytest.mark.parametrize(
    ("arguments", "status", "out"),
    [
        (("--timeout", "10m", *CONFIRM), 4, ""),
        (("--timeout", "10m", "--fallback", "yes", *CONFIRM), 0, "yes\n"),
        (("--timeout", "10m", "--fallback", "no", *CONFIRM), 4, "no\n"),
        (VETO, 0, "authorize\n"),
    ],
)
async def test_silence_is_no_denial_and_goes_on_only_if_that_was_agreed(
    office: World, arguments: Sequence[str], status: int, out: str
) -> None:
    async with begun(office, "ask", "Deploy?", *arguments, "--wait") as process:
        await process.asked()
        await office.advance(minutes=11)
        ran = await process.ended()
    assert (ran.status, ran.out) == (status, out)


async def test_a_question_that_was_taken_back_is_a_status_of_its_own(office: World) -> None:
    async with begun(office, "ask", "Deploy?", "--wait") as process:
        asked = await process.asked()
        await handraise(office, "cancel", asked["ref"], "--reason", "no longer", role="agent")
        ran = await process.ended()
    assert (ran.status, ran.out) == (5, "")
    assert ran.err.splitlines()[-1] == f"{asked['ref']}: cancelled, without an answer: no longer"


async def test_what_stands_behind_it_in_a_shell_runs_after_a_yes_alone(office: World, tmp_path: Path) -> None:
    command = f"{shlex.quote(sys.executable)} -m handraise ask Deploy? --choice approve --choice deny --wait"
    for answer, runs in (("deny", False), ("approve", True)):
        process = await asyncio.create_subprocess_shell(
            f"{command} && touch deployed",
            cwd=tmp_path,
            env=environ(office, "agent"),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr is not None
        while "waiting" not in (line := (await process.stderr.readline()).decode()):
            assert line
        [found] = (await office.call("GET", "/v1/suspensions", "admin", params={"q": line[: line.index(":")]})).json()[
            "items"
        ]
        assert (await office.answer({**found, "suspension_id": found["id"]}, answer)).status_code == 200
        await process.communicate()
        assert (tmp_path / "deployed").exists() == runs


async def test_a_service_that_is_away_and_one_that_refuses_are_told_apart(office: World) -> None:
    async with begun(office, "ask", "Deploy?", "--wait", url="http://127.0.0.1:1") as process:
        assert (await process.ended()).status == 2
    async with begun(office, "ask", "Deploy?", "--wait", HANDRAISE_API_KEY="wrong") as process:
        assert (await process.ended()).status == 1


async def test_a_service_that_comes_back_is_waited_for(office: World) -> None:
    async with middle_box(office.url) as (box, url), begun(office, "ask", "Deploy?", "--wait", url=url) as process:
        asked = await process.asked()
        box.closed = True
        made = box.made
        box.cut()
        await box.connections(made + 1)
        box.closed = False
        assert (await office.answer(asked, "now")).status_code == 200
        ran = await process.ended()
    assert (ran.status, ran.out) == (0, "now\n")


async def test_a_service_that_stays_away_ends_the_waiting(office: World) -> None:
    waiting = ("ask", "Deploy?", "--wait", "--patience", "1s")
    async with middle_box(office.url) as (box, url), begun(office, *waiting, url=url) as process:
        await process.asked()
        box.closed = True
        box.cut()
        ran = await process.ended()
    assert (ran.status, ran.out) == (2, "")


async def test_the_same_key_is_the_same_question(office: World) -> None:
    asking = ("ask", "Deploy 4.2?", *CONFIRM, "--idempotency-key", "deploy-4.2")
    first = await handraise(office, *asking, role="agent")
    again = await handraise(office, *asking, role="agent")
    assert (again.status, again.out) == (0, first.out)
    other = await handraise(office, *asking, "--to", "bob@example.com", role="agent")
    assert (other.status, "idempotency_conflict" in other.err) == (1, True)


async def test_whoever_asks_hears_that_no_answer_would_stop_it(office: World) -> None:
    warning = "no choice says no, so every answer exits with 0"
    for choices, warned in ((("--choice", "staging", "--choice", "production"), True), (APPROVAL, False), ((), False)):
        async with begun(office, "ask", "Where?", *choices, "--wait") as process:
            await process.asked()
            process.interrupt()
            assert (warning in (await process.ended()).err) == warned


def outputs(written: str) -> dict[str, str]:
    """``GITHUB_OUTPUT`` as the runner reads it: ``name<<delimiter`` up to that delimiter, or ``name=value``."""
    read: dict[str, str] = {}
    lines = iter(written.split("\n"))
    for line in lines:
        if found := re.fullmatch(r"([^=<]+)<<(.+)", line):
            value = []
            while (one := next(lines)) != found[2]:
                value.append(one)
            read[found[1]] = "\n".join(value)
        elif line:
            name, _, read_value = line.partition("=")
            read[name] = read_value
    return read


async def test_a_hostile_reason_sets_no_output_of_github(office: World, tmp_path: Path) -> None:
    place = tmp_path / "output"
    place.write_text("before=1\n")
    asking = (*APPROVAL, "--action", '{"deploy": "4.2"}', "--output", "github")
    ran = await answered(office, *asking, answer="deny", reason=HOSTILE, GITHUB_OUTPUT=str(place))
    assert (ran.status, ran.out) == (3, "deny\n")
    found = outputs(place.read_bytes().decode())
    assert list(found) == ["before", "answer", "reason", "by", "receipt", "url"]
    assert (found["answer"], found["reason"], found["by"]) == ("deny", HOSTILE, "alice@example.com")
    proof = {"receipt": found["receipt"], "action": {"deploy": "4.2"}, "when": "deny"}
    assert (await office.call("POST", "/v1/receipts/verify", json=proof)).status_code == 200
    assert found["url"].startswith(f"{office.service.settings.public_url}/q/HR-")


async def test_a_hostile_reason_sets_no_variable_of_gitlab(office: World, tmp_path: Path) -> None:
    """Each line is read by the pattern of GitLab's own parser, which also strips what it finds."""
    ran = await answered(office, *APPROVAL, "--output", "gitlab", answer="deny", reason=HOSTILE, folder=tmp_path)
    assert ran.status == 3
    lines = (tmp_path / "handraise.env").read_text().splitlines()
    read = dict(re.fullmatch(r"(.*?)=(.*)", line).groups() for line in lines)  # type: ignore[union-attr]
    assert list(read) == ["answer", "reason", "by", "receipt", "url"]
    assert (read["answer"], unquote(read["reason"]), read["receipt"]) == ("deny", HOSTILE, "")
    assert not set("".join(lines)) & set("$`'\" \r\\")


async def test_what_is_too_long_for_gitlab_is_left_empty_and_said(office: World, tmp_path: Path) -> None:
    ran = await answered(office, "--output", "gitlab", answer="€" * 400, reason="r" * 900, folder=tmp_path)
    written = (tmp_path / "handraise.env").read_bytes()
    assert len(written) < 5 * 1024
    assert written.startswith(b"answer=\nreason=rrr")
    assert (ran.status, ran.out) == (0, "€" * 400 + "\n")
    assert "answer is too long for GitLab (3600 bytes), and is left empty in handraise.env" in ran.err


async def test_json_has_the_five_fields_and_nothing_else_is_on_standard_output(office: World) -> None:
    ran = await answered(office, *APPROVAL, "--output", "json", answer="deny", reason="because")
    read = json.loads(ran.out)
    expected = {"answer": "deny", "reason": "because", "by": "alice@example.com", "receipt": None}
    assert {name: read[name] for name in expected} == expected
    assert set(read) == {*expected, "url"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--output", "github"), "'--output': github needs GITHUB_OUTPUT"),
        (("--output", "json", "--json"), "'--output': json can't be given beside --json."),
        (("--negative", "hold", "--choice", "ship"), "'--negative': hold is the value of no --choice."),
        (("--action", "{"), "'--action': it is not JSON."),
        (("--action", '{"amount": NaN}'), "'--action': it is not JSON."),
        (("--action", '{"amount": 1e999}'), "'--action': it is not JSON."),
        (("--action", '{"name": "\\ud800"}'), "'--action': it is not JSON."),
        (("--action", "[1]"), "'--action': it is JSON, but not an object."),
        (("--action", '{"a":' * 20_000), "'--action': it is nested too deeply."),
        (("--action", "@no/such"), "'--action': no/such can't be read: No such file or directory."),
    ],
)
async def test_what_can_not_be_so_is_said_before_anybody_is_asked(
    office: World, arguments: Sequence[str], said: str
) -> None:
    ran = await handraise(office, "ask", "Never asked?", *arguments, role="agent")
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err
    found = await office.call("GET", "/v1/suspensions", "admin", params={"q": "Never asked?"})
    assert found.json()["items"] == []


async def test_an_action_that_the_service_finds_too_deep_is_refused_in_one_line(office: World) -> None:
    ran = await handraise(office, "ask", "Never asked?", "--action", '{"a":' * 100 + "1" + "}" * 100, role="agent")
    assert (ran.status, ran.err.count("\n")) == (1, 1)
    assert "nested too deeply" in ran.err
