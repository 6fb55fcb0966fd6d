"""A message that was sent, and a database that will not write that down: nothing is lost, and nobody is asked twice."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core import relay
from core.store.database import Tx
from tests.world import World

REFUSING = """
CREATE TRIGGER refusing BEFORE UPDATE ON outbox WHEN NEW.status = 'delivered' AND NEW.channel = 'slack'
BEGIN SELECT RAISE(ABORT, 'not now'); END
"""


def run(statement: str) -> object:
    def job(tx: Tx) -> None:
        tx.conn.exec_driver_sql(statement)

    return job


async def test_a_sent_notice_that_could_not_be_settled_is_found_again_and_not_sent_twice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "STILL_IN_HAND", timedelta(milliseconds=60))
    lanes = world.service.channels["slack"].lanes
    await world.service.database.write(run(REFUSING))  # type: ignore[arg-type]
    asked = [await world.ask(f"Question {number}?") for number in range(lanes + 1)]
    assert len(world.slack.workspace.posted()) == lanes + 1, "no sender was lost with its message"
    await world.service.database.write(run("DROP TRIGGER refusing"))  # type: ignore[arg-type]
    await world.advance(minutes=1)
    assert len(world.slack.workspace.posted()) == lanes + 1, "each is found where it was posted"
    for one in asked:
        [delivery] = [item for item in await world.timeline(one) if item["kind"] == "delivery"]
        assert delivery["status"] == "delivered"
