"""Programs run over SSH without a terminal: their three streams, their signals and their end.

`ssh NAME COMMAND`, `scp`, `rsync`, `git` and editors come this way, and SFTP, which a program of
ours inside serves.
"""

import asyncio
from contextlib import suppress
from typing import Final

import asyncssh

from atoll.domain.errors import AtollError
from atoll.ports.runtime import ExecPipe, Output
from atoll.surfaces.ssh.login import Login, sentence_of
from atoll.wire.contract.exec_pipe import PIECE_BYTES, PipeBody, ProgramExit, Stream

FAILED: Final = 255
"""The exit code of ssh itself when it cannot do what it should."""

SHELL: Final = 'exec "${SHELL:-/bin/sh}" -l'
"""A shell that reads its commands."""

Process = asyncssh.SSHServerProcess[bytes]
Signals = asyncio.Queue[str]


async def serve_program(
    process: Process, login: Login, body: PipeBody, *, signals: Signals
) -> None:
    """Run a program to its end, and end the session as it ends. `signals` are the client's."""
    try:
        async with login.pipe(body) as pipe, asyncio.TaskGroup() as group:
            receiving = group.create_task(_receive(process, pipe))
            tasks = [
                receiving,
                group.create_task(_send(process, pipe)),
                group.create_task(_signal(signals, pipe)),
                gone := group.create_task(process.channel.wait_closed()),
            ]
            await asyncio.wait({receiving, gone}, return_when=asyncio.FIRST_COMPLETED)
            end = receiving.result() if receiving.done() else None
            for task in tasks:
                task.cancel()
    except* AtollError as errors:
        error = errors.exceptions[0]
        process.stderr.write(sentence_of(error) if isinstance(error, AtollError) else b"")
        process.exit(FAILED)
    else:
        _finish(process, end)


async def _send(process: Process, pipe: ExecPipe) -> None:
    """Send what the client sends, until it sends no more."""
    with suppress(AtollError, OSError, asyncssh.Error):
        while True:
            try:
                data = await process.stdin.read(PIECE_BYTES)
            except asyncssh.TerminalSizeChanged:
                continue
            if not data:
                break
            await pipe.write(data)
        await pipe.write_eof()


async def _signal(signals: Signals, pipe: ExecPipe) -> None:
    """Pass on the client's signals, also after the end of its input."""
    while True:
        name = await signals.get()
        with suppress(AtollError):
            await pipe.signal(name)


async def _receive(process: Process, pipe: ExecPipe) -> ProgramExit | None:
    """Pass on what the program writes; returns its end, None when the client went before it."""
    try:
        async for event in pipe:
            if isinstance(event, Output):
                into = process.stdout if event.stream is Stream.STDOUT else process.stderr
                into.write(event.data)
                await into.drain()
            elif isinstance(event, ProgramExit):
                return event
    except (OSError, asyncssh.Error):
        return None
    return None


def _finish(process: Process, end: ProgramExit | None) -> None:
    with suppress(OSError, asyncssh.Error):
        if end is None:
            process.close()
        elif end.exit.signal is not None:
            process.exit_with_signal(end.exit.signal.removeprefix("SIG"))
        else:
            process.exit(end.exit.code or 0)
