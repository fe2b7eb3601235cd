"""Terminals of a sandbox: open, list, size, signal and end.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.made.recordings import Matches, Recording, RecordingList
from atoll.client.transport import Call, Pairs, Transport, api_path, get, patch, post

Strictness = Literal["owner", "strict"]


class End(Shape):
    """The end of a process: `{"code":0}` or `{"signal":"KILL"}`."""

    code = fields.number()
    signal = fields.text()


class Terminal(Shape):
    """A terminal. `offset` is the end of its output so far, `ring_start` the oldest byte that
    can be replayed; `recording` whether what it shows is being kept, `renamed` whether a person
    gave it its name, `fixed` whether its size follows no driver."""

    terminal_id = fields.text()
    name = fields.text()
    argv = fields.texts()
    cwd = fields.text()
    cols = fields.number()
    rows = fields.number()
    state: Field[Literal["running", "exited"]] = fields.word()
    exit = fields.one(End)
    started_at = fields.text()
    title = fields.text()
    offset = fields.number()
    ring_start = fields.number()
    viewers = fields.number()
    driver = fields.text()
    recording = fields.flag()
    renamed = fields.flag()
    fixed = fields.flag()


class TerminalList(Shape):
    """The sandbox's terminals."""

    terminals = fields.many(Terminal)


class TerminalBody(TypedDict, total=False):
    """A terminal to open; without `agent` and `argv` it is the profile's shell. `softlock` is an
    agent's."""

    agent: str | None
    argv: list[str] | None
    cwd: str | None
    env: dict[str, str] | None
    cols: int | None
    rows: int | None
    name: str | None
    softlock: Strictness | None
    ring_bytes: int | None


class TerminalChangeBody(TypedDict, total=False):
    """Changes of a terminal: another name (1 to 128 printable characters), or whether its size
    is fixed, at `cols` × `rows` or as it is now."""

    name: str | None
    fixed: bool | None
    cols: int | None
    rows: int | None


class SizeBody(TypedDict, total=False):
    """A size in cells; clamped to 2…1000 × 1…500."""

    cols: Required[int]
    rows: Required[int]


class SignalBody(TypedDict, total=False):
    """A signal by name."""

    signal: Required[Literal["INT", "QUIT", "TERM", "HUP", "KILL", "STOP", "CONT", "USR1", "USR2"]]


class Terminals:
    """Terminals of a sandbox. Every method raises the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def record(self, name: str, terminal: str) -> Recording:
        """Record a terminal from now on; everybody at it is notified."""
        return self._transport.read(
            Recording, post("sandboxes", name, "terminals", terminal, "recording")
        )

    def stop_recording(self, name: str, terminal: str) -> Recording:
        """Stop recording a terminal; the recording stays."""
        return self._transport.read(
            Recording,
            Call("DELETE", api_path("sandboxes", name, "terminals", terminal, "recording")),
        )

    def recordings(self, name: str) -> RecordingList:
        """Return the sandbox's recordings."""
        return self._transport.read(RecordingList, get("sandboxes", name, "recordings"))

    def delete_recording(self, name: str, recording: str) -> None:
        """Delete a recording permanently."""
        self._transport.call(Call("DELETE", api_path("sandboxes", name, "recordings", recording)))

    def search(self, name: str, query: Pairs = ()) -> Matches:
        """Search the sandbox's terminals, as far back as they reach, and its recordings."""
        return self._transport.read(Matches, get("sandboxes", name, "search", query=query))

    def list(self, name: str) -> TerminalList:
        """Return the sandbox's terminals."""
        return self._transport.read(TerminalList, get("sandboxes", name, "terminals"))

    def open(self, name: str, body: TerminalBody | None = None) -> Terminal:
        """Open a terminal: an agent's, a command's, or the profile's shell."""
        return self._transport.read(Terminal, post("sandboxes", name, "terminals", value=body))

    def get(self, name: str, terminal: str) -> Terminal:
        """Return one terminal; an ended one stays for a minute after its last viewer left."""
        return self._transport.read(Terminal, get("sandboxes", name, "terminals", terminal))

    def change(self, name: str, terminal: str, body: TerminalChangeBody) -> Terminal:
        """Give a terminal another name, or a fixed size; everybody sees it."""
        return self._transport.read(
            Terminal, patch("sandboxes", name, "terminals", terminal, value=body)
        )
