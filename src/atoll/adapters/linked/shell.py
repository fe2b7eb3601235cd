"""A way to run POSIX sh on a machine that is not ours. It knows nothing of sandboxes."""

import socket
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ScriptResult:
    """The result of a script: its exit code, its output, and its complaint."""

    code: int
    output: bytes
    complaint: str


class ScriptInput(Protocol):
    """The input of a script that runs. `drain` waits until there is room, and raises what became
    of the machine."""

    def write(self, data: bytes, /) -> None:
        """Queue bytes."""
        ...

    async def drain(self) -> None:
        """Wait until more may be written."""
        ...


class ScriptRunner(Protocol):
    """A machine that runs scripts. `label` names it in messages. Raises `Unavailable` when it
    cannot be reached or does not answer in time, and `Failed`."""

    @property
    def label(self) -> str:
        """Such as `host build-1`."""
        ...

    async def run(
        self, script: str, *words: str, given: bytes = b"", seconds: float
    ) -> ScriptResult:
        """Run a script with these arguments, `given` as its input."""
        ...

    def pipe(self, script: str, *words: str) -> AbstractAsyncContextManager[ScriptInput]:
        """Yield the input of a script. Its end is awaited, and its failure raised as `Failed`."""
        ...


class Shell(ScriptRunner, Protocol):
    """A shell there, which also joins streams."""

    async def stream(self, script: str, *words: str, near: socket.socket) -> str:
        """Join `near` with a script's input and output until either ends; returns the last words
        of the machine."""
        ...

    async def close(self) -> None:
        """Close what is open; idempotent."""
        ...
