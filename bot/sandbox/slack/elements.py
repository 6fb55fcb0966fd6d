"""The shape of each element that the sandbox knows, and the limits that the official models leave out.

Source: https://docs.slack.dev/reference/block-kit/block-elements and …/composition-objects.
"""

from __future__ import annotations

import re
from typing import Any

from slack_sdk.models.blocks.block_elements import BlockElement

from bot.sandbox.slack.problems import Check, Problems
from bot.sandbox.slack.records import JsonObject

CONFIRM = ("title", "text", "confirm", "deny")
OPTION_TEXT = OPTION_DESCRIPTION = 75
OPTION_VALUE = 75
"""The official SDKs disagree (Python 150, Node 75); the sandbox takes the stricter one."""
TEXT_INPUT = 3000
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
FEW_OPTIONS = 10
"""Of radio buttons and checkboxes; the models know those of menus."""


def check_element(element: Any, problems: Problems, path: str) -> None:
    check = ELEMENTS.get(str(element.get("type"))) if isinstance(element, dict) else None
    if check is None:
        problems.add("unsupported element", path)
        return
    before = len(problems.lines)
    if "placeholder" in element:
        problems.plain_text(element["placeholder"], f"{path}/placeholder")
    if "confirm" in element:
        _confirm(element["confirm"], problems, f"{path}/confirm")
    check(element, problems, path)
    if len(problems.lines) == before:
        problems.models(lambda: [one.to_dict() for one in BlockElement.parse_all([element])], path)


def _button(element: JsonObject, problems: Problems, path: str) -> None:
    known = {"type", "text", "action_id", "url", "value", "style", "confirm", "accessibility_label"}
    problems.only(element, known, path)
    problems.plain_text(element.get("text"), f"{path}/text")


def _choosing(element: JsonObject, problems: Problems, path: str) -> None:
    known = {"type", "action_id", "options", "option_groups", "placeholder", "confirm", "focus_on_load"}
    initial = {"initial_option", "initial_options", "max_selected_items"}
    problems.only(element, known | initial, path)
    most = FEW_OPTIONS if element["type"] in {"radio_buttons", "checkboxes"} else None
    if "option_groups" in element:
        for number, group in enumerate(problems.items(element["option_groups"], f"{path}/option_groups")):
            where = f"{path}/option_groups/{number}"
            problems.plain_text(group.get("label"), f"{where}/label", OPTION_TEXT)
            _options(group.get("options"), most, problems, f"{where}/options")
    else:
        _options(element.get("options"), most, problems, f"{path}/options")


def _options(options: Any, most: int | None, problems: Problems, path: str) -> None:
    for number, option in enumerate(problems.items(options, path, most)):
        problems.only(option, {"text", "value", "description", "url"}, f"{path}/{number}")
        problems.text(option.get("text"), f"{path}/{number}/text", OPTION_TEXT)
        problems.length(option.get("value"), OPTION_VALUE, f"{path}/{number}/value")
        if "description" in option:
            problems.plain_text(option["description"], f"{path}/{number}/description", OPTION_DESCRIPTION)


def _confirm(dialog: Any, problems: Problems, path: str) -> None:
    if not isinstance(dialog, dict):
        problems.add("must be an object", path)
        return
    problems.only(dialog, {*CONFIRM, "style"}, path)
    for name in CONFIRM:
        problems.plain_text(dialog.get(name), f"{path}/{name}")


def _text_input(element: JsonObject, problems: Problems, path: str) -> None:
    known = {"type", "action_id", "initial_value", "multiline", "min_length", "max_length", "placeholder"}
    problems.only(element, {*known, "focus_on_load", "dispatch_action_config"}, path)
    if element.get("min_length", 0) > element.get("max_length", TEXT_INPUT):
        problems.add("must not be greater than max_length", f"{path}/min_length")
    for name, least in (("min_length", 0), ("max_length", 1)):
        value = element.get(name, 1)
        if not isinstance(value, int) or not least <= value <= TEXT_INPUT:
            problems.add(f"must be between {least} and {TEXT_INPUT}", f"{path}/{name}")


def _number_input(element: JsonObject, problems: Problems, path: str) -> None:
    known = {"type", "action_id", "is_decimal_allowed", "initial_value", "min_value", "max_value", "placeholder"}
    problems.only(element, {*known, "focus_on_load"}, path)
    if not isinstance(element.get("is_decimal_allowed"), bool):
        problems.add("missing required field: is_decimal_allowed", path)
    for name in ("initial_value", "min_value", "max_value"):
        if not isinstance(element.get(name, ""), str):
            problems.add("must be a string", f"{path}/{name}")
        elif name in element and NUMBER.fullmatch(element[name]) is None:
            problems.add("must be a number", f"{path}/{name}")


def _datepicker(element: JsonObject, problems: Problems, path: str) -> None:
    problems.only(element, {"type", "action_id", "initial_date", "confirm", "placeholder", "focus_on_load"}, path)


def _users_select(element: JsonObject, problems: Problems, path: str) -> None:
    problems.only(element, {"type", "action_id", "initial_user", "confirm", "placeholder", "focus_on_load"}, path)


ELEMENTS: dict[str, Check] = {
    "button": _button,
    "plain_text_input": _text_input,
    "number_input": _number_input,
    "datepicker": _datepicker,
    "users_select": _users_select,
    **dict.fromkeys(("static_select", "multi_static_select", "radio_buttons", "checkboxes", "overflow"), _choosing),
}
