"""What a responder is shown at each attempt, and what they are told at the end (RFC-0026 §4.5)."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest

from core.domain.machine import decide
from core.domain.notice import Notice, NoticeLinks, build_ending, build_notice, shown_choices
from core.domain.suspension import Choice, FallbackPolicy, Kind, ResponseType, Style, Suspension
from core.domain.vocabulary import AskedBack, Cancelled, DeadlineReached
from core.domain.wording import shown_value
from tests.core.examples import HOUR, a_question, after, an_answer, answered, hourly, look, opened

LINKS = NoticeLinks("https://hand.example/q/HR-7F3K", "https://hand.example/a/token", "replytoken")


def notice_of(suspension: Suspension, attempt: int = 1) -> Notice:
    return build_notice(suspension, attempt, LINKS)


def test_a_notice_says_who_asks_what_and_until_when() -> None:
    notice = notice_of(hourly(context={"order_id": "12345"}))
    assert (notice.ref, notice.question, notice.asked_by) == ("HR-7F3K", "Refund order 12345?", "refund-agent")
    assert (notice.attempt, notice.max_attempts) == (1, 3)
    assert (notice.asked_at, notice.expires_at) == (after(), after(hours=3))
    assert notice.context == {"order_id": "12345"}
    assert notice.links == LINKS


def test_the_secret_id_is_in_no_field_of_a_notice() -> None:
    notice = notice_of(hourly(suspension_id="4f2a-secret", context={"order_id": "12345"}))
    assert all("4f2a-secret" not in repr(getattr(notice, field.name)) for field in fields(notice))


@pytest.mark.parametrize(
    ("attempt", "headline"),
    [(1, "Input needed"), (2, "Reminder (2 of 3)"), (3, "URGENT: final reminder")],
)
def test_the_headline_gets_more_urgent(attempt: int, headline: str) -> None:
    assert notice_of(hourly(), attempt).headline == headline


def test_a_single_attempt_is_a_first_request_not_a_last_one() -> None:
    assert notice_of(opened(a_question())).headline == "Input needed"


def test_a_veto_window_says_that_the_agent_is_about_to_go_ahead() -> None:
    notice = notice_of(opened(a_question(kind=Kind.VETO, timeout=HOUR)))
    assert notice.headline == "About to go ahead"
    assert notice.silence == "If nobody objects by 2026-03-24 10:00 UTC, the agent goes ahead."


def test_choices_keep_their_order_and_are_numbered_from_one() -> None:
    ask = a_question(choices=(Choice("a", "A", "about A", Style.DANGER), Choice("b", "B"), Choice("deny", "Deny")))
    shown = shown_choices(ask)
    assert [(choice.index, choice.number, choice.label, choice.value) for choice in shown] == [
        (0, 1, "A", "a"),
        (1, 2, "B", "b"),
        (2, 3, "Deny", "deny"),
    ]
    assert [choice.negative for choice in shown] == [False, False, True]
    assert (shown[0].description, shown[0].style) == ("about A", Style.DANGER)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (a_question(), "The agent waits until somebody answers."),
        (a_question(timeout=HOUR), "If nobody answers by 2026-03-24 10:00 UTC, the agent stops."),
        (
            a_question(timeout=HOUR, fallback_policy=FallbackPolicy.COMPLETE_WITH_FALLBACK, fallback_value="deny"),
            "If nobody answers by 2026-03-24 10:00 UTC, the agent goes on with “Deny refund”.",
        ),
    ],
)
def test_a_notice_says_what_silence_means(question: object, sentence: str) -> None:
    assert notice_of(opened(question)).silence == sentence  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "line"),
    [
        (a_question(), "No deadline: the agent waits"),
        (a_question(timeout=HOUR), "Silence until 10:00 UTC (in 50 min): the agent stops"),
        (
            a_question(timeout=HOUR, fallback_policy=FallbackPolicy.COMPLETE_WITH_FALLBACK, fallback_value="deny"),
            "Silence until 10:00 UTC (in 50 min): Deny refund",
        ),
        (a_question(kind=Kind.VETO, timeout=HOUR), "Silence until 10:00 UTC (in 50 min): the agent goes ahead"),
        (a_question(timeout=72 * HOUR), "Silence until 2026-03-27 09:00 UTC (in 2 days 23 h): the agent stops"),
    ],
)
def test_a_notice_says_in_one_line_what_silence_means_and_how_long_there_is(question: object, line: str) -> None:
    asked = opened(question)  # type: ignore[arg-type]
    assert build_notice(asked, 1, LINKS, now=after(minutes=10)).in_short == line


def test_that_line_tells_the_time_of_the_readers_clock_and_the_day_if_it_is_another() -> None:
    asked = opened(a_question(timeout=HOUR))
    berlin, tokyo = ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Tokyo")

    told = build_notice(asked, 1, LINKS, zone=berlin, now=after(seconds=3)).in_short
    assert told == "Silence until 11:00 (in 1 h): the agent stops"
    over_midnight = opened(a_question(timeout=7 * HOUR))
    told = build_notice(over_midnight, 1, LINKS, zone=tokyo, now=after()).in_short
    assert told == "Silence until 01:00 (in 7 h): the agent stops"
    assert build_notice(asked, 1, LINKS, zone=berlin).in_short == "Silence until 2026-03-24 11:00: the agent stops"


def test_of_two_who_have_to_answer_that_line_says_so_and_while_the_agent_is_asked_that_all_waits() -> None:
    two = opened(a_question(answers_required=2, timeout=HOUR))
    waiting = decide(two, AskedBack("Which card?", "alice@example.com"), after()).suspension

    line = build_notice(two, 1, LINKS, now=after()).in_short
    assert line == "Fewer than 2 answers by 10:00 UTC (in 1 h): the agent stops"
    line = build_notice(waiting, 1, LINKS, now=after()).in_short
    assert line == "The deadline waits for the agent until 10:00 UTC (in 1 h)"


def test_where_two_have_to_answer_one_answer_is_no_end_of_the_silence() -> None:
    one = decide(hourly(2, answers_required=2), an_answer(), after(minutes=7)).suspension
    notice = build_notice(one, 1, LINKS, "bob@example.com")

    assert notice.silence == "If fewer than 2 people answer by 2026-03-24 11:00 UTC, the agent stops."
    assert (notice.next_step or "").startswith("If fewer than 2 people have answered by 2026-03-24 10:00 UTC, the")
    ended = look(look(one, after(hours=1)).suspension, after(hours=2)).suspension
    assert build_ending(ended).sentence == "Only 1 of 2 people answered by 2026-03-24 11:00 UTC. The agent stopped."


@pytest.mark.parametrize(("risk", "told"), [(0.9, "critical, says the agent"), ("high", "high, says the agent")])
def test_a_high_risk_that_the_agent_states_is_told(risk: float | str, told: str) -> None:
    assert notice_of(opened(a_question(context={"risk": risk}))).risk == told
    assert notice_of(opened(a_question(context={"risk": 0.3}))).risk is None


def test_a_shared_place_links_to_the_page_that_asks_to_sign_in() -> None:
    assert LINKS.best == "https://hand.example/a/token"
    assert NoticeLinks("https://hand.example/q/HR-7F3K").best == "https://hand.example/q/HR-7F3K"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("approve", "Approve refund"),
        ("something else", "something else"),
        ({"amount": 5, "note": "ok"}, "amount: 5, note: ok"),
        (5, "5"),
    ],
)
def test_values_are_shown_as_people_read_them(value: object, shown: str) -> None:
    assert shown_value(hourly(), value) == shown  # type: ignore[arg-type]


def test_an_answered_question_says_who_answered_what_where_and_when() -> None:
    ending = build_ending(answered(hourly(), after(minutes=7)).suspension)
    assert ending.sentence == "Answered “Approve refund” by alice@example.com via Slack, 2026-03-24 09:07 UTC."
    assert (ending.answer, ending.continued_with) == ("Approve refund", None)


def test_a_cancelled_question_says_that_no_answer_is_needed() -> None:
    ended = decide(hourly(), Cancelled("refund-agent"), after(minutes=7)).suspension
    sentence = "Cancelled by refund-agent, 2026-03-24 09:07 UTC. No answer is needed any more."
    assert build_ending(ended).sentence == sentence


def test_an_expired_question_says_what_the_agent_did() -> None:
    stopped = look(hourly(1), after(hours=1)).suspension
    assert build_ending(stopped).sentence == "Nobody answered by 2026-03-24 10:00 UTC. The agent stopped."
    policy = {"fallback_policy": FallbackPolicy.COMPLETE_WITH_FALLBACK, "fallback_value": "deny"}
    went_on = look(opened(a_question(timeout=HOUR, **policy)), after(hours=1)).suspension
    told = "Nobody answered by 2026-03-24 10:00 UTC. The agent went on with “Deny refund”."
    assert build_ending(went_on).sentence == told


def test_a_portfolio_deadline_tells_that_the_agent_stopped() -> None:
    ended = decide(hourly(), DeadlineReached(), after(minutes=7)).suspension
    assert build_ending(ended).sentence.endswith("The agent stopped.")


def test_an_ending_never_counts_a_fallback_as_an_answer() -> None:
    policy = {"fallback_policy": FallbackPolicy.COMPLETE_WITH_FALLBACK, "fallback_value": "deny"}
    ending = build_ending(look(opened(a_question(timeout=HOUR, **policy)), after(hours=1)).suspension)
    assert (ending.answer, ending.by, ending.continued_with) == (None, None, "Deny refund")


@pytest.mark.parametrize("value", [0, False, "", {}])
def test_a_fallback_that_looks_like_nothing_is_still_told(value: object) -> None:
    policy = {"fallback_policy": FallbackPolicy.COMPLETE_WITH_FALLBACK, "fallback_value": value}
    ask = a_question(timeout=HOUR, response_type=ResponseType.TEXT, **policy)
    ending = build_ending(look(opened(ask), after(hours=1)).suspension)
    assert "The agent went on" in ending.sentence


def test_an_open_question_has_no_ending() -> None:
    with pytest.raises(ValueError, match="still open"):
        build_ending(hourly())


def test_a_form_answer_is_told_field_by_field() -> None:
    ask = a_question(response_type=ResponseType.FORM)
    ended = decide(opened(ask), an_answer({"amount": 5, "note": "ok"}), after(minutes=7)).suspension
    assert build_ending(ended).answer == "amount: 5, note: ok"


def test_times_are_told_in_utc_to_the_minute() -> None:
    ending = build_ending(answered(hourly(), after(minutes=7) + timedelta(seconds=59)).suspension)
    assert "2026-03-24 09:07 UTC" in ending.sentence
