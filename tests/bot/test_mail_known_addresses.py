"""Which addresses the doors let in at RCPT TO, and which they turn away.

Source: facts on mail §B2, §F ("unknown/expired token: RCPT 550").
"""

from __future__ import annotations

import pytest

from tests.bot.mail_world import ask_by_mail, inbox_of
from tests.world import World


async def test_a_reply_address_is_known_while_the_question_is_open_and_after_its_end(any_world: World) -> None:
    asked, mail = await ask_by_mail(any_world)
    inbox = inbox_of(any_world)

    assert await inbox.knows(mail.answers_to)
    assert await inbox.knows(mail.answers_to.upper())
    await any_world.answer(asked, "deny")
    assert await inbox.knows(mail.answers_to), "who comes too late is told so, and not that there is no such address"


async def test_the_envelope_sender_of_a_mail_of_ours_is_known(world: World) -> None:
    _, mail = await ask_by_mail(world)

    assert mail.sender.startswith("bounces+")
    assert await inbox_of(world).knows(mail.sender)
    assert await inbox_of(world).knows(mail.sender.upper())


@pytest.mark.parametrize(
    "address",
    [
        "",
        "@",
        "answers@handraise.example",
        "handraise@handraise.example",
        "postmaster@handraise.example",
        "answers+r.@handraise.example",
        f"answers+r.{'a' * 26}@handraise.example",
        f"bounces+{'0' * 32}@handraise.example",
        "bounces+%@handraise.example",
        "bounces@handraise.example",
        "\0@\n",
        "a" * 100_000 + "@handraise.example",
    ],
)
async def test_no_other_address_is_known(world: World, address: str) -> None:
    await ask_by_mail(world)

    assert not await inbox_of(world).knows(address)


async def test_another_domain_s_addresses_are_not_ours(world: World) -> None:
    _, mail = await ask_by_mail(world)

    assert not await inbox_of(world).knows(mail.answers_to.replace("handraise.example", "evil.test"))
    assert not await inbox_of(world).knows(mail.sender.replace("handraise.example", "evil.test"))


async def test_the_delivery_id_of_a_slack_message_is_no_address(world: World) -> None:
    asked = await world.ask(channel_hint="slack")
    deliveries = [item for item in await world.timeline(asked) if item["kind"] == "delivery"]

    assert deliveries
    for item in deliveries:
        assert not await inbox_of(world).knows(f"bounces+{item['id']}@handraise.example")
