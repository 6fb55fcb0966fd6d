"""``deploy/handraise.service``: what systemd's own tools say of it, and the service inside its filter.

systemd is not the init where the tests run, so the unit itself is not started.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
import yaml

from tests.deploy import manifests, sandbox
from tests.patience import PATIENCE
from tests.ports import free_port
from tests.world import KEYS, config

pytestmark = pytest.mark.deployment

UNIT = manifests.DEPLOY / "handraise.service"
HANDRAISE = Path(sys.executable).parent / "handraise"
HIGHEST = 20
"""Tenths of systemd's measure of exposure, from 0 to 10."""


def _analyze(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    if shutil.which("systemd-analyze") is None:
        raise RuntimeError("these tests need systemd-analyze, of Debian's package systemd (`make deployment`)")
    return subprocess.run(["systemd-analyze", *arguments], check=False, capture_output=True, text=True)


def test_systemd_finds_nothing_wrong_with_it(tmp_path: Path) -> None:
    """With our venv's ``handraise``: systemd looks whether the program is there."""
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/handraise/bin/handraise", str(HANDRAISE)))
    said = _analyze("verify", "--recursive-errors=no", unit)
    assert (said.returncode, said.stdout + said.stderr) == (0, "")


def test_it_is_hardly_exposed() -> None:
    said = _analyze("security", "--offline=yes", f"--threshold={HIGHEST}", "--no-pager", UNIT)
    assert said.returncode == 0, said.stdout


async def test_the_service_works_inside_its_filter(tmp_path: Path) -> None:
    """What the filter refuses to a program would otherwise show on a machine of yours."""
    port = free_port()
    settings = config(f"sqlite+aiosqlite:///{tmp_path}/handraise.db", {"http": {"port": port}})
    settings["email"] = {
        "smtp_url": f"smtp://127.0.0.1:{free_port()}",
        "from": "handraise@example.com",
        "default_to": ["alice@example.com"],
    }
    settings["suspension"] = {"default_channel": "email"}
    file, log = tmp_path / "handraise.yaml", tmp_path / "log"
    file.write_text(yaml.safe_dump(settings))
    command = [sys.executable, "-I", sandbox.__file__, UNIT, HANDRAISE, "serve", "--config", file]
    with log.open("wb") as out:
        service = await asyncio.create_subprocess_exec(*map(str, command), cwd=tmp_path, stdout=out, stderr=out)
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http:
            await _ready(http, service, log)
            asked = await _asked(http)
            body = {"suspension_id": asked["suspension_id"], "value": "approve"}
            path, operator = f"/v1/intents/{asked['intent_id']}/suspend/respond", {"X-API-Key": KEYS["operator"]}
            assert (await http.post(path, json=body, headers=operator)).status_code == 200
        kernel = Path(f"/proc/{service.pid}/status").read_text()
        assert re.findall(r"(?m)^(?:NoNewPrivs|Seccomp):\s+(\d)$", kernel) == ["1", "2"], "it is filtered"
        service.terminate()
        async with asyncio.timeout(PATIENCE):
            assert await service.wait() == 0
    finally:
        if service.returncode is None:
            service.kill()
            await service.wait()


async def _ready(http: httpx.AsyncClient, service: asyncio.subprocess.Process, log: Path) -> None:
    async with asyncio.timeout(PATIENCE * 4):
        while True:
            try:
                if (await http.get("/readyz")).status_code == 200:
                    return
            except httpx.TransportError:
                assert service.returncode is None, log.read_text()
            await asyncio.sleep(0.05)


async def _asked(http: httpx.AsyncClient) -> dict[str, str]:
    body = {"question": "Refund order 12345?", "choices": ["approve", "deny"]}
    response = await http.post("/v1/suspensions", json=body, headers={"X-API-Key": KEYS["agent"]})
    assert response.status_code == 201, response.text
    asked: dict[str, str] = response.json()
    return asked


def test_the_filter_refuses_what_the_unit_does() -> None:
    allowed = sandbox.system_calls(sandbox.settings_of(UNIT)["SystemCallFilter"])
    assert {"read", "execve", "epoll_wait", "prlimit64"} <= allowed
    assert allowed.isdisjoint({"mount", "ptrace", "init_module", "reboot", "setrlimit", "chroot", "bpf"})
