"""Which test shows each field of a request body at work; `test_bodies_act` judges them.

The tests of a noun's routes name theirs themselves, in an `ACTS` of operation, field and test. Here
stand those whose test lies elsewhere.
"""

import ast

from tests.places import ROOT
from tests.services.test_fields_act import CALLERS, OWED_REQUESTS, REQUESTED

Acts = dict[str, str]
CREATE_TEST = "tests/services/test_fields_act.py::test_field_of_a_create_changes_what_happens"
LAYOUT = "tests/surfaces/test_repositories.py::"
STEERED = (
    "tests/runtime/agents/test_setting_changes.py::"
    "test_owner_changes_model_and_mode_once_the_agent_accepts"
)
SETUPS = "tests/services/provisioning/steps/test_project_setup.py::"
PULLS = "tests/surfaces/test_pulls.py::"
SYNCS = "tests/surfaces/test_syncs.py::"
MERGED = "tests/surfaces/test_merges.py::test_merge_over_the_api_becomes_a_branch_inside"
MERGES = "tests/services/work/test_merges.py::"
PROJECTS = "tests/surfaces/test_projects.py::"
PROJECT_DECIDED = "test_decision_is_bound_to_what_was_shown_and_asked_again_after_a_change"
TREES = "tests/services/library/test_workspaces.py::"
MOUNTS = "tests/e2e/walls/test_places.py::test_mounts_through_the_api_need_an_allowed_folder"
PRICES = {
    f"route.max_cost_per_hour.{part}": f"{CREATE_TEST}[route.max_cost_per_hour]"
    for part in ("micros", "currency")
}
WORKERS = "tests/services/workers/test_workers.py::"
SELECTED = "tests/services/workers/test_selection.py::"
INTERNAL = "tests/security/people/test_internal_token.py::"
WORKER_HOST = "tests/services/workers/test_runtime_host.py::"
WORKER_FIELDS = (
    *("agent", "backend", "execution_mode", "profile", "workspace_ref", "thread_id"),
    "permissions",
)
SNAPSHOTS = "tests/e2e/waiting/test_snapshots.py::"
FORKS = "tests/e2e/agents/test_agent_forks.py::"
RESTORED = SNAPSHOTS + "test_sandbox_comes_back_as_it_was"
FORKED = SNAPSHOTS + "test_forks_go_on_in_branches_of_their_own"
SEEDED = SNAPSHOTS + "test_new_sandbox_begins_as_a_snapshot_whose_sandbox_is_gone"
UNPROMISED = SNAPSHOTS + "test_what_is_not_promised_is_refused_and_nothing_is_kept"
TALKING = FORKS + "test_copies_go_on_from_the_same_turn_begin_anew_or_are_without_an_agent"
HOOKED = (
    "tests/surfaces/http/sandboxes/test_lifecycle_webhooks.py::"
    "test_events_of_a_sandbox_are_posted_signed_and_in_order_until_it_is_gone"
)
CREATE: Acts = {
    **PRICES,
    "lifecycle_webhook.url": HOOKED,
    "lifecycle_webhook.secret_ref": HOOKED,
    "seed.snapshot": SEEDED,
    "seed.branch": SEEDED,
    "seed.conversation": SEEDED,
    **{
        field: f"{CREATE_TEST}[{field}]"
        for field in REQUESTED
        if field not in {"repos", "mounts", "project", "route.max_cost_per_hour"}
    },
    "repos.repo_url": TREES + "test_trees_of_two_repositories_lie_side_by_side",
    "repos.branch": LAYOUT
    + "test_repositories_lie_where_they_were_asked_to_and_know_where_they_began",
    "repos.from_branch": TREES
    + "test_tree_from_an_unknown_start_is_invalid_and_says_what_there_is",
    "repos.key": LAYOUT + "test_local_checkout_uploaded_twice_sends_only_what_is_new",
    "repos.sparse": TREES + "test_tree_of_named_folders_has_only_these",
    "repos.path": LAYOUT
    + "test_repositories_lie_where_they_were_asked_to_and_know_where_they_began",
    "project.digest": SETUPS + "test_project_that_its_person_did_not_approve_makes_no_sandbox",
    "project.setup": SETUPS
    + "test_setup_that_waits_for_files_starts_when_asked_and_only_once_at_a_time",
    "mounts.source": MOUNTS,
    "mounts.target": MOUNTS,
    "mounts.grant": MOUNTS,
    "mounts.private": MOUNTS,
    "mounts.access": "tests/services/test_fields_act.py::"
    "test_access_of_a_mount_changes_what_the_wall_is_asked_for",
}

REQUESTS = "tests/runtime/agents/test_agent_requests.py::"
TERMINALS = "tests/runtime/terminals/test_terminals.py::"
LOCK = "tests/runtime/terminals/test_softlock.py::"
PROGRAM = TERMINALS + "test_open_without_argv_is_the_shell_and_with_agent_its_program"
SIZED = REQUESTS + "test_terminal_opens_with_the_size_directory_and_name_of_its_order"
TERMINAL: Acts = {
    "agent": PROGRAM,
    "argv": PROGRAM,
    "env": PROGRAM,
    "cols": SIZED,
    "rows": SIZED,
    "cwd": SIZED,
    "name": SIZED,
    "ring_bytes": TERMINALS + "test_since_that_fell_off_gets_start_and_then_resync",
    "softlock": LOCK + "test_softlock_of_a_terminal_without_an_agent_is_refused",
}

REGISTER = "tests/runtime/agents/test_register.py::"
CONVERSATION = REGISTER + "test_agent_goes_on_with_the_conversation_it_is_opened_with"
MACHINE = "tests/runtime/agents/test_agents.py::test_machine_is_asked_answered_and_stopped"
AGENT_SIZED = REQUESTS + "test_agent_opens_at_the_size_of_its_order_and_resumes_when_told_to"
AGENT: Acts = {
    "agent": CONVERSATION,
    "conversation": CONVERSATION,
    "cwd": CONVERSATION,
    "name": CONVERSATION,
    "mode": MACHINE,
    "permissions": MACHINE,
    "prompt": MACHINE,
    "cols": AGENT_SIZED,
    "rows": AGENT_SIZED,
    "resume": AGENT_SIZED,
    "env": REGISTER + "test_files_that_make_an_agent_tell_lie_beside_its_ear_while_it_lives",
    "softlock": LOCK + "test_strict_lock_stops_the_owner_but_for_interrupts",
}

EXECS = "tests/runtime/execs/test_execs.py::"
LINE = EXECS + "test_exec_of_a_shell_line_with_cwd_env_and_stdin"
EXEC: Acts = {
    "argv": EXECS + "test_exec_keeps_streams_apart_and_reports_the_code",
    "shell": LINE,
    "cwd": LINE,
    "env": LINE,
    "stdin": LINE,
    "background": EXECS + "test_exec_in_the_background_is_fed_followed_and_reattached_by_offset",
    "max_output_bytes": EXECS + "test_exec_beyond_the_cap_is_cut_counted_and_not_blocked",
    "reap": EXECS + "test_exec_with_reap_ends_all_that_its_program_started",
    "timeout": EXECS + "test_exec_past_its_time_has_its_tree_killed",
}

FILES = "tests/runtime/files/test_runtime_files.py::"
MADE = FILES + "test_mkdir_move_and_delete_do_as_they_say"
SIGNALLED = TERMINALS + "test_signal_int_goes_to_the_foreground_and_term_to_the_tree"
RECORDED = "tests/runtime/recordings/test_reading.py::"
RECORDED += "test_recording_is_shown_to_all_and_begins_with_the_screen"
FIXED = "tests/runtime/terminals/test_viewing.py::"
FIXED += "test_fixed_size_follows_no_driver_until_it_is_let_go"
INBOX = "tests/services/inbox/test_inbox.py::"
APPROVALS = "tests/security/secrets/test_secrets.py::test_only_a_present_person_approves"
UNPULLED = LAYOUT + "test_unpulled_work_of_several_repositories_and_beside_them_is_told"
BOX = "/v1/sandboxes/{sandbox}"
HERE = f"{BOX}/terminals/{{terminal}}"

#: The test in which each field acts.
FORGES = "tests/services/forges/test_pull_requests.py::"
OPENED = FORGES + "test_branch_is_pushed_and_its_pull_request_opened_once"
LOOK_ALIKE = {
    "forge": "tests/surfaces/http/test_pull_requests.py"
    "::test_pull_requests_are_shown_by_the_token_of_their_forge",
    "extension": "tests/e2e/walls/test_clouds.py"
    "::test_key_of_the_kind_extension_is_shown_without_its_value",
    "look_alike": "tests/surfaces/http/test_secrets.py"
    "::test_look_alike_host_is_refused_in_both_spellings_until_a_person_read_them",
}


def _named_by_tests() -> dict[str, Acts]:
    """Return what the tests of routes name as `ACTS`, with the place of each test."""
    found: dict[str, Acts] = {}
    for path in sorted((ROOT / "tests/surfaces/http").rglob("test_*.py")):
        place = path.relative_to(ROOT)
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ACTS":
                for operation, acts in ast.literal_eval(node.value).items():
                    named = {field: f"{place}::{test}" for field, test in acts.items()}
                    found[operation] = {**found.get(operation, {}), **named}
    return found


EDITS = "tests/services/library/test_tree_edits.py::"
HUNK = EDITS + "test_one_hunk_is_discarded_and_the_others_stay"
REVIEWED = "tests/surfaces/test_changes.py::test_files_are_discarded_and_committed_over_the_api"
ACTS: dict[str, Acts] = {
    f"POST {BOX}/changes/discard": {
        "path": REVIEWED,
        "digest": EDITS + "test_discard_of_what_changed_meanwhile_is_refused",
        "against": EDITS + "test_discard_against_the_base_undoes_what_was_committed",
        "checkpoint": REVIEWED,
        "repo": REVIEWED,
        **{
            f"hunk.{field}": HUNK
            for field in ("old_start", "old_lines", "new_start", "new_lines", "context")
        },
    },
    f"POST {BOX}/commit": {"message": REVIEWED, "paths": REVIEWED, "repo": REVIEWED},
    f"POST {BOX}/pull-requests": {
        **dict.fromkeys(("title", "text", "branch", "base", "draft"), OPENED),
        "repo": FORGES + "test_repository_that_the_sandbox_does_not_have_is_refused",
    },
    **_named_by_tests(),
    "POST /v1/secrets": LOOK_ALIKE,
    "PUT /v1/secrets/{secret}": LOOK_ALIKE,
    "POST /sessions": CREATE,
    "POST /v1/sandboxes": CREATE,
    "POST /v1/workers": {
        **{field: test for field, test in CREATE.items() if field.startswith("repos.")},
        **{
            field: f"{WORKER_HOST}test_field_of_a_create_changes_what_is_asked_for[{field}]"
            for field in WORKER_FIELDS
        },
        "codex_home_ref": "tests/domain/workers/test_create.py::"
        "test_codex_home_ref_is_used_with_the_workspace_of_its_sandbox",
        "selection.allow": SELECTED + "test_started_event_and_snapshot_say_where_and_why",
        **{
            f"selection.{field}": SELECTED + "test_cheapest_that_keeps_the_limits_is_chosen"
            for field in (
                *("region", "strategy", "max_cost_per_hour.amount", "max_cost_per_hour.currency"),
            )
        },
        **{
            f"selection.{field}": SELECTED
            + "test_worker_that_no_backend_takes_is_refused_and_not_stored"
            for field in ("max_ready_ms", "min_success", "require_isolation")
        },
        "selection.accept_open_network": SELECTED
        + "test_open_network_is_taken_only_where_the_create_accepts_it",
        "worker_id": WORKERS + "test_retained_worker_is_reattached_after_a_stop",
        "teardown.policy": WORKERS + "test_stopped_worker_that_is_not_retained_is_removed",
        "teardown.retain_for": WORKERS + "test_retained_worker_is_removed_once_retain_for_is_over",
    },
    "POST /v1/workers/{worker_id}/take": {
        "thread_id": "tests/services/workers/test_handing_over.py::"
        "test_conversation_is_taken_once_and_given_back",
        "desktop": "tests/client/desktop/test_lane.py::"
        "test_conversation_is_taken_at_the_desktop_alone_and_given_back",
    },
    "POST /v1/workers/{worker_id}/requests": {
        "request.request_id": WORKERS
        + "test_request_has_one_receipt_and_other_content_is_a_conflict",
        "request.params": WORKERS + "test_request_has_one_receipt_and_other_content_is_a_conflict",
        "request.method": WORKERS + "test_method_that_no_table_allows_is_never_sent",
        "wait_ms": WORKERS + "test_request_waits_for_its_receipt_as_long_as_wait_ms",
    },
    "POST /internal/executions/{worker_id}/artifacts": dict.fromkeys(
        ("name", "type", "size", "sha256"),
        INTERNAL + "test_trusted_service_reports_an_artifact_and_an_event",
    ),
    "POST /internal/events": {
        "name": INTERNAL + "test_webhook_starts_from_an_event",
        "worker_id": INTERNAL + "test_tenancy_is_that_of_the_services_own_token",
    },
    "POST /v1/routes/explain": {
        field: test
        for field, test in CREATE.items()
        if field.startswith(("route.", "inputs.", "mounts."))
        or field in {"profile", "profile_version", "host", "network_mode"}
    },
    "POST /sessions/{session}/ptys": TERMINAL,
    f"POST {BOX}/terminals": TERMINAL,
    f"POST {BOX}/agents": AGENT,
    f"POST {BOX}/exec": EXEC,
    f"POST {BOX}/exec/{{command}}/signal": {
        "signal": EXECS + "test_exec_signalled_ends_and_stays_readable_until_deleted",
    },
    f"POST {HERE}/signal": {"signal": SIGNALLED},
    f"PATCH {HERE}": {
        "name": TERMINALS + "test_renamed_terminal_has_its_new_name_everywhere",
        "fixed": FIXED,
        "cols": FIXED,
        "rows": FIXED,
    },
    f"POST {HERE}/resize": {"cols": RECORDED, "rows": RECORDED},
    f"POST {HERE}/ask": {
        "prompt": "tests/e2e/agents/test_agent_control.py::"
        "test_agent_as_a_machine_works_answers_and_shows_its_cards",
    },
    f"POST {HERE}/agent": {
        "action": "tests/e2e/agents/test_agent_control.py::"
        "test_agent_as_a_machine_works_answers_and_shows_its_cards",
        "gaps": "tests/runtime/agents/test_agents.py::"
        "test_stop_ends_a_tree_that_ignores_everything_and_left_its_session",
    },
    f"PATCH {BOX}/agents/{{agent}}/settings": {"model": STEERED, "permission_mode": STEERED},
    f"POST {HERE}/cards/{{card}}/answer": {
        "option": MACHINE,
        "text": "tests/domain/agents/codex/test_conversation.py::"
        "test_question_is_answered_by_an_option_or_in_words",
    },
    f"POST {BOX}/files/mkdir": {"path": MADE, "parents": MADE},
    f"POST {BOX}/files/move": {
        "from": MADE,
        "to": MADE,
        "overwrite": FILES + "test_move_overwrites_a_file_only_when_asked",
    },
    f"POST {BOX}/snapshots": {
        "name": RESTORED,
        "ttl": RESTORED,
        "mode": f"{UNPROMISED}[mode]",
        "memory": f"{UNPROMISED}[memory]",
    },
    f"POST {BOX}/restore": {"snapshot": RESTORED},
    f"POST {BOX}/fork": {
        **dict.fromkeys(("count", "name", "branch", "ttl"), FORKED),
        **dict.fromkeys(("conversation", "prompt"), TALKING),
    },
    f"POST {BOX}/extend_ttl": {
        "ttl": "tests/surfaces/http/sandboxes/test_sandboxes.py::"
        "test_life_of_a_sandbox_by_name_through_every_act",
    },
    f"POST {BOX}/pulls": {
        "repo": PULLS + "test_order_that_cannot_be_is_refused",
        "branch": PULLS + "test_order_is_taken_once_pulled_and_told",
        "into": PULLS + "test_order_is_taken_once_pulled_and_told",
        "uncommitted": PULLS + "test_order_is_taken_once_pulled_and_told",
        "pushed": PULLS + "test_order_of_a_held_push_brings_it",
        "expects": PULLS + "test_ordered_push_that_was_pushed_again_is_not_brought",
    },
    "POST /v1/pulls/take": {
        "key": PULLS + "test_order_waits_for_its_own_checkout",
        "repo_url": PULLS + "test_order_waits_for_its_own_checkout",
    },
    "POST /v1/pulls/{order}/result": {
        "done": PULLS + "test_order_is_taken_once_pulled_and_told",
        "written": PULLS + "test_order_is_taken_once_pulled_and_told",
        "commit": PULLS + "test_order_is_taken_once_pulled_and_told",
        "commits": PULLS + "test_order_is_taken_once_pulled_and_told",
        "said": PULLS + "test_pull_that_fails_says_why",
    },
    f"POST {BOX}/sync": {
        "repo": SYNCS + "test_sync_that_cannot_begin_changes_nothing",
        "onto": SYNCS + "test_sync_that_cannot_begin_changes_nothing",
        "act": SYNCS + "test_conflict_stops_is_told_and_undone",
        "agent": SYNCS + "test_conflict_without_an_agent_cannot_be_handed_over",
        "now": "tests/services/library/test_syncs.py::"
        "test_sync_waits_for_an_agent_at_work_unless_now",
    },
    f"POST {BOX}/merge": {
        **dict.fromkeys(("repo", "into", "agent", "now"), MERGED),
        "way": MERGES + "test_branch_goes_onto_the_newest_commits_of_the_other",
        "title": MERGES + "test_squash_names_what_it_holds",
        "commit": MERGES + "test_uncommitted_changes_are_refused_or_committed_first",
        "push": MERGES + "test_push_that_may_not_leave_is_held",
    },
    f"POST {BOX}/pulled": {"repo": UNPULLED, "commit": UNPULLED},
    "POST /v1/approvals/{approval}/approve": {
        "shown": APPROVALS,
        "for": "tests/security/secrets/test_secrets.py::test_rotation_takes_back_what_was_approved",
        "words": "tests/surfaces/http/test_approvals.py::"
        "test_token_alone_does_not_approve_and_the_words_do",
        "ttl": "tests/surfaces/http/test_approvals.py::test_approval_for_a_time_ends_with_its_ttl",
    },
    "POST /v1/inbox/{item}/answer": {
        "option": INBOX + "test_permission_of_an_agent_is_answered_by_its_option",
        "text": INBOX + "test_question_of_an_agent_is_answered_in_words",
        "shown": INBOX + "test_answer_to_something_else_than_what_was_shown_is_refused",
        "words": INBOX + "test_approval_from_a_terminal_needs_the_words_of_a_person",
    },
    "POST /v1/projects/decision": {
        **dict.fromkeys(("shown", "decision"), PROJECTS + PROJECT_DECIDED),
        **dict.fromkeys(
            (
                "repository.branch",
                "repository.from_branch",
                "repository.key",
                "repository.repo_url",
            ),
            PROJECTS + "test_file_is_the_one_of_the_commit_that_a_sandbox_would_start_from",
        ),
    },
    "POST /v1/repositories/fetch": {
        "repo_url": LAYOUT + "test_remote_fetched_then_worked_on_then_pulled",
    },
    "POST /v1/repositories/local/{key}/have": {
        "tips": LAYOUT + "test_upload_is_told_which_of_its_tips_are_stored",
    },
}

#: Labels, which their owner reads, and what the command line itself acts on.
DESCRIBING = {
    "POST /v1/workers": {"metadata"},
    "POST /v1/workers/{worker_id}/stop": {"reason"},
    "POST /internal/events": {"data"},
    "POST /v1/workers/{worker_id}/events": {
        *("items.event.thread_id", "items.error.retryable"),
        *("items.heartbeat.heartbeat_state", "items.heartbeat.heartbeat_age_ms"),
    },
    f"POST {BOX}/shares": {"name"},
    "POST /sessions": CALLERS,
    "POST /v1/sandboxes": CALLERS,
    "POST /v1/hosts": {"labels"},
    "PATCH /v1/hosts/{host}": {"labels"},
}
#: Fields nothing acts on yet, and the issue that owes it.
_ROUTED = {"region": 16, "cost_per_hour.micros": 16, "cost_per_hour.currency": 16}
OWED = {
    "POST /sessions": OWED_REQUESTS,
    "POST /v1/sandboxes": OWED_REQUESTS,
    "POST /v1/hosts": _ROUTED,
    "PATCH /v1/hosts/{host}": _ROUTED,
}
