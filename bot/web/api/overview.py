"""What the OpenAPI document says before its operations: the introduction, the tags in the order of a reader, and what a
path's names stand for. Source: API.md §1."""

from __future__ import annotations

INTRODUCTION = """\
Agents ask people, and go on with the answer.

**Begin** with `POST /v1/suspensions`: it asks a person. Then wait with `GET /v1/suspensions/{suspension_id}/wait`, or
be called back (see *webhooks*). `GET /v1/me` says who you are.

**Keys.** Send yours as `X-API-Key`. A key has roles. An `agent` asks, reads and cancels its own. An `operator` reads
all and answers. An `admin` may do everything. What an agent may not read is 404 to it.

**Prefixes.** Every operation under `/v1` is served under `/api/v1` too, where the published `openintent` SDK calls it.

**Errors** all look alike: `{"detail": {"error": "<stable code>", "message": "<one sentence>"}}`. Go by the code. A 422
about fields of the request names each in `fields`.

**Times** are UTC, ISO 8601 with `Z`. Durations are whole seconds from 1 to 31,536,000, and their names end in
`_seconds`. In a request, `null` means that you say nothing.

**Repeating.** With an `Idempotency-Key`, the same request gets its first reply again. The key is kept while the
question is open, and seven days longer. Another body under the same key is 409 `idempotency_conflict`.

**Versions.** Changes of an intent, a task, a plan or a coordinator need `If-Match` with the version that you have read.
Without it they are 428. If somebody has changed it meanwhile, they are 409 with `current_version`.

**Lists** have `limit`, and `cursor` or `offset`. `next_cursor` is `null` on the last page.

**Limits.** A body has at most 1 MiB. Responses may gain fields: ignore those you do not know."""

TAGS: dict[str, str] = {
    "suspensions": "Ask a person, and follow the question until it ends (RFC-0025, RFC-0026).",
    "webhooks": "What agents are sent: how their questions end, and the events that they subscribed to.",
    "answers": "Answer a question, and decide whether to ask one.",
    "insights": "Figures of a period: what was asked, how it ended, how long answers took. For operators.",
    "receipts": "Proof that this action got this answer, used once before it runs.",
    "sessions and callbacks": "Where an agent is called back, its default policy, and callbacks that failed.",
    "streams": "Events as they happen, as server-sent events.",
    "keys": "Who the caller is; revoking keys; links to sign in.",
    "intents": "The agent's piece of work that a question belongs to, and its log (RFC-0001).",
    "agents of an intent": "The members who work on an intent beside its owner (RFC-0001).",
    "leases on an intent": "A part of an intent that one agent has alone for a while (RFC-0003).",
    "graph": "Parts of an intent, and what it depends on (RFC-0002).",
    "tasks": "Bounded pieces of an intent's work (RFC-0012).",
    "plans": "Tasks in order, with checkpoints that a person may have to approve (RFC-0012).",
    "workflows": "Phases that hand values to each other (RFC-0024).",
    "coordinators": "Agents that look after an intent or a portfolio (RFC-0013).",
    "portfolios": "Intents that are looked at together, with a deadline (RFC-0007).",
    "failures and retries": "What is done when an agent fails, and who takes over (RFC-0010).",
    "subscriptions": "Events by webhook (RFC-0006).",
    "pause": "Hold back all new notices, and let them go.",
    "audit": "Export the log with its MACs, and check it. For admins.",
    "mail": "Mails that could not be read. For admins.",
    "configuration": "What clients may know without a key; and reading the configuration again, for admins.",
    "vendors": "Where vendors deliver. Each request carries its vendor's own signature, and no API key.",
    "health": "For load balancers, for whoever restarts processes, and for Prometheus. No API key.",
    "openintent SDK": "Every operation of `/v1` again, under the prefix that the published `openintent` SDK calls. Two"
    " things differ: lists of events leave out types that this SDK does not know, and times of leases have no `Z`.",
}
SDK_TAG = "openintent SDK"

PARAMETERS: dict[str, str] = {
    "agent_id": "The agent: the name of its key. `me` stands for the caller's own.",
    "callback_id": "The callback, as `GET /callbacks` names it.",
    "checkpoint_id": "The checkpoint, as its plan names it.",
    "coordinator_id": "The coordinator.",
    "dependency_id": "The intent that is waited for.",
    "failure_id": "The failure, as `GET /intents/{intent_id}/failures` names it.",
    "intent_id": "The intent.",
    "lease_id": "The lease.",
    "name": "The key's name.",
    "plan_id": "The plan.",
    "portfolio_id": "The portfolio.",
    "session_id": "The session, by a name of the agent's own.",
    "signal_id": "The signal, as the agent named it in `resume.signal_id`.",
    "subscription_id": "The subscription.",
    "suspension_id": "The question's secret id, as asking returned it.",
    "task_id": "The task.",
    "workflow_id": "The workflow.",
}
"""What a name in a path stands for, the same wherever it stands."""
