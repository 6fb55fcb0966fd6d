"""The configuration that the demo writes for its service: everything on loopback, every secret made up on the spot."""

from __future__ import annotations

import base64
import json
import os
import secrets
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class AgentKey:
    """What an agent needs to ask, and to know that a callback is ours."""

    api_key: str
    callback_secret: str


@dataclass(frozen=True, slots=True)
class Keys:
    """Of everybody who talks to the service's API: the agents by name, and the one who watches."""

    agents: Mapping[str, AgentKey]
    operator: str

    @classmethod
    def make(cls, agents: Iterable[str]) -> Keys:
        def whsec() -> str:
            return f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"

        return cls({name: AgentKey(secrets.token_urlsafe(24), whsec()) for name in agents}, secrets.token_urlsafe(24))


def write_config(folder: Path, port: int, keys: Keys, world: Mapping[str, Any]) -> Path:
    """``handraise.yaml`` in ``folder``, readable by its owner alone. ``world`` is the sandbox's part of it."""
    api_keys: list[dict[str, Any]] = [
        {"name": name, "key": key.api_key, "roles": ["agent"], "webhook_secrets": [key.callback_secret]}
        for name, key in keys.agents.items()
    ]
    api_keys.append({"name": "demo-terminal", "key": keys.operator, "roles": ["operator"]})
    settings = {
        **world,
        "database_url": f"sqlite+aiosqlite:///{folder / 'handraise.db'}",
        "http": {"host": "127.0.0.1", "port": port},
        "api_keys": api_keys,
        "resume": {"allow_networks": ["127.0.0.0/8"]},
    }
    path = folder / "handraise.yaml"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(settings, file, indent=1)  # which is YAML too
    return path


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
