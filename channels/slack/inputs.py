"""The inputs of a modal.

Source: https://docs.slack.dev/reference/block-kit/blocks/input-block, …/block-elements.
"""

from __future__ import annotations

from channels.slack import limits
from channels.slack.forms import Field, Kind, block_id
from channels.slack.mrkdwn import Block, plain_text
from channels.slack.values import option


def input_block(number: int, field: Field) -> Block:
    block: Block = {
        "type": "input",
        "block_id": block_id(number),
        "label": plain_text(field.label, limits.LABEL, field.name),
        "optional": not field.required,
        "element": {"action_id": "v", **_element(field)},
    }
    if field.hint:
        block["hint"] = plain_text(field.hint, limits.HINT, "—")
    return block


def _element(field: Field) -> Block:
    low, high = field.bounds
    match field.kind:
        case Kind.OPTION:
            return select([label for label, _ in field.options])
        case Kind.DATE:
            return {"type": "datepicker"}
        case Kind.NUMBER | Kind.INTEGER:
            element: Block = {"type": "number_input", "is_decimal_allowed": field.kind is Kind.NUMBER}
            edges = {"min_value": low, "max_value": high}
            return element | {name: f"{edge}" for name, edge in edges.items() if edge is not None}
        case Kind.TEXT | Kind.LINES:
            return text_input(multiline=field.kind is Kind.LINES, least=low, most=high)


def select(labels: list[str]) -> Block:
    """A list to pick from; each option's value is its index."""
    return {
        "type": "static_select",
        "placeholder": plain_text("Pick one", limits.PLACEHOLDER, "—"),
        "options": [
            {"text": plain_text(label, limits.OPTION_TEXT, f"Option {index + 1}"), "value": option(index)}
            for index, label in enumerate(labels)
        ],
    }


def text_input(*, multiline: bool, least: float | None = None, most: float | None = None) -> Block:
    longest = limits.INPUT_TEXT if most is None else max(1, min(int(most), limits.INPUT_TEXT))
    element: Block = {"type": "plain_text_input", "multiline": multiline, "max_length": longest}
    if least is not None and 0 < least <= longest:
        element["min_length"] = int(least)
    return element
