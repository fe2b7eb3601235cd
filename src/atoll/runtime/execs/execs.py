"""The programs run in one sandbox: starting, finding and forgetting them.

Finished ones stay for ten minutes, at most a hundred of them and at most so much output,
so that a client that lost its connection still learns the end.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from atoll.domain.errors import LimitReached, NotFound
from atoll.domain.ids import ID_ENTROPY_BYTES, ExecId, spell
from atoll.domain.wall.own_environment import own_environment
from atoll.ports.spawner import Leftovers, Process, ProcessSpec, Spawner
from atoll.runtime.clock import timestamp
from atoll.runtime.execs.discards import Discards
from atoll.runtime.execs.exec import Exec
from atoll.runtime.execs.feed import Feed
from atoll.runtime.execs.piped import PipedExec
from atoll.runtime.execs.record import ExecSpec
from atoll.runtime.journal.journal import Journal
from atoll.runtime.stage import MakeStage, PassThrough
from atoll.runtime.tasks import Tasks
from atoll.wire.contract.policy import Policy
from atoll.wire.contract.terminals import End

MAX_RUNNING = 64
KEPT_FINISHED = 100
KEPT_SECONDS = 600.0
KEPT_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ExecRequest:
    """A program somebody wants run; None takes the sandbox's own. With `tool` the `argv` are a mode
    of init's and its arguments."""

    argv: tuple[str, ...]
    cwd: str | None
    env: Mapping[str, str]
    stdin: bytes | None
    timeout: float | None
    background: bool
    max_output_bytes: int
    reap: bool
    unrecorded: bool = False
    clean_env: bool = False
    actor: str | None = None
    tool: bool = False


@dataclass(slots=True)
class _Pipes:
    """Both ends of the three streams; -1 once handed on or closed."""

    inside: tuple[int, int, int]
    outside: tuple[int, int, int]


class Execs:
    """All execs, by id, oldest first. `make_stage` gives each output stream its transform,
    `make_pipe_stage` those of pipes, and `on_end` is called at the end of each."""

    def __init__(
        self,
        spawner: Spawner,
        *,
        env: tuple[tuple[str, str], ...],
        cwd: str,
        journal: Journal,
        tasks: Tasks,
        make_stage: MakeStage = PassThrough,
        make_pipe_stage: MakeStage = PassThrough,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        self._make_stage = make_stage
        self._make_pipe_stage = make_pipe_stage
        self._on_end = on_end
        self._spawner = spawner
        self._env = dict(env)
        self._policy_env: dict[str, str] = {}
        self._cwd = cwd
        self._journal = journal
        self._tasks = tasks
        self._execs: dict[ExecId, Exec] = {}
        self._piped: dict[ExecId, PipedExec] = {}
        self._finished: dict[ExecId, asyncio.TimerHandle] = {}
        self._starting = 0
        self._discards = Discards()
        self._loop = asyncio.get_running_loop()

    @property
    def running(self) -> int:
        """Number of programs that have not ended."""
        return len(self._execs) - len(self._finished) + len(self._piped)

    @property
    def in_use(self) -> bool:
        """True while a program runs that somebody asked for."""
        return any(not spec.unrecorded for spec in self._running_specs())

    def _running_specs(self) -> list[ExecSpec]:
        running = (each.spec for each in self._execs.values() if each.spec.id not in self._finished)
        return [*running, *(each.spec for each in self._piped.values())]

    def apply(self, policy: Policy) -> None:
        """Give what is started from now on the policy's variables."""
        self._policy_env = dict(policy.env)

    def all(self) -> list[Exec]:
        """Return every exec that can be looked at."""
        return list(self._execs.values())

    def get(self, exec_id: str) -> Exec:
        """Return one exec. Raises `NotFound`."""
        command = self._execs.get(ExecId(exec_id))
        if command is None:
            raise NotFound(f"there is no exec {exec_id} here; finished ones are kept for a while")
        return command

    async def start(self, request: ExecRequest) -> Exec:
        """Start a program. Raises `Invalid`, `LimitReached`, `Unavailable`."""
        spec = self._spec(request)
        process, (stdin, stdout, stderr) = await self._begin(spec)
        started = Exec(
            spec,
            process,
            Feed(stdin),
            fds=(stdout, stderr),
            discards=self._discards,
            make_stage=self._make_stage,
        )
        self._execs[spec.id] = started
        if not spec.unrecorded:
            self._journal.append("exec.started", _payload(spec))
        self._tasks.spawn(self._follow(started), f"exec {spec.id}")
        return started

    @asynccontextmanager
    async def pipe(self, request: ExecRequest) -> AsyncIterator[PipedExec]:
        """Start a program whose streams are the caller's while in the context; one that still runs
        is hung up on leaving. It is not among `all`. Raises as `start`."""
        spec = self._spec(request)
        process, fds = await self._begin(spec)
        piped = PipedExec(
            spec, process, fds, discards=self._discards, make_stage=self._stages(request)
        )
        self._piped[spec.id] = piped
        if not spec.unrecorded:
            self._journal.append("exec.started", _payload(spec))
        self._tasks.spawn(self._follow_piped(piped), f"exec {spec.id}")
        self._tasks.spawn(piped.hang_up(), f"hang-up of exec {spec.id}")
        try:
            yield piped
        finally:
            piped.detach()

    async def forget(self, exec_id: str) -> None:
        """Remove the exec. If it runs, it is killed with its process tree; processes that an ended
        one left running live on. Raises `NotFound`."""
        command = self.get(exec_id)
        if command.outcome is None:
            await command.signal(signal.SIGKILL)
            await command.ended()
        self._drop(command.spec.id)

    async def left_running(self) -> Leftovers:
        """List the processes that programs of any kind have left. Raises `Unavailable`."""
        return await self._spawner.left_running()

    async def end_left_running(self) -> None:
        """Kill these processes. Raises `Unavailable`."""
        await self._spawner.end_left_running()

    def close(self) -> None:
        """Close every pipe."""
        for timer in self._finished.values():
            timer.cancel()
        for each in self._execs.values():
            each.close()
        for piped in self._piped.values():
            piped.detach()
        self._discards.close()

    async def _follow(self, started: Exec) -> None:
        """Wait for the end of an exec, then keep it for a while."""
        end = await started.run()
        spec = started.spec
        self._note_end(spec, end)
        if spec.id not in self._execs:
            return
        self._finished[spec.id] = self._loop.call_later(KEPT_SECONDS, self._drop, spec.id)
        self._trim()

    async def _follow_piped(self, piped: PipedExec) -> None:
        """Wait for the end of a program, and of its connection: until then it counts as running."""
        self._note_end(piped.spec, await piped.run())
        await piped.detached()
        del self._piped[piped.spec.id]

    def _note_end(self, spec: ExecSpec, end: End) -> None:
        if not spec.unrecorded:
            self._journal.append("exec.exited", {**_payload(spec), "exit": end.words()})
        self._on_end()

    def _trim(self) -> None:
        """Forget the oldest finished ones beyond the bounds; the newest always stays."""
        held_bytes = sum(self._execs[exec_id].kept_bytes for exec_id in self._finished)
        while len(self._finished) > 1 and (
            len(self._finished) > KEPT_FINISHED or held_bytes > KEPT_BYTES
        ):
            oldest = next(iter(self._finished))
            held_bytes -= self._execs[oldest].kept_bytes
            self._drop(oldest)

    def _drop(self, exec_id: ExecId) -> None:
        timer = self._finished.pop(exec_id, None)
        if timer is not None:
            timer.cancel()
        command = self._execs.pop(exec_id, None)
        if command is not None:
            command.close()

    async def _begin(self, spec: ExecSpec) -> tuple[Process, tuple[int, int, int]]:
        """Start a program; return our ends of its streams. Raises `LimitReached` when too many
        run."""
        # What the control plane itself runs has a place beside programs of people and agents.
        same = [each for each in self._running_specs() if each.own == spec.own]
        if len(same) + self._starting >= MAX_RUNNING:
            raise LimitReached(f"{MAX_RUNNING} execs run in this sandbox; wait for one to end")
        self._starting += 1
        try:
            return await self._spawn(spec)
        finally:
            self._starting -= 1

    async def _spawn(self, spec: ExecSpec) -> tuple[Process, tuple[int, int, int]]:
        with _pipes() as pipes:
            stdin, stdout, stderr = pipes.inside
            wanted = ProcessSpec(
                argv=spec.argv,
                env=spec.env,
                cwd=spec.cwd,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
            )
            return await self._spawner.spawn(wanted), pipes.outside

    def _stages(self, request: ExecRequest) -> MakeStage:
        """Return the transform of a program's output; that of a tool is never rewritten."""
        return PassThrough if request.tool else self._make_pipe_stage

    def _base_env(self, request: ExecRequest) -> dict[str, str]:
        if request.clean_env or request.tool:
            return own_environment(self._env, self._policy_env)
        return {**self._env, **self._policy_env}

    def _spec(self, request: ExecRequest) -> ExecSpec:
        return ExecSpec(
            id=ExecId(spell("x", os.urandom(ID_ENTROPY_BYTES))),
            argv=self._spawner.tool(*request.argv) if request.tool else request.argv,
            cwd=request.cwd or self._cwd,
            env=tuple({**self._base_env(request), **request.env}.items()),
            stdin=request.stdin,
            open_input=request.background and request.stdin is None,
            timeout=request.timeout,
            max_output_bytes=request.max_output_bytes,
            started_at=timestamp(),
            reap=request.reap,
            unrecorded=request.unrecorded,
            own=request.clean_env,
            actor=request.actor,
        )


@contextmanager
def _pipes() -> Iterator[_Pipes]:
    """Yield three pipes. The inside ends are closed on leaving, the outside ones only on an
    error."""
    pairs = [os.pipe2(os.O_CLOEXEC) for _ in range(3)]
    (in_read, in_write), (out_read, out_write), (err_read, err_write) = pairs
    pipes = _Pipes((in_read, out_write, err_write), (in_write, out_read, err_read))
    try:
        yield pipes
    except BaseException:
        for fd in pipes.outside:
            os.close(fd)
        raise
    finally:
        for fd in pipes.inside:
            os.close(fd)


def _payload(spec: ExecSpec) -> dict[str, object]:
    """Return what the journal may know: never arguments, output or environment."""
    fields: dict[str, object] = {"id": spec.id, "argv0": spec.argv[0][:256]}
    return fields if spec.actor is None else {**fields, "actor": spec.actor}
