"""A question's whole life reads no table from end to end: a million ended rows must cost it nothing.

The statements are those that the service really executes; each database is asked how it would find the rows.
"""

from __future__ import annotations

from typing import Any

from core.domain.people import Actor, Role
from core.engine.inbox import Inbox
from core.store.database import Database
from tests.core.store_examples import take_due
from tests.statements import executed
from tests.world import World

GROWING = ("suspensions", "intents", "events", "outbox", "tokens", "idempotency", "seen")
"""Tables that grow with every question."""

OF_WAITING = (
    "ix_suspensions_due",
    "ix_suspensions_open",
    "uq_suspensions_open",
    "ix_outbox_pending",
    "ix_outbox_sending",
)
"""Indexes of what waits alone."""

REMINDED = {"max_attempts": 2, "interval_seconds": 3600, "escalation_ladder": [{"attempt": 2, "channel_hint": "email"}]}


async def live_through(world: World) -> None:
    """Ask, deliver, remind on the next rung, answer, call back; and another that ends by itself."""
    asked = await world.ask(
        responders=["alice@example.com"], retry_policy=REMINDED, timeout_seconds=7200, resume={"signal_id": "refund-1"}
    )
    await world.ask(timeout_seconds=7200, fallback_policy="fail")
    await world.advance(hours=1)
    path, body = f"/v1/intents/{asked['intent_id']}/suspend/respond", {"suspension_id": asked["suspension_id"]}
    body["value"] = "approve"
    answered = await world.call("POST", path, "operator", json=body, headers={"Idempotency-Key": "once"})
    assert answered.status_code == 200
    await world.advance(hours=2)
    assert (await world.told(asked))["data"]["resolution"] == "responded"


def plans(database: Database, statements: dict[str, Any]) -> dict[str, str]:
    """How the database would execute each; PostgreSQL scans a table only where it has no index to take."""
    found = {}
    with database.engine.connect() as conn:
        if database.dialect == "sqlite":
            for statement, values in statements.items():
                steps = conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)
                found[statement] = "\n".join(step.detail for step in steps)
        else:
            conn.exec_driver_sql("SET enable_seqscan = off")
            for statement, values in statements.items():
                given = tuple(values) if isinstance(values, list) else values
                found[statement] = "\n".join(conn.exec_driver_sql(f"EXPLAIN {statement}", given).scalars())
            conn.rollback()
    return found


def scanned(plan: str) -> list[str]:
    """Growing tables that are read from end to end, without an index or through the whole of one."""
    steps = [step.strip(" ->") for step in plan.splitlines()]
    whole = {"SCAN " + table: table for table in GROWING} | {"Seq Scan on " + table: table for table in GROWING}
    return [
        table
        for step in steps
        for start, table in whole.items()
        if (step == start or step.startswith(start + " ")) and not any(index in step for index in OF_WAITING)
    ]


async def test_no_statement_of_a_questions_life_reads_a_whole_table(any_world: World) -> None:
    database = any_world.service.database
    async with executed(database) as statements:
        await live_through(any_world)
        for signal_id in ("refund-1", "nobody-waits"):  # whoever sends a signal sends it again
            response = await any_world.call("POST", f"/v1/signals/{signal_id}", "operator", json={"value": "approve"})
            assert response.status_code in {404, 409}
            await any_world.call("GET", "/v1/suspensions", params={"signal_id": signal_id})
    assert len(statements) > 20
    found = plans(database, statements)
    assert {statement: plan for statement, plan in found.items() if scanned(plan)} == {}


WAITING = {
    "what the clock has to look at": ("FROM suspensions", "look_at <="),
    "when the clock looks next": ("FROM suspensions", "look_at IS NOT NULL"),
    "what the relay takes": ("FROM outbox", "due_at <="),
    "when the relay looks next": ("SELECT outbox.due_at", "'pending'"),
    "which questions are open": ("FROM suspensions", "ORDER BY suspensions.suspended_at"),
    "which open question a signal answers": ("FROM suspensions", "suspensions.signal_id ="),
}
"""Where its statement starts, and a condition that tells it from others."""


async def test_what_waits_is_found_by_an_index_of_what_waits_alone(any_world: World) -> None:
    database, engine, now = any_world.service.database, any_world.service.engine, any_world.clock.now()
    async with executed(database) as statements:
        await live_through(any_world)
        await database.write(lambda tx: take_due(tx, "slack", now=now, limit=9, owner="me", until=now))
        await Inbox(engine.database, engine.permissions).page(
            Actor("alice@example.com", frozenset({Role.OPERATOR})), 50
        )
    for what, (select, condition) in WAITING.items():
        chosen = {text: values for text, values in statements.items() if select in text and condition in text}
        assert chosen, what
        found = plans(database, chosen)
        assert {text: plan for text, plan in found.items() if not any(index in plan for index in OF_WAITING)} == {}


async def test_an_invocation_finds_its_questions_by_an_index_of_invocations(any_world: World) -> None:
    database = any_world.service.database
    await any_world.ask(resume={"invocation_id": "inv-1"})
    async with executed(database) as statements:
        for role in ("agent", "operator"):
            found = await any_world.call("GET", "/v1/suspensions", role, params={"invocation_id": "inv-1"})
            assert len(found.json()["items"]) == 1
    chosen = {text: values for text, values in statements.items() if "suspensions.invocation_id =" in text}
    assert chosen
    found_by = plans(database, chosen)
    assert {text: plan for text, plan in found_by.items() if "ix_suspensions_invocation" not in plan} == {}
