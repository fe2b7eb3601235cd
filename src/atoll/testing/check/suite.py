"""The suites against an installed extension, as pytest collects them. `__main__` starts this.

The extension is made by its entry point and guarded as the control plane would guard it.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from atoll.adapters.linked.extension import LinkedExtension
from atoll.adapters.zygote.start import hostname
from atoll.domain.errors import AtollError
from atoll.domain.hosts.host import Host, HostId
from atoll.domain.ids import SandboxId
from atoll.domain.profile.profile import Profile
from atoll.ports.extension import Extension, ExtensionSetup, Handle, Provision, VendorKey
from atoll.testing.check.processes import (
    command_line,
    end_all,
    find_carrying,
    find_listening,
    find_titled,
)
from atoll.testing.contracts.extensions.extension import DEATH_SECONDS
from atoll.testing.contracts.extensions.reachable import (
    AGENT,
    Another,
    ReachableContract,
    reached_at,
)
from atoll.wire.contract.journal import check_health
from atoll.wire.words.hosts import HostKind
from atoll.wiring.control.extensions import load_named
from atoll.wiring.control.settings import extension_options, read_settings

NAME = "ATOLL_CHECK_EXTENSION"
HOME = "ATOLL_CHECK_HOME"
HOST = "ATOLL_CHECK_HOST"
"""The address of a host that SSH reaches, where the extension needs one, and its key after a
space."""


HOST_NAME = "check"
NUMBERS = 300
CUT_SECONDS = 0.7
TAG = "ATOLL_CHECK_TAG"
"""The name of the run on machines that others use as well."""
STARTED: dict[SandboxId, int] = {}
"""The sandboxes that were asked for, with their last generation: whatever a test leaves of them is
removed after it."""
IMAGE = "ATOLL_CHECK_IMAGE"
"""The image of the sandboxes; empty for that of a bare profile."""
COMPOSE = "ATOLL_CHECK_COMPOSE"
"""The text of a compose file, for an extension that runs one."""
KEY = "ATOLL_CHECK_KEY"
"""The key of a vendor, for an extension whose machines are rented."""
VAULT: list[VendorKey] = []
"""The keys of the vault of the person's home, where `KEY` names none."""


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

    def profile(self) -> Profile:
        """Return the profile of the run."""
        plain = super().profile()
        return replace(plain, image=os.environ.get(IMAGE) or plain.image)

    def request(self, generation: int = 1, sandbox_id: SandboxId | None = None) -> Provision:
        """Return a request, placed on the host of the run, that is named by its id: so is the
        process of its runtime."""
        asked = super().request(generation, sandbox_id)
        STARTED[asked.sandbox_id] = generation
        asked = replace(asked, name=asked.sandbox_id, compose_file=os.environ.get(COMPOSE) or None)
        return replace(asked, host=HOST_NAME) if os.environ.get(HOST) else asked

    async def kill(self, extension: Extension, handle: Handle) -> None:
        """End the runtime, or every process that carries the sandbox's id, or what can be ended
        from inside: each only where the one before did not end the sandbox."""
        reach = await extension.wait_ready(handle)
        finds = (
            partial(find_titled, hostname(handle.sandbox_id)),
            partial(find_listening, reach.address),
            partial(find_carrying, handle.sandbox_id),
        )
        for find in finds:
            if end_all(find()) and await _is_gone(extension, handle):
                return
        try:
            async with reached_at(reach) as inside:
                await inside.run("kill -KILL -1")
                if not await _is_gone(extension, handle):
                    await inside.client.call(check_health())
                    pytest.skip("it cannot be ended from outside or inside: its own suite must")
        except AtollError:
            return

    async def test_link_that_is_cut_loses_nothing(self, extension: Extension) -> None:
        """Cut the stream again and again under output, and find all of it, once and in order."""
        if not isinstance(extension, LinkedExtension):
            pytest.skip("no link of ours leads there")
        async with self.reached(extension) as (request, it):
            cuts = 0
            async with asyncio.TaskGroup() as tasks:
                line = f"for n in $(seq {NUMBERS}); do echo $n; sleep 0.02; done"
                counting = tasks.create_task(it.run(line))
                while not counting.done():
                    cuts += _cut(request.sandbox_id)
                    await asyncio.wait({counting}, timeout=CUT_SECONDS)
            if not cuts:
                pytest.skip("its stream is no process of ours that could be ended")
            assert counting.result().split() == [str(n) for n in range(1, NUMBERS + 1)]


def _cut(sandbox_id: str) -> int:
    """End the processes of ours that carry the stream of a sandbox; return their number."""
    ours = [
        pid
        for place in Path(f"/proc/{os.getpid()}/task").glob("*/children")
        for pid in map(int, place.read_text().split())
    ]
    return end_all(pid for pid in ours if sandbox_id.encode() in command_line(pid))


def maker(stack: AsyncExitStack) -> Callable[[], Extension]:
    """Return what makes one more instance, which the stack closes."""
    home = Path(os.environ[HOME])
    setup = ExtensionSetup(
        home,
        os.environ[TAG],
        agents=(AGENT,),
        options=extension_options(read_settings(home, {}, {})),
        hosts=_hosts,
        keys=_keys,
    )
    return lambda: load_named(os.environ[NAME], setup, stack)


async def _hosts() -> Sequence[Host]:
    address, _space, key = os.environ.get(HOST, "").partition(" ")
    if not address:
        return ()
    made = datetime(2026, 1, 1, tzinfo=UTC)
    return (Host(HostId("ho_check"), HOST_NAME, HostKind.SSH, made, address, key),)


async def _keys(_extension: str, _sandbox_id: SandboxId | None) -> Sequence[VendorKey]:
    """Return the vendor's key that the person gave for the check, else those of the vault."""
    value = os.environ.get(KEY, "")
    return (VendorKey("check", value),) if value else tuple(VAULT)


async def _is_gone(extension: Extension, handle: Handle) -> bool:
    """Report whether the extension sees in time that a sandbox has ended."""
    deadline = time.monotonic() + DEATH_SECONDS
    while handle in await extension.survey():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(DEATH_SECONDS / 40)
    return True
