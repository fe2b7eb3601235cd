"""Every input of every surface at its largest, in its worst shapes, by every role: none may take a
step of the loop of more than 100 ms of the processor, or 64 MiB of memory.

A step of the loop is what `/healthz` waits for: measured in time of the processor, it is the same
beside other work. `test_whole_server.py` asks `/healthz` itself, of a server with a runtime.

`test_without_bounds.py` takes bounds out one by one, and sees that it fails.

The usual run has each input once, with shapes and roles in turn. `ATOLL_SHAPE_SECONDS` is for a
longer run, which draws sizes, characters and roles at random.
"""

import asyncio
import itertools
import random
import time
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import quote

from atoll.surfaces.http.body.json_body import MAX_JSON_BYTES
from atoll.wire.crdt.frames import SyncUpdate, spell_frame
from tests.bounds import rounds
from tests.security.worst_shapes import crdt_frames, shapes, wire_shapes
from tests.security.worst_shapes.installation import (
    ADMIN,
    DRIVER,
    GUEST,
    LOOKER,
    MEMBER,
    NOBODY,
    OWNER,
    PEOPLE,
    SANDBOX,
    Installation,
    installation,
)
from tests.security.worst_shapes.operations import (
    Operation,
    filled,
    operations,
    sockets,
    tool_fields,
    tool_sizes,
)
from tests.security.worst_shapes.watch import broken_off, frame, request, spoken
from tests.surfaces.mcp.requests import LEGACY, MODERN, body_of, call_of, headers_of

JSON: Final = "application/json"
OTHERS: Final = (NOBODY, LOOKER, DRIVER, GUEST, SANDBOX)
"""Those who are refused at most routes."""

QUERY_SIZE: Final = 50_000
AT_ONCE: Final = 12
UNAVAILABLE: Final = frozenset(
    {
        "POST /v1/hosts/{host}/trust",
        "POST /v1/sandboxes/{sandbox}/changes/discard",
    }
)
"""Operations that may answer 502 or 503: nobody is there that they ask."""

LONGEST_CALL: Final = "atoll.write"
"""The tool whose calls may be longest."""


async def test_no_input_takes_the_loop_or_the_memory() -> None:
    async with installation() as here:
        for part in PARTS:
            begun = time.process_time()
            await part(here)
            print(f"{part.__name__}: {time.process_time() - begun:.1f} s of the processor")
        await send_at_random(here)
    assert here.faults == []
    assert {one.name for one in operations() if one.has_inputs} <= here.answers.keys()
    assert {name for name, found in here.answers.items() if max(found) >= 500} <= UNAVAILABLE


async def send_heads(here: Installation) -> None:
    roles = itertools.cycle(here.roles.items())
    targets = itertools.cycle(("/v1/me", "/"))
    for shape, headers in shapes.heads():
        for _ in range(3):
            (role, own), target = next(roles), next(targets)
            data = request("GET", target, [*headers, *own])
            await here.send(f"a head with {shape}, to {target}, of {role}", data)
        data = request("GET", "/v1/events/stream", [*headers, *UPGRADE])
        await here.send(f"a handshake with {shape}", data)
    for shape, target in shapes.targets():
        for role, own in itertools.islice(roles, 3):
            await here.send(f"a target of {shape}, of {role}", request("GET", target, own))


async def send_streams(here: Installation) -> None:
    turns = Turns((NOBODY, LOOKER, OWNER))
    for number, (shape, _) in enumerate(wire_shapes.streams([])):
        role = turns.next()
        data = list(wire_shapes.streams(here.roles[role]))[number][1]
        await here.send(f"{shape}, of {role}", data)
    small = wire_shapes.smallest_requests()

    async def send_at_once() -> None:
        await asyncio.gather(*(broken_off(here.atoll.url, small) for _ in range(AT_ONCE)))

    await here.check(f"the smallest requests of {AT_ONCE} connections", send_at_once)


async def send_bodies(here: Installation) -> None:
    bodies = dict(shapes.bodies(MAX_JSON_BYTES - 1))
    for target in ("/auth/guests", "/auth/login", here.target("/v1/ingest/{source}/{hook}")):
        for shape, body in bodies.items():
            await here.send(f"{shape}, to {target}", request("POST", target, [], body))
    drawn, turns = itertools.cycle(bodies), Turns((*PEOPLE, *PEOPLE, *OTHERS))
    for operation in operations():
        if JSON in operation.media:
            await here.send(*body_sent(here, operation, turns.next(), next(drawn), bodies))


async def send_fields(here: Installation) -> None:
    kinds, turns = itertools.cycle(shapes.PIECES), Turns(PEOPLE)
    for operation in operations():
        if JSON not in operation.media:
            continue
        kind = next(kinds)
        await here.send(
            *sent(here, operation, turns.next(), f"all of {kind}", operation.full_body(kind))
        )
        for field in operation.fields():
            if field.is_large:
                kind = next(kinds)
                body = operation.body(field.put, filled(field.schema, kind))[:MAX_JSON_BYTES]
                name = f"{field.name} of {kind}"
                await here.send(*sent(here, operation, turns.next(), name, body))


async def send_queries(here: Installation) -> None:
    texts, people = shapes.texts(QUERY_SIZE // 9), Turns(PEOPLE)
    turns = Turns((*PEOPLE, *OTHERS))
    kinds = itertools.cycle(texts)
    for operation in operations():
        for number, query in enumerate(operation.queries):
            kind, role = next(kinds), (turns if number else people).next()
            target = f"{here.target(operation.path, role)}?{query}={quote(texts[kind])}"
            data = request(operation.method, target[:QUERY_SIZE], here.roles[role])
            name = f"{query} of {kind} of {operation.path}, of {role}"
            await here.send(name, data, operation.name)
        # Without its body nothing is done; one that has none might be.
        harmless = operation.method == "GET" or operation.media
        for header in operation.headers if harmless else ():
            kind, role = next(kinds), people.next()
            text = texts[kind].encode("ascii", "replace").replace(b"\n", b" ").decode()
            own = [*here.roles[role], f"{header}: {text * 2}"]
            data = request(operation.method, here.target(operation.path, role), own)
            await here.send(f"{header} of {kind} of {operation.name}", data, operation.name)
        if "{" in operation.path:
            kind, role = next(kinds), people.next()
            before, _, after = operation.path.rpartition("{")
            target = (
                here.target(before, role) + quote(texts[kind], safe="") + after.partition("}")[2]
            )
            data = request(operation.method, target[:QUERY_SIZE], here.roles[role])
            name = f"a name of {kind} in {operation.path}, of {role}"
            await here.send(name, data, operation.name)


async def call_tools(here: Installation) -> None:
    sizes = dict(tool_sizes())
    assert max(sizes, key=sizes.__getitem__) == LONGEST_CALL
    callers = itertools.cycle(((LEGACY, SANDBOX), (MODERN, OWNER)))
    for shape, arguments in shapes.bodies(sizes[LONGEST_CALL]):
        version, role = next(callers)
        await here.send(*called(here, version, role, LONGEST_CALL, shape, arguments))
    drawn = itertools.cycle(shapes.BODIES)
    for tool, size in sizes.items():
        (version, role), shape = next(callers), next(drawn)
        arguments = shapes.body(shape, size)
        await here.send(*called(here, version, role, tool, shape, arguments))
    for shape, body in shapes.bodies(4 * 1024 * 1024 - 1):
        data = request("POST", "/mcp", here.roles[SANDBOX], body)
        await here.send(f"a message of {shape}", data)
    kinds, turns = itertools.cycle(shapes.PIECES), Turns((MEMBER, OWNER))
    for tool, field, value in tool_fields():
        kind, role = next(kinds), turns.next()
        own = tool_headers(here, LEGACY, role, tool)
        body = shapes.text_of_json(
            body_of(LEGACY, "tools/call", name=tool, arguments={field: value(kind)})
        )
        await here.send(f"{field} of {kind} of {tool}", request("POST", "/mcp", own, body))


async def edit_dashboards(here: Installation) -> None:
    board = here.target("/v1/dashboards/{dashboard}")
    attach = f"{board}/attach"
    begun = frame(2, spell_frame(SyncUpdate(crdt_frames.begun())))
    assert await spoken(here.atoll.url, attach, here.roles[OWNER], [begun]) == 101
    turns = Turns((GUEST, OWNER, OWNER))
    for shape, data in crdt_frames.frames():
        await here.speak(f"a frame of {shape}", attach, turns.next(), data, tries=1)
        # What was taken costs nothing later.
        await here.speak(f"the document after {shape}", attach, GUEST, b"")
    for target in (f"{board}/history", f"{board}/items"):
        await here.send(target, request("GET", target, here.roles[OWNER]))
    copied = request("POST", f"{board}/copy", here.roles[OWNER], b'{"name":"Copy"}')
    await here.send("a copy", copied)


async def speak_frames(here: Installation) -> None:
    turns = {path: Turns(speakers(path)) for path in sockets()}
    paths = itertools.cycle(turns)
    for shape, data in wire_shapes.frames():
        path = next(paths)
        role = turns[path].next()
        await here.speak(shape, here.target(path, role), role, data)


async def send_files(here: Installation) -> None:
    uploads = dict(shapes.multipart("bound", 4_000_000))
    documents = dict(shapes.yaml_documents(120_000))
    blobs = {"zeros": bytes(900_000), "no tar": b"\xff" * 900_000, **dict(shapes.tars(900_000))}
    for operation in operations():
        for media in set(operation.media) - {JSON}:
            of_kind = {"multipart/form-data": uploads, "application/yaml": documents}
            turns = Turns(PEOPLE)
            for shape, body in of_kind.get(media, blobs).items():
                role = turns.next()
                kind = f"{media}; boundary=bound" if media in of_kind else media
                own = [*here.roles[role], f"Content-Type: {kind}"]
                target = here.target(operation.path, role)
                data = request(operation.method, target, own, body)
                await here.send(f"{media} of {shape}, to {target}, of {role}", data, operation.name)


async def send_at_random(here: Installation) -> None:
    """Send one input of each kind a few times, or as often as fits in `ATOLL_SHAPE_SECONDS`."""
    dice = random.Random()
    frames = dict([*crdt_frames.frames(), *wire_shapes.frames()])
    for _ in rounds("ATOLL_SHAPE_SECONDS", 5):
        role, own = dice.choice(list(here.roles.items()))
        operation = dice.choice([one for one in operations() if JSON in one.media])
        for field in operation.fields():
            kind = dice.choice(list(shapes.PIECES))
            body = operation.body(field.put, filled(field.schema, kind))[:MAX_JSON_BYTES]
            await here.send(*sent(here, operation, role, f"{field.name} of {kind}", body))
        shape, size = dice.choice(list(shapes.BODIES)), dice.randrange(1000, MAX_JSON_BYTES)
        bodies = {shape: shapes.body(shape, size)}
        await here.send(*body_sent(here, operation, role, shape, bodies))
        target = here.target(dice.choice(sockets()), role)
        drawn = dice.sample(list(frames), 3)
        for shape in drawn:
            await here.speak(shape, target, role, frames[shape])
        shape, data = dice.choice(list(wire_shapes.streams(own)))
        await here.send(f"{shape}, of {role}", data)


PARTS: Final[tuple[Callable[[Installation], Awaitable[None]], ...]] = (
    send_heads,
    send_streams,
    send_bodies,
    send_fields,
    send_queries,
    call_tools,
    edit_dashboards,
    speak_frames,
    send_files,
)

UPGRADE: Final = (
    *("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"),
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
)


class Turns:
    """Roles in turn."""

    def __init__(self, roles: tuple[str, ...]) -> None:
        self._roles = itertools.cycle(roles)

    def next(self) -> str:
        """Return the next role."""
        return next(self._roles)


def sent(
    here: Installation, operation: Operation, role: str, name: str, body: bytes
) -> tuple[str, bytes, str]:
    """Return the name of a request, its bytes, and its operation."""
    target = here.target(operation.path, role)
    said = f"{name} to {operation.method} {operation.path}, of {role}"
    data = request(operation.method, target, here.roles[role], body)
    return said, data, operation.name


def body_sent(
    here: Installation, operation: Operation, role: str, shape: str, bodies: dict[str, bytes]
) -> tuple[str, bytes, str]:
    """Return the name of a request with a body of this shape, its bytes, and its operation."""
    return sent(here, operation, role, shape, bodies[shape])


def tool_headers(here: Installation, version: str, role: str, tool: str) -> list[str]:
    """Return the headers of a call of a tool."""
    headers = headers_of(version, "tools/call", tool)
    return [*here.roles[role], *(f"{name}: {value}" for name, value in headers.items())]


def called(
    here: Installation, version: str, role: str, tool: str, shape: str, arguments: bytes
) -> tuple[str, bytes]:
    """Return the name of a call with these arguments, and its request."""
    body = call_of(version, tool, "HERE").replace(b"HERE", arguments)
    name = f"a call of {tool} with {shape}, of {role}, {version}"
    return name, request("POST", "/mcp", tool_headers(here, version, role, tool), body)


def speakers(path: str) -> tuple[str, ...]:
    """Return those who may open a WebSocket, the least first."""
    if "{dashboard}" in path:
        return (GUEST, MEMBER, OWNER)
    if "terminals" in path or "ptys" in path:
        return (LOOKER, DRIVER, MEMBER, OWNER)
    return (MEMBER, ADMIN, OWNER)
