"""Spans by OpenTelemetry. Imported if it is configured and the extra ``otel`` is installed; see ``tracing.py``.

Source: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/;
https://www.w3.org/TR/trace-context/.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, Span, SpanKind, StatusCode, get_current_span, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from bot.observability.span_attributes import Attribute, of_resume, of_suspension
from core.domain.suspension import Suspension
from core.errors import HandraiseError
from core.ports import Callback, Delivered, Delivery

_VERSION = version("handraise-server")
_PATIENCE_SECONDS = 3.0
"""For the last spans, when the service stops: a collector that is away must not hold it up."""

_W3C = TraceContextTextMapPropagator()


class _AskSpan:
    def __init__(self, span: Span, with_metadata: bool) -> None:
        self._span = span
        self._with_metadata = with_metadata

    @property
    def traceparent(self) -> str | None:
        return _written(self._span).get("traceparent")

    def asked(self, suspension: Suspension) -> None:
        ask = suspension.ask
        self._span.set_attributes({"handraise.ref": ask.ref, "handraise.channel": ask.planned(1).channel})
        theirs = of_suspension(ask.resume, with_metadata=self._with_metadata)
        if theirs:  # their status SUSPENDED is OK for OpenTelemetry (observability §4.2)
            self._span.set_attributes(theirs)
            self._span.set_status(StatusCode.OK)


class _ResumeSpan:
    def __init__(self, span: Span) -> None:
        self._span = span

    @property
    def headers(self) -> Mapping[str, str]:
        return _written(self._span)

    def ended(self, outcome: Delivery) -> None:
        self._span.set_attribute("handraise.outcome", type(outcome).__name__.lower())
        if not isinstance(outcome, Delivered):
            self._span.set_attribute("error.type", outcome.reason)
            self._span.set_status(StatusCode.ERROR)


class OtelTracing:
    """Implements :class:`Tracing`. Exceptions are not part of a span: their messages hold values.

    ``signal_metadata``: whether the metadata of a signal becomes attributes (``telemetry.signal_metadata``).
    """

    def __init__(self, provider: TracerProvider, *, signal_metadata: bool = False) -> None:
        self._provider = provider
        self._signal_metadata = signal_metadata
        self._tracer = provider.get_tracer("handraise", _VERSION)

    @contextmanager
    def asking(self, headers: Mapping[str, str]) -> Iterator[_AskSpan]:
        caller = _W3C.extract(headers, Context())
        with self._tracer.start_as_current_span(
            "suspension.request", caller, SpanKind.SERVER, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield _AskSpan(span, self._signal_metadata)
            except HandraiseError as refusal:  # the caller's mistake, and no failure of ours
                span.set_attribute("error.type", refusal.code)
                raise
            except Exception as bug:
                span.set_attribute("error.type", type(bug).__name__)
                span.set_status(StatusCode.ERROR)
                raise

    @contextmanager
    def resuming(self, callback: Callback) -> Iterator[_ResumeSpan]:
        asked = get_current_span(_W3C.extract({"traceparent": callback.traceparent or ""}, Context()))
        context = asked.get_span_context()
        with self._tracer.start_as_current_span(
            "suspension.resume",
            Context(),
            SpanKind.CLIENT,
            _about(callback),
            [Link(context)] if context.is_valid else [],
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            yield _ResumeSpan(span)

    def close(self) -> None:
        last = threading.Thread(target=self._provider.shutdown, name="tracing", daemon=True)
        last.start()
        last.join(_PATIENCE_SECONDS)


def exporting(endpoint: str | None, signal_metadata: bool) -> OtelTracing:
    """Spans in batches over OTLP/HTTP: to ``endpoint`` (without ``/v1/traces``), else as the environment says."""
    exporter = OTLPSpanExporter(endpoint=None if endpoint is None else f"{endpoint.rstrip('/')}/v1/traces")
    provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return OtelTracing(provider, signal_metadata=signal_metadata)


def _resource() -> Resource:
    """Our name, unless ``OTEL_SERVICE_NAME`` or ``OTEL_RESOURCE_ATTRIBUTES`` gives another."""
    found = Resource.create()
    if str(found.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        found = found.merge(Resource({SERVICE_NAME: "handraise"}))
    return found.merge(Resource({SERVICE_VERSION: _VERSION}))


def _written(span: Span) -> dict[str, str]:
    headers: dict[str, str] = {}
    _W3C.inject(headers, set_span_in_context(span, Context()))
    return headers


def _about(callback: Callback) -> dict[str, Attribute]:
    """Our own words, numbers, and the ids by which OpenArmature's spans are found."""
    data = callback.body.get("data")
    said = data if isinstance(data, dict) else {}
    found = {"ref": callback.ref, "channel": said.get("channel"), "resolution": said.get("resolution")}
    words = {f"handraise.{name}": word for name, word in found.items() if isinstance(word, str)}
    return {**words, **of_resume(said), "handraise.tries": callback.tries}
