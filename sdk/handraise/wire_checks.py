"""Checks of outgoing questions as they are written: types, ranges and closed sets, before anything is sent.

Imported with the first question: the models take longer to make than all the rest. A field that is neither an object
nor a list has its type and limits only in :class:`handraise.Options`. The limits are those of API.md §1 and §2.
"""

from __future__ import annotations

from typing import Annotated, Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, create_model

from handraise.closed_sets import ChoiceStyle, FallbackPolicy, PagerSeverity, Strategy
from handraise.questions import NOT_ASKED, Count, Options, Seconds

_Object = dict[str, JsonValue]


class _Strict(BaseModel):
    """An unknown field is left to the server, which may be newer."""

    model_config = ConfigDict(strict=True, extra="allow")


class _Choice(_Strict):
    value: Annotated[str, Field(min_length=1, max_length=1000)]
    label: Annotated[str, Field(min_length=1, max_length=1000)]
    description: Annotated[str, Field(max_length=3000)] | None = None
    style: ChoiceStyle | None = None
    metadata: _Object | None = None
    answers_required: Count | None = None


class _Rung(_Strict):
    attempt: Annotated[int, Field(ge=1, le=50)]
    channel_hint: str | None = None
    notify_to: str | None = None
    quiet: bool | None = None
    severity: PagerSeverity | None = None


class _Policy(_Strict):
    max_attempts: Annotated[int, Field(ge=1, le=50)] | None = None
    interval_seconds: Seconds | None = None
    strategy: Strategy | None = None
    escalation_ladder: list[_Rung] | None = None
    final_fallback_policy: FallbackPolicy | None = None


class _Resume(_Strict):
    session_id: str | None = None
    callback_url: str | None = None
    invocation_id: str | None = None
    correlation_id: str | None = None
    signal_id: str | None = None
    signal_metadata: _Object | None = None
    payload_schema: _Object | None = None


class _Nested(_Strict):
    """What is an object or a list of them: a caller may give models of their own for it, the wire has JSON alone."""

    question: Annotated[str, Field(min_length=1, max_length=10_000)]
    choices: Annotated[list[_Choice], Field(max_length=500)] | None = None
    context: _Object | None = None
    retry_policy: _Policy | None = None
    decision_record: _Object | None = None
    action: _Object | None = None
    form_schema: _Object | None = None
    fallback_value: JsonValue = None
    resume: _Resume | None = None


_FLAT: dict[str, Any] = {
    name: (hint, None)
    for name, hint in get_type_hints(Options, include_extras=True).items()
    if name not in NOT_ASKED and name not in _Nested.model_fields
}
_Question = create_model("_Question", __base__=_Nested, **_FLAT)


def check_question(content: bytes) -> bytes:
    """``content`` again, if it is a valid question. Raises ``TypeError`` for a value of another type, ``ValueError``
    for one that is out of range; the message names the argument and holds no value."""
    return _checked(_Question, content)


def check_policy(content: bytes) -> bytes:
    """``content`` again, if it is a valid default policy. Raises as :func:`check_question` does."""
    return _checked(_Policy, content)


def _checked(model: type[_Strict], content: bytes) -> bytes:
    try:
        model.model_validate_json(content)
    except ValidationError as problem:
        wrong = [(_argument(error["loc"]), error["type"], error["msg"]) for error in problem.errors()]
    else:
        return content
    # Outside the handler, so that no traceback carries the question along.
    message = "; ".join(f"{argument}: {told[:1].lower()}{told[1:]}" for argument, _, told in wrong)
    raise TypeError(message) if all(kind.endswith("_type") for _, kind, _ in wrong) else ValueError(message)


def _argument(where: tuple[int | str, ...]) -> str:
    """``choices[0].style``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where).removeprefix(".")
