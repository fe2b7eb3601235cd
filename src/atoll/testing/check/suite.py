"""The suites against an installed extension, as pytest collects them. `__main__` starts this.

The extension is made by its entry point and guarded as the control plane would guard it.
"""

import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from atoll.domain.errors import AtollError
from atoll.ports.extension import Extension, ExtensionSetup, Handle
from atoll.testing.contracts.reachable import AGENT, Another, ReachableContract, reached_at
from atoll.wiring.control.extensions import load_named

NAME = "ATOLL_CHECK_EXTENSION"
HOME = "ATOLL_CHECK_HOME"


class TestInstalled(ReachableContract):
    """The installed extension, over one home for the whole run."""

    @pytest.fixture
    async def another(self) -> AsyncIterator[Another]:
        """Make instances by the entry point."""
        async with AsyncExitStack() as stack:
            yield maker(stack)

    def home_in(self, folder: Path) -> Path:
        """Return the home of the run."""
        return Path(os.environ[HOME])

    async def kill(self, extension: Extension, handle: Handle) -> None:
        """End processes that carry the sandbox's id, and whatever can be ended from inside."""
        reach = await extension.wait_ready(handle)
        found = _processes_of(handle.sandbox_id)
        for pid in found:
            os.kill(pid, signal.SIGKILL)
        if not found:
            try:
                async with reached_at(reach) as inside:
                    await inside.run("kill -KILL -1")
            except AtollError:
                return
            if handle in await extension.survey():
                pytest.skip("it cannot be ended from outside or inside: its own suite must")


def maker(stack: AsyncExitStack) -> Callable[[], Extension]:
    """Return what makes one more instance, which the stack closes."""
    home = Path(os.environ[HOME])
    setup = ExtensionSetup(home, "atoll-check", agents=(AGENT,))
    return lambda: load_named(os.environ[NAME], setup, stack)


def _processes_of(sandbox_id: str) -> list[int]:
    """Return the processes of ours whose command line or title has the id."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            line = (place / "cmdline").read_bytes()
        except OSError:
            continue
        if sandbox_id.encode() in line:
            found.append(int(place.name))
    return found
