"""The interactive payloads that Slack sends when a person presses a button or submits a modal.

Source: https://docs.slack.dev/reference/interaction-payloads.
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
    return pressed(workspace, user, element) | {
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
    """A person submitted ``view``; their input is in its state."""
    return {
        **envelope(workspace, user),
        "type": "view_submission",
        "trigger_id": workspace.new_trigger(user.id),
        "view": view_json(workspace, view),
        "response_urls": [],
    }


def pressed(workspace: Workspace, user: User, element: JsonObject) -> JsonObject:
    action = {key: element[key] for key in ("action_id", "block_id", "text", "value", "style", "url") if key in element}
    return {
        **envelope(workspace, user),
        "type": "block_actions",
        "trigger_id": workspace.new_trigger(user.id),
        "actions": [{"type": "button", **action, "action_ts": workspace.new_ts()}],
    }


def envelope(workspace: Workspace, user: User) -> JsonObject:
    return {
        "team": {"id": workspace.team_id, "domain": "sandbox"},
        "user": {"id": user.id, "username": user.name, "name": user.name, "team_id": user.team_id},
        "api_app_id": workspace.app_id,
        "token": "deprecated-verification-token",
        "enterprise": None,
        "is_enterprise_install": False,
    }
