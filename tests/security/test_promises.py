"""Promises of `docs/trust/security.md` that have no other home."""

import socket
from pathlib import Path

import pytest

from atoll.testing.server import test_server
from tests.peers.api import api_of

DOCKER = "id: profile.contained\nversion: '1.0.0'\nextension: ext.docker\nimage: debian:12\n"


def test_docker_is_off_unless_it_is_switched_on(tmp_path: Path) -> None:
    """Somebody listens where the daemon would be; nobody comes."""
    place = f"{tmp_path}/asked.sock"
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(place)
        daemon.listen()
        daemon.setblocking(False)
        with test_server({"ATOLL_DOCKER_HOST": f"unix://{place}"}) as server, api_of(server) as api:
            api.client.put("/v1/profiles/contained", content=DOCKER)
            refused = api.client.post("/v1/sandboxes?wait=ready", json={"profile": "contained"})
            assert refused.status_code in (404, 409, 422), refused.text
            assert "docker" in refused.text
        with pytest.raises(BlockingIOError):
            daemon.accept()
