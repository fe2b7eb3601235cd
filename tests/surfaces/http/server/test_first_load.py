"""First loads of the page, by the manifest of its build: how much each route fetches, and that it
holds nothing that the route does not show."""

import gzip
import json
from functools import cache
from typing import Any

import pytest

from atoll.surfaces.http.site.page import BUNDLE

MANIFEST = BUNDLE / ".vite" / "manifest.json"
CONTENTS = BUNDLE / ".vite" / "contents.json"
KB = 1000
PHONE_KB, DASHBOARD_KB = 350, 600
PARTS = "src/components"
ROUTES = {
    "logged out": ("frame/LoggedOut",),
    "home": ("frame/Home",),
    "inbox": ("inbox/InboxPage",),
    "a sandbox": ("sandboxes/SandboxView",),
    "terminals": ("tiles/TerminalsPage",),
    "workers": ("workers/WorkersPage",),
    "secrets": ("secrets/SecretsPage",),
    "notifications": ("notifications/NotificationsPage",),
    "account": ("account/AccountPage",),
    "team": ("team/TeamPage",),
    "a guest's room": ("people/GuestRoom",),
}
"""Files of the routes that phones show."""
DOCUMENT = {"yjs", "y-protocols", "lib0"}
AREAS = (
    "account",
    "recordings",
    "review",
    "secrets",
    "tasks/Compare",
    "team",
    "terminals",
    "tiles",
)
SHELL_SOURCES = {
    # The mark of the account in the rail, and the threads that wait for an agent to be sent.
    f"{PARTS}/account/AccountMenu.tsx",
    f"{PARTS}/review/outbox.ts",
    f"{PARTS}/review/queue.ts",
    f"{PARTS}/review/retry.ts",
    f"{PARTS}/review/threads.ts",
}
"""Sources of areas that the frame around every route shows or does."""

pytestmark = pytest.mark.skipif(
    not CONTENTS.exists(), reason="the page is not built: run `npm run build` in ui/"
)


@cache
def _manifest() -> dict[str, dict[str, Any]]:
    return dict(json.loads(MANIFEST.read_text()))


def _fetched(*entries: str) -> set[str]:
    """The files that the page fetches to show these entries, from an empty cache."""
    manifest, todo, seen = _manifest(), ["index.html", *entries], set[str]()
    while todo:
        if (name := todo.pop()) not in seen:
            seen.add(name)
            todo += manifest[name].get("imports", [])
    files = {manifest[name]["file"] for name in seen}
    return files.union(*(manifest[name].get("css", []) for name in seen))


def _kilobytes(files: set[str]) -> float:
    return sum(_packed(name) for name in ("index.html", *files)) / KB


@cache
def _packed(name: str) -> int:
    return len(gzip.compress((BUNDLE / name).read_bytes(), 9))


def _held(files: set[str]) -> set[str]:
    contents = json.loads(CONTENTS.read_text())
    return {source for name in files for source in contents.get(name, ())}


@pytest.mark.parametrize("route", ROUTES)
def test_first_load_of_a_phones_route_is_small(route: str) -> None:
    files = _fetched(*(f"{PARTS}/{name}.tsx" for name in ROUTES[route]))
    assert _kilobytes(files) <= PHONE_KB


def test_first_load_of_every_other_part_fits_a_dashboards() -> None:
    """A dashboard shows terminals beside its document."""
    sandbox = f"{PARTS}/sandboxes/SandboxView.tsx"
    sizes = {
        name: _kilobytes(_fetched(name, sandbox))
        for name, entry in _manifest().items()
        if entry.get("isDynamicEntry") and name.startswith("src/")
    }
    assert {name: size for name, size in sizes.items() if size > DASHBOARD_KB} == {}


def test_first_load_of_home_holds_nothing_it_does_not_show() -> None:
    held = _held(_fetched(f"{PARTS}/frame/Home.tsx"))
    areas = tuple(f"{PARTS}/{area}" for area in AREAS)
    assert {"react", f"{PARTS}/frame/Home.tsx"} <= held
    assert {name for name in held if name.startswith(("@xterm/", "src/canvas/"))} == set()
    assert held & DOCUMENT == set()
    assert {name for name in held if name.startswith(areas)} <= SHELL_SOURCES


def test_first_load_of_a_sandbox_holds_neither_home_nor_document() -> None:
    held = _held(_fetched(f"{PARTS}/sandboxes/SandboxView.tsx"))
    assert "@xterm/xterm" in held
    assert held & {*DOCUMENT, "@xterm/addon-webgl", f"{PARTS}/frame/Home.tsx"} == set()
    assert {name for name in held if name.startswith(f"{PARTS}/review")} <= SHELL_SOURCES
