"""``handraise dev``, run as people run it: its own process in an empty folder, a browser, and the README's program."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from bot.commands.dev import free_port

pytestmark = pytest.mark.io

ROOT = Path(__file__).parents[3]
PATIENCE = 120


@dataclass(frozen=True)
class Dev:
    """What it has printed."""

    process: Process
    link: str
    url: str
    key: str
    program: str


@asynccontextmanager
async def started(folder: Path, *options: str) -> AsyncIterator[Process]:
    """The command in ``folder``, as a user whose home is there."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "handraise", "dev", *options),
        cwd=folder,
        env={**environ, "XDG_STATE_HOME": str(folder / "home"), "PYTHONUNBUFFERED": "1"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
            await process.wait()


@asynccontextmanager
async def dev(folder: Path, *options: str) -> AsyncIterator[Dev]:
    async with started(folder, *options) as process:
        assert process.stdout is not None
        said = ""
        while "in your name." not in said:
            line = (await process.stdout.readline()).decode()
            assert line, said
            said += line
        link, url, key = (
            re.search(pattern, said, re.MULTILINE)
            for pattern in (
                r"^  (http\S+/signin/\S+)$",
                r"export HANDRAISE_URL=(\S+)",
                r"export HANDRAISE_API_KEY=(\S+)",
            )
        )
        program = re.search(r"^  from handraise .*?\)\)$", said, re.MULTILINE | re.DOTALL)
        assert link and url and key and program, said
        yield Dev(process, link[1], url[1], key[1], program[0].replace("\n  ", "\n").strip())


@asynccontextmanager
async def browser(service: Dev) -> AsyncIterator[httpx.AsyncClient]:
    """Signed in, and sending what a browser sends beside a form of the page's own."""
    own = {"Origin": "null", "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate"}
    async with httpx.AsyncClient(base_url=service.url, follow_redirects=True, trust_env=False, headers=own) as made:
        assert "Nothing waits" in (await press(made, service.link)).text
        yield made


async def press(browser: httpx.AsyncClient, url: str, **fields: str) -> httpx.Response:
    page = await browser.get(url)
    *_, token = re.findall(r'name="form_token" value="([^"]+)"', page.text)
    return await browser.post(url, data={"form_token": token, **fields})


async def question_in(browser: httpx.AsyncClient) -> str:
    """The place of the one question that waits, as soon as it does."""
    while not (found := re.findall(r'href="(/q/[^"]+)"', (await browser.get("/inbox")).text)):
        await asyncio.sleep(0.05)
    [place] = found
    return str(place)


async def run(service: Dev, program: str) -> Process:
    environ = {**os.environ, "HANDRAISE_URL": service.url, "HANDRAISE_API_KEY": service.key}
    return await asyncio.create_subprocess_exec(sys.executable, "-c", program, env=environ, stdout=PIPE, stderr=STDOUT)


def programs_of(page: str) -> Sequence[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


async def test_the_readmes_program_and_the_printed_one_get_the_answer_of_a_person_in_a_browser(tmp_path: Path) -> None:
    written = [*programs_of("README.md"), *programs_of("docs/tutorials/first-answer.md")]
    assert len(written) == 2
    async with dev(tmp_path, "--as", "alice@example.com") as service, browser(service) as alice:
        for one in (*written, service.program):
            asking = await run(service, one)
            await press(alice, await question_in(alice), do="answer", choice="0")
            printed, _ = await asking.communicate()
            assert (asking.returncode, printed.decode()) == (0, "approve\n")
    assert "it prints `approve`" in (ROOT / "README.md").read_text()
    assert service.process.returncode == 0


async def test_a_second_start_goes_on_with_the_same_key_person_and_questions(tmp_path: Path) -> None:
    body = {"question": "Deploy?", "choices": ["yes", "no"]}
    async with httpx.AsyncClient(trust_env=False) as http:
        async with dev(tmp_path, "--as", "alice@example.com") as first:
            headers = {"X-API-Key": first.key}
            asked = await http.post(f"{first.url}/v1/suspensions", json=body, headers=headers)
            assert asked.status_code == 201, asked.text
        async with dev(tmp_path) as second:
            assert (second.key, second.link == first.link) == (first.key, False)
            shown = await http.get(f"{second.url}/v1/suspensions", headers={"X-API-Key": second.key})
            assert [one["ref"] for one in shown.json()["items"]] == [asked.json()["ref"]]
            async with started(tmp_path) as third:
                told, _ = await third.communicate()
            assert (third.returncode, len(told.decode().splitlines())) == (2, 1), told


async def test_another_sites_page_is_refused_and_so_is_another_name_for_this_machine(tmp_path: Path) -> None:
    async with dev(tmp_path, "--as", "alice@example.com") as service, httpx.AsyncClient(trust_env=False) as http:
        for path in ("/inbox", "/metrics", "/v1/server/config"):
            rebound = await http.get(service.url + path, headers={"Host": "evil.example:8080"})
            assert rebound.status_code == 403
        sent = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site", "X-API-Key": service.key}
        for path in ("/v1/suspensions", "/signout", service.link.removeprefix(service.url)):
            assert (await http.post(service.url + path, headers=sent, json={})).status_code == 403


async def test_without_a_terminal_it_has_to_be_told_who_the_person_is(tmp_path: Path) -> None:
    async with started(tmp_path) as process:
        told, _ = await process.communicate()
    assert (process.returncode, told.decode()) == (
        2,
        "handraise: Say who you are: handraise dev --as alice@example.com.\n",
    )
    assert not (tmp_path / ".handraise").exists()


async def test_a_checkouts_own_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".handraise").mkdir(0o700)
    (tmp_path / ".handraise" / "dev.json").write_text('{"person": "a@example.com", "agent_key": "known", "seal": ""}')
    async with started(tmp_path, "--as", "alice@example.com") as process:
        told, _ = await process.communicate()
    assert process.returncode == 2
    assert "to begin anew" in told.decode()


async def test_a_port_that_is_taken_is_passed_over_unless_it_was_asked_for(tmp_path: Path) -> None:
    taken = free_port()
    with socket.create_server(("127.0.0.1", taken)):
        assert free_port() != taken
        async with started(tmp_path, "--as", "alice@example.com", "--port", str(taken)) as process:
            told, _ = await process.communicate()
    assert process.returncode == 2
    assert f"127.0.0.1:{taken} can't be listened on" in told.decode()
