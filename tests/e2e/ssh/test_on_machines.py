"""OpenSSH's programs at a sandbox on another machine, which the gateway reaches over the link.
`make test-backends` runs the rest of them, and shells (`test_every_wall.py`)."""

import os
from collections.abc import Iterator

import pytest

from atoll.testing.server import TestServer
from tests.e2e.ssh.elsewhere import ada, box, calls, on_a_machine
from tests.e2e.ssh.test_programs import (
    test_a_command_has_its_own_streams_and_exit,
    test_git_clones_and_pushes_over_ssh,
    test_ports_inside_are_reached_by_forwards,
    test_scp_sftp_and_rsync_copy_a_tree,
)
from tests.peers.machines.ssh_server import missing

__all__ = [
    "ada",
    "box",
    "calls",
    "test_a_command_has_its_own_streams_and_exit",
    "test_git_clones_and_pushes_over_ssh",
    "test_ports_inside_are_reached_by_forwards",
    "test_scp_sftp_and_rsync_copy_a_tree",
]

NOT_HERE = missing() or ("" if os.geteuid() == 0 else "needs root")
pytestmark = pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE)


@pytest.fixture(scope="module")
def gateway() -> Iterator[TestServer]:
    with on_a_machine() as server:
        yield server
