"""The documents keep up with the code: routes, settings, ports, links, the README's commands."""

import ast
import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from atoll.wiring.settings import ControlSettings

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]
PORTS = sorted((ROOT / "src/atoll/ports").glob("*.py"))


def test_every_route_is_in_the_tour_of_the_api() -> None:
    tour = (ROOT / "docs/api.md").read_text() + (ROOT / "docs/runtime-contract.md").read_text()
    document = json.loads((ROOT / "docs/openapi.json").read_text())
    missing = []
    for path in document["paths"]:
        words = [part for part in path.split("/") if part and not part.startswith("{")]
        if not all(re.search(rf"\b{re.escape(word)}\b", tour) for word in words):
            missing.append(path)
    assert not missing


def test_every_setting_is_documented() -> None:
    text = (ROOT / "docs/settings.md").read_text()
    assert not [
        f.name for f in fields(ControlSettings) if f.name != "home" and f"`{f.name}`" not in text
    ]


@pytest.mark.parametrize("path", PORTS, ids=lambda path: path.name)
def test_every_port_method_says_what_it_promises(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef):
            assert ast.get_docstring(node), f"{path.name}: {node.name}"
            for method in node.body:
                if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                    assert ast.get_docstring(method), f"{path.name}: {node.name}.{method.name}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", document.read_text()):
        assert (document.parent / target).exists(), target


def test_make_targets_of_the_readme_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"make ([a-z-]+)", (ROOT / "README.md").read_text())) <= targets


def test_every_dependency_has_its_reason() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    listed = project[project.index("dependencies = [") : project.index("[project.optional")]
    reasons = (ROOT / "docs/dependencies.md").read_text()
    for name in re.findall(r'^\s+"([A-Za-z0-9-]+)', listed, re.MULTILINE):
        assert re.search(rf"\b{re.escape(name)}\b", reasons), name


def test_architecture_is_a_page() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text().splitlines()) <= 150


def test_every_folder_of_tests_is_run_by_a_script() -> None:
    folders = {path.relative_to(ROOT).parts[1] for path in ROOT.glob("tests/*/**/test_*.py")}
    scripts = "".join((ROOT / "scripts" / name).read_text() for name in ("test", "check"))
    assert folders <= set(re.findall(r"tests/(\w+)", scripts))
