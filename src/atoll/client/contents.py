"""Files of a sandbox by what they hold, and its commits, over the API."""

import json
from collections.abc import Iterator
from typing import Literal

from atoll.client import fields
from atoll.client.changes import FileDiff
from atoll.client.fields import Field, Shape
from atoll.client.transport import Call, Pairs, Transport, at, get
from atoll.domain.errors import Failed

SEARCH_SECONDS = 60.0
"""The longest silence of a search, which ends by itself after 30 seconds."""

_DATA = b"data:"


class FoundFile(Shape):
    """An event of a search: an entry whose name fits (`name`), a line of a file (`line`), or the
    end of the search, with the bound that it ended at (`reason`)."""

    type: Field[Literal["name", "line", "end"]] = fields.word()
    path = fields.text()
    line = fields.number()
    before = fields.text()
    match = fields.text()
    after = fields.text()
    reason: Field[Literal["all", "matches", "files", "bytes", "time"]] = fields.word()
    large = fields.number()
    more = fields.number()


class Commit(Shape):
    """A commit: the first line of its message."""

    commit = fields.text()
    parents = fields.texts()
    author = fields.text()
    email = fields.text()
    at = fields.text()
    subject = fields.text()


class CommitRef(Shape):
    """A branch or a tag, and the commit that it names."""

    name = fields.text()
    commit = fields.text()


class CommitPage(Shape):
    """Commits, children before their parents, with the newest branches and tags."""

    branch = fields.text()
    head = fields.text()
    refs = fields.many(CommitRef)
    commits = fields.many(Commit)
    next = fields.text()


class ShownCommit(Shape):
    """A commit with its message and what it changes."""

    commit = fields.one(Commit)
    message = fields.text()
    truncated = fields.flag()
    files = fields.many(FileDiff)


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


class Commits:
    """The commits of a sandbox's repositories."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, name: str, query: Pairs) -> CommitPage:
        """Return a page of the commits of all branches."""
        return self._transport.read(CommitPage, get("sandboxes", name, "commits", query=query))

    def show(self, name: str, commit: str, repo: int) -> ShownCommit:
        """Return one commit with what it changes of its first parent."""
        query = (("repo", str(repo)),)
        call = get("sandboxes", name, "commits", commit, query=query)
        return self._transport.read(ShownCommit, call)


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


def _json(data: bytes) -> fields.Json:
    try:
        found: fields.Json = json.loads(data)
    except ValueError as problem:
        raise Failed("an event of the search is not JSON: is this an Atoll server?") from problem
    return found
