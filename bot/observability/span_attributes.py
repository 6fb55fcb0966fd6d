"""OpenArmature's attributes for the spans of a suspension, and of its resume.

``openarmature.suspension.signal_id``, ``openarmature.invocation_id``, ``openarmature.correlation_id`` and
``openarmature.outcome``; a question that was asked with none of the three ids has none of them. The signal's metadata
is the agent's own, and may hold anything: it becomes attributes only if the configuration says so.

Source: OpenArmature suspension §11, observability §5.8 (flattened ``openarmature.suspension.metadata.*``). The spec
does not say how deep, how long or how many; the limits here are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from pydantic import JsonValue

from core.domain.suspension import Resume

Attribute = str | bool | int | float

MOST_METADATA = 64
"""OpenTelemetry keeps 128 attributes of a span, and forgets the oldest for each further one."""
LONGEST_METADATA = 256
"""Characters of one text; the rest is cut. A path that is longer is left out."""

_METADATA = "openarmature.suspension.metadata"
_INT64 = range(-(2**63), 2**63)
"""What OTLP can carry as a number. A larger one becomes a text."""


def of_suspension(resume: Resume, *, with_metadata: bool) -> dict[str, Attribute]:
    """The attributes of the span that stored the suspension; empty if it is not OpenArmature's."""
    found = _ids(resume.signal_id, resume.invocation_id, resume.correlation_id)
    if not found:
        return {}
    metadata = dict(islice(_flattened(_METADATA, resume.signal_metadata), MOST_METADATA)) if with_metadata else {}
    return {**metadata, **found, "openarmature.outcome": "suspended"}


def of_resume(data: Mapping[str, JsonValue]) -> dict[str, Attribute]:
    """The attributes of the span that calls the agent back with ``data`` (API.md §5).

    The end of the resumed invocation is not known here, so there is no ``openarmature.outcome``.
    """
    return _ids(*(data.get(name) for name in ("signal_id", "invocation_id", "correlation_id")))


def _ids(signal_id: JsonValue, invocation_id: JsonValue, correlation_id: JsonValue) -> dict[str, Attribute]:
    named = {
        "openarmature.suspension.signal_id": signal_id,
        "openarmature.invocation_id": invocation_id,
        "openarmature.correlation_id": correlation_id,
    }
    return {name: value for name, value in named.items() if isinstance(value, str)}


def _flattened(prefix: str, given: JsonValue | Mapping[str, JsonValue]) -> Iterator[tuple[str, Attribute]]:
    """Each scalar under its path. Lists and nulls are left out."""
    match given:
        case Mapping():
            for name, value in given.items():
                if len(path := f"{prefix}.{name}") <= LONGEST_METADATA:
                    yield from _flattened(path, value)
        case str():
            yield prefix, given[:LONGEST_METADATA]
        case bool() | float():
            yield prefix, given
        case int():
            yield prefix, given if given in _INT64 else str(given)[:LONGEST_METADATA]
