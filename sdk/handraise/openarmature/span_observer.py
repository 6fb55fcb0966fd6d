"""The engine's OpenTelemetry observer, with suspensions.

The engine knows none: by itself its observer leaves the spans of a suspended invocation open. Here they end as the
specification asks, with status OK and ``openarmature.outcome`` = ``suspended``.

Source: OpenArmature observability §4.2 and §5.8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openarmature.observability.otel import OTelObserver
from opentelemetry.trace import Span, StatusCode
from pydantic import JsonValue

from handraise.openarmature.node_events import SuspendedEvent

PREFIX = "openarmature.suspension."


class SpanObserver(OTelObserver):
    """Takes the arguments of the engine's observer. ``signal_metadata`` also puts a descriptor's metadata into
    spans: it is the application's own, and may be confidential."""

    def __init__(
        self,
        span_processor: Any,
        *,
        signal_metadata: bool = False,
        attribute_enrichers: Sequence[Any] = (),
        **more: Any,
    ) -> None:
        super().__init__(span_processor, attribute_enrichers=(*attribute_enrichers, self._describe), **more)
        self._signal_metadata = signal_metadata
        self._suspended: list[SuspendedEvent] = []

    async def __call__(self, event: Any) -> None:
        if not isinstance(event, SuspendedEvent):
            await super().__call__(event)
            return
        self._suspended.append(event)
        if event.is_last and event.invocation_id is not None:
            self.close_invocation(event.invocation_id)
            self._suspended.clear()

    def _describe(self, span: Span, event: object) -> None:
        """Called for each span before it ends; those that a suspension closes have no event of their own."""
        if event is not None or not self._suspended:
            return
        span.set_status(StatusCode.OK)
        span.set_attribute("openarmature.outcome", "suspended")
        name = getattr(span, "name", None)
        for told in self._suspended:
            if told.node_name == name:
                span.set_attribute(PREFIX + "signal_id", told.descriptor.signal_id)
                if self._signal_metadata:
                    for key, value in flattened(told.descriptor.metadata_json() or {}).items():
                        span.set_attribute(f"{PREFIX}metadata.{key}", value)


def flattened(metadata: Mapping[str, JsonValue], prefix: str = "") -> dict[str, Any]:
    """Scalars by dotted name; lists and ``null`` have no attribute."""
    found: dict[str, Any] = {}
    for key, value in metadata.items():
        if isinstance(value, Mapping):
            found |= flattened(value, f"{prefix}{key}.")
        elif isinstance(value, str | int | float):
            found[prefix + key] = value
    return found
