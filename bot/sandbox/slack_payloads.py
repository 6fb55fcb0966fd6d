"""The interactive payloads that Slack sends when somebody presses a button or submits a modal, and their signature.

Source: https://docs.slack.dev/reference/interaction-payloads,
https://docs.slack.dev/authentication/verifying-requests-from-slack.
"""

from __future__ import annotations

import hashlib
import hmac

from bot.sandbox.slack_chat import message_json
from bot.sandbox.slack_records import JsonObject, Message, User, View
from bot.sandbox.slack_views import view_json
from bot.sandbox.slack_world import Workspace


def block_actions(workspace: Workspace, user: User, message: Message, element: JsonObject, url: str) -> JsonObject:
    """Somebody pressed ``element``, which is a button with its ``block_id``. ``url`` is where the sandbox listens."""
    conversation = workspace.conversations[message.channel]
    action = {key: element[key] for key in ("action_id", "block_id", "text", "value", "style", "url") if key in element}
    response_url = workspace.new_response_url(message.channel, user.id, message.ts)
    return {
        **_envelope(workspace, user),
        "type": "block_actions",
        "container": {
            "type": "message",
            "message_ts": message.ts,
            "channel_id": message.channel,
            "is_ephemeral": False,
        },
        "trigger_id": workspace.new_trigger(user.id),
        "channel": {"id": conversation.id, "name": conversation.name},
        "message": message_json(workspace, message),
        "state": {"values": {}},
        "response_url": f"{url}/response/{response_url}",
        "actions": [{"type": "button", **action, "action_ts": workspace.new_ts()}],
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


def signature(secret: str, timestamp: str, body: bytes) -> str:
    digest = hmac.new(secret.encode(), f"v0:{timestamp}:".encode() + body, hashlib.sha256)
    return f"v0={digest.hexdigest()}"


def _envelope(workspace: Workspace, user: User) -> JsonObject:
    return {
        "team": {"id": workspace.team_id, "domain": "sandbox"},
        "user": {"id": user.id, "username": user.name, "name": user.name, "team_id": user.team_id},
        "api_app_id": workspace.app_id,
        "token": "deprecated-verification-token",
        "enterprise": None,
        "is_enterprise_install": False,
    }
