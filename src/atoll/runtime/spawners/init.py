"""The Spawner that speaks to the init inside, over its control line.

It keeps the book of what was asked and answers each asker; the packets themselves are
`wire.init`, the line is `spawners.control`. It starts no init: the zygote does, or
`spawners.local`.
"""

import asyncio
import contextlib
import errno
import os
from collections import deque
from collections.abc import Iterator

from atoll.domain.errors import AtollError, Invalid, LimitReached, Unavailable
from atoll.inside.program import INSIDE_INIT
from atoll.ports.spawner import Exit, InsideFile, Leftovers, LeftRunning, ProcessSpec, Pty
from atoll.runtime.spawners.control import ControlLine
from atoll.runtime.spawners.refusal import bad_directory, bad_program, refusal
from atoll.wire import init as wire
from atoll.wire.words.walls import WORKSPACE

DEADLINE_SECONDS = 10.0
CLOSE_SECONDS = 10.0
MAX_TAG = 2**32 - 1
SIGKILL = 9
KILLED = Exit(code=None, signal=SIGKILL)
"""Exit of every process when the sandbox ended under it."""

UNKNOWN_PID = 0


class InitProcess:
    """A process inside; satisfies `ports.Process`."""

    def __init__(self, spawner: "InitSpawner", tag: int, pid: int) -> None:
        self._spawner = spawner
        self._tag = tag
        self._pid = pid
        self._exit: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()

    @property
    def pid(self) -> int:
        """Process id inside; 0 for a process that ended before it was reported."""
        return self._pid

    @property
    def tag(self) -> int:
        """Name of the process on the control socket."""
        return self._tag

    async def wait(self) -> Exit:
        """Wait for the end. A process that was alive when the sandbox ended counts as killed."""
        return await asyncio.shield(self._exit)

    async def signal(self, number: int, *, tree: bool = False) -> None:
        """Signal the process group (on a terminal: the group in the foreground), or with `tree` all
        its descendants, also after it ended itself. A process that is gone is no error."""
        if tree or not self._exit.done():
            await self._spawner.signal(self._tag, number, tree=tree)

    def ended(self, end: Exit) -> None:
        """Record the end that the spawner reports; only the first counts."""
        if not self._exit.done():
            self._exit.set_result(end)


Answer = InitProcess | wire.Refused | wire.Fds | wire.Left


class InitSpawner:
    """`ports.Spawner` over a control line. Made inside the running loop, with a line whose READY
    was already read or is of no use here; owns the line.

    `program` is how the sandbox names its init (for `tool`), `root` its workspace. Tags follow
    `last_tag`: where programs outlive a runtime, theirs must not be used again.
    """

    def __init__(
        self,
        line: ControlLine,
        *,
        program: tuple[str, ...] | None = None,
        root: str = WORKSPACE,
        deadline_seconds: float = DEADLINE_SECONDS,
        last_tag: int = 0,
    ) -> None:
        self._line = line
        self._program = program or (INSIDE_INIT,)
        self._root = root
        self._deadline_seconds = deadline_seconds
        self._tag = last_tag
        self._asked: dict[int, asyncio.Future[tuple[Answer, list[int]]]] = {}
        self._signals: dict[int, deque[asyncio.Future[int]]] = {}
        self._processes: dict[int, InitProcess] = {}
        self._end = asyncio.Event()
        line.begin(self._handle_reply, self._all_over)

    @property
    def root(self) -> str:
        """The workspace, as processes inside name it."""
        return self._root

    async def spawn(self, spec: ProcessSpec) -> InitProcess:
        """Start a process; returns once it runs. Raises `Invalid` naming the field (argv,
        cwd, env), `LimitReached` when the sandbox is full, `Unavailable` when it is gone."""
        payload = _payload(spec)
        tag = self._next_tag()
        packet, memory = wire.encode_exec(tag, payload, tty=spec.tty, lead=spec.lead)
        fds: tuple[int, ...] = (spec.stdin, spec.stdout, spec.stderr)
        with _in_memory(memory) as more:
            answer, _ = await self._ask(tag, packet, (*fds, *more), what=f"run {spec.argv[0]!r}")
        match answer:
            case InitProcess():
                return answer
            case wire.Refused():
                raise _spawn_error(answer, spec)
            case wire.Fds() | wire.Left():
                raise Unavailable("the sandbox's init answered something else; stop the sandbox")

    async def open_pty(self, *, cols: int, rows: int) -> Pty:
        """Open a terminal of that size. Raises `LimitReached` when no PTY is left."""
        tag = self._next_tag()
        packet = wire.encode_pty(tag, cols=cols, rows=rows)
        answer, fds = await self._ask(tag, packet, what="open a terminal")
        if isinstance(answer, wire.Refused):
            if answer.errno in (errno.ENOSPC, errno.EIO):
                raise LimitReached(
                    "cannot open a terminal: the sandbox has none left; close one first",
                    code="no_terminal_left",
                )
            raise refusal(answer.errno, what="open a terminal")
        return self._line.pty(self._exactly(2, fds))

    async def open_file(self, path: str, flags: int, mode: int = 0o644) -> InsideFile:
        """Open beneath the workspace; never blocks on a pipe, never follows a link out."""
        tag = self._next_tag()
        if "\0" in path:
            raise Invalid("a path holds a NUL byte", code="invalid_path", field="path")
        packet = wire.encode_open(tag, os.fsencode(path or "."), flags=flags, mode=mode)
        answer, fds = await self._ask(tag, packet, what=f"open {path!r}")
        if isinstance(answer, wire.Refused):
            raise refusal(answer.errno, what=f"open {path!r}", field="path")
        return self._line.file(self._exactly(1, fds)[0])

    def adopt(self, tag: int, pid: int) -> InitProcess:
        """Return a process that an earlier runtime started, and that still runs."""
        process = self._processes[tag] = InitProcess(self, tag, pid)
        return process

    def tool(self, *args: str) -> tuple[str, ...]:
        """Return the argv of the init binary in a tree mode, working on the workspace."""
        return (*self._program, "--root", self._root, *args)

    async def signal(self, tag: int, number: int, *, tree: bool) -> None:
        """Signal what the EXEC `tag` started; returns once it was delivered, for a tree's
        KILL once none of it is left. When the sandbox is gone there is nothing to do."""
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        try:
            self._line.send(wire.encode_signal(tag, number, tree=tree))
        except ConnectionError:
            return
        self._signals.setdefault(tag, deque()).append(done)
        try:
            async with asyncio.timeout(self._deadline_seconds + CLOSE_SECONDS):
                left = await done
        except TimeoutError as error:
            raise self._silence_error("signal a process") from error
        if left == errno.ETIMEDOUT:
            raise Unavailable("a process would not die within 10 s; stop the sandbox to end it")

    async def left_running(self) -> Leftovers:
        """List the processes whose program has ended. Raises `Unavailable`."""
        left = await self._list_leftovers()
        processes = (
            LeftRunning(each.pid, each.command.decode("utf-8", "replace"))
            for each in left.processes
        )
        return Leftovers(tuple(processes), left.more)

    async def end_left_running(self) -> None:
        """Kill the processes left running, whole trees at a time; processes beyond one list follow
        in the next round. Raises `Unavailable` when a process cannot be killed."""
        more = True
        while more:
            left = await self._list_leftovers()
            more = left.more
            for tag in {each.tag for each in left.processes}:
                await self.signal(tag, SIGKILL, tree=True)

    async def ended(self) -> None:
        """Return once init is gone: everything inside is dead."""
        await self._end.wait()

    async def close(self) -> None:
        """End everything inside and wait for it, at most 10 s. Idempotent."""
        with contextlib.suppress(OSError):
            self._line.finish()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._end.wait()
        self._line.close()

    async def _ask(
        self, tag: int, packet: bytes, fds: tuple[int, ...] = (), *, what: str
    ) -> tuple[Answer, list[int]]:
        future: asyncio.Future[tuple[Answer, list[int]]]
        future = self._asked[tag] = asyncio.get_running_loop().create_future()
        taken = False
        try:
            self._line.send(packet, fds)
            async with asyncio.timeout(self._deadline_seconds):
                answer = await future
            taken = True
            return answer
        except ConnectionError as error:
            raise _sandbox_ended_error(what) from error
        except TimeoutError as error:
            raise self._silence_error(what) from error
        finally:
            del self._asked[tag]
            # An answer that comes later is undone on arrival; one that came in the same
            # turn as a cancellation or the deadline is undone here.
            if not taken and future.done() and not future.cancelled() and not future.exception():
                self._discard_answer(*future.result())

    async def _list_leftovers(self) -> wire.Left:
        """Return the processes that ended programs left running. Raises `Unavailable`."""
        tag, what = self._next_tag(), "list what was left running"
        answer, fds = await self._ask(tag, wire.encode_left(tag), what=what)
        self._line.drop(fds)
        if isinstance(answer, wire.Left):
            return answer
        number = answer.errno if isinstance(answer, wire.Refused) else errno.EPROTO
        raise refusal(number, what=what)

    def _exactly(self, count: int, fds: list[int]) -> list[int]:
        if len(fds) == count:
            return fds
        self._line.drop(fds)
        raise Unavailable(f"the sandbox's init sent {len(fds)} descriptors instead of {count}")

    def _silence_error(self, what: str) -> Unavailable:
        return Unavailable(f"cannot {what}: {self._line.why_silent(self._deadline_seconds)}")

    def _next_tag(self) -> int:
        while True:
            self._tag = self._tag % MAX_TAG + 1
            if self._tag not in self._asked and self._tag not in self._processes:
                return self._tag

    def _handle_reply(self, packet: bytes, fds: list[int]) -> None:
        """Handle a reply of init. A garbled reply closes the line."""
        try:
            reply = wire.decode_reply(packet)
        except wire.Garbled:
            self._line.drop(fds)
            self._line.close()
            return
        match reply:
            case wire.Started():
                process = InitProcess(self, reply.tag, reply.pid)
                self._processes[reply.tag] = process
                self._deliver_answer(reply.tag, process, fds)
            case wire.Refused() | wire.Fds() | wire.Left():
                self._deliver_answer(reply.tag, reply, fds)
            case wire.Exited():
                self._handle_exit(reply)
            case wire.Done():
                self._deliver_signal_result(reply)
            case wire.Ready():
                # The starter of init read it; a second one is not ours to keep.
                self._line.drop(fds)

    def _deliver_answer(self, tag: int, answer: Answer, fds: list[int]) -> None:
        """Pass an answer to its waiter, or discard it when there is none."""
        future = self._asked.get(tag)
        if future is None or future.done():
            self._discard_answer(answer, fds)
        else:
            future.set_result((answer, fds))

    def _handle_exit(self, reply: wire.Exited) -> None:
        """Record that a process ended."""
        process = self._processes.pop(reply.tag, None)
        if process is None and reply.tag in self._asked:
            # It ran, and its first act was to kill its warden before that could say so: its
            # pid nobody knows, and init says that it is over.
            process = InitProcess(self, reply.tag, UNKNOWN_PID)
            self._deliver_answer(reply.tag, process, [])
        if process is not None:
            process.ended(_exit(reply))

    def _discard_answer(self, answer: Answer, fds: list[int]) -> None:
        """Close or kill what an answer brought when nothing waits for it any more."""
        self._line.drop(fds)
        if isinstance(answer, InitProcess):
            with contextlib.suppress(ConnectionError):
                self._line.send(wire.encode_signal(answer.tag, SIGKILL, tree=True))

    def _deliver_signal_result(self, reply: wire.Done) -> None:
        """Pass the result of a signal to its first waiter."""
        waiting = self._signals.get(reply.tag)
        if not waiting:
            return
        done = waiting.popleft()
        if not waiting:
            del self._signals[reply.tag]
        if not done.done():
            done.set_result(reply.errno)

    def _all_over(self) -> None:
        for future in self._asked.values():
            if not future.done():
                future.set_exception(ConnectionError("init is gone"))
        for waiting in self._signals.values():
            for done in waiting:
                if not done.done():
                    done.set_result(0)
        for process in self._processes.values():
            process.ended(KILLED)
        self._signals.clear()
        self._processes.clear()
        self._end.set()


def _payload(spec: ProcessSpec) -> bytes:
    try:
        return wire.encode_exec_payload(
            tuple(os.fsencode(word) for word in spec.argv),
            tuple((os.fsencode(key), os.fsencode(value)) for key, value in spec.env),
            os.fsencode(spec.cwd),
        )
    except ValueError as error:
        raise Invalid(f"cannot run this: {error}", field="argv") from error


@contextlib.contextmanager
def _in_memory(payload: bytes | None) -> Iterator[tuple[int, ...]]:
    if payload is None:
        yield ()
        return
    fd = os.memfd_create("exec", os.MFD_CLOEXEC)
    try:
        view = memoryview(payload)
        while view:
            view = view[os.write(fd, view) :]
        yield (fd,)
    finally:
        os.close(fd)


def _spawn_error(answer: wire.Refused, spec: ProcessSpec) -> AtollError:
    match answer.step:
        case wire.Step.CHDIR:
            return bad_directory(answer.errno, spec.cwd)
        case wire.Step.EXEC:
            return bad_program(answer.errno, spec.argv[0])
        case wire.Step.OTHER | wire.Step.DOOR:
            return refusal(answer.errno, what=f"run {spec.argv[0]!r}")


def _exit(reply: wire.Exited) -> Exit:
    code = os.waitstatus_to_exitcode(reply.status)
    return Exit(
        code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        user_seconds=reply.user_us / 1e6,
        system_seconds=reply.system_us / 1e6,
        max_rss_kib=reply.max_rss_kib,
    )


def _sandbox_ended_error(what: str) -> Unavailable:
    return Unavailable(f"cannot {what}: the sandbox has ended; start it again", code="wall_gone")
