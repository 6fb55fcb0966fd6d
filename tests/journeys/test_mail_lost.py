"""A mail server that takes mail and loses its own word about it, again and again (facts on mail §F)."""

from __future__ import annotations

from bot.sandbox.mail_smtp import Stage
from tests.bot.mail_world import ALICE
from tests.world import World

LADDER = {
    "max_attempts": 2,
    "interval_seconds": 86400,
    "escalation_ladder": [{"attempt": 2, "channel_hint": "pagerduty", "notify_to": "pagerduty:default"}],
}


async def ask(world: World) -> None:
    await world.ask(channel_hint="email", notify_to=ALICE, retry_policy=LADDER, timeout_seconds=172800)
    await world.advance(minutes=10)


async def test_a_mail_whose_word_is_lost_once_comes_twice_under_one_id_and_the_ladder_stands(any_world: World) -> None:
    any_world.mailbox.drop_next(Stage.DOT)
    await ask(any_world)

    first, second = any_world.mailbox.of(ALICE)
    assert first.message_id == second.message_id
    assert any_world.pager.incidents == []


async def test_a_mail_whose_word_is_lost_twice_is_not_sent_again_and_the_next_one_is_asked(any_world: World) -> None:
    any_world.mailbox.drop_next(Stage.DOT, times=50)
    await ask(any_world)

    assert len(any_world.mailbox.of(ALICE)) == 2
    assert len(any_world.pager.incidents) == 1
