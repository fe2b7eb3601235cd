"""Metrics, traces, logs and request ids of a real Atoll, judged by those who read them."""

import asyncio
import json
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any

import aiohttp
import httpx
import pytest
from playwright.async_api import Request

from atoll.testing.contracts.telemetry.tracer import ExportedSpan
from atoll.testing.server import TestServer, test_server
from tests.e2e.page.test_real_page import LINK
from tests.peers.api import Api, Pauses, api_of
from tests.peers.browsers import chromium, needs_chromium
from tests.peers.monitoring.collector import Collector, collector
from tests.peers.monitoring.prometheus import needs_prometheus, prometheus
from tests.places import ROOT

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
OURS = {"traceparent": f"00-{TRACE}-{SPAN}-01", "X-Request-ID": "mine-4711"}
CANARY = "canary-word-4711"
SECONDS = 30.0


@pytest.fixture(scope="module")
def peer() -> Iterator[Collector]:
    with collector() as kept:
        yield kept


@pytest.fixture(scope="module")
def measured(peer: Collector) -> Iterator[TestServer]:
    """A server with all of it on."""
    env = {"ATOLL_METRICS": "on", "ATOLL_OTLP_ENDPOINT": peer.url, "ATOLL_LOG_FORMAT": "json"}
    with test_server(env) as server:
        yield server


@pytest.fixture
def api(measured: TestServer) -> Iterator[Api]:
    with api_of(measured) as made:
        yield made


async def until(found: Callable[[], Any]) -> Any:
    """Return what is found, once it is."""
    deadline = time.monotonic() + SECONDS
    pauses = Pauses()
    while not (value := found()):
        assert time.monotonic() < deadline, found
        await pauses.wait()
    return value


def log_lines(server: TestServer) -> list[dict[str, Any]]:
    """Return the lines of the control plane's log."""
    lines = server.log.read_text().splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def names_of(peer: Collector, traces: Collection[str]) -> set[str]:
    """Return the names of the spans in these traces."""
    return {one.name for one in peer.spans if one.trace_id in traces}


def parents_of(span: ExportedSpan, spans: list[ExportedSpan]) -> list[str]:
    """Return the names of a span's parents, the nearest first."""
    known = {one.span_id: one for one in spans}
    names = []
    while span.parent_id in known:
        span = known[span.parent_id]
        names.append(span.name)
    return names


async def test_one_trace_spans_control_plane_and_runtime(
    measured: TestServer, api: Api, peer: Collector
) -> None:
    made = api.call(
        "POST",
        "/v1/sandboxes?wait=ready&timeout=240",
        json={"profile": "shell", "name": "traced"},
        headers=OURS,
    )
    sandbox = made["sandbox_id"]
    argv = {"argv": ["echo", CANARY]}
    api.call("POST", f"/v1/sandboxes/{sandbox}/exec", json=argv, headers=OURS)
    terminal = api.call(
        "POST", f"/v1/sandboxes/{sandbox}/terminals", json={"argv": ["cat"]}, headers=OURS
    )["terminal_id"]
    place = f"{measured.url}/v1/sandboxes/{sandbox}/terminals/{terminal}/attach"
    async with (
        aiohttp.ClientSession(headers={**api.headers, **OURS}) as client,
        client.ws_connect(place) as socket,
    ):
        await socket.receive()

        def runtime_spans() -> set[str]:
            ours = [one for one in peer.spans if one.trace_id == TRACE]
            return {one.name for one in ours if one.service == "atoll-runtime"}

        wanted = {"POST /execs", "POST /sessions", "GET /sessions/{id}/seat"}
        await until(lambda: wanted <= runtime_spans())
    ours = [one for one in peer.spans if one.trace_id == TRACE]
    by_name = {one.name: one for one in ours}
    control = {one.name for one in ours if one.service == "atoll-control"}
    assert {
        "POST /v1/sandboxes",
        "sandbox.create",
        "sandbox.provision",
        "provision.wall",
        "exec.run",
        "terminal.attach",
        "WS /v1/sandboxes/{sandbox}/terminals/{terminal}/attach",
    } <= control
    assert parents_of(by_name["POST /execs"], ours) == [
        "exec.run",
        "POST /v1/sandboxes/{sandbox}/exec",
    ]
    assert parents_of(by_name["provision.wall"], ours) == [
        "sandbox.provision",
        "POST /v1/sandboxes",
    ]
    assert parents_of(by_name["GET /sessions/{id}/seat"], ours)[0] == "terminal.attach"
    assert by_name["POST /v1/sandboxes"].parent_id == SPAN
    assert by_name["POST /execs"].attributes["atoll.request_id"] == "mine-4711"
    # Neither what ran, nor a token, nor a name that somebody gave.
    exported = "".join(peer.texts)
    assert CANARY not in exported and measured.token not in exported
    assert "traced" not in exported


@pytest.mark.browser
@needs_chromium
async def test_call_of_the_page_is_the_root_of_a_trace(
    measured: TestServer, peer: Collector
) -> None:
    sent: dict[str, str] = {}

    def note(request: Request) -> None:
        if parent := request.headers.get("traceparent"):
            sent[parent.split("-")[1]] = request.url

    done = await asyncio.to_thread(measured.run, "login")
    link = LINK.search(done.stdout)
    assert link is not None, done
    async with chromium() as browser:
        page = await browser.new_page()
        page.on("request", note)
        await page.goto(link[0])
        await until(lambda: any("v1/sandboxes" in url for url in sent.values()))
        names = {"GET /v1/sandboxes", "GET /v1/events/stream"}
        await until(lambda: names <= names_of(peer, sent))


@needs_prometheus
def test_prometheus_scrapes_what_dashboard_and_alerts_ask_for(
    measured: TestServer, api: Api
) -> None:
    made = api.create(name="scraped")
    sandbox = made["sandbox_id"]
    api.call("POST", f"/v1/sandboxes/{sandbox}/exec", json={"argv": ["true"]})
    api.call("POST", f"/v1/sandboxes/{sandbox}/terminals", json={"argv": ["cat"]})
    target = measured.url.removeprefix("http://")
    rules = ROOT / "deploy/prometheus/alerts.yaml"
    with prometheus(target, rules=rules) as judge:
        assert judge.wait('up{job="atoll"} == 1') == 1
        assert judge.wait("atoll_terminals_open >= 1") >= 1
        running = 'sum(atoll_sandboxes{state=~"ready|active"}) >= 1'
        assert judge.wait(running) >= 1
        assert judge.wait("atoll_event_log_position > 0") > 0
        labels = 'method="POST",route="/v1/sandboxes/{sandbox}/exec",status="200"'
        assert judge.wait(f"atoll_http_requests_total{{{labels}}}") >= 1
        alerts = judge.query('ALERTS{alertstate="firing"}')
        assert not [one for one in alerts if one["metric"]["alertname"] != "AtollDown"]
        assert not alerts
        text = httpx.get(f"{measured.url}/metrics").text
        assert "scraped" not in text and sandbox not in text


def test_every_log_line_is_json_and_names_its_request(measured: TestServer, api: Api) -> None:
    answer = httpx.post(
        f"{measured.url}/v1/sandboxes?wait=ready&timeout=240",
        json={"profile": "shell", "repos": [{"repo_url": "http://127.0.0.1:9/none.git"}]},
        headers={**api.headers, "X-Request-ID": "mine-broken"},
        timeout=250,
    )
    assert answer.headers["X-Request-ID"] == "mine-broken"
    httpx.get(f"{measured.url}/v1/sandboxes", headers={"Authorization": "Bearer " + "x" * 43})
    lines = log_lines(measured)
    same = ["timestamp", "level", "logger", "event", "request_id", "trace_id", "org", "principal"]
    assert all(list(one)[:8] == same for one in lines)
    plain = [one for one in measured.log.read_text().splitlines() if not one.startswith("{")]
    assert not [one for one in plain if "event=" in one]
    assert measured.token not in measured.log.read_text()
