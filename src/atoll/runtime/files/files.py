"""The files of one sandbox: listed, read, written, moved, removed, archived and watched.

Every path was already made relative by `domain.files.workspace_path`; what it leads to is decided
inside. This file speaks no HTTP: `files.routes` does.
"""

import asyncio
import contextlib
import os
import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from atoll.domain.errors import AtollError, Failed, LimitReached, NotFound, Unavailable
from atoll.domain.redaction.lexicon import Lexicon
from atoll.ports.spawner import InsideFile, Spawner
from atoll.runtime.files.content import Content, open_content, write_content
from atoll.runtime.files.entry import name_of, read_entry, to_json_text, unspell
from atoll.runtime.files.search import (
    AFTER_BYTES,
    LATE_SECONDS,
    SEARCH_SECONDS,
    FileSearch,
    Found,
    read_found,
)
from atoll.runtime.files.tool import Tool, run, start
from atoll.wire.contract.files import FileEntry, FileTotal, Unpacked

MAX_PAGE = 1000
MAX_WATCHES = 32
MAX_SEARCHES = 4
MAX_WAITING_SEARCHES = 32
MAX_TOOLS = 16
"""Tools that run at once; more wait their turn."""
MAX_ARCHIVE_FILES = 500_000
MAX_ARCHIVE_BYTES = 16 * 2**30


@dataclass(frozen=True, slots=True)
class DirectoryPage:
    """Entries in the order of their names' bytes; `after` continues, None at the end."""

    entries: tuple[FileEntry, ...]
    after: bytes | None


@dataclass(frozen=True, slots=True)
class FileChange:
    """Change of a file. `kind` is created, modified, deleted, moved (then `origin` is set) or
    overflow."""

    kind: str
    path: str
    origin: str | None = None


class Files:
    """Files of one sandbox. All methods raise `NotFound`, `Invalid`, `Forbidden`, `Conflict`,
    `LimitReached` with what and why, and `Unavailable` when the sandbox is gone. `changed` receives
    each path that a method changed (not what happens inside)."""

    def __init__(self, spawner: Spawner, *, changed: Callable[[str], None] | None = None) -> None:
        self._spawner = spawner
        self._changed = changed or (lambda path: None)
        self._turns = asyncio.Semaphore(MAX_TOOLS)
        self._watches = 0
        self._search_turns = asyncio.Semaphore(MAX_SEARCHES)
        self._searches = 0

    async def list(
        self, path: str, *, after: bytes | None = None, limit: int = MAX_PAGE
    ) -> DirectoryPage:
        """Return one page of a directory, at most `limit` entries after the name `after`."""
        more = () if after is None else ("--after", os.fsdecode(after))
        output = await self._run(
            *("list", "--limit", str(limit + 1), *more, "--", path),
            what=f"list {to_json_text(path)!r}",
        )
        records = output.splitlines()
        entries = tuple(read_entry(record, directory=path) for record in records[:limit])
        return DirectoryPage(entries, name_of(records[limit - 1]) if len(records) > limit else None)

    async def stat(self, path: str) -> FileEntry:
        """Return the entry itself: a link is not followed."""
        record = await self._run("stat", "--", path, what=f"look at {to_json_text(path)!r}")
        return read_entry(record.rstrip(b"\n"), path=path)

    async def total(self, path: str) -> FileTotal:
        """Return how much a tree, or a file, holds, without reading its contents."""
        output = await self._run("total", "--", path, what=f"add up {to_json_text(path)!r}")
        files, size, stored = map(int, output.split())
        return FileTotal(files, size, stored)

    async def open(self, path: str) -> Content:
        """Return a regular file for reading; the caller closes it."""
        return await open_content(self._spawner, path)

    async def write(
        self, path: str, chunks: AsyncIterator[bytes], *, mode: int | None = None, parents: bool
    ) -> tuple[FileEntry, bool]:
        """Write a whole file atomically: readers see the old one or the new one. Returns its
        entry and whether the name is new. Without `mode` a replaced file keeps its own."""
        folder = path.rpartition("/")[0]
        what = f"write {to_json_text(path)!r}"
        if parents and folder:
            await self._run("mkdir", "-p", "--", folder, what=what)
        part = os.path.join(folder, f".atoll-{secrets.token_hex(8)}.part")  # noqa: PTH118  # inside
        file = await self._new(part, path, 0o644 if mode is None else mode)
        try:
            try:
                await write_content(file, chunks, what=what)
            finally:
                file.close()
            exact = () if mode is None else ("--mode", f"{mode:o}")
            output = await self._run("commit", *exact, "--", part, path, what=what)
        except BaseException:
            # Also when the upload broke off: nothing of it stays behind.
            with contextlib.suppress(AtollError):
                await self._run("remove", "--", part, what="drop an unfinished upload")
            raise
        self._changed(path)
        outcome, record = output.splitlines()
        return read_entry(record, path=path), outcome == b"created"

    async def _new(self, part: str, path: str, mode: int) -> InsideFile:
        """Open the new file `part`, which becomes `path`; errors name the latter alone."""
        what = f"write {to_json_text(path)!r}"
        try:
            return await self._spawner.open_file(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        except NotFound as error:
            folder = to_json_text(path.rpartition("/")[0])
            raise NotFound(
                f"cannot {what}: there is no directory {folder!r}", code=error.code, field="path"
            ) from error
        except AtollError as error:
            error.message = error.message.replace(f"open {part!r}", what)
            raise

    async def remove(self, path: str, *, recursive: bool) -> None:
        """Remove a file, a link (not its target), or a directory; full ones with `recursive`."""
        options = ("-r",) if recursive else ()
        await self._run("remove", *options, "--", path, what=f"remove {to_json_text(path)!r}")
        self._changed(path)

    async def mkdir(self, path: str, *, parents: bool) -> FileEntry:
        """Make a directory; with `parents` it may be there already."""
        options = ("-p",) if parents else ()
        record = await self._run("mkdir", *options, "--", path, what=f"make {to_json_text(path)!r}")
        self._changed(path)
        return read_entry(record.rstrip(b"\n"), path=path)

    async def move(self, source: str, target: str, *, overwrite: bool) -> FileEntry:
        """Rename within the workspace."""
        options = ("--overwrite",) if overwrite else ()
        what = f"move {to_json_text(source)!r} to {to_json_text(target)!r}"
        record = await self._run("move", *options, "--", source, target, what=what)
        self._changed(source)
        self._changed(target)
        return read_entry(record.rstrip(b"\n"), path=target)

    @contextlib.asynccontextmanager
    async def archive(self, path: str) -> AsyncIterator[Tool]:
        """Yield a tree as a pax archive: read until empty, then `finish`, which raises when
        something had to be left out. Read as slowly as wanted."""
        what = f"archive {to_json_text(path)!r}"
        async with self._turns, start(self._spawner, "tar", "--", path, what=what) as tool:
            yield tool

    async def extract(self, path: str, chunks: AsyncIterator[bytes]) -> Unpacked:
        """Extract a tar into a directory (made if missing). What was extracted before a
        failure stays."""
        limits = ("--max-files", str(MAX_ARCHIVE_FILES), "--max-bytes", str(MAX_ARCHIVE_BYTES))
        what = f"extract into {to_json_text(path)!r}"
        output = b""
        async with (
            self._turns,
            start(self._spawner, "untar", *limits, "--", path, what=what) as tool,
        ):
            try:
                # It may end early, with what is wrong: then `finish` says so.
                with contextlib.suppress(BrokenPipeError):
                    async for chunk in chunks:
                        await tool.write(chunk)
                await tool.finish()
                output = await tool.read()
            finally:
                self._changed(path)
        try:
            files, size = map(int, output.split())
        except ValueError as error:
            raise Failed(f"cannot {what}: the tool inside said nothing") from error
        return Unpacked(files, size)

    @contextlib.asynccontextmanager
    async def watch(
        self, path: str, *, recursive: bool
    ) -> AsyncIterator[AsyncIterator[FileChange]]:
        """Yield the changes beneath a directory from now on, until the context is left."""
        if self._watches >= MAX_WATCHES:
            raise LimitReached(f"{MAX_WATCHES} watches are open on this sandbox: close one")
        options = ("-r",) if recursive else ()
        self._watches += 1
        try:
            what = f"watch {to_json_text(path)!r}"
            async with start(self._spawner, "watch", *options, "--", path, what=what) as tool:
                lines = _read_lines(tool)
                async for line in lines:
                    if line == b"ready":
                        break
                else:
                    await tool.finish()
                yield _changes(lines)
        finally:
            self._watches -= 1

    @contextlib.asynccontextmanager
    async def search(
        self, query: FileSearch, lexicon: Lexicon
    ) -> AsyncIterator[AsyncIterator[Found]]:
        """Yield what is found as it is found, and at last how far was looked; the search ends with
        the context."""
        if self._searches >= MAX_SEARCHES + MAX_WAITING_SEARCHES:
            raise LimitReached(
                f"{MAX_WAITING_SEARCHES} searches of this sandbox wait their turn: wait for one"
            )
        what = f"search {to_json_text(query.path)!r}"
        words = query.words(max(lexicon.longest, AFTER_BYTES))
        self._searches += 1
        try:
            async with (
                self._search_turns,
                asyncio.timeout(SEARCH_SECONDS + LATE_SECONDS),
                start(self._spawner, *words, what=what) as tool,
            ):
                yield _read_matches(tool, lexicon)
        except TimeoutError as error:
            raise Unavailable(f"cannot {what} within {SEARCH_SECONDS} s; try a part") from error
        finally:
            self._searches -= 1

    async def _run(self, *args: str, what: str) -> bytes:
        async with self._turns:
            return await run(self._spawner, *args, what=what)


async def _read_lines(tool: Tool) -> AsyncIterator[bytes]:
    """Yield the whole lines that a tool writes."""
    rest = b""
    while data := await tool.read():
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield line


async def _read_matches(tool: Tool, lexicon: Lexicon) -> AsyncIterator[Found]:
    async for line in _read_lines(tool):
        match = read_found(line, lexicon)
        if match is not None:
            yield match
    await tool.finish()


async def _changes(lines: AsyncIterator[bytes]) -> AsyncIterator[FileChange]:
    async for line in lines:
        kind, path, origin = line.decode().split(" ")
        yield FileChange(
            kind,
            to_json_text(os.fsdecode(unspell(path))),
            to_json_text(os.fsdecode(unspell(origin))) if origin != "-" else None,
        )
