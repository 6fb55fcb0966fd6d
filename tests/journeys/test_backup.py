"""``handraise backup`` and ``restore`` (API.md §9; docs/how-to/backup.md): beside a live service, and after its end."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from tests import preloaded
from tests.process import ServiceProcess, service_process

pytestmark = pytest.mark.kills

HEADERS = {"X-API-Key": "agent-key-1"}
BODY = {"question": "Refund order 12345?", "response_type": "confirm", "timeout_seconds": 3600}


def settings(folder: Path) -> dict[str, Any]:
    return {
        "database_url": f"sqlite+aiosqlite:///{folder / 'handraise.db'}",
        "api_keys": [{"name": "refund-agent", "key": "agent-key-1", "roles": ["agent"]}],
        "people": [{"name": "Alice", "email": "alice@example.com"}],
        "email": {"smtp_url": "smtp://127.0.0.1:9", "from": "h@example.com", "default_to": ["alice@example.com"]},
        "suspension": {"default_channel": "email"},
    }


async def handraise(service: ServiceProcess, *arguments: str) -> tuple[int, str]:
    """The command's exit status, and all that it has printed."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
    status, out, err = await preloaded.run([*arguments, "--config", str(service.file)], environ, seconds=120)
    return status, (out + err).decode()


async def ask(service: ServiceProcess, http: httpx.AsyncClient) -> str:
    response = await http.post(f"{service.url}/v1/suspensions", json=BODY, headers=HEADERS)
    assert response.status_code == 201, response.text
    suspension_id: str = response.json()["suspension_id"]
    return suspension_id


async def asking(service: ServiceProcess, acknowledged: list[str]) -> None:
    """Ask without end; remember what was acknowledged."""
    async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
        while True:
            acknowledged.append(await ask(service, http))


def kept(file: Path) -> set[str]:
    engine = sa.create_engine(f"sqlite:///{file}")
    with engine.connect() as conn:
        found = set(conn.scalars(sa.text("SELECT id FROM suspensions")))
    engine.dispose()
    return found


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


async def test_a_backup_under_load_has_every_row_that_was_acknowledged_when_it_began(tmp_path: Path) -> None:
    """And after the service was killed and its files are gone, the service goes on from it."""
    data, copy = tmp_path / "data", tmp_path / "copy"
    data.mkdir()
    acknowledged: list[str] = []
    async with service_process(tmp_path / "service", settings(data)) as service:
        await service.start()
        crowd = [asyncio.create_task(asking(service, acknowledged)) for _ in range(4)]
        while len(acknowledged) < 100:
            await asyncio.sleep(0.01)
        before = list(acknowledged)
        status, said = await handraise(service, "backup", str(copy))
        assert (status, said.startswith(f"ok: {copy}: ")) == (0, True), said
        assert stat.S_IMODE(copy.stat().st_mode) == 0o700
        assert sorted(file.name for file in copy.iterdir()) == ["handraise.db", "handraise.db.key"]
        assert modes(copy) == {0o600}
        status, said = await handraise(service, "restore", str(copy))
        assert (status, "A service runs" in said) == (2, True), said
        await service.kill()
        for task in crowd:
            task.cancel()
        await asyncio.gather(*crowd, return_exceptions=True)
        assert set(before) <= kept(copy / "handraise.db")
        for file in data.iterdir():
            file.unlink()
        status, said = await handraise(service, "restore", str(copy))
        assert (status, said.startswith("ok: ")) == (0, True), said
        assert modes(data) == {0o600}
        await service.start()
        async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
            for suspension_id in before:
                shown = await http.get(f"{service.url}/v1/suspensions/{suspension_id}", headers=HEADERS)
                assert shown.json()["status"] == "open"
            await ask(service, http)


async def test_neither_writes_over_anything(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    data.mkdir()
    async with service_process(tmp_path / "service", settings(data)) as service:
        await service.start()
        async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
            acknowledged = {await ask(service, http) for _ in range(5)}
        assert (await handraise(service, "backup", str(copy)))[0] == 0
        assert kept(copy / "handraise.db") == acknowledged, "also what stands in the write-ahead log alone"
        await service.terminate()
        was = (copy / "handraise.db").read_bytes()
        status, said = await handraise(service, "backup", str(copy))
        assert (status, "never written over" in said) == (2, True), said
        assert (copy / "handraise.db").read_bytes() == was
        status, said = await handraise(service, "restore", str(copy))
        assert (status, "never written over" in said) == (2, True), said
        (data / "handraise.db").unlink()
        (data / "handraise.db.key").write_text("0" * 64)
        status, said = await handraise(service, "restore", str(copy))
        assert (status, "not the key of this backup" in said) == (2, True), said
        assert not (data / "handraise.db").exists()


async def test_a_trail_that_does_not_hold_makes_no_backup(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    data.mkdir()
    async with service_process(tmp_path / "service", settings(data)) as service:
        await service.start()
        async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
            await ask(service, http)
        engine = sa.create_engine(f"sqlite:///{data / 'handraise.db'}")
        with engine.begin() as conn:
            conn.execute(sa.text("UPDATE events SET actor = 'mallory'"))
        engine.dispose()
        status, said = await handraise(service, "backup", str(copy))
    assert (status, "not what was written" in said) == (2, True), said
    assert not copy.exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
