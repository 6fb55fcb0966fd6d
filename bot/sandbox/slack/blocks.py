"""Block Kit as Slack checks it: what the official models check, and the limits that they leave out.

Limits: https://docs.slack.dev/reference/block-kit. Problems are written as Slack writes them in
``response_metadata.messages``, but for the limits that the models check, which are in their words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from slack_sdk.models.views import View

from bot.sandbox.slack.block_types import check_block
from bot.sandbox.slack.problems import Problems
from bot.sandbox.slack.records import JsonObject, SlackRefusal

MESSAGE_BLOCKS = 50
MESSAGE_TEXT = 13_200
"""The sum over all blocks; undocumented, observed in https://github.com/slackapi/bolt-js/issues/2509."""
VIEW_KEYS = frozenset(
    [
        "type",
        "title",
        "blocks",
        "close",
        "submit",
        "private_metadata",
        "callback_id",
        "clear_on_close",
        "notify_on_close",
        "external_id",
    ]
)


def check_message(blocks: Any) -> list[JsonObject]:
    """``blocks`` with a block id each, as Slack keeps them; raises :class:`SlackRefusal` as ``chat.*`` would."""
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise SlackRefusal("invalid_blocks_format")
    problems = Problems()
    if len(blocks) > MESSAGE_BLOCKS:
        problems.add(f"no more than {MESSAGE_BLOCKS} items allowed", "/blocks")
    _check_blocks(blocks, problems)
    if problems.lines:
        raise SlackRefusal("invalid_blocks", errors=problems.lines, response_metadata={"messages": problems.lines})
    if sum(len(text) for block in blocks for text in texts(block)) > MESSAGE_TEXT:
        raise SlackRefusal("msg_blocks_too_long")
    return _with_ids(blocks)


def check_view(view: Any) -> JsonObject:
    """``view`` as Slack keeps it; raises :class:`SlackRefusal` as ``views.*`` would."""
    if not isinstance(view, dict):
        raise SlackRefusal("invalid_arguments", response_metadata={"messages": ["[ERROR] view must be an object"]})
    problems = Problems()
    blocks = view.get("blocks")
    if view.get("type") != "modal":
        problems.add("unsupported type", "/view/type")
    problems.only(view, VIEW_KEYS, "/view")
    problems.plain_text(view.get("title"), "/view/title")
    for name in ("submit", "close"):
        if name in view:
            problems.plain_text(view[name], f"/view/{name}")
    if not isinstance(blocks, list):
        problems.add("must be a list", "/view/blocks")
    else:
        _check_blocks(blocks, problems)
        if any(block.get("type") == "input" for block in blocks) and "submit" not in view:
            problems.add("a submit is required when a view has inputs", "/view/submit")
    if not problems.lines:
        problems.models(lambda: View(**view).validate_json(), "/view")
    if problems.lines or not isinstance(blocks, list):
        raise SlackRefusal("invalid_arguments", response_metadata={"messages": problems.lines})
    return {**view, "blocks": _with_ids(blocks)}


def _check_blocks(blocks: list[JsonObject], problems: Problems) -> None:
    seen: set[str] = set()
    for number, block in enumerate(blocks):
        path = f"/blocks/{number}"
        check_block(block, problems, path)
        block_id = block.get("block_id")
        if isinstance(block_id, str):
            if block_id in seen:
                problems.add("block_id already exists", f"{path}/block_id")
            seen.add(block_id)


def texts(value: Any) -> Iterator[str]:
    """Every text a person would see in ``value``."""
    if isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == "text" and isinstance(item, str):
                yield item
            else:
                yield from texts(item)


def _with_ids(blocks: list[JsonObject]) -> list[JsonObject]:
    """Slack gives a block id to whoever has none."""
    return [{**block, "block_id": block.get("block_id") or f"b{number}"} for number, block in enumerate(blocks)]
