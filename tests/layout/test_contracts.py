"""Each port has a contract suite, which an author imports as the docs say; each suite is run by an
adapter, and each fake by the suite of its port."""

import ast
import inspect
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast, get_type_hints

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

import atoll.testing
from atoll.adapters.storage.transaction import transaction
from atoll.ports import Transaction
from tests.places import ROOT

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SOURCE = ROOT / "src" / "atoll"
PARTS = {
    "ByteConnection": "RuntimeClients",
    "Channel": "RuntimeClients",
    "ExecPipe": "RuntimeClients",
    "Closable": "Extension",
    "GatewayConnection": "SshGateway",
    "DiskImage": "DiskImages",
    "DiskImageDraft": "DiskImages",
    "Document": "Documents",
    "EndReasons": "Extension",
    "Examines": "Extension",
    "FarBackend": "Extension",
    "FarCauses": "Extension",
    "FarMirrors": "Extension",
    "FarRelocates": "Extension",
    "HandoverLink": "RuntimeClients",
    "InsideFile": "Spawner",
    "Intake": "RepositoryShelf",
    "JudgesProfiles": "Extension",
    "KeptDraft": "KeptShelf",
    "Listener": "Bus",
    "LiveHost": "WorkerHost",
    "LiveSubscription": "LiveChannels",
    "Masters": "Vault",
    "Mirrors": "Extension",
    "Process": "Spawner",
    "Pty": "Spawner",
    "PtyMaster": "Spawner",
    "ReachTroubles": "Extension",
    "KeepsSnapshots": "Extension",
    "Relocates": "Extension",
    "Rents": "Extension",
    "RuntimeClient": "RuntimeClients",
    "Span": "Tracer",
    "Watched": "Extension",
}
"""Protocols that an adapter of another port hands out or has besides; its suite is theirs."""
ROWS = {port.__name__ for port in get_type_hints(Transaction).values()}
TESTED_AT_HOME = {"Store", "Records"} | ROWS
"""The store and its rows: Atoll has the one adapter, whose tests have the suite."""
OUTSIDE_PORTS = {"Conversation", "Transcript"}
"""Protocols of `domain.agents` that authors implement."""
HANDED_OUT = {"FakeChannel", "FakeConnection", "FakeKeptDraft", "FakePipe"}
"""Fakes that another one hands out."""
WITH_DASHBOARDS = {"documents"}
"""Modules whose rows are checked with those of dashboards."""
TIERS = {"Reachable"}
"""Longer suites of a port, which `atoll extension check` runs (tests/adapters/apart)."""
REAL = ("adapters", "domain.agents.readers", "runtime", "services", "wiring")
"""Packages whose classes count as adapters."""


@dataclass(frozen=True)
class Run:
    """A test class that runs suites, with the names it uses and where each is from."""

    suites: frozenset[str]
    uses: frozenset[str]
    adapters: frozenset[str]


def protocols() -> set[str]:
    """Return the public protocols of `ports`."""
    return {
        node.name
        for path in (SOURCE / "ports").rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
        and not node.name.startswith("_")
        and any(ast.unparse(base).partition("[")[0] == "Protocol" for base in node.bases)
    }


def suites() -> set[str]:
    """Return the ports that have a suite, by the suite's name."""
    names = (name for name in atoll.testing.__all__ if name.endswith("Contract"))
    return {name.removesuffix("Contract") for name in names} - TIERS


def names_in(*nodes: ast.AST) -> set[str]:
    return {one.id for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name)}


def origins(tree: ast.Module) -> dict[str, str]:
    """Return the module that each imported name is from."""
    return {
        alias.asname or alias.name: node.module or ""
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def arguments(node: ast.AST) -> set[str]:
    return {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}


def fixtures_of(suites: set[str]) -> set[str]:
    """Return the fixtures that the tests of these suites name."""
    classes = [getattr(atoll.testing, name) for name in suites]
    tests = [test for one in classes for name, test in vars(one).items() if name.startswith("test")]
    return {name for test in tests for name in inspect.signature(test).parameters}


def reached(tree: ast.Module, used: set[str]) -> set[str]:
    """Return these names and all that the module's own functions and classes of these names use."""
    own = {one.name: one for one in tree.body if isinstance(one, (*FUNCTIONS, ast.ClassDef))}
    found: set[str] = set()
    left = set(used)
    while left:
        name = left.pop()
        found.add(name)
        if name in own:
            left |= (names_in(own[name]) | arguments(own[name])) - found
    return found


@cache
def runs() -> tuple[Run, ...]:
    """Return every test class that runs a suite."""
    found = []
    for path in (ROOT / "tests").rglob("test_*.py"):
        text = path.read_text()
        if "Contract)" not in text and "Contract, " not in text:
            continue
        tree = ast.parse(text)
        where = origins(tree)
        for node in tree.body:
            bases = names_in(*node.bases) if isinstance(node, ast.ClassDef) else set()
            own = {name for name in bases if name in atoll.testing.__all__}
            if own:
                defined = {one.name for one in ast.walk(node) if isinstance(one, FUNCTIONS)}
                used = reached(
                    tree, names_in(node) | arguments(node) | (fixtures_of(own) - defined)
                )
                real = {
                    name
                    for name in used
                    if where.get(name, "").startswith(tuple(f"atoll.{one}" for one in REAL))
                }
                found.append(Run(frozenset(own), frozenset(used), frozenset(real)))
    return tuple(found)


def test_each_port_has_a_suite() -> None:
    assert protocols() | OUTSIDE_PORTS == suites() | set(PARTS) | TESTED_AT_HOME


def test_each_part_of_a_port_belongs_to_a_suite() -> None:
    assert set(PARTS) <= protocols() and set(PARTS.values()) <= suites()


def test_each_noun_of_the_store_has_checks_of_its_rows() -> None:
    rows = [type(one).__module__ for one in vars(transaction(cast(AsyncConnection, None))).values()]
    nouns = {module.rpartition(".")[2] for module in rows}
    folder = ROOT / "tests" / "adapters" / "storage" / "rows"
    checks = {path.stem for path in folder.rglob("[!_]*.py")}
    assert nouns - WITH_DASHBOARDS == checks


@pytest.mark.parametrize("port", sorted(suites()))
def test_each_suite_is_run_by_an_adapter(port: str) -> None:
    ran = [run for run in runs() if f"{port}Contract" in run.suites]
    assert any(run.adapters for run in ran)


@pytest.mark.parametrize("fake", [name for name in atoll.testing.__all__ if "Fake" in name])
def test_each_fake_runs_a_suite(fake: str) -> None:
    assert any(fake in run.uses for run in runs())


def test_each_fake_is_imported_from_the_package() -> None:
    found = {
        node.name
        for path in (SOURCE / "testing" / "fakes").rglob("[!_]*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and node.name.startswith("Fake")
    }
    assert found - HANDED_OUT == {name for name in atoll.testing.__all__ if "Fake" in name}


@pytest.mark.parametrize(
    "path",
    sorted((SOURCE / "testing" / "contracts").rglob("[!_]*.py")),
)
def test_suite_is_imported_from_the_package(path: Path) -> None:
    classes = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
    found = [one.name for one in classes if one.name.endswith("Contract")]
    assert found
    for name in found:
        assert getattr(atoll.testing, name).__name__ == name
        assert name in atoll.testing.__all__


@pytest.mark.parametrize("name", ["Nothing"])
def test_package_has_no_other_names(name: str) -> None:
    with pytest.raises(AttributeError):
        getattr(atoll.testing, name)
