"""Write the OpenAPI document of the whole HTTP surface to a file, the argument of `python -m`.

No service is made: the document comes from the routes alone.
"""

import json
import sys
from pathlib import Path
from typing import cast

from fastapi import FastAPI

from atoll.services.application import Application
from atoll.surfaces.http.app import create_app
from atoll.surfaces.http.server.openapi import document

LINE_CHARACTERS = 100


class _NoServices:
    """A stand-in for the services; nothing calls it."""

    logins = None
    shares = None


def routes_only() -> FastAPI:
    """Return the app of every router, without services: for its document, never to be served."""
    return create_app(cast(Application, _NoServices()))


def text() -> str:
    """Return the document, written so that a change shows as few changed lines."""
    return _lines(document(routes_only())) + "\n"


def _lines(value: object, *, depth: int = 0, taken: int = 0) -> str:
    """Return JSON, a value a line where it fits: `taken` characters of its line are used."""
    flat = json.dumps(value, sort_keys=True, ensure_ascii=False)
    if depth + taken + len(flat) < LINE_CHARACTERS or not isinstance(value, dict | list):
        return flat
    edge = "\n" + " " * depth
    if isinstance(value, list):
        items = [_lines(one, depth=depth + 1) for one in value]
        return f"[{edge} " + f",{edge} ".join(items) + f"{edge}]"
    items = []
    for name, one in sorted(value.items()):
        key = json.dumps(name, ensure_ascii=False) + ": "
        items.append(key + _lines(one, depth=depth + 1, taken=len(key)))
    return f"{{{edge} " + f",{edge} ".join(items) + f"{edge}}}"


def main(arguments: list[str]) -> int:
    """Write the file, or with `--check` report whether it is current (0 or 1)."""
    path = Path(arguments[0])
    made = text()
    if "--check" in arguments:
        if path.read_text(encoding="utf-8") == made:
            return 0
        print(f"{path} is not current: run scripts/openapi", file=sys.stderr)
        return 1
    path.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
