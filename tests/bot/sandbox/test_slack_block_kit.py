"""The pretend Slack refuses what Slack refuses of blocks and views: each limit at its edge and one beyond it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.sandbox.serving import serving
from tests.vendors.slack import SlackSandbox

Blocks = list[dict[str, Any]]


@pytest.fixture
async def sandbox() -> SlackSandbox:
    sandbox = SlackSandbox()
    sandbox.workspace.add_user("U1", "Alice", "alice@example.com")
    sandbox.workspace.add_channel("C1", "ops", "U1")
    return sandbox


@pytest.fixture
async def client(sandbox: SlackSandbox) -> AsyncIterator[AsyncWebClient]:
    async with serving(sandbox.app) as url:
        yield AsyncWebClient(token=sandbox.workspace.bot_token, base_url=f"{url}/api/", retry_handlers=[])


def plain(length: int) -> dict[str, Any]:
    return {"type": "plain_text", "text": "x" * length}


def mrkdwn(length: int) -> dict[str, Any]:
    return {"type": "mrkdwn", "text": "x" * length}


def section(**fields: Any) -> Blocks:
    return [{"type": "section", "text": plain(5), **fields}]


def actions(*elements: dict[str, Any]) -> Blocks:
    return [{"type": "actions", "elements": list(elements)}]


def button(**fields: Any) -> dict[str, Any]:
    return {"type": "button", "text": plain(5), "action_id": "a", **fields}


def option(text: int = 5, value: int = 5, **fields: Any) -> dict[str, Any]:
    return {"text": plain(text), "value": "v" * value, **fields}


def select(**fields: Any) -> dict[str, Any]:
    if "options" not in fields and "option_groups" not in fields:
        fields["options"] = [option()]
    return {"type": "static_select", "action_id": "s", **fields}


def dialog(**lengths: int) -> dict[str, Any]:
    sizes = {"title": 10, "text": 10, "confirm": 5, "deny": 5} | lengths
    return {name: plain(size) for name, size in sizes.items()}


def several(kind: str) -> Callable[[int], Blocks]:
    return lambda count: actions({"type": kind, "action_id": "s", "options": [option()] * count})


def typed(**fields: Any) -> Blocks:
    element = {"type": "plain_text_input", "action_id": "v", **fields}
    return [{"type": "input", "label": plain(5), "element": element}]


LIMITS: dict[str, tuple[int, Callable[[int], Blocks]]] = {
    "blocks of a message": (50, lambda n: [{"type": "divider"}] * n),
    "elements of an actions block": (25, lambda n: actions(*[button(action_id=f"a{i}") for i in range(n)])),
    "button text": (75, lambda n: actions(button(text=plain(n)))),
    "button value": (2000, lambda n: actions(button(value="v" * n))),
    "button url": (3000, lambda n: actions(button(url="https://example.com/".ljust(n, "x")))),
    "accessibility label": (75, lambda n: actions(button(accessibility_label="x" * n))),
    "action id": (255, lambda n: actions(button(action_id="a" * n))),
    "block id": (255, lambda n: section(block_id="b" * n)),
    "section text": (3000, lambda n: section(text=mrkdwn(n))),
    "section fields": (10, lambda n: section(fields=[plain(5)] * n)),
    "section field text": (2000, lambda n: section(fields=[plain(n)])),
    "header text": (150, lambda n: [{"type": "header", "text": plain(n)}]),
    "context elements": (10, lambda n: [{"type": "context", "elements": [plain(5)] * n}]),
    "markdown text": (12_000, lambda n: [{"type": "markdown", "text": "x" * n}]),
    "table rows": (100, lambda n: [{"type": "table", "rows": [[{"type": "raw_text", "text": "x"}]] * n}]),
    "table columns": (20, lambda n: [{"type": "table", "rows": [[{"type": "raw_text", "text": "x"}] * n]}]),
    "confirm title": (100, lambda n: actions(button(confirm=dialog(title=n)))),
    "confirm text": (300, lambda n: actions(button(confirm=dialog(text=n)))),
    "confirm yes": (30, lambda n: actions(button(confirm=dialog(confirm=n)))),
    "confirm no": (30, lambda n: actions(button(confirm=dialog(deny=n)))),
    "select options": (100, lambda n: actions(select(options=[option()] * n))),
    "option groups": (
        100,
        lambda n: actions(select(option_groups=[{"label": plain(5), "options": [option()]}] * n)),
    ),
    "option text": (75, lambda n: actions(select(options=[option(text=n)]))),
    "option value": (75, lambda n: actions(select(options=[option(value=n)]))),
    "option description": (75, lambda n: actions(select(options=[option(description=plain(n))]))),
    "placeholder": (150, lambda n: actions(select(placeholder=plain(n)))),
    "radio options": (10, several("radio_buttons")),
    "checkbox options": (10, several("checkboxes")),
    "overflow options": (5, several("overflow")),
    "text input length": (3000, lambda n: typed(max_length=n)),
    "input label": (2000, lambda n: [{**typed()[0], "label": plain(n)}]),
    "input hint": (2000, lambda n: [{**typed()[0], "hint": plain(n)}]),
}


@pytest.mark.parametrize("name", LIMITS)
async def test_a_message_may_reach_each_limit_and_not_pass_it(name: str, client: AsyncWebClient) -> None:
    most, build = LIMITS[name]
    accepted = await client.chat_postMessage(channel="C1", text="fallback", blocks=build(most))
    assert accepted["ok"]
    with pytest.raises(SlackApiError) as refusal:
        await client.chat_postMessage(channel="C1", text="fallback", blocks=build(most + 1))
    assert refusal.value.response["error"] == "invalid_blocks"


BROKEN: dict[str, Blocks] = {
    "the RFC's own style": actions(button(style="default")),
    "one action id twice in a block": actions(button(), button()),
    "one block id twice in a message": [*section(block_id="q"), *section(block_id="q")],
    "mrkdwn in a header": [{"type": "header", "text": mrkdwn(5)}],
    "mrkdwn on a button": actions(button(text=mrkdwn(5))),
    "an empty text": section(text=plain(0)),
    "a text of blanks": section(text={"type": "plain_text", "text": "   "}),
    "a section of nothing": [{"type": "section"}],
    "actions without elements": actions(),
    "a block that does not exist": [{"type": "paragraph", "text": plain(5)}],
    "an element that does not exist": actions({"type": "lever", "action_id": "a"}),
    "a property that does not exist": section(colour="red"),
    "a confirm dialog without words": actions(button(confirm={"title": plain(5)})),
    "an unknown style in a confirm dialog": actions(button(confirm={**dialog(), "style": "default"})),
    "a number input that does not say whether decimals are allowed": [
        {"type": "input", "label": plain(5), "element": {"type": "number_input", "action_id": "v"}}
    ],
}


@pytest.mark.parametrize("name", BROKEN)
async def test_broken_blocks_are_refused_with_a_pointer(name: str, client: AsyncWebClient) -> None:
    with pytest.raises(SlackApiError) as refusal:
        await client.chat_postMessage(channel="C1", text="fallback", blocks=BROKEN[name])
    assert refusal.value.response["error"] == "invalid_blocks"
    assert "json-pointer:/blocks/" in refusal.value.response["response_metadata"]["messages"][0]


async def test_what_is_too_long_is_refused_with_a_pointer_to_its_element(client: AsyncWebClient) -> None:
    blocks = actions(button(), button(action_id="b", text=plain(76)))
    with pytest.raises(SlackApiError) as refusal:
        await client.chat_postMessage(channel="C1", text="fallback", blocks=blocks)
    [problem] = refusal.value.response["response_metadata"]["messages"]
    assert problem.endswith("cannot exceed 75 characters [json-pointer:/blocks/0/elements/1]")


@pytest.mark.parametrize("key", ["action_id", "value", "url", "style", "accessibility_label"])
async def test_what_is_no_text_where_one_belongs_is_refused(key: str, client: AsyncWebClient) -> None:
    """Also what has a length, which is all that the models look at."""
    with pytest.raises(SlackApiError) as refusal:
        await client.chat_postMessage(channel="C1", text="fallback", blocks=actions(button(**{key: ["b"]})))
    assert refusal.value.response["error"] == "invalid_blocks"


async def test_the_text_of_all_blocks_together_is_limited(client: AsyncWebClient) -> None:
    fitting = [*section(text=mrkdwn(3000)) * 4, *section(text=mrkdwn(1200))]
    await client.chat_postMessage(channel="C1", text="fallback", blocks=fitting)
    with pytest.raises(SlackApiError) as refusal:
        await client.chat_postMessage(channel="C1", text="fallback", blocks=[*fitting, *section(text=plain(1))])
    assert refusal.value.response["error"] == "msg_blocks_too_long"


async def test_blocks_that_are_no_list_are_refused(client: AsyncWebClient) -> None:
    with pytest.raises(SlackApiError) as refusal:
        await client.chat_postMessage(channel="C1", text="fallback", blocks='{"type": "section"}')
    assert refusal.value.response["error"] == "invalid_blocks_format"
    with pytest.raises(SlackApiError) as refusal:
        await client.api_call("chat.postMessage", data={"channel": "C1", "text": "x", "blocks": "[nonsense"})
    assert refusal.value.response["error"] == "invalid_blocks_format"


def modal(**fields: Any) -> dict[str, Any]:
    return {"type": "modal", "title": plain(5), "submit": plain(5), "blocks": typed(), **fields}


VIEW_LIMITS: dict[str, tuple[int, Callable[[int], dict[str, Any]]]] = {
    "blocks of a modal": (100, lambda n: modal(blocks=[{"type": "divider"}] * n)),
    "modal title": (24, lambda n: modal(title=plain(n))),
    "modal submit": (24, lambda n: modal(submit=plain(n))),
    "modal close": (24, lambda n: modal(close=plain(n))),
    "private metadata": (3000, lambda n: modal(private_metadata="x" * n)),
    "callback id": (255, lambda n: modal(callback_id="x" * n)),
}


@pytest.mark.parametrize("name", VIEW_LIMITS)
async def test_a_modal_may_reach_each_limit_and_not_pass_it(
    name: str, client: AsyncWebClient, sandbox: SlackSandbox
) -> None:
    most, build = VIEW_LIMITS[name]
    opened = await client.views_open(trigger_id=sandbox.workspace.new_trigger("U1"), view=build(most))
    assert opened["view"]["id"] in sandbox.workspace.views
    with pytest.raises(SlackApiError) as refusal:
        await client.views_open(trigger_id=sandbox.workspace.new_trigger("U1"), view=build(most + 1))
    assert refusal.value.response["error"] == "invalid_arguments"


BROKEN_VIEWS: dict[str, dict[str, Any]] = {
    "no title": {key: value for key, value in modal().items() if key != "title"},
    "inputs without a submit": {key: value for key, value in modal().items() if key != "submit"},
    "no blocks": modal(blocks=[]),
    "another type": modal(type="dialog"),
    "a broken block": modal(blocks=actions(button(style="default"))),
}


@pytest.mark.parametrize("name", BROKEN_VIEWS)
async def test_a_broken_modal_is_refused(name: str, client: AsyncWebClient, sandbox: SlackSandbox) -> None:
    with pytest.raises(SlackApiError) as refusal:
        await client.views_open(trigger_id=sandbox.workspace.new_trigger("U1"), view=BROKEN_VIEWS[name])
    assert refusal.value.response["error"] == "invalid_arguments"
    assert not sandbox.workspace.views
