"""The pieces for CI systems in ``integrations/``: as their schemas say, and run as their shells run them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema_rs
import pytest
import pytest_asyncio
import yaml

from tests.cli import Begun
from tests.world import KEYS, World, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "integrations/github/action.yml").read_text())
TEMPLATE: dict[str, Any] = yaml.safe_load((ROOT / "integrations/gitlab/handraise.yml").read_text())
[INSTALL, ASK] = ACTION["runs"]["steps"]
JOB = TEMPLATE[".handraise-ask"]
OURS = Path(sys.executable).with_name("handraise")
BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
"""How GitHub's runner starts ``shell: bash``."""
HOSTILE = 'x"; touch pwned; echo "$(touch pwned) `touch pwned` ${{ secrets.KEY }} $HOME -- --json'
REASON = "no\n::set-output name=answer::approve\n##[add-mask]x\nanswer=approve\nEOF $CI_JOB_TOKEN"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def office(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("office")
    async with running(folder, f"sqlite+aiosqlite:///{folder}/handraise.db") as world:
        yield world


@pytest.mark.parametrize(
    ("piece", "schema"), [(ACTION, "github-actions"), (TEMPLATE, "gitlab-ci")], ids=["github", "gitlab"]
)
async def test_each_piece_is_as_its_schema_says(piece: Mapping[str, Any], schema: str) -> None:
    jsonschema_rs.validator_for(_schema(schema)).validate(piece)


async def test_no_expression_stands_in_a_script_and_every_input_is_used() -> None:
    assert not [step for step in (INSTALL, ASK) if "${{" in step["run"]]
    used = {match[1] for value in ASK["env"].values() if (match := re.fullmatch(r"\$\{\{ inputs\.(\S+) }}", value))}
    assert used == set(ACTION["inputs"])
    assert all(f"${name}" in ASK["run"] or name.startswith("HANDRAISE_") for name in ASK["env"])
    written = {name: f"${{{{ steps.ask.outputs.{name} }}}}" for name in ACTION["outputs"]}
    assert {name: one["value"] for name, one in ACTION["outputs"].items()} == written
    assert set(written) == {"answer", "reason", "by", "receipt", "url"}


async def test_both_pin_the_version_that_they_were_tested_with() -> None:
    version = tomllib.loads((ROOT / "sdk/pyproject.toml").read_text())["project"]["version"]
    assert (INSTALL["env"]["VERSION"], JOB["variables"]["ASK_VERSION"]) == (version, version)


async def test_what_the_page_says_to_paste_names_what_there_is() -> None:
    page = (ROOT / "docs/how-to/ci.md").read_text()
    workflow, pipeline = (yaml.safe_load(block) for block in re.findall(r"(?ms)^```yml\n(.*?)^```$", page))
    [given] = [step["with"] for step in workflow["jobs"]["deploy"]["steps"] if step.get("id") == "ask"]
    needed = {name for name, one in ACTION["inputs"].items() if one.get("required")}
    assert needed <= set(given) <= set(ACTION["inputs"])
    assert set(pipeline["ask"]["variables"]) <= set(JOB["variables"])
    assert pipeline["ask"]["extends"] in TEMPLATE
    jsonschema_rs.validator_for(_schema("gitlab-ci")).validate(pipeline)


def _schema(name: str) -> Any:
    return json.loads((Path(__file__).parent / f"schemas/{name}.json").read_text())


def in_github(folder: Path, world: World, **inputs: str) -> dict[str, str]:
    """The environment of the asking step: the runner's, and the action's inputs."""
    (folder / "temp/handraise/bin").mkdir(parents=True)
    (folder / "temp/handraise/bin/handraise").symlink_to(OURS)
    given = {name: one.get("default", "") for name, one in ACTION["inputs"].items()}
    given |= {"url": world.url, "api-key": KEYS["agent"], **inputs}
    own = {name: given[value.removeprefix("${{ inputs.").removesuffix(" }}")] for name, value in ASK["env"].items()}
    return _bare() | own | {"RUNNER_TEMP": str(folder / "temp"), "GITHUB_OUTPUT": str(folder / "output")}


def in_gitlab(folder: Path, world: World, **variables: str) -> dict[str, str]:
    """The environment of the job, whose ``before_script`` has run."""
    tools = folder / ".handraise-cli/bin"
    tools.mkdir(parents=True)
    (tools / "handraise").symlink_to(OURS)
    known = {"HANDRAISE_URL": world.url, "HANDRAISE_API_KEY": KEYS["agent"], "CI_PROJECT_DIR": str(folder)}
    return _bare() | JOB["variables"] | known | variables


def _bare() -> dict[str, str]:
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "NO_PROXY": "*"}


async def start(world: World, command: tuple[str, ...], env: Mapping[str, str], folder: Path) -> Begun:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, env=env, cwd=folder, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
    )
    return Begun(world, process)


async def github(world: World, folder: Path, **inputs: str) -> Begun:
    (folder / "script.sh").write_text(ASK["run"])
    return await start(world, (*BASH, "script.sh"), in_github(folder, world, **inputs), folder)


def github_outputs(folder: Path) -> dict[str, str]:
    found = re.findall(r"(?ms)^(\w+)<<(\S+)\n(.*?)\n\2$", (folder / "output").read_bytes().decode())
    return {name: value for name, _, value in found}


async def test_a_yes_lets_the_job_of_github_go_on(office: World, tmp_path: Path) -> None:
    process = await github(office, tmp_path, question="Deploy 4.2?", action='{"deploy": "4.2"}', responders="\n\n")
    asked = await process.asked()
    assert (await office.answer(asked, "approve", metadata={"reason": "go"})).status_code == 200
    ran = await process.ended()
    assert ran.status == 0
    found = github_outputs(tmp_path)
    assert (found["answer"], found["reason"], found["by"]) == ("approve", "go", "alice@example.com")
    assert asked["action"] == {"deploy": "4.2"}
    assert found["receipt"]


async def test_a_no_ends_it_and_what_people_write_is_no_command_to_the_runner(office: World, tmp_path: Path) -> None:
    process = await github(office, tmp_path, question=HOSTILE, context=f"note={HOSTILE}", to="bob@example.com")
    asked = await process.asked()
    assert (asked["question"], asked["context"]) == (HOSTILE, {"note": HOSTILE})
    assert (await office.answer(asked, "deny", "second_operator", metadata={"reason": REASON})).status_code == 200
    ran = await process.ended()
    assert ran.status == 3
    assert github_outputs(tmp_path)["reason"] == REASON
    assert github_outputs(tmp_path)["answer"] == "deny"
    first, *between, last, told = ran.lines
    assert first == f"::stop-commands::{last.strip(':')}"
    assert len(last.strip(":")) == 32
    assert between == ["deny"]
    assert told == "::error::Somebody said no. Why stands above, and in the output reason."
    assert not list(tmp_path.rglob("pwned"))


async def test_an_answer_of_lines_is_no_command_to_the_runner(office: World, tmp_path: Path) -> None:
    process = await github(office, tmp_path, question="Release notes?", choices="")
    assert (await office.answer(await process.asked(), REASON)).status_code == 200
    ran = await process.ended()
    assert ran.status == 0
    assert ran.lines[-1] == f"::{ran.lines[0].removeprefix('::stop-commands::')}::"


@pytest.mark.parametrize(
    ("inputs", "status", "told"),
    [
        ({"api-key": "wrong"}, 1, "::error::Nobody could be asked (status 1)."),
        ({"url": "http://127.0.0.1:1"}, 2, "::error::Nobody could be asked (status 2)."),
        ({"action": "{"}, 2, "::error::Nobody could be asked (status 2)."),
    ],
)
async def test_a_job_that_can_not_ask_fails(
    office: World, tmp_path: Path, inputs: dict[str, str], status: int, told: str
) -> None:
    ran = await (await github(office, tmp_path, question="Deploy?", **inputs)).ended()
    assert (ran.status, ran.lines[-1]) == (status, told)


async def test_silence_ends_the_job_of_github(office: World, tmp_path: Path) -> None:
    process = await github(office, tmp_path, question="Deploy?", deadline="10m")
    await process.asked()
    await office.advance(minutes=11)
    ran = await process.ended()
    assert (ran.status, ran.lines[-1]) == (4, "::error::Nobody answered in time.")


@pytest.mark.parametrize(("answer", "status"), [("approve", 0), ("hold", 3)])
async def test_the_job_of_gitlab_goes_by_the_answer(office: World, tmp_path: Path, answer: str, status: int) -> None:
    choices = {"ASK_CHOICES": "approve=Go\nhold=Not yet\n", "ASK_NEGATIVE": "hold"}
    env = in_gitlab(tmp_path, office, ASK_QUESTION=HOSTILE, ASK_CONTEXT=f"note={HOSTILE}", **choices)
    process = await start(office, ("sh", "-e", "-c", "\n".join(JOB["script"])), env, tmp_path)
    asked = await process.asked()
    assert (asked["question"], asked["context"]) == (HOSTILE, {"note": HOSTILE})
    assert (await office.answer(asked, answer, metadata={"reason": REASON})).status_code == 200
    ran = await process.ended()
    assert (ran.status, ran.out) == (status, f"{answer}\n")
    lines = (tmp_path / JOB["artifacts"]["reports"]["dotenv"]).read_text().splitlines()
    read = dict(line.split("=", 1) for line in lines)
    assert (list(read), read["answer"]) == (["answer", "reason", "by", "receipt", "url"], answer)
    assert unquote(read["reason"]) == REASON
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.slow
async def test_what_they_install_is_the_command_line_and_nothing_of_the_server(tmp_path: Path) -> None:
    """The wheel of this tree stands in for the one of the package index, which has what it needs."""
    build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(tmp_path), str(ROOT / "sdk")]
    subprocess.run(build, check=True, capture_output=True)
    inherited = environ_of_pip()
    env = inherited | INSTALL["env"] | {"RUNNER_TEMP": str(tmp_path / "temp"), "PIP_FIND_LINKS": str(tmp_path)}
    env["VERSION"] = str(env["VERSION"])
    (tmp_path / "temp").mkdir()
    subprocess.run([*BASH, "-c", INSTALL["run"]], env=env, check=True, capture_output=True)
    tools = tmp_path / "temp/handraise/bin"
    told = subprocess.run([tools / "handraise", "--version"], env=env, check=True, capture_output=True, text=True)
    assert told.stdout == f"handraise {env['VERSION']}\n"
    installed = subprocess.run([tools / "pip", "list"], env=env, check=True, capture_output=True, text=True).stdout
    assert not {"sqlalchemy", "fastapi", "slack-bolt"} & set(installed.lower().split())


def environ_of_pip() -> dict[str, str]:
    """What an installation needs of this machine: its tools, and where its package index is."""
    kept = (
        "PATH",
        "HOME",
        "PIP_",
        "SSL_CERT_",
        "REQUESTS_CA",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "http_proxy",
        "https_proxy",
    )
    return {name: value for name, value in os.environ.items() if name.startswith(kept)}
