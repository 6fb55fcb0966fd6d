"""The signal descriptor: the signal that an invocation waits for.

Source: OpenArmature suspension §4.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel, JsonValue

LONGEST_ID = 255
"""Of a signal, an invocation or a correlation (the server's limit)."""


@dataclass(frozen=True, slots=True)
class SignalDescriptor:
    """``signal_id`` says which signal ends the wait: ``POST /signals/{signal_id}`` answers the question. Among the open
    suspensions of one key it is unique.

    ``metadata`` is yours, a mapping or a pydantic model. It comes back as it was given; nobody looks into it, but for
    its ``description``, which is the question if ``suspend()`` is given none.

    Raises ``TypeError`` for values of another type, ``ValueError`` for an id that is empty or too long.
    """

    signal_id: str
    metadata: Mapping[str, JsonValue] | BaseModel | None = None

    def __post_init__(self) -> None:
        check_id(self.signal_id, "signal_id")
        if not isinstance(self.metadata, Mapping | BaseModel | None):
            raise TypeError("metadata is a mapping, a pydantic model or None")

    def metadata_json(self) -> dict[str, JsonValue] | None:
        """The metadata as it is stored, a copy of its own.

        Raises ``TypeError`` or ``ValueError`` for what JSON has no form for.
        """
        if self.metadata is None:
            return None
        plain = self.metadata.model_dump(mode="json") if isinstance(self.metadata, BaseModel) else dict(self.metadata)
        copied: dict[str, JsonValue] = json.loads(json.dumps(plain, allow_nan=False))
        return copied

    def description(self) -> str | None:
        """The metadata's ``description`` (a convention of §4), if it has a text there."""
        told = (self.metadata_json() or {}).get("description")
        return told if isinstance(told, str) and told.strip() else None


def check_ids(**given: object) -> None:
    """:func:`check_id` for each that is not ``None``."""
    for name, value in given.items():
        if value is not None:
            check_id(value, name)


def check_id(value: object, name: str) -> None:
    """Raises ``TypeError`` or ``ValueError``, naming the argument, unless ``value`` is a valid id."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string")
    if not 1 <= len(value) <= LONGEST_ID:
        raise ValueError(f"{name} must have 1 to {LONGEST_ID} characters")
