"""Parts of a runtime that its routes work on.

Routes are built before the parts: the zygote builds them once for all its runtimes, which then
share those pages. So an application is given a promise of its parts, and a route looks there when a
request comes.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from atoll.runtime.agents.agents import Agents
from atoll.runtime.agents.file_acts import FileActs
from atoll.runtime.agents.waking import Wakes
from atoll.runtime.api.announced_end import AnnouncedEnd
from atoll.runtime.api.tracing import SpanBuffer
from atoll.runtime.doors.approvals.command_requests import CommandRequests
from atoll.runtime.execs.execs import Execs
from atoll.runtime.files.files import Files
from atoll.runtime.health import Activity
from atoll.runtime.idle_end import IdleEnd
from atoll.runtime.journal.control_plane import ControlPlane
from atoll.runtime.journal.journal import Journal
from atoll.runtime.listening import ListeningPorts
from atoll.runtime.policy.policy import StandingPolicy
from atoll.runtime.policy.redactions import Redactions
from atoll.runtime.ports import Ports
from atoll.runtime.recordings.recordings import Recordings
from atoll.runtime.settling import Settling
from atoll.runtime.sockets import Sockets
from atoll.runtime.terminals.terminals import Terminals
from atoll.runtime.workers.workers import Workers
from atoll.wire.contract.execs import OwnUsage


@dataclass(frozen=True, slots=True)
class Parts:
    """Parts of one runtime. `settle_audit` writes down what the doors have only counted so far."""

    terminals: Terminals
    agents: Agents
    file_acts: FileActs
    wakes: Wakes
    workers: Workers
    execs: Execs
    files: Files
    journal: Journal
    activity: Activity
    asks: CommandRequests
    ports: Ports
    sockets: Sockets
    listening: ListeningPorts
    recordings: Recordings
    control_plane: ControlPlane
    policy: StandingPolicy
    redactions: Redactions
    own_usage: Callable[[], OwnUsage | None] | None
    settle_audit: Callable[[], None]
    settling: Settling
    idle_end: IdleEnd
    ending: AnnouncedEnd
    spans: SpanBuffer


_PARTS: Final = web.AppKey("parts", asyncio.Future[Parts])


def promise_parts(app: web.Application) -> asyncio.Future[Parts]:
    """Return the promise of an application's parts. Call it in the loop before the application
    starts, and keep the promise before the first request comes."""
    parts: asyncio.Future[Parts] = asyncio.get_running_loop().create_future()
    app[_PARTS] = parts
    return parts


def parts_of(request: web.Request) -> Parts:
    """Return the parts of the runtime that serves a request."""
    return request.app[_PARTS].result()
