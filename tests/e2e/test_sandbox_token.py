"""A program inside a real sandbox reads its own sandbox; it never sees the token it does so by."""

import json
from collections.abc import Iterator

import pytest

from atoll.testing.server import TestServer, test_server

PROGRAM = """
import json, os, sys, urllib.error, urllib.request
base = os.environ["ATOLL_API_URL"]
for method, path in json.loads(sys.argv[1]):
    request = urllib.request.Request(base + path, method=method)
    request.add_header("Authorization", "Bearer of-my-own")
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            print(answer.status, answer.read().decode())
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode().replace("\\n", " "))
"""


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with test_server(start=False) as running:
        (running.home / "config.toml").write_text("sandbox_tokens = true\n")
        running.start()
        yield running


def test_sandbox_reads_itself_and_nothing_else(server: TestServer) -> None:
    for name in ("box", "other"):
        made = server.run("new", "--name", name, "--detach")
        assert made.returncode == 0, made.stderr
    ids = {
        one["name"]: one["sandbox_id"]
        for one in json.loads(server.run("list", "--json").stdout)["sandboxes"]
    }
    calls = [
        ("GET", "/v1/me"),
        ("GET", f"/v1/sandboxes/{ids['box']}"),
        ("GET", f"/v1/sandboxes/{ids['other']}"),
        ("GET", "/v1/tokens"),
        ("POST", "/auth/token"),
        ("DELETE", f"/v1/sandboxes/{ids['box']}"),
    ]
    ran = server.run("exec", "box", "--", "python3", "-c", PROGRAM, json.dumps(calls))
    assert ran.returncode == 0, ran.stderr
    me, own, other, *refused = ran.stdout.splitlines()
    assert me.startswith("200 ") and json.loads(me[4:])["kind"] == "agt"
    assert own.startswith("200 ") and json.loads(own[4:])["sandbox_id"] == ids["box"]
    assert other.startswith("404 ")
    assert [line[:3] for line in refused] == ["403", "403", "403"]
    # The token is nowhere inside: not in the environment, not in what comes back.
    inside = server.run("exec", "box", "--", "sh", "-c", "env; cat /proc/*/environ")
    assert "eyJ" not in inside.stdout + ran.stdout
