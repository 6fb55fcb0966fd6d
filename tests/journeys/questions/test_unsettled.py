"""A message that was sent, and a database that will not write that down: nothing is lost, and nobody is asked twice."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from core.database.database import Tx
from core.delivery import relay
from tests.statements import writing
from tests.vendors.smtp import Stage
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


async def refuse_writes(world: World, when: Callable[[], bool], times: int) -> Callable[[], int]:
    """So often, SQLite begins no transaction. The first look, which tidies up, comes before that. Returns how often it
    still will not."""
    await world.settle()
    connection, left, inside = await writing(world.service.database), times, False

    def is_refused() -> bool:
        """As a transaction begins: it is asked once more when one has ended, and that stands."""
        nonlocal left, inside
        before, inside = inside, connection.in_transaction
        refused = left > 0 and not (before or inside) and when()
        left -= refused
        return refused

    connection.set_progress_handler(is_refused, 1)
    return lambda: left


async def test_a_mail_that_was_taken_while_the_disk_took_nothing_is_not_sent_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "STILL_IN_HAND", timedelta(milliseconds=20))
    refusals_left = await refuse_writes(world, lambda: bool(world.mailbox.mails), times=6)
    asked = await world.ask(channel_hint="email", notify_to="alice@example.com")
    await world.advance(minutes=1)
    assert refusals_left() == 0
    assert len(world.mailbox.mails) == 1
    [delivery] = [item for item in await world.timeline(asked) if item["kind"] == "delivery"]
    assert (delivery["status"], delivery["tries"]) == ("delivered", 1)


async def test_a_mail_that_was_not_taken_while_the_disk_took_nothing_waits_for_its_next_try(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "STILL_IN_HAND", timedelta(milliseconds=20))
    refusals_left = await refuse_writes(world, lambda: world.mailbox.connections > 0, times=6)
    world.mailbox.say_next(Stage.RCPT, "451 4.3.0 Try again later")
    await world.ask(channel_hint="email", notify_to="alice@example.com")
    assert world.mailbox.mails == []
    await world.advance(minutes=1)
    assert refusals_left() == 0
    assert len(world.mailbox.mails) == 1
