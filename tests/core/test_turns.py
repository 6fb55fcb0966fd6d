"""Whose turn it is among one channel's rows: whoever is slow, silent or many delays nobody else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta

import pytest

from core.delivery.turns import ALL_LANES, CAPACITY, LONGEST_REST, PROMPT, SLOW_SENDS, Turns, Width
from core.domain.callback import lane_of_callback
from core.store.outbox import Row
from tests.core.examples import after
from tests.core.store_examples import in_hand

NOW = after(seconds=100)
WIDTH = Width(most=64, each=8)
AT_ONCE = timedelta(milliseconds=5)
SECOND = timedelta(seconds=1)


@pytest.fixture
def turns() -> Turns:
    return Turns(WIDTH)


def rows(lane: str, count: int = 1) -> list[Row]:
    return [in_hand(f"{lane} {number}", channel="agents", lane=lane) for number in range(count)]


def wait(turns: Turns, *lanes: str, each: int = 1) -> None:
    for lane in lanes:
        for row in rows(lane, each):
            turns.add(row)


def under_way(turns: Turns) -> list[Row]:
    """Everything that may be sent now."""
    found: list[Row] = []
    while (row := turns.next()) is not None:
        found.append(row)
    return found


def answer(turns: Turns, sent: Iterable[Row], took: timedelta = AT_ONCE) -> None:
    for row in sent:
        turns.answered(row.lane, took)
        turns.done(row)


def known(turns: Turns, *lanes: str, took: timedelta = AT_ONCE) -> None:
    wait(turns, *lanes)
    answer(turns, under_way(turns), took)


def by_lane(sent: Iterable[Row]) -> Counter[str]:
    return Counter(row.lane for row in sent)


# --- Turns ----------------------------------------------------------------------------------------------------------


def test_lanes_take_turns_however_many_rows_one_of_them_has(turns: Turns) -> None:
    known(turns, "many", "few")
    wait(turns, "many", each=100)
    wait(turns, "few", each=2)
    first = [row.lane for row in under_way(turns)][:4]
    assert first == ["many", "few", "many", "few"]


def test_groups_take_turns_however_many_lanes_one_of_them_has(turns: Turns) -> None:
    crowd = [f"crowd\n{number}" for number in range(20)]
    known(turns, *crowd, "alone\nhere")
    wait(turns, *crowd, each=5)
    wait(turns, "alone\nhere", each=5)
    assert [row.lane for row in under_way(turns)][:10].count("alone\nhere") == 5


def test_a_lane_keeps_its_own_order(turns: Turns) -> None:
    known(turns, "one")
    wait(turns, "one", each=3)
    assert [row.id for row in under_way(turns)] == ["one 0", "one 1", "one 2"]


# --- How many at once -----------------------------------------------------------------------------------------------


def test_whoever_answers_promptly_is_sent_so_many_at_once(turns: Turns) -> None:
    known(turns, "prompt")
    wait(turns, "prompt", each=100)
    assert len(under_way(turns)) == WIDTH.each


def test_whoever_answers_late_is_sent_few_at_once(turns: Turns) -> None:
    known(turns, "late", took=PROMPT + SECOND)
    wait(turns, "late", each=100)
    assert len(under_way(turns)) == SLOW_SENDS


def test_of_whom_nothing_is_known_one_send_is_made_until_it_answers(turns: Turns) -> None:
    wait(turns, "new", each=100)
    first = under_way(turns)
    assert len(first) == 1
    answer(turns, first)
    assert len(under_way(turns)) == WIDTH.each


def test_there_is_a_bound_to_all_of_them(turns: Turns) -> None:
    many = [f"{number}" for number in range(100)]
    known(turns, *many)
    wait(turns, *many, each=10)
    assert len(under_way(turns)) == WIDTH.most


def test_however_many_say_nothing_whoever_answers_finds_a_turn(turns: Turns) -> None:
    known(turns, "healthy")
    wait(turns, *(f"key{number}\nsilent" for number in range(500)))
    assert len(under_way(turns)) == WIDTH.others < WIDTH.most
    wait(turns, "healthy")
    assert by_lane(under_way(turns)) == {"healthy": 1}


def test_however_many_places_of_one_key_say_nothing_those_of_another_are_tried(turns: Turns) -> None:
    wait(turns, *(f"attacker\n{number}" for number in range(500)))
    taken = under_way(turns)
    wait(turns, "somebody\nnew")
    assert len(taken) < WIDTH.others
    assert by_lane(under_way(turns)) == {"somebody\nnew": 1}


def test_however_many_places_of_one_key_answer_late_enough_those_of_another_find_a_turn(turns: Turns) -> None:
    lanes = [f"attacker\n{number}" for number in range(100)]
    known(turns, *lanes, "somebody\nelse")
    wait(turns, *lanes, each=10)
    under_way(turns)
    wait(turns, "somebody\nelse")
    assert by_lane(under_way(turns)) == {"somebody\nelse": 1}


# --- Silence --------------------------------------------------------------------------------------------------------


def test_whoever_says_nothing_rests_twice_as_long_each_time(turns: Turns) -> None:
    now, rests = NOW, []
    for _ in range(8):
        wait(turns, "silent")
        [row] = under_way(turns)
        until = turns.silent("silent", now, SECOND)
        turns.done(row)
        assert until is not None
        assert turns.room("silent", now) == 0
        rests.append((until - now) / SECOND)
        now = until
        assert turns.room("silent", now) == 1
    assert rests == [1, 2, 4, 7, 13, 24, 24, 24]
    assert max(rests) * SECOND < LONGEST_REST


def test_sends_that_are_not_answered_together_are_one_silence(turns: Turns) -> None:
    known(turns, "busy")
    wait(turns, "busy", each=5)
    sent = under_way(turns)
    until = {turns.silent(row.lane, NOW, SECOND) for row in sent}
    assert len(until) == 1


def test_after_a_silence_one_send_finds_out_and_an_answer_opens_the_lane(turns: Turns) -> None:
    known(turns, "back")
    wait(turns, "back", each=20)
    sent = under_way(turns)
    for row in sent:
        turns.silent(row.lane, NOW, SECOND)
        turns.done(row)
    probe = under_way(turns)
    assert len(probe) == 1
    answer(turns, probe)
    assert turns.rests_until("back") is None
    assert len(under_way(turns)) == WIDTH.each


# --- Room -----------------------------------------------------------------------------------------------------------


def test_a_lane_of_which_nothing_is_known_takes_one_row_ahead_and_one_that_answers_many(turns: Turns) -> None:
    assert turns.room("new", NOW) == 1
    wait(turns, "new")
    assert turns.room("new", NOW) == 0
    first = under_way(turns)
    assert turns.room("new", NOW) == 0, "the one that is on its way is the one"
    answer(turns, first)
    assert turns.room("new", NOW) == CAPACITY


def test_all_lanes_together_take_no_more_than_so_many_rows(turns: Turns) -> None:
    lanes = [f"{number}" for number in range(10)]
    known(turns, *lanes)
    for lane in lanes:
        for row in rows(lane, turns.room(lane, NOW)):
            turns.add(row)
    assert turns.waiting == ALL_LANES


def test_a_channel_without_lanes_takes_its_whole_width_at_once() -> None:
    turns = Turns(Width(4))
    assert turns.room("", NOW) == CAPACITY
    wait(turns, "", each=10)
    sent = under_way(turns)
    assert len(sent) == 4
    assert turns.silent("", NOW, SECOND) is None, "one mail server's silence is every mail's"


def test_lanes_that_are_done_are_forgotten_in_time() -> None:
    turns = Turns(WIDTH)
    for number in range(10_000):
        known(turns, f"key\n{number}")
    assert len(turns._lanes) < 5_000


# --- Places ---------------------------------------------------------------------------------------------------------


def test_an_agents_lane_is_its_keys_and_its_urls_origin() -> None:
    one = lane_of_callback("refund-agent", "https://Agent.example/resume?x=1")
    assert one == lane_of_callback("refund-agent", "https://agent.example:443/another")
    others = {
        lane_of_callback("other-agent", "https://agent.example/resume"),
        lane_of_callback("refund-agent", "http://agent.example/resume"),
        lane_of_callback("refund-agent", "https://agent.example:8443/resume"),
        lane_of_callback("refund-agent", "https://another.example/resume"),
        lane_of_callback("refund-agent", "http://[broken"),
    }
    assert one not in others
    assert len(others) == 5
