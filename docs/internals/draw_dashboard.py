"""Grafana's dashboard, drawn from here: ``python docs/internals/draw_dashboard.py`` writes ``docs/dashboard.json``.

A test fails if the file is not what this draws.

Source: grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model, by Grafana's own models.
"""

from __future__ import annotations

from pathlib import Path

from grafana_foundation_sdk.builders import dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.builders.common import VizLegendOptions
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import LegendDisplayMode, LegendPlacement
from grafana_foundation_sdk.models.dashboard import DataSourceRef

FILE = Path(__file__).parents[1] / "dashboard.json"
_SOURCE = DataSourceRef(type_val="prometheus", uid="${source}")
_JOB = 'job="handraise"'

NUMBERS: tuple[tuple[str, str], ...] = (
    ("Open questions", f"max(suspensions_open{{{_JOB}}})"),
    ("Processes that are ready", f"sum(service_ready{{{_JOB}}})"),
    ("Notices paused", f"max(notices_paused{{{_JOB}}})"),
    ("Callbacks given up, last day", f"sum(increase(callbacks_dead_total{{{_JOB}}}[1d]))"),
)
"""Title and query of what stands in the first row."""

GRAPHS: tuple[tuple[str, str, str, str], ...] = (
    (
        "Attempts to ask people",
        f"sum by (channel) (rate(suspension_attempts_total{{{_JOB}}}[$__rate_interval]))",
        "{{channel}}",
        "cps",
    ),
    (
        "How questions end, a day",
        f"sum by (resolution) (increase(suspension_resolutions_total{{{_JOB}}}[1d]))",
        "{{resolution}}",
        "short",
    ),
    (
        "How long people take, median of a day",
        f"histogram_quantile(0.5, sum by (le) (rate(suspension_answer_seconds_bucket{{{_JOB}}}[1d])))",
        "median",
        "s",
    ),
    (
        "Tries to send",
        f"sum by (channel, outcome) (rate(relay_tries_total{{{_JOB}}}[$__rate_interval]))",
        "{{channel}} {{outcome}}",
        "cps",
    ),
    (
        "Messages leave late, 95 of 100 within",
        f"histogram_quantile(0.95, sum by (le) (rate(relay_lag_seconds_bucket{{{_JOB}}}[$__rate_interval])))",
        "95 of 100",
        "s",
    ),
    (
        "Due questions are looked at late, 95 of 100 within",
        f"histogram_quantile(0.95, sum by (le) (rate(work_lag_seconds_bucket{{{_JOB}}}[$__rate_interval])))",
        "95 of 100",
        "s",
    ),
    ("Ways in that are heard", f"max by (way) (inbound_connected{{{_JOB}}})", "{{way}}", "bool_yes_no"),
    (
        "Mail that came in",
        f"sum by (door, kind) (rate(mail_received_total{{{_JOB}}}[$__rate_interval]))",
        "{{door}} {{kind}}",
        "cps",
    ),
    (
        "Mail that could not be read, a day",
        f"sum by (reason) (increase(mail_quarantined_total{{{_JOB}}}[1d]))",
        "{{reason}}",
        "short",
    ),
    (
        "Connections that were turned away",
        f"sum by (reason) (rate(http_refused_total{{{_JOB}}}[$__rate_interval]))",
        "{{reason}}",
        "cps",
    ),
    ("Free space beside the database's file", f"min(database_disk_free_bytes{{{_JOB}}})", "free", "bytes"),
)
"""Title, query, legend and unit of each graph."""


def queries() -> list[str]:
    """Every query of the dashboard."""
    return [query for _, query in NUMBERS] + [query for _, query, *_ in GRAPHS]


def drawn() -> str:
    """The dashboard as JSON."""
    made = (
        dashboard.Dashboard("Handraise")
        .uid("handraise")
        .description("Questions to people: how many wait, how they end, and whether messages leave.")
        .tags(["handraise"])
        .refresh("1m")
        .time("now-24h", "now")
        .with_variable(dashboard.DatasourceVariable("source").label("Data source").type("prometheus"))
        .with_row(dashboard.Row("Now"))
    )
    for title, query in NUMBERS:
        made = made.with_panel(
            stat.Panel().title(title).datasource(_SOURCE).span(6).height(4).with_target(_asked(query))
        )
    made = made.with_row(dashboard.Row("Over time"))
    for title, query, legend, unit in GRAPHS:
        made = made.with_panel(
            timeseries.Panel()
            .title(title)
            .datasource(_SOURCE)
            .unit(unit)
            .min(0)
            .span(12)
            .height(8)
            .legend(
                VizLegendOptions()
                .display_mode(LegendDisplayMode.LIST)
                .placement(LegendPlacement.BOTTOM)
                .show_legend(True)
            )
            .with_target(_asked(query).legend_format(legend))
        )
    return JSONEncoder(sort_keys=True, indent=2).encode(made.build()) + "\n"


def _asked(query: str) -> prometheus.Dataquery:
    return prometheus.Dataquery().expr(query)


if __name__ == "__main__":
    FILE.write_text(drawn())
