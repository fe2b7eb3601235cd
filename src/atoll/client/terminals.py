"""Terminals, recordings, commands and files of sandboxes, over the API."""

import json
from collections.abc import Iterable, Iterator

from atoll.client.bodies import ExecBody, TerminalBody, TerminalChangeBody
from atoll.client.fields import Json
from atoll.client.terminal_shapes import (
    Entry,
    Exec,
    ExecList,
    FoundFile,
    Matches,
    Recording,
    RecordingList,
    Terminal,
    TerminalList,
    Total,
    Unpacked,
)
from atoll.client.transport import Call, Pairs, Transport, at, get, patch, post
from atoll.domain.errors import Failed

SEARCH_SECONDS = 60.0
"""The longest silence of a search, which ends by itself after 30 seconds."""

_DATA = b"data:"


class Terminals:
    """The terminals of a sandbox, and what was recorded of them."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, name: str) -> TerminalList:
        """Return the terminals of a sandbox."""
        return self._transport.read(TerminalList, get("sandboxes", name, "terminals"))

    def get(self, name: str, terminal: str) -> Terminal:
        """Return one terminal."""
        return self._transport.read(Terminal, get("sandboxes", name, "terminals", terminal))

    def open(self, name: str, body: TerminalBody) -> Terminal:
        """Open a terminal."""
        return self._transport.read(Terminal, post("sandboxes", name, "terminals", value=body))

    def change(self, name: str, terminal: str, body: TerminalChangeBody) -> Terminal:
        """Rename a terminal, or fix its size."""
        place = ("sandboxes", name, "terminals", terminal)
        return self._transport.read(Terminal, patch(*place, value=body))

    def search(self, name: str, query: Pairs) -> Matches:
        """Find lines in terminals and recordings."""
        return self._transport.read(Matches, get("sandboxes", name, "search", query=query))

    def record(self, name: str, terminal: str) -> Recording:
        """Start a recording; everybody at the terminal sees that."""
        place = ("sandboxes", name, "terminals", terminal, "recording")
        return self._transport.read(Recording, post(*place))

    def stop_recording(self, name: str, terminal: str) -> Recording:
        """Stop a recording."""
        place = ("sandboxes", name, "terminals", terminal, "recording")
        return self._transport.read(Recording, Call("DELETE", at(*place)))

    def recordings(self, name: str) -> RecordingList:
        """Return the recordings of a sandbox."""
        return self._transport.read(RecordingList, get("sandboxes", name, "recordings"))

    def delete_recording(self, name: str, recording: str) -> None:
        """Delete a recording."""
        self._transport.call(Call("DELETE", at("sandboxes", name, "recordings", recording)))


class Execs:
    """Commands run in sandboxes."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, name: str) -> ExecList:
        """Return the commands that can still be followed."""
        return self._transport.read(ExecList, get("sandboxes", name, "exec"))

    def get(self, name: str, exec_id: str) -> Exec:
        """Return a command that was run."""
        return self._transport.read(Exec, get("sandboxes", name, "exec", exec_id))

    def run(self, name: str, body: ExecBody) -> Exec:
        """Run a command; with `background` in `body` it returns once it is started."""
        return self._transport.read(Exec, post("sandboxes", name, "exec", value=body))


class Files:
    """Files of sandboxes. What streams to this side goes through `transport`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def stat(self, name: str, path: str) -> Entry:
        """Return what is at a path. Raises `NotFound`."""
        call = get("sandboxes", name, "files", "stat", query=(("path", path),))
        return self._transport.read(Entry, call)

    def total(self, name: str, path: str) -> Total:
        """Return the size of a directory."""
        call = get("sandboxes", name, "files", "total", query=(("path", path),))
        return self._transport.read(Total, call)

    def make_directory(self, name: str, path: str) -> None:
        """Make a directory and its parents."""
        body = {"path": path, "parents": True}
        self._transport.call(post("sandboxes", name, "files", "mkdir", value=body))

    def write(
        self, name: str, path: str, data: Iterable[bytes], *, mode: int | None = None
    ) -> None:
        """Write a file, and make its parents. Without `mode` a file that is there keeps its own."""
        exact = () if mode is None else (("mode", f"{mode:o}"),)
        query = (("path", path), *exact, ("parents", "true"))
        headers = (("Content-Type", "application/octet-stream"),)
        place = at("sandboxes", name, "files", "content")
        self._transport.call(Call("PUT", place, query, headers, data))

    def unpack(self, name: str, path: str, archive: Iterable[bytes]) -> Unpacked:
        """Unpack a tar archive below a path."""
        headers = (("Content-Type", "application/x-tar"),)
        place = at("sandboxes", name, "files", "archive")
        call = Call("PUT", place, (("path", path),), headers, archive)
        return self._transport.read(Unpacked, call)


class FileSearch:
    """The search in a sandbox's files."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def find(self, name: str, query: Pairs) -> Iterator[FoundFile]:
        """Yield what is found as it is found; the last one is of type `end`. Raises the classes of
        `atoll.domain.errors`."""
        with self._transport.open(search_call(name, query)) as stream:
            for line in stream.lines():
                if (found := found_in(line)) is not None:
                    yield found


def search_call(name: str, query: Pairs) -> Call:
    """Return the request of a search, answered by a stream."""
    headers = (("Accept", "text/event-stream"),)
    place = at("sandboxes", name, "files", "search")
    return Call("GET", place, query, headers, timeout=SEARCH_SECONDS)


def found_in(line: bytes) -> FoundFile | None:
    """Return what a line of the stream says, None for one that says nothing. Raises `Failed`."""
    if not line.startswith(_DATA):
        return None
    return FoundFile.read(_json(line[len(_DATA) :]), "an event of the search")


def _json(data: bytes) -> Json:
    try:
        found: Json = json.loads(data)
    except ValueError as problem:
        raise Failed("an event of the search is not JSON: is this an Atoll server?") from problem
    return found
