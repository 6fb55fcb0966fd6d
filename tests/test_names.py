"""One name, one thing: no public class and no module shares its name with another, unless a table here says why.

The tables list every folder (for a class: every file) that the name may stand in. A further one has to be added with a
reason, or to get a name of its own.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
TREES = ("bot", "core", "channels", "sdk/handraise")

SDK = "the SDK's form of the same thing; it imports nothing of the service"
VENDOR = "the same role for each vendor"
PRETEND = "the vendor's own word in its sandbox, beside our side of the same thing"
LAYERS = "one subject in several layers"

CLASSES: Mapping[str, tuple[str, str]] = {
    "ActionReport": (SDK, "core/domain sdk/handraise"),
    "ActionView": ("the action, for the templates of mails and for those of pages", "bot/web/pages channels/email"),
    "AlreadyDenied": (SDK, "core sdk/handraise"),
    "Claim": (SDK, "core/domain sdk/handraise"),
    "Clarification": (SDK, "core/domain sdk/handraise"),
    "Door": ("a way in, and the demo page's own", "bot/sandbox/page bot/vendors"),
    "EarlierAnswer": (SDK, "core/domain sdk/handraise"),
    "EngagementDecision": (SDK, "core/domain sdk/handraise"),
    "EngagementSignals": (SDK, "core/domain sdk/handraise"),
    "FieldProblem": (SDK, "bot/web/api sdk/handraise"),
    "Finding": ("what was found: by doctor, and in a text that is redacted", "bot/doctor core/domain/redaction"),
    "GivenAnswer": (SDK, "core/domain sdk/handraise"),
    "HandraiseError": (SDK, "core sdk/handraise"),
    "HumanRetryPolicy": (SDK, "core/domain sdk/handraise"),
    "Intent": (SDK, "core/domain sdk/handraise"),
    "Message": (
        "Slack's own word for what its sandbox keeps, and a short message of ours",
        "bot/sandbox/slack core/domain",
    ),
    "PlannedAttempt": (SDK, "core/domain sdk/handraise"),
    "PreviewProblem": (SDK, "bot/web/api sdk/handraise"),
    "Service": ("PagerDuty's own word in its sandbox, and the whole of ours", "bot/sandbox/pagerduty bot/wiring"),
    "SuspensionError": (SDK, "core sdk/handraise/suspension"),
    "SuspendedPhase": (SDK, "bot/web/openintent sdk/handraise"),
    "Task": (SDK, "core/openintent/domain sdk/handraise"),
    "User": ("each vendor's own word in its sandbox", "bot/sandbox/pagerduty bot/sandbox/slack"),
    "Workflow": (SDK, "core/openintent/store sdk/handraise"),
    "WorkflowProgress": (SDK, "bot/web/openintent sdk/handraise"),
}
"""Name: the reason, and the folders that it may stand in, once each."""

MODULES: Mapping[str, tuple[str, str]] = {
    "admin": ("what an admin does: the command, the route", "bot/web/api sdk/handraise/cli"),
    "answer": ("answering: the page, the command", "bot/web/pages sdk/handraise/cli"),
    "answers": (
        "what a way in does with an answer, and what an answer is",
        "bot/inbound/mail bot/inbound/pagerduty bot/inbound/slack bot/web/api core/domain",
    ),
    "app": (
        "the application: ours, the pretend ones, what Slack calls so, and the command line's",
        "bot bot/inbound/slack bot/sandbox/page bot/sandbox/pagerduty bot/sandbox/slack sdk/handraise/cli",
    ),
    "audit": ("the audit trail: the command, the route", "bot/web/api sdk/handraise/cli"),
    "channel": (VENDOR, "channels/email channels/pagerduty channels/slack"),
    "channels": ("what core knows of channels, and their commands", "bot/commands core/domain"),
    "client": (
        "whoever speaks HTTP to another: to agents, to Slack, to this service",
        "bot/callbacks channels/slack sdk/handraise sdk/handraise/cli",
    ),
    "command": ("Slack's /handraise: what is done, what is shown", "bot/inbound/slack channels/slack"),
    "configuration": ("the configuration: the command, and doctor's check", "bot/commands bot/doctor"),
    "coordinators": (LAYERS, "bot/web/openintent core/openintent/containers core/openintent/store"),
    "earlier_answers": (LAYERS, "core/domain core/engine"),
    "errors": (
        "the errors of a layer",
        "bot/web channels/slack core sdk/handraise sdk/handraise/harness sdk/handraise/suspension",
    ),
    "events": ("what a vendor tells of", "bot/inbound/pagerduty channels/slack"),
    "forms": (
        "a form: what it is, and how each way in reads it",
        "bot/web/pages channels/grammar channels/slack core/domain",
    ),
    "graph": (LAYERS, "bot/web/openintent core/openintent/containers"),
    "home": ("Slack's App Home: what is done, what is shown", "bot/inbound/slack channels/slack"),
    "idempotency": (LAYERS, "core core/store"),
    "identity": (
        "who somebody is in the directory, by what a vendor or a provider says",
        "bot/inbound/mail bot/inbound/pagerduty bot/inbound/slack bot/openid",
    ),
    "insights": (
        "figures of a period: their parts, their counting, who may have them, the route, the page",
        "bot/web/api bot/web/pages core/domain core/engine core/store",
    ),
    "imap": ("the mailbox: the protocol, and when it is looked at", "bot/inbound/mail channels/email"),
    "inbox": (
        "what waits for one person; and what every mail that comes in goes through",
        "bot/inbound/mail bot/vendors bot/web/api bot/web/pages core/engine core/store",
    ),
    "incidents": ("PagerDuty's incidents: written to, told of, kept", "channels/pagerduty core/inbound core/store"),
    "intent_leases": (LAYERS, "bot/web/openintent core/openintent/intents core/openintent/store"),
    "intents": (LAYERS, "bot/web/openintent core/openintent/intents core/store"),
    "keys": ("API keys: the command, and who has which", "bot bot/commands"),
    "limits": ("what is the most: of a request, of a Slack message", "bot/front channels/slack"),
    "manifest": ("what a backup holds, and what Slack's app may do", "bot/commands/backups channels/slack"),
    "members": (LAYERS, "bot/web/openintent core/openintent/intents"),
    "plans": (LAYERS, "bot/web/openintent core/openintent/containers core/openintent/store"),
    "tables": ("the tables of asking, and those of its wing", "core/openintent/store core/store"),
    "tasks": (LAYERS, "bot/web/openintent core/openintent/intents core/openintent/propagation core/openintent/store"),
    "on_call": ("who is on call: asked of PagerDuty, and when a message is sent", "bot/people core/delivery"),
    "outages": (LAYERS, "core/engine core/store"),
    "outcomes": (
        "what came of it: of a click in Slack, of a run in the SDK",
        "bot/inbound/slack sdk/handraise/suspension",
    ),
    "people": ("people: in the directory, and in Slack", "channels/slack core/domain"),
    "portfolios": (LAYERS, "bot/web/openintent core/openintent/containers core/openintent/store"),
    "receipts": (LAYERS, "bot/web/api core/engine"),
    "reception": ("what became of an answer: its cases, and how they are told apart", "core/domain core/engine"),
    "render": (VENDOR, "channels/email channels/pagerduty channels/slack"),
    "rest": (PRETEND, "bot/sandbox/pagerduty channels/pagerduty"),
    "service": ("the service: wired, and as the demo starts it", "bot/demo bot/wiring"),
    "sessions": (
        "an agent's sessions: the route, the SQL, the SDK's store",
        "bot/web/api core/store sdk/handraise/suspension",
    ),
    "signature_lines": (LAYERS, "core/domain core/engine core/store"),
    "slack": ("what Slack is to the rest, and what doctor asks about it", "bot/doctor bot/vendors"),
    "socket": (PRETEND, "bot/sandbox/slack channels/slack"),
    "streams": ("event streams: served, and read", "bot/web/api sdk/handraise"),
    "subscriptions": (LAYERS, "bot/web/openintent core/openintent/intents core/openintent/store"),
    "suspensions": (LAYERS, "bot/web/api core/store"),
    "texts": (VENDOR, "bot/inbound/mail bot/inbound/pagerduty"),
    "tokens": (LAYERS, "core/domain core/store"),
    "webhook": (VENDOR, "bot/inbound/mail bot/inbound/pagerduty"),
    "webhooks": (PRETEND, "bot/sandbox/pagerduty channels/pagerduty"),
    "workflows": (LAYERS, "bot/web/openintent core/openintent/containers core/openintent/store"),
    "world": (
        "the state of each sandbox, and all of them together",
        "bot/sandbox bot/sandbox/pagerduty bot/sandbox/slack",
    ),
}
"""Name: the reason, and the folders that it may stand in."""


def _files() -> list[Path]:
    return sorted(path for tree in TREES for path in (ROOT / tree).rglob("*.py"))


def _folder(path: Path) -> str:
    return str(path.parent.relative_to(ROOT))


def _twice(where: Mapping[str, list[str]]) -> dict[str, str]:
    return {name: " ".join(sorted(folders)) for name, folders in where.items() if len(folders) > 1}


def _allowed(table: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    return {name: folders for name, (_, folders) in table.items()}


def test_a_public_class_has_a_name_of_its_own() -> None:
    where: dict[str, list[str]] = defaultdict(list)
    for path in _files():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where[node.name].append(_folder(path))
    assert _twice(where) == _allowed(CLASSES)


def test_a_module_has_a_name_of_its_own() -> None:
    where: dict[str, list[str]] = defaultdict(list)
    for path in _files():
        if not path.stem.startswith("__"):
            where[path.stem].append(_folder(path))
    assert _twice(where) == _allowed(MODULES)
