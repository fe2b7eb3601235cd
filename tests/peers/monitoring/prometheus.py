"""A real Prometheus that scrapes one address, asked by its HTTP API."""

import json
import shutil
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.claims import free_port

START_SECONDS = 60.0
POLL_SECONDS = 0.05

needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None, reason="no Prometheus: install the package `prometheus`"
)

_CONFIG = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: atoll
    metrics_path: /metrics
    {authorization}
    static_configs: [{{targets: ["{target}"]}}]
"""


@dataclass(frozen=True)
class Prometheus:
    """A running Prometheus."""

    url: str

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the samples that an expression has now."""
        found: list[dict[str, Any]] = self._get("query", query=expression)["result"]
        return found

    def value(self, expression: str) -> float | None:
        """Return the value of an expression with one sample, None while it has none."""
        found = self.query(expression)
        return float(found[0]["value"][1]) if found else None

    def wait(self, expression: str, *, seconds: float = 30.0) -> float:
        """Return the value of an expression once it has one."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if (value := self.value(expression)) is not None:
                return value
            time.sleep(POLL_SECONDS)
        raise AssertionError(f"{expression} has no value: {self._get('targets')}")

    def names(self) -> set[str]:
        """Return the names of all series."""
        return set(self._get("label/__name__/values"))

    def _get(self, path: str, **words: str) -> Any:
        query = urllib.parse.urlencode(words)
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{query}", timeout=10) as answer:
            return json.load(answer)["data"]


@contextmanager
def prometheus(target: str, *, rules: Path | None = None, token: str = "") -> Iterator[Prometheus]:
    """Run a Prometheus that scrapes `host:port` each second; nothing of it is left."""
    folder = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    authorization = f"authorization: {{credentials: {token}}}" if token else ""
    config = folder / "prometheus.yml"
    config.write_text(_CONFIG.format(rules=rules or "", authorization=authorization, target=target))
    port = free_port()
    argv = (
        "prometheus",
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    )
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            argv, stdout=subprocess.DEVNULL, stderr=log, stdin=subprocess.DEVNULL
        )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_until_ready(url, process, folder / "log")
        yield Prometheus(url)
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_ready(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/-/ready", timeout=5):
                return
        except OSError:
            time.sleep(POLL_SECONDS)
    raise RuntimeError(f"Prometheus did not start: {log.read_text()[-2000:]}")
