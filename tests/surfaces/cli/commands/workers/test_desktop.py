"""`atoll desktop` against a scripted server: what it asks for, and what it shows."""

import json
from pathlib import Path
from typing import Any

from aiohttp import web

from atoll.testing.fakes.host import FakeHost
from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted

WALL = {
    "level": "none",
    "mechanism": "none",
    "degraded": ["all: it runs as its person, bare"],
    "weak": True,
    "host_uid": None,
    "init": "",
}
LAPTOP: dict[str, Any] = {
    "name": "laptop",
    "present": True,
    "linked_at": "2026-01-01T00:00:00.000Z",
    "isolation": WALL,
    "workers": ["docs"],
}


def answers(server: Scripted, route: str, value: object, status: int = 200) -> None:
    server.answers[route] = lambda _seen: web.json_response(value, status=status)


def test_link_and_unlink_name_the_machine(server: Scripted, cli: Cli) -> None:
    answers(server, "PUT /v1/desktops/laptop", {**LAPTOP, "isolation": None}, 201)
    ran = cli("desktop", "link", "laptop")
    assert (ran.code, "laptop is linked" in ran.out) == (0, True)
    server.answers["DELETE /v1/desktops/laptop"] = lambda _seen: web.Response(status=204)
    ran = cli("desktop", "unlink", "laptop")
    assert (ran.code, ran.out) == (0, "laptop is not linked any more\n")


def test_list_shows_a_weak_wall_as_weak(server: Scripted, cli: Cli) -> None:
    fresh = {**LAPTOP, "name": "new", "present": False, "isolation": None, "workers": []}
    answers(server, "GET /v1/desktops", {"desktops": [LAPTOP, fresh]})
    lines = cli("desktop", "list").out.splitlines()
    assert lines[0].split() == ["DESKTOP", "RUNS", "WALL", "WORKERS"]
    assert lines[1].split() == ["laptop", "yes", "none", "(weak)", "docs"]
    assert lines[2].split() == ["new", "no", "-", "-"]
    assert json.loads(cli("desktop", "list", "--json").out) == {"desktops": [LAPTOP, fresh]}


def test_run_of_a_machine_that_is_not_linked_ends_with_a_sentence(
    server: Scripted, cli: Cli, environ: dict[str, str], tmp_path: Path
) -> None:
    environ["XDG_DATA_HOME"] = str(tmp_path / "data")
    detail = "There is no desktop 'laptop' of yours: link it first."
    problem = {"code": "not_found", "detail": detail, "status": 404}
    for name in ("PUT", "DELETE"):
        answers(server, f"{name} /v1/desktops/laptop/presence", problem, 404)
    host = FakeHost(tmp_path)
    ran = cli("desktop", "run", "laptop", host=lambda: host)
    assert ran.code == 3 and "there is no desktop 'laptop' of yours" in ran.err
    ran = cli("desktop", "run", "laptop", "--bare", host=lambda: host)
    assert ran.code == 3 and "there is no desktop 'laptop' of yours" in ran.err
    assert "isolation: weak" in ran.err
    assert (tmp_path / "data" / "atoll" / "desktop" / "laptop").is_dir()


def test_run_refuses_a_variable_that_is_not_set(server: Scripted, cli: Cli) -> None:
    ran = cli("desktop", "run", "laptop", "--env", "NOT_SET_HERE")
    assert ran.code != 0 and "NOT_SET_HERE is not set" in ran.err
