"""Programs run over SSH without a terminal: their three streams, their signals and their end.

`ssh NAME COMMAND`, `scp`, `rsync`, `git` and editors come this way, and SFTP, which a program of
ours inside serves.
"""

import asyncio
from contextlib import suppress
from typing import Any, Final

import asyncssh
import msgspec

from atoll.domain.errors import AtollError
from atoll.ports.runtime import Channel
from atoll.surfaces.ssh.login import Login, sentence_of

PATH: Final = "/execs/pipe"
CHUNK_BYTES: Final = 128 * 1024
FAILED: Final = 255
"""The exit code of ssh itself when it cannot do what it should."""

_STDIN: Final = b"\0"
_STDOUT: Final = 1


async def serve_program(
    process: "asyncssh.SSHServerProcess[bytes]", login: Login, order: dict[str, Any]
) -> None:
    """Run a program to its end, and end the session as it ends."""
    try:
        async with login.channel(PATH) as channel:
            way = await login.way()
            await channel.send(msgspec.json.encode({**order, "actor": way.actor}).decode())
            await _Program(process, channel).serve()
    except AtollError as error:
        process.stderr.write(sentence_of(error))
        process.exit(FAILED)


def shell_order(line: str | None, env: dict[str, str]) -> dict[str, Any]:
    """Return the order of a command line; None is a shell that reads its commands."""
    return {"shell": line or 'exec "${SHELL:-/bin/sh}" -l', "env": env}


class _Program:
    """A program that runs, between the client's channel and the runtime's."""

    def __init__(self, process: "asyncssh.SSHServerProcess[bytes]", channel: Channel) -> None:
        self._process = process
        self._channel = channel

    async def serve(self) -> None:
        """Pass everything both ways, and end the session as the program ends."""
        async with asyncio.TaskGroup() as group:
            typing = group.create_task(self._send())
            end = await self._receive()
            typing.cancel()
        self._finish(end)

    async def _send(self) -> None:
        """Send what the client sends, until it sends no more."""
        stdin = self._process.stdin
        with suppress(AtollError, OSError, asyncssh.Error):
            while True:
                try:
                    data = await stdin.read(CHUNK_BYTES)
                except asyncssh.SignalReceived as signal:
                    await self._say(type="signal", signal=signal.signal)
                    continue
                except asyncssh.BreakReceived:
                    await self._say(type="signal", signal="INT")
                    continue
                except asyncssh.TerminalSizeChanged:
                    continue
                if not data:
                    break
                await self._channel.send(_STDIN + data)
            await self._say(type="eof")

    async def _say(self, **words: str) -> None:
        await self._channel.send(msgspec.json.encode(words).decode())

    async def _receive(self) -> dict[str, Any]:
        """Pass on what the program writes; returns its end."""
        outputs = (self._process.stdout, self._process.stderr)
        async for frame in self._channel:
            if isinstance(frame, str):
                said = msgspec.json.decode(frame)
                if said["type"] in ("exit", "error"):
                    return dict(said)
                continue
            output = outputs[0 if frame[0] == _STDOUT else 1]
            output.write(frame[1:])
            await output.drain()
        return {"type": "error", "error": {"message": "the sandbox ended this program"}}

    def _finish(self, end: dict[str, Any]) -> None:
        left = end.get("exit") or {}
        if end["type"] == "error":
            message = str(end.get("error", {}).get("message", "it cannot be run"))
            self._process.stderr.write(f"atoll: {message}\n".encode())
            self._process.exit(FAILED)
        elif left.get("signal"):
            self._process.exit_with_signal(str(left["signal"]).removeprefix("SIG"))
        else:
            self._process.exit(int(left.get("code") or 0))
