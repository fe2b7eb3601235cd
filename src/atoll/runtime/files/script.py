"""Running a shell script of this program inside, for what a runtime does by itself.

The control plane's scripts come as execs of the runtime contract; these are not seen by anybody.
"""

from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass

from atoll.domain.errors import AtollError
from atoll.domain.wall.own_environment import own_environment
from atoll.ports.spawner import ProcessSpec, Spawner
from atoll.runtime.files.pipe import HalfPipe

KEPT_BYTES = 64 * 1024
"""Bytes of the output that are kept, the first ones: enough for a push of many branches, with what
a hook says of each."""

_KILL = 9


@dataclass(frozen=True, slots=True)
class InsideScripts:
    """Scripts of one sandbox, run as its user in its workspace. `env` are the variables of its
    programs, of which they get none that could break them."""

    spawner: Spawner
    env: tuple[tuple[str, str], ...]
    workspace: str

    async def printed(self, script: str, *args: str) -> bytes:
        """Run a script to its end and return the first bytes that it prints. It is killed with all
        its processes when the caller is cancelled. Raises what a spawner does, and `OSError`
        without descriptors."""
        with ExitStack() as stack:
            pipes = [
                stack.enter_context(closing(HalfPipe(reads=reads))) for reads in (False, True, True)
            ]
            process = await self.spawner.spawn(
                ProcessSpec(
                    argv=("/bin/sh", "-c", script, "atoll", *args),
                    env=tuple(own_environment(dict(self.env)).items()),
                    cwd=self.workspace,
                    stdin=pipes[0].theirs,
                    stdout=pipes[1].theirs,
                    stderr=pipes[2].theirs,
                )
            )
            for pipe in pipes:
                pipe.given()
            try:
                printed = await _read(pipes[1])
                await process.wait()
                return printed
            finally:
                with suppress(AtollError):
                    await process.signal(_KILL, tree=True)


async def _read(pipe: HalfPipe) -> bytes:
    """Read until nobody can write any more; returns the first bytes."""
    complaint = b""
    while data := await pipe.read():
        complaint = (complaint + data)[:KEPT_BYTES]
    return complaint
