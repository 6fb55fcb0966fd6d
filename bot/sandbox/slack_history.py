"""``conversations.history`` and ``conversations.replies`` of the pretend Slack: what was said, newest first.

Source: https://docs.slack.dev/reference/methods/conversations.history.
"""

from __future__ import annotations

from collections.abc import Callable

from bot.sandbox.slack_chat import is_true, message_json
from bot.sandbox.slack_records import Conversation, JsonObject, Message, SlackRefusal
from bot.sandbox.slack_world import Workspace

PAGE = 100
LARGEST_PAGE = 999


def reading_scope(verb: str) -> Callable[[Workspace, JsonObject], str | None]:
    """``im:history``, ``groups:history`` or ``channels:history``, by the conversation that is asked for."""

    def needed(workspace: Workspace, arguments: JsonObject) -> str | None:
        conversation = workspace.conversations.get(str(arguments.get("channel", "")))
        if conversation is None:
            return None
        kind = "im" if conversation.is_im else "groups" if conversation.is_private else "channels"
        return f"{kind}:{verb}"

    return needed


def history(workspace: Workspace, arguments: JsonObject) -> JsonObject:
    """Replies in threads are not part of it, unless they were sent to the conversation as well."""
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
    conversation = workspace.conversations.get(str(arguments.get("channel", "")))
    if conversation is None:
        raise SlackRefusal("channel_not_found")
    if workspace.bot.id not in conversation.members:
        raise SlackRefusal("channel_not_found" if conversation.is_private else "not_in_channel")
    return conversation


def _between(messages: list[Message], arguments: JsonObject) -> list[Message]:
    """After ``oldest`` and before ``latest``; both ends too where ``inclusive``."""
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
