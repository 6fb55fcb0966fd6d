"""The recipes of ``docs/how-to/engines.md`` as programs, and the engines under them as processes that are killed."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx

from tests.adapters.desk import AGENT, OPERATOR
from tests.adapters.frameworks import ROOT, VENVS
from tests.ports import free_port

PAGE = ROOT / "docs/how-to/engines.md"
LIMIT = 300
"""Seconds. On a busy machine each of Prefect's programs needs half a minute to begin."""
DIES = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
ENDS = 'return f"Refunded {amount}."'


def printed(name: str) -> str:
    """The program called ``name``, as the page has it."""
    [found] = re.findall(rf"`{re.escape(name)}`[^`\n]*:\n\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return str(found)


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(LIMIT):
        while not await condition():
            await asyncio.sleep(0.1)


class Recipe(ABC):
    """One workflow of an engine, that refunds an order of its own, in a folder of its own."""

    group = "engines"
    programs: tuple[str, ...]
    timer: str | None = None
    """The program that a timer of the reader's starts."""

    def __init__(self, folder: Path, url: str, http: httpx.AsyncClient) -> None:
        self.folder, self.url, self.http = folder, url, http
        self.order = 10_000 + secrets.randbelow(10**9)
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
        self.environ |= {"HANDRAISE_URL": url, "HANDRAISE_API_KEY": AGENT, "DO_NOT_TRACK": "1"}
        self._running: list[subprocess.Popen[bytes]] = []
        self.write()

    def write(self, *, question_seconds: int = 600, dies: bool = False) -> None:
        """The programs of the page. They look each second. With ``dies`` the process is killed once it has paid."""
        for name in ("approval.py", *self.programs):
            text = printed(name).replace("86_400", str(question_seconds))
            text = text.replace("LOOK_AGAIN_SECONDS = 60", "LOOK_AGAIN_SECONDS = 1").replace("minutes=5", "seconds=10")
            (self.folder / name).write_text(text.replace(ENDS, DIES) if dies else text)

    @abstractmethod
    async def start(self) -> None:
        """The engine, and the program that begins the workflow or goes on with it."""

    @property
    def python(self) -> Path:
        return VENVS / self.group / "bin/python"

    def run(self, *command: str | Path) -> subprocess.Popen[bytes]:
        with (self.folder / "printed").open("ab") as out:
            process = subprocess.Popen(
                command, cwd=self.folder, env=self.environ, stdout=out, stderr=out, start_new_session=True
            )
        self._running.append(process)
        return process

    def kill(self) -> None:
        """All that runs: the engine too."""
        for process in self._running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self._running.clear()

    @property
    def printed(self) -> str:
        return (self.folder / "printed").read_text()

    @property
    def paid(self) -> int:
        return self.printed.count(f"paying 30 back for order {self.order}")

    async def said(self, text: str) -> None:
        """Returns once the workflow has ended with ``text``, which only its result has."""

        async def is_said() -> bool:
            if text in self.printed:
                return True
            if self.timer is not None:
                await asyncio.to_thread(self.run(self.python, self.timer).wait)
            return False

        try:
            await until(is_said)
        except TimeoutError:
            raise AssertionError(self.printed[-5_000:]) from None

    async def questions(self) -> list[dict[str, Any]]:
        reply = await self.http.get(
            f"{self.url}/v1/suspensions", headers={"X-API-Key": OPERATOR}, params={"limit": "200"}
        )
        items: list[dict[str, Any]] = reply.raise_for_status().json()["items"]
        return [one for one in items if (one["action"] or {}).get("arguments", {}).get("order") == self.order]

    async def asked(self) -> dict[str, Any]:
        async def is_asked() -> bool:
            return bool(await self.questions())

        try:
            await until(is_asked)
        except TimeoutError:
            raise AssertionError(self.printed[-5_000:]) from None
        [question] = await self.questions()
        return question

    async def answer(self, value: str, reason: str | None = None) -> None:
        asked = await self.asked()
        said: dict[str, Any] = {"suspension_id": asked["id"], "value": value}
        said |= {} if reason is None else {"metadata": {"reason": reason}}
        path = f"{self.url}/v1/intents/{asked['intent_id']}/suspend/respond"
        (await self.http.post(path, headers={"X-API-Key": OPERATOR}, json=said)).raise_for_status()


class Dbos(Recipe):
    programs = ("dbos_refund.py",)

    async def start(self) -> None:
        self.run(self.python, "dbos_refund.py", str(self.order))


class Temporal(Recipe):
    programs = ("temporal_refund.py",)

    async def start(self) -> None:
        self.port = free_port()
        ports = [f"--{name}={free_port()}" for name in ("http-port", "metrics-port")]
        server = ["server", "start-dev", "--headless", f"--port={self.port}", *ports, "--db-filename=temporal.db"]
        self.run(self.python.parent / "temporal", *server, "--log-level=error")
        self.environ["TEMPORAL_ADDRESS"] = f"127.0.0.1:{self.port}"
        await until(self._listens)
        self.run(self.python, "temporal_refund.py", str(self.order))

    async def _listens(self) -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        writer.close()
        return True


class Prefect(Recipe):
    programs = ("prefect_refund.py", "wake.py")
    timer = "wake.py"
    begun = False

    async def start(self) -> None:
        port = free_port()
        self.api = f"http://127.0.0.1:{port}/api"
        self.environ |= {
            "PREFECT_HOME": str(self.folder / "prefect"),
            "PREFECT_API_URL": self.api,
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        }
        self.run(self.python.parent / "prefect", "server", "start", "--host=127.0.0.1", f"--port={port}", "--no-ui")
        await until(self._is_ready)
        self.run(self.python, "prefect_refund.py")
        await until(self._is_served)
        if not self.begun:
            self.begun = await asyncio.to_thread(self.run(self.python, "prefect_refund.py", str(self.order)).wait) == 0

    async def _is_ready(self) -> bool:
        try:
            return (await self.http.get(f"{self.api}/health")).status_code == 200
        except httpx.TransportError:
            return False

    async def _is_served(self) -> bool:
        return (await self.http.get(f"{self.api}/deployments/name/refund/refunds")).status_code == 200


RECIPES: tuple[type[Recipe], ...] = (Dbos, Temporal, Prefect)
