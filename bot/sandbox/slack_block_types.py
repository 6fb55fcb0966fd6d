"""The shape and the limits of each block that the sandbox knows; another type is refused.

Source: https://docs.slack.dev/reference/block-kit/blocks.
"""

from __future__ import annotations

from bot.sandbox.slack_elements import check_element
from bot.sandbox.slack_problems import Check, Problems
from bot.sandbox.slack_records import JsonObject

BLOCK_ID = 255
SECTION_TEXT = 3000
SECTION_FIELDS = 10
FIELD_TEXT = 2000
HEADER_TEXT = 150
CONTEXT_ELEMENTS = 10
ACTIONS_ELEMENTS = 25
MARKDOWN_TEXT = 12_000
TABLE_ROWS, TABLE_COLUMNS = 100, 20
INPUT_LABEL = INPUT_HINT = 2000


def check_block(block: JsonObject, problems: Problems, path: str) -> None:
    check = BLOCKS.get(str(block.get("type")))
    if check is None:
        problems.add(f"unsupported type: {block.get('type')}", path)
        return
    if "block_id" in block:
        problems.length(block["block_id"], BLOCK_ID, f"{path}/block_id")
    check(block, problems, path)


def _section(block: JsonObject, problems: Problems, path: str) -> None:
    problems.only(block, {"type", "block_id", "text", "fields", "accessory", "expand"}, path)
    if "text" not in block and "fields" not in block:
        problems.add("must have a text or fields", path)
    if "text" in block:
        problems.text(block["text"], SECTION_TEXT, f"{path}/text")
    if "fields" in block:
        for number, field in enumerate(problems.count(block["fields"], SECTION_FIELDS, f"{path}/fields")):
            problems.text(field, FIELD_TEXT, f"{path}/fields/{number}")
    if "accessory" in block:
        check_element(block["accessory"], problems, f"{path}/accessory")


def _actions(block: JsonObject, problems: Problems, path: str) -> None:
    problems.only(block, {"type", "block_id", "elements"}, path)
    seen: set[str] = set()
    for number, element in enumerate(problems.count(block.get("elements"), ACTIONS_ELEMENTS, f"{path}/elements")):
        where = f"{path}/elements/{number}"
        check_element(element, problems, where)
        action_id = element.get("action_id")
        if action_id in seen:
            problems.add("action_id already exists", f"{where}/action_id")
        if isinstance(action_id, str):
            seen.add(action_id)


def _context(block: JsonObject, problems: Problems, path: str) -> None:
    problems.only(block, {"type", "block_id", "elements"}, path)
    for number, element in enumerate(problems.count(block.get("elements"), CONTEXT_ELEMENTS, f"{path}/elements")):
        problems.text(element, SECTION_TEXT, f"{path}/elements/{number}")


def _header(block: JsonObject, problems: Problems, path: str) -> None:
    problems.only(block, {"type", "block_id", "text"}, path)
    problems.plain_text(block.get("text"), HEADER_TEXT, f"{path}/text")


def _divider(block: JsonObject, problems: Problems, path: str) -> None:
    problems.only(block, {"type", "block_id"}, path)


def _markdown(block: JsonObject, problems: Problems, path: str) -> None:
    problems.only(block, {"type", "block_id", "text"}, path)
    problems.length(block.get("text"), MARKDOWN_TEXT, f"{path}/text")


def _table(block: JsonObject, problems: Problems, path: str) -> None:
    problems.only(block, {"type", "block_id", "rows", "column_settings"}, path)
    rows = block.get("rows")
    if not isinstance(rows, list) or not 1 <= len(rows) <= TABLE_ROWS:
        problems.add(f"no more than {TABLE_ROWS} items allowed", f"{path}/rows")
    elif any(not isinstance(row, list) or len(row) > TABLE_COLUMNS for row in rows):
        problems.add(f"no more than {TABLE_COLUMNS} items allowed", f"{path}/rows")


def _input(block: JsonObject, problems: Problems, path: str) -> None:
    problems.only(block, {"type", "block_id", "label", "element", "hint", "optional", "dispatch_action"}, path)
    problems.plain_text(block.get("label"), INPUT_LABEL, f"{path}/label")
    if "hint" in block:
        problems.plain_text(block["hint"], INPUT_HINT, f"{path}/hint")
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
