"""Servers that tests share, on this machine's own wall.

`conftest` has the fixtures `standing`, `server` and `api` made of these. A module that gives
`PROFILES` (name to text) finds them saved.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from atoll.testing.server import TestServer
from tests.peers.api import Api, api_of

ROOT = pytest.param("root", marks=pytest.mark.skipif(os.geteuid() != 0, reason="needs root"))


def on_walls(*rootless: pytest.MarkDecorator) -> pytest.MarkDecorator:
    """Run tests as root, and once more as a person without rights, which has these marks."""
    walls = [ROOT, pytest.param("rootless", marks=rootless)]
    return pytest.mark.parametrize("server", walls, indirect=True, scope="module")


on_both_walls = on_walls()
rootless_is_slow = on_walls(pytest.mark.slow)
"""The usual run has root's alone."""

SHORT = """\
id: profile.short
version: "1.0.0"
extension: ext.namespaces
ttl: {default: 15s, max: 1h, retention: 1h}
"""


def emptied(server: TestServer) -> None:
    """End every sandbox, delete every secret and snapshot, so that the next test finds none."""
    with api_of(server) as api:
        for one in api.call("GET", "/v1/secrets")["secrets"]:
            api.call("DELETE", f"/v1/secrets/{one['secret_id']}")
        for one in api.call("GET", "/v1/sandboxes")["sandboxes"]:
            api.act(one["sandbox_id"], "destroy")
        for one in api.call("GET", "/v1/snapshots")["snapshots"]:
            api.call("DELETE", f"/v1/snapshots/{one['snapshot_id']}")


@contextmanager
def api_with(server: TestServer, profiles: dict[str, str]) -> Iterator[Api]:
    """An `Api` to a server that knows these profiles."""
    with api_of(server) as made:
        for name, text in profiles.items():
            made.call("PUT", f"/v1/profiles/{name}", content=text)
        yield made
