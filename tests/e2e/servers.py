"""Servers that tests share, on this machine's own wall.

`conftest` has the fixtures `standing`, `server` and `api` made of these. A module that gives
`PROFILES` (name to text) finds them saved.
"""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from atoll.testing.server import TestServer, test_server
from tests.e2e.walls.test_rootless import person
from tests.peers.api import Api, api_of

on_both_walls = pytest.mark.parametrize(
    "server", ["root", "rootless"], indirect=True, scope="module"
)
"""Run a module's tests as root, and once more as a person without rights."""

SHORT = """\
id: profile.short
version: "1.0.0"
extension: ext.namespaces
ttl: {default: 15s, max: 1h, retention: 1h}
"""


def server_as(whose: str) -> AbstractContextManager[TestServer]:
    """A server of root's, or of a person without rights."""
    if whose == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    return person() if whose == "rootless" else test_server()


def emptied(server: TestServer) -> None:
    """End every sandbox and delete every secret, so that the next test finds none."""
    with api_of(server) as api:
        for one in api.call("GET", "/v1/secrets")["secrets"]:
            api.call("DELETE", f"/v1/secrets/{one['secret_id']}")
        for one in api.call("GET", "/v1/sandboxes")["sandboxes"]:
            api.act(one["sandbox_id"], "destroy")


@contextmanager
def api_with(server: TestServer, profiles: dict[str, str]) -> Iterator[Api]:
    """An `Api` to a server that knows these profiles."""
    with api_of(server) as made:
        for name, text in profiles.items():
            made.call("PUT", f"/v1/profiles/{name}", content=text)
        yield made
