"""The lock for production: what the service needs, as it is tested, and no tool of development."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENTRY = re.compile(r"(?ms)^([A-Za-z0-9_.-]+)==.*?(?=^[A-Za-z0-9]|\Z)")
NAME = re.compile(r"[A-Za-z0-9_.-]+")


def entries(lock: str) -> dict[str, str]:
    """Each package's pinned version and hashes, by its name; not why it is there, nor on which systems alone."""
    found = {match[1]: match[0] for match in ENTRY.finditer((ROOT / lock).read_text())}
    return {name: re.sub(r"(?m)^\s+#.*\n?| ;[^\\]*(?= \\)", "", text) for name, text in found.items()}


def named(requirements: list[str]) -> set[str]:
    found = (NAME.match(one) for one in requirements)
    return {match[0].lower().replace("_", "-") for match in found if match is not None}


def test_it_has_just_what_was_tested_with_every_hash() -> None:
    production, whole = entries("requirements-prod.lock"), entries("requirements.lock")
    assert production.items() <= whole.items()
    assert all("--hash=sha256:" in text for text in production.values())


def test_it_has_all_that_the_service_needs_and_no_tool_of_development() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needed = named(project["project"]["dependencies"])
    extras = project["project"]["optional-dependencies"]
    for_tests = named(extras.pop("testing"))
    for extra in extras.values():
        needed |= named(extra)
    tools = for_tests | named([one for one in project["dependency-groups"]["dev"] if isinstance(one, str)])
    production = set(entries("requirements-prod.lock"))
    ours = {"handraise", "handraise-server"}
    assert needed - ours <= production
    assert not (tools - needed - ours - {"setuptools"}) & production
