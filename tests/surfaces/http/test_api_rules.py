"""Rules that hold for every route: lists are bounded, codes documented, what goes is announced."""

import ast
import base64
import json
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from atoll.domain.error_status import status_of
from atoll.domain.errors import AtollError, Invalid
from atoll.domain.paging import PageQuery, RowPage
from atoll.runtime.agents.agents import KEPT_MACHINES, MAX_MACHINES
from atoll.runtime.execs.execs import KEPT_FINISHED, MAX_RUNNING
from atoll.runtime.recordings.shelf import MAX_RECORDINGS
from atoll.runtime.spawners import refusal
from atoll.services.library.push_scripts import MAX_HELD
from atoll.surfaces.http.body.pages import MAX_ITEMS, PageRequest
from atoll.surfaces.http.server.deprecation import announce_deprecation, deprecated
from atoll.surfaces.http.server.examples import BODIES
from atoll.wire.contract.terminals import MAX_LISTED
from tests.places import ROOT
from tests.surfaces.http.world import client_of, document_text, world

DOCUMENT: dict[str, Any] = json.loads(document_text())
BOX = "/v1/sandboxes/{sandbox}"
# Their arrays are parts of one thing, bounded with it.
NO_LISTS = {
    BOX: "one sandbox",
    f"{BOX}/changes": "one comparison: `total` counts what `files` leaves out",
    f"{BOX}/diff": "one comparison, `truncated` at 200000 lines",
    f"{BOX}/commits/{{commit}}": "one commit, `truncated` at 200000 lines",
    f"{BOX}/network": "the rules of one sandbox",
    f"{BOX}/safety": "the layers of one sandbox",
    f"{BOX}/unpulled": "the work of one sandbox: `more` counts what its lists leave out",
    "/v1/dashboards/{dashboard}": "one dashboard: at most 100 connections on a replica",
    "/v1/repositories/local/{key}": "one repository: the branches that its upload brought",
    "/v1/routes/{route}": "one decision: 32 extensions at 200 hosts",
    "/v1/workers/{worker_id}/snapshot": "one worker: 20 repositories, 100 open requests, questions "
    "and threads, and 200 artifacts",
    "/v1/running": "what its hosts have room for",
    "/v1/projects/file": "the proposals of one file",
    f"{BOX}/pull-requests/{{number}}": "one pull request: 100 checks and 200 comments",
}
# What the runtime bounds; the surfaces may not import it.
BOUNDS = {
    f"{BOX}/terminals": MAX_LISTED,
    "/sessions/{session}/ptys": MAX_LISTED,
    f"{BOX}/agents": MAX_LISTED + MAX_MACHINES + KEPT_MACHINES,
    f"{BOX}/exec": MAX_RUNNING + KEPT_FINISHED,
    f"{BOX}/recordings": MAX_RECORDINGS,
    f"{BOX}/pushes": MAX_HELD,
}


def lists() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Yield path, operation and answer of each `GET` whose answer has an array of objects."""
    schemas = DOCUMENT["components"]["schemas"]
    for path, item in DOCUMENT["paths"].items():
        content = item.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        named = content.get("application/json", {}).get("schema", {}).get("$ref", "")
        schema = schemas.get(named.rpartition("/")[2], {})
        fields = schema.get("properties", {}).values()
        if any(one.get("type") == "array" and "$ref" in one.get("items", {}) for one in fields):
            yield path, item["get"], schema


def query_of(operation: dict[str, Any]) -> set[str]:
    return {
        one.get("name") or one["$ref"].rpartition(".")[2] for one in operation.get("parameters", ())
    }


LISTS = {path: (operation, schema) for path, operation, schema in lists()}


@pytest.mark.parametrize("path", sorted(LISTS))
def test_list_has_pages_or_a_documented_maximum(path: str) -> None:
    operation, schema = LISTS[path]
    query = query_of(operation)
    paged = "limit" in query and (
        "next" in schema["properties"] or "complete" in schema["properties"]
    )
    assert [paged, MAX_ITEMS in operation, path in NO_LISTS].count(True) == 1
    if path in BOUNDS:
        assert operation[MAX_ITEMS] == BOUNDS[path]


def test_exceptions_are_lists_that_are_there() -> None:
    assert NO_LISTS.keys() | BOUNDS.keys() <= LISTS.keys()
    page = (ROOT / "docs/program/api.md").read_text()
    assert MAX_ITEMS in page


NAMES = [f"n{number}" for number in range(7)]


def walked(limit: int) -> list[list[str]]:
    pages, cursor = [], None
    while True:
        names, cursor = PageRequest(cursor, limit).items_and_next(NAMES, key=str, view=str)
        pages.append(names)
        if cursor is None:
            return pages


async def test_document_that_is_served_is_that_of_the_routes() -> None:
    async with world() as atoll, client_of(atoll.url, "nobody") as client:
        answer = await client.get("/openapi.json", headers={"Authorization": ""})
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == DOCUMENT


@pytest.mark.parametrize("limit", [1, 3, 7, 8])
def test_pages_are_the_list_without_loss_or_repetition(limit: int) -> None:
    pages = walked(limit)
    assert [name for page in pages for name in page] == NAMES and all(
        len(page) == limit for page in pages[:-1]
    )


def test_page_continues_after_an_item_that_moved_or_went() -> None:
    cursor = PageRequest(None, 3).cut(NAMES, str)[1]
    assert PageRequest(cursor, 2).cut(["new", *NAMES], str)[0] == ["n3", "n4"]
    assert PageRequest(cursor, 2).cut([one for one in NAMES if one != "n2"], str)[0] == ["n3", "n4"]


@pytest.mark.parametrize(
    "cursor", ["x", "é", "MQ", "=", "LTEuYQ", "MTExMTExMTExMTExLmE", "a" * 900]
)
def test_cursor_that_is_none_of_ours_is_invalid(cursor: str) -> None:
    with pytest.raises(Invalid) as found:
        PageRequest(cursor, 1).cut(NAMES, str)
    assert found.value.field == "cursor"


def test_page_of_rows_continues_at_the_place_where_the_one_before_ended() -> None:
    place = (datetime(2026, 1, 2, 3, 4, 5, 678901, UTC), "ap_1 é")
    request = PageRequest(None, 7)
    names, following = request.rows_and_next(RowPage(["a"], place), str)
    assert names == ["a"]
    assert PageRequest(following, 7).rows() == PageQuery(7, place)
    assert request.rows_and_next(RowPage(["b"]), str) == (["b"], None)
    assert PageRequest(None, 7).rows() == PageQuery(7)


@pytest.mark.parametrize(
    "place",
    [
        "",
        "1",
        "-1.a",
        "1.a\0b",
        "1.a\n",
        "\u0661.a",
        "1" * 18 + "..a",
        "9" * 17 + "..a\x7f",
        "1.a",
        "1.other.a",
    ],
)
def test_place_that_is_none_of_ours_is_invalid(place: str) -> None:
    cursor = base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")
    with pytest.raises(Invalid) as found:
        PageRequest(cursor, 1).rows()
    assert found.value.field == "cursor"
    assert PageRequest(base64.urlsafe_b64encode(b"9" * 17 + b"..").decode(), 1).rows().after


async def test_cursor_of_another_list_is_refused() -> None:
    async with world() as one, client_of(one.url, one.token) as client:
        for name in ("a", "b"):
            assert (await client.post("/v1/dashboards", json={"name": name})).status_code == 201
        cursor = (await client.get("/v1/dashboards?limit=1")).json()["next"]
        for path in ("/v1/approvals", "/v1/workers", "/v1/secrets", "/v1/sandboxes"):
            refused = await client.get(path, params={"cursor": cursor})
            assert (refused.status_code, refused.json()["field"]) == (422, "cursor"), path
        same = await client.get("/v1/dashboards", params={"cursor": cursor})
        assert len(same.json()["dashboards"]) == 1


async def test_route_pages_its_list_by_limit_and_cursor() -> None:
    async with world() as one, client_of(one.url, one.token) as client:
        for name in ("A", "B", "C"):
            body = {"value": f"sk-canary-7f3a9c1b5d2e-{name}", "kind": "custom",
                    "hosts": [f"{name.lower()}.example.com"]}  # fmt: skip
            made = await client.put(f"/v1/secrets/{name}", json=body)
            assert made.status_code == 200, made.text
        first = (await client.get("/v1/secrets", params={"limit": 2})).json()
        rest = await client.get("/v1/secrets", params={"limit": 2, "cursor": first["next"]})
        found = [secret["name"] for page in (first, rest.json()) for secret in page["secrets"]]
        assert found == ["A", "B", "C"] and rest.json()["next"] is None
        bad = await client.get("/v1/secrets", params={"cursor": "nothing"})
        assert (bad.status_code, bad.json()["field"]) == (422, "cursor")


def json_contents() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and content of each body and each answer of JSON."""
    for path, item in DOCUMENT["paths"].items():
        for method, operation in item.items():
            parts = {"body": operation.get("requestBody", {}), **operation["responses"]}
            for which, part in parts.items():
                content = part.get("content", {}).get("application/json")
                if content is not None and which[0] in "b2":
                    yield f"{method.upper()} {path} {which}", content


CONTENTS = dict(json_contents())


SCHEMA = re.compile(r'"#/components/schemas/([^"]+)"')


def resolved(part: Any) -> Any:
    """The part with the schemas that it refers to, where a validator looks for them."""
    needed: dict[str, Any] = {}
    new = [part]
    while new:
        names = set(SCHEMA.findall(json.dumps(new.pop()))) - needed.keys()
        needed |= {name: DOCUMENT["components"]["schemas"][name] for name in names}
        new += [needed[name] for name in names]
    return {**part, "components": {"schemas": needed}}


def test_every_body_and_answer_of_json_has_an_example_that_fits_its_schema() -> None:
    assert len(CONTENTS) > 150
    wrong = []
    for name, content in CONTENTS.items():
        (named,) = content["examples"].values()
        example = DOCUMENT["components"]["examples"][named["$ref"].rpartition("/")[2]]["value"]
        validator = jsonschema_rs.Draft202012Validator(resolved(content["schema"]))
        wrong += [(name, one.message) for one in validator.iter_errors(example)]
    assert wrong == []


def test_bodies_that_are_spelled_are_those_of_operations() -> None:
    assert BODIES.keys() <= DOCUMENT["components"]["examples"].keys()


CODES = ROOT / "docs/program/errors.md"
ROW = re.compile(r"^\| `([a-z_]+)` \| ([^|]+) \| [^|]+ \|$", re.MULTILINE)
# Raised in the command line alone, or on a path that no route reaches.
NOT_SENT = {
    *("base_missing", "both_changed", "branch_checked_out", "branch_in_the_way"),
    *("holds_repository", "not_fast_forward"),
    "timeout",
    # Those that `atoll mcp` tells its client.
    *("reply_lost", "session_lost", "upstream_unreachable"),
}


SPELLS_CODES = re.compile(r"\bcode=|\b(?:CODE|DOOR_PORT|UNRESOLVED|default_code)\b")


def codes_of(path: Path) -> Iterator[str]:
    """Yield the codes that a module spells: `code="…"`, and words of a table of codes."""
    text = path.read_text()
    for node in ast.walk(ast.parse(text)) if SPELLS_CODES.search(text) else ():
        if isinstance(node, ast.keyword) and node.arg == "code":
            if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                yield node.value.value
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            named = {one.id for one in targets if isinstance(one, ast.Name)}
            constant = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
            if constant and named & {"CODE", "DOOR_PORT", "UNRESOLVED", "default_code"}:
                yield node.value.value  # type: ignore[union-attr]


def spelled() -> set[str]:
    modules = (one for one in (ROOT / "src/atoll").rglob("*.py") if "testing" not in one.parts)
    found = {code for path in modules for code in codes_of(path)}
    found |= {code for _, code, _ in refusal._KINDS.values()}
    found |= set(refusal._PROGRAM_KINDS.values())
    return (found | {"internal", "method_not_allowed", "agent_paused"}) - NOT_SENT


def test_every_code_is_documented_once_and_every_documented_one_is_spelled() -> None:
    told = [code for code, _ in ROW.findall(CODES.read_text())]
    assert len(told) == len(set(told))
    assert sorted(set(told) ^ spelled()) == []


def test_status_of_each_class_is_the_documented_one() -> None:
    told = dict(ROW.findall(CODES.read_text()))
    for kind in [
        one for one in AtollError.__subclasses__() if one.__module__ == AtollError.__module__
    ]:
        assert told[kind.default_code] == str(status_of(kind("")))


@deprecated(date(2026, 12, 1), sunset=date(2027, 6, 1), link="https://example.com/new")
async def old(request: Request) -> PlainTextResponse:
    return PlainTextResponse("old")


async def new(request: Request) -> PlainTextResponse:
    return PlainTextResponse("new")


async def test_route_that_goes_says_so_on_each_answer() -> None:
    app = Starlette(
        routes=[announce_deprecation(Route("/old", old)), announce_deprecation(Route("/new", new))]
    )
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://x", verify=False) as client:
        told = (await client.get("/old")).headers
        plain = (await client.get("/new")).headers
    assert told["Deprecation"] == "@1796083200"
    assert told["Sunset"] == "Tue, 01 Jun 2027 00:00:00 GMT"
    assert told["Link"] == '<https://example.com/new>; rel="deprecation"'
    assert "Deprecation" not in plain and "Sunset" not in plain


def test_notice_is_as_long_as_promised() -> None:
    with pytest.raises(ValueError, match="180 days"):
        deprecated(date(2026, 12, 1), sunset=date(2027, 2, 1), link="x")
    assert "180 days" in (ROOT / "docs/program/api.md").read_text()
