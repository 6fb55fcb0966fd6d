"""Tasks, workflows and their phases, as the server writes them (RFC-0012, RFC-0024)."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field, JsonValue

from handraise.records import Instant, JsonObject, Received


class Task(Received):
    """A task of an intent. ``input`` is what it starts from: for the task of a phase, what earlier phases gave.

    ``suspended_intent_id`` is set while it waits for a person. ``version`` counts its changes.
    """

    id: str
    intent_id: str
    name: str
    status: str
    version: int
    description: str | None = None
    input: JsonObject = Field(default_factory=dict)
    output: JsonObject | None = None
    assigned_agent: str | None = None
    depends_on: tuple[str, ...] = ()
    blocked_reason: str | None = None
    suspended_intent_id: str | None = None
    error: str | None = None
    metadata: JsonObject = Field(default_factory=dict)
    created_by: str | None = None
    created_at: Instant | None = None
    updated_at: Instant | None = None


class WorkflowPhase(Received):
    """One phase of a workflow: an intent, and a task of it. ``status`` is the intent's."""

    name: str
    intent_id: str
    task_id: str
    title: str = ""
    status: str | None = None
    task_status: str | None = None
    depends_on: tuple[str, ...] = ()
    inputs: Mapping[str, str] = Field(default_factory=dict)
    outputs: Mapping[str, JsonValue] = Field(default_factory=dict)
    assigned_agent: str | None = None


class SuspendedPhase(Received):
    """A phase that waits for a person; ``expires_at`` is ``None`` if it does so for ever."""

    phase_name: str
    intent_id: str
    suspended_since: Instant | None = None
    expires_at: Instant | None = None


class WorkflowProgress(Received):
    """How far a workflow has come. ``by_status`` counts the phases' intents."""

    total: int = 0
    by_status: Mapping[str, int] = Field(default_factory=dict)
    completion_percentage: float = 0.0
    suspended_phases: tuple[SuspendedPhase, ...] = ()


class Workflow(Received):
    """A workflow (RFC-0024): its phases, and how far it has come."""

    id: str
    name: str
    phases: tuple[WorkflowPhase, ...] = ()
    description: str | None = None
    created_by: str | None = None
    parent_intent_id: str | None = None
    progress: WorkflowProgress = WorkflowProgress()
    initial_state: JsonObject = Field(default_factory=dict)
    trigger: JsonObject = Field(default_factory=dict)
    metadata: JsonObject = Field(default_factory=dict)
    version: int = 1
    created_at: Instant | None = None
    updated_at: Instant | None = None

    def phase(self, name: str) -> WorkflowPhase:
        """Raises ``KeyError`` if there is no such phase."""
        found = {phase.name: phase for phase in self.phases}
        return found[name]
