"""Forms in Slack: the inputs of a modal, and the submitted values. Pure.

The fields are those of ``core.domain.forms``. A form that a modal can't hold is answered on the page.

Source: https://docs.slack.dev/reference/block-kit/blocks/input-block, …/block-elements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from pydantic import JsonValue

from channels.slack import limits
from channels.slack.mrkdwn import Block, one_line, plain_text, shown
from channels.slack.payloads import option, read_option
from core.domain.forms import Field, FieldKind, NotThat, form_fields, misread, pick, read_one, refusal

Named = Callable[[str], str | None]
"""The identity of a Slack user, ``None`` if the directory knows none."""


def fields(schema: Mapping[str, JsonValue] | None, context: Mapping[str, JsonValue]) -> tuple[Field, ...] | None:
    """``None`` if the form is empty or does not fit a modal: a list of anything has no input in Slack."""
    found = form_fields(schema, context, shown)
    has_inputs = all(
        one.kind not in {FieldKind.LIST, FieldKind.OTHER} and len(one.options) <= limits.OPTIONS for one in found
    )
    return found if has_inputs and 0 < len(found) <= limits.FORM_FIELDS else None


def block_id(number: int) -> str:
    return f"f:{number}"


def read(
    form: tuple[Field, ...],
    entered: Mapping[str, str],
    named: Named = lambda _user_id: None,
    schema: Mapping[str, JsonValue] | None = None,
) -> tuple[dict[str, JsonValue], dict[str, str]]:
    """The form's values, and the errors by block id, ``schema``'s included. Empty inputs are left out.

    A person is their identity if ``named`` knows it, else ``slack:U…``.
    """
    values: dict[str, JsonValue] = {}
    problems: dict[str, str] = {}
    for number, field in enumerate(form):
        given = entered.get(block_id(number), "")
        if not given:
            continue
        try:
            values[field.name] = _value(field, given, named)
        except NotThat as wrong:
            problems[block_id(number)] = misread(schema, field, wrong)
            continue
        if said := refusal(schema, field, values[field.name]):
            problems[block_id(number)] = said
    return values, problems


def _value(field: Field, given: str, named: Named) -> JsonValue:
    match field.kind:
        case FieldKind.OPTION:
            return pick(field, read_option(given))
        case FieldKind.OPTIONS:
            return [pick(field, read_option(one)) for one in dict.fromkeys(given.split(","))]
        case FieldKind.PERSON:
            return named(given) or f"slack:{given}"
        case _:
            return read_one(field, given)


def input_block(number: int, field: Field) -> Block:
    block: Block = {
        "type": "input",
        "block_id": block_id(number),
        "label": plain_text(field.label, limits.LABEL, field.name),
        "optional": not field.is_required,
        "element": {"action_id": "v", **_element(field)},
    }
    if field.hint:
        block["hint"] = plain_text(field.hint, limits.HINT, "—")
    return block


def _element(field: Field) -> Block:
    low, high = field.bounds
    match field.kind:
        case FieldKind.OPTION:
            return select([(label, None) for label, _ in field.options])
        case FieldKind.OPTIONS:
            several = select([(label, None) for label, _ in field.options], "multi_static_select")
            return several if high is None else several | {"max_selected_items": _most(high, field)}
        case FieldKind.PERSON:
            return {"type": "users_select", "placeholder": plain_text("Pick a person", limits.PLACEHOLDER, "—")}
        case FieldKind.DATE:
            return {"type": "datepicker"}
        case FieldKind.NUMBER | FieldKind.INTEGER:
            return number_input(low, high, decimal=field.kind is FieldKind.NUMBER)
        case _:
            return text_input(multiline=field.kind is FieldKind.LINES, least=low, most=high)


def _most(high: float, field: Field) -> int:
    """How many options may be picked: at most the number of options, whatever the agent wrote."""
    return max(1, int(min(high, len(field.options))))


def select(options: Sequence[tuple[str, str | None]], kind: str = "static_select") -> Block:
    """A list of labels with what they mean; each option's value is its index."""
    return {
        "type": kind,
        "placeholder": plain_text("Pick one" if kind == "static_select" else "Pick any", limits.PLACEHOLDER, "—"),
        "options": [_option(index, label, meaning) for index, (label, meaning) in enumerate(options)],
    }


def _option(index: int, label: str, meaning: str | None) -> Block:
    written: Block = {"text": plain_text(label, limits.OPTION_TEXT, f"Option {index + 1}"), "value": option(index)}
    if meaning is not None and one_line(meaning):
        written["description"] = plain_text(meaning, limits.OPTION_DESCRIPTION, "—")
    return written


def number_input(low: float | None, high: float | None, *, decimal: bool) -> Block:
    """Bounds that Slack could not read, or that exclude every number, are left to the engine."""
    element: Block = {"type": "number_input", "is_decimal_allowed": decimal}
    bounds = {
        name: _bound(edge, rounding, decimal=decimal)
        for name, edge, rounding in (("min_value", low, ROUND_CEILING), ("max_value", high, ROUND_FLOOR))
        if edge is not None and abs(edge) <= limits.LARGEST_BOUND
    }
    if len(bounds) == 2 and bounds["min_value"] > bounds["max_value"]:
        return element
    return element | {name: f"{edge:f}" for name, edge in bounds.items()}


def _bound(edge: float, rounding: str, *, decimal: bool) -> Decimal:
    exact = Decimal(str(edge))
    return exact if decimal else exact.to_integral_value(rounding)


def text_input(*, multiline: bool, least: float | None = None, most: float | None = None) -> Block:
    longest = limits.INPUT_TEXT if most is None else max(1, min(int(most), limits.INPUT_TEXT))
    element: Block = {"type": "plain_text_input", "multiline": multiline, "max_length": longest}
    if least is not None and 0 < least <= longest:
        element["min_length"] = int(least)
    return element
