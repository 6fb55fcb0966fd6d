"""The Web API methods of the pretend Slack, each with the scope that it needs.

Answered here are who and where (``auth.test``, ``users.*``, ``usergroups.users.list``, ``conversations.open`` and
``.info``), and what was said (``conversations.history`` and ``.replies``, newest first).

Source: https://docs.slack.dev/reference/methods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bot.sandbox.slack import chat, views
from bot.sandbox.slack.chat import is_true, message_json
from bot.sandbox.slack.records import Conversation, JsonObject, Message, SlackRefusal, User
from bot.sandbox.slack.world import Workspace


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
    """Direct messages with one person; several at once are more than the sandbox has."""
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
    conversation = workspace.conversations.get(str(arguments.get("channel", "")))
    if conversation is None or (conversation.is_private and workspace.bot.id not in conversation.members):
        raise SlackRefusal("channel_not_found")
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


Perform = Callable[[Workspace, JsonObject], JsonObject]
Needs = Callable[[Workspace, JsonObject], str | None]


@dataclass(frozen=True)
class Method:
    """``scope`` says which scope this call needs, ``None`` for none; ``perform`` does it or raises a refusal."""

    scope: Needs
    perform: Perform


def _needs(scope: str | None) -> Needs:
    return lambda workspace, arguments: scope


METHODS: dict[str, Method] = {
    "auth.test": Method(_needs(None), auth_test),
    "chat.postMessage": Method(_needs("chat:write"), chat.post_message),
    "chat.update": Method(_needs("chat:write"), chat.update),
    "chat.postEphemeral": Method(_needs("chat:write"), chat.post_ephemeral),
    "conversations.open": Method(_needs("im:write"), open_conversation),
    "conversations.info": Method(reading_scope("read"), conversation_info),
    "conversations.history": Method(reading_scope("history"), history),
    "conversations.replies": Method(reading_scope("history"), replies),
    "users.info": Method(_needs("users:read"), user_info),
    "users.lookupByEmail": Method(_needs("users:read.email"), lookup_by_email),
    "usergroups.users.list": Method(_needs("usergroups:read"), usergroup_users),
    "views.open": Method(_needs(None), views.open_view),
    "views.publish": Method(_needs(None), views.publish_view),
    "views.update": Method(_needs(None), views.update_view),
}
