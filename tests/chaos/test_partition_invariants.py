"""Each invariant of a cut-off replica finds what it is there for, and nothing where nothing is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.chaos.partition_invariants import INVARIANTS, Attempt, Create, Evidence, Glance, Silence, judge

Break = Callable[[Evidence], Any]


@pytest.fixture
def evidence() -> Evidence:
    """A line that is half open from 100 to 250, and a service that does as it should."""
    return Evidence(
        creates=[
            Create("cut off", 101, 8.5, 503, None),
            Create("cut off", 99, 0.1, 201, "one"),
            Create("whole", 120, 0.1, 201, "two"),
        ],
        glances=[Glance(101, 200, 200), Glance(110, 503, 200), Glance(249, 503, 200), Glance(256, 200, 200)],
        silences=[Silence("half open", "warm", datetime(2026, 3, 24, tzinfo=UTC), 100, 250, 6.0)],
        attempts=[Attempt("two", 2, 0.4, 0.6), Attempt("two", 3, 14.0, 14.2)],
        kept={"one", "two"},
        end=(9.6, 0),
    )


def create(number: int, **changed: Any) -> Break:
    def spoil(found: Evidence) -> None:
        found.creates[number] = replace(found.creates[number], **changed)

    return spoil


def changed(name: str, value: Any) -> Break:
    return lambda found: setattr(found, name, value)


def silence(**changed: Any) -> Break:
    def spoil(found: Evidence) -> None:
        found.silences[0] = replace(found.silences[0], **changed)

    return spoil


BROKEN: list[tuple[Break, str]] = [
    (create(0, took=10.1), "whoever asks the one that is cut off"),
    (create(0, status=500), "whoever asks the one that is cut off"),
    (create(0, status=None, took=60.0), "whoever asks the one that is cut off"),
    (create(2, status=503), "the other one takes every question"),
    (create(2, took=10.1), "the other one takes every question"),
    (changed("glances", [Glance(101, 200, 200)]), "/readyz is 503"),
    (changed("glances", [Glance(121, 503, 200)]), "/readyz is 503"),
    (changed("glances", [Glance(110, 503, 200), Glance(130, 200, 200)]), "/readyz is 503"),
    (changed("glances", [Glance(110, 503, 503)]), "/healthz is 200"),
    (changed("glances", [Glance(110, 503, None)]), "/healthz is 200"),
    (changed("attempts", [Attempt("two", 2, 15.1, None)]), "every attempt is made"),
    (changed("attempts", [Attempt("two", 3, 0.1, None)]), "no attempt is left out"),
    (changed("attempts", [Attempt("two", 2, 0.1, None)] * 2), "no attempt is left out"),
    (changed("end", (12.1, 0)), "SIGTERM ends a process"),
    (changed("end", (30.0, None)), "SIGTERM ends a process"),
    (changed("end", (1.0, 1)), "SIGTERM ends a process"),
    (silence(well=None), "all is well"),
    (silence(well=10.1), "all is well"),
    (changed("kept", {"two"}), "every 201 is there"),
]


def test_nothing_is_wrong_where_nothing_is(evidence: Evidence) -> None:
    findings = judge(evidence)
    assert [finding.invariant for finding in findings] == list(INVARIANTS)
    assert [finding.wrong for finding in findings] == [[]] * len(INVARIANTS)
    assert all(finding.checked for finding in findings)


@pytest.mark.parametrize(("spoil", "found_by"), BROKEN)
def test_what_is_wrong_is_found_by_the_invariant_that_is_there_for_it(
    evidence: Evidence, spoil: Break, found_by: str
) -> None:
    spoil(evidence)
    wrong = [finding.invariant for finding in judge(evidence) if finding.wrong]
    assert any(name.startswith(found_by) for name in wrong), wrong


def test_the_worst_of_what_was_measured_is_kept(evidence: Evidence) -> None:
    worst = {finding.invariant.split()[0]: finding.worst for finding in judge(evidence)}
    assert (worst["whoever"], worst["SIGTERM"]) == (8.5, 9.6)
