"""Claude Agent SDK with the real Claude Code and a scripted model: the program of the page, as printed.

Source: docs/how-to/frameworks/claude-agent-sdk.md.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from handraise.coding_agents.hook_protocol import Program
from handraise.coding_agents.scripted_model import ScriptedModel, serving

from tests.coding_agents import agent_sdk
from tests.coding_agents.hooks import asked
from tests.coding_agents.programs import BIN, ROOT
from tests.world import KEYS, World

pytestmark = pytest.mark.coding_agents

LIMIT = 120
FOUND = os.environ.get("HANDRAISE_CODING_AGENTS", "").split(",")
PAGE = ROOT / "docs/how-to/frameworks/claude-agent-sdk.md"
CALLBACK = ROOT / "tests/coding_agents/callback_program.py"
ALLOWED = {"permissions": {"allow": ["Bash"]}}
"""Settings with a rule by which nobody is asked."""


@dataclass
class Agent:
    """The page's program in ``home/project``, and a model that asks for ``model.turns``."""

    home: Path
    model: ScriptedModel
    url: str

    @property
    def project(self) -> Path:
        return self.home / "project"

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in self.project.iterdir() if not path.name.startswith("."))

    @asynccontextmanager
    async def running(self, *changes: tuple[str, str]) -> AsyncIterator[asyncio.subprocess.Process]:
        """Its process, with ``changes`` to what the page prints."""
        [program] = re.findall(r"`release\.py`:\n\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
        for old, new in changes:
            assert old in program
            program = program.replace(old, new)
        (self.home / "release.py").write_text(program)
        async with self.program(self.home / "release.py") as process:
            yield process

    @asynccontextmanager
    async def program(self, *words: str | Path) -> AsyncIterator[asyncio.subprocess.Process]:
        environ = {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "NO_PROXY": "*",
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": "scripted",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "HANDRAISE_URL": self.url,
            "HANDRAISE_API_KEY": KEYS["agent"],
        }
        process = await asyncio.create_subprocess_exec(
            agent_sdk.PYTHON,
            *words,
            cwd=self.project,
            env=environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def run(self, *changes: tuple[str, str]) -> str:
        async with self.running(*changes) as process:
            return await ended(process)


async def ended(process: asyncio.subprocess.Process) -> str:
    """What it has printed, once it has ended well."""
    async with asyncio.timeout(LIMIT):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode()


@pytest.fixture
def agent(world: World, tmp_path: Path) -> Iterator[Agent]:
    """Its model asks for ``echo x >> ran``, unless a test gives it other turns."""
    if not {agent_sdk.NAME, Program.CLAUDE_CODE.value} <= set(FOUND):
        pytest.skip("can't be had: `make coding-agents` says why")
    (tmp_path / "home" / "project").mkdir(parents=True)
    with serving(ScriptedModel([["echo x >> ran"]])) as model:
        yield Agent(tmp_path / "home", model, world.url)


async def questions(world: World) -> Sequence[dict[str, Any]]:
    """All of them, the newest first."""
    items: list[dict[str, Any]] = (await world.call("GET", "/v1/suspensions", "admin")).json()["items"]
    return items


async def test_an_approved_call_runs_once_with_the_input_that_was_asked_about(world: World, agent: Agent) -> None:
    async with agent.running() as process:
        question = await asked(world)
        assert agent.files == []
        assert question["question"] == "May Bash run?"
        assert question["action"] == {"tool": "Bash", "arguments": {"command": "echo x >> ran"}}
        await world.answer(question, "approve")
        assert await ended(process) == "It is done.\n"
    assert (agent.project / "ran").read_text() == "x\n"
    assert len(await questions(world)) == 1


async def test_a_denied_call_does_not_run_and_the_model_reads_the_reason(world: World, agent: Agent) -> None:
    async with agent.running() as process:
        await world.answer(await asked(world), "deny", metadata={"reason": 'It\'s "mine" – ask first.'})
        await ended(process)
    [told] = agent.model.told
    assert told.startswith("A person has said no (HR-")
    assert told.endswith('Their reason: It\'s "mine" – ask first.')
    assert agent.files == []


async def test_silence_is_told_as_silence(world: World, agent: Agent) -> None:
    async with agent.running() as process:
        await asked(world)
        await world.advance(hours=1)
        await ended(process)
    [told] = agent.model.told
    assert told.startswith("Nobody has answered in time (HR-")
    assert agent.files == []


@pytest.mark.parametrize("failure", ["no service", "a service that refuses", "rubbish"])
async def test_no_failure_of_ours_runs_the_command_and_the_model_reads_that_it_has_not(
    world: World, agent: Agent, failure: str
) -> None:
    async def rubbish(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        writer.close()

    server = await asyncio.start_server(rubbish, "127.0.0.1", 0)
    places = {"no service": "http://127.0.0.1:1", "a service that refuses": world.url}
    agent.url = places.get(failure, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    key = "no-key-of-this-service" if failure == "a service that refuses" else KEYS["agent"]
    await agent.run(("Handraise()", f'Handraise(api_key="{key}", patience_seconds=1)'))
    server.close()
    [told] = agent.model.told
    assert told.startswith("This call has not run: whether a person approves it could not be found out. Say so. ")
    assert agent.files == []


async def test_two_calls_of_one_turn_are_two_questions_each_with_its_own_answer(world: World, agent: Agent) -> None:
    agent.model.turns = [["echo x >> a", "echo x >> b"]]
    answers = {"echo x >> a": "deny", "echo x >> b": "approve"}
    async with agent.running() as process:
        for number in (1, 2):
            question = await asked(world, number)
            await world.answer(question, answers[question["action"]["arguments"]["command"]])
        await ended(process)
    assert agent.files == ["b"]
    assert [told.startswith("A person has said no") for told in agent.model.told].count(True) == 1


SOURCES = "setting_sources=[]"


@pytest.mark.parametrize(
    ("place", "sources", "is_asked"),
    [("", "[]", True), ("", "None", False), ("project", "None", True)],
    ids=["as the page has it", "the user's settings are read", "those of a folder that nobody trusts"],
)
async def test_a_rule_that_allows_counts_only_if_the_users_settings_are_read(
    world: World, agent: Agent, place: str, sources: str, is_asked: bool
) -> None:
    """As the page says in bold: a call that a rule allows never comes to the callback."""
    folder = agent.home / place / ".claude"
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps(ALLOWED))
    async with agent.running((SOURCES, f"setting_sources={sources}")) as process:
        if is_asked:
            await world.answer(await asked(world), "deny")
        await ended(process)
    assert (agent.files, len(await questions(world))) == (([], 1) if is_asked else (["ran"], 0))


@pytest.mark.parametrize("option", ['allowed_tools=["Bash"]', 'permission_mode="bypassPermissions"'])
async def test_what_no_callback_can_help_options_that_allow(world: World, agent: Agent, option: str) -> None:
    """As the page says in bold. If this fails, the SDK has become safer, and the page should say so."""
    old = 'permission_mode="default"' if "mode" in option else SOURCES
    new = option if "mode" in option else f"{SOURCES}, {option}"
    # Claude Code bypasses nothing for root unless it is told that it is in a sandbox.
    await agent.run((old, new), ("ClaudeAgentOptions(", 'ClaudeAgentOptions(env={"IS_SANDBOX": "1"}, '))
    assert (agent.files, await questions(world)) == (["ran"], [])


async def test_what_no_callback_can_help_what_claude_code_takes_for_harmless(world: World, agent: Agent) -> None:
    agent.model.turns = [["ls"]]
    await agent.run()
    assert (len(agent.model.told), await questions(world)) == (1, [])


INTERRUPTED = """\
        from claude_agent_sdk import ClaudeSDKClient
        async with ClaudeSDKClient(options) as client:
            await client.query(prompt)
            while not [one async for one in people.list(session_id=session)]:
                await asyncio.sleep(0.1)
            await client.interrupt()
            async for message in client.receive_response():
                pass
"""


async def test_a_call_that_claude_code_gives_up_is_taken_back(world: World, agent: Agent) -> None:
    loop = PAGE.read_text().partition("        async for message in query(")[2].partition("\n\n\n")[0]
    async with agent.running((f"        async for message in query({loop}\n", INTERRUPTED)) as process:
        await ended(process)
    [question] = await questions(world)
    assert question["resolution"] == "cancelled"
    assert agent.files == []


async def called(world: World, agent: Agent, what: str) -> list[list[str]]:
    """What the callback has returned; whoever is asked approves."""
    async with agent.program(CALLBACK, what) as process:
        if what in {"twice", "changed"}:
            question = await asked(world)
            if what == "changed":
                assert process.stdout is not None
                assert await process.stdout.readline() == b"changed\n"
            await world.answer(question, "approve")
        returned: list[list[str]] = json.loads(await ended(process))
    return returned


async def test_the_same_call_twice_is_one_question_and_allowed_once(world: World, agent: Agent) -> None:
    first, second = sorted(await called(world, agent, "twice"))
    assert first == ["allow", ""]
    assert second[0] == "deny"
    assert second[1].startswith("This call was approved, and its approval has been used up already")
    assert len(await questions(world)) == 1


async def test_an_input_that_is_changed_while_a_person_thinks_is_denied(world: World, agent: Agent) -> None:
    assert [one[0] for one in await called(world, agent, "changed")] == ["deny"]


@pytest.mark.parametrize("what", ["no JSON", "no id"])
async def test_a_call_that_nobody_can_be_asked_about_is_denied(world: World, agent: Agent, what: str) -> None:
    [[behavior, told]] = await called(world, agent, what)
    assert behavior == "deny"
    assert told.startswith("This call has not run")
    assert await questions(world) == []
