"""``handraise backup`` and ``restore`` beside a service that works, and elsewhere after its end, on both databases.

Source: API.md §9; docs/how-to/backup.md.
"""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from core.database.database import open_database
from core.store import schema
from tests import preloaded
from tests.postgres import binaries, cluster
from tests.process import ServiceProcess, service_process

pytestmark = pytest.mark.kills

CLIENTS = 16
AGENT, OPERATOR = {"X-API-Key": "agent-key-1"}, {"X-API-Key": "alice-key"}
BODY = {"question": "Refund order 12345?", "response_type": "confirm", "timeout_seconds": 3600}


@dataclass(frozen=True)
class Places:
    """Two databases: where the service is, and where its backup goes to."""

    kind: str
    here: str
    elsewhere: str


@pytest.fixture(params=["sqlite", "postgresql"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Places]:
    """Of PostgreSQL two servers: what one has counted the other knows nothing of."""
    if request.param == "sqlite":
        folders = [tmp_path / name for name in ("here", "elsewhere")]
        for folder in folders:
            folder.mkdir()
        yield Places("sqlite", *(f"sqlite+aiosqlite:///{folder}/handraise.db" for folder in folders))
        return
    with ExitStack() as stack:
        urls = [f"postgresql+psycopg://postgres@/postgres{stack.enter_context(cluster()).query}" for _ in range(2)]
        database = open_database(urls[0])
        schema.migrate(database)
        database.engine.dispose()
        yield Places("postgresql", *urls)


def settings(database_url: str) -> dict[str, Any]:
    return {
        "database_url": database_url,
        "api_keys": [
            {"name": "refund-agent", "key": "agent-key-1", "roles": ["agent"]},
            {"name": "alice@example.com", "key": "alice-key", "roles": ["operator"]},
            {"name": "root", "key": "admin-key", "roles": ["admin"]},
        ],
        "people": [{"name": "Alice", "email": "alice@example.com"}],
        "email": {"smtp_url": "smtp://127.0.0.1:9", "from": "h@example.com", "default_to": ["alice@example.com"]},
        "suspension": {"default_channel": "email"},
    }


async def handraise(service: ServiceProcess, *arguments: str) -> tuple[int, str]:
    """The command's exit status, and all that it has printed. PostgreSQL's programs are those of the tests' server."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
    environ |= {"PATH": f"{binaries()}:{environ['PATH']}", "HANDRAISE_URL": service.url, "NO_PROXY": "*"}
    environ |= {"HANDRAISE_API_KEY": "admin-key"}
    configured = ["--config", str(service.file)] if arguments[0] in {"backup", "restore"} else []
    status, out, err = await preloaded.run([*arguments, *configured], environ, seconds=120)
    return status, (out + err).decode()


async def answering(service: ServiceProcess, acknowledged: dict[str, str]) -> None:
    """Ask and answer without end; remember what was acknowledged."""
    async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
        while True:
            response = await http.post(f"{service.url}/v1/suspensions", json=BODY, headers=AGENT)
            assert response.status_code == 201, response.text
            asked = response.json()
            acknowledged[asked["suspension_id"]] = "open"
            path = f"{service.url}/v1/intents/{asked['intent_id']}/suspend/respond"
            answer = {"suspension_id": asked["suspension_id"], "value": "yes"}
            response = await http.post(path, json=answer, headers=OPERATOR)
            assert response.status_code == 200, response.text
            acknowledged[asked["suspension_id"]] = "responded"


async def status_of(http: httpx.AsyncClient, service: ServiceProcess, suspension_id: str) -> str:
    shown = await http.get(f"{service.url}/v1/suspensions/{suspension_id}", headers=AGENT)
    return str(shown.json().get("status", shown.status_code))


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


async def test_nothing_acknowledged_before_a_backup_under_load_is_missing_where_it_is_restored(
    tmp_path: Path, places: Places
) -> None:
    """16 clients ask and answer meanwhile. The service goes on elsewhere, and the audit trail holds there."""
    copy, acknowledged = tmp_path / "copy", dict[str, str]()
    async with service_process(tmp_path / "service", settings(places.here)) as service:
        await service.start()
        crowd = [asyncio.create_task(answering(service, acknowledged)) for _ in range(CLIENTS)]
        while len(acknowledged) < 100:
            assert not any(task.done() for task in crowd)
            await asyncio.sleep(0.01)
        before = dict(acknowledged)
        status, said = await handraise(service, "backup", str(copy), "--json")
        assert status == 0, said
        made = json.loads(said)
        assert len(acknowledged) > len(before), "they wrote meanwhile"
        assert (made["verified"], made["events"] >= len(before)) == (True, True)
        assert modes(copy) == {0o600}
        assert stat.S_IMODE(copy.stat().st_mode) == 0o700
        if places.kind == "sqlite":
            status, said = await handraise(service, "restore", str(copy))
            assert (status, "A service runs" in said) == (2, True), said
        await service.kill()
        for task in crowd:
            task.cancel()
        await asyncio.gather(*crowd, return_exceptions=True)
    async with service_process(tmp_path / "other", settings(places.elsewhere)) as service:
        status, said = await handraise(service, "restore", str(copy))
        assert (status, said.startswith("ok: "), "handraise serve" in said) == (0, True, True), said
        await service.start()
        status, said = await handraise(service, "audit", "verify")
        assert (status, said.startswith("ok: ")) == (0, True), said
        async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
            found = {suspension_id: await status_of(http, service, suspension_id) for suspension_id in before}
            behind = {name: found[name] for name, status in before.items() if found[name] not in {status, "responded"}}
            assert behind == {}
            response = await http.post(f"{service.url}/v1/suspensions", json=BODY, headers=AGENT)
            assert response.status_code == 201, response.text
        status, said = await handraise(service, "restore", str(copy))
        assert (status, "is there" in said or "holds tables" in said or "A service runs" in said) == (2, True), said
