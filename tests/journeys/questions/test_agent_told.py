"""Nobody reads that the agent was told before it was. If it never is, whoever decided hears (docs/decisions/0093)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.sandbox.pagerduty.world import User
from tests.cli import handraise
from tests.journeys.questions.test_endings_told import ALICE, BOB, CAROL, about, endings
from tests.journeys.questions.test_quorum import send
from tests.journeys.questions.test_who_wrote_it import browse
from tests.vendors.slack import shown
from tests.world import World, running

OPS = "ops@example.com"
RETRY = {"base_delay_ms": 1000, "give_up_after_seconds": 10}

AWAY = [500] * 50


async def comes_back(world: World) -> None:
    """The agent takes its callback from now on, and has it."""
    world.agent.answers.clear()
    await world.advance(seconds=5)


@pytest.fixture
async def world(tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    """A service that gives a callback up after ten seconds, and tells its operators by mail."""
    async with running(tmp_path, database_url, alerts={"notify": [f"email:{OPS}"]}, resume__retry=RETRY) as world:
        yield world


async def page_of(world: World, asked: Mapping[str, Any], whose: str = ALICE) -> str:
    """What the link that ``whose`` was mailed shows."""
    [link] = [link for link in about(world, asked, whose)[0].links if "/a/" in link][:1]
    return (await browse(world.url + link[link.index("/a/") :].partition("#")[0])).text


async def ask_by_mail(world: World, *statuses: int, **fields: Any) -> dict[str, Any]:
    """Alice and Bob are mailed; the agent will answer its callback so."""
    world.agent.answers[:] = statuses
    return await world.ask(channel_hint="email", responders=[ALICE, BOB], **fields)


async def reply(world: World, asked: Mapping[str, Any], whose: str = ALICE) -> None:
    await world.mailbox.reply(about(world, asked, whose)[0], "1")
    await world.settle()


# --- What messages and pages say --------------------------------------------------------------------------------------


async def test_until_the_callback_is_taken_the_agent_will_be_told_and_then_it_has_been(world: World) -> None:
    world.agent.answers[:] = AWAY
    await world.ask(notify_to=ALICE)
    [message] = world.slack.workspace.posted()
    await world.press("U0ALICE", message, "Approve refund")
    assert "The agent will be told." in shown(message)
    await comes_back(world)
    assert "The agent has been told." in shown(message)
    assert "will be told" not in shown(message)


async def test_a_callback_that_is_taken_at_once_is_told_by_one_more_edit_at_most(world: World) -> None:
    asked = await world.ask(notify_to=ALICE)
    [message] = world.slack.workspace.posted()
    await world.press("U0ALICE", message, "Approve refund")
    assert "The agent has been told." in shown(message)
    edits = [one for one in await world.timeline(asked) if one["kind"] == "withdrawal"]
    assert len(edits) <= 2


@pytest.mark.parametrize(
    ("statuses", "seconds", "says"),
    [
        (AWAY, 0, "The agent will be told."),
        ([500], 5, "The agent has been told. Nothing else is needed from you."),
        ([410], 0, "The agent has not been told: it refused the callback."),
        (
            AWAY,
            60,
            "The agent has not been told: its address did not take the callback, which was given up.",
        ),
    ],
)
async def test_the_page_says_what_has_become_of_the_callback(
    world: World, statuses: list[int], seconds: int, says: str
) -> None:
    asked = await ask_by_mail(world, *statuses)
    await reply(world, asked)
    await world.advance(seconds=seconds)
    page = " ".join((await page_of(world, asked)).split())
    assert says in page
    assert ("Nothing else is needed from you." in page) is ("has been told" in says)
    other = " ".join((await page_of(world, asked, BOB)).split())
    assert says.partition(". Nothing")[0] in other and "No answer is needed any more." in other


async def test_an_agent_that_is_not_called_back_fetches_the_answer_and_no_message_says_that_it_is_told(
    world: World,
) -> None:
    asked = await ask_by_mail(world, resume=None)
    await reply(world, asked)
    assert endings(world, asked, ALICE) == [
        "Recorded: “Approve refund”.\n\nThe agent fetches the answer itself. Thank you."
    ]
    assert "The agent fetches the answer itself." in await page_of(world, asked)


async def test_the_address_of_a_session_is_one_to_be_called_back_at(world: World) -> None:
    assert (await world.call("PUT", "/v1/sessions/s1", json={"callback_url": world.agent.url})).status_code == 200
    asked = await ask_by_mail(world, *AWAY, resume={"session_id": "s1", "callback_url": None})
    await reply(world, asked)
    [confirmed] = endings(world, asked, ALICE)
    assert confirmed == "Recorded: “Approve refund”.\n\nThe agent will be told. Thank you."


async def test_what_silence_decides_is_in_the_past_once_the_agent_knows(world: World) -> None:
    world.agent.answers[:] = AWAY
    await world.ask(timeout_seconds=3600, fallback_policy="complete_with_fallback", fallback_value="deny")
    await world.advance(hours=1)
    [message] = world.slack.workspace.posted()
    assert "The agent goes on with “Deny refund”. The agent will be told." in shown(message)
    await comes_back(world)
    assert "The agent went on with “Deny refund”. The agent has been told." in shown(message)


async def test_whoever_asked_the_agent_back_first_reads_of_the_end_alone(world: World) -> None:
    """The agent has taken the callback that asked it back: that is not how it heard of the end."""
    asked = await ask_by_mail(world)
    path = f"/v1/suspensions/{asked['suspension_id']}"
    await world.call("POST", f"{path}/clarify", "operator", json={"question": "Which?"})
    await world.settle()
    await world.call("POST", f"{path}/clarification", json={"text": "The first."})
    world.agent.answers[:] = [410]
    await reply(world, asked, BOB)
    assert "it refused the callback" in await page_of(world, asked, BOB)


@pytest.mark.parametrize(
    ("statuses", "says"),
    [
        (AWAY, "the agent will be told"),
        ([], "the agent has been told"),
        ([410], "the agent has not been told: it refused the callback"),
    ],
)
async def test_the_command_line_says_it_too(world: World, statuses: list[int], says: str) -> None:
    asked = await ask_by_mail(world, *statuses)
    await reply(world, asked)
    assert f"  {says}" in (await handraise(world, "show", asked["ref"])).lines


# --- Who hears that it was not told -----------------------------------------------------------------------------------

REFUSED = (
    "refund-agent has not been told of your answer “Approve refund”: it refused the callback.\n\n"
    "The answer stands. Please see to it that whoever runs refund-agent knows of it."
)
GIVEN_UP = REFUSED.replace("it refused the callback", "its address did not take the callback, which was given up")


async def test_whoever_decided_by_mail_hears_of_a_refused_callback_in_the_thread_and_so_do_the_operators(
    world: World,
) -> None:
    asked = await ask_by_mail(world, 410)
    await reply(world, asked)
    recorded, untold = sorted(endings(world, asked, ALICE))  # both go out at once
    assert (recorded.startswith("Recorded:"), untold) == (True, REFUSED)
    first, *_, last = about(world, asked, ALICE)
    assert last.header("In-Reply-To") == first.header("In-Reply-To")
    assert len(endings(world, asked, BOB)) == 1, "who has not decided hears of the end alone"
    [alert] = world.mailbox.of(OPS)
    assert alert.subject == "refund-agent refuses callbacks"
    assert f"Question {asked['ref']} has ended, and the agent was not told." in alert.text


async def test_whoever_decided_hears_of_a_callback_that_was_given_up_once(world: World) -> None:
    asked = await ask_by_mail(world, *AWAY)
    await reply(world, asked)
    assert len(endings(world, asked, ALICE)) == 1
    await world.advance(minutes=1)
    assert endings(world, asked, ALICE)[1:] == [GIVEN_UP]
    assert [mail.subject for mail in world.mailbox.of(OPS)] == ["Callbacks to refund-agent are given up"]

    [callback] = [one for one in await world.timeline(asked) if one["kind"] == "callback"]
    assert (await world.call("POST", f"/v1/callbacks/{callback['id']}/redrive", "admin")).status_code == 200
    await world.advance(minutes=1)
    assert len(endings(world, asked, ALICE)) == 2, "not again"
    world.agent.answers.clear()
    await world.call("POST", f"/v1/callbacks/{callback['id']}/redrive", "admin")
    await world.settle()
    assert "The agent has been told." in await page_of(world, asked)


async def test_whoever_decided_in_slack_hears_it_there(world: World) -> None:
    world.agent.answers[:] = [410]
    asked = await world.ask(notify_to="slack:C0OPS", responders=[ALICE, BOB])
    [message] = world.slack.workspace.posted()
    await world.press("U0ALICE", message, "Approve refund")
    assert "The agent has not been told: it refused the callback." in shown(message)
    [told] = world.slack.workspace.posted("D0ALICE")
    assert REFUSED in shown(told)
    assert world.slack.workspace.posted("D0BOB") == []
    assert about(world, asked, ALICE) == []


async def test_whoever_decided_on_a_page_hears_it_where_its_link_came(world: World) -> None:
    asked = await ask_by_mail(world, 410)
    [link] = [link for link in about(world, asked, ALICE)[0].links if "/a/" in link][:1]
    async with httpx.AsyncClient(follow_redirects=True, timeout=30) as browser:
        await send(browser, world.url + link[link.index("/a/") :].partition("#")[0], "0")
    await world.settle()
    assert endings(world, asked, ALICE) == [REFUSED]
    assert world.slack.workspace.posted() == []


async def test_whoever_decided_by_a_note_hears_it_as_themselves_since_a_note_calls_nobody(world: World) -> None:
    world.agent.answers[:] = [410]
    asked = await world.ask(channel_hint="pagerduty", notify_to="pagerduty:default", responders=[ALICE])
    incident = await world.pager.expect_incident(asked["ref"])
    await world.pager.add_note(incident, User("PALICE", "Alice", ALICE), "approve")
    await world.settle()
    [told] = world.slack.workspace.posted("D0ALICE")
    assert REFUSED in shown(told)


async def test_of_a_quorum_everybody_hears_whose_answer_it_was(world: World) -> None:
    asked = await ask_by_mail(world, 410, answers_required=2)
    await reply(world, asked, ALICE)
    await reply(world, asked, BOB)
    assert all(REFUSED in endings(world, asked, one) for one in (ALICE, BOB))  # beside what else goes out at once


async def test_after_silence_there_is_nobody_who_decided_and_the_operators_hear_it(world: World) -> None:
    asked = await ask_by_mail(world, 410, timeout_seconds=3600)
    await world.advance(hours=1)
    assert all(len(endings(world, asked, one)) == 1 for one in (ALICE, BOB))
    assert [mail.subject for mail in world.mailbox.of(OPS)] == ["refund-agent refuses callbacks"]


async def test_operators_hear_of_refused_callbacks_once_an_hour(world: World) -> None:
    for _ in range(3):
        asked = await ask_by_mail(world, 410)
        await reply(world, asked)
    assert len(world.mailbox.of(OPS)) == 1


async def test_a_callback_that_asks_back_and_is_refused_is_no_end(world: World) -> None:
    asked = await ask_by_mail(world, 410)
    path = f"/v1/suspensions/{asked['suspension_id']}/clarify"
    await world.call("POST", path, "operator", json={"question": "Which order?"})
    await world.settle()
    [alert] = world.mailbox.of(OPS)
    assert alert.subject == "refund-agent can't be asked back"
    assert "has ended" not in alert.text
    assert endings(world, asked, ALICE) == endings(world, asked, CAROL) == []
