"""What somebody who is asked is told about the next attempt, and the times as they read them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from core.domain.notice import NoticeLinks, build_notice
from core.domain.suspension import Assignment, Clarification, PartialAnswer, PlannedAttempt, Suspension
from core.domain.wording import next_step, told_at
from tests.core.examples import HOUR, LADDER, a_question, after, claimed, hourly, look, opened

BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def asking(*recipients: str, channel: str = "email") -> Suspension:
    """Whose second attempt asks ``recipients``."""
    suspension = hourly()
    first, _, last = suspension.ask.attempts
    second = PlannedAttempt(2, channel, None, recipients)
    return replace(suspension, ask=replace(suspension.ask, attempts=(first, second, last)))


@pytest.mark.parametrize(
    ("recipients", "channel", "words"),
    [
        (("bob@example.com",), "email", "to bob@example.com, by mail"),
        (("alice@example.com",), "email", "to you, by mail"),
        (("email:alice@example.com", "bob@example.com"), "email", "to you and bob@example.com, by mail"),
        (("group:finance",), "email", "to the group finance, by mail"),
        (("a@e.org", "b@e.org", "c@e.org", "d@e.org", "e@e.org"), "email", "to a@e.org, b@e.org and 3 others, by mail"),
        (("slack:C0OPS",), "slack", "on Slack"),
        (("pagerduty:default",), "pagerduty", "through PagerDuty"),
    ],
)
def test_it_says_who_is_asked_next_how_and_when(recipients: tuple[str, ...], channel: str, words: str) -> None:
    told = next_step(asking(*recipients, channel=channel), 1, "alice@example.com")
    assert told == f"If nobody has answered by 2026-03-24 10:00 UTC, the question goes out again: {words}."


def test_the_last_attempt_and_a_question_without_a_ladder_have_nothing_next() -> None:
    assert next_step(hourly(), 3) is None
    assert next_step(opened(a_question(timeout=HOUR)), 1) is None


def test_a_mail_that_was_held_up_tells_of_what_is_still_to_come() -> None:
    later = look(hourly(ladder=LADDER), after(hours=1)).suspension
    assert later.attempt == 2
    assert "2026-03-24 11:00 UTC" in (next_step(later, 1) or "")


def test_an_attempt_that_gives_way_to_the_one_after_it_is_not_announced() -> None:
    suspension = hourly(ladder=LADDER)
    first, second, third = suspension.ask.attempts
    moved = (first, replace(second, waits_until=suspension.ask.due_at(3)), third)
    told = next_step(replace(suspension, ask=replace(suspension.ask, attempts=moved)), 1)
    assert told is not None
    assert "2026-03-24 11:00 UTC" in told
    assert "through PagerDuty" in told


def test_times_that_have_moved_are_told_as_they_are_now() -> None:
    assert "2026-03-24 12:00 UTC" in (next_step(replace(hourly(), shift=2 * HOUR), 1) or "")


def test_whoever_it_was_handed_over_to_is_asked_too() -> None:
    handed = replace(asking("bob@example.com"), assigned=(Assignment("carol@example.com", "bob@example.com", after()),))
    assert "to bob@example.com and carol@example.com, by mail" in (next_step(handed, 1) or "")


def test_whoever_has_answered_is_not_announced_as_asked_again() -> None:
    asked = asking("alice@example.com", "bob@example.com")
    both = replace(asked, ask=replace(asked.ask, answers_required=2))
    one = replace(both, answers=(PartialAnswer("bob@example.com", "approve", after(), "email"),))
    assert (next_step(one, 1, "alice@example.com") or "").endswith("the question goes out again: to you, by mail.")


def test_nothing_is_announced_that_may_be_held_back() -> None:
    asked_back = Clarification("Which one?", "alice@example.com", after(), after(hours=1))
    assert next_step(claimed(hourly(), after(), after(minutes=30)), 1) is None
    assert next_step(replace(hourly(), clarifications=(asked_back,)), 1) is None


def test_a_notice_has_both_times_where_its_reader_lives() -> None:
    links = NoticeLinks("https://hand.example/q/HR-7F3K")
    notice = build_notice(asking("bob@example.com"), 1, links, "alice@example.com", BERLIN)
    assert notice.silence == "If nobody answers by 2026-03-24 13:00 CET (12:00 UTC), the agent stops."
    assert "by 2026-03-24 11:00 CET (10:00 UTC)" in (notice.next_step or "")


@pytest.mark.parametrize(
    ("zone", "words"),
    [
        (None, "2026-11-21 12:00 UTC"),
        ("UTC", "2026-11-21 12:00 UTC"),
        ("Europe/London", "2026-11-21 12:00 UTC"),
        ("Europe/Berlin", "2026-11-21 13:00 CET (12:00 UTC)"),
        ("America/New_York", "2026-11-21 07:00 EST (12:00 UTC)"),
        ("Asia/Kathmandu", "2026-11-21 17:45 UTC+05:45 (12:00 UTC)"),
        ("America/Sao_Paulo", "2026-11-21 09:00 UTC-03:00 (12:00 UTC)"),
        ("Pacific/Auckland", "2026-11-22 01:00 NZDT (2026-11-21 12:00 UTC)"),
    ],
)
def test_an_instant_is_told_in_the_readers_time_beside_utc(zone: str | None, words: str) -> None:
    assert told_at(NOON, ZoneInfo(zone) if zone else None) == words
