"""Routes at the command line: a decision, and what came of it since."""

from typing import Any

from aiohttp import web

from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted

HEALTH: dict[str, Any] = {
    "attempts": 0,
    "success": None,
    "p50_ms": None,
    "p95_ms": None,
    "breaker": "closed",
}
CANDIDATE: dict[str, Any] = {
    "extension": "ext.ssh",
    "host": "box",
    "region": "eu-1",
    "fit": True,
    "reasons": [],
    "isolation": "container",
    "self_hosted": True,
    "gpus": [],
    "cost_per_hour": {"micros": 120000, "currency": "USD"},
    "execution_mode": "sandbox",
    "health": HEALTH,
}
BROKEN: dict[str, Any] = {
    **CANDIDATE,
    "extension": "ext.docker",
    "host": "local",
    "fit": False,
    "reasons": ["no daemon answers"],
    "cost_per_hour": None,
}
PLACE = {"extension": "ext.ssh", "host": "box", "region": "eu-1"}
ROUTE: dict[str, Any] = {
    "route_id": "rt_1",
    "sandbox_id": "sb_1",
    "at": "2026-01-01T00:00:00+00:00",
    "strategy": "lowest-cost",
    "extensions": [],
    "only": None,
    "allowed": [],
    "limits": [],
    "candidates": [CANDIDATE, BROKEN],
    "chosen": PLACE,
    "attempts": [{**PLACE, "at": "2026-01-01T00:00:09+00:00", "reason": None}],
    "moves": [{"source": "box", "target": "two", "at": "2026-01-02T00:00:00+00:00"}],
}


def test_show_tells_the_decision_its_attempts_and_the_evacuations_since(
    server: Scripted, cli: Cli
) -> None:
    server.answers["GET /v1/routes/rt_1"] = lambda _seen: web.json_response(ROUTE)
    ran = cli("route", "show", "rt_1")
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0] == "chosen: ext.ssh on box (lowest-cost)"
    assert "no daemon answers" in ran.out
    assert lines[-2:] == [
        "2026-01-01T00:00:09+00:00 ext.ssh on box: ready",
        "2026-01-02T00:00:00+00:00 evacuated from host box to host two",
    ]
