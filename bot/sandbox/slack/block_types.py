"""The shape of each block that the sandbox knows, and the limits that the official models leave out.

Another type is refused. Source: https://docs.slack.dev/reference/block-kit/blocks.
"""

from __future__ import annotations

from slack_sdk.models.blocks import Block

from bot.sandbox.slack.elements import check_element
from bot.sandbox.slack.problems import Check, Problems
from bot.sandbox.slack.records import JsonObject

CONTEXT_TEXT = 3000
FIELD_TEXT = 2000
TABLE_ROWS, TABLE_COLUMNS = 100, 20


def check_block(block: JsonObject, problems: Problems, path: str) -> None:
    check = BLOCKS.get(str(block.get("type")))
    if check is None:
        problems.add(f"unsupported type: {block.get('type')}", path)
        return
    before = len(problems.lines)
    check(block, problems, path)
    if len(problems.lines) == before:
        problems.models(Block.parse_all([block])[0].validate_json, path)


def _section(block: JsonObject, problems: Problems, path: str) -> None:
    problems.only(block, {"type", "block_id", "text", "fields", "accessory", "expand"}, path)
    if "text" in block:
        problems.text(block["text"], f"{path}/text")
    if "fields" in block:
        for number, field in enumerate(problems.items(block["fields"], f"{path}/fields")):
            problems.text(field, f"{path}/fields/{number}", FIELD_TEXT)
    if "accessory" in block:
        check_element(block["accessory"], problems, f"{path}/accessory")


def _actions(block: JsonObject, problems: Problems, path: str) -> None:
    problems.only(block, {"type", "block_id", "elements"}, path)
    seen: set[str] = set()
    for number, element in enumerate(problems.items(block.get("elements"), f"{path}/elements")):
        where = f"{path}/elements/{number}"
        check_element(element, problems, where)
        action_id = element.get("action_id")
        if isinstance(action_id, str):
            if action_id in seen:
                problems.add("action_id already exists", f"{where}/action_id")
            seen.add(action_id)


def _context(block: JsonObject, problems: Problems, path: str) -> None:
    problems.only(block, {"type", "block_id", "elements"}, path)
    for number, element in enumerate(problems.items(block.get("elements"), f"{path}/elements")):
        problems.text(element, f"{path}/elements/{number}", CONTEXT_TEXT)


def _header(block: JsonObject, problems: Problems, path: str) -> None:
    problems.only(block, {"type", "block_id", "text"}, path)
    problems.plain_text(block.get("text"), f"{path}/text")


def _divider(block: JsonObject, problems: Problems, path: str) -> None:
    problems.only(block, {"type", "block_id"}, path)


def _markdown(block: JsonObject, problems: Problems, path: str) -> None:
    problems.only(block, {"type", "block_id", "text"}, path)
    if not isinstance(block.get("text"), str):
        problems.add("must be a string", f"{path}/text")


def _table(block: JsonObject, problems: Problems, path: str) -> None:
    problems.only(block, {"type", "block_id", "rows", "column_settings"}, path)
    rows = block.get("rows")
    if not isinstance(rows, list) or not 1 <= len(rows) <= TABLE_ROWS:
        problems.add(f"no more than {TABLE_ROWS} items allowed", f"{path}/rows")
    elif any(not isinstance(row, list) or len(row) > TABLE_COLUMNS for row in rows):
        problems.add(f"no more than {TABLE_COLUMNS} items allowed", f"{path}/rows")


def _input(block: JsonObject, problems: Problems, path: str) -> None:
    problems.only(block, {"type", "block_id", "label", "element", "hint", "optional", "dispatch_action"}, path)
    problems.plain_text(block.get("label"), f"{path}/label")
    if "hint" in block:
        problems.plain_text(block["hint"], f"{path}/hint")
    check_element(block.get("element"), problems, f"{path}/element")


BLOCKS: dict[str, Check] = {
    "section": _section,
    "actions": _actions,
    "context": _context,
    "header": _header,
    "divider": _divider,
    "markdown": _markdown,
    "table": _table,
    "input": _input,
}
