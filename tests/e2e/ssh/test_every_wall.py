"""Programs and shells over SSH once more where sandboxes are containers, and where they are on
another machine: `make test-backends` runs these."""

from collections.abc import Iterator

import pytest

from atoll.testing.server import TestServer
from tests.e2e.ssh.elsewhere import ada, box, calls, in_containers, on_a_machine
from tests.e2e.ssh.test_kills import test_control_plane_killed_amid_everything_is_not_noticed
from tests.e2e.ssh.test_programs import (
    test_a_client_that_goes_ends_its_program,
    test_a_forward_reaches_a_socket_of_the_workspace_alone,
    test_a_program_may_end_its_output_and_read_on,
    test_every_byte_passes_both_ways,
    test_every_exit_code_and_signal_is_the_programs,
    test_forwards_reach_the_sandbox_and_nothing_else,
    test_sftp_serves_workspace_and_state_and_nothing_else,
    test_twenty_channels_share_a_connection,
    test_variables_are_those_of_language_alone,
)
from tests.e2e.ssh.test_shells import (
    test_a_command_at_a_terminal_ends_as_it_ends,
    test_a_killed_gateway_is_back_and_its_terminals_live,
    test_a_shell_types_resizes_and_exits,
    test_a_terminal_lives_on_when_its_client_is_killed,
    test_it_survives_a_kill_of_the_control_plane,
    test_others_watch_it_and_one_drives,
    test_what_is_typed_over_ssh_shows_on_the_page,
)
from tests.peers.docker_daemon import why_not
from tests.peers.machines.ssh_server import missing

__all__ = [
    "ada",
    "box",
    "calls",
    "test_a_client_that_goes_ends_its_program",
    "test_a_command_at_a_terminal_ends_as_it_ends",
    "test_a_forward_reaches_a_socket_of_the_workspace_alone",
    "test_a_killed_gateway_is_back_and_its_terminals_live",
    "test_a_program_may_end_its_output_and_read_on",
    "test_a_shell_types_resizes_and_exits",
    "test_a_terminal_lives_on_when_its_client_is_killed",
    "test_control_plane_killed_amid_everything_is_not_noticed",
    "test_every_byte_passes_both_ways",
    "test_every_exit_code_and_signal_is_the_programs",
    "test_forwards_reach_the_sandbox_and_nothing_else",
    "test_it_survives_a_kill_of_the_control_plane",
    "test_others_watch_it_and_one_drives",
    "test_sftp_serves_workspace_and_state_and_nothing_else",
    "test_twenty_channels_share_a_connection",
    "test_variables_are_those_of_language_alone",
    "test_what_is_typed_over_ssh_shows_on_the_page",
]

NOT_HERE = why_not() or missing() or ""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.docker,
    pytest.mark.root,
    pytest.mark.skipif(bool(NOT_HERE), reason=f"no Docker daemon or sshd: {NOT_HERE}"),
]


@pytest.fixture(scope="module", params=["docker", "ssh"])
def gateway(request: pytest.FixtureRequest) -> Iterator[TestServer]:
    with in_containers() if request.param == "docker" else on_a_machine() as server:
        yield server
