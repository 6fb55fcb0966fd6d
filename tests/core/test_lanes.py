"""The relay's queues: one for each channel, so that a dead Slack never delays a mail (DESIGN.md)."""

from __future__ import annotations

import asyncio

import pytest

from core.delivery.lanes import Lanes
from core.delivery.turns import CAPACITY, LaneWidth
from tests.core.store_examples import in_hand

PATIENCE = 30.0


@pytest.fixture
async def lanes() -> Lanes:
    lanes = Lanes({"slack": LaneWidth(CAPACITY), "email": LaneWidth(CAPACITY)})
    lanes.open()
    return lanes


async def test_rows_leave_their_lane_in_the_order_they_came(lanes: Lanes) -> None:
    lanes.hand_over([in_hand("a"), in_hand("b")])
    lanes.hand_over([in_hand("c")])
    assert [(await lanes.next("slack")).id for _ in range(3)] == ["a", "b", "c"]


async def test_a_full_lane_leaves_the_others_free(lanes: Lanes) -> None:
    lanes.hand_over([in_hand(str(number)) for number in range(CAPACITY)])
    assert not lanes.has_room(in_hand())
    assert lanes.room("slack") == 0
    assert lanes.room("email") == CAPACITY
    lanes.hand_over([in_hand("mail", channel="email")])
    async with asyncio.timeout(PATIENCE):
        assert (await lanes.next("email")).id == "mail"


async def test_there_is_room_again_once_a_row_is_taken(lanes: Lanes) -> None:
    lanes.hand_over([in_hand(str(number)) for number in range(CAPACITY)])
    await lanes.next("slack")
    assert lanes.room("slack") == 1


async def test_a_lane_that_is_more_than_full_has_no_room_rather_than_less(lanes: Lanes) -> None:
    lanes.hand_over([in_hand(str(number)) for number in range(CAPACITY + 3)])
    assert lanes.room("slack") == 0


async def test_a_full_lane_asks_for_more_once_when_it_is_half_empty(lanes: Lanes) -> None:
    lanes.hand_over([in_hand(str(number)) for number in range(CAPACITY)])
    asked = []
    for taken in range(1, CAPACITY + 1):
        await lanes.next("slack")
        if lanes.begins_to_want("slack"):
            asked.append(taken)
    assert asked == [CAPACITY // 2]


async def test_only_lanes_with_room_for_many_are_filled_from_the_database(lanes: Lanes) -> None:
    lanes.hand_over([in_hand(str(number)) for number in range(CAPACITY)])
    await lanes.next("slack")
    assert lanes.wants_more() == ["email"]
    for _ in range(CAPACITY // 2 - 1):
        await lanes.next("slack")
    assert sorted(lanes.wants_more()) == ["email", "slack"]
    assert Lanes(["slack"]).wants_more() == []


async def test_nothing_is_taken_for_a_channel_without_a_lane_nor_before_the_start(lanes: Lanes) -> None:
    assert not lanes.has_room(in_hand(channel="pagerduty"))
    assert not Lanes(["slack"]).has_room(in_hand())


async def test_closing_gives_back_what_nobody_has_begun_to_send(lanes: Lanes) -> None:
    lanes.hand_over([in_hand("begun"), in_hand("left"), in_hand("mail", channel="email")])
    await lanes.next("slack")
    assert sorted(row.id for row in lanes.close()) == ["left", "mail"]
    assert not lanes.has_room(in_hand())
    assert lanes.close() == []


async def test_empty_waits_for_what_is_in_hand(lanes: Lanes) -> None:
    lanes.hand_over([in_hand("a"), in_hand("b", channel="email")])
    row, mail = await lanes.next("slack"), await lanes.next("email")
    emptied = asyncio.create_task(lanes.empty())
    lanes.done(row)
    done, _ = await asyncio.wait([emptied], timeout=0.02)
    assert not done
    lanes.done(mail)
    async with asyncio.timeout(PATIENCE):
        await emptied


async def test_after_closing_only_what_was_begun_is_waited_for(lanes: Lanes) -> None:
    lanes.hand_over([in_hand("begun"), in_hand("left")])
    begun = await lanes.next("slack")
    lanes.close()
    lanes.done(begun)
    async with asyncio.timeout(PATIENCE):
        await lanes.empty()


async def test_a_row_is_held_from_when_it_comes_until_it_is_settled_or_given_back(lanes: Lanes) -> None:
    lanes.hand_over([in_hand("begun"), in_hand("left")])
    begun = await lanes.next("slack")
    assert lanes.held == {"begun", "left"}
    lanes.close()
    assert lanes.held == {"begun"}
    lanes.done(begun)
    assert lanes.held == frozenset()


async def test_every_start_leases_under_a_name_of_its_own() -> None:
    assert Lanes(["slack"]).owner != Lanes(["slack"]).owner


async def test_a_sender_waits_for_its_lane_alone(lanes: Lanes) -> None:
    waiting = asyncio.create_task(lanes.next("email"))
    lanes.hand_over([in_hand("slack-row")])
    done, _ = await asyncio.wait([waiting], timeout=0.02)
    assert not done
    lanes.hand_over([in_hand("mail", channel="email")])
    async with asyncio.timeout(PATIENCE):
        assert (await waiting).id == "mail"
