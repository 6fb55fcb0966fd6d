"""Whose turn it is among one channel's rows: whoever is slow, silent or many delays nobody else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

import pytest

from core.delivery.rings import place_of
from core.delivery.turns import ALL_LANES, AT_ONE_PLACE, CAPACITY, LONGEST_REST, PROMPT, SLOW_SENDS, LaneWidth, Turns
from core.domain.callback import lane_of_callback
from core.store.outbox import Row
from tests.core.examples import after
from tests.core.store_examples import in_hand

NOW = after(seconds=100)
WIDTH = LaneWidth(most=64, each=8)
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


# --- One place, many sessions -----------------------------------------------------------------------------------------

HERE = "agent\nhttps://gateway.example"


def hang(turns: Turns, sent: Iterable[Row]) -> list[Row]:
    """They are not answered soon; those that may, linger."""
    return [row for row in sent if turns.lingers(row)]


def time_out(turns: Turns, sent: Iterable[Row]) -> None:
    for row in sent:
        turns.silent(row.lane, NOW, SECOND)
        turns.done(row)


def again(turns: Turns, *lanes: str) -> None:
    for lane in lanes:
        turns.add(replace(in_hand(f"{lane} again", channel="agents", lane=lane), tries=1))


def hanging(count: int) -> list[str]:
    return [f"{HERE}\nhanging {number}" for number in range(count)]


def test_a_place_gets_so_many_sends_at_once_however_many_sessions_wait_there(turns: Turns) -> None:
    wait(turns, *hanging(100))
    assert len(under_way(turns)) == AT_ONE_PLACE
    known(turns, "agent\nanother\nprompt")
    wait(turns, *(f"agent\nanother\n{number}" for number in range(100)))
    assert len(under_way(turns)) == WIDTH.each


def test_a_session_that_answers_is_never_behind_a_repeat(turns: Turns) -> None:
    wait(turns, *hanging(500))
    for _ in range(70):
        time_out(turns, under_way(turns))
    again(turns, *hanging(500))
    repeats = under_way(turns)
    assert 0 < len(repeats) <= AT_ONE_PLACE
    healthy = f"{HERE}\nhealthy"
    wait(turns, healthy)
    assert by_lane(under_way(turns)) == {healthy: 1}


def test_after_a_restart_too_a_first_try_goes_before_every_repeat(turns: Turns) -> None:
    again(turns, *hanging(100))
    under_way(turns)
    wait(turns, f"{HERE}\nhealthy")
    assert [row.lane for row in under_way(turns)] == [f"{HERE}\nhealthy"]


def test_where_sends_answer_a_first_try_goes_before_a_repeat(turns: Turns) -> None:
    known(turns, *hanging(20))
    again(turns, *hanging(20))
    wait(turns, f"{HERE}\nnew")
    assert next(iter(under_way(turns))).lane == f"{HERE}\nnew"


def test_sends_that_hang_give_their_turn_to_the_next(turns: Turns) -> None:
    wait(turns, *hanging(100))
    first = under_way(turns)
    assert hang(turns, first) == first
    assert not hang(turns, first), "once is enough"
    assert len(under_way(turns)) == AT_ONE_PLACE


def test_among_many_that_hang_the_newest_waits_for_no_more_than_two(turns: Turns) -> None:
    wait(turns, *hanging(500))
    sent = under_way(turns)
    wait(turns, f"{HERE}\nhealthy")
    hang(turns, sent[:2])
    assert f"{HERE}\nhealthy" in by_lane(under_way(turns))


def test_the_oldest_is_not_forgotten_for_the_newest(turns: Turns) -> None:
    oldest = hanging(500)
    wait(turns, *oldest)
    sent = under_way(turns)
    hang(turns, sent)
    assert set(oldest[AT_ONE_PLACE : AT_ONE_PLACE + 4]) <= set(by_lane(under_way(turns)))


def test_of_a_place_that_answers_what_hangs_takes_no_more_than_the_others_may(turns: Turns) -> None:
    known(turns, f"{HERE}\nprompt")
    wait(turns, *hanging(500))
    while sent := under_way(turns):
        hang(turns, sent)
    wait(turns, "somebody\nelse")
    assert by_lane(under_way(turns)) == {"somebody\nelse": 1}


def test_a_send_that_lingers_and_is_answered_leaves_nothing_behind(turns: Turns) -> None:
    for place in ("prompt", "unproven"):
        known(turns, f"agent\n{place}\nknown", took=AT_ONCE if place == "prompt" else PROMPT + SECOND)
    for _ in range(50):
        for place in ("prompt", "unproven"):
            wait(turns, *(f"agent\n{place}\n{number}" for number in range(10)))
        sent = under_way(turns)
        hang(turns, sent)
        sent += under_way(turns)
        answer(turns, sent)
    assert turns.waiting == 0
    assert not any(ring.busy for ring in (turns._favoured, turns._others, turns._repeats))


def test_however_many_repeats_wait_there_is_room_for_whoever_has_not_been_tried(turns: Turns) -> None:
    lanes, later = hanging(ALL_LANES + 100), NOW + LONGEST_REST
    for lane in lanes:
        wait(turns, lane)
        time_out(turns, under_way(turns))
    for lane in lanes:
        if turns.room(lane, later):
            again(turns, lane)
    assert turns.room(f"{HERE}\nhealthy", NOW) == 1


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
    turns = Turns(LaneWidth(4))
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


def test_an_agents_place_is_its_keys_and_its_urls_origin() -> None:
    def place(key: str, url: str) -> str:
        return place_of(lane_of_callback(key, url, "session"))

    one = place("refund-agent", "https://Agent.example/resume?x=1")
    assert one == place("refund-agent", "https://agent.example:443/another")
    others = {
        place("other-agent", "https://agent.example/resume"),
        place("refund-agent", "http://agent.example/resume"),
        place("refund-agent", "https://agent.example:8443/resume"),
        place("refund-agent", "https://another.example/resume"),
        place("refund-agent", "http://[broken"),
    }
    assert one not in others
    assert len(others) == 5


def test_each_session_at_a_place_has_a_lane_of_its_own() -> None:
    url = "https://agent.example/resume"
    lanes = {lane_of_callback("agent", url, session) for session in ("one", "another", "with\na break")}
    assert len(lanes) == 3
    assert {place_of(lane) for lane in lanes} == {"agent\nhttps://agent.example:443"}
    assert lane_of_callback("agent", url, "one") == lane_of_callback("agent", f"{url}/2", "one")
