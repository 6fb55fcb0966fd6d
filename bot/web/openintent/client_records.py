"""The record that the published client writes into ``state._suspension``: read as the body of ``POST …/suspend`` is.

Its fields are RFC-0025 §5's. Whatever it holds beside them is left out: its times and an outcome, which are the
server's, and keys that nobody knows here. The client writes an empty text, and an interval of 0, for what is not given.

Its retry policy is what the client has merged from the call's, the agent's and the platform's, so that nobody can tell
what the call itself gave. It is taken as inherited: what does not fit into ``timeout_seconds`` is bent, as the client
does it, and not refused.

Source: RFC-0025 §5; RFC-0026 §4.1; API.md §7; facts on OpenIntent §3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from bot.web.api.requests import ChoiceBody, SuspendBody
from core.domain.intent import RESERVED, Patch
from core.domain.policy import PolicyFields, RetryPolicyFields, RungFields
from core.errors import InvalidRequest
from core.openintent.intents.client_steps import ClientRecord

_AS_THEY_ARE = (
    "question",
    "response_type",
    "context",
    "timeout_seconds",
    "fallback_policy",
    "fallback_value",
    "decision_record",
)


class _Record(SuspendBody):
    """The body, and the id that the client has made."""

    id: Annotated[str, Field(max_length=255, pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]*$")]


def take_record(patches: Sequence[Patch]) -> tuple[JsonValue, list[Patch], str] | None:
    """The value that the first patch sets ``_suspension`` to, the other patches, and the field it stands in; ``None``
    if none does."""
    for number, patch in enumerate(patches):
        if patch.op == "set" and patch.path.removeprefix("/") == RESERVED:
            return patch.value, [*patches[:number], *patches[number + 1 :]], f"patches.{number}.value"
    return None


def parse_record(value: JsonValue, path: str) -> ClientRecord:
    """Raises :class:`RequestValidationError` or :class:`InvalidRequest`, which name the record's fields."""
    if not isinstance(value, dict):
        raise InvalidRequest("The record must be an object.", path=path)
    try:
        record = _Record.model_validate(_known(value))
    except ValidationError as problem:
        raise RequestValidationError([_in_its_words(one) for one in problem.errors()]) from problem
    request, given = record.request(), record.retry_policy
    if given is None:
        return ClientRecord(record.id, request, PolicyFields())
    final = given.final_fallback_policy or request.fallback_policy
    request = replace(request, policy=PolicyFields(), fallback_policy=final)
    return ClientRecord(record.id, request, given.fields())


def _in_its_words(problem: ErrorDetails) -> dict[str, Any]:
    first, *inner = problem["loc"]
    return {**problem, "loc": ("body", "confidence_at_suspension" if first == "confidence" else first, *inner)}


def _known(record: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The record in the words of the body."""
    said = {name: record[name] for name in ("id", *_AS_THEY_ARE) if name in record}
    return said | {
        "channel_hint": record.get("channel_hint") or None,
        "confidence": record.get("confidence_at_suspension"),
        "choices": _each(ChoiceBody, record.get("choices")),
        "retry_policy": _policy(record.get("retry_policy")),
    }


def _policy(given: JsonValue) -> JsonValue:
    policy = _fields_of(RetryPolicyFields, given)
    if not isinstance(policy, dict):
        return policy
    ladder = _each(RungFields, policy.get("escalation_ladder"))
    return policy | {"interval_seconds": policy.get("interval_seconds") or None, "escalation_ladder": ladder}


def _each(model: type[BaseModel], given: JsonValue) -> JsonValue:
    return [_fields_of(model, one) for one in given] if isinstance(given, list) else given


def _fields_of(model: type[BaseModel], given: JsonValue) -> JsonValue:
    """An object without the keys that ``model`` does not have; anything else as it is."""
    if not isinstance(given, dict):
        return given
    return {name: value for name, value in given.items() if name in model.model_fields}
