"""The service as a process, whoever answers, and the agents of the frameworks as processes of their own."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.adapters.frameworks import Framework
from tests.process import ServiceProcess

AGENT, OPERATOR = "agent-key-1", "alice-key"
LIMIT = 90
HERE = Path(__file__).parent


def settings(folder: Path, port: int) -> dict[str, Any]:
    return {
        "database_url": f"sqlite+aiosqlite:///{folder / 'handraise.db'}",
        "secret_key": "the-secret-key-of-the-tests-alone",
        "api_keys": [
            {"name": "refund-agent", "key": AGENT, "roles": ["agent"]},
            {"name": "alice@example.com", "key": OPERATOR, "roles": ["operator"]},
        ],
        "people": [{"name": "Alice", "email": "alice@example.com"}],
        "email": {
            "smtp_url": f"smtp://127.0.0.1:{port}",  # nobody is there: what the tests are about is the API
            "from": "handraise@handraise.example",
            "default_to": ["alice@example.com"],
        },
        "suspension": {"default_channel": "email"},
    }


@dataclass(frozen=True)
class Ended:
    """An agent's process. ``waiting``: how many calls wait for a person; ``None`` if it was killed."""

    status: int
    waiting: int | None
    printed: str


class Forks:
    """The programs of one framework, as forks of a process that has imported it (``agents/forks.py``)."""

    def __init__(self, framework: Framework) -> None:
        command = [framework.python, HERE / "agents/forks.py", *framework.imports]
        environ = os.environ | dict(framework.environ)
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ)

    async def run(self, argv: list[str], environ: dict[str, str], folder: Path) -> tuple[int, str]:
        """Its exit status, and what it has printed."""
        out = folder / "out"
        wanted = {"argv": argv, "environ": environ, "folder": str(folder), "out": str(out)}
        async with asyncio.timeout(LIMIT):
            status = await asyncio.to_thread(self._run, json.dumps(wanted))
        return status, out.read_text()

    def _run(self, wanted: str) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(wanted + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


@dataclass
class Session:
    """One session of an agent of ``framework``, in a folder of its own."""

    framework: Framework
    forks: Forks
    service: ServiceProcess
    http: httpx.AsyncClient
    folder: Path
    name: str

    def calls(self, *amounts: int) -> None:
        """The scripted model asks for one refund for each of ``amounts``."""
        made = [{"id": f"call_{at}", "order": at, "amount": amount} for at, amount in enumerate(amounts, 1)]
        (self.folder / "calls.json").write_text(json.dumps(made))

    async def agent(self, what: str, **environ: str) -> Ended:
        """A process of the agent, which must end by itself unless ``environ`` says that it dies."""
        ended = await self.program(self.framework.program, what, str(self.folder), self.name, **environ)
        if not environ.keys() & {"DIE_IN_TOOL", "DIE_AFTER_ASKS", "DIE_AFTER_REQUEST"}:
            assert ended.status == 0, ended.printed
        return ended

    async def program(self, file: Path, *arguments: str, **environ: str) -> Ended:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
        ours = {**dict(self.framework.environ), "HANDRAISE_URL": self.service.url, "HANDRAISE_API_KEY": AGENT}
        status, printed = await self.forks.run([str(file), *arguments], inherited | ours | environ, self.folder)
        last = printed.strip().splitlines()[-1:]
        waiting = json.loads(last[0]).get("waiting") if last and last[0].startswith("{") else None
        return Ended(status, waiting, printed)

    async def call(self, method: str, path: str, **options: Any) -> Any:
        reply = await self.http.request(
            method, f"{self.service.url}/v1/{path}", headers={"X-API-Key": OPERATOR}, **options
        )
        assert reply.status_code < 300, reply.text
        return reply.json()

    async def questions(self) -> list[dict[str, Any]]:
        """All of the session, the oldest first."""
        found = (await self.call("GET", "suspensions", params={"session_id": self.name, "limit": "200"}))["items"]
        return sorted(found, key=lambda one: (one["suspended_at"], one["invocation_id"]))

    async def question(self, order: int) -> dict[str, Any]:
        """The newest about ``order``."""
        return next(one for one in reversed(await self.questions()) if one["action"]["arguments"]["order"] == order)

    async def answer(self, order: int, value: object, reason: str | None = None) -> None:
        await self.respond(await self.question(order), value, reason)

    async def respond(self, asked: dict[str, Any], value: object, reason: str | None = None) -> None:
        said: dict[str, Any] = {"suspension_id": asked["id"], "value": value}
        if reason is not None:
            said["metadata"] = {"reason": reason}
        await self.call("POST", f"intents/{asked['intent_id']}/suspend/respond", json=said)

    async def ended(self) -> None:
        """Returns when every question of the session has ended."""
        async with asyncio.timeout(LIMIT):
            while not all(one["resolution"] for one in await self.questions()):
                await asyncio.sleep(0.1)

    @property
    def ran(self) -> list[str]:
        """Each run of the tool's body: the order and the amount."""
        file = self.folder / "ran"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def told(self) -> dict[str, str]:
        """What the model read of each call."""
        file = self.folder / "told.json"
        said: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
        return said

    def keep(self) -> None:
        """A copy of what the agent has saved, as an older backup."""
        shutil.rmtree(self.folder / "kept", ignore_errors=True)
        shutil.copytree(self.folder, self.folder / "kept", ignore=shutil.ignore_patterns("ran", "told.json", "kept"))

    def restore(self) -> None:
        """The backup in place of what the agent has saved since."""
        for file in self.folder.glob("state*"):
            shutil.rmtree(file) if file.is_dir() else file.unlink()
        shutil.copytree(self.folder / "kept", self.folder, dirs_exist_ok=True)
        (self.folder / "told.json").unlink(missing_ok=True)
