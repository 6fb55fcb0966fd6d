"""What a reader copies from the documentation works: configuration, commands, requests by hand, and programs.

Here every block is read. ``PROGRAMS`` names the test that runs a page's programs; ``NOT_RUN`` and ``OTHERS`` say what
can't be run here, and why. A block of a kind that nobody runs fails.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import secrets
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml
from handraise.cli.app import app

from bot.config.loading import load
from tests.world import KEYS, World

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "sdk" / "README.md", *(ROOT / "docs").rglob("*.md")])
AGENTS = ROOT / "docs" / "how-to" / "agents.md"


CHANNELS = {
    ("slack", "bot_token"): ("HANDRAISE_SLACK__BOT_TOKEN", "xoxb-1"),
    ("slack", "signing_secret"): ("HANDRAISE_SLACK__SIGNING_SECRET", secrets.token_hex(16)),
    ("email", "smtp_url"): ("HANDRAISE_EMAIL__SMTP_URL", "smtp://127.0.0.1:25"),
    ("email", "from"): ("HANDRAISE_EMAIL__FROM", "handraise@handraise.example.com"),
    ("pagerduty", "routing_key"): ("HANDRAISE_PAGERDUTY__ROUTING_KEY", "0123456789abcdef0123456789abcdef"),
    ("pagerduty", "api_token"): ("HANDRAISE_PAGERDUTY__API_TOKEN", "token"),
}
"""What sets a channel up, for pieces that leave it to the rest of the file."""


PROGRAMS = {
    "README.md": "sdk/tests/test_sdk_client.py",
    "sdk/README.md": "sdk/tests/test_sdk_client.py",
    "docs/how-to/a-channel-of-ones-own.md": "tests/vendors_of_others/test_webhook_channel.py",
    "docs/how-to/agents.md": "sdk/tests/test_sdk_client.py",
    "docs/how-to/engines.md": "tests/adapters/engines/recipes.py",
    "docs/how-to/frameworks/agent-framework.md": "tests/adapters/test_pages.py",
    "docs/how-to/frameworks/crewai.md": "tests/adapters/test_crewai.py",
    "docs/how-to/frameworks/claude-agent-sdk.md": "tests/coding_agents/test_claude_agent_sdk.py",
    "docs/how-to/frameworks/langchain.md": "tests/adapters/test_pages.py",
    "docs/how-to/frameworks/langgraph.md": "tests/adapters/test_langgraph.py",
    "docs/how-to/frameworks/openai-agents.md": "tests/adapters/test_pages.py",
    "docs/how-to/frameworks/pydantic-ai.md": "tests/adapters/test_pages.py",
    "docs/how-to/frameworks/google-adk.md": "tests/adapters/test_pages.py",
    "docs/how-to/frameworks/strands.md": "tests/adapters/test_pages.py",
    "docs/how-to/harness.md": "tests/journeys/sdk/test_sdk_harness_program.py",
    "docs/how-to/openarmature.md": "tests/openarmature/test_docs.py",
    "docs/how-to/openintent-agents.md": "tests/journeys/sdk/test_sdk_agents.py",
    "docs/how-to/suspension.md": "tests/journeys/sdk/test_sdk_suspension.py",
    "docs/how-to/testing-agents.md": "tests/plugin/test_plugin_documentation.py",
    "docs/how-to/yield-and-resume.md": "tests/journeys/sdk/test_sdk_yield.py",
    "docs/reference/mail-replies.md": "tests/test_snippets.py",
    "docs/tutorials/first-answer.md": "tests/journeys/service/test_dev.py",
}
"""Which test runs a page's Python, every block of it."""

NOT_RUN = {
    "docker": "needs a daemon; tests/deploy plays the image's steps, and reads the Compose file",
    "kubectl": "needs a cluster; tests/deploy reads the manifest",
    "sudo": "sets a machine of the reader's up; tests/deploy runs the service as the unit would",
    "echo": "writes the reader's secrets",
    "chmod": "keeps them",
    "mkdir": "makes the reader's folder",
    "createdb": "needs a PostgreSQL of its own to make a database in",
    "pg_restore": "needs a PostgreSQL of its own to restore into",
    "pip": "installs from the internet",
    "pipx": "installs from the internet",
    "claude": "is a vendor's program: tests/coding_agents runs it, by a target of its own",
    "openssl": "not everywhere; the key that it prints is any 32 bytes",
    "$EDITOR": "is for a person",
    "git": "would clone from an address that each reader has for themselves",
    "cd": "moves the reader's shell",
    "kill": "ends a process of the reader's; tests/journeys/service/test_tutorial.py does it",
    ".venv/bin/python": "tests/journeys/service/test_tutorial.py runs it",
    "export": "sets the reader's shell; that there is such a setting is looked at",
}
"""Programs behind a prompt that are not run here, and why. ``handraise``, ``make`` and ``curl`` are."""

KINDS = {"yaml", "console", "sh", "python", "json", "mermaid"}
OTHERS = {
    "ini": "of postfix and rspamd: tests/journeys/mail/test_mail_roads.py runs a postfix that is set up so",
    "text": "shows what is printed",
    "toml": "of the example: tests/vendors_of_others/test_webhook_channel.py compares and installs it; "
    "of the hooks' file: sdk/tests/test_sdk_hook_files.py reads it",
    "yml": "of CI systems: tests/integrations/test_ci_pieces.py reads it",
}
"""Kinds of blocks that are run, and those that are not, and why. ``make docs`` and a test draw what is Mermaid's."""


def blocks(language: str, *pages: Path) -> list[Any]:
    """Each block of that language, named by its page and line."""
    found = []
    for page in pages or PAGES:
        text = page.read_text()
        for match in re.finditer(rf"(?ms)^ *```{language}(?: title=\"\w+\")?\n(.*?)^ *```$", text):
            line = text[: match.start()].count("\n") + 1
            found.append(pytest.param(match[1], id=f"{page.relative_to(ROOT)}:{line}"))
    return found


@pytest.mark.parametrize("written", blocks("yaml"))
def test_each_piece_of_configuration_is_one(written: str, tmp_path: Path) -> None:
    file = tmp_path / "handraise.yaml"
    file.write_text(written)
    given = yaml.safe_load(written)
    elsewhere = {name: value for (section, key), (name, value) in CHANNELS.items() if key not in given.get(section, {})}
    assert load(file, elsewhere)


COMMAND = re.compile(r"(?m)^ *\$ (?:\w+=\S+ )*((?:\.venv/bin/)?handraise .*?)(?: && .*?| &)?(?:\s+#.*)?$")
COMMANDS = [pytest.param(line, id=line) for block in blocks("console") for line in COMMAND.findall(block.values[0])]


@pytest.mark.parametrize("line", COMMANDS)
def test_each_command_takes_what_is_written_behind_it(line: str) -> None:
    words = shlex.split(line)[1:]
    command: Any = typer.main.get_command(app)
    while hasattr(command, "get_command"):
        name = words.pop(0)
        found = command.get_command(None, name)
        assert found is not None, f"there is no {name}"
        command = found
    command.make_context(line, words)  # raises for an option or argument that it does not take


def test_there_are_commands_to_try() -> None:
    assert len(COMMANDS) > 8


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_is_of_a_kind_that_is_run_or_says_why_not(page: Path) -> None:
    opened = re.findall(r"(?m)^ *```(\w*).*$", page.read_text())[::2]
    assert set(opened) <= KINDS | set(OTHERS)


@pytest.mark.parametrize("page", sorted({block.id.split(":")[0] for block in blocks("python")}))
def test_some_test_runs_the_programs_of_the_page(page: str) -> None:
    assert Path(page).name in (ROOT / PROGRAMS[page]).read_text()


def test_what_is_not_run_is_told() -> None:
    """Each line behind a prompt begins with a program that is run here, or that the list above says why not."""
    targets = set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text()))
    lines = [line for block in blocks("console") for line in re.findall(r"(?m)^ *\$ (.*)$", block.values[0])]
    for line in lines:
        words = re.sub(r"^(\w+=\S+ )*", "", line).split()
        program = words[0].removeprefix(".venv/bin/") if "handraise" in words[0] else words[0]
        assert program in {"handraise", "make", "curl", *NOT_RUN}, line
        assert program != "make" or words[1] in targets, line


OF_CLIENTS = {"HANDRAISE_URL", "HANDRAISE_API_KEY", "HANDRAISE_CONFORMANCE_DIR"}
"""Variables that the SDK and the tests read, and the service does not."""


def test_each_variable_is_one_that_something_reads() -> None:
    variable = re.compile(r"\bHANDRAISE_[A-Z_]*[A-Z]")
    settings = set(variable.findall((ROOT / "docs" / "reference" / "configuration.md").read_text()))
    named = {(str(page.relative_to(ROOT)), name) for page in PAGES for name in variable.findall(page.read_text())}
    assert {(page, name) for page, name in named if name not in settings | OF_CLIENTS} == set()


@pytest.mark.parametrize("written", blocks("json"))
def test_each_piece_of_json_is_json(written: str) -> None:
    json.loads(written)


OPENINTENT = ROOT / "docs" / "reference" / "openintent.md"


@pytest.mark.parametrize("written", blocks("console", OPENINTENT))
async def test_each_request_of_the_page_is_taken(written: str, world: World) -> None:
    """As it stands, but for the address and the ids, which are those of intents that are there."""
    for line in re.findall(r"(?ms)^\$ (curl .*?)(?=^\$ |\Z)", written):
        asked = line.replace("localhost:8080", world.url)
        for name in set(re.findall(r"\$([A-Z]+)", line)):
            asked = re.sub(rf"'?\${name}'?", await _intent(world), asked)
        await _run(world, asked)


async def _intent(world: World) -> str:
    response = await world.call("POST", "/api/v1/intents", json={"title": "Refund"})
    return str(response.json()["id"])


async def test_what_is_asked_with_curl_is_answered(world: World) -> None:
    """Ask, wait, reply to a person who asks back, and say what came of it, as the page writes it."""
    exports, ask, *more = (block.values[0] for block in blocks("sh", AGENTS))
    by_hand = "\n".join([ask, *more])
    assert by_hand.count("curl") == 4, "a request that nothing here tries"
    assert re.findall(r"HANDRAISE_\w+", exports) == ["HANDRAISE_URL", "HANDRAISE_API_KEY"]
    pieces = [piece for piece in re.split(r"(?m)^ *(?=curl)", by_hand) if piece.startswith("curl")]
    requests = {piece.split("/v1/")[1].split('"')[0]: piece for piece in pieces}

    asked = await _run(world, requests["suspensions"])
    assert '"outcome":"suspended"' in asked
    name = re.findall(r'"suspension_id":"([^"]+)"', asked)[0]
    body = {"question": "Which card?"}
    await world.call("POST", f"/v1/suspensions/{name}/clarify", "operator", json=body)
    said = await _run(world, requests["suspensions/SUSPENSION_ID/clarification"].replace("SUSPENSION_ID", name))
    assert '"text":"To the card that the order was paid with."' in said
    waiting = requests["suspensions/SUSPENSION_ID/wait?timeout_seconds=55"].replace("SUSPENSION_ID", name)
    task = asyncio.create_task(_run(world, waiting))
    intent = re.findall(r'"intent_id":"([^"]+)"', asked)[0]
    await world.answer({"intent_id": intent, "suspension_id": name}, "approve")
    assert '"response":"approve"' in await task
    reported = await _run(world, requests["suspensions/SUSPENSION_ID/outcome"].replace("SUSPENSION_ID", name))
    assert '"reported":{"status":"done","text":"Refunded as re_3PX."' in reported


async def _run(world: World, request: str) -> str:
    """As curl would send it; not every machine has one."""
    known = {"HANDRAISE_URL": world.url, "HANDRAISE_API_KEY": KEYS["agent"]}
    words = [re.sub(r"\$(\w+)", lambda name: known[name[1]], word) for word in shlex.split(request.replace("\\\n", ""))]
    takes = argparse.ArgumentParser(prog="curl", exit_on_error=False)
    takes.add_argument("-s", action="store_true")
    takes.add_argument("-X", default="GET")
    takes.add_argument("-H", action="append", default=[])
    takes.add_argument("-d")
    takes.add_argument("url")
    given = takes.parse_args(words[1:])
    headers = dict(header.split(": ", 1) for header in given.H)
    response = await world.http.request(given.X, given.url, headers=headers, content=given.d)
    assert response.is_success, response.text
    return response.text
