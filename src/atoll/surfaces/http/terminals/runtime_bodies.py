"""The body of a terminal, and fields of bodies, of routes that are not declared yet.

The runtime checks these again. Here a wrong one is refused before it is forwarded, and the OpenAPI
document gets their shape.
"""

from typing import Annotated

from pydantic import Field

from atoll.surfaces.http.body.fields import Body, Word
from atoll.wire.words.terminals import (
    MAX_ARGV,
    MAX_ENV,
    MAX_RING_BYTES,
    MIN_RING_BYTES,
    Strictness,
)

Text = Annotated[str, Field(max_length=131_072, strict=True)]
Argv = Annotated[list[Text], Field(min_length=1, max_length=MAX_ARGV)]
Env = Annotated[dict[Word, Text], Field(max_length=MAX_ENV)]
Path = Annotated[str, Field(min_length=1, max_length=4096, strict=True)]
Cell = Annotated[int, Field(ge=0, le=65535, strict=True)]


class TerminalBody(Body):
    """A terminal to open; without `agent` and `argv` it is the profile's shell. `softlock` is an
    agent's."""

    agent: Word | None = None
    argv: Argv | None = None
    cwd: Path | None = None
    env: Env | None = None
    cols: Cell | None = None
    rows: Cell | None = None
    name: Word | None = None
    softlock: Strictness | None = None
    ring_bytes: Annotated[int, Field(ge=MIN_RING_BYTES, le=MAX_RING_BYTES, strict=True)] | None = (
        None
    )
