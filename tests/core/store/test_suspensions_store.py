"""Suspensions come back from the store as they went in, are found when they are due, and listed page by page."""

from __future__ import annotations

import re
import uuid
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import IntegrityError

from core.database.database import Database
from core.domain.machine import decide
from core.domain.suspension import Choice, Kind, ResponseType, Resume, Style, Suspension
from core.domain.vocabulary import AskedBack, Assigned, Cancelled, Clarified
from core.errors import Conflict
from core.store import outbox, suspensions
from core.store.outbox import RowKind, RowStatus
from tests.core.examples import (
    HOUR,
    LADDER,
    START,
    a_question,
    after,
    an_answer,
    answered,
    claimed,
    hourly,
    look,
    opened,
)
from tests.core.store_examples import a_row, keep, numbered, stored, write_rows

HUGE = 10**4000
EVERYTHING = a_question(
    attempts=3,
    interval=HOUR,
    ladder=LADDER,
    question="Rückzahlung für “Müller”? 🙂 漢字 '; DROP TABLE suspensions; --",
    choices=(
        Choice("approve", "Genehmigen ✅", "Ganzer Betrag\nsofort", Style.PRIMARY, {"on_acknowledge": True}),
        Choice("deny", "Ablehnen", style=Style.DANGER, metadata={"nested": {"deep": [1, None, {"er": 2.5}]}}),
    ),
    context={"order_id": "12345", "amount": 499.99, "huge": HUGE, "none": None, "date-like": "2026-03-24T09:00:00Z"},
    channel_hint="slack",
    notify_to="alice@example.com",
    responders=("group:finance", "alice@example.com"),
    timeout=HOUR,
    fallback_value=None,
    confidence=0.55,
    decision_record={"mode": "require_input"},
    action={"tool": "stripe.refund", "amount": 49999},
    on_behalf_of="bob@example.com",
    resume=Resume(
        "sess-1",
        "https://agent.example/resume",
        {"cart": [1, 2, {"three": None}], "": ""},
        "inv-1",
        "corr-1",
        "refund-12345",
        {"m": 1},
        {"type": "object"},
    ),
    suspended_at=START + timedelta(microseconds=123_457),
)
FORM = a_question(
    response_type=ResponseType.FORM, form_schema={"type": "object", "properties": {"a": {"type": "string"}}}
)


@pytest.mark.parametrize(
    "suspension",
    [
        opened(EVERYTHING),
        opened(FORM),
        opened(a_question()),
        opened(a_question(kind=Kind.VETO, timeout=HOUR)),
        opened(a_question(timeout=timedelta(days=365))),
        look(opened(EVERYTHING), after(hours=1, seconds=1)).suspension,
        replace(look(claimed(hourly(), after(minutes=50), after(minutes=80)), after(hours=1)).suspension, version=7),
        answered(opened(EVERYTHING), after(minutes=7)).suspension,
        decide(
            opened(FORM), an_answer({"amount": HUGE, "note": "\u0000\ud7ff"}, reason="…"), after(minutes=7)
        ).suspension,
        decide(hourly(), Cancelled("refund-agent", "weg"), after(minutes=1)).suspension,
        look(hourly(1), after(hours=1)).suspension,
        decide(hourly(answers_required=2), an_answer({"huge": HUGE}, reason="…"), after(minutes=1)).suspension,
        decide(hourly(), Assigned("carol@example.com", "alice@example.com", "email"), after(minutes=1)).suspension,
        decide(
            decide(hourly(), AskedBack("Wozu? 🙂", "alice@example.com"), after(minutes=1)).suspension,
            Clarified("Deshalb.", "refund-agent"),
            after(minutes=2),
        ).suspension,
    ],
    ids=[
        "everything",
        "form",
        "plain",
        "veto",
        "a year",
        "second",
        "held",
        "answered",
        "form answer",
        "cancelled",
        "late",
        "one of two answers",
        "handed over",
        "clarified",
    ],
)
async def test_a_suspension_comes_back_as_it_went_in(database: Database, suspension: Suspension) -> None:
    await keep(database, suspension)
    assert await stored(database, suspension.id) == suspension
    by_ref = await database.read(lambda conn: suspensions.by_ref(conn, suspension.ask.ref))
    assert by_ref == suspension


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=15,
)


@given(json_values, st.text(min_size=1, alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_whatever_an_agent_keeps_in_its_state_comes_back(database: Database, value: Any, question: str) -> None:
    ask = a_question(question=question, context={"value": value}, resume=Resume(state=value))
    unique = uuid.uuid4().hex
    ask = replace(ask, id=unique, ref=unique, intent_id=unique)
    await keep(database, opened(ask))
    assert await stored(database, ask.id) == opened(ask)


@pytest.mark.parametrize("context", [{"half": "\ud83d"}, {"long": "letters " * 4000}], ids=["half", "long"])
async def test_half_a_character_that_an_older_version_took_comes_back_and_so_does_much(
    database: Database, context: dict[str, Any]
) -> None:
    asked = opened(a_question(context=context))
    await keep(database, asked)
    assert await stored(database, "susp-1") == asked


async def test_a_question_that_takes_the_place_of_another_is_read_as_it_is(database: Database) -> None:
    """As after a restore, while we run."""
    await keep(database, hourly())
    assert await stored(database, "susp-1") == hourly()
    await database.write(lambda tx: tx.conn.execute(sa.text("DELETE FROM suspensions")))
    other = opened(a_question(question="Another one?"))
    await keep(database, other)
    assert await stored(database, "susp-1") == other


async def test_what_moves_is_replaced_and_what_was_agreed_stays(database: Database) -> None:
    first = opened(EVERYTHING)
    await keep(database, first)
    second = replace(look(first, after(hours=1, seconds=1)).suspension, version=2)
    await database.write(lambda tx: suspensions.update(tx, [second]))
    assert await stored(database, first.id) == second


@pytest.mark.parametrize("version", [1, 3, 100])
async def test_another_version_than_the_one_after_the_stored_is_refused(database: Database, version: int) -> None:
    other = numbered(2, attempts=2, interval=timedelta(hours=1))
    await keep(database, hourly(), other)
    moved = [replace(other, attempt=2, version=2), replace(hourly(), attempt=2, version=version)]
    with pytest.raises(Conflict):
        await database.write(lambda tx: suspensions.update(tx, moved))
    assert [await stored(database, one.id) for one in moved] == [other, hourly()]


async def test_what_is_not_there_is_none(database: Database) -> None:
    assert await stored(database, "susp-1") is None
    assert await database.read(lambda conn: suspensions.by_ref(conn, "HR-7F3K")) is None
    assert not await database.read(lambda conn: suspensions.ref_is_taken(conn, "HR-7F3K"))


@pytest.mark.parametrize("length", [4, 5, 9])
def test_a_reference_can_be_read_out_on_the_phone(length: int) -> None:
    for _ in range(50):
        assert re.fullmatch(rf"HR-[2-9A-HJKMNP-TV-Z]{{{length}}}", suspensions.new_ref(length))


def test_references_do_not_follow_each_other() -> None:
    assert len({suspensions.new_ref(8) for _ in range(200)}) == 200


# --- One open question for each intent, signal and reference ------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        {"suspension_id": "susp-2", "ref": "HR-0002"},
        {"suspension_id": "susp-2", "ref": "HR-0002", "intent_id": "intent-2", "resume": Resume(signal_id="s-1")},
        {"suspension_id": "susp-2", "intent_id": "intent-2"},
        {"ref": "HR-0002", "intent_id": "intent-2"},
    ],
    ids=["intent", "signal", "ref", "id"],
)
async def test_a_second_open_question_does_not_fit_beside_the_first(database: Database, other: dict[str, Any]) -> None:
    await keep(database, opened(a_question(resume=Resume(signal_id="s-1"))))
    with pytest.raises(IntegrityError):
        await keep(database, opened(a_question(**other)))


async def test_an_ended_question_makes_room_for_the_next(database: Database) -> None:
    first = opened(a_question(resume=Resume(signal_id="s-1")))
    await keep(database, answered(first, after(minutes=1)).suspension)
    again = a_question(suspension_id="susp-2", ref="HR-0002", resume=Resume(signal_id="s-1"))
    await keep(database, opened(again))
    assert await database.read(lambda conn: suspensions.open_of_intent(conn, "intent-1")) == "susp-2"
    assert await database.read(lambda conn: suspensions.open_by_signal(conn, "s-1", None)) == {"refund-agent": "susp-2"}


async def test_questions_without_a_signal_do_not_get_into_each_others_way(database: Database) -> None:
    await keep(database, numbered(1), numbered(2))
    assert await database.read(suspensions.count_open) == 2


async def test_a_signal_is_found_open_first_and_else_the_newest(database: Database) -> None:
    signal = {"resume": Resume(signal_id="s-1")}
    old = answered(numbered(1, **signal), after(minutes=1)).suspension
    new = answered(numbered(2, **signal, suspended_at=after(minutes=5)), after(minutes=6)).suspension
    await keep(database, new, old)
    assert await database.read(lambda conn: suspensions.open_by_signal(conn, "s-1", None)) == {}
    assert await database.read(lambda conn: suspensions.latest_by_signal(conn, "s-1", None)) == "susp-2"
    assert await database.read(lambda conn: suspensions.latest_by_signal(conn, "s-2", None)) is None


async def test_whether_it_still_waits_is_known(database: Database) -> None:
    await keep(database, numbered(1), answered(numbered(2), after(minutes=1)).suspension)
    assert await database.write(lambda tx: suspensions.is_still_open(tx, "susp-1"))
    assert not await database.write(lambda tx: suspensions.is_still_open(tx, "susp-2"))
    assert not await database.write(lambda tx: suspensions.is_still_open(tx, "susp-3"))


# --- What is due --------------------------------------------------------------------------------------------------


def waiting(number: int, look_at: datetime | None) -> Suspension:
    return replace(numbered(number), look_at=look_at)


async def test_what_is_due_is_found_most_overdue_first(database: Database) -> None:
    due = {1: after(hours=3), 2: after(hours=1), 3: after(hours=2), 4: after(hours=4), 5: None}
    await keep(database, *(waiting(number, at) for number, at in due.items()))
    found = await database.read(lambda conn: suspensions.due(conn, after(hours=3), 10))
    assert found == ["susp-2", "susp-3", "susp-1"]
    assert await database.read(lambda conn: suspensions.due(conn, after(hours=3), 2)) == ["susp-2", "susp-3"]
    assert await database.read(lambda conn: suspensions.due(conn, after(minutes=59), 10)) == []


async def test_due_is_exact_to_the_microsecond(database: Database) -> None:
    at = after(hours=1, microseconds=1)
    await keep(database, waiting(1, at))
    assert await database.read(lambda conn: suspensions.due(conn, after(hours=1), 10)) == []
    assert await database.read(lambda conn: suspensions.due(conn, at, 10)) == ["susp-1"]


async def test_the_next_look_is_the_earliest_of_the_open_ones(database: Database) -> None:
    assert await database.read(suspensions.next_look) is None
    await keep(database, waiting(1, None))
    assert await database.read(suspensions.next_look) is None
    ended = replace(answered(numbered(2), after()).suspension, look_at=after(seconds=1))
    await keep(database, ended, waiting(3, after(hours=2)), waiting(4, after(hours=1)))
    assert await database.read(suspensions.next_look) == after(hours=1)
    assert await database.read(lambda conn: suspensions.due(conn, after(minutes=1), 10)) == []


@pytest.mark.parametrize(
    ("row", "delivered"),
    [
        (a_row(status=RowStatus.DELIVERED), True),
        (a_row(status=RowStatus.REFUSED), False),
        (a_row(status=RowStatus.PENDING), False),
        (a_row(kind=RowKind.TELL, status=RowStatus.DELIVERED), False),
        (a_row(suspension_id="susp-2", status=RowStatus.DELIVERED), False),
    ],
)
async def test_a_delivered_notice_of_this_question_counts_and_nothing_else(
    database: Database, row: outbox.Row, delivered: bool
) -> None:
    await write_rows(database, [row])
    assert await database.read(lambda conn: suspensions.any_notice_delivered(conn, "susp-1")) == delivered
