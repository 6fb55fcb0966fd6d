"""Figures of a whole service: over the API, at the command line, on the page and as CSV, for whoever may see them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.cli import handraise
from tests.world import World, running


async def live(world: World) -> None:
    """Two days. The first: one answered by Slack after two seconds, one by Bob over the API after an hour and to the
    second attempt, one expired with its fallback, one cancelled. The second: one that is open."""
    quick = await world.ask("Refund order 1?")
    world.clock.move_by(timedelta(seconds=2))
    await world.press("U0ALICE", await world.slack.expect_message("Refund order 1?"), "Approve refund")
    slow = await world.ask("Refund order 2?", retry_policy={"max_attempts": 2, "interval_seconds": 1800})
    await world.advance(hours=1, seconds=-1)
    assert (await world.answer(slow, "deny", "second_operator")).status_code == 200
    await world.ask(
        "Refund order 3?", timeout_seconds=60, fallback_policy="use_default_and_continue", fallback_value="deny"
    )
    cancelled = await world.ask("Refund order 4?")
    await world.call("POST", f"/v1/suspensions/{cancelled['suspension_id']}/cancel", json={})
    await world.advance(hours=25)
    await world.ask("Refund order 5?")
    assert (await world.told(quick))["data"]["resolution"] == "responded"


@pytest_asyncio.fixture
async def open_world(tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    """A service that may tell persons apart."""
    async with running(tmp_path, database_url, insights={"persons": True}) as world:
        yield world


async def figures(world: World, role: str = "operator", **query: str) -> Any:
    response = await world.call("GET", "/v1/insights", role, params=query)
    assert response.status_code == 200, response.text
    return response.json()


async def test_a_service_counts_what_has_happened(open_world: World) -> None:
    await live(open_world)
    found = await figures(open_world)
    assert (len(found["days"]), found["time_zone"], found["is_whole"], found["complete_from"]) == (
        30,
        "UTC",
        True,
        None,
    )
    first, second = found["days"][-2:]
    counts = {"asked": 4, "answered": 2, "expired": 1, "continued": 1, "cancelled": 1, "open": 0}
    assert first == {"day": first["day"], **counts}
    assert (second["asked"], second["open"]) == (1, 1)
    assert found["answers"] == times(2, 1800.5, 3239.3, 1)  # 2 and 3,599 seconds
    slack, api = times(1, 2.0, 2.0, 1), times(1, 3599.0, 3599.0, 0)
    assert found["channels"] == [{"channel": "api", **api}, {"channel": "slack", **slack}]
    assert found["attempts"] == [{"attempt": 1, **slack}, {"attempt": 2, **api}]
    assert found["people"] == [{"person": "alice@example.com", **slack}, {"person": "bob@example.com", **api}]
    delivered = {one["channel"]: (one["delivered"], one["failed"]) for one in found["deliveries"]}
    assert delivered == {"agents": (4, 0), "slack": (6, 0)}


def times(answers: int, median: float, p90: float, quick: int) -> dict[str, Any]:
    return {"answers": answers, "median_seconds": median, "p90_seconds": p90, "within_three_seconds": quick}


async def test_by_default_nothing_tells_a_person_apart(any_world: World) -> None:
    await live(any_world)
    found = await figures(any_world)
    nothing = dict.fromkeys(times(0, 0, 0, 0))
    assert (found["persons"], found["people"], found["hours"]) == (False, None, [])
    assert found["answers"] == nothing
    assert [{**one, "channel": ""} for one in found["channels"]] == [{"channel": "", **nothing}] * 2
    assert [{**one, "attempt": 0} for one in found["attempts"]] == [{"attempt": 0, **nothing}] * 2
    said = [json.dumps(found)]
    for options in (("--output", "json"), ("--output", "csv", "--table", "channels"), ()):
        ran = await handraise(any_world, "stats", *options, role="operator")
        assert ran.status == 0, ran.err
        said.append(ran.out)
    refused = await handraise(any_world, "stats", "--table", "people", role="operator")
    assert (refused.status, "insights.persons is off" in refused.err) == (1, True)
    assert [one for one in said if "alice" in one or "bob" in one or "3599" in one] == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"since": "0d"}, "since"),
        ({"since": "400d"}, "since"),
        ({"since": "2026-02-30"}, "since"),
        ({"since": "1999-12-31"}, "since"),
        ({"since": "2026-03-20", "until": "2026-03-19"}, "since"),
        ({"since": "tomorrow"}, "since"),
        ({"until": "7d"}, "until"),
        ({"time_zone": "Europe"}, "time_zone"),
        ({"time_zone": "../../etc/passwd"}, "time_zone"),
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_wrong_period_is_told_with_its_field(room: World, query: dict[str, str], field: str) -> None:
    response = await room.call("GET", "/v1/insights", "operator", params=query)
    assert response.status_code == 422
    [wrong] = response.json()["detail"]["fields"]
    assert wrong["path"] == field
    assert wrong["message"].startswith(f"{field}: ")


@pytest.mark.asyncio(loop_scope="module")
async def test_days_are_those_of_the_zone_that_is_asked_for(room: World) -> None:
    found = await figures(room, since="2d", time_zone="Pacific/Auckland")
    assert (found["time_zone"], len(found["days"])) == ("Pacific/Auckland", 2)
    assert found["since"].endswith("T11:00:00Z")


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("role", "status"), [("agent", 403), ("operator", 200), ("admin", 200), (None, 401)])
async def test_figures_are_for_operators(room: World, role: str | None, status: int) -> None:
    assert (await room.call("GET", "/v1/insights", role)).status_code == status


async def test_the_command_prints_tables_json_and_csv(open_world: World) -> None:
    await live(open_world)
    ran = await handraise(open_world, "stats", "--since", "7d", role="operator")
    assert ran.status == 0, ran.err
    assert "5 asked: 2 answered, 1 not answered in time, 1 cancelled, 1 open" in ran.out
    assert "half of the answers within 30 min, nine of ten within 53 min 59 s, 1 within three seconds" in ran.out
    assert any(line.split()[:2] == ["bob@example.com", "1"] for line in ran.lines)
    as_json = await handraise(open_world, "stats", "--json", role="operator")
    assert json.loads(as_json.out) == await figures(open_world)
    as_csv = await handraise(open_world, "stats", "--output", "csv", "--since", "2d", role="operator")
    rows = [*csv.DictReader(io.StringIO(as_csv.out))]
    assert [row["asked"] for row in rows] == ["4", "1"]
    wrong = await handraise(open_world, "stats", "--since", "soon", role="operator")
    assert (wrong.status, "since: write a number of days" in wrong.err) == (1, True)
    refused = await handraise(open_world, "stats", role="agent")
    assert (refused.status, "role operator" in refused.err) == (1, True)
