"""The Web API methods that the sandbox has, each with the scope it needs.

Source: https://docs.slack.dev/reference/methods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bot.sandbox import slack_chat, slack_directory, slack_history, slack_views
from bot.sandbox.slack_records import JsonObject
from bot.sandbox.slack_world import Workspace

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
    "auth.test": Method(_needs(None), slack_directory.auth_test),
    "chat.postMessage": Method(_needs("chat:write"), slack_chat.post_message),
    "chat.update": Method(_needs("chat:write"), slack_chat.update),
    "chat.postEphemeral": Method(_needs("chat:write"), slack_chat.post_ephemeral),
    "conversations.open": Method(_needs("im:write"), slack_directory.open_conversation),
    "conversations.info": Method(slack_history.reading_scope("read"), slack_directory.conversation_info),
    "conversations.history": Method(slack_history.reading_scope("history"), slack_history.history),
    "conversations.replies": Method(slack_history.reading_scope("history"), slack_history.replies),
    "users.info": Method(_needs("users:read"), slack_directory.user_info),
    "users.lookupByEmail": Method(_needs("users:read.email"), slack_directory.lookup_by_email),
    "usergroups.users.list": Method(_needs("usergroups:read"), slack_directory.usergroup_users),
    "views.open": Method(_needs(None), slack_views.open_view),
    "views.publish": Method(_needs(None), slack_views.publish_view),
    "views.update": Method(_needs(None), slack_views.update_view),
}
