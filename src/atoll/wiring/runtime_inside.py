"""The way of a runtime to its sandbox: the spawner and the doors, of this machine or by a link.

Nothing is served here yet. `wiring.runtime` decides when each part closes.
"""

import asyncio
import secrets
from contextlib import AsyncExitStack
from dataclasses import dataclass

from atoll.domain.errors import Failed
from atoll.domain.terminals.size import clamp
from atoll.domain.wall.interior import DOORS
from atoll.domain.wall.runtime_end import RuntimeEnd
from atoll.ports.runtime_boot import LinkBoot, RuntimeBoot
from atoll.runtime.doors.listener.connection_limit import Door
from atoll.runtime.spawners.control import ControlSocket
from atoll.runtime.spawners.init import InitSpawner
from atoll.runtime.spawners.link.carrier import Carrier
from atoll.runtime.spawners.link.line import LinkLine
from atoll.runtime.tasks import Tasks
from atoll.runtime.terminals.adoption import AdoptedTerminal

BROKER_DOORS = 2
FIRST_SECONDS = 120.0
"""The time that the first stream to another machine may take to come."""


@dataclass(frozen=True, slots=True)
class Inside:
    """The spawner, the doors of broker and egress proxy, and terminals of an earlier runtime."""

    spawner: InitSpawner
    broker: tuple[Door, ...]
    egress: tuple[Door, ...]
    adopted: tuple[AdoptedTerminal, ...] = ()
    line: LinkLine | None = None

    def end(self) -> tuple[RuntimeEnd, str]:
        """Return how what is inside ended, as an exit code and in words for the log."""
        if self.line is None or not self.line.end_reason:
            return RuntimeEnd.INIT_GONE, "the sandbox's init is gone"
        return self.line.end, self.line.end_reason


async def reach_inside(boot: RuntimeBoot, stack: AsyncExitStack) -> Inside:
    """Return the way inside. That of a link is complete once its far end said READY: raises
    `Failed` when it never does. What it needs closes with the stack."""
    if isinstance(boot.control, LinkBoot):
        return await _link(boot, boot.control, stack)
    spawner = InitSpawner(ControlSocket(boot.control), program=boot.init, root=boot.workspace)
    return Inside(spawner, boot.doors[:BROKER_DOORS], boot.doors[BROKER_DOORS:])


async def _link(boot: RuntimeBoot, link: LinkBoot, stack: AsyncExitStack) -> Inside:
    tasks = await stack.enter_async_context(Tasks())
    carrier = Carrier(link.key, patience_seconds=link.grace_seconds)
    line = LinkLine(carrier.write, tasks, cut_seconds=lambda: carrier.cut_seconds)
    serving = carrier.serve(link.listener, on_frame=line.frame, on_lost=line.lost)
    await stack.enter_async_context(serving)
    broker, egress = (tuple(line.door(port, ipv6=ipv6) for ipv6 in (False, True)) for port in DOORS)
    try:
        async with asyncio.timeout(FIRST_SECONDS):
            await line.ready()
    except TimeoutError as error:
        raise Failed(f"no stream to the sandbox's machine came in {FIRST_SECONDS:g} s") from error
    last_tag = secrets.randbits(32)
    spawner = InitSpawner(line, program=boot.init, root=boot.workspace, last_tag=last_tag)
    await spawner.left_running()
    adopted = tuple(
        AdoptedTerminal(pty, spawner.adopt(one.tag, one.pid), clamp(one.cols, one.rows))
        for pty, one in line.take_adopted()
    )
    return Inside(spawner, broker, egress, adopted, line)
