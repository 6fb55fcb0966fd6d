"""Who has to go when there are too many, and who has taken too long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.front.admission import SETTLED, Admission, Bodies, Limits, Phase, connections_within, is_overdue, neighbourhood

MIB = 1024 * 1024
PROXY = "10.0.0.1"


def crowded(guests: range, most: int = 1000, per_address: int = 10) -> Admission[int]:
    crowd: Admission[int] = Admission(most, per_address)
    for guest in guests:
        assert crowd.enter(guest, PROXY) == (True, None)
    return crowd


def settled(crowd: Admission[int]) -> Admission[int]:
    for _ in range(SETTLED):
        assert crowd.next_round() == []
    return crowd


def test_at_an_addresss_share_whoever_has_kept_us_waiting_longest_gives_way() -> None:
    crowd = settled(crowded(range(10)))
    assert crowd.enter(10, PROXY) == (True, 0)
    assert crowd.enter(11, PROXY) == (True, 1)
    assert crowd.enter(12, "10.0.0.2") == (True, None), "another address has a share of its own"


def test_who_is_being_served_does_not_give_way_and_comes_last_afterwards() -> None:
    crowd = settled(crowded(range(10)))
    crowd.works(0)
    assert crowd.enter(10, PROXY) == (True, 1)
    crowd.waits(0)
    assert [crowd.enter(guest, PROXY)[1] for guest in range(11, 15)] == [2, 3, 4, 5]


def test_who_is_known_never_gives_way_and_takes_nobodys_place() -> None:
    crowd = settled(crowded(range(10)))
    for guest in range(9):
        crowd.vouch(guest)
    assert [crowd.enter(guest, PROXY) for guest in range(10, 19)] == [(True, None)] * 9
    assert crowd.enter(19, PROXY) == (True, 9)
    assert len(crowd) == 19


def test_all_clients_may_come_back_at_once_and_show_their_keys() -> None:
    crowd = crowded(range(100))
    assert crowd.next_round() == [], "none has had the time to"
    for guest in range(100):
        crowd.vouch(guest)
    assert crowd.next_round() == crowd.next_round() == []


def test_of_those_who_came_at_once_and_show_nothing_only_the_share_stays() -> None:
    crowd = crowded(range(100))
    assert crowd.next_round() == []
    assert crowd.next_round() == list(range(90))
    assert len(crowd) == 10


def test_at_the_most_there_are_any_stranger_gives_way_however_new() -> None:
    crowd = crowded(range(5), most=5)
    assert crowd.enter(5, "10.0.0.2") == (True, 0)


def test_where_all_are_known_or_being_served_nobody_else_comes_in() -> None:
    crowd = crowded(range(5), most=5)
    for guest in range(4):
        crowd.vouch(guest)
    crowd.works(4)
    assert crowd.enter(5, PROXY) == (False, None)
    crowd.leave(0)
    assert crowd.enter(5, PROXY) == (True, None)


def test_one_address_never_has_all_the_places() -> None:
    crowd = crowded(range(50), most=100)
    for guest in range(50):
        crowd.works(guest)
    assert crowd.enter(50, PROXY) == (False, None)
    assert crowd.enter(50, "10.0.0.2") == (True, None)


@given(
    st.lists(
        st.tuples(st.sampled_from(["enter", "works", "waits", "vouch", "leave", "round"]), st.integers(0, 30)),
        max_size=200,
    )
)
def test_there_are_never_more_than_the_most_and_no_known_one_is_sent_away(doings: list[tuple[str, int]]) -> None:
    crowd: Admission[int] = Admission(8, 3)
    here: set[int] = set()
    known: set[int] = set()
    for doing, guest in doings:
        gone: list[int] = []
        if doing == "enter" and guest not in here:
            admitted, one = crowd.enter(guest, str(guest % 3))
            gone = [] if one is None else [one]
            here |= {guest} if admitted else set()
        elif doing == "vouch" and guest in here:
            crowd.vouch(guest)
            known.add(guest)
        elif doing == "leave":
            crowd.leave(guest)
            here.discard(guest)
            known.discard(guest)
        elif doing == "round":
            gone = crowd.next_round()
        elif guest in here and doing in {"works", "waits"}:
            getattr(crowd, doing)(guest)
        assert not known & set(gone)
        here -= set(gone)
        assert len(crowd) == len(here) <= 8


def test_strangers_have_half_of_what_bodies_may_take_and_known_ones_all_the_rest() -> None:
    bodies = Bodies(4 * MIB)
    assert bodies.take(2 * MIB, stranger=True)
    assert not bodies.take(1, stranger=True)
    assert bodies.take(2 * MIB, stranger=False)
    assert not bodies.take(1, stranger=False)
    bodies.give_back(2 * MIB, stranger=True)
    assert bodies.take(1, stranger=True)


@pytest.mark.parametrize(
    ("phase", "seconds", "received", "overdue"),
    [
        (Phase.HEAD, 15, 0, False),
        (Phase.HEAD, 16, 0, True),
        (Phase.BODY, 31, 0, True),
        (Phase.BODY, 31, 16 * 1024 * 2, False),
        (Phase.BODY, 90, 16 * 1024 * 59, True),
        (Phase.IDLE, 75, 0, False),
        (Phase.IDLE, 76, 0, True),
        (Phase.SERVING, 100_000, 0, False),
    ],
)
def test_each_phase_has_its_time(phase: Phase, seconds: float, received: int, overdue: bool) -> None:
    assert is_overdue(phase, seconds, received, Limits()) is overdue


@pytest.mark.parametrize(
    ("descriptors", "connections"), [(20_000, 4_000), (4_096, 3_584), (1_024, 683), (256, 171), (1, 1)]
)
def test_some_descriptors_are_left_for_what_sends(descriptors: int, connections: int) -> None:
    assert connections_within(descriptors, 4_000) == connections


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2::7", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("", ""),
    ],
)
def test_an_address_of_ipv6_is_what_one_host_is_given(address: str, counted: str) -> None:
    assert neighbourhood(address) == counted
