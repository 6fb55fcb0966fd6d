"""What a person who replied is told: short, true, and nothing that a mail may not hold.

Source: API.md §3 (late answers), §4; decision 0011 (what is redacted).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from channels.email.authentication import SenderAuth
from tests.bot.mail_world import ALICE, BOB, ask_by_mail, reasons, take, words_back, written_back
from tests.vendors import mail as mail_replies
from tests.world import World, after, running

CARD = "4111 1111 1111 1111"
TO_THE_CARD = [{"value": "card", "label": f"Refund to {CARD}"}, {"value": "deny", "label": "Deny refund"}]


async def test_after_a_cancellation_the_agent_needs_no_answer(world: World) -> None:
    asked, mail = await ask_by_mail(world)
    await world.call("POST", f"/v1/suspensions/{asked['suspension_id']}/cancel", json={"reason": "done"})

    await world.mailbox.reply(mail, "approve")

    (told,) = await words_back(world, asked)
    assert told.startswith("Too late: your reply was not recorded.\n\nCancelled by refund-agent, 2026-03-24 10:00 UTC.")
    assert await reasons(world, asked) == [("reply", "too_late")]


async def test_after_a_failure_the_agent_has_stopped(world: World) -> None:
    asked, mail = await ask_by_mail(world, fallback_policy="fail")
    await world.advance(hours=3)

    await world.mailbox.reply(mail, "approve")

    assert "Nobody answered by 2026-03-24 12:00 UTC. The agent stopped." in (await words_back(world, asked))[0]


async def test_whoever_vetoes_is_not_told_that_the_agent_goes_on(world: World) -> None:
    asked, mail = await ask_by_mail(world, "About to delete 14 databases.", kind="veto")

    await world.mailbox.reply(mail, "veto")

    assert (await words_back(world, asked))[0].lower() == "recorded: “veto”.\n\nthe agent will be told. thank you."


async def test_a_claim_near_the_end_is_told_until_when_it_really_holds(world: World) -> None:
    asked, mail = await ask_by_mail(world, retry_policy={"max_attempts": 3, "interval_seconds": 600})

    await world.mailbox.reply(mail, "on it")

    assert (await world.show(asked))["claim_until"] == after(asked, minutes=30)
    assert "Reminders are held back until 2026-03-24 10:25 UTC." in (await words_back(world, asked))[0]
    await world.advance(minutes=25)
    assert len(world.mailbox.of(ALICE)) == 3  # the question, the word back, and the reminder


async def test_a_claim_where_no_reminder_is_left_promises_none(world: World) -> None:
    asked, mail = await ask_by_mail(world)

    await world.mailbox.reply(mail, "on it")

    told = (await words_back(world, asked))[0]
    assert told == "Recorded: you are on it.\n\nThe question still waits for an answer."


async def test_what_is_written_back_tells_the_times_of_where_its_reader_lives(tmp_path: Path, sqlite_url: str) -> None:
    people = [{"name": "Alice", "email": ALICE, "time_zone": "Asia/Tokyo"}]
    async with running(tmp_path, sqlite_url, people=people) as abroad:
        asked, mail = await ask_by_mail(abroad, retry_policy={"max_attempts": 2, "interval_seconds": 3600})
        await abroad.mailbox.reply(mail, "on it")
        await abroad.advance(hours=3)
        await abroad.mailbox.reply(mail, "approve")

        held, late = await words_back(abroad, asked)
    assert "held back until 2026-03-24 19:30 JST (10:30 UTC)." in held
    assert "Nobody answered by 2026-03-24 21:00 JST (12:00 UTC)." in late


async def test_a_no_ends_what_somebody_else_has_approved(world: World) -> None:
    asked, mail = await ask_by_mail(world, answers_required=2)
    await world.answer(asked, "approve", "second_operator")

    await world.mailbox.reply(mail, "deny")

    (told,) = await words_back(world, asked)
    assert told.startswith("Recorded: “Deny refund”.")
    assert (await world.told(asked))["data"]["responded_by"] == ALICE


async def test_whoever_changes_their_mind_is_told_what_counts_now(world: World) -> None:
    choices = [{"value": "approve", "label": "Approve refund"}, {"value": "later", "label": "Ask me later"}]
    asked, mail = await ask_by_mail(world, choices=choices, answers_required=2)
    await world.mailbox.reply(mail, "approve")
    await world.advance(hours=1)
    await world.mailbox.reply(mail, "Ask me later")

    first, second = await words_back(world, asked)
    assert first.startswith("Recorded: “Approve refund”. 2 people have to give the same answer.")
    assert second.startswith("Recorded: “Ask me later”. 2 people have to give the same answer.")


@pytest.mark.parametrize("words", ["1", "hm"])
async def test_no_mail_back_holds_what_a_mail_may_not(world: World, words: str) -> None:
    asked, mail = await ask_by_mail(world, f"Refund {CARD}?", choices=TO_THE_CARD)

    await world.mailbox.reply(mail, words)

    (told,) = await written_back(world, asked)
    assert "redacted: card number" in told.text
    assert "4111" not in told.text + told.subject


async def test_no_mail_about_one_of_several_answers_or_a_forgery_holds_it_either(world: World) -> None:
    asked, mail = await ask_by_mail(world, f"Refund {CARD}?", choices=TO_THE_CARD, answers_required=2)

    await world.mailbox.reply(mail, "1")
    await world.mailbox.forge_reply(mail, "deny", sender=ALICE)

    back = await written_back(world, asked)
    assert len(back) == 2
    assert "4111" not in "".join(one.text + one.subject for one in back)


@pytest.mark.parametrize(("sender", "reason"), [(ALICE, "link_only"), (BOB, "sender_is_not_the_recipient")])
async def test_where_links_alone_answer_every_reply_gets_its_owner_the_link(
    world: World, sender: str, reason: str
) -> None:
    asked, mail = await ask_by_mail(world)
    passing = mail_replies.passing("handraise.example", sender)
    raw = mail_replies.reply(mail, "approve", sender=sender, at=world.clock.now(), authentication=passing)

    await take(world, raw, sender=sender, to=(mail.answers_to,), sender_auth=SenderAuth.LINK_ONLY)

    (told,) = await written_back(world, asked)
    assert (told.recipient, told.links) == (ALICE, mail.links[:1])
    assert "Please reply" not in told.text
    assert await reasons(world, asked) == [("reply", reason)]


async def test_nobody_is_written_to_about_a_forgery_after_the_end(world: World) -> None:
    asked, mail = await ask_by_mail(world)
    await world.answer(asked, "deny")

    await world.mailbox.forge_reply(mail, "approve", sender=ALICE)

    assert await words_back(world, asked) == []
    assert await reasons(world, asked) == [("reply", "not_authenticated")]


async def test_everything_written_back_is_marked_so_that_no_machine_answers(world: World) -> None:
    asked, mail = await ask_by_mail(world)
    await world.mailbox.reply(mail, "hm")
    await world.mailbox.forge_reply(mail, "approve", sender=ALICE)
    await world.mailbox.reply(mail, "approve")
    await world.mailbox.reply(mail, "deny")

    back = await written_back(world, asked)
    assert len(back) == 4
    for one in back:
        assert one.sender == "", "MAIL FROM <>: a bounce of it goes to nobody"
        assert one.header("Auto-Submitted") == "auto-replied"
        assert one.header("X-Auto-Response-Suppress") == "All"
    assert all(one.header("x-ms-reactions") == "disallow" for one in (mail, *back)), "a thumbs-up would not reach us"


async def test_the_confirmation_of_a_text_repeats_what_was_recorded(world: World) -> None:
    asked, mail = await ask_by_mail(world, response_type="text")

    await world.mailbox.reply(mail, "Ship it to Oslo.\n\nNot before Monday.\n\nBest regards,\nAlice")

    (told,) = await words_back(world, asked)
    assert told.startswith("Recorded: “Ship it to Oslo.\n\nNot before Monday.”.")
