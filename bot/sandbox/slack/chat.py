"""``chat.*`` of the pretend Slack.

Source: https://docs.slack.dev/reference/methods/chat.postMessage, …/chat.update, …/chat.postEphemeral.
"""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

from bot.sandbox.slack.blocks import check_message
from bot.sandbox.slack.records import Conversation, Ephemeral, JsonObject, Message, SlackRefusal
from bot.sandbox.slack.world import Workspace

POSTED_TEXT = 40_000
"""Longer texts are cut off, not refused (https://docs.slack.dev/changelog/2018-truncating-really-long-messages)."""
UPDATED_TEXT_BYTES = 4_000
"""``chat.update`` refuses longer texts, counted in bytes after escaping; seen by GitLab (gitlab!258898)."""


def post_message(workspace: Workspace, arguments: JsonObject) -> JsonObject:
    conversation = _postable(workspace, str(arguments.get("channel", "")))
    _keep_the_pace(workspace, conversation)
    text, blocks = _content(arguments)
    thread = _thread(workspace, conversation, arguments)
    message = Message(
        conversation.id,
        workspace.new_ts(),
        workspace.bot.id,
        text[:POSTED_TEXT],
        blocks,
        _metadata(arguments.get("metadata")),
        thread,
        broadcast=thread is not None and is_true(arguments.get("reply_broadcast")),
    )
    workspace.messages.append(message)
    return {"channel": conversation.id, "ts": message.ts, "message": message_json(workspace, message)}


def _keep_the_pace(workspace: Workspace, conversation: Conversation) -> None:
    """Source: https://docs.slack.dev/apis/web-api/rate-limits (one message a second for each channel)."""
    now, last = workspace.now(), conversation.posted_at
    between = timedelta(seconds=conversation.seconds_between_posts)
    if last is not None and now < last + between:
        wait = (last + between - now).total_seconds()
        raise SlackRefusal("ratelimited", retry_after=math.ceil(wait))
    conversation.posted_at = now


def _thread(workspace: Workspace, conversation: Conversation, arguments: JsonObject) -> str | None:
    """The first message of the thread to reply in. Slack wants that one and not a reply
    (https://docs.slack.dev/reference/methods/chat.postMessage)."""
    ts = arguments.get("thread_ts")
    if ts is None:
        return None
    root = workspace.at(conversation.id, str(ts))
    if root is None or root.thread_ts not in {None, root.ts}:
        raise SlackRefusal("thread_not_found")
    return root.ts


def is_true(given: object) -> bool:
    return str(given).lower() in {"1", "true"}


def update(workspace: Workspace, arguments: JsonObject) -> JsonObject:
    """Blocks that are not given stay as they are; an empty list removes them."""
    conversation = workspace.conversations.get(str(arguments.get("channel", "")))
    if conversation is None or not _sees(workspace, conversation):
        raise SlackRefusal("channel_not_found")
    if conversation.is_archived:
        raise SlackRefusal("is_archived")
    message = workspace.at(conversation.id, str(arguments.get("ts", "")))
    if message is None:
        raise SlackRefusal("message_not_found")
    if message.user != workspace.bot.id:
        raise SlackRefusal("cant_update_message")
    if not conversation.edits_allowed:
        raise SlackRefusal("edit_window_closed")
    text, blocks = _content(arguments)
    if len(text.encode()) > UPDATED_TEXT_BYTES:
        raise SlackRefusal("msg_too_long")
    if "blocks" in arguments:
        message.blocks = blocks
    message.text = text
    message.metadata = _metadata(arguments.get("metadata")) or message.metadata
    message.edited = True
    return {"channel": message.channel, "ts": message.ts, "text": text, "message": message_json(workspace, message)}


def post_ephemeral(workspace: Workspace, arguments: JsonObject) -> JsonObject:
    conversation = _postable(workspace, str(arguments.get("channel", "")))
    user = str(arguments.get("user", ""))
    if user not in conversation.members:
        raise SlackRefusal("user_not_in_channel")
    text, blocks = _content(arguments)
    shown = Ephemeral(conversation.id, user, text, blocks, workspace.new_ts())
    workspace.ephemerals.append(shown)
    return {"message_ts": shown.ts}


def message_json(workspace: Workspace, message: Message) -> JsonObject:
    """A message as Slack shows it, without its metadata."""
    written: JsonObject = {
        "type": "message",
        "user": message.user,
        "ts": message.ts,
        "text": message.text,
        "team": workspace.team_id,
    }
    if message.user == workspace.bot.id:
        written |= {"bot_id": "B0HANDRAISE", "app_id": workspace.app_id}
    if message.blocks:
        written["blocks"] = message.blocks
    if message.thread_ts is not None:
        written["thread_ts"] = message.thread_ts
    if message.broadcast:
        written["subtype"] = "thread_broadcast"
    if message.edited:
        written["edited"] = {"user": message.user, "ts": message.ts}
    return written


def _postable(workspace: Workspace, channel: str) -> Conversation:
    """The conversation to post in; a user id means the direct messages with them."""
    if channel in workspace.users:
        conversation = workspace.im_with(channel)
    elif channel in workspace.conversations:
        conversation = workspace.conversations[channel]
    else:
        raise SlackRefusal("channel_not_found")
    if conversation.is_archived:
        raise SlackRefusal("is_archived")
    if workspace.bot.id not in conversation.members:
        if conversation.is_private:
            raise SlackRefusal("channel_not_found")
        if "chat:write.public" not in workspace.scopes:
            raise SlackRefusal("not_in_channel")
    if conversation.posting_restricted:
        raise SlackRefusal("restricted_action")
    return conversation


def _sees(workspace: Workspace, conversation: Conversation) -> bool:
    return workspace.bot.id in conversation.members or not conversation.is_private


def _content(arguments: JsonObject) -> tuple[str, list[JsonObject]]:
    text = str(arguments.get("text") or "")
    blocks = check_message(arguments["blocks"]) if arguments.get("blocks") else []
    if not text.strip() and not blocks:
        raise SlackRefusal("no_text")
    return text, blocks


def _metadata(given: Any) -> JsonObject | None:
    """``event_payload`` is flat: strings, numbers and booleans (https://docs.slack.dev/messaging/message-metadata)."""
    if given is None:
        return None
    payload = given.get("event_payload") if isinstance(given, dict) else None
    if not isinstance(payload, dict) or not isinstance(given.get("event_type"), str):
        raise SlackRefusal("invalid_metadata_format")
    if not all(isinstance(value, str | int | float | bool) for value in payload.values()):
        raise SlackRefusal("invalid_metadata_schema")
    return {"event_type": given["event_type"], "event_payload": payload}
