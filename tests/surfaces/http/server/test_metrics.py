"""The metrics page: who may read it, and that it shows figures of the installation alone."""

import asyncio
import shutil
import subprocess

import aiohttp
import pytest

from atoll.adapters.telemetry import prometheus
from atoll.adapters.telemetry.prometheus import PrometheusMetrics
from atoll.services.telemetry import OFF, Telemetry
from atoll.surfaces.http.site.metrics import MetricsAccess
from atoll.testing.contracts.telemetry.metrics import figures
from atoll.wiring.control.telemetry import watch_installation
from tests.surfaces.http.world import World, client_of, world


def metered() -> Telemetry:
    return Telemetry(PrometheusMetrics(), OFF.tracer, metered=True)


async def test_metrics_are_not_there_unless_a_setting_turns_them_on(atoll: World) -> None:
    async with client_of(atoll.url) as client:
        assert (await client.get("/metrics")).status_code == 401
    async with client_of(atoll.url, atoll.token) as client:
        assert (await client.get("/metrics")).status_code == 404
        assert "/metrics" not in (await client.get("/openapi.json")).json()["paths"]


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Forwarded-For": "203.0.113.9"},
        {"Forwarded": "for=203.0.113.9"},
        {"Via": "1.1 proxy"},
    ],
)
async def test_metrics_without_a_token_are_for_this_machine_alone(headers: dict[str, str]) -> None:
    async with (
        world(telemetry=metered(), metrics=MetricsAccess()) as atoll,
        client_of(atoll.url) as client,
    ):
        own = await client.get("/metrics")
        assert own.status_code == 200
        assert own.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        passed_on = await client.get("/metrics", headers=headers)
        named = await client.get("/metrics", headers={"Host": "atoll.example.org"})
    assert (passed_on.status_code, passed_on.json()["code"]) == (403, "forbidden")
    assert named.status_code == 421


async def test_metrics_with_a_token_are_for_whoever_has_it() -> None:
    access = MetricsAccess("t" * 43)
    async with (
        world(telemetry=metered(), metrics=access) as atoll,
        client_of(atoll.url) as client,
    ):
        for wrong in ({}, {"Authorization": f"Bearer {atoll.token}"}, {"Authorization": "t" * 43}):
            assert (await client.get("/metrics", headers=wrong)).status_code == 401
        right = {"Authorization": "Bearer " + "t" * 43, "X-Forwarded-For": "203.0.113.9"}
        assert (await client.get("/metrics", headers=right)).status_code == 200
        # It opens nothing else.
        assert (await client.get("/v1/sandboxes", headers=right)).status_code == 401
    assert "ttt" not in repr(access)


async def test_figures_show_what_was_done_and_no_name_of_anybodys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prometheus, "FRESH_SECONDS", 0)
    telemetry = metered()
    async with world(telemetry=telemetry, metrics=MetricsAccess()) as atoll:
        with watch_installation(atoll.services, atoll.ground.store, telemetry):
            async with client_of(atoll.url, atoll.token) as client:
                made = await client.post(
                    "/v1/sandboxes?wait=ready", json={"profile": "shell", "name": "canary-box"}
                )
                sandbox = made.json()["sandbox_id"]
                path = f"/v1/sandboxes/{sandbox}/exec"
                await client.post(path, json={"argv": ["echo", "canary-word"]})
                await client.get("/v1/sandboxes/canary-none")
                # The worker starts a sandbox of its own, which may be anywhere on its way.
                before = await figures(telemetry.metrics)
                await client.post("/v1/workers", json={"worker_id": "canary-worker"})
                await client.request("CANARY", "/v1/sandboxes")
                headers = {"Authorization": f"Bearer {atoll.token}"}
                place = f"{atoll.url}/v1/sandboxes/{sandbox}/terminals/t_1/attach"
                async with (
                    aiohttp.ClientSession() as session,
                    session.ws_connect(place, headers=headers),
                    client.stream("GET", "/v1/events/stream"),
                ):
                    page = (await client.get("/metrics")).text
                found = await figures(telemetry.metrics)
                await asyncio.sleep(0)
    route = "/v1/sandboxes/{sandbox}"
    labels = f'method="GET",route="{route}",status="404"'
    assert found[f"atoll_http_requests_total{{{labels}}}"] == 1
    labels = f'method="POST",route="{route}/exec",status="200"'
    assert found[f"atoll_http_requests_total{{{labels}}}"] == 1
    assert before['atoll_sandboxes{state="ready"}'] + before['atoll_sandboxes{state="active"}'] == 1
    assert found['atoll_sandboxes{state="failed"}'] == 0
    assert sum(by for name, by in found.items() if name.startswith("atoll_workers{")) == 1
    assert found["atoll_worker_summaries_behind_events"] >= 0
    assert before['atoll_sandbox_provisions_total{outcome="ready"}'] == 1
    assert before["atoll_sandbox_create_seconds_count"] == 1
    assert before['atoll_sandbox_phase_seconds_count{phase="wall"}'] == 1
    assert found['atoll_http_connections_open{kind="websocket"}'] == 1
    assert found['atoll_http_connections_open{kind="sse"}'] == 1
    assert found["atoll_event_log_position"] >= 2
    assert "\natoll_build_info{" in page and "_created" not in page
    assert "canary" not in page.lower() and sandbox not in page and "personal" not in page


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool (prometheus)")
async def test_promtool_accepts_the_page() -> None:
    telemetry = metered()
    async with world(telemetry=telemetry, metrics=MetricsAccess()) as atoll:
        with watch_installation(atoll.services, atoll.ground.store, telemetry):
            async with client_of(atoll.url, atoll.token) as client:
                await client.post("/v1/sandboxes?wait=ready", json={"profile": "shell"})
                page = (await client.get("/metrics")).content
    done = await asyncio.to_thread(
        subprocess.run, ["promtool", "check", "metrics"], input=page, capture_output=True
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, b"", b"")
