"""What keeps worst shapes from harm, taken out one by one: without each, some input does harm.

So a bound that somebody removes, or that no longer stands before what it bounds, is noticed by the
usual run. Each row names the bound, and the part of `test_worst_shapes` that finds it missing.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import pytest

from tests.security.worst_shapes import test_worst_shapes as parts
from tests.security.worst_shapes.installation import Installation, installation

Take = Callable[[pytest.MonkeyPatch], None]
Part = Callable[[Installation], Awaitable[None]]
BEYOND: Final = 10**9
HTTP: Final = "atoll.surfaces.http"
CONNECTIONS: Final = f"{HTTP}.server.connections"


def number(name: str) -> Take:
    """Return what makes a number too large to bound anything."""
    return lambda patch: patch.setattr(name, BEYOND)


def nothing(name: str) -> Take:
    """Return what has a function check nothing."""
    return lambda patch: patch.setattr(name, lambda *_, **__: None)


def leave_cookies(patch: pytest.MonkeyPatch) -> None:
    """Have the library read cookies, too, as it did when Python 3.11 was released."""
    patch.setattr(f"{HTTP}.server.guard.take_cookies", _cookies_that_stay)
    patch.setattr("http.cookies._unquote", _unquoted)


def read_on_the_loop(patch: pytest.MonkeyPatch) -> None:
    """Have documents read, merged and opened on the loop."""

    async def here(_: Any, work: Callable[[], Any]) -> Any:
        return work()

    patch.setattr("atoll.services.dashboards.documents.DocumentStore.beside", here)


BOUNDS: Final[Mapping[str, tuple[Take, Part]]] = {
    "cookies read by hand": (leave_cookies, parts.send_heads),
    "the shape of JSON": (nothing(f"{HTTP}.body.json_body.check_shape"), parts.send_bodies),
    "the shape of a tool's call": (
        nothing("atoll.surfaces.mcp.bodies.check_shape"),
        parts.call_tools,
    ),
    "heads in pieces": (number(f"{CONNECTIONS}.bounded_head.PIECE_BYTES"), parts.send_streams),
    "what a change costs": (
        nothing("atoll.domain.dashboards.order.DocumentOrder.admit"),
        parts.edit_dashboards,
    ),
    "parts that go on": (
        number("atoll.domain.dashboards.order.MAX_CONTINUATIONS"),
        parts.edit_dashboards,
    ),
    "documents beside the loop": (read_on_the_loop, parts.edit_dashboards),
    "frames in pieces": (number(f"{CONNECTIONS}.handover.PIECE_BYTES"), parts.speak_frames),
}


@pytest.mark.slow
@pytest.mark.parametrize("bound", BOUNDS)
async def test_without_a_bound_an_input_does_harm(
    bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    take, part = BOUNDS[bound]
    async with installation() as here:
        take(monkeypatch)
        await part(here)
        monkeypatch.undo()
    assert here.faults, f"nothing was noticed without {bound}"


def _cookies_that_stay(scope: Any) -> None:
    scope.setdefault("state", {})["cookies"] = {}


_OCTAL = re.compile(r"\\[0-3][0-7][0-7]")
_QUOTED = re.compile(r"[\\].")


def _unquoted(text: str) -> str:
    """Return a value as `http.cookies` read it before Python 3.11.10 (CVE-2024-7592)."""
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return text
    text, at, found = text[1:-1], 0, []
    while 0 <= at < len(text):
        octal, quoted = _OCTAL.search(text, at), _QUOTED.search(text, at)
        if not octal and not quoted:
            found.append(text[at:])
            break
        begins = octal.start() if octal else -1
        if quoted and (not octal or quoted.start() < begins):
            found += [text[at : quoted.start()], text[quoted.start() + 1]]
            at = quoted.start() + 2
        else:
            found += [text[at:begins], chr(int(text[begins + 1 : begins + 4], 8))]
            at = begins + 4
    return "".join(found)
