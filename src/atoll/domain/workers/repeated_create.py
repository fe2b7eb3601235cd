"""A create of a worker that is repeated, and the judgement of each field that it names."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from atoll.domain.errors import Conflict
from atoll.domain.profile.schema import profile_id
from atoll.domain.routes.policy import DESKTOP, RouteOptions
from atoll.domain.sandboxes.repeated_create import same_repositories
from atoll.domain.workers.create import PARTS, CreateWorker, WorkerTeardown
from atoll.domain.workers.selection import Selection, extension_of
from atoll.wire.words.routes import ExecutionMode

FIELDS: Final = (
    *("agent", "backend", "execution_mode", "profile", "repos", "workspace_ref"),
    *("codex_home_ref", "thread_id", "permissions", "teardown", "metadata", "selection"),
)
"""The fields of a create besides its id."""


@dataclass(frozen=True, slots=True)
class ExistingWorker:
    """A worker as it stands: its first create, the profile and the backend that it got, the sandbox
    with its files, and the conversations that it has."""

    created: CreateWorker
    profile: str
    extension: str | None = None
    sandbox: str | None = None
    threads: frozenset[str] = frozenset()


def check_repeated(request: CreateWorker, worker: ExistingWorker, named: Collection[str]) -> None:
    """Check a create that is repeated: each field that it named is equal to what stands, as the
    first create said it or as it came out where that left the choice open. Raises `Conflict`."""
    for name in FIELDS:
        if name in named and not _is_same(name, request, worker):
            raise Conflict(
                f"worker {request.worker_id} is there already, made with another {name}: leave "
                f"{name} out to reattach it as it is, or take another worker_id",
                field=name,
            )


def names_of(request: CreateWorker) -> frozenset[str]:
    """Return the fields that differ from those of a create that names none."""
    plain = CreateWorker(request.worker_id)
    return frozenset(one for one in FIELDS if getattr(request, one) != getattr(plain, one))


def _is_same(name: str, request: CreateWorker, worker: ExistingWorker) -> bool:
    wanted = getattr(request, name)
    if wanted is None or wanted == getattr(worker.created, name):
        return True
    if name in PARTS:
        return bool(wanted == f"sandbox:{worker.sandbox}/{PARTS[name]}")
    says_same = _IN_OTHER_WORDS.get(name)
    return says_same is not None and says_same(wanted, worker)


def _is_mode(wanted: ExecutionMode, worker: ExistingWorker) -> bool:
    here = ExecutionMode.DESKTOP if worker.extension == DESKTOP else ExecutionMode.SANDBOX
    return worker.extension is not None and wanted is here


def _is_backend(wanted: str, worker: ExistingWorker) -> bool:
    named = worker.created.backend
    there = worker.extension or (named and extension_of(named))
    return extension_of(wanted) == there


def _is_teardown(wanted: WorkerTeardown, worker: ExistingWorker) -> bool:
    there = worker.created.teardown
    return (wanted.policy, wanted.kept_seconds) == (there.policy, there.kept_seconds)


def _is_selection(wanted: Selection, worker: ExistingWorker) -> bool:
    return _choice(wanted, worker.created) == _choice(worker.created.selection, worker.created)


def _choice(selection: Selection, created: CreateWorker) -> RouteOptions:
    """Return what a selection asks of routes. The order of the backends that it allows says
    nothing."""
    options = replace(created, selection=selection).route()
    return replace(options, allow=tuple(sorted(options.allow)))


_IN_OTHER_WORDS: Final[Mapping[str, Callable[[Any, ExistingWorker], bool]]] = {
    "backend": _is_backend,
    "execution_mode": _is_mode,
    "profile": lambda wanted, worker: profile_id(wanted) == profile_id(worker.profile),
    "repos": lambda wanted, worker: same_repositories(wanted, worker.created.repos),
    "selection": _is_selection,
    "teardown": _is_teardown,
    "thread_id": lambda wanted, worker: wanted in worker.threads,
}
"""The tests of whether a value says in other words what stands."""
