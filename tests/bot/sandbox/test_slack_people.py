"""People in the pretend Slack: what they press and fill in leaves as Slack's own signed payloads, and nothing else."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from copy import deepcopy
from typing import Any
from urllib.parse import parse_qs

import pytest
from slack_sdk.signature import SignatureVerifier
from slack_sdk.web.async_client import AsyncWebClient
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.sandbox.serving import serving
from bot.sandbox.slack.views import TROUBLE, FormRefused
from tests.vendors.slack import SlackSandbox

BLOCKS: list[dict[str, Any]] = [
    {
        "type": "actions",
        "block_id": "answer",
        "elements": [
            {"type": "button", "action_id": "yes", "value": "v=1", "text": {"type": "plain_text", "text": "Yes"}},
            {
                "type": "button",
                "action_id": "open",
                "url": "https://example.com",
                "text": {"type": "plain_text", "text": "Open"},
            },
        ],
    }
]


def labelled(block_id: str, element: dict[str, Any], **fields: Any) -> dict[str, Any]:
    label = {"type": "plain_text", "text": block_id}
    return {"type": "input", "block_id": block_id, "label": label, "element": {"action_id": "v", **element}, **fields}


OPTIONS = [{"text": {"type": "plain_text", "text": name}, "value": f"c={n}"} for n, name in enumerate(["Red", "Blue"])]
MODAL = {
    "type": "modal",
    "callback_id": "answer",
    "private_metadata": "sealed",
    "title": {"type": "plain_text", "text": "Answer"},
    "submit": {"type": "plain_text", "text": "Send"},
    "blocks": [
        labelled("words", {"type": "plain_text_input", "max_length": 10}),
        labelled("count", {"type": "number_input", "is_decimal_allowed": False, "min_value": "1"}, optional=True),
        labelled("colour", {"type": "static_select", "options": OPTIONS}, optional=True),
        labelled("day", {"type": "datepicker"}, optional=True),
    ],
}
FILLED = {"words": "hello", "count": "3", "colour": "Blue", "day": "2026-03-24"}


class Service:
    """A service that keeps what it was sent and answers as it is told."""

    def __init__(self) -> None:
        self.received: list[tuple[bytes, dict[str, str]]] = []
        self.answer: Response = Response()
        self.app = Starlette(routes=[Route("/slack/events", self._events, methods=["POST"])])

    async def _events(self, request: Request) -> Response:
        self.received.append((await request.body(), dict(request.headers)))
        return self.answer

    @property
    def payload(self) -> dict[str, Any]:
        (payload,) = parse_qs(self.received[-1][0].decode())["payload"]
        return dict(json.loads(payload))


@pytest.fixture
async def service() -> Service:
    return Service()


@pytest.fixture
async def sandbox(service: Service) -> AsyncIterator[SlackSandbox]:
    sandbox = SlackSandbox()
    sandbox.workspace.add_user("U1", "Alice", "alice@example.com")
    sandbox.workspace.add_user("U2", "Bob", "bob@example.com")
    sandbox.workspace.add_channel("C1", "ops", "U1")
    async with serving(service.app) as url, serving(sandbox.app) as slack:
        sandbox.events_url = f"{url}/slack/events"
        client = AsyncWebClient(token=sandbox.workspace.bot_token, base_url=f"{slack}/api/", retry_handlers=[])
        await client.chat_postMessage(channel="C1", text="Deploy?", blocks=BLOCKS)
        await client.views_open(trigger_id=sandbox.workspace.new_trigger("U1"), view=MODAL)
        yield sandbox


async def test_a_click_arrives_as_a_signed_block_action(sandbox: SlackSandbox, service: Service) -> None:
    message = await sandbox.expect_message("Deploy?")
    response = await sandbox.click("U1", message, "yes")
    assert response.status_code == 200
    body, headers = service.received[-1]
    assert SignatureVerifier(sandbox.signing_secret).is_valid_request(body, headers)
    assert service.payload["type"] == "block_actions"
    assert service.payload["user"]["id"] == "U1"
    assert service.payload["container"]["message_ts"] == message.ts
    assert service.payload["message"]["blocks"] == message.blocks
    (action,) = service.payload["actions"]
    assert (action["action_id"], action["block_id"], action["value"]) == ("yes", "answer", "v=1")
    assert service.payload["trigger_id"] in sandbox.workspace.triggers


async def test_following_a_link_button_sends_an_action_too(sandbox: SlackSandbox, service: Service) -> None:
    await sandbox.click("U1", await sandbox.expect_message("Deploy?"), "open")
    assert service.payload["actions"][0]["url"] == "https://example.com"


async def test_nobody_presses_what_they_cannot_see(sandbox: SlackSandbox, service: Service) -> None:
    message = await sandbox.expect_message("Deploy?")
    with pytest.raises(LookupError):
        await sandbox.click("U2", message, "yes")
    with pytest.raises(LookupError):
        await sandbox.click("U1", message, "no")
    assert service.received == []


async def test_a_copy_of_a_message_can_be_pressed_after_the_message_has_changed(
    sandbox: SlackSandbox, service: Service
) -> None:
    message = await sandbox.expect_message("Deploy?")
    before = deepcopy(message)
    message.blocks = []
    await sandbox.click("U1", before, "yes")
    assert service.payload["actions"][0]["action_id"] == "yes"


async def test_a_submission_carries_what_was_filled_in_and_closes_the_modal(
    sandbox: SlackSandbox, service: Service
) -> None:
    view = await sandbox.expect_view("U1")
    await sandbox.submit(view.id, "U1", FILLED)
    sent = service.payload
    assert (sent["type"], sent["view"]["private_metadata"], sent["view"]["callback_id"]) == (
        "view_submission",
        "sealed",
        "answer",
    )
    values = sent["view"]["state"]["values"]
    assert values["words"]["v"] == {"type": "plain_text_input", "value": "hello"}
    assert values["count"]["v"]["value"] == "3"
    assert values["colour"]["v"]["selected_option"]["value"] == "c=1"
    assert values["day"]["v"]["selected_date"] == "2026-03-24"
    assert not view.is_open


async def test_inputs_left_empty_are_sent_as_null(sandbox: SlackSandbox, service: Service) -> None:
    view = await sandbox.expect_view("U1")
    await sandbox.submit(view.id, "U1", {"words": "hello"})
    values = service.payload["view"]["state"]["values"]
    assert values["count"]["v"]["value"] is None
    assert values["colour"]["v"]["selected_option"] is None
    assert values["day"]["v"]["selected_date"] is None


@pytest.mark.parametrize(
    ("block_id", "given"),
    [
        ("words", ""),
        ("words", "x" * 11),
        ("count", "many"),
        ("count", "1.5"),
        ("count", "0"),
        ("colour", "Green"),
        ("day", "soon"),
    ],
)
async def test_slacks_client_does_not_send_what_the_inputs_refuse(
    block_id: str, given: str, sandbox: SlackSandbox, service: Service
) -> None:
    view = await sandbox.expect_view("U1")
    with pytest.raises(FormRefused) as refusal:
        await sandbox.submit(view.id, "U1", {**FILLED, block_id: given})
    assert refusal.value.problems.keys() == {block_id}
    assert service.received == []
    assert view.is_open


async def test_errors_are_shown_under_their_inputs_and_the_modal_stays(sandbox: SlackSandbox, service: Service) -> None:
    view = await sandbox.expect_view("U1")
    service.answer = JSONResponse({"response_action": "errors", "errors": {"words": "No."}})
    await sandbox.submit(view.id, "U1", FILLED)
    assert (view.is_open, view.errors, view.trouble) == (True, {"words": "No."}, None)
    service.answer = JSONResponse({"response_action": "clear"})
    await sandbox.submit(view.id, "U1", FILLED)
    assert (view.is_open, view.errors) == (False, {})


async def test_an_update_replaces_the_modal(sandbox: SlackSandbox, service: Service) -> None:
    view = await sandbox.expect_view("U1")
    changed = {**MODAL, "title": {"type": "plain_text", "text": "Too late"}}
    service.answer = JSONResponse({"response_action": "update", "view": changed})
    await sandbox.submit(view.id, "U1", FILLED)
    assert view.content["title"]["text"] == "Too late"
    assert view.is_open


@pytest.mark.parametrize(
    "answer",
    [
        Response(status_code=500),
        Response("OK"),
        JSONResponse({"response_action": "errors", "errors": {"no such block": "No."}}),
        JSONResponse({"response_action": "update", "view": {"type": "modal"}}),
        JSONResponse({"response_action": "explode"}),
    ],
    ids=["500", "no JSON", "error without a block", "broken view", "unknown action"],
)
async def test_an_unusable_answer_is_shown_as_trouble(
    answer: Response, sandbox: SlackSandbox, service: Service
) -> None:
    view = await sandbox.expect_view("U1")
    service.answer = answer
    await sandbox.submit(view.id, "U1", FILLED)
    assert (view.is_open, view.trouble) == (True, TROUBLE)
