"""A mail server that loses its own word about a mail again and again, or is away for hours (facts on mail §F)."""

from __future__ import annotations

from tests.bot.mail_world import ALICE, notices
from tests.vendors.smtp import Stage
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


async def test_after_hours_without_a_mail_server_everybody_is_asked_once_as_the_latest_attempt_does(
    any_world: World,
) -> None:
    port = any_world.mailbox.refuse_connections()
    hourly = {"max_attempts": 4, "interval_seconds": 3600}
    asked = await any_world.ask(channel_hint="email", notify_to=ALICE, retry_policy=hourly, timeout_seconds=14400)
    await any_world.advance(hours=2, minutes=5)
    types = await any_world.event_types(asked)
    assert types.count("intent.suspension_renotified") == 2  # the ladder does not wait for the mail server

    await any_world.mailbox.start(port)
    await any_world.advance(minutes=15)
    [mail] = any_world.mailbox.of(ALICE)
    assert "Reminder (3 of 4)" in mail.text
    assert await notices(any_world, asked) == [
        (1, "dropped", "superseded"),
        (2, "dropped", "superseded"),
        (3, "delivered", None),
    ]


async def test_a_mail_that_waits_for_its_server_still_leaves_where_later_attempts_ask_elsewhere(
    any_world: World,
) -> None:
    port = any_world.mailbox.refuse_connections()
    ladder = LADDER | {"interval_seconds": 3600}
    await any_world.ask(channel_hint="email", notify_to=ALICE, retry_policy=ladder, timeout_seconds=7200)
    await any_world.advance(hours=1, minutes=5)
    await any_world.mailbox.start(port)
    await any_world.advance(minutes=15)

    assert len(any_world.mailbox.of(ALICE)) == 1
