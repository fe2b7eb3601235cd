"""The shape of the code: small files, one noun each, docstrings that open with what a file is."""

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tests.layout.modules import MODULES, SOURCE, each_package, name_of, tree_of
from tests.places import ROOT

MAX_LINES = 500
MAX_MEDIAN_LINES = 160
MIN_LINES = 40
MAX_FILES = 20
MAX_FUNCTION_LINES = 40
MAX_PARAMETERS = 5
FORBIDDEN_NAMES = {"utils", "util", "helpers", "common", "misc", "base", "manager", "core"}
REEXPORTING = {"client", "ports", "testing"}
MIGRATIONS = "src/atoll/adapters/storage/migrations/versions"
"""The one folder that grows by a file with each change of the schema."""
SMALL_KINDS = (
    "adapters/",
    "domain/agent/catalogue/",
    "ports/",
    "surfaces/cli/commands/",
    "testing/contracts/",
    "testing/fakes/",
    "wire/api/",
    "wire/words/",
    "client/made/",
    "client/aio/made/",
)
"""Folders of adapters, rows of the catalogue, commands, ports with their suites and fakes, and
the declared API with the client that is made of it."""
SMALL_NAMES = {"__init__.py", "__main__.py", "settings.py"}
VALUE = "the one value or rule of its noun: a neighbour would get a second noun"
SHARED = "used by several modules, none of which is nearer than the others"
SMALL = {
    "domain/stream.py": SHARED,
    "domain/inbox/login.py": "one item, as `ending.py` has one",
    "domain/event_kinds/hooks.py": "the kinds of one noun",
    "domain/event_kinds/tools.py": "the kinds of one noun",
    "domain/tool/rule.py": VALUE,
    "domain/tool/watch.py": VALUE,
    "services/tools/tool_call.py": SHARED,
    "services/tools/list_changes.py": "one use case, of other needs than calls",
    "surfaces/mcp/request.py": SHARED,
    "wiring/control/tools.py": "the services of one feature",
    "surfaces/mcp/fields.py": SHARED,
    "wire/contract/ports.py": "one call, which no other area of the contract makes",
    "client/client.py": "the list of the client's nouns",
    "client/workers/desktops.py": "the calls of one noun",
    "client/words.py": "words of shapes and bodies, loaded without the bodies",
    "domain/agent/previews.py": VALUE,
    "domain/host/relocation.py": VALUE,
    "wiring/doctor/sharing.py": "one finding, of no other part of the doctor",
    "domain/event_kinds/kind.py": "what both tables of kinds are written with",
    "domain/event_kind.py": "the list of the tables, and the check of an event against it",
    "domain/unseen.py": "shared by approvals, files and the command line",
    "domain/broker/control_plane.py": "the list of what a sandbox reads of us, to be read alone",
    "domain/interior/entry.py": VALUE,
    "domain/ids.py": "the identifiers of all nouns",
    "wiring/doctor/extensions.py": "loads no extension, as root may run it",
    "domain/network/forwarded_port.py": VALUE,
    "domain/network/network.py": VALUE,
    "domain/network/volume.py": VALUE,
    "domain/paging.py": "shared by the lists of all nouns",
    "domain/query.py": "shared by the surfaces with queries, which may not import each other",
    "domain/redaction/detector.py": VALUE,
    "domain/sandbox/consumer.py": VALUE,
    "domain/sandbox/instruction.py": "outputs of the state machine; inputs are in `stimulus`",
    "domain/size.py": "shared by files, kept worktrees and the command line",
    "domain/terminal/size.py": VALUE,
    "domain/wall/environment.py": VALUE,
    "domain/wall/resources.py": SHARED,
    "runtime/doors/broker/metering.py": VALUE,
    "runtime/doors/broker/secret_requests.py": VALUE,
    "runtime/doors/listener/own_address.py": SHARED,
    "runtime/policy/policy.py": VALUE,
    "runtime/terminals/typing_priority.py": VALUE,
    "services/ground.py": SHARED,
    "services/references.py": SHARED,
    "services/sole_leader.py": VALUE,
    "services/journals/entries.py": SHARED,
    "services/journals/replication.py": "what surfaces and the entry point receive of the bus",
    "services/lifecycle/runtimes.py": SHARED,
    "services/provisioning/start_folder.py": VALUE,
    "services/provisioning/compose_file.py": VALUE,
    "services/sandboxes/consumers.py": VALUE,
    "services/task_runner.py": SHARED,
    "services/provisioning/orders.py": SHARED,
    "services/terminals/ports.py": VALUE,
    "surfaces/cli/attach/ending.py": VALUE,
    "surfaces/cli/console/invocation.py": "what every command is given",
    "surfaces/http/tools/tools.py": "the route of one noun",
    "surfaces/http/overview/usage.py": "the route of one noun",
    "surfaces/http/overview/search.py": "the route of one noun",
    "surfaces/http/inbox/inbox.py": "the routes of one noun",
    "surfaces/http/agents/statuses.py": "the route of one noun",
    "surfaces/http/agents/catalogue.py": "the routes of one noun",
    "surfaces/http/library/syncs.py": "the route of one noun",
    "surfaces/http/terminals/processes.py": "the routes of one noun",
    "surfaces/http/server/guest_paths.py": "the list of what guests may reach, to be read alone",
    "surfaces/http/terminals/ports.py": "the route of one noun",
    "surfaces/http/people/links.py": SHARED,
    "surfaces/http/internal/internal.py": "the routes of one noun",
    "surfaces/http/people/ownership.py": "the routes of one noun",
    "domain/worker/artifact.py": VALUE,
    "surfaces/http/people/team_tokens.py": "the routes of one noun",
    "testing/redteam/pack.py": VALUE,
    "wire/http/cookies.py": SHARED,
    "wire/http/request_id.py": "used by every layer, by the command line without msgspec",
    "wire/http/unreadable.py": "imported by thirty modules of every layer",
    "wiring/command.py": "an entry point",
    "wiring/control/tenancy.py": "the services of one noun",
    "wiring/control/vaulting.py": "the choice of one adapter",
    "wiring/control/outside/webhooks.py": "the services of one feature",
    "wiring/launch/handed_file.py": VALUE,
    "wiring/launch/mount_view.py": SHARED,
    "zygote/daemon/answers.py": VALUE,
    "zygote/host/owned_socket.py": SHARED,
    "zygote/host/title.py": SHARED,
    "wiring/control/replicas.py": "what is built by whether a database is shared",
}
"""Modules under the floor that stay by themselves, each with its reason."""


CHARACTER_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\\n])*\]")
POSSESSIVE_GROUP = re.compile(r"\)(?:\+|\*|\?|\{\d*,?\d*\})\+")
"""Python before 3.11.5 matches it wrongly where the group can be matched in several ways
(gh-106052): Debian 12's let sequences pass that a terminal was guarded against."""


@cache
def _lines(path: Path) -> int:
    return len(path.read_text().splitlines())


@each_package
def test_module_has_docstring_and_bounded_length(modules: Sequence[Path]) -> None:
    for path in modules:
        assert ast.get_docstring(tree_of(path)), f"{path} opens without saying what it is"
        assert _lines(path) <= MAX_LINES, f"{path} is over {MAX_LINES} lines: split it by noun"
        assert path.stem not in FORBIDDEN_NAMES, f"{path}: name it by its noun"


def test_no_pattern_has_a_possessive_group() -> None:
    for path in MODULES:
        text = CHARACTER_CLASS.sub("x", path.read_text())
        assert not POSSESSIVE_GROUP.search(text), path


def test_module_median_length_is_small() -> None:
    lengths = sorted(_lines(p) for p in MODULES if p.name != "__init__.py")
    assert lengths[len(lengths) // 2] <= MAX_MEDIAN_LINES


def _is_small_by_kind(path: Path) -> bool:
    return path.name in SMALL_NAMES or name_of(path).startswith(SMALL_KINDS)


def test_small_module_is_listed_with_its_reason() -> None:
    small = {name_of(p) for p in MODULES if _lines(p) < MIN_LINES and not _is_small_by_kind(p)}
    assert small <= set(SMALL), "fold it into a neighbour, or list it with a reason"
    assert {name for name in SMALL if not (SOURCE / name).is_file()} == set()


def test_folder_holds_few_files() -> None:
    kinds = ("py", "ts", "tsx", "css", "c", "h", "sh", "md")
    sources = [p for p in _tracked(*(f"*.{kind}" for kind in kinds)) if p.name != "__init__.py"]
    counts = Counter(str(path.parent.relative_to(ROOT)) for path in sources)
    del counts[MIGRATIONS]
    assert {folder: count for folder, count in counts.items() if count > MAX_FILES} == {}


def test_package_init_holds_only_its_docstring() -> None:
    for path in MODULES:
        if path.name != "__init__.py" or path.parent == SOURCE or path.parent.name in REEXPORTING:
            continue
        body = tree_of(path).body
        assert len(body) == 1, f"{path} holds code; only client, ports and testing re-export"


@cache
def _functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    nodes = ast.walk(tree_of(path))
    return [n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the body without its docstring."""
    body = function.body
    if ast.get_docstring(function):
        body = body[1:]
    if not body:
        return 0
    return (body[-1].end_lineno or 0) - body[0].lineno + 1


@each_package
def test_functions_are_short(modules: Sequence[Path]) -> None:
    long = [
        f"{path}: {f.name} ({_length(f)})"
        for path in modules
        for f in _functions(path)
        if _length(f) > MAX_FUNCTION_LINES
    ]
    assert not long, f"over {MAX_FUNCTION_LINES} lines: {long}"


@each_package
def test_functions_take_few_positional_parameters(modules: Sequence[Path]) -> None:
    many = [
        f"{path}: {f.name}"
        for path in modules
        for f in _functions(path)
        if len([a for a in f.args.posonlyargs + f.args.args if a.arg not in {"self", "cls"}])
        > MAX_PARAMETERS
    ]
    assert not many, f"more than {MAX_PARAMETERS} positional parameters: {many}"


@each_package
def test_name_of_a_module_is_given_once(modules: Sequence[Path]) -> None:
    found = []
    for path in modules:
        given = [
            target.id
            for one in tree_of(path).body
            if isinstance(one, ast.Assign)
            for target in one.targets
            if isinstance(target, ast.Name)
        ]
        found += [f"{path}: {name}" for name in sorted(set(given)) if given.count(name) > 1]
    assert not found, f"a constant that is given twice is what was not meant: {found}"


@each_package
def test_nothing_drops_a_cancellation(modules: Sequence[Path]) -> None:
    found = [
        f"{path}:{one.lineno}"
        for path in modules
        for one in ast.walk(tree_of(path))
        if isinstance(one, ast.Attribute) and one.attr == "wait_for"
        if ast.unparse(one) == "asyncio.wait_for"
    ]
    assert not found, (
        f"{found}: asyncio.wait_for of Python 3.11 drops a cancellation that comes with the "
        "result; use asyncio.timeout"
    )


def _tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *patterns], cwd=ROOT, capture_output=True, check=False
    )
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name]


def test_lock_file_names_no_registry() -> None:
    lock = ROOT / "ui" / "package-lock.json"
    assert '"resolved"' not in lock.read_text()
    assert "://" not in (ROOT / "constraints.txt").read_text()


def test_repository_has_no_large_files() -> None:
    large = [p for p in _tracked() if p.is_file() and p.stat().st_size > 1_000_000]
    assert not large
