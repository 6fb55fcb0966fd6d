"""Observability: logs, metrics, traces and the heartbeat.

``telemetry`` sets up the log, defines every metric, and keeps exceptions' messages out of the log. ``observer`` turns
core's reports into log lines and counts. ``tracing`` makes spans; ``tracing_otel`` is loaded if OpenTelemetry is
configured, and ``span_attributes`` are OpenArmature's. ``heartbeat`` pings a URL as long as all is well.

What must never be: a question, an answer, an address or a token in a log line, or an id in a metric's label.
"""
