"""``views.*`` of the pretend Slack, a modal filled in as by Slack's own client, and the effect of a
``response_action``.

Source: https://docs.slack.dev/surfaces/modals, …/reference/methods/views.open, …/reference/views/modal-views
(``state.values``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal, InvalidOperation

from bot.sandbox.slack.world import SlackRefusal, View, Workspace
from bot.sandbox.vendor import JsonObject

TROUBLE = "We had some trouble connecting. Try again?"


def open_view(workspace: Workspace, arguments: JsonObject) -> JsonObject:
    content = workspace.kept_view(arguments.get("view"))
    trigger = workspace.use_trigger(str(arguments.get("trigger_id", "")))
    view = View(f"V{workspace.number():08d}", trigger.user, content, new_hash(workspace))
    workspace.views[view.id] = view
    return {"view": view_json(workspace, view)}


def update_view(workspace: Workspace, arguments: JsonObject) -> JsonObject:
    content = workspace.kept_view(arguments.get("view"))
    view = workspace.views.get(str(arguments.get("view_id", "")))
    if view is None or not view.is_open:
        raise SlackRefusal("not_found")
    if arguments.get("hash", view.hash) != view.hash:
        raise SlackRefusal("hash_conflict")
    view.content, view.hash = content, new_hash(workspace)
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
    """The view after the service's response to a submission; ``None`` if the response was unusable."""
    view.errors, view.trouble = {}, None
    match answer:
        case {"response_action": "errors", "errors": dict(errors)} if _inputs(view) >= errors.keys() and errors:
            view.errors = errors
        case {"response_action": "update", "view": content}:
            try:
                view.content, view.hash = workspace.kept_view(content), new_hash(workspace)
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


def new_hash(workspace: Workspace) -> str:
    return f"{int(workspace.now().timestamp())}.{workspace.number():08x}"


NUMBER = re.compile(r"-?\d+(\.\d+)?")


class FormRefused(Exception):
    """Slack's client did not even send it; ``problems`` are by block id."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__(str(dict(problems)))
        self.problems = problems


def fill_in(view: View, values: Mapping[str, str]) -> JsonObject:
    """``state.values`` for what a person typed or picked, by block id; an option is picked by its label or its value,
    several with commas between them, a person by user id.

    Raises :class:`FormRefused` if Slack's client would mark the input, and ``LookupError`` for a block that the
    view does not have.
    """
    inputs = {block["block_id"]: block for block in view.content["blocks"] if block["type"] == "input"}
    if unknown := values.keys() - inputs.keys():
        raise LookupError(f"the view has no input {sorted(unknown)}")
    state: JsonObject = {}
    problems: dict[str, str] = {}
    for block_id, block in inputs.items():
        element, given = block["element"], values.get(block_id, "")
        try:
            if not given and not block.get("optional", False):
                raise ValueError("Please complete this required field.")
            entered = _enter(element, given)
        except ValueError as refusal:
            problems[block_id] = str(refusal)
        else:
            state[block_id] = {element["action_id"]: {"type": element["type"], **entered}}
    if problems:
        raise FormRefused(problems)
    return state


def _enter(element: JsonObject, given: str) -> JsonObject:
    match element["type"]:
        case "plain_text_input":
            return {"value": _text(element, given)}
        case "number_input":
            return {"value": _number(element, given)}
        case "datepicker":
            return {"selected_date": date.fromisoformat(given).isoformat() if given else None}
        case "multi_static_select" | "checkboxes":
            picked = [_pick(element, one.strip()) for one in given.split(",") if one.strip()]
            if len(picked) > element.get("max_selected_items", len(picked)):
                raise ValueError(f"Pick at most {element['max_selected_items']}.")
            return {"selected_options": picked}
        case "users_select":
            return {"selected_user": given or None}
        case "static_select" | "radio_buttons":
            return {"selected_option": _pick(element, given) if given else None}
        case other:
            raise LookupError(f"the sandbox can't fill in {other}")


def _text(element: JsonObject, given: str) -> str | None:
    if len(given) > element.get("max_length", 3000):
        raise ValueError(f"Your text is {len(given) - element['max_length']} characters too long.")
    if given and len(given) < element.get("min_length", 0):
        raise ValueError("Your text is too short.")
    return given or None


def _number(element: JsonObject, given: str) -> str | None:
    if not given:
        return None
    if NUMBER.fullmatch(given) is None or ("." in given and not element["is_decimal_allowed"]):
        raise ValueError("Must be a valid number.")
    try:
        low, high = Decimal(element.get("min_value", "-Infinity")), Decimal(element.get("max_value", "Infinity"))
    except InvalidOperation:
        raise LookupError("the view's own bounds are no numbers") from None
    if not low <= Decimal(given) <= high:
        raise ValueError(f"Must be between {low} and {high}.")
    return given


def _pick(element: JsonObject, given: str) -> JsonObject:
    for option in element["options"]:
        if given in {option["text"]["text"], option["value"]}:
            return dict(option)
    raise ValueError("There is no such option.")
