"""A process of the version before goes on working on the new schema, beside a process of this one.

``release_0001.json`` holds every statement that version 0001 writes with (and takes locks with) while it asks a
question, asks again after an hour, and takes the answer: recorded from that version on PostgreSQL, with the ids and the
callback's address left open.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.clock import START, ManualClock
from tests.world import World, running

pytestmark = pytest.mark.kills

RECORDED = json.loads((Path(__file__).parent / "release_0001.json").read_text())
THEIRS = {
    "intent_id": "0d0f7a5e-3c5b-4a55-9d5f-0a3c1d1f0001",
    "suspension_id": "5f3e2b1a-7c6d-4e8f-9a0b-1c2d3e4f0001",
    "ref": "HR-OLD1",
}
POLICY = {"timeout_seconds": 86400, "retry_policy": {"max_attempts": 3, "interval_seconds": 3600}}


class OlderProcess:
    """Writes as version 0001 did, on the database as it is now."""

    def __init__(self, url: str, callback_url: str) -> None:
        self._engine = sa.create_engine(url, poolclass=sa.NullPool)
        self._callback_url = callback_url

    def does(self, *steps: str, of: dict[str, str], until: str = "") -> None:
        """``steps`` of the recorded story, up to the first statement that begins with ``until``."""
        names = {**of, "callback_url": self._callback_url}
        for step in steps:
            for statement, parameters in RECORDED[step]:
                if until and statement.startswith(until):
                    break
                self._run(statement, _filled(parameters, names))

    def _run(self, statement: str, parameters: Any) -> None:
        with self._engine.begin() as conn:
            done = conn.exec_driver_sql(statement, parameters)
            assert done.rowcount != 0, statement


def _filled(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, str):
        for name, text in names.items():
            value = value.replace(f"{{{name}}}", text)
        return value
    if isinstance(value, dict):
        return {key: _filled(inner, names) for key, inner in value.items()}
    return [_filled(inner, names) for inner in value] if isinstance(value, list) else value


@pytest.fixture
async def world(tmp_path: Path, postgres_url: str) -> AsyncIterator[World]:
    async with running(tmp_path, postgres_url, ManualClock(START)) as world:
        yield world


@pytest.fixture
def older(world: World, postgres_url: str) -> OlderProcess:
    return OlderProcess(postgres_url, world.agent.url)


async def test_what_an_older_process_asks_a_newer_one_reminds_of_answers_and_calls_back(
    world: World, older: OlderProcess
) -> None:
    older.does("suspend", of=THEIRS)
    shown = await world.show(THEIRS)
    assert (shown["attempt"], shown["max_attempts"], shown["ref"]) == (1, 3, THEIRS["ref"])
    await world.advance(hours=1)
    assert (await world.show(THEIRS))["attempt"] == 2
    assert (await world.answer(THEIRS, "approve")).status_code == 200
    assert (await world.told(THEIRS))["data"]["value"] == "approve"
    assert await world.event_types(THEIRS) == [
        "intent.suspended",
        "intent.suspension_renotified",
        "intent.resumed",
    ]


async def test_what_a_newer_process_asks_an_older_one_reminds_of_and_answers(world: World, older: OlderProcess) -> None:
    asked = await world.ask(**POLICY)
    ours = {"intent_id": asked["intent_id"], "suspension_id": asked["suspension_id"], "ref": asked["ref"]}
    older.does("renotify", "answer", of=ours)
    shown = await world.show(asked)
    assert (shown["attempt"], shown["resolution"], shown["response"]) == (2, "responded", "approve")
    waited = await world.call("GET", f"/v1/suspensions/{asked['suspension_id']}/wait")
    assert (waited.status_code, waited.json()["response"]) == (200, "approve")
    assert (await world.answer(asked, "deny")).status_code == 409


async def test_what_an_older_process_dies_with_in_hand_a_newer_one_sends(world: World, older: OlderProcess) -> None:
    older.does("suspend", "renotify", of=THEIRS)
    older.does("answer", of=THEIRS, until="UPDATE outbox")
    await world.advance(hours=1)  # the end of its leases has passed
    await world.advance(minutes=3)
    await world.service.beating.beat()
    assert (await world.told(THEIRS))["data"]["value"] == "approve"
