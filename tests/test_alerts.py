"""What watches the service names what is there: Prometheus' rules, Grafana's dashboard, the page about metrics."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from bot.observability.telemetry import WAYS_IN, Metrics

ROOT = Path(__file__).parents[1]
RULES, DASHBOARD = ROOT / "docs/alerts.yaml", ROOT / "docs/dashboard.json"
PAGE = ROOT / "docs/how-to/monitoring.md"
UNIT_TESTS = ROOT / "tests/alerts.yaml"
PROMETHEUS = {"up"}
"""What Prometheus itself says of each target."""
OPERATORS = {"and", "or", "unless"}


def rules() -> list[dict[str, Any]]:
    [group] = yaml.safe_load(RULES.read_text())["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def samples() -> set[str]:
    """The names of all series at ``/metrics``."""
    metrics = Metrics()
    for way in WAYS_IN:
        metrics.inbound(way, is_connected=True)
    text = metrics.exposition()[0].decode()
    return {
        sample.name
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def named(query: str) -> set[str]:
    """The metrics that a query asks for."""
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]|\b(by|without) \([^)]*\)", " ", query)
    return set(re.findall(r"\b[a-z][a-z0-9_]*\b(?!\s*\()", bare)) - OPERATORS


def asked(panels: list[dict[str, Any]]) -> Iterator[str]:
    for panel in panels:
        yield from (target["expr"] for target in panel.get("targets", ()))


def test_every_metric_that_is_asked_for_exists() -> None:
    queries = [rule["expr"] for rule in rules()] + list(asked(json.loads(DASHBOARD.read_text())["panels"]))
    assert len(queries) > 20
    assert {name for query in queries for name in named(query)} - samples() == PROMETHEUS


def test_every_metric_has_its_line_on_the_page() -> None:
    told = set(re.findall(r"`([a-z_]+)(?:\{[a-z,]+\})?`", PAGE.read_text()))
    missing = {name for name in samples() if name not in told and re.sub(r"_(bucket|count|sum)$", "", name) not in told}
    assert missing == set()


def test_the_dashboard_is_as_it_is_drawn() -> None:
    drawing = runpy.run_path(str(ROOT / "docs/internals/draw_dashboard.py"))
    assert DASHBOARD.read_text() == drawing["drawn"](), "python docs/internals/draw_dashboard.py draws it again"
    assert list(asked(json.loads(DASHBOARD.read_text())["panels"])) == drawing["queries"]()


def test_every_alert_says_what_to_do_and_is_tried_silent_and_firing() -> None:
    tried = [one for each in yaml.safe_load(UNIT_TESTS.read_text())["tests"] for one in each["alert_rule_test"]]
    for rule in rules():
        assert rule["labels"]["severity"] in {"critical", "warning"}, rule["alert"]
        assert set(rule["annotations"]) == {"summary", "description"}, rule["alert"]
        assert {bool(one["exp_alerts"]) for one in tried if one["alertname"] == rule["alert"]} == {True, False}
    assert {one["alertname"] for one in tried} == {rule["alert"] for rule in rules()}


@pytest.mark.promtool
def test_the_rules_do_what_they_say(tmp_path: Path) -> None:
    promtool("check", "rules", "--lint-fatal", str(RULES))
    bare = yaml.safe_load(RULES.read_text())
    for rule in bare["groups"][0]["rules"]:
        del rule["annotations"]  # promtool would want each of them word for word
    (tmp_path / "alerts.yaml").write_text(yaml.safe_dump(bare))
    shutil.copy(UNIT_TESTS, tmp_path / "tests.yaml")
    promtool("test", "rules", str(tmp_path / "tests.yaml"))


def promtool(*arguments: str) -> None:
    done = subprocess.run(["promtool", *arguments], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
