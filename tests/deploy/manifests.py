"""What stands in ``deploy/``, read as Compose and Kubernetes read it."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
SCHEMAS = Path(__file__).parent / "schemas"

GIVEN = {"POSTGRES_PASSWORD": "secret", "PUBLIC_URL": "https://handraise.example.com"}
"""What ``.env`` has to hold."""

SECRETS = {"HANDRAISE_SECRET_KEY": secrets.token_hex(32)}
"""What ``secrets.env`` has to hold."""

_VARIABLE = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")


def compose(variables: Mapping[str, str] = GIVEN) -> dict[str, Any]:
    """``compose.yaml`` with its variables filled in; raises ``KeyError`` if one that it needs is not given."""

    def value(found: re.Match[str]) -> str:
        name, kind, text = found.groups()
        return variables.get(name, text) if kind == "-" else variables[name]

    text = re.sub(r"(?m)^\s*#.*$", "", (DEPLOY / "compose.yaml").read_text())
    loaded: dict[str, Any] = yaml.safe_load(_VARIABLE.sub(value, text))
    return loaded


def our_services() -> dict[str, Any]:
    """Compose's services that run our image, by name."""
    return {name: one for name, one in compose()["services"].items() if one["image"].startswith("handraise")}


def kubernetes() -> list[dict[str, Any]]:
    """The objects of ``kubernetes.yaml``."""
    return list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each pod's specification, by the name of what makes it."""
    for one in kubernetes():
        if one["kind"] in {"Deployment", "Job"}:
            yield one["metadata"]["name"], one["spec"]["template"]["spec"]


@cache
def schema(name: str) -> dict[str, Any]:
    """One of ``schemas/``."""
    loaded: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_text())
    return loaded


def schema_of(kind: str) -> dict[str, Any]:
    """Kubernetes' schema of one kind."""
    everything = schema("kubernetes")
    [name] = [name for name in everything["$defs"] if name.split(".")[-1] == kind]
    return {**everything, "$ref": f"#/$defs/{name}"}


PLAYED = ("build", "service")
"""The stages of the Dockerfile that a test plays; ``tools`` would install a package of Debian's on this machine."""


def instructions(*stages: str) -> Iterator[tuple[str, str]]:
    """What the Dockerfile says in these stages, :data:`PLAYED` if none is named, each on one line."""
    stage = ""
    for name, arguments in _lines():
        if name == "FROM":
            stage = arguments.partition(" AS ")[2]
        elif stage in (stages or PLAYED):
            yield name, arguments


def is_sent_to_docker(path: str) -> bool:
    """Whether ``docker build`` can copy a file: the last line of ``.dockerignore`` that fits it, or a folder of it,
    decides."""
    names = [path, *(str(folder) for folder in Path(path).parents[:-1])]
    sent = True
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern = re.escape(line.removeprefix("!")).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
            if any(re.fullmatch(pattern, name) for name in names):
                sent = line.startswith("!")
    return sent


def base_of_the_default() -> str:
    """What the last stage, which Docker builds if it is told nothing else, is made from."""
    return [arguments for name, arguments in _lines() if name == "FROM"][-1]


def _lines() -> Iterator[tuple[str, str]]:
    text = re.sub(r"(?m)^\s*#.*\n", "", (DEPLOY / "Dockerfile").read_text()).replace("\\\n", "")
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, arguments = line.partition(" ")
        yield name, arguments.strip()


def image_variables() -> dict[str, str]:
    """``ENV`` of the service's stage."""
    said = [arguments.split() for name, arguments in instructions("service") if name == "ENV"]
    return dict(pair.split("=", 1) for pairs in said for pair in pairs)
