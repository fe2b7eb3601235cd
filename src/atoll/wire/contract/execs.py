"""Execs: commands in a sandbox, their output, and the processes they left running."""

from collections.abc import AsyncIterator
from typing import Literal

import msgspec

from atoll.wire.contract.call import (
    PathId,
    Query,
    RequestBody,
    RuntimeCall,
    bytes_call,
    done_call,
    json_call,
    read_bytes,
    read_nothing,
)
from atoll.wire.http.media_types import NDJSON

OUTPUT_BYTES = 10 * 1024 * 1024


class ExecBody(RequestBody):
    """The body of `POST /execs`: `argv`, or `shell` for a line; `stdin` in base64, `timeout` in
    seconds. One that is `unrecorded` is the control plane's own look at files: it leaves no journal
    entry, is no activity, and is forgotten once its output was streamed or its reader left. With
    `clean_env` the sandbox's variables do not count, but a fixed few of the runtime's."""

    argv: list[str] | None = None
    shell: str | None = None
    cwd: str | None = None
    env: dict[str, str] = msgspec.field(default_factory=dict)
    stdin: str | None = None
    timeout: float | None = None
    background: bool = False
    max_output_bytes: int = OUTPUT_BYTES
    reap: bool = False
    unrecorded: bool = False
    clean_env: bool = False


class SignalBody(RequestBody):
    """Signal to a program: `{"signal":"INT"}`; the `SIG` in front may be there."""

    signal: str


class ExecRecord(msgspec.Struct, frozen=True):
    """A command without its output."""

    exec_id: str
    argv: tuple[str, ...]
    cwd: str
    state: Literal["running", "exited"]
    exit_code: int | None
    signal: str | None
    timed_out: bool
    started_at: str
    ended_at: str | None
    stdout_bytes: int
    stderr_bytes: int
    truncated: bool


class ExecWithOutput(ExecRecord, frozen=True):
    """A command with the kept part of its output, base64."""

    stdout: str
    stderr: str


class ExecList(msgspec.Struct, frozen=True):
    """The sandbox's commands."""

    execs: tuple[ExecRecord, ...]


class Chunk(msgspec.Struct, frozen=True):
    """A line of the stream: bytes of one stream from `offset`, base64."""

    stream: str
    offset: int
    data: str


class Last(msgspec.Struct, frozen=True):
    """The last line of the stream."""

    exit: ExecRecord


class OwnUsage(msgspec.Struct, frozen=True):
    """The resources a runtime itself uses: memory in bytes, processes and threads, each with its
    limit; null is not counted or not bounded."""

    memory_bytes: int
    most_memory_bytes: int | None = None
    tasks: int | None = None
    most_tasks: int | None = None


class LeftRecord(msgspec.Struct, frozen=True):
    """A process: its pid inside, and the start of its command line, which it chose itself."""

    pid: int
    command: str


class LeftList(msgspec.Struct, frozen=True):
    """Processes left running; `more` when there are more than are listed. `runtime` has the
    resources of the sandbox's own runtime, outside the wall; null where nobody counts them."""

    processes: tuple[LeftRecord, ...]
    more: bool
    runtime: OwnUsage | None = None


def run_exec(body: ExecBody, actor: str | None = None) -> RuntimeCall[ExecWithOutput]:
    """Run a command, to its end unless it is in the background. Its events have the `actor`."""
    return json_call("POST", "/execs", ExecWithOutput, query=_acting(actor), body=body)


def answer_exec(body: ExecBody, actor: str | None = None) -> RuntimeCall[bytes]:
    """Run a command as `run_exec`: the answer as it is, which may be large."""
    encoded = msgspec.json.encode(body)
    return RuntimeCall("POST", "/execs", read_bytes, _acting(actor), body=encoded)


def stream_exec(body: ExecBody, actor: str | None = None) -> RuntimeCall[bytes]:
    """Run a command and follow it: lines of `Chunk`, then `Last`."""
    encoded, accept = msgspec.json.encode(body), (("Accept", NDJSON),)
    return RuntimeCall("POST", "/execs", read_bytes, _acting(actor), headers=accept, body=encoded)


def list_execs() -> RuntimeCall[ExecList]:
    """List commands without their output."""
    return json_call("GET", "/execs", ExecList)


def get_exec(exec_id: PathId) -> RuntimeCall[ExecWithOutput]:
    """Return one command with its output so far."""
    return json_call("GET", f"/execs/{exec_id}", ExecWithOutput)


def show_exec(exec_id: PathId) -> RuntimeCall[bytes]:
    """Return the same as `get_exec`, as it is."""
    return bytes_call(f"/execs/{exec_id}")


def follow_exec(exec_id: PathId, query: Query) -> RuntimeCall[bytes]:
    """Follow a command's output from the offsets `stdout` and `stderr`, as `stream_exec`."""
    return bytes_call(f"/execs/{exec_id}/output", query=query)


def feed_exec(
    exec_id: PathId, data: bytes | AsyncIterator[bytes], *, close: bool
) -> RuntimeCall[None]:
    """Write to a command's input; `close` ends it."""
    query = (("close", "true"),) if close else ()
    return RuntimeCall("POST", f"/execs/{exec_id}/stdin", read_nothing, query, body=data)


def signal_exec(exec_id: PathId, body: SignalBody) -> RuntimeCall[None]:
    """Signal a command and all its descendants."""
    return done_call("POST", f"/execs/{exec_id}/signal", body=body)


def forget_exec(exec_id: PathId) -> RuntimeCall[None]:
    """Forget a command; one that runs is killed first."""
    return done_call("DELETE", f"/execs/{exec_id}")


def list_left_running() -> RuntimeCall[LeftList]:
    """List what programs that ended have left."""
    return json_call("GET", "/processes", LeftList)


def end_left_running() -> RuntimeCall[None]:
    """Kill what programs that ended have left."""
    return done_call("DELETE", "/processes")


def _acting(actor: str | None) -> Query:
    return () if actor is None else (("actor", actor),)
