"""A commit stands and its acknowledgement is lost: what it promised still happens."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from core.database.database import open_database
from core.store import schema
from tests.chaos.wire import Wire
from tests.postgres import cluster
from tests.world import World, running


@pytest.fixture
def wire() -> Iterator[Wire]:
    with cluster() as server, tempfile.TemporaryDirectory(prefix="hrw-") as folder:
        schema.migrate(open_database(f"postgresql+psycopg://postgres@/postgres{server.query}"))
        line = Wire(Path(folder), server.sockets)
        with line.up():
            yield line


async def lost(world: World, wire: Wire, path: str, role: str, body: Mapping[str, Any]) -> dict[str, str]:
    """Post; it is this request's commit that is met, though others write too. Returns the headers it came with."""
    again = {"Idempotency-Key": f"once for {path}"}
    wire.lose_an_acknowledgement(of=again["Idempotency-Key"])
    assert (await world.call("POST", path, role, json=body, headers=again)).status_code == 503
    return again


async def test_a_question_that_stands_though_nobody_was_told_so_is_asked(tmp_path: Path, wire: Wire) -> None:
    url = f"postgresql+psycopg://postgres@/postgres{wire.query}"
    async with running(tmp_path, url) as world:
        body = {"question": "Go on?", "response_type": "confirm", "responders": ["alice@example.com"]}
        again = await lost(world, wire, "/v1/suspensions", "agent", body)
        repeated = await world.call("POST", "/v1/suspensions", json=body, headers=again)
        assert (repeated.status_code, repeated.headers["Idempotency-Replayed"]) == (201, "true")
        await world.advance(seconds=30)
        asked = [one for one in world.slack.workspace.messages if repeated.json()["ref"] in one.text]
        assert len(asked) == 1, "asked, and once"


async def test_an_answer_that_stands_though_nobody_was_told_so_reaches_the_agent(tmp_path: Path, wire: Wire) -> None:
    url = f"postgresql+psycopg://postgres@/postgres{wire.query}"
    async with running(tmp_path, url) as world:
        asked = await world.ask(responders=["alice@example.com"])
        path = f"/v1/intents/{asked['intent_id']}/suspend/respond"
        body = {"suspension_id": asked["suspension_id"], "value": "approve"}
        again = await lost(world, wire, path, "operator", body)
        assert (await world.call("POST", path, "operator", json=body, headers=again)).status_code == 200
        await world.advance(seconds=30)
        assert [told.json["data"]["value"] for told in world.agent.told_of(asked)] == ["approve"]
