"""Sessions of a connection: a shell, a command, or the subsystem `sftp`."""

import asyncio
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import asyncssh

from atoll.domain.errors import AtollError
from atoll.surfaces.ssh.commands import FAILED, SHELL, serve_program
from atoll.surfaces.ssh.login import Login, sentence_of
from atoll.surfaces.ssh.shells import serve_terminal, size_of
from atoll.wire.contract.exec_pipe import PipeBody

ATTACH: Final = "attach"

MAX_SIGNALS: Final = 64

_LOCALE: Final = re.compile(r"LANG|LANGUAGE|LC_[A-Z]{2,20}|COLORTERM")
_MAX_VALUE: Final = 128
_STDERR: Final = asyncssh.EXTENDED_DATA_STDERR


class Session(asyncssh.SSHServerProcess[bytes]):
    """A session. `closed` is called at its end."""

    def __init__(self, login: Login, closed: Callable[[], None]) -> None:
        super().__init__(self._serve, None, 0, False)
        self._login = login
        self._closed = closed
        self._signals: asyncio.Queue[str] = asyncio.Queue(MAX_SIGNALS)

    def subsystem_requested(self, subsystem: str) -> bool:
        """There is one subsystem."""
        return subsystem == "sftp"

    def session_started(self) -> None:
        """Begin: SFTP is served by a program inside, so it is like any other here."""
        if self._chan is None or self._conn is None:
            return
        stdin = asyncssh.SSHReader[bytes](self, self._chan)
        stdout = asyncssh.SSHWriter[bytes](self, self._chan)
        stderr = asyncssh.SSHWriter[bytes](self, self._chan, _STDERR)
        self._stdin, self._stdout, self._stderr = stdin, stdout, stderr
        self._conn.create_task(self._serve(self), stdin.logger)

    def signal_received(self, signal: str) -> None:
        """Keep a signal until it is passed on; too many of them are dropped."""
        with suppress(asyncio.QueueFull):
            self._signals.put_nowait(signal)

    def break_received(self, msec: int) -> bool:
        """Take a break for an interrupt."""
        del msec
        self.signal_received("INT")
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it no more."""
        super().connection_lost(exc)
        self._closed()

    async def _serve(self, process: "asyncssh.SSHServerProcess[bytes]") -> None:
        try:
            await self._dispatch(process)
        except AtollError as error:
            with suppress(OSError, asyncssh.Error):
                process.stderr.write(sentence_of(error))
                process.exit(FAILED)

    async def _dispatch(self, process: "asyncssh.SSHServerProcess[bytes]") -> None:
        login, command = self._login, process.command
        if process.subsystem is not None:
            await self._sftp(process)
        elif process.term_type is None:
            login.check("exec")
            body = PipeBody(shell=command or SHELL, env=_locale(process))
            await serve_program(process, login, body, signals=self._signals)
        else:
            await self._terminal(process, command)

    async def _sftp(self, process: "asyncssh.SSHServerProcess[bytes]") -> None:
        self._login.check("read")
        way = await self._login.way()
        only = () if self._login.may("write") else ("--read-only",)
        folders = (word for folder in way.folders for word in ("--root", folder))
        body = PipeBody(tool=["sftp", *only, *folders])
        await serve_program(process, self._login, body, signals=self._signals)

    async def _terminal(
        self, process: "asyncssh.SSHServerProcess[bytes]", command: str | None
    ) -> None:
        """Serve a terminal of the sandbox: a new one, or one that is there (`attach`)."""
        login = self._login
        words = (command or "").split()
        named = words[1] if words[:1] == [ATTACH] and len(words) == 2 else ""
        if login.admitted.terminal or words[:1] == [ATTACH]:
            login.check("attach")
            there = named or login.admitted.terminal
            await serve_terminal(process, login, there, signals=self._signals, fresh=False)
            return
        env = {**_locale(process), "TERM": (process.term_type or "xterm")[:_MAX_VALUE]}
        opened = await login.open_terminal(size_of(process), env, command or "")
        await serve_terminal(process, login, opened, signals=self._signals, fresh=True)


def _locale(process: "asyncssh.SSHServerProcess[bytes]") -> dict[str, str]:
    """Return the variables of a client that a program inside gets: those of its language."""
    return {
        name: value
        for name, value in process.env.items()
        if _LOCALE.fullmatch(name) and len(value) <= _MAX_VALUE and value.isprintable()
    }
