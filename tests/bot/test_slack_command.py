"""``/handraise``: lists, shows and answers, seen by whoever typed it alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from core.domain.suspension import Choice, ResponseType
from tests.bot.slack_service import TEXT, Mode, SlackService, slack_service
from tests.bot.test_slack_inbound import audited
from tests.vendors.slack import shown, type_command


@pytest.fixture
async def service(tmp_path: Path, slack_mode: Mode) -> AsyncIterator[SlackService]:
    async with slack_service(tmp_path, slack_mode) as service:
        yield service


async def typed(service: SlackService, user_id: str, text: str) -> str:
    """What the service says to it, which only ``user_id`` sees."""
    said = await type_command(service.sandbox, user_id, "C1", text)
    assert said["status"] == 200
    assert said["response_type"] == "ephemeral"
    return shown(service.sandbox.workspace.ephemerals[-1])


@pytest.mark.parametrize("text", ["", "  ", "list"])
async def test_it_lists_what_waits_for_me_the_soonest_deadline_first(text: str, service: SlackService) -> None:
    second = await service.ask(question="Second <!channel>?", timeout=timedelta(hours=2))
    service.clock.advance(minutes=1)
    first = await service.ask(question="First?")
    await service.ask(question="Not mine?", responders=("bob@example.com",))
    said = await typed(service, "U1", text)
    assert said.index(first.ask.ref) < said.index(second.ask.ref)
    assert "First? — If nobody answers by 2026-03-24 10:01 UTC" in said
    assert "Not mine?" not in said
    assert "<!channel>" not in service.sandbox.workspace.ephemerals[-1].text


async def test_nothing_waits(service: SlackService) -> None:
    assert "Nothing waits for you." in await typed(service, "U2", "")


@pytest.mark.parametrize("text", ["help", "show", "show A B", "answer", "delete HR-1", "🤷", "approve"])
async def test_anything_else_is_helped(text: str, service: SlackService) -> None:
    assert "/handraise answer REF VALUE" in await typed(service, "U1", text)


async def test_it_shows_a_question_with_its_buttons_to_who_may_answer(service: SlackService) -> None:
    asked = await service.ask()
    said = await typed(service, "U1", f"show {asked.ask.ref.lower()}")
    assert "Refund order 12345?" in said
    buttons = [
        element["action_id"]
        for block in service.sandbox.workspace.ephemerals[-1].blocks
        for element in block.get("elements", [])
        if "action_id" in element
    ]
    assert buttons[:2] == ["ans:0", "ans:1"]


async def test_a_question_of_others_is_shown_as_one_that_there_is_not(service: SlackService) -> None:
    asked = await service.ask()
    said = await typed(service, "U2", f"show {asked.ask.ref}")
    assert "no question of that name that you may answer" in said
    assert said == await typed(service, "U2", "show HR-NONE")
    assert "no question of that name" in await typed(service, "U2", "answer HR-NONE approve")


@pytest.mark.parametrize("text", ["show {}", "answer {} approve", "answer {}"])
async def test_how_it_ended_is_told_to_those_alone_who_may_answer(text: str, service: SlackService) -> None:
    asked = await service.ask()
    await service.sandbox.click("U1", await service.sandbox.expect_message("Refund"), "ans:0")
    said = await typed(service, "U2", text.format(asked.ask.ref))
    assert said == await typed(service, "U2", "show HR-NONE")
    assert "Answered “Approve refund”" in await typed(service, "U1", f"show {asked.ask.ref}")


@pytest.mark.parametrize("text", ["show {}", "answer {} approve"])
async def test_a_stranger_is_told_the_same_of_every_name(text: str, service: SlackService) -> None:
    asked = await service.ask()
    service.sandbox.workspace.users["U9"].email = ""
    said = await typed(service, "U9", text.format(asked.ask.ref))
    assert "does not know your Slack account" in said
    assert "alice" not in said
    assert said == await typed(service, "U9", text.format("HR-NONE"))
    assert (await service.record(asked)).is_open


async def test_it_shows_how_a_question_ended(service: SlackService) -> None:
    asked = await service.ask()
    await service.sandbox.click("U1", await service.sandbox.expect_message("Refund"), "ans:0")
    assert "Answered “Approve refund” by alice@example.com" in await typed(service, "U1", f"show {asked.ask.ref}")


async def test_a_button_that_it_showed_answers_and_gives_way_to_the_word_that_it_did(service: SlackService) -> None:
    asked = await service.ask()
    await typed(service, "U1", f"show {asked.ask.ref}")
    mine = service.sandbox.workspace.ephemerals[-1]
    assert (await service.sandbox.click("U1", mine, "ans:0")).status_code == 200
    assert await service.answered(asked) == "approve"
    assert await service.sandbox.expect_private("U1", "Your answer is recorded.") is mine
    assert mine.button("ans:1") is None


@pytest.mark.parametrize("words", ["approve", "1", "Approve refund", "APPROVE"])
async def test_a_choice_is_answered_by_its_number_or_its_words(words: str, service: SlackService) -> None:
    asked = await service.ask()
    assert "Your answer is recorded." in await typed(service, "U1", f"answer {asked.ask.ref} {words}")
    assert await service.answered(asked) == "approve"


@pytest.mark.parametrize("words", ["", "3", "maybe", "approve or deny", "do not approve"])
async def test_a_doubt_is_asked_about_and_answers_nothing(words: str, service: SlackService) -> None:
    asked = await service.ask()
    said = await typed(service, "U1", f"answer {asked.ask.ref} {words}")
    assert "One of these is:" in said
    assert "2. Deny refund" in said
    assert (await service.record(asked)).is_open


async def test_a_reason_behind_the_choice_reaches_the_agent(service: SlackService) -> None:
    asked = await service.ask()
    await typed(service, "U1", f"answer {asked.ask.ref} deny reason: because the parcel arrived")
    ended = (await service.record(asked)).ended
    assert ended is not None
    assert (ended.value, ended.reason) == ("deny", "because the parcel arrived")


async def test_a_text_is_the_rest_of_the_line(service: SlackService) -> None:
    asked = await service.ask(**TEXT)
    await typed(service, "U1", f"answer {asked.ask.ref} v1.2.3,  if it must be")
    assert await service.answered(asked) == "v1.2.3,  if it must be"


@pytest.mark.parametrize("kind", ["text", "form"])
async def test_what_takes_more_than_a_line_is_answered_in_its_modal(kind: str, service: SlackService) -> None:
    schema = {"type": "object", "properties": {"size": {"type": "integer"}}}
    changes: dict[str, Any] = {"response_type": ResponseType.FORM, "choices": (), "form_schema": schema}
    asked = await service.ask(**(TEXT if kind == "text" else changes))
    said = await type_command(service.sandbox, "U1", "C1", f"answer {asked.ask.ref}")
    assert said == {"status": 200}
    view = await service.sandbox.expect_view("U1")
    await service.sandbox.submit(view.id, "U1", {"answer": "7"} if kind == "text" else {"f:0": "7"})
    assert await service.answered(asked) == ("7" if kind == "text" else {"size": 7})


@pytest.mark.parametrize("words", ["approve", "", "on it", "what is this?"])
@pytest.mark.parametrize("kind", ["choice", "text", "form"])
async def test_who_may_not_see_a_question_is_told_what_is_said_of_one_that_there_is_not(
    kind: str, words: str, service: SlackService
) -> None:
    schema = {"type": "object", "properties": {"size": {"type": "integer"}}}
    kinds: dict[str, dict[str, Any]] = {
        "choice": {},
        "text": TEXT,
        "form": {"response_type": ResponseType.FORM, "choices": (), "form_schema": schema},
    }
    asked = await service.ask(**kinds[kind])
    said = await typed(service, "U2", f"answer {asked.ask.ref} {words}")
    assert said == await typed(service, "U2", f"answer HR-NONE {words}")
    assert said == await typed(service, "U2", f"show {asked.ask.ref}")
    record = await service.record(asked)
    assert record.is_open
    assert record.claim is None


async def test_an_attempt_of_somebody_who_may_not_is_kept_all_the_same(service: SlackService) -> None:
    asked = await service.ask()
    for _ in range(2):
        await typed(service, "U2", f"answer {asked.ask.ref} approve")
    [kept] = await audited(service, asked)
    assert (kept["refused"], kept["reason"]) == ("bob@example.com", "not_a_responder")


async def test_who_may_read_it_and_not_answer_is_told_who_may(service: SlackService) -> None:
    asked = await service.ask()
    said = await typed(service, "U4", f"answer {asked.ask.ref} approve")
    assert "You can't answer this. It can be answered by alice@example.com." in said
    assert (await service.record(asked)).is_open


async def test_a_narrowed_operator_is_told_what_is_said_of_one_that_there_is_not(tmp_path: Path) -> None:
    async with slack_service(tmp_path, answers={"operators_read": "own_groups"}) as service:
        asked, theirs = await service.ask(), await service.ask(responders=("olga@example.com",))
        for words in ("show {}", "answer {} approve"):
            assert await typed(service, "U4", words.format(asked.ask.ref)) == await typed(service, "U4", "show HR-NONE")
        assert theirs.ask.question in await typed(service, "U4", f"show {theirs.ask.ref}")


async def test_too_late_is_told_how_it_ended(service: SlackService) -> None:
    asked = await service.ask()
    service.clock.advance(hours=1)
    said = await typed(service, "U1", f"answer {asked.ask.ref} approve")
    assert "Nobody answered by 2026-03-24 10:00 UTC." in said


async def test_on_it_is_a_claim(service: SlackService) -> None:
    asked = await service.ask()
    assert "You're on it" in await typed(service, "U1", f"answer {asked.ask.ref} on it")
    record = await service.record(asked)
    assert record.is_open
    assert record.claim is not None


async def test_a_person_of_another_workspace_learns_and_answers_nothing(service: SlackService) -> None:
    asked = await service.ask()
    service.sandbox.workspace.users["U1"].team_id = "T0OTHER"
    for text in ("", f"show {asked.ask.ref}", f"answer {asked.ask.ref} approve"):
        said = await typed(service, "U1", text)
        assert "not asked in your workspace" in said
        assert "Refund" not in said
    assert (await service.record(asked)).is_open


async def test_a_label_that_says_something_else_than_it_seems_is_matched_as_it_is_shown(service: SlackService) -> None:
    choices = (Choice("2", "One"), Choice("1", "Two"))
    asked = await service.ask(choices=choices)
    assert "One of these is:" in await typed(service, "U1", f"answer {asked.ask.ref} 1")
    assert (await service.record(asked)).is_open
