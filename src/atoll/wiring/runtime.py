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
from atoll.domain.errors import Failed, Invalid
from atoll.domain.wall.runtime_end import END_REASONS, RuntimeEnd
from atoll.ports.runtime_boot import RuntimeBoot, Stand
from atoll.runtime.api.app import build
from atoll.runtime.api.parts import Parts, promise_parts
from atoll.runtime.doors.approvals.endpoint import ApprovalEndpoint
from atoll.runtime.doors.approvals.push_reports import PushReports
from atoll.runtime.doors.broker.broker import BrokerParts, serve_broker
from atoll.runtime.doors.broker.keys import read_keys
from atoll.runtime.doors.egress.call import make_handler
from atoll.runtime.doors.egress.egress import Egress, serve_egress
from atoll.runtime.doors.refusals import Refusals
from atoll.runtime.execs.sudo import Sudo
from atoll.runtime.files.push_holder import PushHolder
from atoll.runtime.files.script import InsideScripts
from atoll.runtime.health import Activity
from atoll.runtime.journal.journal import Journal
from atoll.runtime.policy.redactions import Redactions
from atoll.runtime.spawners.init import InitSpawner
from atoll.runtime.tasks import Tasks
from atoll.wiring.runtime_inside import Inside, reach_inside
from atoll.wiring.runtime_parts import RuntimeGround, build_parts
from atoll.zygote.host.kernel import lock_in_memory

log = logging.getLogger("atoll.runtime")

SHUTDOWN_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class PreparedRoutes:
    """The routes that a future runtime will serve, and the certificates that it will trust."""

    app: web.Application
    trust: ssl.SSLContext


def lay(token: str | None = None) -> PreparedRoutes:
    """Build what is the same for every runtime. Built before the fork, its pages stay shared."""
    return PreparedRoutes(build(token=token), ssl.create_default_context())


def serve(boot: RuntimeBoot, *, ready: Callable[[], None] = lambda: None) -> None:
    """Serve one sandbox until SIGTERM, then return; raises `SystemExit(3)` when its init is
    gone. Takes over every descriptor in `boot`. Calls `ready` once all is loaded, before anything
    that the sandbox sends is read."""

    def stand() -> RuntimeBoot:
        ready()
        return boot

    become(stand, lay(boot.token))


def become(stand: Stand, laid: PreparedRoutes) -> None:
    """Serve a sandbox that may not be ready yet. `stand` waits for it, once all that does not
    depend on it is prepared. `laid` serves one runtime in its process."""
    if code := uvloop.run(run(stand, laid)):
        raise SystemExit(code)


async def run(stand: Stand, laid: PreparedRoutes) -> int:
    """Serve until SIGTERM (0) or the end of what is inside, as a `RuntimeEnd`."""
    async with AsyncExitStack() as stack:
        expected = promise_parts(laid.app)
        runner = web.AppRunner(laid.app, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
        await runner.setup()
        # Blocking, and before there is anything a signal would have to end in order.
        boot = stand()
        stop, gone = asyncio.Event(), asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        upstreams = _upstreams(boot)
        try:
            inside = await reach_inside(boot, stack)
        except Failed as error:
            log.error("the sandbox is not served: %s", error.message)
            return RuntimeEnd.NOT_REACHED
        spawner = inside.spawner
        ground = await _lay_ground(boot, spawner, upstreams, stack)
        audit = Refusals(ground.journal)
        settle_audit = partial(audit.settle, last=True)
        parts = build_parts(boot, ground, settle_audit=settle_audit, end=stop.set)
        parts.terminals.adopt(inside.adopted)
        expected.set_result(parts)
        await _serve_routes(boot, parts, runner, stack)
        stack.callback(settle_audit)
        ground.tasks.spawn(audit.run(), "refusals")
        ground.tasks.spawn(parts.listening.watch(), "listening ports")
        await _serve_egress(boot, inside, parts, audit, stack)
        broker = _broker_parts(boot, spawner, upstreams, audit=audit, trust=laid.trust)
        # Without keys it refuses everything and says so.
        await stack.enter_async_context(serve_broker(broker, parts.policy, inside.broker))
        ground.tasks.spawn(_watch_init(spawner, gone, stop), "init")
        _begin_timers(parts, stack)
        await stop.wait()
        if not gone.is_set():
            ground.journal.append("runtime.stopped", {"reason": "asked to"})
            return 0
        end, why = inside.end()
        log.error("%s; the runtime ends", why)
        ground.journal.append("runtime.stopped", {"reason": END_REASONS[end]})
        return end


async def _lay_ground(
    boot: RuntimeBoot,
    spawner: InitSpawner,
    upstreams: dict[str, Upstream],
    stack: AsyncExitStack,
) -> RuntimeGround:
    """Return what every part uses. It closes with the stack."""
    keys = [upstream.key for upstream in upstreams.values()]
    for key in keys:
        lock_in_memory(key)
    redactions = Redactions(keys)
    activity = Activity(boot.sandbox_id, boot.generation)
    journal = Journal(
        boot.journal_dir, boot.journal_bytes, redact=redactions.payload, noted=activity.noted
    )
    journal.append("runtime.began", {})
    stack.callback(journal.close)
    stack.push_async_callback(spawner.close)
    tasks = await stack.enter_async_context(Tasks())
    return RuntimeGround(spawner, redactions, activity, journal, tasks)


def _broker_parts(
    boot: RuntimeBoot,
    spawner: InitSpawner,
    upstreams: dict[str, Upstream],
    *,
    audit: Refusals,
    trust: ssl.SSLContext,
) -> BrokerParts:
    """Return the inputs of the broker, which holds pushes inside that may not go out."""
    holder = PushHolder(InsideScripts(spawner, boot.env, boot.workspace))
    spent = boot.journal_dir / "spent.json"
    return BrokerParts(upstreams, audit, trust, dict(boot.broker), spent, holder.hold)


async def _serve_routes(
    boot: RuntimeBoot, parts: Parts, runner: web.AppRunner, stack: AsyncExitStack
) -> None:
    """Serve the routes, which know their parts by now."""
    stack.callback(parts.terminals.hang_up)
    stack.callback(parts.recordings.close)
    stack.callback(parts.execs.close)
    stack.callback(parts.file_acts.close)
    boot.listener.setblocking(False)
    await web.SockSite(runner, boot.listener).start()
    # Waiting callers are released before the parts that would answer them.
    stack.push_async_callback(runner.cleanup)
    # Readers who wait for news would hold the server's end up.
    stack.callback(parts.journal.release)
    stack.callback(parts.workers.release)


async def _serve_egress(
    boot: RuntimeBoot, inside: Inside, parts: Parts, audit: Refusals, stack: AsyncExitStack
) -> None:
    """Serve the egress proxy on its listeners; without rules it refuses everything and says so."""
    egress = Egress(boot.sandbox_id, audit)
    parts.policy.subscribe(egress.apply)
    sudo = Sudo(boot.zygote, parts.journal.append)
    stack.callback(sudo.close)
    pushes = PushReports(parts.journal.append)
    stack.callback(pushes.close)
    endpoint = ApprovalEndpoint(
        parts.asks, lambda: parts.policy.current.commands, sudo, pushes=pushes
    )
    handler = make_handler(endpoint)
    await stack.enter_async_context(serve_egress(egress, inside.egress, handler))


def _begin_timers(parts: Parts, stack: AsyncExitStack) -> None:
    """Begin to wait for a time without requests."""
    stack.callback(parts.settling.close)
    parts.settling.begin()
    stack.callback(parts.idle_end.close)
    parts.idle_end.begin()


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
    gone.set()
    stop.set()
