"""What people do in the pretend Slack, beside pressing buttons: write, open their Home, type a command.

Source: https://docs.slack.dev/apis/events-api, https://docs.slack.dev/interactivity/implementing-slash-commands.
"""

from __future__ import annotations

import json
from typing import Any

import httpx

from bot.sandbox.slack.app import SlackSandbox
from bot.sandbox.slack.delivery import PayloadKind
from bot.sandbox.slack.payloads import event_callback, home_actions, message_event, slash_command
from bot.sandbox.slack.records import Ephemeral, JsonObject, Message, View


async def tell(sandbox: SlackSandbox, event: JsonObject, event_id: str | None = None) -> httpx.Response:
    """Slack tells the service of ``event``; returns what the service answered."""
    return await sandbox.send(PayloadKind.EVENT, event_callback(sandbox.workspace, event, event_id))


async def say(
    sandbox: SlackSandbox, user_id: str, channel: str, text: str, under: Message | None = None, **fields: Any
) -> httpx.Response:
    """Somebody writes ``text``, in the thread of ``under`` if it is given. ``fields`` change the event."""
    workspace = sandbox.workspace
    root = under and workspace.at(under.channel, under.thread_ts or under.ts)
    thread_ts = None if root is None else root.ts
    message = Message(channel, workspace.new_ts(), user_id, text, thread_ts=thread_ts)
    workspace.messages.append(message)
    return await tell(sandbox, message_event(workspace, message, root) | fields)


async def open_home(sandbox: SlackSandbox, user_id: str) -> httpx.Response:
    channel = sandbox.workspace.im_with(user_id).id
    event = {"type": "app_home_opened", "user": user_id, "channel": channel, "tab": "home", "event_ts": "1.1"}
    return await tell(sandbox, event)


async def expect_home(sandbox: SlackSandbox, user_id: str, text: str) -> View:
    """The Home of ``user_id``, as soon as it shows ``text``."""

    def look() -> View | None:
        view = sandbox.workspace.homes.get(user_id)
        return view if view is not None and text in json.dumps(view.content, ensure_ascii=False) else None

    return await sandbox.workspace.until(look)


async def press_home(sandbox: SlackSandbox, user_id: str, block_id: str, action_id: str) -> httpx.Response:
    """Press a button of one's own Home; raises ``LookupError`` if there is none."""
    view = sandbox.workspace.homes[user_id]
    elements = [
        {**element, "block_id": block_id}
        for block in view.content["blocks"]
        if block["block_id"] == block_id
        for element in block.get("elements", [block.get("accessory", {})])
        if element.get("action_id") == action_id
    ]
    if not elements:
        raise LookupError(f"{user_id} sees no {action_id} in {block_id}")
    user = sandbox.workspace.users[user_id]
    return await sandbox.post(home_actions(sandbox.workspace, user, view, elements[0]))


async def type_command(sandbox: SlackSandbox, user_id: str, channel: str, text: str) -> JsonObject:
    """Type ``/handraise`` with ``text``; returns what the service answered, ``{}`` where it only acknowledged.

    What it answers is shown to ``user_id`` alone.
    """
    workspace = sandbox.workspace
    fields = slash_command(workspace, workspace.users[user_id], channel, text, sandbox.url)
    response = await sandbox.send(PayloadKind.COMMAND, fields)
    said: JsonObject = response.json() if response.content else {}
    if said:
        shown = Ephemeral(channel, user_id, said.get("text", ""), said.get("blocks", []), workspace.new_ts())
        workspace.ephemerals.append(shown)
        workspace.touch()
    return {"status": response.status_code, **said}
