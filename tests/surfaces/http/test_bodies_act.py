"""Every field of every request body acts: what happens outside the record differs by it.

Storing and showing a field is not acting. A field either names a test in which it acts, or has a
case here, run over the app, that compares what leaves the control plane: what the runtime is asked
for, the policy it is sent, which sandboxes end. What is sent on unchanged needs both, since only
the runtime acts on it.
"""

import ast
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import httpx
import pytest

from tests.places import ROOT
from tests.surfaces.http.acting_fields import ACTS, BOX, DESCRIBING, HERE, OWED
from tests.surfaces.http.world import World, client_of, document_text, world

#: A body, and each field as it is with something else: bodies that are sent on to the runtime.
Differences = tuple[dict[str, Any], dict[str, Any]]
_TERMINAL: Differences = (
    {"agent": "codex"},
    {
        "agent": "claude-code",
        "argv": ["sh"],
        "cwd": "/tmp",
        "env": {"A": "1"},
        "cols": 91,
        "rows": 17,
        "name": "mine",
        "softlock": "strict",
        "ring_bytes": 65536,
    },
)
SENT_ON: dict[str, Differences] = {
    "POST /sessions/{session}/ptys": _TERMINAL,
    f"POST {BOX}/terminals": _TERMINAL,
    f"POST {BOX}/agents": (
        {"agent": "codex"},
        {
            "agent": "claude-code",
            "mode": "machine",
            "prompt": "go",
            "resume": True,
            "conversation": "c-1",
            "permissions": "ask",
            "cwd": "/tmp",
            "env": {"A": "1"},
            "softlock": "strict",
            "cols": 91,
            "rows": 17,
            "name": "mine",
        },
    ),
    f"POST {BOX}/exec": (
        {"argv": ["true"]},
        {
            "argv": ["false"],
            "shell": "true",
            "cwd": "/tmp",
            "env": {"A": "1"},
            "stdin": "aGk=",
            "timeout": 3.0,
            "background": True,
            "max_output_bytes": 5,
            "reap": True,
        },
    ),
    f"POST {BOX}/exec/{{command}}/signal": ({"signal": "INT"}, {"signal": "TERM"}),
    f"POST {HERE}/signal": ({"signal": "INT"}, {"signal": "TERM"}),
    f"PATCH {HERE}": (
        {"name": "build", "fixed": True, "cols": 80, "rows": 24},
        {"name": "tests", "fixed": False, "cols": 91, "rows": 17},
    ),
    f"POST {HERE}/resize": ({"cols": 80, "rows": 24}, {"cols": 91, "rows": 17}),
    f"POST {HERE}/ask": ({"prompt": "go"}, {"prompt": "stop"}),
    f"POST {HERE}/agent": (
        {"action": "stop"},
        {"action": "pause", "gaps": [0, 0, 0, 0]},
    ),
    f"PATCH {BOX}/agents/{{agent}}/settings": ({"model": "a"}, {"permission_mode": "b"}),
    f"POST {HERE}/cards/{{card}}/answer": ({}, {"option": "yes", "text": "words"}),
    f"POST {BOX}/files/mkdir": ({"path": "a"}, {"path": "b", "parents": True}),
    f"POST {BOX}/files/move": (
        {"from": "a", "to": "b"},
        {"from": "c", "to": "d", "overwrite": True},
    ),
}

_KEY = "sk-canary-A1b2C3d4E5"
_CUSTOM = {"value": _KEY, "hosts": ["a.example"]}
_GIT = {"value": _KEY, "kind": "git", "remote": "https://git.example/o/r"}
_PROVIDER = {"value": _KEY, "kind": "provider", "provider": "openai"}
#: Field of a secret: a body without it, and with it.
SECRET: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "value": (_CUSTOM, {"value": _KEY + "9"}),
    "kind": ({**_CUSTOM, "env": "K", "broker_protected": False, "hosts": []}, {"kind": "env"}),
    "scope": (_CUSTOM, {"scope": "profile:profile.python"}),
    "provider": (_PROVIDER, {"provider": "anthropic"}),
    "base_url": (_PROVIDER, {"base_url": "https://gateway.example"}),
    "slot": ({**_CUSTOM, "slot_name": "X-Key", "slot": "header"}, {"slot": "query"}),
    "slot_name": ({**_CUSTOM, "slot": "header", "slot_name": "X-Key"}, {"slot_name": "X-Other"}),
    "hosts": (_CUSTOM, {"hosts": ["b.example"]}),
    "headers": (_CUSTOM, {"headers": ["X-Shard"]}),
    "remote": (_GIT, {"remote": "https://git.example/o/s"}),
    "push": (_GIT, {"push": ["refs/heads/x"]}),
    "env": (_CUSTOM, {"env": "K"}),
    "broker_protected": ({**_CUSTOM, "env": "K"}, {"broker_protected": False}),
}
NEW_SECRET = {**SECRET, "name": ({**_CUSTOM, "name": "A"}, {"name": "B"})}
NETWORK: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "mode": ({}, {"mode": "none"}),
    "allow": ({}, {"allow": ["b.example"]}),
    "deny": ({}, {"deny": ["pypi.org"]}),
    "forget": ({}, {"forget": ["a.example"]}),
    "host_ports": ({"mode": "host-only"}, {"host_ports": [5432]}),
    "ranges": ({"mode": "host-only"}, {"ranges": ["10.1.0.0/16"]}),
}
CONSUMER: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "harness": ({"harness": "h", "job_id": "j"}, {"harness": "other"}),
    "session_id": ({"harness": "h"}, {"session_id": "s"}),
    "run_id": ({"harness": "h"}, {"run_id": "r"}),
    "job_id": ({"harness": "h"}, {"job_id": "j"}),
}


async def _sandbox(client: httpx.AsyncClient, **body: object) -> str:
    made = await client.post("/v1/sandboxes?wait=ready", json={"profile": "python", **body})
    assert made.json()["state"] == "ready", made.text
    return str(made.json()["sandbox_id"])


def _policy(atoll: World) -> dict[str, Any]:
    """The last policy the runtime was sent, without numbers and ids that always differ."""
    sent = [body for method, path, _, body in atoll.runtime.asked if (method, path) == _POLICY]
    differing = rb'"(revision|secret_id|approval_id|version)":("[^"]*"|\d+)'
    policy: dict[str, Any] = json.loads(re.sub(differing, b'"\\1":0', (sent or [b"{}"])[-1]))
    return policy


_POLICY = ("PUT", "/policy")


async def _of_new_secret(atoll: World, client: httpx.AsyncClient, body: dict[str, Any]) -> object:
    made = await client.post("/v1/secrets", json={"name": "K", **body})
    assert made.status_code == 201, made.text
    await _sandbox(client, profile="shell")
    return _policy(atoll)


async def _of_secret(atoll: World, client: httpx.AsyncClient, body: dict[str, Any]) -> object:
    made = await client.put("/v1/secrets/K", json=body)
    assert made.status_code == 200, made.text
    await _sandbox(client, profile="shell")
    return _policy(atoll)


async def _of_rotation(atoll: World, client: httpx.AsyncClient, body: dict[str, Any]) -> object:
    await _of_secret(atoll, client, _CUSTOM)
    assert (await client.post("/v1/secrets/K/rotate", json=body)).status_code == 200
    return _policy(atoll)


async def _of_network(atoll: World, client: httpx.AsyncClient, body: dict[str, Any]) -> object:
    place = f"/v1/sandboxes/{await _sandbox(client)}/network"
    for change in ({"allow": ["a.example"]}, body):
        assert (await client.put(place, json=change)).status_code == 200
    return _policy(atoll)


async def _of_end(atoll: World, client: httpx.AsyncClient, body: dict[str, Any]) -> object:
    for name in ("session_id", "run_id", "job_id"):
        consumer = {"harness": "h", name: name[0]}
        await _sandbox(client, scope="session", name=name.replace("_", "-"), consumer=consumer)
    ended = (await client.post("/v1/consumers/end", json=body)).json()
    return [one["name"] for one in ended.get("sandboxes", ())]


Effect = Callable[[World, httpx.AsyncClient, dict[str, Any]], Awaitable[object]]
CASES: dict[str, tuple[Effect, dict[str, tuple[dict[str, Any], dict[str, Any]]]]] = {
    "POST /v1/secrets": (_of_new_secret, NEW_SECRET),
    "PUT /v1/secrets/{secret}": (_of_secret, SECRET),
    "POST /v1/secrets/{secret}/rotate": (
        _of_rotation,
        {"value": ({"value": _KEY + "8"}, {"value": _KEY + "9"})},
    ),
    f"PUT {BOX}/network": (_of_network, NETWORK),
    "POST /v1/consumers/end": (_of_end, CONSUMER),
}


def _fields(app: dict[str, Any], schema: dict[str, Any], above: str = "") -> Iterator[str]:
    """The paths of all that a body of this schema may hold; items of a list go by its name."""
    if "$ref" in schema:
        schema = app["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for part in (*schema.get("anyOf", ()), *schema.get("allOf", ())):
        yield from _fields(app, part, above)
    if "items" in schema:
        yield from _fields(app, schema["items"], above)
    for name, inner in schema.get("properties", {}).items():
        below = set(_fields(app, inner, f"{above}{name}."))
        yield from below or {above + name}


def _bodies(app: dict[str, Any]) -> dict[str, set[str]]:
    """Every operation of the app's document whose body has named fields, and these."""
    found = {}
    for path, item in app["paths"].items():
        for method, operation in item.items():
            content = operation.get("requestBody", {}).get("content", {})
            schema = content.get("application/json", {}).get("schema", {})
            if fields := set(_fields(app, schema)):
                found[f"{method.upper()} {path}"] = fields
    return found


@cache
def _module(path: str) -> tuple[str, ast.Module]:
    source = (ROOT / path).read_text()
    return source, ast.parse(source)


def _source(node_id: str) -> str:
    """What a test says; for one of its cases, the table that holds it, too."""
    path, _, rest = node_id.partition("::")
    name, _, case = rest.partition("[")
    source, module = _module(path)
    tables = [one for one in module.body if isinstance(one, ast.Assign | ast.AnnAssign)]
    for one in module.body:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name == name:
            used = {part.id for deco in one.decorator_list for part in ast.walk(deco)
                    if isinstance(part, ast.Name)}  # fmt: skip
            shown = [one, *(table for table in tables if case and _names(table) & used)]
            return "\n".join(ast.get_source_segment(source, part) or "" for part in shown)
    raise AssertionError(f"there is no test {node_id}")


def _names(table: ast.Assign | ast.AnnAssign) -> set[str]:
    targets = table.targets if isinstance(table, ast.Assign) else [table.target]
    return {one.id for one in targets if isinstance(one, ast.Name)}


def _judged() -> dict[str, set[str]]:
    """The fields, by operation, that stand in one of the tables."""
    tables: tuple[Mapping[str, Iterable[str]], ...] = (ACTS, DESCRIBING, OWED)
    cases = {operation: fields for operation, (_, fields) in CASES.items()}
    judged: dict[str, set[str]] = {}
    for table in (*tables, cases):
        for operation, fields in table.items():
            judged.setdefault(operation, set()).update(fields)
    return judged


def _beyond(some: dict[str, set[str]], others: dict[str, set[str]]) -> dict[str, set[str]]:
    beyond = {each: fields - others.get(each, set()) for each, fields in some.items()}
    return {each: fields for each, fields in beyond.items() if fields}


def test_every_field_of_every_body_is_judged() -> None:
    bodies = _bodies(json.loads(document_text()))
    assert _beyond(bodies, _judged()) == {}, "name the test these act in, or the issue that owes it"
    assert _beyond(_judged(), bodies) == {}, "these are no fields any more"


def test_new_field_that_no_table_holds_is_found() -> None:
    app = json.loads(document_text())
    app["components"]["schemas"]["RepoBody"]["properties"]["depth"] = {"type": "integer"}
    new = {"repos.depth"}
    found = dict.fromkeys(("POST /sessions", "POST /v1/sandboxes", "POST /v1/workers"), new)
    assert _beyond(_bodies(app), _judged()) == found


def test_every_named_test_is_there_and_mentions_its_field() -> None:
    for operation, acts in ACTS.items():
        for field, node_id in acts.items():
            case = node_id.partition("[")[2].removesuffix("]")
            wanted = case or field.rpartition(".")[2]
            said = re.search(rf"\b{re.escape(wanted)}\b", _source(node_id))
            assert said, f"{node_id} says nothing of {field} of {operation}"


def test_what_is_sent_on_is_named_with_a_test_of_the_runtime() -> None:
    for operation, (body, fields) in SENT_ON.items():
        assert ACTS[operation].keys() == body.keys() | fields.keys()


@pytest.mark.parametrize(
    ("operation", "field"), [(name, field) for name, (_, more) in SENT_ON.items() for field in more]
)
async def test_field_is_sent_on_to_the_runtime(atoll: World, operation: str, field: str) -> None:
    body, fields = SENT_ON[operation]
    told = {**body, field: fields[field]}
    if field == "shell":
        del told["argv"]
    async with client_of(atoll.url, atoll.token) as client:
        box = await _sandbox(client, profile="shell")
        method, _, path = operation.partition(" ")
        ids = {"sandbox": box, "session": box, "command": "e_1", "terminal": "t_1", "card": "c_1"}
        ids |= {"agent": "t_1"}
        atoll.runtime.asked.clear()
        answer = await client.request(method, path.format_map(ids), json=told)
    assert answer.is_success, answer.text
    # Before it opens something it has its own commands run; these are nobody's request.
    received = [
        json.loads(one)
        for _, place, _, one in atoll.runtime.asked
        if one and (operation.endswith("/exec") or place != "/execs")
    ]
    # Others may ask it for something at the same time, such as for its policy.
    assert [one[field] for one in received if field in one] == [fields[field]]


async def _happens(operation: str, body: dict[str, Any]) -> object:
    async with world() as atoll, client_of(atoll.url, atoll.token) as client:
        return await CASES[operation][0](atoll, client, body)


@pytest.mark.parametrize(
    ("operation", "field"), [(name, field) for name, (_, more) in CASES.items() for field in more]
)
async def test_field_changes_what_happens(operation: str, field: str) -> None:
    body, more = CASES[operation][1][field]
    with_it, without = await _happens(operation, {**body, **more}), await _happens(operation, body)
    assert with_it != without, f"nothing acts on {field} of {operation}"


@pytest.mark.parametrize("operation", CASES)
async def test_same_body_makes_the_same_happen(operation: str) -> None:
    """A control of the comparison: ids and numbers of their own make no difference."""
    body, more = list(CASES[operation][1].values())[-1]
    wanted = {**body, **more}
    assert await _happens(operation, wanted) == await _happens(operation, wanted)
