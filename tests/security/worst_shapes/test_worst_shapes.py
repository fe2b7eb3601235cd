"""Every input of every surface at its largest, in its worst shapes, by every role: none may take a
step of the loop of more than 100 ms of the processor, or 64 MiB of memory.

Tried without these bounds, each of which makes it fail: cookies taken out of the head (with the
parser of Python 3.11.2 as it was released), `check_shape` in the HTTP API, `check_shape` at `/mcp`,
`DocumentOrder.admit`, and its `MAX_CONTINUATIONS` alone. What a thread does is seen only where it
holds the interpreter's lock; such bounds have tests of their own.

The usual run has each input once. `ATOLL_SHAPE_SECONDS` is for a longer run, which draws sizes,
characters and roles at random.
"""

import itertools
import json
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from atoll.surfaces.http.body.json_body import MAX_JSON_BYTES
from atoll.wire.crdt.frames import SyncUpdate, spell_frame
from tests.bounds import rounds
from tests.security.worst_shapes import crdt_frames, shapes
from tests.security.worst_shapes.watch import (
    TRIES,
    Watch,
    answered,
    check,
    frame,
    request,
    spoken,
    watched,
)
from tests.surfaces.http.dashboards.test_shares import _enter, _link
from tests.surfaces.http.people.test_tokens import _held
from tests.surfaces.http.world import World, client_of, document_text, world
from tests.surfaces.mcp.requests import LEGACY, MODERN, call_of, headers_of

TEXT_SIZE = 30_000
"""The characters of a text in a field that names no most: normalized by the square, they take
half a second."""


@dataclass
class Installation:
    """A control plane with a sandbox and a dashboard, and the headers of each role."""

    atoll: World
    watch: Watch
    roles: dict[str, list[str]]
    ids: dict[str, str]
    faults: list[str]

    async def check(
        self, name: str, send: Callable[[], Awaitable[object]], tries: int = TRIES
    ) -> None:
        self.faults += await check(self.watch, name, send, tries)

    async def send(self, name: str, data: bytes) -> None:
        await self.check(name, partial(answered, self.atoll.url, data))


@asynccontextmanager
async def installation() -> AsyncIterator[Installation]:
    async with AsyncExitStack() as stack:
        atoll = await stack.enter_async_context(world(mcp_events=True))
        async with client_of(atoll.url, atoll.token) as owner:
            box = (await owner.post("/v1/sandboxes?wait=ready", json={"profile": "shell"})).json()
            board = (await owner.post("/v1/dashboards", json={"name": "Board"})).json()["id"]
            hook = await owner.post("/v1/hooks", json={"source": "github", "name": "ours"})
            await owner.post("/mcp", json={})  # loads the SDK
        sandbox = box["sandbox_id"]
        _, secret = await _link(atoll, board)
        told, guest = await _enter(atoll, secret)
        held = await _held(atoll, sandbox)
        roles = {
            "nobody": [],
            "guest": [f"{name}: {value}" for name, value in guest.items()],
            "sandbox": [f"Authorization: Bearer {held.text}"],
            "owner": [f"Authorization: Bearer {atoll.token}"],
        }
        ids = {"sandbox": sandbox, "dashboard": board, "hook": hook.json()["address"]}
        watch = await stack.enter_async_context(watched())
        made = Installation(atoll, watch, roles, ids, [])
        await spoken(atoll.url, f"/v1/dashboards/{board}/attach", roles["owner"], [])
        yield made
        assert await answered(atoll.url, request("GET", "/healthz")) == 200
    assert told["guest"]["role"] == "viewer"
    assert made.faults == []


async def test_no_input_takes_the_loop_or_the_memory() -> None:
    async with installation() as here:
        for part in (send_heads, send_bodies, send_fields, call_tools, edit_dashboards, send_files):
            begun = time.process_time()
            await part(here)
            print(f"{part.__name__}: {time.process_time() - begun:.1f} s of the processor")
        await send_at_random(here)


async def send_heads(here: Installation) -> None:
    sent = itertools.product(shapes.heads(), here.roles.items(), ("/v1/me", "/"))
    for (shape, headers), (role, own), target in sent:
        data = request("GET", target, [*headers, *own])
        await here.send(f"a head with {shape}, to {target}, of {role}", data)
    upgrade = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
    upgrade.append("Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")
    for shape, headers in shapes.heads():
        data = request("GET", "/v1/overview/live", [*headers, *upgrade])
        await here.send(f"a handshake with {shape}", data)
    for shape, target in shapes.targets():
        for role, own in here.roles.items():
            await here.send(f"a target of {shape}, of {role}", request("GET", target, own))


async def send_bodies(here: Installation) -> None:
    targets = {
        "/auth/guests": "nobody",
        "/auth/login": "nobody",
        "/v1/sandboxes": "owner",
        f"/v1/sandboxes/{here.ids['sandbox']}/exec": "owner",
        here.ids["hook"]: "nobody",
    }
    for target, role in targets.items():
        for shape, body in shapes.bodies(MAX_JSON_BYTES - 1):
            data = request("POST", target, here.roles[role], body)
            await here.send(f"a body of {shape}, to {target}", data)


async def send_fields(here: Installation) -> None:
    kinds = list(shapes.PIECES)
    large = (found for found in fields_of_operations(here.ids) if found[-1])
    for number, (operation, field, value, _) in enumerate(large):
        chosen = {kinds[0], kinds[number % len(kinds)]}
        for kind in sorted(chosen):
            await here.send(*field_sent(here, operation, field, value(kind)))


async def call_tools(here: Installation) -> None:
    for version, role in itertools.product((LEGACY, MODERN), ("owner", "sandbox")):
        headers = headers_of(version, "tools/call", "events.recent")
        own = [*here.roles[role], *(f"{name}: {value}" for name, value in headers.items())]
        for shape, arguments in shapes.bodies(1_900_000):
            body = call_of(version, "events.recent", "HERE").replace(b"HERE", arguments)
            data = request("POST", "/mcp", own, body)
            await here.send(f"a call of {shape}, of {role}, {version}", data)
    for shape, body in shapes.bodies(4 * 1024 * 1024 - 1):
        data = request("POST", "/mcp", [*here.roles["sandbox"]], body)
        await here.send(f"a message of {shape}", data)


async def edit_dashboards(here: Installation) -> None:
    board = f"/v1/dashboards/{here.ids['dashboard']}"
    begun = frame(2, spell_frame(SyncUpdate(crdt_frames.begun())))
    assert await spoken(here.atoll.url, f"{board}/attach", here.roles["owner"], [begun]) == 101
    for shape, sent in crdt_frames.frames():
        for role in ("guest", "owner"):
            speak = partial(spoken, here.atoll.url, f"{board}/attach", here.roles[role], [sent])
            await here.check(f"a frame of {shape}, of {role}", speak, tries=1)
        # What was taken costs nothing later.
        look = partial(spoken, here.atoll.url, f"{board}/attach", here.roles["guest"], [])
        await here.check(f"the document after {shape}", look)
    for target in (f"{board}/history", f"{board}/items"):
        await here.send(target, request("GET", target, here.roles["owner"]))
    copied = request("POST", f"{board}/copy", here.roles["owner"], b'{"name":"Copy"}')
    await here.send("a copy", copied)


async def send_files(here: Installation) -> None:
    box, owner = f"/v1/sandboxes/{here.ids['sandbox']}", here.roles["owner"]
    for shape, body in shapes.bodies(900_000):
        sent = [frame(1, body.decode("utf-8", "replace").encode()[:1_000_000])]
        speak = partial(spoken, here.atoll.url, f"{box}/terminals/t_1/attach", owner, sent)
        await here.check(f"words to a terminal, {shape}", speak)
    for shape, body in shapes.multipart("bound", 4_000_000):
        headers = [*owner, "Content-Type: multipart/form-data; boundary=bound"]
        target = f"/sessions/{here.ids['sandbox']}/upload"
        await here.send(f"an upload of {shape}", request("POST", target, headers, body))
    for shape, body in shapes.yaml_documents(120_000):
        await here.send(f"a profile of {shape}", request("PUT", "/v1/profiles/mine", owner, body))


async def send_at_random(here: Installation) -> None:
    """Send one input of each kind a few times, or as often as fits in `ATOLL_SHAPE_SECONDS`."""
    dice = random.Random()
    operations = list(fields_of_operations(here.ids))
    drawn_frames = list(crdt_frames.frames())
    for _ in rounds("ATOLL_SHAPE_SECONDS", 5):
        role, own = dice.choice(list(here.roles.items()))
        operation, field, value, _ = dice.choice(operations)
        kind = dice.choice(list(shapes.PIECES))
        await here.send(*field_sent(here, operation, field, value(kind), role))
        shape, body = dice.choice(list(shapes.bodies(dice.randrange(1000, MAX_JSON_BYTES))))
        method, target = operation
        await here.send(f"{shape} to {target}, of {role}", request(method, target, own, body))
        board = f"/v1/dashboards/{here.ids['dashboard']}/attach"
        drawn = dice.sample(drawn_frames, 3)
        speak = partial(spoken, here.atoll.url, board, own, [sent for _, sent in drawn])
        await here.check(f"{[shape for shape, _ in drawn]} of {role}", speak)


Value = Callable[[str], Any]


def fields_of_operations(
    ids: Mapping[str, str],
) -> Iterator[tuple[tuple[str, str], str, Value, bool]]:
    """Yield the fields of the JSON bodies of every operation, how each is filled with one kind of
    text as far as it may be, and whether it may be large."""
    document = json.loads(document_text())
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {})
            schema = content.get("application/json", {}).get("schema", {})
            target = path.replace("{sandbox}", ids["sandbox"]).replace("{session}", ids["sandbox"])
            target = target.replace("{dashboard}", ids["dashboard"])
            target = "/".join("t_1" if part[:1] == "{" else part for part in target.split("/"))
            for field, inner in resolved(schema, document).get("properties", {}).items():
                known = resolved(inner, document)
                value = partial(filled, known, document)
                yield (method.upper(), target), field, value, is_large(known)


def is_large(schema: Mapping[str, Any]) -> bool:
    """Report whether a value may have more than some thousand characters."""
    kind = schema.get("type")
    long = kind == "string" and "enum" not in schema and schema.get("maxLength", 10**9) > 2000
    return long or kind in {"array", "object"}


def field_sent(
    here: Installation, operation: tuple[str, str], field: str, value: Any, role: str = ""
) -> tuple[str, bytes]:
    """Return the name of a request with one field, and its bytes."""
    method, target = operation
    role = role or ("nobody" if target.startswith("/auth/") else "owner")
    body = shapes.text_of_json({**REQUIRED.get(target, {}), field: value})[:MAX_JSON_BYTES]
    return f"{field} of {method} {target}", request(method, target, here.roles[role], body)


REQUIRED: Mapping[str, Mapping[str, str]] = {
    "/auth/guests": {"ticket": "a" * 43},
    "/v1/dashboards": {"name": "a"},
}
"""What an operation asks for before it looks at a field."""


def resolved(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema behind its references, the first of several that is not null."""
    while True:
        if "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
            continue
        several = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
        if not several:
            return schema
        schema = next((one for one in several if one.get("type") != "null"), {})


def filled(schema: Mapping[str, Any], document: Mapping[str, Any], kind: str) -> Any:
    """Return the largest value of a schema, of one kind of text."""
    text = shapes.texts(TEXT_SIZE)[kind][: schema.get("maxLength", TEXT_SIZE)]
    match schema.get("type"):
        case "array":
            item = resolved(schema.get("items", {}), document)
            count = min(schema.get("maxItems", 9000), 9000)
            inner = filled(item, document, kind) if item.get("type") == "string" else text
            return [inner[: max(1, 600_000 // count)] + str(n) for n in range(count)]
        case "object":
            return {f"{text[:50]}{n}": text[:50] for n in range(4000)}
        case "integer" | "number":
            return int("9" * 4000)
        case _:
            return text
