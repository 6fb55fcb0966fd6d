"""A question's whole life reads no table from end to end: a million ended rows must cost it nothing.

The statements are those that the service really executes; each database is asked how it would find the rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import psycopg
import pytest

from bot.web.pages.inbox_filters import read_filters
from core.database.database import Database
from core.domain.people import Actor, Address, Role
from core.engine.history import History, Sought
from core.engine.inbox import Inbox
from core.store import archive, outages, outbox, suspensions
from core.store.outbox import RowStatus
from tests.core.store_examples import take_due
from tests.statements import executed
from tests.world import World

GROWING = (
    *("suspensions", "intents", "events", "outbox", "tokens", "idempotency", "seen", "inbox_entries"),
    "participants",
    "question_search_numbers",
)
"""Tables that grow with every question."""

OF_WAITING = (
    "ix_suspensions_due",
    "ix_suspensions_open",
    "ix_suspensions_not_entered",
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


def plans(database: Database, statements: dict[str, Any], avoided: tuple[str, ...] = ("seqscan",)) -> dict[str, str]:
    """How the database would execute each; PostgreSQL scans a table only where it has no index to take, and does what
    else is to be ``avoided`` only where it can do nothing else."""
    found = {}
    with database.engine.connect() as conn:
        if database.dialect == "sqlite":
            for statement, values in statements.items():
                steps = conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)
                found[statement] = "\n".join(step.detail for step in steps)
        else:
            for one in avoided:
                conn.exec_driver_sql(f"SET enable_{one} = off")
            for statement, values in statements.items():
                cursor = psycopg.RawCursor if isinstance(values, list) else psycopg.Cursor
                steps = cursor(conn.connection.driver_connection).execute(f"EXPLAIN {statement}", values)
                found[statement] = "\n".join(step for (step,) in steps)
            conn.rollback()
    return found


def is_sorted(plan: str) -> bool:
    """Whether rows are put in order one by one, and not read in it."""
    return "TEMP B-TREE" in plan or "Sort" in plan


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
    "what was due in an outage": ("FROM suspensions", "look_at < "),
    "when the clock looks next": ("FROM suspensions", "look_at IS NOT NULL"),
    "what the relay takes": ("FROM outbox", "due_at <="),
    "when the relay looks next": ("SELECT outbox.due_at", "'pending'"),
    "which open questions have no entries": ("FROM suspensions", "ORDER BY suspensions.suspended_at"),
    "which open question a signal answers": ("FROM suspensions", "suspensions.signal_id ="),
}
"""Where its statement starts, and a condition that tells it from others."""


async def test_what_waits_is_found_by_an_index_of_what_waits_alone(any_world: World) -> None:
    database, engine, now = any_world.service.database, any_world.service.engine, any_world.clock.now()
    async with executed(database) as statements:
        await live_through(any_world)
        await database.write(lambda tx: take_due(tx, "slack", now=now, limit=9, owner="me", until=now))
        await database.read(lambda conn: outages.overdue(conn, now, 9))
        await Inbox(engine.database, engine.permissions).page(
            Actor("alice@example.com", frozenset({Role.OPERATOR})), 50
        )
    for what, (select, condition) in WAITING.items():
        chosen = {text: values for text, values in statements.items() if select in text and condition in text}
        assert chosen, what
        found = plans(database, chosen)
        assert {text: plan for text, plan in found.items() if not any(index in plan for index in OF_WAITING)} == {}


async def test_an_inbox_is_read_along_its_entries(any_world: World) -> None:
    database, engine = any_world.service.database, any_world.service.engine
    async with executed(database) as statements:
        for roles in (frozenset[Role](), frozenset({Role.OPERATOR})):
            await Inbox(database, engine.permissions).page(Actor("alice@example.com", roles), 50)
    chosen = {text: values for text, values in statements.items() if "inbox_entries" in text}
    found = plans(database, chosen)
    assert chosen
    assert {text: plan for text, plan in found.items() if scanned(plan) or "ix_suspensions" in plan} == {}
    others = plans(database, {text: values for text, values in statements.items() if "entered_version, 0" in text})
    assert {text: plan for text, plan in others.items() if "ix_suspensions_not_entered" not in plan} == {}
    assert others


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


BY_INDEX = {
    "status": ("ix_suspensions_open", "ix_suspensions_ended"),
    "channel": ("ix_suspensions_channel",),
    "session_id": ("ix_suspensions_in_session",),
    "invocation_id": ("ix_suspensions_invocation",),
    "signal_id": ("ix_suspensions_signal",),
    "q": ("sqlite_autoindex_suspensions", "uq_suspensions_ref"),
}
"""The indexes by which a list with that filter is read."""

OF_AN_AGENT = {"open": "ix_suspensions_open_creator", "ended": "ix_suspensions_ended_creator"}
"""Those by which an agent's own list of a status is read."""

LISTS = [
    *(("/v1/suspensions", {"status": status}) for status in ("open", "responded", "expired", "cancelled")),
    ("/v1/suspensions", {"channel": "slack"}),
    ("/v1/suspensions", {"session_id": "session-1"}),
    ("/v1/suspensions", {"invocation_id": "inv-1"}),
    ("/v1/suspensions", {"signal_id": "signal-1"}),
]


@pytest.mark.parametrize(
    ("path", "wanted"), LISTS, ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else ""
)
async def test_a_list_is_read_by_the_index_of_what_it_is_filtered_by(
    any_world: World, path: str, wanted: dict[str, str]
) -> None:
    """In its order: nothing is sorted, nothing is passed over."""
    database = any_world.service.database
    async with executed(database) as statements:
        for role in ("agent", "operator"):
            response = await any_world.call("GET", path, role, params=wanted)
            assert response.status_code == 200
    chosen = {text: values for text, values in statements.items() if text.startswith("SELECT suspensions.ask")}
    by = BY_INDEX[next(iter(wanted))]
    unfit = {
        text: plan
        for text, plan in plans(database, chosen).items()
        if not any(index in plan for index in by) or "TEMP B-TREE" in plan or scanned(plan)
    }
    assert len(chosen) == 2
    assert {text: plan for text, plan in unfit.items() if "suspensions.created_by =" not in text} == {}


@pytest.mark.parametrize("status", ["open", "responded", "expired", "cancelled"])
async def test_an_agents_own_list_is_read_by_an_index_of_its_questions_of_that_status(
    any_world: World, status: str
) -> None:
    """Others may have any number with that status, and the agent any number of others."""
    async with executed(any_world.service.database) as statements:
        response = await any_world.call("GET", "/v1/suspensions", "agent", params={"status": status})
    assert response.status_code == 200
    chosen = {text: values for text, values in statements.items() if text.startswith("SELECT suspensions.ask")}
    [plan] = plans(any_world.service.database, chosen).values()
    assert OF_AN_AGENT["open" if status == "open" else "ended"] in plan
    assert "TEMP B-TREE" not in plan
    assert not scanned(plan)


async def test_a_question_is_found_by_its_ref_without_reading_any_other(any_world: World) -> None:
    asked = await any_world.ask()
    await any_world.ask()
    async with executed(any_world.service.database) as statements:
        found = await any_world.call("GET", "/v1/suspensions", "operator", params={"q": asked["ref"].lower()})
    assert [one["ref"] for one in found.json()["items"]] == [asked["ref"]]
    chosen = {text: values for text, values in statements.items() if text.startswith("SELECT suspensions.ask")}
    [plan] = plans(any_world.service.database, chosen).values()
    assert any(index in plan for index in BY_INDEX["q"])


@pytest.mark.parametrize("wanted", [{}, {"status": "active"}], ids=["all", "of a status"])
@pytest.mark.parametrize("role", ["agent", "operator", "admin"])
async def test_intents_are_listed_along_an_index_and_none_are_sorted(
    any_world: World, role: str, wanted: dict[str, str]
) -> None:
    """Whoever lists them: their own, those that they are a member of, and all. A status has no index: each move of an
    intent would write it."""
    made = await any_world.call("POST", "/v1/intents", "other_agent", json={"title": "another's"})
    mine = await any_world.call("POST", "/v1/intents", "agent", json={"title": "its own"})
    joined = f"/v1/intents/{made.json()['id']}/agents"
    assert (await any_world.call("POST", joined, "other_agent", json={"agent_id": "refund-agent"})).status_code == 200
    async with executed(any_world.service.database) as statements:
        response = await any_world.call("GET", "/v1/intents", role, params={"limit": 50, "status": "draft"})
        assert {one["id"] for one in response.json()["intents"]} == {made.json()["id"], mine.json()["id"]}
        await any_world.call("GET", "/v1/intents", role, params={"limit": 50, **wanted})
    chosen = {text: values for text, values in statements.items() if "FROM intents" in text or "FROM intent_ag" in text}
    assert chosen
    found = plans(any_world.service.database, chosen, ("seqscan", "sort"))
    unfit = {text: plan for text, plan in found.items() if scanned(plan) or is_sorted(plan)}
    in_order = [text for text, plan in unfit.items() if "ix_intents_created" in plan and not is_sorted(plan)]
    assert [text for text in unfit if text not in in_order] == []
    assert role != "agent" or not in_order, "those of others are not passed over"


@pytest.mark.parametrize("listed", ["workflows", "portfolios", "coordinators", "subscriptions"])
async def test_what_stands_around_intents_is_listed_along_an_index_and_not_sorted(
    any_world: World, listed: str
) -> None:
    """For an operator, who reads everybody's."""
    async with executed(any_world.service.database) as statements:
        response = await any_world.call("GET", f"/v1/{listed}", "operator", params={"limit": 50})
        assert response.status_code == 200
    chosen = {text: values for text, values in statements.items() if f"FROM {listed}" in text and "ORDER BY" in text}
    assert chosen
    found = plans(any_world.service.database, chosen, ("seqscan", "sort"))
    assert {text: plan for text, plan in found.items() if is_sorted(plan)} == {}


@pytest.mark.parametrize("of", ["intent_id", "portfolio_id"])
async def test_subscriptions_to_one_thing_are_found_by_its_index(any_world: World, of: str) -> None:
    async with executed(any_world.service.database) as statements:
        response = await any_world.call("GET", "/v1/subscriptions", "operator", params={of: "nothing"})
        assert response.status_code == 200
    chosen = {text: values for text, values in statements.items() if f"subscriptions.{of} =" in text}
    assert chosen
    found = plans(any_world.service.database, chosen, ("seqscan", "sort"))
    index = f"ix_subscriptions_{of.removesuffix('_id')}"
    assert {text: plan for text, plan in found.items() if index not in plan or is_sorted(plan)} == {}


async def test_notices_that_a_pause_holds_are_counted_among_those_that_wait(any_world: World) -> None:
    async with executed(any_world.service.database) as statements:
        response = await any_world.call("GET", "/v1/pause", "operator")
    assert response.json()["held"] == 0
    [(text, values)] = [(text, values) for text, values in statements.items() if "count(" in text]
    [plan] = plans(any_world.service.database, {text: values}).values()
    assert "ix_outbox_pending" in plan or "ix_outbox_lanes" in plan


async def test_what_is_about_one_question_is_found_among_its_own_messages(any_world: World) -> None:
    """However many messages there are, and though PostgreSQL has counted none of them yet."""
    database, now = any_world.service.database, any_world.clock.now()
    notice = outbox.notice("another", 1, Address("slack", "C1"), now)
    rows = [replace(notice, id=f"d-{n}", status=RowStatus.DELIVERED, settled_at=now) for n in range(12_000)]
    await database.write(lambda tx: outbox.insert(tx, rows, "me"))
    async with executed(database) as statements:
        await live_through(any_world)
        await database.read(lambda conn: outbox.why_nobody(conn, "another", 1))
        await database.read(lambda conn: suspensions.any_notice_delivered(conn, "another"))
        await database.read(lambda conn: archive.addresses(conn, ["another"]))
    about_one = {text: values for text, values in statements.items() if "outbox.suspension_id" in text}
    assert any("'dropped'" in text for text in about_one)
    found = plans(database, about_one)
    assert {text: plan for text, plan in found.items() if "ix_outbox_callbacks" in plan} == {}


@pytest.mark.parametrize("status", ["pending", "dead", "refused"])
async def test_callbacks_are_read_by_an_index_of_their_status(any_world: World, status: str) -> None:
    async with executed(any_world.service.database) as statements:
        for role in ("agent", "operator"):
            response = await any_world.call("GET", "/v1/callbacks", role, params={"status": status})
            assert response.status_code == 200
    chosen = {text: values for text, values in statements.items() if "outbox.kind = 'resume'" in text}
    found = plans(any_world.service.database, chosen)
    assert len(chosen) >= 2
    assert {text: plan for text, plan in found.items() if "ix_outbox_callbacks_by_status" not in plan} == {}


HISTORY = {
    "all": ({"tab": "all"}, "ix_suspensions_listed"),
    "ended": ({"tab": "all", "ended": "yesterday"}, "ix_suspensions_ended_at"),
    "risk": ({"tab": "all", "risk": "high"}, "ix_suspensions_risk"),
    "status": ({"tab": "all", "status": "answered"}, "ix_suspensions_ended"),
    "open": ({"tab": "all", "status": "open"}, "ix_suspensions_open"),
}
"""What an operator looks for in the inbox, and the index that a page of it is read along."""


@pytest.mark.parametrize("wanted", HISTORY)
async def test_a_page_of_the_history_is_read_along_one_index_and_not_sorted(any_world: World, wanted: str) -> None:
    """The page, the number of all, and of those before it."""
    query, index = HISTORY[wanted]
    database, engine = any_world.service.database, any_world.service.engine
    history = History(database, engine.permissions)
    filters = read_filters(query, sees_all=True, now=any_world.clock.now(), zone=None)
    since, before = filters.within(any_world.clock.now(), None)
    sought = Sought(ended_since=since, ended_before=before, status=filters.status_wanted, risk=filters.risk_rank)
    operator = Actor("ops@example.com", frozenset({Role.OPERATOR}))
    async with executed(database) as statements:
        for place in (None, (any_world.clock.now(), "susp-1")):
            await history.everything(operator, sought, 50, place)
    chosen = {text: values for text, values in statements.items() if _is_of_a_list(text)}
    found = plans(database, chosen, ("seqscan", "sort", "bitmapscan"))
    assert len(found) >= 4
    assert {text: plan for text, plan in found.items() if index not in plan or is_sorted(plan)} == {}


def _is_of_a_list(text: str) -> bool:
    """And not of the worker, which looks for what is due meanwhile."""
    return (
        text.startswith("SELECT")
        and "FROM suspensions" in text
        and "look_at <" not in text
        and "look_at IS" not in text
    )


async def test_what_somebody_took_part_in_is_read_along_their_entries(any_world: World) -> None:
    database, engine = any_world.service.database, any_world.service.engine
    alice = Actor("alice@example.com", frozenset({Role.OPERATOR}))
    async with executed(database) as statements:
        await live_through(any_world)
        for place in (None, (any_world.clock.now(), "susp-1")):
            await History(database, engine.permissions).mine(alice, Sought(), 50, place)
        await History(database, engine.permissions).numbers(alice)
    chosen = {text: values for text, values in statements.items() if "FROM participants" in text}
    found = plans(database, chosen, ("seqscan", "sort", "bitmapscan"))
    assert len(found) >= 2
    by = ("pk_participants", "participants_pkey", "PRIMARY KEY")
    unfit = {text: plan for text, plan in found.items() if not any(one in plan for one in by) or scanned(plan)}
    assert unfit == {}
