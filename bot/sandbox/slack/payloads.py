"""The interactive payloads that Slack sends when somebody presses a button or submits a modal, and their signature.

Source: https://docs.slack.dev/reference/interaction-payloads,
https://docs.slack.dev/authentication/verifying-requests-from-slack.
"""

from __future__ import annotations

from bot.sandbox.slack.methods import message_json
from bot.sandbox.slack.views import view_json
from bot.sandbox.slack.world import Ephemeral, Message, User, View, Workspace
from bot.sandbox.vendor import JsonObject


def block_actions(
    workspace: Workspace, user: User, message: Message | Ephemeral, element: JsonObject, url: str
) -> JsonObject:
    """Somebody pressed ``element``, which is a button with its ``block_id``. ``url`` is where the sandbox listens.

    What only they see is not in the payload itself (https://docs.slack.dev/reference/interaction-payloads/block_actions-payload).
    """
    conversation = workspace.conversations[message.channel]
    response_url = workspace.new_response_url(message.channel, user.id, message.ts)
    return _pressed(workspace, user, element) | {
        "container": {
            "type": "message",
            "message_ts": message.ts,
            "channel_id": message.channel,
            "is_ephemeral": isinstance(message, Ephemeral),
        },
        "channel": {"id": conversation.id, "name": conversation.name},
        **({"message": message_json(workspace, message)} if isinstance(message, Message) else {}),
        "state": {"values": {}},
        "response_url": f"{url}/response/{response_url}",
    }


def view_submission(workspace: Workspace, user: User, view: View) -> JsonObject:
    """Somebody submitted ``view``; what they filled in is in its state."""
    return {
        **_envelope(workspace, user),
        "type": "view_submission",
        "trigger_id": workspace.new_trigger(user.id),
        "view": view_json(workspace, view),
        "response_urls": [],
    }


def home_actions(workspace: Workspace, user: User, view: View, element: JsonObject) -> JsonObject:
    """Somebody pressed ``element`` in their Home: no message, and no address for a private reply."""
    container = {"type": "view", "view_id": view.id}
    return _pressed(workspace, user, element) | {"container": container, "view": view_json(workspace, view)}


def _pressed(workspace: Workspace, user: User, element: JsonObject) -> JsonObject:
    action = {key: element[key] for key in ("action_id", "block_id", "text", "value", "style", "url") if key in element}
    return {
        **_envelope(workspace, user),
        "type": "block_actions",
        "trigger_id": workspace.new_trigger(user.id),
        "actions": [{"type": "button", **action, "action_ts": workspace.new_ts()}],
    }


def slash_command(workspace: Workspace, user: User, channel: str, text: str, url: str) -> JsonObject:
    """The fields of the form that Slack posts. ``url`` is where the sandbox listens."""
    conversation = workspace.conversations[channel]
    response_url = workspace.new_response_url(channel, user.id, "")
    return {
        "token": "deprecated-verification-token",
        "team_id": user.team_id,
        "team_domain": "sandbox",
        "channel_id": channel,
        "channel_name": conversation.name,
        "user_id": user.id,
        "user_name": user.name,
        "command": "/handraise",
        "text": text,
        "api_app_id": workspace.app_id,
        "is_enterprise_install": "false",
        "response_url": f"{url}/response/{response_url}",
        "trigger_id": workspace.new_trigger(user.id),
    }


def event_callback(workspace: Workspace, event: JsonObject, event_id: str | None = None) -> JsonObject:
    """Slack tells of ``event``; a retry has the same ``event_id``."""
    return {
        "token": "deprecated-verification-token",
        "team_id": workspace.team_id,
        "api_app_id": workspace.app_id,
        "type": "event_callback",
        "event": event,
        "event_id": event_id or f"Ev{workspace.number():08d}",
        "event_time": int(workspace.now().timestamp()),
        "authorizations": [{"team_id": workspace.team_id, "user_id": workspace.bot.id, "is_bot": True}],
        "is_ext_shared_channel": False,
    }


def message_event(workspace: Workspace, message: Message, root: Message | None) -> JsonObject:
    """``message``, which hangs under ``root`` if it is a reply."""
    user, conversation = workspace.users[message.user], workspace.conversations[message.channel]
    event: JsonObject = {
        "type": "message",
        "user": user.id,
        "team": user.team_id,
        "channel": message.channel,
        "channel_type": "im" if conversation.is_im else "group" if conversation.is_private else "channel",
        "text": message.text,
        "ts": message.ts,
        "event_ts": message.ts,
    }
    return event if root is None else event | {"thread_ts": root.ts, "parent_user_id": root.user}


def _envelope(workspace: Workspace, user: User) -> JsonObject:
    return {
        "team": {"id": workspace.team_id, "domain": "sandbox"},
        "user": {"id": user.id, "username": user.name, "name": user.name, "team_id": user.team_id},
        "api_app_id": workspace.app_id,
        "token": "deprecated-verification-token",
        "enterprise": None,
        "is_enterprise_install": False,
    }
