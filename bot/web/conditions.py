"""What the fields of a body mean for each other, in JSON Schema's words, for the OpenAPI document.

The rules themselves are the domain's (``asking.py``, ``schemas.py`` and ``people.py`` there); here stands as much of
them as a schema can say. What it can't (values that must differ, a fallback that must be one of the choices, who is
reachable) is 422 all the same.
"""

from __future__ import annotations

from pydantic import JsonValue

JsonSchema = dict[str, JsonValue]

_WORD = r'[^\s@<>()\[\]\\;:,"\x00-\x20\x7f]+'
RECIPIENT: JsonSchema = {
    "pattern": rf"^\s*((email:)?{_WORD}@{_WORD}|(group|pagerduty):[^\x00]+|slack:[CDGUW][0-9A-Za-z]+)\s*$",
    "examples": ["alice@example.com", "group:finance", "slack:C0123456789", "email:ops@example.com"],
}
PERSON: JsonSchema = {"pattern": rf"^\s*{_WORD}@{_WORD}\s*$", "examples": ["alice@example.com"]}
URL: JsonSchema = {"pattern": r"^[Hh][Tt][Tt][Pp][Ss]?://[^\x00]+$", "examples": ["https://agent.example/resume"]}
PATH: JsonSchema = {"pattern": r"^/?[^/\x00]+(/[^/\x00]+)*$", "examples": ["/cart/0"]}
"""Keys, none of them empty."""

_NOTHING: JsonSchema = {"type": "null"}
_NO_CHOICES: JsonSchema = {"anyOf": [{"type": "null"}, {"type": "array", "maxItems": 0}]}


def _where(**fields: JsonValue) -> JsonSchema:
    """Each of ``fields`` is absent or fits."""
    return {"properties": dict(fields)}


def _given(**fields: JsonValue) -> JsonSchema:
    """Each of ``fields`` is there and fits."""
    return {"required": list(fields), "properties": dict(fields)}


def _value(value: str) -> JsonSchema:
    return _given(value={"const": value})


def _both(first: JsonSchema, second: JsonSchema) -> JsonSchema:
    return {"type": "array", "prefixItems": [first, second], "minItems": 2, "maxItems": 2}


_CONTINUES: JsonSchema = {"enum": ["complete_with_fallback", "use_default_and_continue"]}
_FOR_INPUT: JsonSchema = {"enum": ["input", None]}
_SOMETHING: JsonSchema = {"not": {"type": "null"}}

_SIMPLE: list[JsonValue] = ["string", "number", "integer", "boolean", "null", "array"]
_FORM_FIELD: JsonSchema = {
    "type": "object",
    "properties": {
        "type": {"anyOf": [{"enum": _SIMPLE}, {"type": "array", "items": {"enum": _SIMPLE}, "minItems": 1}]},
        "title": {"type": "string"},
        "description": {"type": "string"},
        "$ref": False,
        "properties": False,
        "additionalProperties": False,
    },
}
_FORM: JsonSchema = _given(
    type={"const": "object"},
    properties={"type": "object", "minProperties": 1, "additionalProperties": _FORM_FIELD},
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
        "description": "A veto window is a choice with exactly one veto, by anybody; silence goes ahead: no fallback.",
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
        ),
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
