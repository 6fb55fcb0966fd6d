"""The Web API methods of the pretend Slack, each with the scope that it needs; ``views.*`` are in ``views``.

``chat.*``, people and places (``auth.test``, ``users.*``, ``usergroups.users.list``, ``conversations.open`` and
``.info``), and messages (``conversations.history`` and ``.replies``, newest first).

Source: https://docs.slack.dev/reference/methods.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from bot.sandbox.slack import views
from bot.sandbox.slack.world import Conversation, Ephemeral, Message, SlackRefusal, User, Workspace
from bot.sandbox.vendor import JsonObject


def auth_test(workspace: Workspace, arguments: JsonObject) -> JsonObject:
    return {
        "url": "https://sandbox.slack.example/",
        "team": "Sandbox",
        "team_id": workspace.team_id,
        "user": workspace.bot.name,
        "user_id": workspace.bot.id,
        "bot_id": "B0HANDRAISE",
        "is_enterprise_install": False,
    }


def user_info(workspace: Workspace, arguments: JsonObject) -> JsonObject:
    user = workspace.users.get(str(arguments.get("user", "")))
    if user is None:
        raise SlackRefusal("user_not_found")
    return {"user": _user_json(user, workspace)}


def lookup_by_email(workspace: Workspace, arguments: JsonObject) -> JsonObject:
    email = str(arguments.get("email", "")).lower()
    for user in workspace.users.values():
        if email and user.email.lower() == email and not user.deleted:
            return {"user": _user_json(user, workspace)}
    raise SlackRefusal("users_not_found")


def usergroup_users(workspace: Workspace, arguments: JsonObject) -> JsonObject:
    members = workspace.usergroups.get(str(arguments.get("usergroup", "")))
    if members is None:
        raise SlackRefusal("no_such_subteam")
    return {"users": sorted(members)}


def open_conversation(workspace: Workspace, arguments: JsonObject) -> JsonObject:
    """Direct messages with one person; the sandbox has none with several."""
    wanted = [name for name in str(arguments.get("users", "")).split(",") if name]
    if not wanted:
        raise SlackRefusal("users_list_not_supplied")
    if len(wanted) > 1:
        raise SlackRefusal("method_not_supported_for_channel_type")
    user = workspace.users.get(wanted[0])
    if user is None:
        raise SlackRefusal("user_not_found")
    if user.is_bot:
        raise SlackRefusal("cannot_dm_bot")
    if user.deleted:
        raise SlackRefusal("user_disabled")
    return {"channel": {"id": workspace.im_with(user.id).id}}


def conversation_info(workspace: Workspace, arguments: JsonObject) -> JsonObject:
    conversation = _seen(workspace, arguments)
    return {
        "channel": {
            "id": conversation.id,
            "name": conversation.name,
            "is_im": conversation.is_im,
            "is_private": conversation.is_private,
            "is_archived": conversation.is_archived,
            "is_member": workspace.bot.id in conversation.members,
        }
    }


def _seen(workspace: Workspace, arguments: JsonObject) -> Conversation:
    """The requested conversation; our app has to be in a private one."""
    conversation = workspace.conversations.get(str(arguments.get("channel", "")))
    if conversation is None or (conversation.is_private and workspace.bot.id not in conversation.members):
        raise SlackRefusal("channel_not_found")
    return conversation


def _user_json(user: User, workspace: Workspace) -> JsonObject:
    profile = {"real_name": user.name}
    if "users:read.email" in workspace.scopes:
        profile["email"] = user.email
    return {
        "id": user.id,
        "team_id": user.team_id,
        "name": user.name,
        "deleted": user.deleted,
        "is_bot": user.is_bot,
        "profile": profile,
    }


PAGE = 100
LARGEST_PAGE = 999


def history(workspace: Workspace, arguments: JsonObject) -> JsonObject:
    """Replies in threads are not included, unless they were also sent to the conversation."""
    conversation = _readable(workspace, arguments)
    tops = [one for one in workspace.posted(conversation.id) if one.broadcast or one.thread_ts in {None, one.ts}]
    return _page(workspace, _between(tops, arguments)[::-1], arguments)


def replies(workspace: Workspace, arguments: JsonObject) -> JsonObject:
    """The first message of a thread and everything under it, oldest first."""
    conversation = _readable(workspace, arguments)
    root = workspace.at(conversation.id, str(arguments.get("ts", "")))
    if root is None:
        raise SlackRefusal("thread_not_found")
    under = [one for one in workspace.posted(conversation.id) if one.thread_ts == root.ts and one is not root]
    return _page(workspace, [root, *_between(under, arguments)], arguments)


def _readable(workspace: Workspace, arguments: JsonObject) -> Conversation:
    conversation = _seen(workspace, arguments)
    if workspace.bot.id not in conversation.members:
        raise SlackRefusal("not_in_channel")
    return conversation


def _between(messages: list[Message], arguments: JsonObject) -> list[Message]:
    """After ``oldest`` and before ``latest``; both ends too if ``inclusive``."""
    oldest = float(arguments.get("oldest") or 0)
    latest = float(arguments.get("latest") or "inf")
    edges = {oldest, latest} if is_true(arguments.get("inclusive")) else set()
    return [one for one in messages if oldest < float(one.ts) < latest or float(one.ts) in edges]


def _page(workspace: Workspace, messages: list[Message], arguments: JsonObject) -> JsonObject:
    size = min(int(arguments.get("limit") or PAGE), LARGEST_PAGE)
    cursor = str(arguments.get("cursor") or "0")
    if not cursor.isdigit():
        raise SlackRefusal("invalid_cursor")
    start = int(cursor)
    page = messages[start : start + size]
    more = start + size < len(messages)
    with_metadata = is_true(arguments.get("include_all_metadata"))
    written = []
    for message in page:
        shown = message_json(workspace, message)
        if with_metadata and message.metadata is not None:
            shown["metadata"] = message.metadata
        written.append(shown)
    answer: JsonObject = {"messages": written, "has_more": more}
    if more:
        answer["response_metadata"] = {"next_cursor": str(start + size)}
    return answer


POSTED_TEXT = 40_000
"""Longer texts are cut off, not refused (https://docs.slack.dev/changelog/2018-truncating-really-long-messages)."""
UPDATED_TEXT_BYTES = 4_000
"""``chat.update`` refuses longer texts, counted in bytes after escaping; seen by GitLab (gitlab!258898)."""


def post_message(workspace: Workspace, arguments: JsonObject) -> JsonObject:
    conversation = _postable(workspace, str(arguments.get("channel", "")))
    _keep_the_pace(workspace, conversation)
    text, blocks = _content(workspace, arguments)
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
    if not conversation.is_threadable:
        raise SlackRefusal("restricted_action_non_threadable_channel")
    root = workspace.at(conversation.id, str(ts))
    if root is None or root.thread_ts not in {None, root.ts}:
        raise SlackRefusal("thread_not_found")
    return root.ts


def is_true(given: object) -> bool:
    return str(given).lower() in {"1", "true"}


def update(workspace: Workspace, arguments: JsonObject) -> JsonObject:
    """Blocks that are not given stay as they are; an empty list removes them."""
    conversation = _seen(workspace, arguments)
    if conversation.is_archived:
        raise SlackRefusal("is_archived")
    message = workspace.at(conversation.id, str(arguments.get("ts", "")))
    if message is None:
        raise SlackRefusal("message_not_found")
    if message.user != workspace.bot.id:
        raise SlackRefusal("cant_update_message")
    if not conversation.edits_allowed:
        raise SlackRefusal("edit_window_closed")
    text, blocks = _content(workspace, arguments)
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
    text, blocks = _content(workspace, arguments)
    _thread(workspace, conversation, arguments)
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


def _content(workspace: Workspace, arguments: JsonObject) -> tuple[str, list[JsonObject]]:
    text = str(arguments.get("text") or "")
    blocks = workspace.kept_blocks(arguments["blocks"]) if arguments.get("blocks") else []
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


@dataclass(frozen=True)
class Method:
    """``scope`` is the scope that this call needs, or ``None``; its ``*`` is ``im``, ``groups`` or ``channels``, by
    the requested conversation. ``perform`` executes it or raises a refusal."""

    scope: str | None
    perform: Callable[[Workspace, JsonObject], JsonObject]

    def needs(self, workspace: Workspace, arguments: JsonObject) -> str | None:
        if self.scope is None or not self.scope.startswith("*"):
            return self.scope
        conversation = workspace.conversations.get(str(arguments.get("channel", "")))
        if conversation is None:
            return None
        kind = "im" if conversation.is_im else "groups" if conversation.is_private else "channels"
        return self.scope.replace("*", kind)


METHODS: dict[str, Method] = {
    "auth.test": Method(None, auth_test),
    "chat.postMessage": Method("chat:write", post_message),
    "chat.update": Method("chat:write", update),
    "chat.postEphemeral": Method("chat:write", post_ephemeral),
    "conversations.open": Method("im:write", open_conversation),
    "conversations.info": Method("*:read", conversation_info),
    "conversations.history": Method("*:history", history),
    "conversations.replies": Method("*:history", replies),
    "users.info": Method("users:read", user_info),
    "users.lookupByEmail": Method("users:read.email", lookup_by_email),
    "usergroups.users.list": Method("usergroups:read", usergroup_users),
    "views.open": Method(None, views.open_view),
    "views.update": Method(None, views.update_view),
}
