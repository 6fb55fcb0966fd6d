"""What is built from the tree, whole: both wheels, both source distributions, the SDK by itself, and the image's steps
played by hand.

The image is installed in a bare venv, from the lock with hashes, and serves from an empty folder.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.deploy.image import ROOT, PlayedImage, copy_tracked, tracked
from tests.patience import PATIENCE
from tests.ports import free_port

pytestmark = pytest.mark.slow

PACKAGES = {
    "handraise_server": ("", ("bot", "core", "channels", "sdk/testing/handraise_testing")),
    "handraise": ("sdk", ("sdk/handraise",)),
}
"""By the distribution's name: the folder that it is built in, and the packages that it consists of."""

OF_THE_SDK = {
    *("pip", "setuptools", "handraise", "httpx", "httpcore", "h11", "anyio", "sniffio", "idna", "certifi"),
    *("pydantic", "pydantic_core", "annotated-types", "typing_extensions", "typing-inspection"),
}
"""All that a venv has after ``pip install handraise``."""

IMPORTING = """
import pkgutil
from handraise import Handraise, HandraiseSync, ResumeReceiver, needs_approval, verify_callback
assert not {one.name for one in pkgutil.iter_modules()} & {"bot", "core", "channels", "sqlalchemy", "fastapi", "typer"}
"""
"""What agents use comes from it, and there is nothing of the server's to import."""

ASKING = """
from handraise import HandraiseSync
with HandraiseSync() as people:
    print(people.request_input("Refund order 12345?", choices=["approve", "deny"], timeout_seconds=3600))
"""


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that everybody may enter, on the disk: ``/dev/shm`` is not for programs."""
    made = Path(tempfile.mkdtemp(prefix="packages-", dir="/tmp"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def dist(folder: Path) -> Path:
    """What ``make dist`` makes, of a fresh clone."""
    copy_tracked(folder / "clone")
    for where, _ in PACKAGES.values():
        build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", folder / "clone" / where]
        subprocess.run(build, check=True, capture_output=True)
    return folder / "dist"


@pytest.fixture(scope="module")
def sdk(folder: Path, dist: Path) -> Path:
    """The Python of a fresh venv into which the SDK's wheel alone was installed, with what it needs of the lock."""
    python = folder / "sdk" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", folder / "sdk"], check=True)
    [wheel] = dist.glob("handraise-[0-9]*.whl")
    pins = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if line[:1].isalnum()]
    (folder / "constraints.txt").write_text("\n".join(line.removesuffix("\\") for line in pins))
    install = [python, "-m", "pip", "install", "--quiet", "--constraint", folder / "constraints.txt", wheel]
    subprocess.run(install, check=True)
    return python


@pytest.fixture(scope="module")
def image(folder: Path) -> PlayedImage:
    played = PlayedImage(folder / "image")
    played.build()
    return played


def _wheel(folder: Path, name: str) -> dict[str, bytes]:
    [file] = folder.glob(f"{name}-[0-9]*.whl")
    with zipfile.ZipFile(file) as wheel:
        return {path: wheel.read(path) for path in wheel.namelist()}


def _version(folder: Path, name: str) -> str:
    """As its wheel says."""
    [about] = [text for path, text in _wheel(folder, name).items() if path.endswith(".dist-info/METADATA")]
    return re.findall(r"(?m)^Version: (\S+)$", about.decode())[0]


@pytest.mark.parametrize("name", PACKAGES)
def test_a_wheel_holds_every_file_of_its_packages_and_no_other(dist: Path, name: str) -> None:
    _, packages = PACKAGES[name]
    wanted = {re.sub(r"^sdk/(testing/)?", "", path) for path in tracked(*packages)}
    assert {path for path in _wheel(dist, name) if ".dist-info/" not in path} == wanted


@pytest.mark.parametrize("name", PACKAGES)
def test_a_wheel_has_its_licence_and_says_whom_to_tell_of_a_hole(dist: Path, name: str) -> None:
    about = {path.partition(".dist-info/")[2]: text for path, text in _wheel(dist, name).items()}
    assert about["licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()
    assert about["licenses/SECURITY.md"] == (ROOT / "SECURITY.md").read_bytes()
    assert "License-Expression: Apache-2.0\n" in about["METADATA"].decode()


@pytest.mark.parametrize("name", PACKAGES)
def test_a_source_distribution_has_them_too_and_nothing_that_is_not_in_git(dist: Path, name: str) -> None:
    [file] = dist.glob(f"{name}-[0-9]*.tar.gz")
    with tarfile.open(file) as archive:
        held = {one.name.partition("/")[2] for one in archive.getmembers() if one.isfile()}
    where, _ = PACKAGES[name]
    assert {"LICENSE", "SECURITY.md", "README.md", "pyproject.toml"} <= held
    ours = {path.removeprefix(f"{where}/") for path in tracked(where or ".")}
    assert {path for path in held - ours if ".egg-info/" not in path} == {"PKG-INFO", "setup.cfg"}


@pytest.mark.parametrize("name", PACKAGES)
def test_the_image_has_the_same_wheels(dist: Path, image: PlayedImage, name: str) -> None:
    assert _wheel(image.root / "wheels", name) == _wheel(dist, name)


def test_the_lock_has_all_that_the_wheels_need(image: PlayedImage) -> None:
    check = [sys.executable, "-m", "pip", "--python", image.python, "check"]
    subprocess.run(check, check=True)


def test_the_sdk_alone_is_what_an_agent_needs_and_brings_nothing_of_the_server(sdk: Path) -> None:
    brought = subprocess.run([sdk, "-m", "pip", "list", "--format=freeze"], check=True, capture_output=True, text=True)
    assert {line.partition("==")[0] for line in brought.stdout.splitlines()} <= OF_THE_SDK
    subprocess.run([sdk, "-Ic", IMPORTING], check=True)


def test_an_adapter_brings_its_framework_and_nothing_of_the_server(folder: Path, dist: Path) -> None:
    [wheel] = dist.glob("handraise-[0-9]*.whl")
    python = folder / "langgraph" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", folder / "langgraph"], check=True)
    pins = ROOT / "tests/adapters/requirements/first.txt"
    constraints = [line.partition(" ")[0] for line in pins.read_text().splitlines() if line[:1].isalnum()]
    (folder / "pins.txt").write_text("\n".join(constraints))
    install = [python, "-m", "pip", "install", "--quiet", "--constraint", folder / "pins.txt", f"{wheel}[langgraph]"]
    subprocess.run(install, check=True)
    subprocess.run([python, "-Ic", f"{IMPORTING}\nimport handraise.adapters.langgraph"], check=True)
    loaded = "import sys, handraise; from handraise import Handraise, needs_approval; print('langgraph' in sys.modules)"
    said = subprocess.run([python, "-Ic", loaded], check=True, capture_output=True, text=True)
    assert said.stdout == "False\n", "importing the SDK imports no framework"


def test_the_mcp_server_brings_nothing_of_the_server_and_starts(folder: Path, dist: Path, sdk: Path) -> None:
    python = folder / "mcp" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", folder / "mcp"], check=True)
    [wheel] = dist.glob("handraise-[0-9]*.whl")
    pip = [python, "-m", "pip"]
    subprocess.run(
        [*pip, "install", "--quiet", "--constraint", folder / "constraints.txt", f"{wheel}[mcp]"], check=True
    )
    brought = subprocess.run([*pip, "list", "--format=freeze"], check=True, capture_output=True, text=True).stdout
    names = {line.partition("==")[0].lower() for line in brought.splitlines()}
    assert {"handraise", "mcp", "typer"} <= names
    assert not names & {"handraise-server", "fastapi", "sqlalchemy", "slack-bolt", "alembic", "psycopg"}
    said = subprocess.run([python.parent / "handraise", "mcp"], env={}, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (2, "")
    assert "HANDRAISE_API_KEY" in said.stderr


def test_both_distributions_are_of_one_release(dist: Path, image: PlayedImage, sdk: Path) -> None:
    assert len({re.split("-", path.name)[1].removesuffix(".tar.gz") for path in dist.iterdir()}) == 1
    [release] = {_version(dist, name) for name in PACKAGES}
    assert f"## [{release}] - " in (ROOT / "CHANGELOG.md").read_text()
    said = subprocess.run(
        [image.python, "-Im", "handraise", "--version"], cwd=image.root, check=True, capture_output=True, text=True
    )
    assert said.stdout.splitlines() == [f"handraise {release}", f"handraise-server {release}"]


async def test_the_image_serves_from_an_empty_folder_and_the_sdk_alone_asks_a_question_that_is_answered(
    image: PlayedImage, dist: Path, sdk: Path
) -> None:
    port = free_port()
    settings = {
        "HANDRAISE_HTTP__PORT": str(port),
        "HANDRAISE_PUBLIC_URL": "https://handraise.example.com",
        "HANDRAISE_SECRET_KEY": secrets.token_hex(32),
        "HANDRAISE_DATABASE_URL": f"sqlite+aiosqlite:///{image.state}/handraise.db",
        "HANDRAISE_EMAIL__SMTP_URL": f"smtp://127.0.0.1:{free_port()}",  # nobody there: the mail waits, the API answers
        "HANDRAISE_EMAIL__FROM": "handraise@example.com",
        "HANDRAISE_EMAIL__DEFAULT_TO": "alice@example.com",
        "HANDRAISE_EMAIL__INBOUND_SECRET": secrets.token_hex(32),
    }
    environ, log = image.environ(**settings), image.root / "log"
    assert image.check_health(environ) != 0, "nothing runs yet"
    service = image.start("serve", environ=environ, log=log)
    asking = None
    try:
        await _healthy(image, environ, service, log)
        keys = {role: _key(image, environ, name, role) for name, role in _NAMES.items()}
        assert await _described_version(f"http://127.0.0.1:{port}") == _version(dist, "handraise_server")
        client = {"HANDRAISE_URL": f"http://127.0.0.1:{port}", "HANDRAISE_API_KEY": keys["agent"], "NO_PROXY": "*"}
        asking = await asyncio.create_subprocess_exec(
            sdk, "-Ic", ASKING, cwd=image.state, env=client, stdout=subprocess.PIPE
        )
        await _answer(client["HANDRAISE_URL"], keys["operator"])
        async with asyncio.timeout(PATIENCE):
            said, _ = await asking.communicate()
        assert (asking.returncode, said) == (0, b"approve\n")
        service.send_signal(signal.SIGTERM)
        assert service.wait(30) == 0
    finally:
        service.kill()
        service.wait()
        if asking is not None and asking.returncode is None:
            asking.kill()
            await asking.communicate()
    assert sorted(path.name for path in (image.root / "etc" / "handraise").iterdir()) == []
    if os.geteuid() == 0:
        uid = image.state.stat().st_uid
        owned = [path for path in image.root.rglob("*") if path.lstat().st_uid == uid and path != image.state]
        assert {path.parent for path in owned} == {image.state}, "it writes where it may, and nowhere else"


_NAMES = {"refund-agent": "agent", "alice@example.com": "operator"}


async def _healthy(image: PlayedImage, environ: dict[str, str], service: subprocess.Popen[bytes], log: Path) -> None:
    async with asyncio.timeout(PATIENCE * 4):
        while await asyncio.to_thread(image.check_health, environ) != 0:
            assert service.poll() is None, log.read_text()


async def _described_version(url: str) -> str:
    """Of the service, as ``/openapi.json`` has it."""
    async with httpx.AsyncClient(base_url=url, trust_env=False) as http:
        return str((await http.get("/openapi.json")).json()["info"]["version"])


def _key(image: PlayedImage, environ: dict[str, str], name: str, role: str) -> str:
    """A key that ``handraise keys create`` makes, as ``docker compose exec`` would run it."""
    out = image.root / f"key-{role}"
    made = image.start("keys", "create", name, "--role", role, environ=environ, log=out)
    assert made.wait(60) == 0, out.read_text()
    return re.findall(r"(?m)^api key +(\S+)$", out.read_text())[0]


async def _answer(url: str, key: str) -> None:
    """Answer the one question that waits, as soon as it does."""
    async with httpx.AsyncClient(base_url=url, headers={"X-API-Key": key}, trust_env=False) as http:
        async with asyncio.timeout(PATIENCE * 2):
            while not (found := (await http.get("/v1/suspensions")).json().get("items")):
                await asyncio.sleep(0.05)
        [asked] = found
        body = {"suspension_id": asked["id"], "value": "approve"}
        answered = await http.post(f"/v1/intents/{asked['intent_id']}/suspend/respond", json=body)
        assert answered.status_code == 200, answered.text
