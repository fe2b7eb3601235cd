"""The statuses of answers, held against the OpenAPI document: a hook of the tests' clients."""

import json
import re
from functools import cache

import httpx

from tests.places import ROOT

_PART = re.compile(r"\{[^}]+\}")


@cache
def _routes() -> list[tuple[str, re.Pattern[str], frozenset[str]]]:
    """Each route: its method, its path, its statuses; those whose path never varies first."""
    document = json.loads((ROOT / "docs/openapi.json").read_text())
    found = [
        (method.upper(), path, frozenset(route["responses"]))
        for path, methods in document["paths"].items()
        for method, route in methods.items()
    ]
    found.sort(key=lambda one: one[1].count("{"))
    return [
        (method, re.compile(_PART.sub("[^/]+", path)), statuses) for method, path, statuses in found
    ]


@cache
def _statuses(method: str, path: str) -> frozenset[str] | None:
    fitting = (
        statuses for named, at, statuses in _routes() if named == method and at.fullmatch(path)
    )
    return next(fitting, None)


async def check_documented(response: httpx.Response) -> None:
    """Check that the document of the API names the status of a success."""
    request = response.request
    statuses = _statuses(request.method, request.url.path)
    if response.is_success and statuses is not None:
        called = f"{request.method} {request.url.path}"
        assert str(response.status_code) in statuses, (called, response.status_code)
