"""Searching what terminals have shown: the rings of those that are here, and recordings.

Reads in small pieces and lets others work between them. The pattern is linear in time
(`domain.terminals.search_pattern`), the answer bounded, and the whole has a deadline; what was not
looked at is said by `complete`.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from atoll.domain.terminals.search_pattern import Pattern
from atoll.runtime.recordings.recordings import Recordings
from atoll.runtime.terminals.terminal import Terminal
from atoll.runtime.terminals.terminals import Terminals
from atoll.wire.contract.recordings import Match, Matches, Recording
from atoll.wire.terminal import asciicast
from atoll.wire.terminal.plain import Line, PlainLines

SEARCH_SECONDS = 10.0
PIECE_BYTES = 16 * 1024
MAX_MATCHES = 500
MAX_SHOWN = 300
"""Characters of a line that are shown, around what was found."""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """Search query: a pattern, in one terminal (`terminal_id`) or everywhere."""

    pattern: Pattern
    limit: int
    terminal_id: str | None = None


async def search(wanted: SearchQuery, terminals: Terminals, recordings: Recordings) -> Matches:
    """Return every line that matches: terminals first, newest recording first after them. Raises
    `NotFound` for a terminal that is not there and was not recorded."""
    named = wanted.terminal_id
    if named is not None and named not in {recording.terminal_id for recording in recordings.all()}:
        terminals.get(named)
    result = Matches([], complete=True)
    try:
        async with asyncio.timeout(SEARCH_SECONDS):
            async for match in _everywhere(wanted, terminals, recordings):
                if len(result.matches) >= wanted.limit:
                    result.complete = False
                    break
                result.matches.append(match)
    except TimeoutError:
        result.complete = False
    return result


async def _everywhere(
    wanted: SearchQuery, terminals: Terminals, recordings: Recordings
) -> AsyncIterator[Match]:
    for terminal in terminals.all():
        if wanted.terminal_id in (None, terminal.spec.id):
            async for match in _in_ring(wanted.pattern, terminal):
                yield match
    for recording in reversed(recordings.all()):
        if wanted.terminal_id in (None, recording.terminal_id):
            fd = recordings.read(recording.recording_id)
            try:
                async for match in _in_file(wanted.pattern, recording, fd):
                    yield match
            finally:
                os.close(fd)


async def _in_ring(pattern: Pattern, terminal: Terminal) -> AsyncIterator[Match]:
    number = 0
    async for line in ring_lines(terminal):
        number += 1
        span = pattern.find(line.text)
        if span is not None:
            mark = terminal.marks.at(line.offset)
            text, at, to = _excerpt(line.text, *span)
            yield Match(
                terminal_id=terminal.spec.id,
                name=terminal.spec.name,
                recording_id=None,
                line=number,
                offset=line.offset,
                seconds=None,
                text=text,
                at=at,
                to=to,
                command=mark.command if mark is not None else None,
            )


async def ring_lines(terminal: Terminal, since: int = 0) -> AsyncIterator[Line]:
    """Yield the lines of a terminal's ring from `since` on, as far as it still holds them."""
    scrollback = terminal.scrollback
    cut = scrollback.first_cut()
    begin = max(cut.offset, min(since, scrollback.ready))
    lines = PlainLines(begin, alternate=since <= cut.offset and cut.modes.alternate)
    at, end = begin, scrollback.ready
    while scrollback.start <= at < end:
        data = scrollback.read(at, min(PIECE_BYTES, end - at))
        at += len(data)
        for line in lines.feed(data):
            yield line
        await asyncio.sleep(0)
    for line in lines.finish():
        yield line


async def _in_file(pattern: Pattern, recording: Recording, fd: int) -> AsyncIterator[Match]:
    number, command = 0, None
    for read, piece in enumerate(_commands_and_lines(fd)):
        if read % 64 == 0:
            await asyncio.sleep(0)
        if isinstance(piece, str):
            command = piece
            continue
        number += 1
        seconds, line = piece
        span = pattern.find(line.text)
        if span is None:
            continue
        text, at, to = _excerpt(line.text, *span)
        yield Match(
            terminal_id=recording.terminal_id,
            name=recording.name,
            recording_id=recording.recording_id,
            line=number,
            offset=None,
            seconds=round(seconds, 3),
            text=text,
            at=at,
            to=to,
            command=command,
        )


def _commands_and_lines(fd: int) -> Iterator[str | tuple[float, Line]]:
    """Yield a recording's commands, and its lines with when each was finished."""
    lines, seconds = PlainLines(), 0.0
    with os.fdopen(os.dup(fd), "rb") as file:
        file.readline(asciicast.MAX_LINE_BYTES)
        while raw := file.readline(asciicast.MAX_LINE_BYTES):
            event = asciicast.read_event(raw)
            if event is None:
                continue
            seconds += event.seconds
            if event.code == asciicast.MARKER:
                yield event.text
            elif event.code == asciicast.OUTPUT:
                for line in lines.feed(event.text.encode("utf-8", "replace")):
                    yield seconds, line
        for line in lines.finish():
            yield seconds, line


def _excerpt(text: str, at: int, to: int) -> tuple[str, int, int]:
    """Return a long line, cut to the text around the match."""
    if len(text) <= MAX_SHOWN:
        return text, at, to
    begin = max(0, min(at - MAX_SHOWN // 3, len(text) - MAX_SHOWN))
    return text[begin : begin + MAX_SHOWN], at - begin, min(to - begin, MAX_SHOWN)
