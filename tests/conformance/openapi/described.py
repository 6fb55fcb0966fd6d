"""Runs of schemathesis over the document that a whole service serves, on loopback, with people and questions in it.

The service runs in a thread of its own, on the event loop that it has in production; schemathesis is not async. Nothing
is switched off: every check, every phase (examples, coverage, fuzzing, stateful), every operation but the streams.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import schemathesis
from anyio.from_thread import BlockingPortal, start_blocking_portal
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.failures import Failure
from schemathesis.engine import events, from_schema
from schemathesis.schemas import BaseSchema

from tests.conformance.openapi.callers import InTurn, sign
from tests.conformance.openapi.excused import is_excused
from tests.conformance.openapi.things import Ids, furnish
from tests.world import KEYS, World, running

load_all_checks()
EVERY_CHECK = set(CHECKS.get_all_names())
STREAMS = r"/(events/stream|subscribe)$"
"""They never end."""


@dataclass
class Report:
    """What a run has found. ``statuses`` counts the replies of each operation."""

    failures: list[str] = field(default_factory=list)
    statuses: dict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    checks: Counter[str] = field(default_factory=Counter)
    excused: int = 0

    @property
    def refused_always(self) -> set[str]:
        """Operations that never said yes, or were never tried: what they say then has not been looked at."""
        return {label for label, seen in self.statuses.items() if not any(200 <= status < 300 for status in seen)}


@dataclass(frozen=True)
class Described:
    """A running service, and what is in it."""

    world: World
    portal: BlockingPortal
    ids: Ids
    folder: Path

    def run(
        self,
        paths: str,
        most: int,
        storyteller: str = "admin",
        peers: Sequence[str] = (),
        without: Sequence[str] = (),
    ) -> Report:
        """Everything that the document says of ``paths`` (a regular expression), with ``most`` made-up requests for
        each operation, but for the phases ``without``. With ``peers``, they send all of it, and none may be shown what
        is another's.
        """
        settings = _settings(self.ids, most)
        settings["phases"] = {name: {"enabled": False} for name in without}
        if peers:
            settings["auth"] = {"wfc": {"path": str(self._key_file(peers)), "peers": list(peers)}}
            del settings["parameters"]  # whose a thing is, is known of those alone that a peer has made or found
        schema = schemathesis.openapi.from_url(
            f"{self.world.url}/openapi.json", config=schemathesis.Config.from_dict(settings)
        )
        schema = schema.include(path_regex=paths).exclude(path_regex=STREAMS)
        report = Report()
        for label in _operations(schema.raw_schema["paths"], paths):
            report.statuses[label] = Counter()
        _excuse(schema, report)
        _begin_with_what_works(schema, self.ids)
        sign(schema, self.world)
        if not peers:
            schema.auth.providers.append(InTurn(storyteller))
        for event in from_schema(schema).execute():
            _read(event, report)
        return report

    def _key_file(self, roles: Sequence[str]) -> Path:
        """The keys, as schemathesis reads them from a Web Fuzzing Commons file."""
        file = self.folder / "keys.json"
        keys = [{"name": role, "fixedHeaders": [{"name": "X-API-Key", "value": KEYS[role]}]} for role in roles]
        file.write_text(json.dumps({"auth": keys}))
        return file


@contextmanager
def described(folder: Path) -> Iterator[Described]:
    """A service in the background. It is told that it is closing, so that ``wait`` never keeps anybody waiting."""
    database = f"sqlite+aiosqlite:///{folder}/handraise.db"
    with (
        start_blocking_portal(backend_options={"use_uvloop": True}) as portal,
        portal.wrap_async_context_manager(running(folder, database)) as world,
    ):
        ids = portal.call(furnish, world)
        world.service.services.running.closing.set()
        yield Described(world, portal, ids, folder)


def _operations(described: Mapping[str, Any], paths: str) -> Iterator[str]:
    """All that has to be tried, read off the document itself."""
    for path, verbs in described.items():
        if re.search(paths, path) and not re.search(STREAMS, path):
            yield from (f"{verb.upper()} {path}" for verb in verbs)


def _settings(ids: Ids, most: int) -> dict[str, Any]:
    """What would stand in schemathesis' own configuration file."""
    values = {
        "path.suspension_id": ids.suspensions,
        "path.intent_id": ids.intents,
        "path.session_id": ["sess-1"],
        "path.agent_id": ["refund-agent", "other-agent", "root"],
        "path.callback_id": ids.callbacks,
        "path.task_id": ids.tasks,
        "path.plan_id": ids.plans,
        "path.checkpoint_id": ids.checkpoints,
        "path.portfolio_id": ids.portfolios,
        "path.lease_id": ids.leases,
        "path.failure_id": [failure for _, failure in ids.failures],
        "path.subscription_id": ids.subscriptions,
        "path.digest": [ids.unreadable],
        "path.signal_id": ids.signals,
        "path.name": ids.spare_keys,
        "path.dependency_id": ids.upstreams,
        "body.dependency_id": ids.upstreams,
        "header.If-Match": ["1", '"1"', 'W/"1"', "2"],
        "body.suspension_id": list(ids.questions),
        "body.value": ["approve"],
        "body.status": ["active", "abandoned"],
        "body.channel_hint": ["slack", "email", "pagerduty"],
        "body.notify_to": ["alice@example.com", "group:finance", "slack:C0OPS"],
    }
    return {
        "seed": 1,
        "cache": {"enabled": False},  # what one run has learned would change the next
        "continue-on-failure": True,
        "suppress-health-check": ["all"],  # they are about how long it takes
        "dictionaries": {name: {"values": list(some)} for name, some in values.items()},
        "parameters": {name: {"dictionary": name, "probability": 0.8} for name in values},
        "generation": {"deterministic": True, "max-examples": most, "database": "none"},
        # RFC 6585 and API.md §1 have a status of its own for If-Match, which schemathesis does not know.
        "checks": {"missing_required_header": {"expected-statuses": ["401", "403", "428"]}},
    }


def _excuse(schema: BaseSchema, report: Report) -> None:
    @schema.hook
    def filter_failure(
        context: schemathesis.HookContext, failure: Failure, case: schemathesis.Case, response: schemathesis.Response
    ) -> bool:
        excused = is_excused(failure, case, response)
        report.excused += excused
        return not excused


def _begin_with_what_works(schema: BaseSchema, ids: Ids) -> None:
    """One request for each operation that has to name a real thing, by somebody who may."""

    @schema.hook
    def before_add_examples(context: schemathesis.HookContext, examples: list[schemathesis.Case]) -> None:
        operation = context.operation
        assert operation is not None
        works = ids.that_work.get(
            f"{operation.method.upper()} {operation.path.removeprefix('/api').removeprefix('/v1')}"
        )
        if works is not None:
            case = operation.Case(**works)
            schema.auth.set(case, schemathesis.AuthContext(operation=operation, app=None))
            examples.append(case)


def _read(event: events.EngineEvent, report: Report) -> None:
    match event:
        case events.FatalError():
            raise event.exception
        case events.NonFatalError():
            report.failures.append(f"{event.label}: {event.info.title}: {event.info.message}")
        case events.ScenarioFinished():
            _read_scenario(event, report)


def _read_scenario(event: events.ScenarioFinished, report: Report) -> None:
    recorder = event.recorder
    for case_id, node in recorder.cases.items():
        response = recorder.find_response(case_id=case_id)
        if response is not None:
            report.statuses[node.value.operation.label][response.status_code] += 1
    for check in (check for checks in recorder.checks.values() for check in checks):
        report.checks[check.name] += 1
        if check.failure_info is not None:
            failure = check.failure_info.failure
            said = f"{failure.operation} ({event.phase.value}): {failure.title}. {failure.message}"
            report.failures.append(f"{said}\n{check.failure_info.code_sample}\n")
