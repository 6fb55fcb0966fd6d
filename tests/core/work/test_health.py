"""Alive is that everything begins anew, ready is that the last look, beat and write are not long ago."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.errors import DatabaseReplaced, DatabaseUnavailable, Unavailable
from core.work.health import BEAT, CLOCK, NOT_LOOKED, SILENT, Health

FULL = DatabaseUnavailable("The database is not available: its disk is full.", reason=Unavailable.DISK_FULL)


class Process:
    """Its own seconds, and when its database took something last."""

    def __init__(self, looks: timedelta | None = NOT_LOOKED) -> None:
        self.seconds = 1000.0
        self.written: float | None = None
        self.health = Health(lambda: self.written, SILENT, looks, lambda: self.seconds)

    def works(self) -> None:
        self.written = self.seconds
        self.health.looked()
        self.health.beaten()


@pytest.fixture
def process() -> Process:
    process = Process()
    process.works()
    return process


def test_what_begins_anew_is_alive_however_it_ends(process: Process) -> None:
    for _ in range(10):
        process.health.begins(CLOCK)
        process.health.failed(FULL)
        process.seconds += 30
        assert process.health.stalled() == {}


def test_what_has_not_begun_for_a_minute_is_stuck(process: Process) -> None:
    process.health.begins(CLOCK)
    process.health.begins(BEAT)
    process.seconds += 61
    process.health.begins(BEAT)
    assert process.health.stalled() == {CLOCK: 61.0}


def test_whoever_waits_on_purpose_is_not_stuck(process: Process) -> None:
    process.health.begins("mail_poller", timedelta(minutes=5))
    process.seconds += 5 * 60 + 59
    assert process.health.stalled() == {}
    process.seconds += 2
    assert list(process.health.stalled()) == ["mail_poller"]


def test_what_has_ended_on_purpose_is_not_stuck(process: Process) -> None:
    process.health.begins("mail_poller")
    process.health.ends("mail_poller")
    process.seconds += 3600
    assert process.health.stalled() == {}


def test_a_process_that_looks_beats_and_writes_is_ready(process: Process) -> None:
    assert process.health.not_ready() is None


@pytest.mark.parametrize(
    ("stops", "said"),
    [("beat", "The last beat is too long ago."), ("write", "The last write"), ("look", "The last look")],
)
def test_each_of_them_that_stops_is_named_with_its_age(process: Process, stops: str, said: str) -> None:
    process.seconds += 31
    if stops != "look":
        process.health.looked()
    if stops != "beat":
        process.health.beaten()
    if stops != "write":
        process.written = process.seconds
    missing = process.health.not_ready()
    assert missing is not None
    assert missing.message.startswith(said)
    assert (missing.code, missing.ages[stops]) == ("not_ready", 31.0)
    assert f"ast {stops} 31 s ago" in missing.message


def test_a_look_may_take_longer_than_a_beat(process: Process) -> None:
    process.seconds += 29
    process.health.beaten()
    process.written = process.seconds
    assert process.health.not_ready() is None


def test_a_beat_that_fails_is_said_at_once_with_its_reason(process: Process) -> None:
    process.seconds += 3
    process.health.failed(FULL)
    missing = process.health.not_ready()
    assert missing is not None
    assert missing.code == "database_unavailable"
    assert missing.message == (
        "The database is not available: its disk is full. Last look 3 s ago, last beat 3 s ago, last write 3 s ago."
    )


def test_a_beat_that_works_again_is_ready_again(process: Process) -> None:
    process.health.failed(FULL)
    process.health.beaten()
    assert process.health.not_ready() is None


def test_a_process_without_a_clock_need_not_look() -> None:
    process = Process(looks=None)
    process.works()
    process.seconds += 31
    process.health.beaten()
    process.written = process.seconds
    assert process.health.not_ready() is None


def test_a_database_that_has_gone_stops_the_service_once(process: Process) -> None:
    told: list[str] = []
    process.health.fatal = lambda failure: told.append(failure.message)
    for _ in range(3):
        process.health.failed(DatabaseReplaced("gone"))
    assert told == ["gone"]
