"""Terminals, which the runtime's contract calls sessions."""

from typing import Literal

import msgspec

from atoll.wire.contract.call import Query, RequestBody, RuntimeCall, done_call, json_call
from atoll.wire.contract.execs import SignalBody
from atoll.wire.contract.screens import KeptScreen

RING_BYTES = 256 * 1024

MAX_LISTED = 256
"""The terminals of a sandbox that can be looked at, ended ones included."""

Softlock = Literal["owner", "strict"]


class OpenBody(RequestBody):
    """The body of `POST /sessions`; without `agent` and `argv` it is the profile's shell. With
    `screen` the terminal goes on below that, under its id."""

    agent: str | None = None
    argv: list[str] | None = None
    cwd: str | None = None
    env: dict[str, str] = msgspec.field(default_factory=dict)
    cols: int = 80
    rows: int = 24
    name: str | None = None
    ring_bytes: int = RING_BYTES
    softlock: Softlock | None = None
    instructions: str | None = None
    instructions_id: int | None = None
    screen: KeptScreen | None = None


class ResizeBody(RequestBody):
    """The body of `POST /sessions/{id}/resize`."""

    cols: int
    rows: int


class ChangeBody(RequestBody):
    """The body of `PATCH /sessions/{id}`: another name, or whether the size is `fixed`, at `cols`
    × `rows` or as it is."""

    name: str | None = None
    fixed: bool | None = None
    cols: int | None = None
    rows: int | None = None


class FarewellBody(RequestBody):
    """The body of `POST /farewell`: reasons of at most 120 bytes."""

    reason: str
    guest_reason: str


class NoticeBody(RequestBody):
    """The body of `POST /notice`: a line of at most 500 characters."""

    text: str


class End(msgspec.Struct, frozen=True, omit_defaults=True):
    """The end of a process: `{"code":0}` or `{"signal":"KILL"}`."""

    code: int | None = None
    signal: str | None = None

    def words(self) -> dict[str, int | str]:
        """Return the one that is set, by name."""
        return {"signal": self.signal} if self.signal is not None else {"code": self.code or 0}


class TerminalRecord(msgspec.Struct, frozen=True, rename={"terminal_id": "session_id"}):
    """A terminal. `offset` is the end of its output so far, `ring_start` the oldest byte that
    can be replayed; `recording` whether what it shows is being kept,
    `renamed` whether a person gave it its name, `fixed` whether its size follows no driver."""

    terminal_id: str
    name: str
    argv: tuple[str, ...]
    cwd: str
    cols: int
    rows: int
    state: Literal["running", "exited"]
    exit: End | None
    started_at: str
    title: str
    offset: int
    ring_start: int
    viewers: int
    driver: str | None
    recording: bool = False
    renamed: bool = False
    fixed: bool = False


class TerminalList(msgspec.Struct, frozen=True, rename={"terminals": "sessions"}):
    """The sandbox's terminals."""

    terminals: tuple[TerminalRecord, ...]


def list_terminals() -> RuntimeCall[TerminalList]:
    """List the sandbox's terminals."""
    return json_call("GET", "/sessions", TerminalList)


def open_terminal(body: OpenBody, *, principal: str) -> RuntimeCall[TerminalRecord]:
    """Open a terminal in the name of a principal."""
    query = (("principal", principal),)
    return json_call("POST", "/sessions", TerminalRecord, query=query, body=body)


def get_terminal(terminal_id: str) -> RuntimeCall[TerminalRecord]:
    """Return one terminal."""
    return json_call("GET", f"/sessions/{terminal_id}", TerminalRecord)


def close_terminal(terminal_id: str, *, grace_seconds: float | None = None) -> RuntimeCall[None]:
    """End a terminal and its tree."""
    query: Query = () if grace_seconds is None else (("grace", f"{grace_seconds:g}"),)
    return done_call("DELETE", f"/sessions/{terminal_id}", query=query)


def change_terminal(terminal_id: str, body: ChangeBody) -> RuntimeCall[TerminalRecord]:
    """Give a terminal another name, or a fixed size."""
    return json_call("PATCH", f"/sessions/{terminal_id}", TerminalRecord, body=body)


def resize_terminal(terminal_id: str, body: ResizeBody) -> RuntimeCall[None]:
    """Set a terminal's size."""
    return done_call("POST", f"/sessions/{terminal_id}/resize", body=body)


def signal_terminal(terminal_id: str, body: SignalBody) -> RuntimeCall[None]:
    """Signal what a terminal runs."""
    return done_call("POST", f"/sessions/{terminal_id}/signal", body=body)


def say_farewell(body: FarewellBody, *, sleeps: bool = False) -> RuntimeCall[None]:
    """Close every attached client with a reason: the sandbox ends now, or `sleeps`."""
    query: Query = (("sleeps", "true"),) if sleeps else ()
    return done_call("POST", "/farewell", query=query, body=body)


def tell_everybody(body: NoticeBody) -> RuntimeCall[None]:
    """Tell everybody at every terminal a line in Atoll's name. The programs there do not see it."""
    return done_call("POST", "/notice", body=body)
