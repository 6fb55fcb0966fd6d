"""Spans for OpenTelemetry: one when a question is asked, one for each try to call back.

Between the two lie hours, days and restarts, so they are two traces, and the second has a link to the first. The
suspend span's context is stored with the question as a ``traceparent`` (W3C Trace Context). No span has a question or
an answer. OpenArmature's attributes are in ``span_attributes``.

This file does not import OpenTelemetry, whose SDK is an extra: ``tracing_otel`` is imported if it is configured.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

import structlog

from core.domain.suspension import Suspension
from core.errors import ConfigError
from core.ports import Callback, Delivery

log = structlog.get_logger(__name__)

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""If one of these is set, spans are exported."""


class AskSpan(Protocol):
    """The span of a request to suspend."""

    @property
    def traceparent(self) -> str | None:
        """The span's own context, to store with the question."""
        ...

    def asked(self, suspension: Suspension) -> None:
        """The question is stored."""
        ...


class ResumeSpan(Protocol):
    """One try to call the agent back."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers for the request to the agent, so that its spans join this one."""
        ...

    def ended(self, outcome: Delivery) -> None: ...


class Tracing(Protocol):
    def asking(self, headers: Mapping[str, str]) -> AbstractContextManager[AskSpan]:
        """A span under the caller's, if its ``headers`` name one."""
        ...

    def resuming(self, callback: Callback) -> AbstractContextManager[ResumeSpan]:
        """A span of its own trace, with a link to the one that asked."""
        ...

    def close(self) -> None:
        """Export the remaining spans, within a few seconds. Blocks."""
        ...


class _Nothing:
    traceparent = None
    headers: Mapping[str, str] = {}

    def asked(self, suspension: Suspension) -> None:
        pass

    def ended(self, outcome: Delivery) -> None:
        pass


class _NoTracing:
    """Costs nothing."""

    _nothing = nullcontext(_Nothing())

    def asking(self, headers: Mapping[str, str]) -> AbstractContextManager[AskSpan]:
        return self._nothing

    def resuming(self, callback: Callback) -> AbstractContextManager[ResumeSpan]:
        return self._nothing

    def close(self) -> None:
        pass


NO_TRACING: Tracing = _NoTracing()


def tracing_of(endpoint: str | None, environ: Mapping[str, str], *, signal_metadata: bool = False) -> Tracing:
    """Spans to ``telemetry.otlp_endpoint``, or to the endpoint in OpenTelemetry's own variables. ``signal_metadata`` is
    ``telemetry.signal_metadata``.

    Raises :class:`ConfigError` if our own setting asks for spans and the extra is not installed. The variables are
    often set for a whole machine: then a line in the log has to do.
    """
    if _is_off(environ) or (endpoint is None and not any(environ.get(name) for name in ENDPOINTS)):
        return NO_TRACING
    try:
        from bot.observability.tracing_otel import exporting
    except ImportError:
        if endpoint is not None:
            needed = "telemetry.otlp_endpoint needs the extra otel: pip install 'handraise-server[otel]'."
            raise ConfigError(needed) from None
        log.warning("tracing.not_installed", needed="handraise-server[otel]")
        return NO_TRACING
    return exporting(endpoint, signal_metadata)


def _is_off(environ: Mapping[str, str]) -> bool:
    disabled = environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    return disabled or environ.get("OTEL_TRACES_EXPORTER", "").strip().lower() == "none"
