"""`atoll extension check` beside a control plane: each sees none of the other's sandboxes."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from atoll.testing.check.home import find_host, read_access
from atoll.testing.server import TestServer, atoll_command
from tests.peers.api import Api

POLL_SECONDS = 0.05
SECRET = {"value": "vendor-key-1", "kind": "extension", "extension": "ext.e2b"}
HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def boxes(home: Path) -> set[str]:
    """Return the sandboxes of a home, as its zygote keeps them."""
    return {place.name for place in (home / "boxes").glob("sb_*")}


def test_check_beside_a_control_plane_has_a_home_of_its_own(
    server: TestServer, api: Api, tmp_path: Path
) -> None:
    ours = api.create()["sandbox_id"]
    before = boxes(server.home)
    argv = (atoll_command(), "extension", "check", "namespaces", "--home", str(server.home))
    temporary = {**os.environ, "NO_COLOR": "1"}
    with subprocess.Popen(
        argv, cwd=tmp_path, env=temporary, stdout=subprocess.PIPE, text=True
    ) as process:
        seen = set[str]()
        while process.poll() is None:
            seen |= boxes(server.home)
            try:
                process.wait(POLL_SECONDS)
            except subprocess.TimeoutExpired:
                continue
        said = process.stdout.read() if process.stdout else ""
    assert process.returncode == 0, said
    assert seen == before
    report = json.loads((tmp_path / "namespaces-check.json").read_bytes())
    assert report["leftovers"] == []
    assert not any(suite["failed"] for suite in report["suites"])
    assert api.run(ours, "echo alive") == "alive\n"
    assert "orphan_reaped" not in server.log.read_text()


def test_check_has_the_hosts_and_the_vendors_keys_of_a_home(server: TestServer, api: Api) -> None:
    api.call("PUT", "/v1/secrets/vendor", json=SECRET)
    api.call(
        "POST",
        "/v1/hosts",
        json={"address": "ssh://user@box.example", "name": "box", "host_key": HOST_KEY},
    )
    try:
        lent = read_access(server.home, "ext.e2b")
        assert [key.value for key in lent.keys] == [SECRET["value"]]
        assert find_host(lent, "box") == f"ssh://user@box.example {HOST_KEY}"
        assert read_access(server.home, "ext.modal").keys == ()
    finally:
        api.call("DELETE", "/v1/hosts/box")
