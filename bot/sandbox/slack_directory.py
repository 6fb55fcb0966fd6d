"""Who and where: ``auth.test``, ``users.*``, ``usergroups.users.list``, ``conversations.open`` and ``.info``.

Source: https://docs.slack.dev/reference/methods.
"""

from __future__ import annotations

from bot.sandbox.slack_records import JsonObject, SlackRefusal, User
from bot.sandbox.slack_world import Workspace


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
