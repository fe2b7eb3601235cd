import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import Invalid
from atoll.domain.sandboxes.sandbox import RepoRequest
from atoll.domain.workers.create import (
    RETENTION_SECONDS,
    CreateWorker,
    WorkerId,
    WorkerTeardown,
    judge_create,
)
from atoll.domain.workers.selection import backend_of, extension_of
from atoll.protocol.v1 import codex_sandbox_pb2
from atoll.wire.words.routes import ExecutionMode
from atoll.wire.words.workers import MOST_METADATA, TeardownPolicy

AGENTS = frozenset({"codex", "claude"})
ID = WorkerId("w-1")
WORKSPACE, AGENT_HOME = "sandbox:sb_1/workspace", "sandbox:sb_1/agent-home"


def test_full_request_is_good() -> None:
    judge_create(
        CreateWorker(
            ID,
            agent="claude",
            backend="daytona",
            execution_mode=ExecutionMode.SANDBOX,
            repos=(RepoRequest("", key="r"),),
            thread_id="0199-ab",
            metadata={"team": "blue"},
        ),
        AGENTS,
    )
    judge_create(CreateWorker(ID, backend="desktop", execution_mode=ExecutionMode.DESKTOP), AGENTS)
    judge_create(CreateWorker(ID, backend="ext.desktop"), AGENTS)
    judge_create(CreateWorker(ID), AGENTS)
    moved = CreateWorker(ID, workspace_ref=WORKSPACE, codex_home_ref=AGENT_HOME)
    judge_create(moved, AGENTS)
    assert moved.named_sandbox == "sb_1"
    assert CreateWorker(ID).named_sandbox is None


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (CreateWorker(WorkerId("../x")), "worker_id"),
        (CreateWorker(WorkerId("")), "worker_id"),
        (CreateWorker(ID, agent="other"), "agent"),
        (
            CreateWorker(ID, backend="daytona", execution_mode=ExecutionMode.DESKTOP),
            "execution_mode",
        ),
        (
            CreateWorker(ID, backend="desktop", execution_mode=ExecutionMode.SANDBOX),
            "execution_mode",
        ),
        (CreateWorker(ID, backend="desktop", repos=(RepoRequest("", key="r"),)), "repos"),
        (
            CreateWorker(
                ID, execution_mode=ExecutionMode.DESKTOP, repos=(RepoRequest("", key="r"),)
            ),
            "repos",
        ),
        (CreateWorker(ID, codex_home_ref="/root/.codex"), "codex_home_ref"),
        (CreateWorker(ID, workspace_ref=AGENT_HOME), "workspace_ref"),
        (CreateWorker(ID, codex_home_ref=AGENT_HOME), "codex_home_ref"),
        (
            CreateWorker(
                ID, workspace_ref=WORKSPACE, codex_home_ref=AGENT_HOME.replace("_1", "_2")
            ),
            "codex_home_ref",
        ),
        (CreateWorker(ID, workspace_ref=WORKSPACE, profile="shell"), "profile"),
        (
            CreateWorker(
                ID, workspace_ref=WORKSPACE, teardown=WorkerTeardown(TeardownPolicy.IMMEDIATE)
            ),
            "teardown",
        ),
        (
            CreateWorker(ID, workspace_ref=WORKSPACE, teardown=WorkerTeardown(retain_seconds=60)),
            "teardown",
        ),
        (CreateWorker(ID, workspace_ref=WORKSPACE, backend="daytona"), "backend"),
        (CreateWorker(ID, workspace_ref=WORKSPACE, repos=(RepoRequest("", key="r"),)), "repos"),
        (CreateWorker(ID, thread_id="a b"), "thread_id"),
        (CreateWorker(ID, metadata={"": "x"}), "metadata"),
        (CreateWorker(ID, metadata={"a": "x" * 513}), "metadata"),
        (CreateWorker(ID, metadata={f"k{n}": "" for n in range(MOST_METADATA + 1)}), "metadata"),
    ],
)
def test_wrong_field_is_named(request_: CreateWorker, field: str) -> None:
    with pytest.raises(Invalid) as refusal:
        judge_create(request_, AGENTS)
    assert refusal.value.field == field


def test_codex_home_ref_is_used_with_the_workspace_of_its_sandbox() -> None:
    with pytest.raises(Invalid, match="name both") as refusal:
        judge_create(CreateWorker(ID, codex_home_ref=AGENT_HOME), AGENTS)
    assert refusal.value.field == "codex_home_ref"


@given(st.text(max_size=40))
def test_no_path_is_a_reference(text: str) -> None:
    for ref in (f"/{text}", f"file:{text}", f"sandbox:a/{text}/..", f"sandbox:../{text}"):
        with pytest.raises(Invalid):
            judge_create(CreateWorker(ID, workspace_ref=ref), AGENTS)


def test_teardown_keeps_as_long_as_it_says() -> None:
    assert WorkerTeardown().kept_seconds == RETENTION_SECONDS
    assert WorkerTeardown(TeardownPolicy.RETAIN, 60).kept_seconds == 60
    assert WorkerTeardown(TeardownPolicy.IMMEDIATE).kept_seconds == 0


@pytest.mark.parametrize(("policy", "seconds"), [("immediate", 60), ("retain", 0)])
def test_teardown_that_contradicts_itself_is_invalid(policy: str, seconds: int) -> None:
    with pytest.raises(Invalid) as refusal:
        WorkerTeardown(TeardownPolicy(policy), seconds)
    assert refusal.value.field == "teardown.retain_for"


def test_backends_are_extensions() -> None:
    assert extension_of("cloudflare_sandbox") == "ext.cloudflare"
    assert extension_of("in_memory") == "ext.in-memory"
    assert extension_of("docker") == extension_of("ext.docker") == "ext.docker"
    assert extension_of("mine") == "ext.mine"
    assert backend_of("ext.mine") == "extension"
    for word in codex_sandbox_pb2.Backend.Value.DESCRIPTOR.values_by_name:
        if word not in ("unspecified", "extension"):
            assert backend_of(extension_of(word)) == word


def test_request_admits_one_kind_of_machine_or_either() -> None:
    desktop, sandbox = ExecutionMode.DESKTOP, ExecutionMode.SANDBOX
    assert CreateWorker(ID).only_mode is None
    assert CreateWorker(ID, backend="desktop").only_mode is desktop
    assert CreateWorker(ID, execution_mode=desktop).only_mode is desktop
    for request in (
        CreateWorker(ID, backend="daytona"),
        CreateWorker(ID, execution_mode=sandbox),
        CreateWorker(ID, workspace_ref=WORKSPACE),
        CreateWorker(ID, repos=(RepoRequest("", key="r"),)),
    ):
        assert request.only_mode is sandbox
