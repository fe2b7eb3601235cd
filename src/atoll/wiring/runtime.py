"""A runtime from start to end: where ports meet adapters, on the sandbox's side.

The zygote forks a process and calls `serve` in it. Everything is imported here, at the top:
the process may have lost the right to read the files it would import later.
"""

import asyncio
import encodings.idna  # noqa: F401 (socket loads it on first use, by then unreadable)
import logging
import signal
import ssl
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial

import uvloop
from aiohttp import web

from atoll.domain.broker.provider import Upstream
from atoll.domain.errors import Invalid
from atoll.ports.runtime_boot import RuntimeBoot, Stand
from atoll.runtime.agents.agents import Agents
from atoll.runtime.api.app import build
from atoll.runtime.api.parts import Parts
from atoll.runtime.doors.approvals.command_requests import CommandRequests
from atoll.runtime.doors.approvals.endpoint import ApprovalEndpoint
from atoll.runtime.doors.broker.broker import BrokerParts, serve_broker
from atoll.runtime.doors.broker.keys import read_keys
from atoll.runtime.doors.egress.call import make_handler
from atoll.runtime.doors.egress.egress import Egress, serve_egress
from atoll.runtime.doors.listener.refusals import Refusals
from atoll.runtime.execs.execs import Execs
from atoll.runtime.execs.sudo import Sudo
from atoll.runtime.files.files import Files
from atoll.runtime.health import Activity
from atoll.runtime.idle_end import IdleEnd
from atoll.runtime.journal.control_plane import ControlPlane
from atoll.runtime.journal.journal import Journal
from atoll.runtime.policy.policy import StandingPolicy
from atoll.runtime.policy.redactions import Redactions
from atoll.runtime.ports import Ports
from atoll.runtime.recordings.recordings import Recordings
from atoll.runtime.recordings.shelf import RecordingLimits, RecordingStore
from atoll.runtime.settling import Settling
from atoll.runtime.spawners.init import InitSpawner
from atoll.runtime.tasks import Tasks
from atoll.runtime.terminals.terminals import Defaults, Terminals
from atoll.zygote.host.kernel import lock_in_memory

log = logging.getLogger("atoll.runtime")

BROKER_DOORS = 2
SHUTDOWN_SECONDS = 0.5
INIT_GONE = 3
"""Exit status when the sandbox ended under its runtime."""


@dataclass(frozen=True, slots=True)
class Laid:
    """The routes of a runtime that is still to come, and what it will put behind them."""

    parts: Parts
    app: web.Application
    trust: ssl.SSLContext
    settling: Settling
    idle_end: IdleEnd


def lay(token: str | None = None) -> Laid:
    """Build what is the same for every runtime. Built before the fork, its pages stay shared."""
    parts, settling, idle_end = Parts(), Settling(), IdleEnd()
    app = idle_end.watching(settling.watching(build(parts, token=token)))
    return Laid(parts, app, ssl.create_default_context(), settling, idle_end)


def serve(boot: RuntimeBoot, *, ready: Callable[[], None] = lambda: None) -> None:
    """Serve one sandbox until SIGTERM, then return; raises `SystemExit(3)` when its init is
    gone. Takes over every descriptor in `boot`. Calls `ready` once all is loaded, before anything
    that the sandbox sends is read."""

    def stand() -> RuntimeBoot:
        ready()
        return boot

    become(stand, lay(boot.token))


def become(stand: Stand, laid: Laid) -> None:
    """Serve a sandbox that may not be ready yet. `stand` waits for it, once all that does not
    depend on it is prepared. `laid` serves one runtime in its process."""
    if uvloop.run(run(stand, laid)):
        raise SystemExit(INIT_GONE)


async def run(stand: Stand, laid: Laid) -> int:
    """Serve until SIGTERM (0) or the end of the init (`INIT_GONE`)."""
    async with AsyncExitStack() as stack:
        runner = web.AppRunner(laid.app, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
        await runner.setup()
        # Blocking, and before there is anything a signal would have to end in order.
        return await _live(stand(), laid, runner, stack=stack)


async def _live(
    boot: RuntimeBoot, laid: Laid, runner: web.AppRunner, *, stack: AsyncExitStack
) -> int:
    parts = laid.parts
    stop, gone = asyncio.Event(), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    upstreams = _upstreams(boot)
    keys = [upstream.key for upstream in upstreams.values()]
    for key in keys:
        lock_in_memory(key)
    redactions = parts.redactions = Redactions(keys)
    journal = Journal(boot.journal_dir, boot.journal_bytes, redact=redactions.payload)
    parts.journal = journal
    journal.append("runtime.began", {})
    stack.callback(journal.close)
    spawner = InitSpawner(boot.control, program=boot.init, root=boot.workspace)
    stack.push_async_callback(spawner.close)
    tasks = await stack.enter_async_context(Tasks())
    _fill(parts, boot, spawner, tasks=tasks, stack=stack)
    boot.listener.setblocking(False)
    await web.SockSite(runner, boot.listener).start()
    # Waiting callers are released before the parts that would answer them.
    stack.push_async_callback(runner.cleanup)
    # Readers who wait for news would hold the server's end up.
    stack.callback(journal.release)
    audit = Refusals(journal)
    parts.settle_audit = partial(audit.settle, last=True)
    stack.callback(parts.settle_audit)
    tasks.spawn(audit.run(), "refusals")
    await _serve_egress(boot, parts, audit, stack)
    await _serve_broker(boot, laid, upstreams, audit=audit, stack=stack)
    tasks.spawn(_watch_init(spawner, gone, stop), "init")
    stack.callback(laid.settling.close)
    laid.settling.begin(boot.settle)
    stack.callback(laid.idle_end.close)
    laid.idle_end.begin(boot.idle_end_seconds, stop.set)
    await stop.wait()
    why = "the sandbox's init is gone" if gone.is_set() else "asked to"
    journal.append("runtime.stopped", {"reason": why})
    return INIT_GONE if gone.is_set() else 0


def _fill(
    parts: Parts, boot: RuntimeBoot, spawner: InitSpawner, *, tasks: Tasks, stack: AsyncExitStack
) -> None:
    """Put what this runtime is behind its routes."""
    journal = parts.journal
    activity = parts.activity = Activity(boot.sandbox_id, boot.generation)
    parts.own_usage = boot.own_usage
    journal.noted = activity.noted
    parts.policy = StandingPolicy()
    parts.policy.subscribe(parts.redactions.apply)
    make_stage = parts.redactions.stream
    _fill_terminals(parts, boot, spawner, tasks=tasks, stack=stack)
    parts.agents = Agents(
        spawner,
        boot.agents,
        parts.terminals,
        journal=journal,
        tasks=tasks,
        clean=parts.redactions.text,
    )
    parts.asks = CommandRequests(journal.append)
    parts.execs = Execs(
        spawner,
        env=boot.env,
        cwd=boot.cwd,
        journal=journal,
        tasks=tasks,
        make_stage=make_stage,
    )
    stack.callback(parts.execs.close)
    parts.policy.subscribe(parts.execs.apply)

    def changed(path: str) -> None:
        activity.touch()
        journal.append("file.changed", {"path": path})

    parts.files = Files(spawner, changed=changed)
    parts.ports = Ports(spawner)


def _fill_terminals(
    parts: Parts, boot: RuntimeBoot, spawner: InitSpawner, *, tasks: Tasks, stack: AsyncExitStack
) -> None:
    """Set up terminals, and what may be kept of them."""
    journal, make_stage = parts.journal, parts.redactions.stream
    defaults = Defaults(boot.shell, boot.env, boot.cwd)
    control_plane = parts.control_plane = ControlPlane()
    shelf = RecordingStore(boot.journal_dir / "recordings", RecordingLimits())
    parts.recordings = Recordings(shelf, journal=journal, make_stage=make_stage)
    parts.terminals = Terminals(
        spawner,
        defaults,
        journal=journal,
        tasks=tasks,
        make_stage=make_stage,
        on_open=parts.recordings.opened,
        held_until=control_plane.held_until,
    )
    control_plane.subscribe(parts.terminals.resume)
    stack.callback(parts.terminals.hang_up)
    stack.callback(parts.recordings.close)
    parts.policy.subscribe(parts.terminals.apply)
    parts.policy.subscribe(parts.recordings.apply)


async def _serve_egress(
    boot: RuntimeBoot, parts: Parts, audit: Refusals, stack: AsyncExitStack
) -> None:
    """Serve the egress proxy on its listeners; without rules it refuses everything and says so."""
    egress = Egress(boot.sandbox_id, audit)
    parts.policy.subscribe(egress.apply)
    sudo = Sudo(boot.zygote, parts.journal.append)
    stack.callback(sudo.close)
    endpoint = ApprovalEndpoint(parts.asks, lambda: parts.policy.current.commands, sudo)
    doors = boot.doors[BROKER_DOORS:]
    await stack.enter_async_context(serve_egress(egress, doors, make_handler(endpoint)))


async def _serve_broker(
    boot: RuntimeBoot,
    laid: Laid,
    upstreams: dict[str, Upstream],
    *,
    audit: Refusals,
    stack: AsyncExitStack,
) -> None:
    """Serve the broker on its listeners; without keys it refuses everything and says so."""
    spent = boot.journal_dir / "spent.json"
    parts = BrokerParts(upstreams, audit, laid.trust, dict(boot.broker), spent)
    doors = boot.doors[:BROKER_DOORS]
    await stack.enter_async_context(serve_broker(parts, laid.parts.policy, doors))


def _upstreams(boot: RuntimeBoot) -> dict[str, Upstream]:
    """Return the upstreams that the installation's own keys are for; none with unreadable keys."""
    if boot.keys_fd is None:
        return {}
    try:
        keys = read_keys(boot.keys_fd)
    except Invalid as error:
        log.error("the installation's keys are not used: %s", error.message)
        return {}
    places = dict(boot.broker)
    return {
        name: replace(upstream, base_url=places.get(name, upstream.base_url))
        for name, upstream in keys.items()
    }


async def _watch_init(spawner: InitSpawner, gone: asyncio.Event, stop: asyncio.Event) -> None:
    """Stop everything when the init ends."""
    await spawner.ended()
    log.error("the sandbox's init is gone; its runtime ends")
    gone.set()
    stop.set()
