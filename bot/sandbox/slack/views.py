"""``views.*`` of the pretend Slack, and what a ``response_action`` does to an open view.

Source: https://docs.slack.dev/surfaces/modals, https://docs.slack.dev/reference/methods/views.open,
https://docs.slack.dev/reference/methods/views.publish.
"""

from __future__ import annotations

from bot.sandbox.slack.blocks import check_view
from bot.sandbox.slack.records import JsonObject, SlackRefusal, View
from bot.sandbox.slack.world import Workspace

HOME_KEYS = frozenset({"type", "blocks", "private_metadata", "callback_id", "external_id"})
TROUBLE = "We had some trouble connecting. Try again?"


def open_view(workspace: Workspace, arguments: JsonObject) -> JsonObject:
    content = check_view(arguments.get("view"))
    trigger = workspace.use_trigger(str(arguments.get("trigger_id", "")))
    view = View(f"V{workspace.number():08d}", trigger.user, content, _new_hash(workspace))
    workspace.views[view.id] = view
    return {"view": view_json(workspace, view)}


def update_view(workspace: Workspace, arguments: JsonObject) -> JsonObject:
    content = check_view(arguments.get("view"))
    view = workspace.views.get(str(arguments.get("view_id", "")))
    if view is None or not view.is_open:
        raise SlackRefusal("not_found")
    if arguments.get("hash", view.hash) != view.hash:
        raise SlackRefusal("hash_conflict")
    view.content, view.hash = content, _new_hash(workspace)
    return {"view": view_json(workspace, view)}


def publish_view(workspace: Workspace, arguments: JsonObject) -> JsonObject:
    """Somebody's Home. Its blocks are checked as a modal's, of which it has as many."""
    given, user = arguments.get("view"), workspace.users.get(str(arguments.get("user_id", "")))
    if not isinstance(given, dict) or given.get("type") != "home" or not given.keys() <= HOME_KEYS:
        raise SlackRefusal("invalid_arguments", response_metadata={"messages": ["[ERROR] must be a home view"]})
    if user is None:
        raise SlackRefusal("user_not_found")
    checked = check_view({**given, "type": "modal", "title": {"type": "plain_text", "text": "Home"}})
    content = {**given, "blocks": checked["blocks"]}
    known = workspace.homes.get(user.id)
    view = View(known.id if known else f"V{workspace.number():08d}", user.id, content, _new_hash(workspace))
    workspace.homes[user.id] = view
    return {"view": view_json(workspace, view)}


def view_json(workspace: Workspace, view: View) -> JsonObject:
    return {
        "private_metadata": "",
        "callback_id": "",
        **view.content,
        "id": view.id,
        "team_id": workspace.team_id,
        "app_id": workspace.app_id,
        "hash": view.hash,
        "root_view_id": view.id,
        "previous_view_id": None,
        "state": {"values": view.state},
    }


def react(workspace: Workspace, view: View, answer: JsonObject | None) -> None:
    """What the person sees after the service answered a submission; ``None`` if it gave no usable answer."""
    view.errors, view.trouble = {}, None
    match answer:
        case {"response_action": "errors", "errors": dict(errors)} if _inputs(view) >= errors.keys() and errors:
            view.errors = errors
        case {"response_action": "update", "view": content}:
            try:
                view.content, view.hash = check_view(content), _new_hash(workspace)
            except SlackRefusal:
                view.trouble = TROUBLE
        case {"response_action": "clear"}:
            view.is_open = False
        case dict() if not answer:
            view.is_open = False
        case _:
            view.trouble = TROUBLE
    workspace.touch()


def _inputs(view: View) -> set[str]:
    return {block["block_id"] for block in view.content["blocks"] if block["type"] == "input"}


def _new_hash(workspace: Workspace) -> str:
    return f"{int(workspace.now().timestamp())}.{workspace.number():08x}"
