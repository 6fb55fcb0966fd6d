"""Figures, counted by hand and by each database: the same to the microsecond, across a change of the clocks, of nothing
and of one answer; read along an index; and what an older version has ended is noted first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from core.database.database import Database
from core.domain.insights import Figures, HowEnded, Period, Quantiles
from core.domain.machine import decide
from core.domain.people import Actor, Role, canonical
from core.domain.suspension import FallbackPolicy, Suspension
from core.domain.vocabulary import AnswerGiven, AttemptDue, Cancelled
from core.engine.insights import Insights
from core.errors import Forbidden
from core.store import insights, schema, suspensions, tables
from core.store.insights import CountedGroup
from core.store.outbox import RowKind, RowStatus
from tests.clock import ManualClock
from tests.core.older import migrate_to, todays_columns
from tests.core.store_examples import a_row, keep, numbered, write_rows
from tests.journeys.service.test_hot_path_plans import plans, scanned
from tests.statements import executed

BERLIN = ZoneInfo("Europe/Berlin")
"""Its clocks go from 02:00 to 03:00 on 29 March 2026, at 01:00 UTC."""
SUMMER = Period(date(2026, 3, 28), date(2026, 3, 30), BERLIN)
NOW = datetime(2026, 4, 1, 12, tzinfo=UTC)


class Everybody:
    """Of the directory only whose an address is: Alice has two."""

    def identity_of(self, name: str) -> str:
        return "alice@example.com" if name == "a.lice@example.com" else canonical(name)


def figures_of(database: Database, **options: Any) -> Insights:
    responders: Any = Everybody()
    return Insights(database, responders, ManualClock(NOW), **options)


def asked(number: int, at: str, **fields: Any) -> Suspension:
    return numbered(number, suspended_at=datetime.fromisoformat(at), **fields)


def answered(asked: Suspension, seconds: float, by: str = "alice@example.com", on: str = "slack") -> Suspension:
    at = asked.ask.suspended_at + timedelta(seconds=seconds)
    return decide(asked, AnswerGiven("approve", by, on), at).suspension


def expired(asked: Suspension) -> Suspension:
    assert asked.expires_at is not None
    return decide(asked, AttemptDue(), asked.expires_at).suspension


def cancelled(asked: Suspension) -> Suspension:
    return decide(asked, Cancelled("root", None), asked.ask.suspended_at + timedelta(hours=1)).suspension


async def counted(database: Database) -> CountedGroup:
    return await database.read(lambda conn: insights.counted(conn, SUMMER, with_people=True))


def took(count: int, median: float, p90: float) -> Quantiles:
    return Quantiles(count, timedelta(seconds=median), timedelta(seconds=p90))


HOUR = timedelta(hours=1)
GOES_ON = {"timeout": HOUR, "fallback_policy": FallbackPolicy.COMPLETE_WITH_FALLBACK, "fallback_value": "deny"}


async def keep_three_days(database: Database) -> None:
    """Saturday: two. The Sunday on which the clocks change: five, of which the last is at 00:30 of summer time's
    Monday. Before and after: one each, outside."""
    await keep(
        database,
        answered(asked(1, "2026-03-27T22:59:59.999999Z"), 9),  # Friday, by a microsecond
        answered(asked(2, "2026-03-27T23:00:00Z"), 2),  # Saturday's first moment
        expired(asked(3, "2026-03-28T22:30:00Z", timeout=HOUR)),  # Saturday, 23:30
        answered(asked(4, "2026-03-29T00:30:00Z"), 10, "bob@example.com", "email"),  # Sunday, 01:30
        answered(asked(5, "2026-03-29T01:00:00Z"), 20, "bob@example.com"),  # Sunday, 03:00, a moment after 01:59
        cancelled(asked(6, "2026-03-29T20:00:00Z")),  # Sunday, 22:00
        expired(asked(7, "2026-03-29T21:00:00Z", **GOES_ON)),  # Sunday, 23:00
        asked(8, "2026-03-29T22:30:00Z"),  # Monday, 00:30: it would be Sunday by winter time
        answered(asked(9, "2026-03-30T22:00:00Z"), 9),  # Tuesday's first moment
    )


async def test_questions_count_on_the_day_of_the_readers_zone_on_which_they_were_asked(database: Database) -> None:
    await keep_three_days(database)
    assert await database.read(lambda conn: insights.days(conn, SUMMER)) == {
        (date(2026, 3, 28), HowEnded.ANSWERED): 1,
        (date(2026, 3, 28), HowEnded.FAILED): 1,
        (date(2026, 3, 29), HowEnded.ANSWERED): 2,
        (date(2026, 3, 29), HowEnded.CANCELLED): 1,
        (date(2026, 3, 29), HowEnded.CONTINUED): 1,
        (date(2026, 3, 30), None): 1,
    }


async def test_hours_of_the_week_follow_the_change_of_the_clocks(database: Database) -> None:
    await keep_three_days(database)
    found = await counted(database)
    assert found.hours == {5 * 24: took(1, 2, 2), 6 * 24 + 1: took(1, 10, 10), 6 * 24 + 3: took(1, 20, 20)}
    shown = await figures_of(database, persons=True).figures(SUMMER)
    assert [(one.weekday, one.hour) for one in shown.hours] == [(6, 0), (7, 1), (7, 3)]


async def test_a_year_in_which_the_clocks_change_twice(database: Database) -> None:
    year = Period(date(2026, 1, 1), date(2026, 12, 31), BERLIN)
    await keep(
        database,
        answered(asked(1, "2026-01-05T08:00:00Z"), 1),  # Monday, 09:00
        answered(asked(2, "2026-07-06T08:00:00Z"), 2),  # Monday, 10:00 by summer time
        answered(asked(3, "2026-12-07T08:00:00Z"), 3),  # Monday, 09:00
    )
    found = await database.read(lambda conn: insights.counted(conn, year, with_people=False))
    assert found.hours == {9: took(2, 2, 2.8), 10: took(1, 2, 2)}


async def test_clocks_that_are_put_back_have_a_day_of_25_hours(database: Database) -> None:
    autumn = Period(date(2026, 10, 25), date(2026, 10, 25), BERLIN)
    await keep(
        database,
        asked(1, "2026-10-24T21:59:59Z"),  # Saturday
        answered(asked(2, "2026-10-24T22:00:00Z"), 5),
        answered(asked(3, "2026-10-25T00:30:00Z"), 7),  # 02:30 the first time
        answered(asked(4, "2026-10-25T01:30:00Z"), 9),  # 02:30 again
        answered(asked(5, "2026-10-25T22:59:59Z"), 5),
        asked(6, "2026-10-25T23:00:00Z"),  # Monday
    )
    assert await database.read(lambda conn: insights.days(conn, autumn)) == {(autumn.first, HowEnded.ANSWERED): 4}
    found = await database.read(lambda conn: insights.counted(conn, autumn, with_people=False))
    assert found.hours == {144: took(1, 5, 5), 146: took(2, 8, 8.8), 167: took(1, 5, 5)}


def reminded(number: int) -> Suspension:
    """Asked on Saturday, and again by the second attempt."""
    one = asked(number, "2026-03-28T08:00:00Z", attempts=2, interval=HOUR)
    return decide(one, AttemptDue(), one.ask.due_at(2)).suspension


async def test_times_are_exact_by_channel_attempt_and_person(database: Database) -> None:
    """Slack: 1, 2, 3, 4 and 100 seconds, Alice. Mail, to the second attempt: 3,600 and 3,661, Bob."""
    by_mail = [answered(reminded(n), seconds, "bob@example.com", "email") for n, seconds in ((6, 3600), (7, 3661))]
    by_slack = [answered(asked(n, "2026-03-28T09:00:00Z"), seconds) for n, seconds in enumerate((1, 2, 3, 4, 100), 1)]
    await keep(database, *by_mail, *by_slack)
    slack = took(5, 3, 61.6)  # 0.6 of the way from 4 to 100
    mail = took(2, 3630.5, 3654.9)  # half of the way, and 0.9 of it
    found = await counted(database)
    assert found.times == took(7, 4, 3624.4)
    assert found.channels == {"slack": slack, "email": mail}
    assert found.attempts == {1: slack, 2: mail}
    assert found.people == {"alice@example.com": slack, "bob@example.com": mail}
    assert sorted(found.groups) == [("email", 2, "bob@example.com", 2, 0), ("slack", 1, "alice@example.com", 5, 3)]


async def test_nothing_and_one_answer(database: Database) -> None:
    empty = await figures_of(database).figures(SUMMER)
    assert empty.is_empty
    assert (empty.times.answers, empty.times.median, len(empty.days)) == (0, None, 3)
    await keep(database, answered(asked(1, "2026-03-28T09:00:00Z"), 42))
    alone = await figures_of(database, persons=True).figures(SUMMER)
    assert (alone.times.answers, alone.times.median, alone.times.p90) == (
        1,
        timedelta(seconds=42),
        timedelta(seconds=42),
    )
    assert not alone.is_empty


def told(figures: Figures) -> list[Any]:
    """Everything that is said of single groups."""
    groups: list[Mapping[Any, Any]] = [figures.channels, figures.attempts, figures.people or {}]
    return [one for each in groups for one in each.values() if one.answers is not None]


async def test_without_persons_no_figure_is_of_fewer_than_three_people_or_five_answers(database: Database) -> None:
    """Six answers of Alice, under two addresses, and of Bob; then one of Carol."""
    names = ["alice@example.com", "a.lice@example.com", "bob@example.com"] * 2
    some = [answered(asked(n, "2026-03-28T09:00:00Z"), 10, by) for n, by in enumerate(names)]
    await keep(database, *some)
    few = await figures_of(database).figures(SUMMER)
    assert (few.people, told(few), few.hours, few.times.answers) == (None, [], [], None)
    assert sum(day.answered for day in few.days) == 6
    await keep(database, answered(asked(9, "2026-03-28T09:00:00Z"), 10, "carol@example.com"))
    enough = await figures_of(database).figures(SUMMER)
    assert enough.people is None
    assert [one.answers for one in told(enough)] == [7, 7]
    assert [(one.hour, one.times.answers, one.times.median) for one in enough.hours] == [
        (10, None, timedelta(seconds=10))
    ]


async def test_a_group_that_is_left_out_cannot_be_had_as_the_difference(database: Database) -> None:
    """Bob alone answers by mail: beside Slack's six answers, his one would be the rest of the seven."""
    slack = [answered(asked(n, "2026-03-28T09:00:00Z"), 10, f"p{n % 3}@example.com") for n in range(6)]
    await keep(database, *slack, answered(asked(9, "2026-03-28T09:00:00Z"), 1, "bob@example.com", "email"))
    found = await figures_of(database).figures(SUMMER)
    assert found.times.answers == 7
    assert {name: one.answers for name, one in found.channels.items()} == {"slack": None, "email": None}


async def test_deliveries_are_counted_by_channel(database: Database) -> None:
    made = datetime(2026, 3, 28, 9, tzinfo=UTC)
    rows = [
        ("d-1", {"status": RowStatus.DELIVERED}),
        ("d-2", {"status": RowStatus.REFUSED}),
        ("d-3", {"status": RowStatus.DEAD, "channel": "email"}),
        ("d-4", {"status": RowStatus.DROPPED, "channel": "pagerduty"}),
        ("d-5", {"status": RowStatus.PENDING, "channel": "email"}),
        ("d-6", {"status": RowStatus.DEAD, "channel": "agents", "kind": RowKind.RESUME}),
        ("d-7", {"status": RowStatus.DELIVERED, "kind": RowKind.WITHDRAW}),
        ("d-8", {"status": RowStatus.DEAD, "created_at": made - timedelta(days=2)}),
    ]
    await write_rows(database, [a_row(name, **{"created_at": made, **fields}) for name, fields in rows])
    found = await database.read(lambda conn: insights.deliveries(conn, SUMMER))
    assert [(one.channel, one.delivered, one.failed, one.waiting) for one in found] == [
        ("agents", 0, 1, 0),
        ("email", 0, 1, 1),
        ("slack", 1, 1, 0),
    ]


async def test_what_an_older_version_has_ended_is_counted(empty_database: Database) -> None:
    migrate_to(empty_database, "0025")
    at = "2026-03-28T09:00:00Z"
    with todays_columns(empty_database, tables.suspensions):
        await keep(empty_database, answered(asked(1, at), 42), expired(asked(2, at, timeout=HOUR)), asked(3, at))
    schema.migrate(empty_database)
    found = await figures_of(empty_database, persons=True).figures(SUMMER)
    assert found.is_whole
    [day] = [one for one in found.days if one.asked]
    assert (day.asked, day.answered, day.expired, day.open) == (3, 1, 1, 1)
    assert [*(found.people or {})] == ["alice@example.com"]


async def test_a_request_notes_a_part_and_says_so(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.engine.insights.NOTED_AT_ONCE", 2)
    monkeypatch.setattr("core.engine.insights.NOTED_AT_MOST", 2)
    await keep(database, *(answered(asked(n, "2026-03-28T09:00:00Z"), 1) for n in range(7)))
    forgotten = tables.suspensions.update().values(outcome=None, ended_at=None, ended_on=None, ended_by=None)
    await database.write(lambda tx: tx.conn.execute(forgotten))
    first = await figures_of(database).figures(SUMMER)
    second = await figures_of(database).figures(SUMMER)
    counted = [(one.is_whole, sum(day.answered for day in one.days)) for one in (first, second)]
    assert counted == [(False, 4), (True, 7)]


async def test_what_is_taken_back_is_open_again(database: Database) -> None:
    open_again = replace(asked(1, "2026-03-28T09:00:00Z"), version=3)
    await keep(database, replace(answered(open_again, 1), version=2))
    await database.write(lambda tx: suspensions.update(tx, [open_again]))
    assert await database.read(lambda conn: insights.days(conn, SUMMER)) == {(date(2026, 3, 28), None): 1}


async def test_questions_are_read_along_the_index_that_has_all_of_it(database: Database) -> None:
    """No record is read. PostgreSQL looks at the table for what it has not vacuumed yet."""
    await keep(database, *(answered(asked(n, "2026-03-28T09:00:00Z"), n) for n in range(400)))
    if database.is_shared:
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
            conn.exec_driver_sql("VACUUM ANALYZE suspensions")
    async with executed(database) as statements:
        await counted(database)
    chosen = {text: values for text, values in statements.items() if "FROM suspensions" in text}
    assert len(chosen) >= 7
    found = plans(database, chosen, ("seqscan", "bitmapscan"))
    only = {"sqlite": "USING COVERING INDEX", "postgresql": "Index Only Scan using"}[database.dialect]
    assert {text: plan for text, plan in found.items() if f"{only} ix_suspensions_outcomes" not in plan} == {}


async def test_messages_and_what_is_to_be_noted_are_read_by_an_index(database: Database) -> None:
    async with executed(database) as statements:
        await database.read(lambda conn: insights.deliveries(conn, SUMMER))
        await database.write(lambda tx: insights.note(tx, 10))
    found = plans(database, statements)
    by = {"FROM outbox": "ix_outbox_callbacks", "FROM suspensions": "ix_suspensions_unnoted"}
    for table, index in by.items():
        [plan] = [plan for text, plan in found.items() if table in text]
        assert index in plan
    assert not scanned(next(plan for text, plan in found.items() if "FROM outbox" in text))


def test_who_may_see_figures() -> None:
    nothing: Any = None
    of = Insights(nothing, nothing, nothing)
    of.check(Actor("olga@example.com", frozenset({Role.OPERATOR})))
    of.check(Actor("root", frozenset({Role.ADMIN}), reads_own=True))
    for roles, reads_own in ((frozenset[Role](), False), ({Role.AGENT}, False), ({Role.OPERATOR}, True)):
        with pytest.raises(Forbidden):
            of.check(Actor("somebody", frozenset(roles), reads_own=reads_own))
