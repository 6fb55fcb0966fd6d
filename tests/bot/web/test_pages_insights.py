"""``/insights``: what an operator sees, and who is sent away. Source: API.md §6; docs/decisions/0123."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest

from core.domain.machine import decide
from core.domain.vocabulary import AnswerGiven
from tests.bot.web.pages_world import ALICE, BOB, CAROL, OLGA, PEOPLE, Page, World, a_world
from tests.core.store_examples import keep, numbered

MALICE = '=HYPERLINK("https://evil.example")<script>'
"""The name of a key that answers."""


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as world:
        yield world


@pytest.fixture
async def open_world(tmp_path: Path) -> AsyncIterator[World]:
    """Persons may be told apart, and Olga lives where it is tomorrow already."""
    people = [one | ({"time_zone": "Pacific/Auckland"} if one["email"] == OLGA else {}) for one in PEOPLE]
    async with a_world(tmp_path, insights={"persons": True}, people=people) as world:
        yield world


async def answers(world: World, *by: str, seconds: float = 2, on: str = "slack") -> None:
    """One question each, asked at the clock's time."""
    at = world.clock.now()
    asked = [numbered(n, suspended_at=at) for n in range(len(by))]
    ended = [
        decide(one, AnswerGiven("approve", who, on), at + timedelta(seconds=seconds)).suspension
        for one, who in zip(asked, by, strict=True)
    ]
    await keep(world.engine.database, *ended)


def drawings(page: Page) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(text) for text in re.findall(r"<svg.*?</svg>", page.html, re.DOTALL)]


async def test_an_empty_database_says_so(world: World) -> None:
    page = await (await world.signed_in(OLGA)).get("/insights")
    assert page.status == 200
    assert "Nothing yet." in page.text
    assert drawings(page) == []


async def test_the_inbox_leads_operators_there_and_nobody_else(world: World) -> None:
    operator = await world.signed_in(OLGA)
    assert "/insights" in (await operator.get("/inbox")).links
    responder = await world.signed_in(ALICE)
    assert "/insights" not in (await responder.get("/inbox")).links
    for path in ("/insights", "/insights.csv"):
        refused = await responder.get(path)
        assert (refused.status, "for operators" in refused.text) == (403, True)


async def test_a_stranger_signs_in_first_and_is_led_there(world: World) -> None:
    for path in ("/insights", "/insights.csv?what=days"):
        page = await world.browser().get(path)
        assert (page.path, page.value("next")) == ("/signin", "/insights")


async def test_an_operator_who_reads_only_their_own_is_sent_away(tmp_path: Path) -> None:
    async with a_world(tmp_path, answers={"operators_read": "own_groups"}) as world:
        browser = await world.signed_in(OLGA)
        assert "/insights" not in (await browser.get("/inbox")).links
        refused = await browser.get("/insights")
        assert (refused.status, "you read those that mean you" in refused.text) == (403, True)


async def test_a_wrong_period_is_told_and_the_usual_one_is_shown(world: World) -> None:
    browser = await world.signed_in(OLGA)
    page = await browser.get("/insights?since=<b>soon")
    assert page.status == 422
    assert "since: write a number of days such as 30d" in page.text
    assert 'href="/insights?since=30d" aria-current="true"' in page.html
    assert "<b>soon" not in page.html
    file = await browser.get("/insights.csv?what=secrets")
    assert (file.status, "what: one of days, channels" in file.text) == (422, True)


async def test_every_table_shows_what_it_has_and_a_drawing_says_it_too(open_world: World) -> None:
    await answers(open_world, ALICE, ALICE, BOB, MALICE, seconds=90)
    page = await (await open_world.signed_in(OLGA)).get("/insights?since=7d")
    assert "Half within 1 min 30 s Nine of ten within 1 min 30 s Within three seconds 0 of 4" in page.text
    assert "Slack 4 1 min 30 s 1 min 30 s 0" in page.text
    assert f"{ALICE} 2 1 min 30 s" in page.text
    assert "<script>" not in page.html.replace("<script src", "")
    told = [text for drawing in drawings(page) for title in drawing.iter("title") if (text := title.text)]
    assert "24 Mar: 4 asked, 4 answered, 0 not answered" in told
    assert "Tue 16:00: half within 1 min 30 s" in told  # 03:00 UTC, in Olga's zone
    named = [one for one in drawings(page) if one.get("role") == "img"]
    assert [one.get("aria-labelledby") for one in named] == ["days-title days-desc", "week-title week-desc"]
    assert "style=" not in page.html


async def test_without_persons_nobody_is_told_apart(world: World) -> None:
    await answers(world, ALICE, ALICE, BOB, CAROL, seconds=90)
    browser = await world.signed_in(OLGA)
    page = await browser.get("/insights")
    shown = page.html.replace(f"Signed in as {OLGA}", "")
    assert [one for one in (ALICE, BOB, CAROL, "1 min 30 s") if one in shown] == []
    assert "too few answers, or of too few people" in page.text
    assert "Slack – – – –" in page.text
    channels = (await browser.get("/insights.csv?what=channels")).html
    assert channels.splitlines()[1] == "slack,,,,"
    people = await browser.get("/insights.csv?what=people")
    assert (people.status, "insights.persons" in people.text) == (422, True)


async def test_a_table_is_there_as_csv_that_no_spreadsheet_runs(open_world: World) -> None:
    await answers(open_world, MALICE, "+49", "佐藤@example.com")
    browser = await open_world.signed_in(OLGA)
    page = await browser.get("/insights")
    [place] = [link for link in page.links if "what=people" in link]
    response = (await browser.get(place)).response
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    assert re.fullmatch(
        r'attachment; filename="handraise-people-[0-9-]+\.csv"', response.headers["content-disposition"]
    )
    assert not response.content.startswith(b"\xef\xbb\xbf")
    head, *rows = csv.reader(io.StringIO(response.content.decode()))
    assert head == ["person", "answers", "median_seconds", "p90_seconds", "within_three_seconds"]
    assert rows == [
        ["'+49", "1", "2.0", "2.0", "1"],
        [f"'{MALICE}", "1", "2.0", "2.0", "1"],
        ["佐藤@example.com", "1", "2.0", "2.0", "1"],
    ]


async def test_what_has_moved_out_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    async with a_world(tmp_path, retention={"ended_days": 10}) as world:
        browser = await world.signed_in(OLGA)
        assert "before Sat 14 Mar 2026 may have moved out" in (await browser.get("/insights?since=30d")).text
        assert "may have moved out" not in (await browser.get("/insights?since=7d")).text
