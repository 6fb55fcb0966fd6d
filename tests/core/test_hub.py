"""Waking whoever waits in this process: nobody misses a word, nobody hears another's."""

from __future__ import annotations

import asyncio

import pytest

from core.database.database import Database
from core.hub import EVERYTHING, Hub, Wakeup, first_of

PATIENCE = 30.0


async def test_everybody_who_subscribed_to_a_topic_is_woken() -> None:
    hub = Hub()
    with hub.subscribe("susp-1") as one, hub.subscribe("susp-1") as two, hub.subscribe("susp-2") as other:
        hub.tell("susp-1")
        assert (one.is_set(), two.is_set(), other.is_set()) == (True, True, False)


async def test_one_word_may_be_about_several_topics() -> None:
    hub = Hub()
    with hub.subscribe("susp-1") as question, hub.subscribe(EVERYTHING) as stream:
        hub.tell("susp-1", EVERYTHING)
        assert question.is_set()
        assert stream.is_set()


async def test_news_of_an_intent_reaches_those_who_follow_it_and_those_who_follow_everything(
    database: Database,
) -> None:
    hub = Hub()
    with hub.subscribe("intent-1") as one, hub.subscribe("intent-2") as other, hub.subscribe(EVERYTHING) as stream:
        await database.write(lambda tx: hub.announce_intents(tx, "intent-1"))
        assert (one.is_set(), other.is_set(), stream.is_set()) == (True, False, True)


async def test_a_word_between_subscribing_and_waiting_is_not_lost() -> None:
    hub = Hub()
    with hub.subscribe("susp-1") as told:
        hub.tell("susp-1")
        async with asyncio.timeout(PATIENCE):
            await told.wait()


async def test_a_word_from_before_subscribing_is_not_heard() -> None:
    hub = Hub()
    hub.tell("susp-1")
    with hub.subscribe("susp-1") as told:
        assert not told.is_set()


async def test_whoever_looks_again_clears_the_word_and_hears_the_next() -> None:
    hub = Hub()
    with hub.subscribe("susp-1") as told:
        hub.tell("susp-1")
        told.clear()
        hub.tell("susp-1")
        assert told.is_set()


async def test_whoever_is_gone_is_told_no_more_and_others_still_are() -> None:
    hub = Hub()
    with hub.subscribe("susp-1") as stays:
        with pytest.raises(RuntimeError), hub.subscribe("susp-1") as goes:
            raise RuntimeError
        hub.tell("susp-1")
        assert (stays.is_set(), goes.is_set()) == (True, False)


async def test_telling_nobody_is_harmless() -> None:
    Hub().tell("susp-1", "susp-2")


async def test_one_of_several_is_enough() -> None:
    one, other = Wakeup(), Wakeup()
    async with asyncio.timeout(PATIENCE):
        waiting = [asyncio.create_task(first_of(one, other)) for _ in range(2)]
        await asyncio.sleep(0)
        other.set()
        assert await asyncio.gather(*waiting) == [True, True]
        assert await first_of(one, other)


async def test_patience_ends_though_nothing_has_come_and_nothing_is_left_behind() -> None:
    one = Wakeup()
    assert not await first_of(one, patience=0.01)
    assert one.awaited == set()


async def test_whoever_gives_up_does_not_keep_others_from_being_woken() -> None:
    one = Wakeup()
    gives_up, stays = (asyncio.create_task(first_of(one)) for _ in range(2))
    await asyncio.sleep(0)
    gives_up.cancel()
    one.set()
    async with asyncio.timeout(PATIENCE):
        assert await stays
