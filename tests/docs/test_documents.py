"""The documents keep up with the code: routes, settings, ports, links, the README's commands."""

import ast
import json
import re
from pathlib import Path

import pytest

from atoll.wiring.control.settings import setting_names
from tests.places import ROOT

DOCUMENTS = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
MAX_SENTENCE_WORDS = 30
MAX_LINE = 100
PORTS = sorted((ROOT / "src/atoll/ports").glob("*.py"))


METHODS = r"GET|POST|PUT|DELETE|PATCH|WS"
#: `GET·POST /v1/x`, or a continuation: `/start` takes the methods and the parent of the one before.
ROUTE = re.compile(rf"((?:(?:{METHODS})[·, ]*)*)(…?/[^\s?…]*)(…?)")
#: Pages that are the tour of what stands below a prefix, in their own words for it.
TOURS = (
    ("/sessions", "use/multiplayer.md", "/sessions"),
    ("/v1/sandboxes/{}/files", "program/runtime-contract.md", "/files"),
    ("/v1/sandboxes/{}/exec", "program/runtime-contract.md", "/execs"),
    ("/v1/sandboxes/{}/terminals", "program/api.md", "/v1/sandboxes/{}/terminals"),
    ("/", "program/api.md", "/"),
)


def _shape(path: str) -> str:
    """A path whose parameters have no names; `local/{key}` and `local/{id}` are one."""
    return re.sub(r"\{[^}]*\}", "{}", path).rstrip("/")


def _routes(text: str) -> set[tuple[str, str]]:
    """Method and path of each route that stands in a table or a sentence as code. `…/x` stands
    for any path that ends so."""
    found: set[tuple[str, str]] = set()
    for line in text.splitlines():
        methods, before = "", ""
        for span in re.findall(r"`([^`]+)`", line):
            route = ROUTE.match(span)
            if route is None:
                methods = ""
                continue
            path = _shape(route[2])
            if route[1]:
                methods = route[1]
            elif methods and not path.startswith(("…", "/v1", "/auth", before or " ")):
                path = before.rpartition("/")[0] + path
            before = path
            found.update((method, path) for method in re.findall(METHODS, methods))
    return found


def _documented(method: str, path: str, routes: set[tuple[str, str]]) -> bool:
    return any(
        method == told
        and (path == shape or (shape[0] == "…" and shape != "…/{}" and path.endswith(shape[1:])))
        for told, shape in routes
    )


def test_every_route_is_documented_as_a_route() -> None:
    document = json.loads((ROOT / "docs/openapi.json").read_text())
    routes = {page: _routes((ROOT / "docs" / page).read_text()) for _, page, _ in TOURS}
    # A page about one noun may hold its routes, in full.
    whole = {
        (method, shape)
        for area in ("use", "run")
        for page in (ROOT / "docs" / area).glob("*.md")
        for method, shape in _routes(page.read_text())
        if shape.startswith("/v1/")
    }
    missing = []
    for path, item in document["paths"].items():
        prefix, page, words = next(one for one in TOURS if _shape(path).startswith(one[0]))
        told = words + _shape(path).removeprefix(prefix)
        missing += [
            f"{page}: {m.upper()} {told}"
            for m in item
            if not _documented(m.upper(), told, routes[page])
            and (m.upper(), _shape(path)) not in whole
        ]
    assert not missing


def test_words_of_a_path_in_a_sentence_document_no_route() -> None:
    routes = _routes("One may `POST /v1/a` a thing; the list of `b` is at GET /v1/a/b, see `v1`.")
    assert routes == {("POST", "/v1/a")}
    assert not _documented("GET", "/v1/a/b", routes)
    told = _routes("| `GET·PUT …/{id}/x` · `/y` | `DELETE /v1/b/{id}?z=` |")
    assert _documented("PUT", "/v1/a/{}/x", told) and _documented("GET", "/v1/a/{}/y", told)
    assert _documented("DELETE", "/v1/b/{}", told) and not _documented("POST", "/v1/b/{}", told)


def test_every_setting_is_documented() -> None:
    text = (ROOT / "docs/use/settings.md").read_text()
    assert not [name for name in setting_names() if f"`{name}`" not in text]


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


def test_index_names_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    pages = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").glob("*/*.md")}
    assert not [page for page in pages if f"({page})" not in index]


def test_pictures_of_the_tour_are_there_and_small() -> None:
    page = (ROOT / "docs/start/tour.md").read_text()
    named = set(re.findall(r"!\[[^\]]+\]\(\.\./(tour/[^)]+)\)", page))
    kept = {path: path.stat().st_size for path in (ROOT / "docs/tour").iterdir()}
    assert named <= {f"tour/{path.name}" for path in kept}
    assert len(named) >= 10 and sum(kept.values()) < 2_000_000


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_that_a_document_names_exist(document: Path) -> None:
    source = ROOT / "src/atoll"
    areas = "|".join(sorted(path.name for path in source.iterdir() if path.is_dir()))
    tops = "bench|deploy|docs|native|scripts|src|tests|ui"
    named = re.findall(rf"`((?:{areas}|{tops})/[\w./-]+\.\w+)`", document.read_text())
    assert not [n for n in named if not ((ROOT / n).exists() or (source / n).exists())]


def test_make_targets_of_the_readme_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"make ([a-z-]+)", (ROOT / "README.md").read_text())) <= targets


def test_every_dependency_has_its_reason() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    listed = project[project.index("dependencies = [") : project.index("[project.optional")]
    reasons = (ROOT / "docs/change/dependencies.md").read_text()
    for name in re.findall(r'^\s+"([A-Za-z0-9-]+)', listed, re.MULTILINE):
        assert re.search(rf"\b{re.escape(name)}\b", reasons), name


def test_architecture_is_a_page() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text().splitlines()) <= 150


def _sentences(text: str) -> list[str]:
    """Return the sentences and clauses of a page, without code blocks, tables and headings."""
    found = []
    for block in re.split(r"\n\s*\n", re.sub(r"```.*?```", "", text, flags=re.S)):
        if not block.lstrip().startswith(("|", "#", "<")):
            for item in re.split(r"\n(?=\s*(?:[-*]|\d+\.) )", block):
                found += re.split(r"(?<=[.!?:;])\s+", " ".join(item.split()))
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_sentences_are_short_and_lines_fit(document: Path) -> None:
    text = document.read_text()
    for sentence in _sentences(text):
        # Code and what stands in parentheses reads as one word.
        words = re.sub(r"`[^`]*`|\([^)]*\)", "x", sentence).split()
        assert len(words) <= MAX_SENTENCE_WORDS, sentence
    prose = re.sub(r"```.*?```", "", text, flags=re.S).splitlines()
    # A line of one long piece of code cannot be broken.
    assert not [
        line for line in prose if len(line) > MAX_LINE and line[:1] not in "|<!" and " " in line
    ]
