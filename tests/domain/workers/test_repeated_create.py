from dataclasses import fields, replace
from typing import Any

import pytest

from atoll.domain.errors import Conflict
from atoll.domain.sandboxes.sandbox import RepoRequest
from atoll.domain.workers.create import RETENTION_SECONDS, CreateWorker, WorkerId, WorkerTeardown
from atoll.domain.workers.repeated_create import FIELDS, ExistingWorker, check_repeated, names_of
from atoll.domain.workers.selection import Selection
from atoll.wire.words.routes import ExecutionMode, Strategy
from atoll.wire.words.workers import Permissions, TeardownPolicy


def test_every_field_of_a_repeated_create_is_held_against_what_stands() -> None:
    assert {one.name for one in fields(CreateWorker)} - {"worker_id"} == set(FIELDS)


MADE = CreateWorker(
    WorkerId("w"), metadata={"a": "b"}, selection=Selection(("namespaces", "docker"))
)
STANDS = ExistingWorker(MADE, "codex", "ext.docker", "sb_one", frozenset({"t-1"}))
#: A field, a value that stands (in other words, where there are any), and another one.
REPEATED: dict[str, tuple[Any, Any]] = {
    "agent": ("codex", "claude-code"),
    "backend": ("docker", "namespaces"),
    "execution_mode": (ExecutionMode.SANDBOX, ExecutionMode.DESKTOP),
    "profile": ("profile.codex", "shell"),
    "repos": ((), (RepoRequest("o/r"),)),
    "workspace_ref": ("sandbox:sb_one/workspace", "sandbox:sb_two/workspace"),
    "codex_home_ref": ("sandbox:sb_one/agent-home", "sandbox:sb_two/agent-home"),
    "thread_id": ("t-1", "t-2"),
    "permissions": (Permissions.ALLOW, Permissions.ASK),
    "teardown": (
        WorkerTeardown(retain_seconds=RETENTION_SECONDS),
        WorkerTeardown(TeardownPolicy.IMMEDIATE),
    ),
    "metadata": ({"a": "b"}, {"a": "c"}),
    "selection": (
        Selection(("ext.docker", "namespaces"), Strategy.DESKTOP_PREFERRED),
        Selection(("docker",)),
    ),
}


@pytest.mark.parametrize("field", FIELDS)
def test_repeated_create_is_the_same_worker_or_a_conflict_that_names_the_field(field: str) -> None:
    same, other = (replace(MADE, **{field: value}) for value in REPEATED[field])
    check_repeated(same, STANDS, {field})
    with pytest.raises(Conflict) as refused:
        check_repeated(other, STANDS, {field})
    assert refused.value.field == field
    check_repeated(other, STANDS, ())
    assert field in names_of(other)


def test_backend_of_a_repeated_create_is_the_same_before_the_worker_has_a_place() -> None:
    made = replace(MADE, backend="docker")
    check_repeated(replace(made, backend="ext.docker"), ExistingWorker(made, "codex"), {"backend"})


@pytest.mark.parametrize("first", ["vm-packer", "microvm"])
def test_another_name_of_a_backend_is_the_same_backend(first: str) -> None:
    made = replace(MADE, backend=first)
    for extension in (None, "ext.microvm"):
        stands = ExistingWorker(made, "codex", extension)
        for again in ("vm-packer", "ext.vm-packer", "microvm"):
            check_repeated(replace(made, backend=again), stands, {"backend"})
    allowed = replace(MADE, selection=Selection((first,)))
    same = replace(MADE, selection=Selection(("ext.vm-packer",)))
    check_repeated(same, ExistingWorker(allowed, "codex"), {"selection"})
