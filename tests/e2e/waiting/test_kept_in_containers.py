"""What a stopped, expired or failed sandbox keeps, and what happens without a control plane, once
more where sandboxes are containers: `make test-backends` runs these."""

import pytest

from tests.e2e.test_crashes import (
    test_exec_running_over_a_killed_control_plane_resumes_by_offset,
    test_runtime_killed_while_no_control_plane_was_there_is_told_by_its_reason,
    test_what_happened_while_no_control_plane_was_there_is_logged_once,
)
from tests.e2e.waiting.test_kept import (
    checkout,
    test_destroyed_sandbox_leaves_files_and_commits_to_its_person,
    test_sandbox_that_does_not_run_leaves_its_files_and_commits,
)
from tests.e2e.waiting.test_kept_files import (
    test_expired_sandbox_gives_its_files_and_starts_with_its_whole_time,
    test_maintenance_start_killed_while_it_is_read_leaves_the_state_as_it_was,
    test_maintenance_start_of_a_killed_control_plane_ends_by_itself,
)
from tests.e2e.waiting.test_recordings_kept import (
    test_recording_is_had_of_a_sandbox_that_does_not_run,
)
from tests.e2e.walls.test_docker import api, atoll, daemon, server, standing, usual
from tests.peers.docker_daemon import why_not

__all__ = [
    "api",
    "atoll",
    "checkout",
    "daemon",
    "server",
    "standing",
    "test_destroyed_sandbox_leaves_files_and_commits_to_its_person",
    "test_exec_running_over_a_killed_control_plane_resumes_by_offset",
    "test_expired_sandbox_gives_its_files_and_starts_with_its_whole_time",
    "test_maintenance_start_killed_while_it_is_read_leaves_the_state_as_it_was",
    "test_maintenance_start_of_a_killed_control_plane_ends_by_itself",
    "test_recording_is_had_of_a_sandbox_that_does_not_run",
    "test_runtime_killed_while_no_control_plane_was_there_is_told_by_its_reason",
    "test_sandbox_that_does_not_run_leaves_its_files_and_commits",
    "test_what_happened_while_no_control_plane_was_there_is_logged_once",
    "usual",
]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.docker,
    pytest.mark.root,
    pytest.mark.skipif(bool(why_not()), reason=f"no Docker daemon: {why_not()}"),
]
