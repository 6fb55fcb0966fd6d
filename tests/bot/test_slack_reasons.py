"""A choice that wants a reason (``metadata.reason``, decision 0017) asks for it where it is pressed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from bot.sandbox.slack.app import view_submission
from bot.sandbox.slack.views import FormRefused
from core.domain.suspension import Choice, Ended, Style
from tests.bot.slack_service import Mode, SlackService, slack_service
from tests.vendors.slack import expect_home, open_home, press_home


@pytest.fixture
async def service(tmp_path: Path, slack_mode: Mode) -> AsyncIterator[SlackService]:
    async with slack_service(tmp_path, slack_mode) as service:
        yield service


def choices(reason: Any) -> tuple[Choice, ...]:
    return (
        Choice("approve", "Approve refund"),
        Choice("deny", "Deny refund", style=Style.DANGER, metadata={"reason": reason}),
    )


async def ended(service: SlackService, asked: Any) -> Ended:
    found = (await service.record(asked)).ended
    assert found is not None
    return found


async def asked_why(service: SlackService, user_id: str = "U1", action_id: str = "ans:1") -> Any:
    message = await service.sandbox.expect_message("Refund")
    response = await service.sandbox.click(user_id, message, action_id)
    assert response.status_code == 200
    return await service.sandbox.expect_view(user_id)


async def test_the_answer_counts_once_the_reason_is_given_and_the_agent_gets_it(service: SlackService) -> None:
    asked = await service.ask(choices=choices("required"))
    view = await asked_why(service)
    assert "Your answer will be “Deny refund”." in json.dumps(view.content, ensure_ascii=False)
    assert (await service.record(asked)).is_open
    response = await service.sandbox.submit(view.id, "U1", {"reason": "  The parcel arrived. "})
    assert response.json() == {"response_action": "clear"}
    given = await ended(service, asked)
    assert (given.value, given.reason) == ("deny", "The parcel arrived.")


async def test_a_required_reason_cannot_be_left_out(service: SlackService) -> None:
    asked = await service.ask(choices=choices("required"))
    view = await asked_why(service)
    with pytest.raises(FormRefused):
        await service.sandbox.submit(view.id, "U1", {})
    workspace = service.sandbox.workspace
    view.state = {"reason": {"v": {"type": "plain_text_input", "value": "   "}}}
    response = await service.sandbox.post(view_submission(workspace, workspace.users["U1"], view))
    assert response.json()["errors"] == {"reason": "Say why: this answer needs a reason."}
    assert (await service.record(asked)).is_open


async def test_an_optional_one_can(service: SlackService) -> None:
    asked = await service.ask(choices=choices("optional"))
    view = await asked_why(service)
    await service.sandbox.submit(view.id, "U1", {})
    given = await ended(service, asked)
    assert (given.value, given.reason) == ("deny", None)


@pytest.mark.parametrize("reason", [None, True, "yes", ["required"], {}])
async def test_anything_else_in_the_metadata_asks_nothing(reason: Any, tmp_path: Path) -> None:
    async with slack_service(tmp_path) as service:
        asked = await service.ask(choices=choices(reason))
        await service.sandbox.click("U1", await service.sandbox.expect_message("Refund"), "ans:1")
        assert await service.answered(asked) == "deny"


async def test_the_other_choice_is_answered_at_once(service: SlackService) -> None:
    asked = await service.ask(choices=choices("required"))
    await service.sandbox.click("U1", await service.sandbox.expect_message("Refund"), "ans:0")
    assert await service.answered(asked) == "approve"


async def test_one_of_many_is_asked_for_its_reason_in_the_same_modal(service: SlackService) -> None:
    many = tuple(Choice(f"v{n}", f"Option {n}", metadata={"reason": "required"}) for n in range(8))
    asked = await service.ask(choices=many)
    view = await asked_why(service, action_id="open_modal")
    await service.sandbox.submit(view.id, "U1", {"answer": "Option 5"})
    assert (await service.record(asked)).is_open
    assert "Your answer will be “Option 5”." in json.dumps(view.content, ensure_ascii=False)
    await service.sandbox.submit(view.id, "U1", {"reason": "It fits."})
    given = await ended(service, asked)
    assert (given.value, given.reason) == ("v5", "It fits.")


async def test_who_may_not_answer_is_not_asked_why(service: SlackService) -> None:
    await service.ask(choices=choices("required"))
    message = await service.sandbox.expect_message("Refund")
    await service.sandbox.click("U2", message, "ans:1")
    await service.sandbox.expect_private("U2", "You can't answer this.")
    assert service.sandbox.workspace.views == {}


async def test_a_reason_that_comes_too_late_shows_who_was_first(service: SlackService) -> None:
    asked = await service.ask(choices=choices("required"), responders=("alice@example.com", "bob@example.com"))
    message = deepcopy(await service.sandbox.expect_message("Refund"))
    view = await asked_why(service)
    await service.sandbox.click("U2", message, "ans:0")
    await service.sandbox.submit(view.id, "U1", {"reason": "Too late"})
    assert "Answered “Approve refund” by bob@example.com" in json.dumps(view.content, ensure_ascii=False)
    assert await service.answered(asked) == "approve"


async def test_it_is_asked_for_from_the_home_too(service: SlackService) -> None:
    asked = await service.ask(choices=choices("required"))
    await open_home(service.sandbox, "U1")
    await expect_home(service.sandbox, "U1", "Refund order")
    await press_home(service.sandbox, "U1", f"answer:{asked.ask.ref}", "ans:1")
    view = await service.sandbox.expect_view("U1")
    await service.sandbox.submit(view.id, "U1", {"reason": "No."})
    assert (await ended(service, asked)).reason == "No."
