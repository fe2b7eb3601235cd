"""Write the OpenAPI document of the whole HTTP surface to a file, the argument of `python -m`.

No service is made: the document comes from the routes alone.
"""

import json
import sys
from pathlib import Path
from typing import cast

from fastapi import FastAPI

from atoll.surfaces.http.sandboxes import repositories
from atoll.surfaces.http.server.app import create_app
from atoll.surfaces.http.server.context import Services
from atoll.surfaces.http.server.openapi import document


class _NoServices:
    """Stands where services would; nothing asks it anything."""

    logins = None
    shares = None


def routes_only() -> FastAPI:
    """The app of every router, over nothing: for its document, never to be served."""
    return create_app(cast(Services, _NoServices()), more=(repositories.router,))


def text() -> str:
    """The document, spelt so that a change shows as few changed lines."""
    return json.dumps(document(routes_only()), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> int:
    """Write the file, or with `--check` say whether it is current (0 or 1)."""
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
