"""What somebody with a pager reads, and the key that ties all attempts together."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from channels.pagerduty.render import EVENT_BYTES, TOO_LONG, cut, dedup_key, encode, how_to_answer, ref_in, trigger
from core.domain.action import ShownAction
from core.domain.notice import Notice, NoticeChoice, NoticeLinks, WhenCut
from core.domain.suspension import Cut, ResponseType

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
NOTICE = Notice(
    ref="HR-7F3K",
    question="Deploy?",
    response_type=ResponseType.CONFIRM,
    choices=(NoticeChoice(0, "Yes", "yes"), NoticeChoice(1, "No", "no", "Leave it as it is")),
    context={},
    attempt=1,
    max_attempts=2,
    asked_by="deploy-agent",
    asked_at=NOW,
    expires_at=NOW + timedelta(hours=2),
    silence="If nobody answers by 2026-11-21 11:00 UTC, the agent stops.",
    links=NoticeLinks("https://ask.example/q/HR-7F3K"),
)


def test_a_dedup_key_leads_back_to_its_question_in_this_installation_only() -> None:
    key = dedup_key("main", "HR-7F3K")

    assert ref_in(key, "main") == "HR-7F3K"
    assert ref_in(key, "staging") is None
    assert ref_in("prometheus:HR-7F3K", "main") is None
    assert ref_in(dedup_key("main", "alert:17"), "main") is None
    assert ref_in("handraise:main:", "main") is None


def test_an_instance_name_that_makes_the_key_too_long_is_an_error() -> None:
    with pytest.raises(ValueError, match="255"):
        dedup_key("x" * 250, "HR-7F3K")


def test_no_attempt_is_critical_or_low_urgency_by_itself() -> None:
    severities = [trigger(replace(NOTICE, attempt=n), "k", "r")["payload"]["severity"] for n in (1, 2)]

    assert severities == ["error", "error"]


def test_the_incident_says_what_happens_and_until_when() -> None:
    details = trigger(NOTICE, "k", "r")["payload"]["custom_details"]

    assert details["choices"] == ["1. Yes", "2. No: Leave it as it is"]
    assert details["if_nobody_answers"] == NOTICE.silence
    assert details["deadline"] == "2026-11-21 11:00 UTC"
    assert "context" not in details


def test_the_title_is_one_visible_line() -> None:
    summary = trigger(replace(NOTICE, question="Pay\r\n\u202eEUR 5\u0007?"), "k", "r")["payload"]["summary"]

    assert summary == "[HR-7F3K] Pay EUR 5?"


def test_a_free_answer_has_to_name_the_question() -> None:
    choice = how_to_answer(NOTICE)
    text = how_to_answer(replace(NOTICE, response_type=ResponseType.TEXT, choices=()))

    assert "1 … 2" in choice
    assert "begins with HR-7F3K" in text


def test_only_what_does_not_fit_is_left_out() -> None:
    event = trigger(replace(NOTICE, context={"log": "x" * EVENT_BYTES}), "k", "r")

    raw = encode(event)

    assert len(raw) <= EVENT_BYTES
    assert TOO_LONG.encode() in raw
    assert b"Leave it as it is" in raw


ACTION = ShownAction({"tool": "deploy", "targets": ["prod"], "key": "[redacted: access token]"}, "1a2b3c4d")


def details_of(notice: Notice, when_cut: WhenCut = WhenCut.ANSWER) -> dict[str, Any]:
    details: dict[str, Any] = trigger(notice, "k", "r", when_cut)["payload"]["custom_details"]
    return details


def test_what_will_run_is_among_the_details_with_its_digest_and_what_is_hidden_of_it() -> None:
    told = details_of(replace(NOTICE, action=ACTION))["Exactly this will run"]

    hidden = "What is marked [redacted] or [masked] is hidden here, and runs all the same."
    assert told == f"sha256 1a2b3c4d\n{hidden}\n{ACTION.text()}"
    assert "Exactly this will run" not in details_of(NOTICE)


def test_the_risk_is_told_where_it_is_high() -> None:
    assert details_of(replace(NOTICE, risk="high, says the agent"))["risk"] == "high, says the agent"
    assert "risk" not in details_of(NOTICE)


@pytest.mark.parametrize(
    "much",
    [
        {"action": ShownAction({"log": "x" * 70_000}, "1a2b3c4d")},
        {"context": {"log": "x" * 500_000}},
        {"choices": tuple(NoticeChoice(number, "é" * 1_000, "v") for number in range(100))},
        {"in_part": Cut.WORDS},
    ],
    ids=["the action", "the context", "the choices", "what was left out before"],
)
def test_where_it_has_to_be_opened_an_incident_that_is_cut_says_nothing_of_answering_there(much: Any) -> None:
    notice = replace(NOTICE, choices=(NoticeChoice(0, "Yes", "yes", on_acknowledge=True),))
    longer = replace(notice, **much)
    longer = replace(longer, choices=tuple(replace(one, on_acknowledge=one.index == 0) for one in longer.choices))

    assert cut(longer) > Cut.NOTHING
    assert cut(notice) is Cut.NOTHING
    told = details_of(longer, WhenCut.OPEN)["how_to_answer"]
    assert told == f"Only a part is shown here. Read all of it and answer at {NOTICE.links.shared}"
    assert "Acknowledging answers" not in trigger(longer, "k", "r", WhenCut.OPEN)["payload"]["summary"]
    assert "Acknowledging answers" in trigger(notice, "k", "r", WhenCut.OPEN)["payload"]["summary"]


def test_our_own_words_give_way_before_the_agents() -> None:
    notice = replace(NOTICE, context={"log": "x" * 200_000}, notes=("é" * 60_000,), silence="é" * 30_000)
    sent = json.loads(encode(trigger(notice, "k", "r")))["payload"]["custom_details"]

    assert cut(notice) is Cut.NOTHING
    assert sent["context"] == notice.context
    assert sent["so_far"] == TOO_LONG
