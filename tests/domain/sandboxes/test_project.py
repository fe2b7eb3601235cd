"""The approved project of a sandbox: what it changes, and the states of its set-up."""

from dataclasses import replace
from datetime import timedelta

import pytest

from atoll.domain.ids import PERSONAL_ORG, PrincipalId, SandboxId
from atoll.domain.network.network import Network
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.profile.profile import Profile, Repo
from atoll.domain.repository.project import DecidedProject, ProjectFile
from atoll.domain.sandboxes.create import Circumstances, first_repository, grant, names_branches
from atoll.domain.sandboxes.lifecycle import step
from atoll.domain.sandboxes.project import (
    ProjectRequest,
    SandboxProject,
    failure_of,
    mark_setup_begun,
    mark_setup_ended,
    project_of,
    server_argv,
    widen,
)
from atoll.domain.sandboxes.sandbox import Attachment, CreateSandbox, RepoRequest, Sandbox
from atoll.domain.sandboxes.stimulus import (
    PrebuildSettled,
    Reached,
    Recreate,
    Requested,
    ServersBegan,
    SetupBegan,
    SetupEnded,
    Stimulus,
    Stop,
)
from atoll.domain.sandboxes.task_queue import servers_due
from atoll.wire.words.library import ProjectDecision
from atoll.wire.words.networks import NetworkMode
from atoll.wire.words.sandboxes import SetupState, State
from tests.domain.sandboxes.test_lifecycle import NOW, new_sandbox

FILE = ProjectFile(".atoll.yaml", setup=("make",), network=("npm",), env=(("A", "1"),))
REQUEST = ProjectRequest("d" * 64)
DECIDED = DecidedProject(
    PERSONAL_ORG,
    PrincipalId("person"),
    "example.org/o/r",
    REQUEST.digest,
    ProjectDecision.APPROVED,
    FILE,
    NOW,
    "person",
)
PROJECT = project_of(DECIDED, REQUEST)


def granted(request: CreateSandbox, project: DecidedProject | None) -> Sandbox:
    circumstances = Circumstances(
        LOCAL_PERSON, NOW, frozenset(), SandboxId("sb_3456789"), project=project
    )
    return grant(request, Profile("profile.shell", "1.0.0"), circumstances)


def asked(**fields: object) -> CreateSandbox:
    repos = (RepoRequest("https://example.org/o/r", "fix"),)
    return CreateSandbox(repos=repos, project=REQUEST, **fields)  # type: ignore[arg-type]


def told(sandbox: Sandbox, *stimuli: Stimulus) -> tuple[Sandbox, list[str]]:
    """The sandbox afterwards, and the events of its set-up."""
    events: list[str] = []
    for stimulus in stimuli:
        sandbox, instructions = step(sandbox, stimulus, NOW + timedelta(seconds=1))
        named = (getattr(one, "event_type", "") for one in instructions)
        events += [name for name in named if "setup" in name]
    return sandbox, events


def test_approved_project_adds_presets_and_variables_and_the_caller_takes_precedence() -> None:
    made = granted(asked(env=(("A", "mine"), ("B", "2"))), DECIDED)
    assert made.profile.network.egress == ("preset:npm",)
    assert made.profile.network.mode is NetworkMode.LIMITED
    assert made.env == (("A", "mine"), ("B", "2"))
    assert made.project == PROJECT and PROJECT.state is SetupState.WAITING


def test_project_that_nobody_approved_adds_nothing() -> None:
    made = granted(asked(), None)
    assert (made.project, made.env, made.profile.network.egress) == (None, (), ())


def test_preset_is_added_once_and_no_mode_is_opened() -> None:
    network = Network(egress=("preset:npm",), mode=NetworkMode.NONE)
    assert widen(network, FILE) == network


def test_branches_are_named_where_no_repository_lacks_one() -> None:
    plain, named = (
        RepoRequest("https://example.org/o/r"),
        RepoRequest("https://example.org/o/r", "b"),
    )
    empty = Profile("profile.shell", "1.0.0")
    assert names_branches(CreateSandbox(), empty)
    assert names_branches(CreateSandbox(repos=(named,)), empty)
    assert not names_branches(CreateSandbox(repos=(named, plain)), empty)
    of_profile = replace(empty, repos=(Repo("https://example.org/o/r"),))
    assert not names_branches(CreateSandbox(), of_profile)
    assert names_branches(CreateSandbox(repos=(named,)), of_profile)


def test_first_repository_is_the_one_that_counts() -> None:
    profile = Profile("profile.shell", "1.0.0")
    assert first_repository(asked(), profile) == "example.org/o/r"
    assert first_repository(CreateSandbox(), profile) is None


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ({"code": 0}, None),
        ({"code": 7}, "A command ended with exit code 7."),
        ({"signal": "HUP"}, "It was ended by SIGHUP."),
        ({}, "A command ended with exit code unknown."),
    ],
)
def test_end_of_a_terminal_says_how_the_setup_went(
    end: dict[str, object], reason: str | None
) -> None:
    assert failure_of(end) == reason


def ready(project: SandboxProject | None, reached: SandboxProject | None) -> Sandbox:
    begun, _ = told(replace(new_sandbox(), project=project), Requested())
    return told(begun, Reached(1, Attachment(), project=reached))[0]


def test_setup_runs_and_ends_with_its_own_terminal_only() -> None:
    sandbox = ready(PROJECT, mark_setup_begun(PROJECT, "t_1"))
    assert sandbox.project is not None and sandbox.project.state is SetupState.RUNNING
    other, events = told(sandbox, SetupEnded("t_2", None))
    assert other == sandbox and events == []
    done, events = told(sandbox, SetupEnded("t_1", None), SetupEnded("t_1", "late"))
    assert done.project is not None and done.project.state is SetupState.DONE
    assert events == ["sandbox.setup_ended"]
    again, events = told(done, SetupBegan("t_3"))
    assert again.project is not None and again.project.terminal_id == "t_3"
    assert events == ["sandbox.setup_started"]


def test_setup_that_did_not_open_has_failed() -> None:
    begun, _ = told(replace(new_sandbox(), project=PROJECT), Requested())
    failed, events = told(begun, Reached(1, Attachment(), project=mark_setup_ended(PROJECT, "no")))
    assert failed.project is not None and failed.project.reason == "no"
    assert events == ["sandbox.setup_ended"]


@pytest.mark.parametrize(
    "stimulus",
    [SetupBegan("t_1"), SetupEnded("t_1", None), PrebuildSettled("k"), ServersBegan(NOW)],
)
def test_report_about_a_sandbox_without_a_project_changes_nothing(stimulus: Stimulus) -> None:
    sandbox = ready(None, None)
    assert told(sandbox, stimulus) == (sandbox, [])


def test_setup_that_a_stop_broke_off_has_failed_and_one_that_waits_waits() -> None:
    running = mark_setup_begun(PROJECT, "t_1")
    assert ready(PROJECT, PROJECT).project == PROJECT
    broken = ready(running, running).project
    assert broken is not None and broken.state is SetupState.FAILED
    stopped, _ = told(ready(PROJECT, running), Stop())
    assert told(stopped, SetupBegan("t_2")) == (stopped, [])
    ended, _ = told(stopped, SetupEnded("t_1", None))
    assert ended.project is not None and ended.project.state is SetupState.DONE


def test_recreate_runs_the_setup_again_where_there_is_one() -> None:
    done = mark_setup_ended(PROJECT, None)
    fresh, _ = told(ready(done, done), Recreate())
    assert fresh.project == PROJECT and fresh.state is State.PROVISIONING
    none = project_of(replace(DECIDED, content=ProjectFile("x")), REQUEST)
    fresh, _ = told(ready(none, none), Recreate())
    assert fresh.project is not None and fresh.project.state is SetupState.NONE


def test_servers_wait_for_the_setup_and_start_anew_in_each_runtime() -> None:
    served = replace(DECIDED, content=replace(FILE, servers=(("web", "npm run dev"),)))
    project = project_of(served, REQUEST)
    sandbox = ready(project, mark_setup_begun(project, "t_1"))
    assert not servers_due(sandbox)
    failed, _ = told(sandbox, SetupEnded("t_1", "no"))
    assert not servers_due(failed)
    done, _ = told(sandbox, SetupEnded("t_1", None))
    assert servers_due(done)
    assert done.ready_at is not None
    other, _ = told(done, ServersBegan(done.ready_at - timedelta(seconds=1)))
    assert servers_due(other)
    begun, _ = told(done, ServersBegan(done.ready_at))
    assert not servers_due(begun)
    assert begun.project is not None
    assert servers_due(ready(begun.project, begun.project))
    assert not servers_due(ready(PROJECT, mark_setup_ended(PROJECT, None)))
    assert not servers_due(ready(None, None))


def test_command_of_a_server_is_an_argument_and_no_part_of_a_script() -> None:
    argv = server_argv("web", "echo $(id)")
    assert argv[3:] == ("web", "echo $(id)") and "id" not in argv[2]
