"""Bodies that clients send on to a runtime, and its answers: terminals, commands, files.

The runtime checks these again. Here a wrong one is refused before it is forwarded, and the OpenAPI
document gets their shape.
"""

import base64
import binascii
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, StrictBool, StrictStr, model_validator

from atoll.domain.terminal.softlock import Strictness
from atoll.surfaces.http.body.fields import Body, Word

MAX_ARGV = 1000
MAX_ENV = 1000
MIN_RING_BYTES = 64 * 1024
MAX_RING_BYTES = 2 * 1024 * 1024
MAX_OUTPUT_BYTES = 64 * 1024 * 1024

Text = Annotated[str, Field(max_length=131_072, strict=True)]
Argv = Annotated[list[Text], Field(min_length=1, max_length=MAX_ARGV)]
Env = Annotated[dict[Word, Text], Field(max_length=MAX_ENV)]
Path = Annotated[str, Field(min_length=1, max_length=4096, strict=True)]
Cell = Annotated[int, Field(ge=0, le=65535, strict=True)]


def _base64(text: str) -> str:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("must be base64") from error
    return text


Base64 = Annotated[StrictStr, AfterValidator(_base64), Field(json_schema_extra={"format": "byte"})]


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


class TerminalChangeBody(Body):
    """Changes of a terminal: another name (1 to 128 printable characters), or whether its size is
    fixed, at `cols` × `rows` or as it is now."""

    name: Word | None = None
    fixed: Annotated[bool, Field(strict=True)] | None = None
    cols: Annotated[int, Field(ge=2, le=1000, strict=True)] | None = None
    rows: Annotated[int, Field(ge=1, le=500, strict=True)] | None = None


class SizeBody(Body):
    """A size in cells; clamped to 2…1000 × 1…500."""

    cols: Cell
    rows: Cell


Signal = Literal["INT", "QUIT", "TERM", "HUP", "KILL", "STOP", "CONT", "USR1", "USR2"]


class SignalBody(Body):
    """A signal by name."""

    signal: Signal


class ExecBody(Body):
    """A command: `argv`, or `shell` for a line.

    `timeout` in seconds, `stdin` in base64. With `reap` all it started is killed as it ends;
    otherwise processes that it left running live on.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["argv"], "properties": {"argv": {"type": "array"}}},
                {"required": ["shell"], "properties": {"shell": {"type": "string"}}},
            ]
        }
    )

    argv: Argv | None = None
    shell: Annotated[str, Field(min_length=1, max_length=131_072, strict=True)] | None = None
    cwd: Path | None = None
    env: Env | None = None
    stdin: Base64 | None = None
    timeout: Annotated[float, Field(gt=0, le=31_536_000, strict=True)] | None = None
    background: StrictBool = False
    max_output_bytes: Annotated[int, Field(ge=0, le=MAX_OUTPUT_BYTES, strict=True)] | None = None
    reap: StrictBool = False

    @model_validator(mode="after")
    def _one_command(self) -> "ExecBody":
        if (self.argv is None) == (self.shell is None):
            raise ValueError("give either argv or shell")
        return self


class MkdirBody(Body):
    """A directory to make, with its parents if requested."""

    path: Path
    parents: StrictBool = False


class MoveBody(Body):
    """A rename."""

    model_config = ConfigDict(validate_by_name=False)

    source: Path = Field(alias="from")
    to: Path
    overwrite: StrictBool = False
