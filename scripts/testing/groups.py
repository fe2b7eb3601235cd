"""The groups of tests: which paths belong to each, and how it is run. It starts nothing.

A group is one run of pytest, so its tests share servers. Groups run beside each other.
"""

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHON = str(ROOT / ".venv" / "bin" / "python")

WITHOUT_SCHEMATHESIS = ("-p", "no:schemathesis")
"""Loading it takes more than a second of processor time, and one group needs it."""

USUAL = "not slow and not alone"

PAGES = "tests/e2e/page"
SCRIPTED = "tests/e2e/page/ui"
CONFORMANCE = "tests/e2e/test_http_conformance.py"
AGENTS = ("tests/e2e/agents", "tests/e2e/tour", "tests/e2e/terminals/test_agent_answers.py")
WALLS = "tests/e2e/walls"
DOCKER = ("tests/e2e/walls/test_docker.py", "tests/e2e/walls/test_compose.py")
WAITING = "tests/e2e/waiting"

STORED = (
    *(
        f"tests/services/{area}"
        for area in (
            *("approvals", "inbox", "journals", "people", "provisioning", "sandboxes"),
            *("library/test_kept.py", "library/test_profiles.py", "library/test_pull_orders.py"),
            *("test_secrets.py", "test_survival.py"),
        )
    ),
    *(
        f"tests/surfaces/http/{area}"
        for area in (
            *("people", "sandboxes", "identity/test_provider_logins.py"),
            *("test_secrets.py", "test_webhooks.py", "test_multiplayer.py", "test_streams.py"),
        )
    ),
    "tests/surfaces/test_projects.py",
)
"""What stores rows, once more on PostgreSQL. The rest of these folders would find nothing new."""

STORED_USUAL = tuple(
    f"tests/services/{area}"
    for area in (
        *(f"journals/test_{what}.py" for what in ("audit", "events", "journals", "outbox")),
        *(f"sandboxes/test_{what}.py" for what in ("replicas", "sandboxes", "task_queue")),
        *("journals/test_pruning.py", "test_secrets.py", "test_survival.py"),
    )
)
"""Of them the usual run has what claims, locks and appends beside others. The contract of every
kind of row is on both databases in `adapters`."""


@dataclass(frozen=True, slots=True)
class Group:
    """One run of pytest over `paths` without `ignored`. Without paths it is a program of its own.
    A `deterministic` group has no accidents: its failures are not tried again."""

    name: str
    paths: tuple[str, ...]
    ignored: tuple[str, ...] = ()
    options: tuple[str, ...] = WITHOUT_SCHEMATHESIS
    marks: str = USUAL
    deterministic: bool = False
    covered: bool = False


LAYOUT = Group("layout", ("tests/layout",), deterministic=True)
UNITS = Group("units", (), deterministic=True)
ON_POSTGRES = (*WITHOUT_SCHEMATHESIS, "--database=postgres")
REST = ("client", "services", "docs", "wiring", "replay", "bench", "protocol")

GROUPS = (
    Group("core", ("tests/domain", "tests/wire"), deterministic=True, covered=True),
    UNITS,
    Group("adapters", ("tests/adapters",)),
    Group("rest", tuple(f"tests/{area}" for area in REST)),
    Group("e2e", ("tests/e2e",), (PAGES, *AGENTS, WALLS, WAITING, CONFORMANCE)),
    Group("runtime", ("tests/runtime", "tests/inside", "tests/zygote")),
    Group("pages", (PAGES,), (SCRIPTED,)),
    Group("walls", (WALLS,), DOCKER),
    Group("docker", DOCKER),
    Group("surfaces", ("tests/surfaces", CONFORMANCE), options=()),
    Group("agents", AGENTS),
    Group("security", ("tests/security",)),
    Group("scripted", (SCRIPTED,)),
    Group("postgres", STORED_USUAL, options=ON_POSTGRES),
    Group("redaction", ("tests/redaction",)),
)
"""What is deterministic first, then the longest and what waits much, then what computes all the
time: of that, two groups keep two cores busy up to the end."""

IDLE = Group("waiting", (WAITING,))
"""Its tests let minutes pass and compute little, so it runs beside the lanes."""


def group_alone() -> Group:
    """Return the group that runs when nothing else does."""
    return Group("alone", tuple(files_marked("alone")), marks="alone and not slow")


def files_marked(mark: str) -> list[str]:
    """Return the files that use a mark, so that the others need not be collected."""
    argv = ["grep", "-rlF", f"mark.{mark}", "tests", "--include=test_*.py"]
    found = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    return sorted(found.stdout.split())


def affected_of(group: Group, files: Iterable[str]) -> tuple[str, ...]:
    """Return those of the affected test files that belong to a group."""
    return tuple(
        file
        for file in files
        if any(_below(file, path) for path in group.paths)
        and not any(_below(file, path) for path in group.ignored)
    )


def _below(file: str, path: str) -> bool:
    return file == path or file.startswith(f"{path}/")


def pytest(*words: str) -> list[str]:
    """Return the argv of a run of pytest."""
    return [PYTHON, "-m", "pytest", *words]
