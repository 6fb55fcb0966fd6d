"""Block Kit as Slack checks it: what the official models check, and the limits that they leave out.

Problems are written as Slack writes them in ``response_metadata.messages``, but for the limits that the models check,
which are in their words. A type that is not listed here is refused.

Limits: https://docs.slack.dev/reference/block-kit (blocks, block-elements, composition-objects).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any

from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block
from slack_sdk.models.blocks.block_elements import BlockElement
from slack_sdk.models.views import View

from bot.sandbox.slack.world import SlackRefusal
from bot.sandbox.vendor import JsonObject

MESSAGE_BLOCKS = 50
MESSAGE_TEXT = 13_200
"""The sum over all blocks; undocumented, observed in https://github.com/slackapi/bolt-js/issues/2509."""
VIEW_KEYS = frozenset(
    {"type", "title", "blocks", "close", "submit", "private_metadata", "callback_id", "external_id"}
    | {"clear_on_close", "notify_on_close"}
)
STRINGS = frozenset(
    {"action_id", "block_id", "value", "url", "style", "accessibility_label", "private_metadata", "callback_id"}
)
CONTEXT_TEXT = 3000
FIELD_TEXT = 2000
TABLE_ROWS, TABLE_COLUMNS = 100, 20
CONFIRM = ("title", "text", "confirm", "deny")
OPTION_TEXT = OPTION_DESCRIPTION = 75
OPTION_VALUE = 75
"""The official SDKs disagree (Python 150, Node 75); the sandbox takes the stricter one."""
TEXT_INPUT = 3000
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
FEW_OPTIONS = 10
"""Of radio buttons and checkboxes; the models know those of menus."""


def check_message(blocks: Any) -> list[JsonObject]:
    """``blocks``; raises :class:`SlackRefusal` as ``chat.*`` would."""
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise SlackRefusal("invalid_blocks_format")
    problems = Problems()
    if len(blocks) > MESSAGE_BLOCKS:
        problems.add(f"no more than {MESSAGE_BLOCKS} items allowed", "/blocks")
    _check_blocks(blocks, problems)
    if problems.lines:
        raise SlackRefusal("invalid_blocks", errors=problems.lines, response_metadata={"messages": problems.lines})
    if sum(len(text) for block in blocks for text in texts(block)) > MESSAGE_TEXT:
        raise SlackRefusal("msg_blocks_too_long")
    return blocks


def check_view(view: Any) -> JsonObject:
    """``view``; raises :class:`SlackRefusal` as ``views.*`` would."""
    if not isinstance(view, dict):
        raise SlackRefusal("invalid_arguments", response_metadata={"messages": ["[ERROR] view must be an object"]})
    problems = Problems()
    blocks = view.get("blocks")
    if view.get("type") != "modal":
        problems.add("unsupported type", "/view/type")
    problems.only(view, VIEW_KEYS, "/view")
    problems.plain_text(view.get("title"), "/view/title")
    for name in ("submit", "close"):
        if name in view:
            problems.plain_text(view[name], f"/view/{name}")
    if not isinstance(blocks, list):
        problems.add("must be a list", "/view/blocks")
    else:
        _check_blocks(blocks, problems)
        if any(block.get("type") == "input" for block in blocks) and "submit" not in view:
            problems.add("a submit is required when a view has inputs", "/view/submit")
    if not problems.lines:
        problems.models(lambda: View(**view).validate_json(), "/view")
    if problems.lines or not isinstance(blocks, list):
        raise SlackRefusal("invalid_arguments", response_metadata={"messages": problems.lines})
    return view


def texts(value: Any) -> Iterator[str]:
    """Every text a person would see in ``value``."""
    if isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == "text" and isinstance(item, str):
                yield item
            else:
                yield from texts(item)


class Problems:
    """What is wrong so far, each line with a pointer to where. ``most`` is for what no model knows the limit of."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, what: str, path: str) -> None:
        self.lines.append(f"[ERROR] {what} [json-pointer:{path}]")

    def only(self, thing: JsonObject, keys: Set[str], path: str) -> None:
        for key in thing.keys() - keys:
            self.add(f"invalid additional property: {key}", path)
        for key in sorted(STRINGS & thing.keys()):
            if not isinstance(thing[key], str):
                self.add("must be a string", f"{path}/{key}")

    def once(self, thing: JsonObject, name: str, seen: set[str], path: str) -> None:
        """The id ``name`` of ``thing``, where it has one, is no other's."""
        given = thing.get(name)
        if isinstance(given, str):
            if given in seen:
                self.add(f"{name} already exists", f"{path}/{name}")
            seen.add(given)

    def models(self, check: Callable[[], object], path: str) -> None:
        """``check`` asks the official models, which know most of the limits."""
        try:
            check()
        except (SlackObjectFormationError, TypeError, AttributeError) as refusal:
            self.add(str(refusal), path)

    def length(self, text: Any, most: int, path: str) -> None:
        if not isinstance(text, str):
            self.add("must be a string", path)
        elif len(text) > most:
            self.add(f"must be less than {most + 1} characters", path)

    def items(self, items: Any, path: str, most: int | None = None) -> Iterator[tuple[JsonObject, str]]:
        """The items, each with its own path; none if they are not a list of objects."""
        if not isinstance(items, list) or not items or not all(isinstance(item, dict) for item in items):
            self.add("must be a list with at least one item", path)
            return
        if most is not None and len(items) > most:
            self.add(f"no more than {most} items allowed", path)
        for number, item in enumerate(items):
            yield item, f"{path}/{number}"

    def text(self, text: Any, path: str, most: int | None = None) -> None:
        """A text object (https://docs.slack.dev/reference/block-kit/composition-objects/text-object)."""
        if not isinstance(text, dict) or text.get("type") not in {"plain_text", "mrkdwn"}:
            self.add("must be a text object", path)
            return
        self.only(text, {"type", "text", "verbatim" if text["type"] == "mrkdwn" else "emoji"}, path)
        if not isinstance(text.get("text"), str) or not text["text"].strip():
            self.add("must be more than 0 characters", f"{path}/text")
        elif most is not None:
            self.length(text["text"], most, f"{path}/text")

    def plain_text(self, text: Any, path: str, most: int | None = None) -> None:
        if isinstance(text, dict) and text.get("type") == "mrkdwn":
            self.add("must be of type plain_text", path)
        else:
            self.text(text, path, most)


# --- Blocks -------------------------------------------------------------------------------------------------------


def _check_blocks(blocks: list[JsonObject], problems: Problems) -> None:
    seen: set[str] = set()
    for number, block in enumerate(blocks):
        path = f"/blocks/{number}"
        _check_block(block, problems, path)
        problems.once(block, "block_id", seen, path)


def _check_block(block: JsonObject, problems: Problems, path: str) -> None:
    keys, check = BLOCKS.get(str(block.get("type")), (frozenset(), None))
    if check is None:
        problems.add(f"unsupported type: {block.get('type')}", path)
        return
    before = len(problems.lines)
    problems.only(block, {"type", "block_id"} | keys, path)
    check(block, problems, path)
    if len(problems.lines) == before:
        problems.models(Block.parse_all([block])[0].validate_json, path)


def _section(block: JsonObject, problems: Problems, path: str) -> None:
    if "text" in block:
        problems.text(block["text"], f"{path}/text")
    if "fields" in block:
        for field, where in problems.items(block["fields"], f"{path}/fields"):
            problems.text(field, where, FIELD_TEXT)
    if "accessory" in block:
        _check_element(block["accessory"], problems, f"{path}/accessory")


def _actions(block: JsonObject, problems: Problems, path: str) -> None:
    seen: set[str] = set()
    for element, where in problems.items(block.get("elements"), f"{path}/elements"):
        _check_element(element, problems, where)
        problems.once(element, "action_id", seen, where)


def _context(block: JsonObject, problems: Problems, path: str) -> None:
    for element, where in problems.items(block.get("elements"), f"{path}/elements"):
        problems.text(element, where, CONTEXT_TEXT)


def _label(thing: JsonObject, problems: Problems, path: str) -> None:
    problems.plain_text(thing.get("text"), f"{path}/text")


def _markdown(block: JsonObject, problems: Problems, path: str) -> None:
    if not isinstance(block.get("text"), str):
        problems.add("must be a string", f"{path}/text")


def _table(block: JsonObject, problems: Problems, path: str) -> None:
    rows = block.get("rows")
    if not isinstance(rows, list) or not 1 <= len(rows) <= TABLE_ROWS:
        problems.add(f"no more than {TABLE_ROWS} items allowed", f"{path}/rows")
    elif any(not isinstance(row, list) or len(row) > TABLE_COLUMNS for row in rows):
        problems.add(f"no more than {TABLE_COLUMNS} items allowed", f"{path}/rows")


def _input(block: JsonObject, problems: Problems, path: str) -> None:
    problems.plain_text(block.get("label"), f"{path}/label")
    if "hint" in block:
        problems.plain_text(block["hint"], f"{path}/hint")
    _check_element(block.get("element"), problems, f"{path}/element")


def _nothing_more(_thing: JsonObject, _problems: Problems, _path: str) -> None:
    """The models know the rest."""


Known = Mapping[str, tuple[Set[str], Callable[[JsonObject, Problems, str], None]]]
"""By type, the keys that there may be and what the models do not check."""

BLOCKS: Known = {
    "section": ({"text", "fields", "accessory", "expand"}, _section),
    "actions": ({"elements"}, _actions),
    "context": ({"elements"}, _context),
    "header": ({"text"}, _label),
    "divider": (frozenset(), _nothing_more),
    "markdown": ({"text"}, _markdown),
    "table": ({"rows", "column_settings"}, _table),
    "input": ({"label", "element", "hint", "optional", "dispatch_action"}, _input),
}


# --- Elements -----------------------------------------------------------------------------------------------------


def _check_element(element: Any, problems: Problems, path: str) -> None:
    kind = str(element.get("type")) if isinstance(element, dict) else ""
    keys, check = ELEMENTS.get(kind, (frozenset(), None))
    if check is None:
        problems.add("unsupported element", path)
        return
    before = len(problems.lines)
    if "placeholder" in element:
        problems.plain_text(element["placeholder"], f"{path}/placeholder")
    if "confirm" in element:
        _confirm(element["confirm"], problems, f"{path}/confirm")
    problems.only(element, {"type", "action_id"} | keys, path)
    check(element, problems, path)
    if len(problems.lines) == before:
        problems.models(lambda: [one.to_dict() for one in BlockElement.parse_all([element])], path)


def _confirm(dialog: Any, problems: Problems, path: str) -> None:
    if not isinstance(dialog, dict):
        problems.add("must be an object", path)
        return
    problems.only(dialog, {*CONFIRM, "style"}, path)
    for name in CONFIRM:
        problems.plain_text(dialog.get(name), f"{path}/{name}")


def _choosing(element: JsonObject, problems: Problems, path: str) -> None:
    most = FEW_OPTIONS if element["type"] in {"radio_buttons", "checkboxes"} else None
    if "option_groups" in element:
        for group, where in problems.items(element["option_groups"], f"{path}/option_groups"):
            problems.plain_text(group.get("label"), f"{where}/label", OPTION_TEXT)
            _options(group.get("options"), most, problems, f"{where}/options")
    else:
        _options(element.get("options"), most, problems, f"{path}/options")


def _options(options: Any, most: int | None, problems: Problems, path: str) -> None:
    for option, where in problems.items(options, path, most):
        problems.only(option, {"text", "value", "description", "url"}, where)
        problems.text(option.get("text"), f"{where}/text", OPTION_TEXT)
        problems.length(option.get("value"), OPTION_VALUE, f"{where}/value")
        if "description" in option:
            problems.plain_text(option["description"], f"{where}/description", OPTION_DESCRIPTION)


def _text_input(element: JsonObject, problems: Problems, path: str) -> None:
    if element.get("min_length", 0) > element.get("max_length", TEXT_INPUT):
        problems.add("must not be greater than max_length", f"{path}/min_length")
    for name, least in (("min_length", 0), ("max_length", 1)):
        value = element.get(name, 1)
        if not isinstance(value, int) or not least <= value <= TEXT_INPUT:
            problems.add(f"must be between {least} and {TEXT_INPUT}", f"{path}/{name}")


def _number_input(element: JsonObject, problems: Problems, path: str) -> None:
    if not isinstance(element.get("is_decimal_allowed"), bool):
        problems.add("missing required field: is_decimal_allowed", path)
    for name in ("initial_value", "min_value", "max_value"):
        if not isinstance(element.get(name, ""), str):
            problems.add("must be a string", f"{path}/{name}")
        elif name in element and NUMBER.fullmatch(element[name]) is None:
            problems.add("must be a number", f"{path}/{name}")


_PICKED = {"confirm", "placeholder", "focus_on_load"}
_TYPED = {"initial_value", "placeholder", "focus_on_load"}
_CHOSEN = _PICKED | {"options", "option_groups", "initial_option", "initial_options", "max_selected_items"}

ELEMENTS: Known = {
    "button": ({"text", "url", "value", "style", "confirm", "accessibility_label"}, _label),
    "plain_text_input": (_TYPED | {"multiline", "min_length", "max_length", "dispatch_action_config"}, _text_input),
    "number_input": (_TYPED | {"is_decimal_allowed", "min_value", "max_value"}, _number_input),
    "datepicker": (_PICKED | {"initial_date"}, _nothing_more),
    "users_select": (_PICKED | {"initial_user"}, _nothing_more),
    **dict.fromkeys(
        ("static_select", "multi_static_select", "radio_buttons", "checkboxes", "overflow"), (_CHOSEN, _choosing)
    ),
}
