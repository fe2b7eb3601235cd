"""Files of sandboxes over the API: their content, the search in them, and their working trees."""

import json
from collections.abc import Iterable, Iterator

from atoll.client.fields import Json
from atoll.client.made.files import PlainFiles, Unpacked
from atoll.client.made.library.changes import ChangedFile
from atoll.client.made.library.working_trees import Committed, PlainWorkingTrees, Restored
from atoll.client.stream_lines import FoundFile
from atoll.client.transport import Call, Pairs, Transport, api_path, post
from atoll.domain.errors import Failed

SEARCH_SECONDS = 60.0
"""The longest silence of a search, which ends by itself after 30 seconds."""

_DATA = b"data:"


class Files(PlainFiles):
    """Files of sandboxes. What streams to this side goes through `transport`."""

    def make_directory(self, name: str, path: str) -> None:
        """Make a directory and its parents."""
        body = {"path": path, "parents": True}
        self._transport.call(post("sandboxes", name, "files", "mkdir", value=body))

    def write(
        self, name: str, path: str, data: Iterable[bytes], *, mode: int | None = None
    ) -> None:
        """Write a file, and make its parents. Without `mode` a file that is there keeps its own."""
        self._transport.call(write_call(name, path, mode)._replace(body=data))

    def unpack(self, name: str, path: str, archive: Iterable[bytes]) -> Unpacked:
        """Unpack a tar archive below a path."""
        call = unpack_call(name, path)._replace(body=archive)
        return self._transport.read(Unpacked, call)


class WorkingTrees(PlainWorkingTrees):
    """The working trees of a sandbox."""

    def discard(self, name: str, file: ChangedFile, *, against: str, repo: int) -> Restored:
        """Undo the changes of a file as it was listed."""
        body = {"path": file.path, "digest": file.digest, "against": against, "repo": repo}
        call = post("sandboxes", name, "changes", "discard", value=body)
        return self._transport.read(Restored, call)

    def commit(self, name: str, message: str, *, paths: tuple[str, ...], repo: int) -> Committed:
        """Commit what is not committed, with `paths` only these files."""
        body = {"message": message, "paths": list(paths) or None, "repo": repo}
        return self._transport.read(Committed, post("sandboxes", name, "commit", value=body))


class FileSearch:
    """The search in a sandbox's files."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def find(self, name: str, query: Pairs) -> Iterator[FoundFile]:
        """Yield what is found as it is found; the last one is of type `end`. Raises the classes of
        `atoll.domain.errors`."""
        with self._transport.open(search_call(name, query)) as stream:
            for line in stream.lines():
                if (file := read_search_line(line)) is not None:
                    yield file


def write_call(name: str, path: str, mode: int | None) -> Call:
    """Return the request that writes a file, without its body."""
    exact = () if mode is None else (("mode", f"{mode:o}"),)
    query = (("path", path), *exact, ("parents", "true"))
    headers = (("Content-Type", "application/octet-stream"),)
    return Call("PUT", api_path("sandboxes", name, "files", "content"), query, headers)


def unpack_call(name: str, path: str) -> Call:
    """Return the request that unpacks a tar archive, without its body."""
    headers = (("Content-Type", "application/x-tar"),)
    return Call("PUT", api_path("sandboxes", name, "files", "archive"), (("path", path),), headers)


def search_call(name: str, query: Pairs) -> Call:
    """Return the request of a search, answered by a stream."""
    headers = (("Accept", "text/event-stream"),)
    place = api_path("sandboxes", name, "files", "search")
    return Call("GET", place, query, headers, timeout=SEARCH_SECONDS)


def read_search_line(line: bytes) -> FoundFile | None:
    """Return what a line of the stream says, None for one that says nothing. Raises `Failed`."""
    if not line.startswith(_DATA):
        return None
    return FoundFile.read(_json(line[len(_DATA) :]), "an event of the search")


def _json(data: bytes) -> Json:
    try:
        document: Json = json.loads(data)
    except ValueError as problem:
        raise Failed("an event of the search is not JSON: is this an Atoll server?") from problem
    return document
