"""The files of `deploy`: a dashboard and alerts that ask for what there is, judged by promtool."""

import ast
import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.places import ROOT

DASHBOARD = ROOT / "deploy/grafana/atoll.json"
ALERTS = ROOT / "deploy/prometheus/alerts.yaml"
PAGE = ROOT / "docs/run/observability.md"
COLUMNS = 24
BOUNDED = {
    *("method", "route", "status", "kind", "state", "phase", "outcome"),
    *("event", "metric", "pool", "version", "python"),
}
"""The labels there are; none tells whose something is."""
OUTSIDE = {
    *("up", "process_cpu_seconds_total", "process_resident_memory_bytes"),
    *("process_open_fds", "process_max_fds"),
}
VARIABLES = {
    "$job": "atoll",
    "$instance": ".*",
    "$__rate_interval": "5m",
}

needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="no promtool: install the package `prometheus`"
)


@cache
def declared() -> dict[str, tuple[tuple[str, ...], bool]]:
    """Return the labels of every metric that the code declares, and whether it is a histogram."""
    found = {}
    for path in (ROOT / "src/atoll").rglob("*.py"):
        if "testing" in path.parts or "Metric(" not in path.read_text():
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Metric":
                name, _, *more = node.args
                labels = ast.literal_eval(more[0]) if more else ()
                found[ast.literal_eval(name)] = (labels, len(more) > 1)
    return found


def series() -> set[str]:
    """Return the names of the series that a scraper gets."""
    suffixes = ("_bucket", "_sum", "_count")
    return {
        name + suffix
        for name, (_, histogram) in declared().items()
        for suffix in (suffixes if histogram else ("",))
    } | OUTSIDE


def dashboard() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(DASHBOARD.read_text())
    return read


def targets() -> list[tuple[str, str]]:
    """Return the title of each panel with each of its queries."""
    return [
        (panel["title"], one["expr"])
        for panel in dashboard()["panels"]
        for one in panel.get("targets", ())
    ]


def filled(expression: str) -> str:
    """Return a query of the dashboard as Grafana sends it."""
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    return expression


def promtool(*words: str | Path) -> None:
    done = subprocess.run(["promtool", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_metric_is_named_by_the_rules_and_documented() -> None:
    page = PAGE.read_text()
    rows = dict(re.findall(r"^\| `(atoll_[a-z_]+)` \|([^|]*)\|", page, re.MULTILINE))
    assert rows.keys() == declared().keys()
    for name, (labels, histogram) in declared().items():
        assert tuple(re.findall(r"`([a-z]+)`", rows[name])) == labels, name
        assert name.endswith("_seconds") is (histogram or name == "atoll_journal_lag_seconds")
        assert set(labels) <= BOUNDED, name


def test_dashboard_is_of_the_form_that_grafana_reads() -> None:
    found = dashboard()
    assert {"title", "uid", "schemaVersion", "panels", "templating", "time"} <= found.keys()
    assert found["schemaVersion"] >= 36 and "id" not in found
    variables = {one["name"] for one in found["templating"]["list"]}
    assert variables == {"datasource", "job", "instance"}
    ids = [one["id"] for one in found["panels"]]
    assert len(ids) == len(set(ids))
    taken: set[tuple[int, int]] = set()
    for panel in found["panels"]:
        assert panel["type"] in {"row", "timeseries", "stat"} and panel["title"]
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= COLUMNS
        cells = {
            (place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells
        if panel["type"] != "row":
            assert panel["description"] and panel["targets"]
            assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
            refs = [one["refId"] for one in panel["targets"]]
            assert len(refs) == len(set(refs))


@pytest.mark.parametrize(("title", "expression"), targets())
def test_query_asks_for_metrics_and_labels_that_exist(title: str, expression: str) -> None:
    names = set(re.findall(r"\b(?:atoll|process)_[a-z_]+", expression))
    assert names and names <= series(), title
    assert not re.findall(r"\$(?!job|instance|__rate_interval)\w+", expression)
    grouped = set(re.findall(r"[a-z]+", ",".join(re.findall(r"by \(([^)]*)\)", expression))))
    labels = {label for name in names for label in _labels(name)}
    assert grouped <= labels | {"le", "instance"}, title


def _labels(name: str) -> tuple[str, ...]:
    plain = re.sub(r"_(bucket|sum|count)$", "", name)
    return declared().get(plain, declared().get(name, ((), False)))[0]


def test_alerts_ask_for_metrics_that_exist_and_are_documented() -> None:
    text = ALERTS.read_text()
    assert set(re.findall(r"\batoll_[a-z_]+", text)) <= series()
    names = re.findall(r"alert: (\w+)", text)
    assert names == re.findall(r"^\| `(Atoll\w+)`", PAGE.read_text(), re.MULTILINE)


@needs_promtool
def test_promtool_accepts_rules_config_and_queries(tmp_path: Path) -> None:
    promtool("check", "rules", ALERTS)
    promtool("check", "config", ROOT / "deploy/prometheus/prometheus.yml")
    rules = [
        {"record": f"query:{number}", "expr": filled(expression)}
        for number, (_, expression) in enumerate(targets())
    ]
    path = tmp_path / "queries.yaml"
    path.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    promtool("check", "rules", path)


FIRING = {
    "AtollDown": {'up{job="atoll"}': "0x60"},
    "AtollRequestErrors": {
        'atoll_http_requests_total{status="500"}': "0+10x60",
        'atoll_http_requests_total{status="200"}': "0+10x60",
    },
    "AtollSlowAnswers": {
        'atoll_http_answer_seconds_bucket{method="GET",route="/v1/sandboxes",le="1.0"}': "0x60",
        'atoll_http_answer_seconds_bucket{method="GET",route="/v1/sandboxes",le="5.0"}': "0+9x60",
        'atoll_http_answer_seconds_bucket{method="GET",route="/v1/sandboxes",le="+Inf"}': "0+9x60",
    },
    "AtollProvisioningFails": {
        'atoll_sandbox_provisions_total{outcome="failed"}': "0+1x60",
        'atoll_sandbox_provisions_total{outcome="ready"}': "0+1x60",
    },
    "AtollCreatesSlow": {
        'atoll_sandbox_create_seconds_bucket{le="60.0"}': "0x60",
        'atoll_sandbox_create_seconds_bucket{le="300.0"}': "0+9x60",
        'atoll_sandbox_create_seconds_bucket{le="+Inf"}': "0+9x60",
    },
    "AtollTaskFailures": {'atoll_task_failures_total{event="work_broke"}': "0+1x60"},
    "AtollJournalLag": {"atoll_journal_lag_seconds": "300x60"},
    "AtollEventAppendSlow": {
        'atoll_event_append_seconds_bucket{le="0.5"}': "0x60",
        'atoll_event_append_seconds_bucket{le="1.0"}': "0+9x60",
        'atoll_event_append_seconds_bucket{le="+Inf"}': "0+9x60",
    },
    "AtollMetricsIncomplete": {
        'atoll_metric_readings_failed_total{metric="atoll_agents"}': "0+1x60"
    },
}
"""Series by which each alert fires within an hour."""


@needs_promtool
@pytest.mark.parametrize("alert", FIRING)
def test_alert_fires_on_its_cause_and_on_no_other(alert: str, tmp_path: Path) -> None:
    """promtool compares labels and annotations, so its finding is read where it reports them."""
    assert list(FIRING) == re.findall(r"alert: (\w+)", ALERTS.read_text())
    test = {
        "rule_files": [str(ALERTS)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [
                    {"series": name, "values": values} for name, values in FIRING[alert].items()
                ],
                "promql_expr_test": [
                    {
                        "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                        "eval_time": "50m",
                        "exp_samples": [
                            {"labels": f'{{alertname="{alert}"}}', "value": 1},
                        ],
                    }
                ],
            }
        ],
    }
    path = tmp_path / "test.yaml"
    path.write_text(json.dumps(test))
    promtool("test", "rules", path)
