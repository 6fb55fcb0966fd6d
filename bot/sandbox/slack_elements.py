"""The shape and the limits of each element that the sandbox knows; another type is refused.

Source: https://docs.slack.dev/reference/block-kit/block-elements and …/composition-objects.
"""

from __future__ import annotations

import re
from typing import Any

from bot.sandbox.slack_problems import Check, Problems
from bot.sandbox.slack_records import JsonObject

ACTION_ID = 255
BUTTON_TEXT = ACCESSIBILITY_LABEL = 75
BUTTON_VALUE = 2000
BUTTON_URL = 3000
STYLES = frozenset({"primary", "danger"})
CONFIRM = {"title": 100, "text": 300, "confirm": 30, "deny": 30}
OPTION_TEXT = OPTION_DESCRIPTION = 75
OPTION_VALUE = 75
"""The official SDKs disagree (Python 150, Node 75); the sandbox takes the stricter one."""
PLACEHOLDER = 150
GROUPS = 100
TEXT_INPUT = 3000
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
OPTIONS = {"static_select": 100, "multi_static_select": 100, "radio_buttons": 10, "checkboxes": 10, "overflow": 5}


def check_element(element: Any, problems: Problems, path: str) -> None:
    check = ELEMENTS.get(str(element.get("type"))) if isinstance(element, dict) else None
    if check is None:
        problems.add("unsupported element", path)
        return
    if "action_id" in element:
        problems.length(element["action_id"], ACTION_ID, f"{path}/action_id")
    if "placeholder" in element:
        problems.plain_text(element["placeholder"], PLACEHOLDER, f"{path}/placeholder")
    if "confirm" in element:
        _confirm(element["confirm"], problems, f"{path}/confirm")
    check(element, problems, path)


def _button(element: JsonObject, problems: Problems, path: str) -> None:
    known = {"type", "text", "action_id", "url", "value", "style", "confirm", "accessibility_label"}
    problems.only(element, known, path)
    problems.plain_text(element.get("text"), BUTTON_TEXT, f"{path}/text")
    problems.length(element.get("value", ""), BUTTON_VALUE, f"{path}/value")
    problems.length(element.get("url", ""), BUTTON_URL, f"{path}/url")
    problems.length(element.get("accessibility_label", ""), ACCESSIBILITY_LABEL, f"{path}/accessibility_label")
    if "style" in element and element["style"] not in STYLES:
        problems.add("must be a valid enum value: primary, danger", f"{path}/style")


def _choosing(element: JsonObject, problems: Problems, path: str) -> None:
    known = {"type", "action_id", "options", "option_groups", "placeholder", "confirm", "focus_on_load"}
    initial = {"initial_option", "initial_options", "max_selected_items"}
    problems.only(element, known | initial, path)
    most = OPTIONS[element["type"]]
    if "option_groups" in element:
        for number, group in enumerate(problems.count(element["option_groups"], GROUPS, f"{path}/option_groups")):
            where = f"{path}/option_groups/{number}"
            problems.plain_text(group.get("label"), OPTION_TEXT, f"{where}/label")
            _options(group.get("options"), most, problems, f"{where}/options")
    else:
        _options(element.get("options"), most, problems, f"{path}/options")


def _options(options: Any, most: int, problems: Problems, path: str) -> None:
    for number, option in enumerate(problems.count(options, most, path)):
        problems.only(option, {"text", "value", "description", "url"}, f"{path}/{number}")
        problems.text(option.get("text"), OPTION_TEXT, f"{path}/{number}/text")
        problems.length(option.get("value"), OPTION_VALUE, f"{path}/{number}/value")
        if "description" in option:
            problems.plain_text(option["description"], OPTION_DESCRIPTION, f"{path}/{number}/description")


def _confirm(dialog: Any, problems: Problems, path: str) -> None:
    if not isinstance(dialog, dict):
        problems.add("must be an object", path)
        return
    problems.only(dialog, {*CONFIRM, "style"}, path)
    for name, most in CONFIRM.items():
        problems.plain_text(dialog.get(name), most, f"{path}/{name}")
    if "style" in dialog and dialog["style"] not in STYLES:
        problems.add("must be a valid enum value: primary, danger", f"{path}/style")


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
    **dict.fromkeys(OPTIONS, _choosing),
}
