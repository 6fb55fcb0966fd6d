"""Whoever was asked hears how it ended, once, on a channel that reached them (API.md §3, docs/decisions/0093)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.questions.test_who_wrote_it import browse
from tests.vendors.mail import Mail
from tests.vendors.slack import shown
from tests.vendors.smtp import Stage
from tests.world import World, config, running

ALICE, BOB, CAROL, DAVE = (f"{name}@example.com" for name in ("alice", "bob", "carol", "dave"))
FINANCE = "finance@example.com"
HOURLY: dict[str, Any] = {"max_attempts": 3, "interval_seconds": 3600}
PEOPLE = [*config("", {})["people"], {"name": "Dave", "email": DAVE}]


def about(world: World, asked: Mapping[str, Any], address: str) -> list[Mail]:
    """Every mail to ``address`` about the question, oldest first."""
    return [mail for mail in world.mailbox.of(address) if asked["ref"] in mail.subject]


def endings(world: World, asked: Mapping[str, Any], address: str) -> list[str]:
    """What ``address`` was told of the end, without the marker line and the page's link."""
    told = [mail for mail in about(world, asked, address) if mail.subject.startswith("Re: ")]
    return [re.sub(r"\s*https?://\S+$", "", mail.text.partition("\n\n")[2].strip()) for mail in told]


async def ask_three_by_mail(world: World, **fields: Any) -> dict[str, Any]:
    """By an agent that fetches the answer itself."""
    asking = {"channel_hint": "email", "responders": [ALICE, BOB, CAROL], "resume": None} | fields
    return await world.ask(**asking)


OVER = "No answer is needed any more. The agent fetches the answer itself."


# --- Who hears it, and where ------------------------------------------------------------------------------------------


async def test_three_people_on_three_channels_each_hear_the_end_once(tmp_path: Path, database_url: str) -> None:
    async with running(tmp_path, database_url, people=PEOPLE) as world:
        ladder = [
            {"attempt": 2, "channel_hint": "email", "notify_to": BOB},
            {"attempt": 3, "channel_hint": "pagerduty", "notify_to": CAROL},
        ]
        asked = await world.ask(
            notify_to=ALICE,
            responders=[ALICE, BOB, CAROL],
            on_behalf_of=DAVE,
            retry_policy={**HOURLY, "escalation_ladder": ladder},
        )
        await world.advance(hours=2, minutes=10)
        world.agent.answers[:] = [500] * 50
        [message], incident = world.slack.workspace.posted(), await world.pager.expect_incident(asked["ref"])
        [question] = about(world, asked, BOB)

        await world.press("U0ALICE", message, "Approve refund")

        answered = "Answered “Approve refund” by alice@example.com via Slack, 2026-03-24 12:10 UTC."
        assert f"✅ {answered} The agent will be told." in shown(message), "Alice's own message"
        word = f"{answered} No answer is needed any more. The agent will be told."
        assert endings(world, asked, BOB) == endings(world, asked, DAVE) == [word]
        assert incident.status == "resolved"
        [note] = [one.content for one in incident.notes if "Answered" in one.content]
        assert note.endswith(f"{answered} [{asked['ref']}]"), "the pager, which Carol was reached by"
        assert (about(world, asked, ALICE), about(world, asked, CAROL)) == ([], [])
        assert [about(world, asked, DAVE)[0].header("In-Reply-To")] == [question.header("In-Reply-To")]

        world.agent.answers.clear()
        await world.advance(days=1)
        assert [len(about(world, asked, one)) for one in (ALICE, BOB, CAROL, DAVE)] == [0, 2, 0, 1]
        assert len(world.slack.workspace.posted()) == 1
        assert f"✅ {answered} The agent has been told." in shown(message)


async def test_of_three_who_were_mailed_the_two_who_did_not_answer_hear_it_in_the_thread(any_world: World) -> None:
    world = any_world
    asked = await ask_three_by_mail(world)
    [question] = about(world, asked, BOB)

    await world.mailbox.reply(question, "2")
    await world.settle()

    answered = "Answered “Deny refund” by bob@example.com via e-mail, 2026-03-24 10:00 UTC."
    for one in (ALICE, CAROL):
        assert endings(world, asked, one) == [f"{answered} {OVER}"]
    [confirmed] = endings(world, asked, BOB)
    assert confirmed.startswith("Recorded: “Deny refund”.")
    first, word = about(world, asked, ALICE)
    assert word.subject == f"Re: {first.subject}"
    assert word.header("In-Reply-To") == word.header("References") == first.header("References")
    assert (word.header("Auto-Submitted"), word.header("X-Auto-Response-Suppress")) == ("auto-generated", "All")
    [link] = [link for link in word.links if "/a/" in link][:1]
    page = (await browse(world.url + link[link.index("/a/") :])).text
    assert "Answered:" in page and "<form" not in page, "there is nothing to answer"


async def test_whoever_was_mailed_three_times_hears_it_once(world: World) -> None:
    asked = await ask_three_by_mail(world, retry_policy=HOURLY)
    await world.advance(hours=2, minutes=1)
    assert len(about(world, asked, CAROL)) == 3
    assert (await world.answer(asked, "approve")).status_code == 200
    await world.settle()
    assert len(endings(world, asked, BOB)) == len(endings(world, asked, CAROL)) == 1
    assert endings(world, asked, ALICE) == [], "she has answered"


async def test_whoever_has_a_message_in_slack_reads_it_there_and_gets_no_mail(world: World) -> None:
    ladder = [{"attempt": 2, "channel_hint": "email"}]
    asked = await world.ask(responders=[BOB, CAROL], retry_policy={**HOURLY, "escalation_ladder": ladder})
    await world.advance(hours=1)
    assert len(about(world, asked, CAROL)) == 1
    await world.call("POST", f"/v1/suspensions/{asked['suspension_id']}/cancel", json={})
    await world.settle()
    assert endings(world, asked, CAROL) == []
    assert all("Cancelled by" in shown(message) for message in world.slack.workspace.posted())


async def test_whoever_was_asked_in_a_channel_of_many_and_by_mail_hears_it_by_mail(world: World) -> None:
    ladder = [{"attempt": 2, "channel_hint": "email", "notify_to": CAROL}]
    asked = await world.ask(notify_to="slack:C0OPS", retry_policy={**HOURLY, "escalation_ladder": ladder})
    await world.advance(hours=1)
    await world.answer(asked, "approve")
    await world.settle()
    assert len(endings(world, asked, CAROL)) == 1


async def test_a_mailbox_of_several_people_hears_it_once_and_so_does_whoever_answered_there(
    tmp_path: Path, database_url: str
) -> None:
    async with running(tmp_path, database_url, email__default_to=[FINANCE]) as world:
        asked = await world.ask(channel_hint="email", retry_policy=HOURLY, responders=[f"email:{FINANCE}", BOB])
        await world.advance(hours=1)
        first, *_ = about(world, asked, FINANCE)
        await world.mailbox.forge_reply(
            first, "1", sender=BOB, verdict="handraise.example; dmarc=pass header.from=example.com"
        )
        await world.settle()
        [word] = endings(world, asked, FINANCE)
        assert word.startswith("Answered “Approve refund” by bob@example.com via e-mail")
        [confirmed] = endings(world, asked, BOB)
        assert confirmed.startswith("Recorded: “Approve refund”.")


# --- However it ends --------------------------------------------------------------------------------------------------


async def test_silence_tells_what_it_has_decided(any_world: World) -> None:
    asked = await ask_three_by_mail(
        any_world, timeout_seconds=3600, fallback_policy="complete_with_fallback", fallback_value="deny"
    )
    await any_world.advance(hours=1)
    for one in (ALICE, BOB, CAROL):
        [word] = endings(any_world, asked, one)
        assert word == f"Nobody answered by 2026-03-24 11:00 UTC. The agent went on with “Deny refund”. {OVER}"


async def test_a_cancellation_is_told(world: World) -> None:
    asked = await ask_three_by_mail(world)
    await world.call("POST", f"/v1/suspensions/{asked['suspension_id']}/cancel", json={})
    await world.settle()
    told = f"Cancelled by refund-agent, 2026-03-24 10:00 UTC. {OVER}"
    assert [endings(world, asked, one) for one in (ALICE, BOB, CAROL)] == [[told]] * 3


async def test_a_veto_window_that_closes_is_told(world: World) -> None:
    asked = await ask_three_by_mail(world, kind="veto", timeout_seconds=3600)
    await world.advance(hours=1)
    [word] = endings(world, asked, CAROL)
    assert "“Authorize”" in word


async def test_of_a_quorum_everybody_hears_but_whoever_completed_it(world: World) -> None:
    asked = await ask_three_by_mail(world, answers_required=2)
    for one in (ALICE, BOB):
        await world.mailbox.reply(about(world, asked, one)[0], "1")
        await world.settle()
    counted, told = endings(world, asked, ALICE)
    assert counted.startswith("Recorded: “Approve refund”. 2 people have to give the same answer;")
    answered = "Answered “Approve refund” by alice@example.com and bob@example.com via e-mail, 2026-03-24 10:00 UTC."
    assert told == f"{answered} {OVER}"
    assert endings(world, asked, CAROL) == [told]
    assert len(endings(world, asked, BOB)) == 1, "his confirmation"


async def test_what_is_told_is_redacted_like_everything_else(world: World) -> None:
    asked = await ask_three_by_mail(world, question="Which card?", response_type="text")
    await world.answer(asked, "4111 1111 1111 1111")
    await world.settle()
    [word] = endings(world, asked, CAROL)
    assert "[redacted: card number]" in word and "4111" not in word


async def test_a_reply_to_it_hears_that_it_is_over(world: World) -> None:
    asked = await ask_three_by_mail(world)
    await world.answer(asked, "approve")
    await world.settle()
    await world.mailbox.reply(about(world, asked, CAROL)[-1], "2")
    await world.settle()
    assert endings(world, asked, CAROL)[-1].startswith("Too late: your reply was not recorded.\n\nAnswered “Approve")


# --- Only if they were reached ----------------------------------------------------------------------------------------


async def test_a_notice_that_was_refused_or_came_back_is_followed_by_nothing(any_world: World) -> None:
    world = any_world
    world.mailbox.refuse(BOB)
    asked = await ask_three_by_mail(world)
    await world.mailbox.bounce(about(world, asked, CAROL)[0])
    await world.answer(asked, "approve")
    await world.settle()
    world.mailbox.behave()
    await world.advance(days=1)
    assert (endings(world, asked, BOB), endings(world, asked, CAROL)) == ([], [])


async def test_a_notice_that_is_in_flight_at_the_end_is_followed_as_soon_as_it_is_taken(any_world: World) -> None:
    world = any_world
    world.mailbox.delay_next(Stage.DOT, timedelta(seconds=1), times=2)
    body = {"question": "Refund?", "response_type": "confirm", "channel_hint": "email", "responders": [BOB, CAROL]}
    asked = (await world.call("POST", "/v1/suspensions", json=body)).json()
    while len(world.mailbox.mails) + world.mailbox.faults_to_come < 2:
        await asyncio.sleep(0.01)
    await world.call("POST", f"/v1/suspensions/{asked['suspension_id']}/cancel", json={})
    await world.settle()
    assert [len(endings(world, asked, one)) for one in (BOB, CAROL)] == [1, 1]
    await world.advance(days=1)
    assert [len(about(world, asked, one)) for one in (BOB, CAROL)] == [2, 2]


async def test_a_notice_taken_after_the_end_tells_nobody_whose_own_came_back(any_world: World) -> None:
    world = any_world
    ladder = [{"attempt": 2, "channel_hint": "email", "notify_to": CAROL}]
    policy = {**HOURLY, "escalation_ladder": ladder}
    asked = await world.ask(channel_hint="email", notify_to=BOB, retry_policy=policy, resume=None)
    world.mailbox.delay_next(Stage.DOT, timedelta(seconds=1))
    await world.mailbox.bounce(about(world, asked, BOB)[0])  # so that Carol is asked at once
    while world.mailbox.faults_to_come:
        await asyncio.sleep(0.01)
    await world.call("POST", f"/v1/suspensions/{asked['suspension_id']}/cancel", json={})
    await world.settle()
    assert [len(endings(world, asked, one)) for one in (BOB, CAROL)] == [0, 1]


async def test_a_notice_that_may_have_arrived_is_followed_too(world: World) -> None:
    world.mailbox.drop_next(Stage.DOT)
    asked = await world.ask(channel_hint="email", responders=[CAROL])
    await world.call("POST", f"/v1/suspensions/{asked['suspension_id']}/cancel", json={})
    await world.advance(hours=1)
    assert len(about(world, asked, CAROL)) == 2
    assert len(endings(world, asked, CAROL)) == 1


async def test_a_word_that_may_have_arrived_is_the_same_mail_when_it_is_sent_again(any_world: World) -> None:
    world = any_world
    asked = await world.ask(channel_hint="email", responders=[CAROL])
    world.mailbox.drop_next(Stage.DOT)
    await world.call("POST", f"/v1/suspensions/{asked['suspension_id']}/cancel", json={})
    await world.advance(hours=1)
    told = [mail for mail in about(world, asked, CAROL) if mail.subject.startswith("Re: ")]
    assert [mail.acknowledged for mail in told] == [False, True]
    assert len({mail.message_id for mail in told}) == 1


async def test_nobody_is_mailed_if_the_configuration_says_so(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, people=PEOPLE, email__tell_endings=False) as world:
        asked = await ask_three_by_mail(world, on_behalf_of=DAVE)
        await world.answer(asked, "approve")
        await world.settle()
        assert [endings(world, asked, one) for one in (BOB, CAROL, DAVE)] == [[], [], []]


# --- In whose name it was asked ---------------------------------------------------------------------------------------


async def test_the_person_it_was_asked_for_hears_it_on_their_first_channel(world: World) -> None:
    asked = await world.ask(channel_hint="email", responders=[BOB, CAROL], on_behalf_of=ALICE)
    await world.answer(asked, "deny", "second_operator")
    await world.settle()
    [message] = world.slack.workspace.posted("D0ALICE")
    assert "Answered “Deny refund” by bob@example.com via api, 2026-03-24 10:00 UTC." in shown(message)
    assert message.button("ans:0") is None
    assert about(world, asked, ALICE) == []


async def test_a_stranger_in_whose_name_it_was_asked_is_not_written_to(world: World) -> None:
    asked = await world.ask(channel_hint="email", responders=[BOB], on_behalf_of="stranger@example.com")
    await world.answer(asked, "deny", "second_operator")
    await world.settle()
    assert world.mailbox.of("stranger@example.com") == []


@pytest.mark.parametrize("name", [ALICE, "A.Smith+x@example.com"])
async def test_whoever_asked_for_themselves_by_another_address_is_one_person(
    tmp_path: Path, sqlite_url: str, name: str
) -> None:
    people = [dict(one) for one in config("", {})["people"]]
    people[0] |= {"aliases": ["a.smith@example.com"]}
    people[0].pop("slack_user_id")
    async with running(tmp_path, sqlite_url, people=people, slack=None, suspension={}) as world:
        asked = await world.ask(channel_hint="email", responders=[ALICE, BOB], on_behalf_of=name)
        await world.answer(asked, "deny", "second_operator")
        await world.settle()
        assert len(endings(world, asked, ALICE)) == 1
