"""Runs of git on the host: in a clean environment, bounded, without prompts, ignoring a
repository's own settings.

Used only on bare repositories this program made itself. Nothing of the caller's environment or
configuration reaches git. Hooks, helpers and every transport that is not named for the one call are
off. The callers choose the commands.
"""

import asyncio
import contextlib
import os
import re
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from atoll.domain.errors import Failed, LimitReached, Unavailable
from atoll.domain.repository.repository import HARMLESS_FLAWS

MAX_ANSWER_BYTES = 64 * 2**20
STDERR_TAIL_BYTES = 4096
MAX_MEMORY_BYTES = 4 * 2**30

_ALWAYS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    # Uploads and fetches of one repository at once, also by other replicas, wait for each other.
    "core.filesRefLockTimeout=10000",
    "core.packedRefsTimeout=10000",
    "core.sharedRepository=0644",
    "credential.helper=",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "gc.pruneExpire=never",
    "http.followRedirects=false",
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=30",
    "http.proxy=",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "transfer.fsckObjects=true",
    *(f"fetch.fsck.{flaw}=ignore" for flaw in HARMLESS_FLAWS),
)
_PROGRESS = re.compile(
    r"(?:remote: )?((?:Counting|Compressing|Receiving|Resolving|Indexing|Unpacking) "
    r"(?:objects|deltas)): +(\d{1,3})%"
)
_UNPRINTABLE = re.compile(r"[^\x20-\x7e]+")


@dataclass(frozen=True, slots=True)
class GitCall:
    """A run of git.

    `repo` is a bare repository of this host; `config` adds `key=value` lines; `stdin` is bytes, or
    a file and the offset to read it from; `protocols` are the only transports allowed;
    `max_file_bytes` bounds every file it writes.
    """

    args: tuple[str, ...]
    repo: Path | None = None
    config: tuple[str, ...] = ()
    stdin: bytes | tuple[Path, int] = b""
    protocols: tuple[str, ...] = ()
    seconds: float = 60.0
    max_file_bytes: int = 2**30
    progress: Callable[[str], None] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class GitReply:
    """The end of a run. `why` is the end of its error output, made printable."""

    status: int
    out: bytes
    why: str


class Git:
    """The host's git. Raises `Unavailable` when it (or prlimit) is not installed."""

    def __init__(self) -> None:
        self._git = _program("git")
        self._prlimit = _program("prlimit")

    async def ask(self, call: GitCall) -> bytes:
        """Run git and return its output. Raises `Failed` for an exit code other than 0, and the
        errors of `run`."""
        reply = await self.run(call)
        if reply.status != 0:
            raise Failed(f"git {call.args[0]} failed: {reply.why or f'status {reply.status}'}")
        return reply.out

    async def run(self, call: GitCall) -> GitReply:
        """Run git to its end.

        Raises `LimitReached` past its time, a file's size or the size of its output; every process
        it started is gone afterwards.
        """
        source = _open_stdin(call.stdin)
        try:
            process = await asyncio.create_subprocess_exec(
                *self._argv(call),
                env=self._environment(call),
                cwd="/",
                stdin=asyncio.subprocess.PIPE if source is None else source,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        finally:
            if source is not None:
                os.close(source)
        try:
            async with asyncio.timeout(call.seconds):
                reply = await _talk(process, call)
        except TimeoutError as error:
            raise LimitReached(
                f"git {call.args[0]} was ended after {call.seconds:.0f} seconds: the repository "
                "is too large or the other side too slow. Try again, or raise the time limit."
            ) from error
        finally:
            await _end(process)
        if reply.status == -signal.SIGXFSZ or "signal 25" in reply.why:
            raise LimitReached(
                f"git {call.args[0]} wanted to write a file larger than "
                f"{call.max_file_bytes // 2**20} MiB: the repository is over the size limit."
            )
        return reply

    def _argv(self, call: GitCall) -> list[str]:
        limits = (
            f"--fsize={call.max_file_bytes}",
            f"--data={MAX_MEMORY_BYTES}",
            "--core=0",
        )
        argv = [self._prlimit, *limits, "--", self._git, "--no-replace-objects"]
        for line in (*_ALWAYS, *call.config):
            argv += ("-c", line)
        if call.repo is not None:
            argv.append(f"--git-dir={call.repo}")
        return [*argv, *call.args]

    def _environment(self, call: GitCall) -> dict[str, str]:
        return {
            "PATH": f"{Path(self._git).parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": "/nonexistent",
            "LC_ALL": "C",
            "GIT_ALLOW_PROTOCOL": ":".join(call.protocols),
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_SYSTEM": "/dev/null",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_PROTOCOL_FROM_USER": "0",
            "GIT_TERMINAL_PROMPT": "0",
        }


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise Unavailable(f"{name} is not installed here: install it to work with repositories.")
    return path


def _open_stdin(stdin: bytes | tuple[Path, int]) -> int | None:
    """Open the file that git reads, at its offset; None when its input is bytes."""
    if isinstance(stdin, bytes):
        return None
    path, offset = stdin
    source = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    os.lseek(source, offset, os.SEEK_SET)
    return source


async def _talk(process: asyncio.subprocess.Process, call: GitCall) -> GitReply:
    async with asyncio.TaskGroup() as tasks:
        out = tasks.create_task(_read_output(process))
        tail = tasks.create_task(_error_tail(process, call.progress))
        if process.stdin is not None and isinstance(call.stdin, bytes):
            tasks.create_task(_feed(process.stdin, call.stdin))
    if len(out.result()) > MAX_ANSWER_BYTES:
        raise LimitReached(f"git {call.args[0]} answered more than {MAX_ANSWER_BYTES} bytes.")
    return GitReply(await process.wait(), out.result(), tail.result())


async def _feed(pipe: asyncio.StreamWriter, data: bytes) -> None:
    # git may end before it has read everything; its status gives the reason. uvloop reports a pipe
    # that its peer closed by RuntimeError.
    with contextlib.suppress(ConnectionError, RuntimeError):
        pipe.write(data)
        await pipe.drain()
    pipe.close()


async def _read_output(process: asyncio.subprocess.Process) -> bytes:
    # Past the limit the process is killed, so that the other pipes end as well.
    answer = bytearray()
    while process.stdout is not None and (chunk := await process.stdout.read(65536)):
        answer += chunk
        if len(answer) > MAX_ANSWER_BYTES:
            os.killpg(process.pid, signal.SIGKILL)
            break
    return bytes(answer)


async def _error_tail(
    process: asyncio.subprocess.Process, progress: Callable[[str], None] | None
) -> str:
    tail, last_step = b"", ""
    while process.stderr is not None and (chunk := await process.stderr.read(4096)):
        tail = (tail + chunk)[-STDERR_TAIL_BYTES:]
        if progress is not None and (step := _progress_step(tail)) and step != last_step:
            progress(step)
            last_step = step
    lines = [line for line in re.split(rb"[\r\n]+", tail) if line.strip()]
    important = [line for line in lines if line.startswith((b"fatal:", b"error:"))] or lines[-1:]
    return "; ".join(
        _UNPRINTABLE.sub("?", line.decode("utf-8", "replace")) for line in important[-3:]
    )


def _progress_step(tail: bytes) -> str:
    # Only known phases, in steps of ten: a server's own words are never passed on.
    phases = _PROGRESS.findall(tail.decode("ascii", "replace"))
    return f"{phases[-1][0]}: {int(phases[-1][1]) // 10 * 10}%" if phases else ""


async def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
