"""Commands in a sandbox: run one and wait, follow its output, write to it, signal it, forget it."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from atoll.wire.api.fields import ItemId, SandboxRef
from atoll.wire.api.operation import Area, Request, Stream, operation
from atoll.wire.api.terminals import Argv, Env, Path, SignalBody
from atoll.wire.contract.execs import ExecList, ExecWithOutput
from atoll.wire.http.media_types import BYTES, NDJSON
from atoll.wire.words.terminals import MAX_OUTPUT_BYTES, MAX_TEXT

MAX_EXECS = 164
"""The commands of a sandbox that are listed: those that run, and those that ended lately."""

Base64 = Annotated[str, Meta(extra_json_schema={"format": "byte"})]
Close = Annotated[bool, Meta(description="End the input afterwards.")]
Offset = Annotated[int, Meta(ge=0, le=2**53)]
_LINES = "One JSON object per line: output in base64 with its offset; the last line is `exit`."


class ExecBody(Request):
    """A command: `argv`, or `shell` for a line.

    `timeout` in seconds, `stdin` in base64. With `reap` all it started is killed as it ends;
    otherwise processes that it left running live on.
    """

    schema_members: ClassVar[Mapping[str, Any]] = {
        "oneOf": [
            {"required": ["argv"], "properties": {"argv": {"type": "array"}}},
            {"required": ["shell"], "properties": {"shell": {"type": "string"}}},
        ]
    }

    argv: Argv | None = None
    shell: Annotated[str, Meta(min_length=1, max_length=MAX_TEXT)] | None = None
    cwd: Path | None = None
    env: Env | None = None
    stdin: Base64 | None = None
    timeout: Annotated[float, Meta(gt=0, le=31_536_000)] | None = None
    background: bool = False
    max_output_bytes: Annotated[int, Meta(ge=0, le=MAX_OUTPUT_BYTES)] | None = None
    reap: bool = False


_FAILURES = (404, 409, 413, 502)


class Execs(Area):
    """Commands in a sandbox."""

    tag = "exec"
    needs = "exec.use"

    @operation(
        "POST /v1/sandboxes/{sandbox}/exec",
        name="run_command",
        problems=_FAILURES,
        about="The command's result; or a stream of its output, when accepted.",
        also={201: "Started in the background."},
        offers=NDJSON,
    )
    def run(self, sandbox: SandboxRef, body: ExecBody) -> ExecWithOutput:
        """Run a command.

        It waits for the end, or with `background` answers at once. With `Accept:
        application/x-ndjson` the output comes as it is written.
        """

    @operation(
        "GET /v1/sandboxes/{sandbox}/exec",
        name="list_commands",
        problems=_FAILURES,
        max_items=MAX_EXECS,
    )
    def list(self, sandbox: SandboxRef) -> ExecList:
        """Return the commands that run, and those that ended lately; without their output."""

    @operation("GET /v1/sandboxes/{sandbox}/exec/{command}", name="get_command", problems=_FAILURES)
    def get(self, sandbox: SandboxRef, command: ItemId) -> ExecWithOutput:
        """Return one command with its output so far."""

    @operation(
        "DELETE /v1/sandboxes/{sandbox}/exec/{command}",
        name="forget_command",
        status=204,
        problems=_FAILURES,
    )
    def forget(self, sandbox: SandboxRef, command: ItemId) -> None:
        """Forget a command and its output.

        A running command is killed with all it started; processes that an ended one left running
        live on.
        """

    @operation(
        "GET /v1/sandboxes/{sandbox}/exec/{command}/output",
        name="follow_output",
        problems=_FAILURES,
        stream=NDJSON,
        about=_LINES,
    )
    def follow(
        self,
        sandbox: SandboxRef,
        command: ItemId,
        *,
        stdout: Offset | None = None,
        stderr: Offset | None = None,
    ) -> Stream:
        """Follow a command's output from two offsets until its end.

        A stream whose offset lies beyond its output is sent from 0, as the `offset` of its lines
        says.
        """

    @operation(
        "POST /v1/sandboxes/{sandbox}/exec/{command}/stdin",
        name="write_stdin",
        status=204,
        problems=_FAILURES,
        takes=BYTES,
    )
    def write(self, sandbox: SandboxRef, command: ItemId, *, close: Close = False) -> None:
        """Write raw bytes to a command's standard input."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/exec/{command}/signal",
        name="signal_command",
        status=204,
        problems=_FAILURES,
    )
    def signal(self, sandbox: SandboxRef, command: ItemId, body: SignalBody) -> None:
        """Signal a command and all its descendants."""
