"""An answer on its way in, before anything is known of whether it counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from core.domain.people import Actor


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """Somebody's answer to one suspension.

    ``choice`` is an index into the stored choices and stands instead of ``value``: a button or a number, so that
    what was shown need not be what is stored. ``intent_id``, where given, must be the suspension's own. ``named`` is
    the responder as the request calls them: somebody else than ``by`` only where ``by`` is a trusted gateway.
    """

    suspension_id: str
    by: Actor
    channel: str
    value: JsonValue = None
    choice: int | None = None
    reason: str | None = None
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    intent_id: str | None = None
    named: str | None = None
