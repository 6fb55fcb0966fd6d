"""Inputs of phases: whether their sources are done, checked when a task is claimed or a scope is taken.

A phase's task is claimed with all its inputs or not at all. A scope of an intent is refused only if a source of its
inputs waits for a person. This also holds if the published client has made the workflow, and says so in the state.

Source: RFC-0024; RFC-0026 §6; API.md §7; decision 0062.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import sqlalchemy as sa
from pydantic import JsonValue

from core.database.database import Tx
from core.domain.intent import Intent, IntentLink, IntentStatus
from core.domain.wire import JsonObject, instant
from core.errors import DependenciesIncomplete, UnresolvableInput, UpstreamIntentSuspended
from core.openintent.domain.task import Task
from core.openintent.domain.workflow import client_inputs, client_names, resolve_inputs, sources_of
from core.openintent.store import workflows
from core.openintent.store.workflows import PhaseRecord, PhaseUpstream
from core.store import suspensions

ASK_AGAIN = 60
"""Seconds after which it is worth another try: an answer may come at any time."""


def claim_inputs(tx: Tx, intent: Intent, task: Task, now: datetime) -> JsonObject:
    """The inputs of a task of ``intent``, which is locked; empty if it is not a phase's.

    Raises :class:`UpstreamIntentSuspended` if an earlier phase waits for a person, :class:`DependenciesIncomplete` if
    one is just not completed, and :class:`UnresolvableInput` for references that lead to nothing.
    """
    phase = phase_of(tx.conn, intent, task)
    if phase is None:
        return {}
    before = workflows.phases_named(tx.conn, phase.workflow_id, [*phase.depends_on, *sources_of(phase.inputs)])
    _check_none_waits(tx.conn, before, task.id, phase.name, now)
    left: list[JsonValue] = [one.name for one in before if one.status is not IntentStatus.COMPLETED]
    if left:
        raise DependenciesIncomplete("The task can be claimed once the phases before it are completed.", phases=left)
    workflow = workflows.get(tx.conn, phase.workflow_id)
    assert workflow is not None  # noqa: S101 (made with its phases)
    found, missing = resolve_inputs(
        phase.inputs, {one.name: one.outputs for one in before}, workflow.start, intent.state
    )
    if missing:
        raise UnresolvableInput("Not every input of the phase has a value.", unresolvable=[*missing])
    return found


def with_inputs(task: Task, inputs: JsonObject) -> Task:
    """``task`` with its phase's inputs, added to its own."""
    if not inputs:
        return task
    details = task.details or {}
    said = details.get("input")
    return replace(task, details={**details, "input": {**(said if isinstance(said, dict) else {}), **inputs}})


def phase_of(conn: sa.Connection, intent: Intent, task: Task) -> PhaseRecord | None:
    """The phase of this intent and task."""
    phase = workflows.phase_of_intent(conn, intent.id) if intent.links & IntentLink.PHASE else None
    return None if phase is None or phase.task_id != task.id else phase


def check_sources(tx: Tx, intent: Intent, now: datetime) -> None:
    """Raises :class:`UpstreamIntentSuspended` if a source of the inputs of ``intent`` waits for a person."""
    phase = workflows.phase_of_intent(tx.conn, intent.id) if intent.links & IntentLink.PHASE else None
    if phase is not None:
        sources = workflows.phases_named(tx.conn, phase.workflow_id, sources_of(phase.inputs))
        _check_none_waits(tx.conn, sources, phase.task_id, phase.name, now)
        return
    named, names = sources_of(client_inputs(intent.state)), client_names(intent.state)
    if not named:
        return
    upstreams = workflows.titled(tx.conn, intent.depends_on)
    sources = [one for one in upstreams if one.name in named or names.get(one.name) in named]
    _check_none_waits(tx.conn, sources, intent.id, intent.title, now)


def _check_none_waits(
    conn: sa.Connection, upstreams: Sequence[PhaseUpstream], task_id: str, phase_name: str, now: datetime
) -> None:
    for one in upstreams:
        if one.status is IntentStatus.SUSPENDED:
            raise upstream_suspended(conn, task_id, one.intent_id, now, phase_name)


def upstream_suspended(
    conn: sa.Connection, task_id: str, suspended_intent_id: str, now: datetime, phase_name: str | None = None
) -> UpstreamIntentSuspended:
    """The error for a wait for ``suspended_intent_id``. Its time is when the question ends by silence; ``None`` if
    it waits for ever. The message must not have "lease" in it (:class:`core.errors.LeaseHeld`)."""
    found = suspensions.get(conn, suspensions.open_of_intent(conn, suspended_intent_id) or "")
    resumes = None if found is None else found.expires_at
    left = ASK_AGAIN if resumes is None else math.ceil((resumes - now).total_seconds())
    return UpstreamIntentSuspended(
        "An intent that the task needs waits for a person.",
        task_id=task_id,
        phase_name=phase_name,
        suspended_intent_id=suspended_intent_id,
        expected_resume_at=None if resumes is None else instant(resumes),
        retry_after=max(1, min(ASK_AGAIN, left)),
    )
