"""Write the OpenAPI document and the schemas of events to two files, the arguments of `python -m`.

No service is made: the documents come from the routes, and from the kinds of events, alone.
"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from starlette.applications import Starlette

from atoll.domain.event_schema import event_schemas
from atoll.services.application import Application
from atoll.surfaces.http.app import create_app
from atoll.surfaces.http.serving.openapi import document

LINE_CHARACTERS = 100


class _NoServices:
    """A stand-in for the services; nothing calls it."""

    logins = None
    shares = None
    previews = SimpleNamespace(visits=None, own=None)
    tenancy = SimpleNamespace(memberships=None, credentials=SimpleNamespace(bearers=None))


def routes_only() -> Starlette:
    """Return the app of every router, without services: for its document, never to be served."""
    return create_app(cast(Application, _NoServices()))


def render_document() -> str:
    """Return the document, written so that a change shows as few changed lines."""
    return _format_json(document(routes_only())) + "\n"


def _format_json(value: object, *, depth: int = 0, taken: int = 0) -> str:
    """Return JSON with one value a line where it fits; `taken` characters are used already."""
    flat = json.dumps(value, sort_keys=True, ensure_ascii=False)
    if depth + taken + len(flat) < LINE_CHARACTERS or not isinstance(value, dict | list):
        return flat
    edge = "\n" + " " * depth
    if isinstance(value, list):
        items = [_format_json(one, depth=depth + 1) for one in value]
        return f"[{edge} " + f",{edge} ".join(items) + f"{edge}]"
    items = []
    for name, one in sorted(value.items()):
        key = json.dumps(name, ensure_ascii=False) + ": "
        items.append(key + _format_json(one, depth=depth + 1, taken=len(key)))
    return f"{{{edge} " + f",{edge} ".join(items) + f"{edge}}}"


def main(arguments: list[str]) -> int:
    """Write the files, or with `--check` report whether they are current (0 or 1)."""
    made = (render_document(), _format_json(event_schemas()) + "\n")
    stale = 0
    for path, wanted in zip(map(Path, arguments), made, strict=False):
        if "--check" not in arguments:
            path.write_text(wanted, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != wanted:
            print(f"{path} is not current: run scripts/openapi", file=sys.stderr)
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
