"""What telemetry costs while it is off, and what it says when it cannot be on."""

import subprocess
import sys
from pathlib import Path

import pytest

from atoll.adapters.telemetry.prometheus import PrometheusMetrics
from atoll.adapters.telemetry.settings import TelemetrySettings
from atoll.domain.errors import Invalid
from atoll.services.telemetry import OFF
from atoll.surfaces.http.site.metrics import MetricsAccess
from atoll.wiring.control.telemetry import TOKEN_FILE, metrics_access, open_telemetry


def ran(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_nothing_is_loaded_while_it_is_off() -> None:
    done = ran(
        "import sys, atoll.wiring.control.assembly, atoll.wiring.control.telemetry as t;"
        "from atoll.adapters.telemetry.settings import TelemetrySettings as S;"
        "t.open_telemetry(S()); print(*sys.modules)"
    )
    loaded = set(done.stdout.split())
    assert "atoll.wiring.control.telemetry" in loaded, done
    assert not {"prometheus_client", "opentelemetry.sdk", "opentelemetry.exporter"} & loaded
    assert open_telemetry(TelemetrySettings()) is OFF


def test_runtime_and_zygote_never_load_the_library_for_traces() -> None:
    done = ran("import sys, atoll.wiring.zygote; print(*sys.modules)")
    loaded = set(done.stdout.split())
    assert "atoll.runtime.api.tracing" in loaded, done
    assert not [one for one in loaded if one.startswith(("opentelemetry", "prometheus_client"))]
    assert "structlog" not in loaded


def test_missing_library_is_said_with_its_cure() -> None:
    done = ran(
        "import sys; sys.modules['opentelemetry.sdk'] = None;"
        "from atoll.adapters.telemetry.settings import TelemetrySettings as S;"
        "from atoll.wiring.control.telemetry import open_telemetry as o;"
        "o(S(otlp_endpoint='http://127.0.0.1:1'))"
    )
    assert "Failed: otlp_endpoint is set" in done.stderr
    assert "pip install 'atoll[telemetry]'" in done.stderr


def test_metrics_alone_load_no_library_for_traces(tmp_path: Path) -> None:
    made = open_telemetry(TelemetrySettings(metrics="token"))
    assert isinstance(made.metrics, PrometheusMetrics)
    assert (made.tracer, made.metered, made.traced) == (OFF.tracer, True, False)
    assert metrics_access(TelemetrySettings(), tmp_path) is None
    assert metrics_access(TelemetrySettings(metrics="on"), tmp_path) == MetricsAccess()
    access = metrics_access(TelemetrySettings(metrics="token"), tmp_path)
    assert access is not None and len(access.token or "") >= 32
    assert metrics_access(TelemetrySettings(metrics="token"), tmp_path) == access
    assert (tmp_path / TOKEN_FILE).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"metrics": "yes"}, "metrics"),
        ({"trace_share": 1.5}, "trace_share"),
        ({"otlp_endpoint": "collector:4318"}, "otlp_endpoint"),
        ({"otlp_endpoint": "http://user:canary@collector"}, "otlp_endpoint"),
    ],
)
def test_setting_that_cannot_be_meant_stops_the_start(wrong: dict[str, str], field: str) -> None:
    with pytest.raises(Invalid) as said:
        TelemetrySettings(**wrong)  # type: ignore[arg-type]
    assert said.value.field == field and "canary" not in said.value.message
