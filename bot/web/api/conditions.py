"""Conditions between a body's fields in JSON Schema's words, and bodies that work: for the OpenAPI document."""

from __future__ import annotations

from pydantic import JsonValue

from core.domain import error_messages
from core.domain.channels import ANYTHING, RecipientForm, RecipientKind, forms

JsonSchema = dict[str, JsonValue]

_ANYTHING = r"[^\x00]+"
_WORD = r'[^\s@<>()\[\]\\;:,"\x00-\x20\x7f]+'
PERSON: JsonSchema = {"pattern": rf"^\s*{_WORD}@{_WORD}\s*$", "examples": ["alice@example.com"]}
URL: JsonSchema = {"pattern": r"^[Hh][Tt][Tt][Pp][Ss]?://[^\x00]+$", "examples": ["https://agent.example/resume"]}
PATH: JsonSchema = {"pattern": r"^/?[^/\x00]+(/[^/\x00]+)*$", "examples": ["/cart/0"]}
"""Keys, none of them empty."""


def recipient(schema: JsonSchema) -> None:
    """Let ``schema``, a string, be what the channels understand: those of the vendors that are installed."""
    mailboxes = "|".join(form.prefix for form in forms() if form.kind is RecipientKind.MAILBOX)
    mailbox = f"(({mailboxes}):)?{_WORD}@{_WORD}" if mailboxes else f"{_WORD}@{_WORD}"
    others = [f"{form.prefix}:{_value_of(form)}" for form in forms() if form.kind is not RecipientKind.MAILBOX]
    schema["pattern"] = rf"^\s*({'|'.join([mailbox, f'group:{_ANYTHING}', *others])})\s*$"
    schema["examples"] = ["alice@example.com", "group:finance"]


def _value_of(form: RecipientForm) -> str:
    """Its regular expression in ECMAScript's words, which the vendors' own are in already."""
    return _ANYTHING if form.value == ANYTHING else f"({form.value})"


_NOTHING: JsonSchema = {"type": "null"}
_NO_CHOICES: JsonSchema = {"anyOf": [{"type": "null"}, {"type": "array", "maxItems": 0}]}


def _where(**fields: JsonValue) -> JsonSchema:
    """Each of ``fields`` is absent or fits."""
    return {"properties": dict(fields)}


def _given(**fields: JsonValue) -> JsonSchema:
    """An object in which each of ``fields`` is there and fits."""
    return {"type": "object", "required": list(fields), "properties": dict(fields)}


def or_plain_choice(schema: JsonSchema) -> None:
    """Let ``schema``, a choice as an object, be a plain string as well: its value and label at once."""
    whole = dict(schema)
    schema.clear()
    plain = {**_property(whole, "label"), "title": "A value that is its own label"}
    schema |= {"title": whole["title"], "description": whole["description"], "anyOf": [whole, plain]}


def _property(schema: JsonSchema, name: str) -> JsonSchema:
    properties = schema["properties"]
    assert isinstance(properties, dict)  # noqa: S101 (a model's schema has them)
    found = properties[name]
    assert isinstance(found, dict)  # noqa: S101 (and each is a schema)
    return found


def _value(value: str) -> JsonSchema:
    return {"anyOf": [{"const": value}, _given(value={"const": value})]}


def _both(first: JsonSchema, second: JsonSchema) -> JsonSchema:
    return {"type": "array", "prefixItems": [first, second], "minItems": 2, "maxItems": 2}


_CONTINUES: JsonSchema = {"enum": ["complete_with_fallback", "use_default_and_continue"]}
_FOR_INPUT: JsonSchema = {"enum": ["input", None]}
_SOMETHING: JsonSchema = {"not": {"type": "null"}}

_SIMPLE: list[JsonValue] = ["string", "number", "integer", "boolean", "null", "array"]
_SAID: JsonSchema = {
    "type": "string",
    "maxLength": 300,
    "pattern": r"[^\s\x00-\x1f\x7f\x85\ufeff]",
    "not": {"pattern": r"\$\{"},
}
_SPOKEN_OF: list[JsonValue] = [*sorted(error_messages.OF_A_FIELD)]
_MESSAGES: JsonSchema = {
    "anyOf": [
        _SAID,
        {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"enum": _SPOKEN_OF},
            "additionalProperties": _SAID,
        },
    ],
    "description": "Your own words for a value that does not fit: a text, or texts by keyword; `_` is all the rest.",
}
_FORM_FIELD: JsonSchema = {
    "type": "object",
    "properties": {
        "type": {"anyOf": [{"enum": _SIMPLE}, {"type": "array", "items": {"enum": _SIMPLE}, "minItems": 1}]},
        "title": {"type": "string"},
        "description": {"type": "string"},
        "errorMessage": _MESSAGES,
        "$ref": False,
        "properties": False,
        "additionalProperties": False,
    },
}
_FORM: JsonSchema = _given(
    type={"const": "object"}, properties={"type": "object", "minProperties": 1, "additionalProperties": _FORM_FIELD}
)

SUSPEND: list[JsonValue] = [
    {"description": "No two choices have the same value.", **_where(choices={"uniqueItems": True})},
    {
        "description": "A choice needs choices.",
        "if": _where(kind=_FOR_INPUT, response_type={"enum": ["choice", None]}),
        "then": {
            **_given(choices={"type": "array", "minItems": 1}),
            "allOf": [_where(fallback_value={"type": ["string", "null"], "minLength": 1, "maxLength": 1000})],
        },
    },
    {
        "description": "The choices of a confirm are yes and no, with labels of your own if you like.",
        "if": _given(response_type={"const": "confirm"}),
        "then": _where(
            choices={"anyOf": [_NO_CHOICES, _both(_value("yes"), _value("no")), _both(_value("no"), _value("yes"))]},
            fallback_value={"enum": ["yes", "no", None]},
        ),
    },
    {
        "description": "A text or a form has no choices.",
        "if": _given(response_type={"enum": ["text", "form"]}),
        "then": _where(choices=_NO_CHOICES),
    },
    {
        "description": "form_schema belongs to a form, and describes a flat object.",
        "if": _given(response_type={"const": "form"}),
        "then": _where(form_schema={"anyOf": [_NOTHING, _FORM]}),
        "else": _where(form_schema=_NOTHING),
    },
    {
        "description": "A veto window is a choice with exactly one veto, by anybody; silence goes ahead in the end.",
        "if": _given(kind={"const": "veto"}),
        "then": _where(
            response_type={"enum": ["choice", None]},
            choices={
                "anyOf": [
                    _NO_CHOICES,
                    {
                        "type": "array",
                        "minItems": 2,
                        "contains": _given(metadata=_given(veto={"const": True})),
                        "maxContains": 1,
                    },
                ]
            },
            answers_required={"enum": [1, None]},
            fallback_policy=_NOTHING,
            fallback_value=_NOTHING,
            retry_policy=_where(final_fallback_policy=_NOTHING),
        )
        | {"anyOf": [_given(timeout_seconds={"type": "integer"}), _given(deadline_seconds={"type": "integer"})]},
    },
    {
        "description": "Going on after silence needs a value to go on with.",
        "if": {
            **_where(kind=_FOR_INPUT),
            "anyOf": [
                _given(retry_policy={"type": "object", **_given(final_fallback_policy=_CONTINUES)}),
                {
                    **_given(fallback_policy=_CONTINUES),
                    "allOf": [_where(retry_policy=_where(final_fallback_policy=_NOTHING))],
                },
            ],
        },
        "then": _given(fallback_value=_SOMETHING),
    },
]

STATE: list[JsonValue] = [
    _given(patches={"type": "array"}) | {"allOf": [_where(state=_NOTHING)]},
    _given(state={"type": "object"}) | {"allOf": [_where(patches=_NOTHING)]},
]

RESPOND: list[JsonValue] = [_given(suspension_id={"type": "string", "minLength": 1})]


Examples = list[JsonValue]

SUSPEND_EXAMPLES: Examples = [
    {
        "question": "Refund order 12345?",
        "choices": [
            {"value": "approve", "label": "Approve refund", "style": "primary"},
            {"value": "deny", "label": "Deny refund", "style": "danger"},
        ],
        "context": {"order_id": "12345", "amount": 499.99},
        "timeout_seconds": 3600,
        "fallback_policy": "complete_with_fallback",
        "fallback_value": "deny",
        "retry_policy": {"max_attempts": 3, "interval_seconds": 3600},
    },
    {"question": "What should the release notes say?", "response_type": "text", "timeout_seconds": 86400},
    {
        "question": "Ship to this address?",
        "response_type": "form",
        "form_schema": {
            "type": "object",
            "properties": {"city": {"type": "string", "title": "City"}, "express": {"type": "boolean"}},
            "required": ["city"],
        },
    },
    {"question": "Deploy at noon unless somebody objects.", "kind": "veto", "timeout_seconds": 7200},
    {"question": "Roll back now?", "response_type": "confirm", "deadline_seconds": 600},
]
RESPOND_EXAMPLES: Examples = [
    {
        "suspension_id": "565fb386-c48e-4b75-ac3f-54fa515fa9b0",
        "value": "approve",
        "metadata": {"reason": "The parcel was lost."},
    }
]
INTENT_EXAMPLES: Examples = [{"title": "Refund order 12345", "status": "active", "state": {"cart": {"items": 7}}}]
STATE_EXAMPLES: Examples = [
    {"patches": [{"op": "set", "path": "/cart/items", "value": 7}]},
    {"state": {"cart": {"items": 7}}},
]
