"""OpenSSH's programs at a sandbox that is a container. `make test-backends` runs the rest of them,
and shells (`test_every_wall.py`)."""

from collections.abc import Iterator

import pytest

from atoll.testing.server import TestServer
from tests.e2e.ssh.elsewhere import ada, box, calls, in_containers
from tests.e2e.ssh.test_programs import (
    test_a_command_has_its_own_streams_and_exit,
    test_git_clones_and_pushes_over_ssh,
    test_ports_inside_are_reached_by_forwards,
    test_scp_sftp_and_rsync_copy_a_tree,
)
from tests.peers.docker_daemon import why_not

__all__ = [
    "ada",
    "box",
    "calls",
    "test_a_command_has_its_own_streams_and_exit",
    "test_git_clones_and_pushes_over_ssh",
    "test_ports_inside_are_reached_by_forwards",
    "test_scp_sftp_and_rsync_copy_a_tree",
]

pytestmark = [
    pytest.mark.docker,
    pytest.mark.root,
    pytest.mark.skipif(bool(why_not()), reason=f"no Docker daemon: {why_not()}"),
]


@pytest.fixture(scope="module")
def gateway() -> Iterator[TestServer]:
    with in_containers() as server:
        yield server
