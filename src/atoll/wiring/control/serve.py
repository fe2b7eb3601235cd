"""The control plane's entry: `python -m atoll.wiring.control.serve --home H [--port P] …`.

It binds its socket first, then loads the rest, so a restart refuses nobody. It holds no
sandbox: SIGTERM and SIGKILL end only this process, sandboxes and their terminals go on.
"""

import argparse
import asyncio
import gc
import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atoll.adapters.auth.token_file import load_or_make_token
from atoll.domain.errors import AtollError, Invalid
from atoll.wiring.control.presence import Bind, Presence, hold_presence, is_alone
from atoll.wiring.launch.start_link import StartLink
from atoll.wiring.timeouts import mend_timeouts
from atoll.zygote.host import kernel
from atoll.zygote.host.title import set_title

if TYPE_CHECKING:
    import ssl

    import uvicorn

    from atoll.ports.leadership import Act
    from atoll.services.application import Application
    from atoll.surfaces.http.app import AppSettings
    from atoll.surfaces.http.server.connections.proxies import TrustedProxies
    from atoll.surfaces.http.server.connections.upgrades import Takes
    from atoll.surfaces.http.server.settings import ServerSettings
    from atoll.wiring.control.reach import Reach
    from atoll.wiring.control.settings import ControlSettings

GRACEFUL_SECONDS = 4
"""Longer than `open_requests.FINISH_SECONDS`: what is open ends in order before."""

MAX_FRAME_BYTES = 1024 * 1024
PING_SECONDS = 25.0
KEEPALIVE_SECONDS = 75
MAX_FILES = 8192
"""The open files of the control plane, where it may have so many: each stream is one."""

EXIT_REFUSED = 1
REPLICA_NEEDS = (
    "a further replica needs a database that several processes share: set database_url to "
    "PostgreSQL (docs/run/replicas.md), or leave --replica out"
)


@dataclass(frozen=True, slots=True)
class _Welcome:
    """Way to show the login link to the person who started `atoll up`: printed, opened in a
    browser, or neither. `link` ends the zygote of this start unless the start succeeds."""

    printed: bool
    opened: bool
    link: StartLink | None

    def say(self, url: str, ticket: str) -> None:
        address = url.rstrip("/")
        link = _login_link(url, ticket)
        if self.printed:
            print(f"Atoll is ready: {address}\nLog in within 10 minutes: {link}", flush=True)
        if self.opened and any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY"))):
            import webbrowser

            # A program of its own: nobody waits for it.
            threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()

    def say_outside(self, reach: "Reach", ticket: str) -> None:
        """Print a login link for another machine, as a QR code, too, where a library for it is
        installed. Warns where the connection could be read on the way."""
        if reach.url is None or not self.printed:
            return
        link = _login_link(reach.url, ticket)
        print(f"From another machine: {link}", flush=True)
        _print_code(link)
        if reach.plain:
            print(
                f"atoll: {reach.url} is plain HTTP: whoever is on that network can read and change "
                "what passes, logins too. Use --tls or a tunnel: docs/run/outside.md",
                file=sys.stderr,
                flush=True,
            )


def _login_link(url: str, ticket: str) -> str:
    return f"{url.rstrip('/')}/#login={ticket}"


def _print_code(link: str) -> None:
    if not sys.stdout.isatty():
        return
    try:
        segno = import_module("segno")
    except ImportError:
        return
    segno.make(link, error="l").terminal(compact=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; the exit code. 1 with a sentence on stderr when it cannot."""
    # Until it serves, an interrupt ends it at once: nothing is held yet. `atoll up` blocked it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    kernel.forbid_cores()
    mend_timeouts()
    said = _parser().parse_args(arguments)
    set_title("control", str(said.home))
    link = StartLink.inherited(said.starter_fd)
    with link or nullcontext():
        return _main(said, link)


def _main(said: argparse.Namespace, link: StartLink | None) -> int:
    # While programs load nothing becomes garbage, yet the collector would look again and again.
    gc.disable()
    # Loaded only now: they bring in most of what is there before the socket.
    from atoll.surfaces.http.server.connections.proxies import TrustedProxies, read_networks
    from atoll.wiring.control.logs import configure, log_ignored
    from atoll.wiring.control.settings import ignored_variables, read_settings

    try:
        settings = read_settings(said.home, os.environ, _flags(said), dict(said.handed))
        if said.machines_fd is not None:
            os.set_inheritable(said.machines_fd, False)
            settings = replace(settings, machines_fd=said.machines_fd)
        configure(settings.log.log_level, settings.log.log_format)
        log_ignored(ignored_variables(os.environ))
        own = settings.server
        if said.replica is not None and not settings.storage.shared:
            raise Invalid(REPLICA_NEEDS, field="replica")
        context = _tls_of(own)
        with hold_presence(
            settings.home,
            Bind(own.host, own.port, secure=context is not None),
            # Who finds us must find the token too.
            prepare=lambda: load_or_make_token(settings.home / "token"),
            replica=said.replica,
        ) as presence:
            welcome = _Welcome(said.print_login, said.browser, link)
            proxies = TrustedProxies(read_networks(own.trusted_proxies, field="trusted_proxies"))
            _run(settings, _Open(presence, context, said.replica, proxies), welcome)
    except (AtollError, BaseExceptionGroup) as error:
        message = _sentence_of(error)
        if message is None:
            raise
        print(f"atoll: {message}", file=sys.stderr)
        return EXIT_REFUSED
    return 0


def _sentence_of(error: BaseException) -> str | None:
    """Return the sentence of an error of ours, also where tasks failed beside each other; None
    where another one is among them."""
    if isinstance(error, BaseExceptionGroup):
        sentences = [_sentence_of(one) for one in error.exceptions]
        return None if None in sentences else sentences[0]
    return error.message if isinstance(error, AtollError) else None


def _flags(said: argparse.Namespace) -> dict[str, object]:
    """Return the settings that the command line names."""
    host = said.host
    if said.lan:
        from atoll.wiring.control.reach import lan_address

        host = lan_address()
    named = ("port", "public_url", "tls_cert", "tls_key")
    return {"host": host, **{name: getattr(said, name) for name in named}}


def _tls_of(own: "ServerSettings") -> "ssl.SSLContext | None":
    # Loaded only where it is asked for: TLS takes longer to load than the socket to bind.
    if not own.secure:
        return None
    from atoll.wiring.control.reach import tls_context

    return tls_context(own)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="atoll-control", description=__doc__)
    parser.add_argument("--home", type=Path, required=True, help="Atoll's state folder")
    parser.add_argument("--host", default=None, help="address to listen on")
    parser.add_argument("--lan", action="store_true", help="listen on the local network's address")
    parser.add_argument("--replica", default=None, help="name of a further control plane here")
    parser.add_argument("--port", type=int, default=None, help="0 takes the last one, else any")
    parser.add_argument("--public-url", default=None, help="the address people use from elsewhere")
    parser.add_argument("--tls-cert", default=None, help="PEM file of the certificate")
    parser.add_argument("--tls-key", default=None, help="PEM file of its key")
    parser.add_argument(
        "--print-login",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="print the address and a login link once it serves",
    )
    parser.add_argument(
        "--handed", nargs=2, action="append", default=[], help="a file of root's, and where it is"
    )
    parser.add_argument("--starter-fd", type=int, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--machines-fd", type=int, default=None, help=argparse.SUPPRESS)
    parser.add_argument(
        "--browser", action="store_true", help="open the login link, where there is a desktop"
    )
    return parser


@dataclass(frozen=True, slots=True)
class _Open:
    """The bound sockets, the context of the outer one where it speaks TLS, the name of a further
    replica, and the proxies in front."""

    presence: Presence
    context: "ssl.SSLContext | None"
    replica: str | None
    proxies: "TrustedProxies"

    def servers(self, app: object, takes: "Takes") -> "list[tuple[uvicorn.Server, socket.socket]]":
        """Return a server for each socket. They count their unknown connections together. `takes`
        says which upgrades the app takes over."""
        from atoll.surfaces.http.server.connections.fair_starts import FairStarts
        from atoll.surfaces.http.server.connections.held_bytes import HeldBytes
        from atoll.surfaces.http.server.connections.paced_reading import Turns
        from atoll.surfaces.http.server.connections.pending_connections import PendingConnections

        named = {
            "pending": PendingConnections(self.proxies.holds),
            "upgrades": takes,
            "turns": Turns(),
            "held": HeldBytes(),
            "proxies": self.proxies,
        }
        fair = FairStarts(app)  # type: ignore[arg-type]
        found = [(_server(fair, named, None), self.presence.listener)]
        if self.presence.outer is not None:
            found.append((_server(fair, named, self.context), self.presence.outer))
        return found


def _run(settings: "ControlSettings", opened: _Open, welcome: _Welcome) -> None:
    # Loaded only now: clients of a restarted control plane already wait in the socket's queue.
    import uvloop

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(MAX_FILES, most), most))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, opened, welcome))


async def _serve(settings: "ControlSettings", opened: _Open, welcome: _Welcome) -> None:
    from atoll.surfaces.http.app import create_app
    from atoll.surfaces.http.server.connections.open_requests import OpenRequests
    from atoll.surfaces.mcp.entry import McpEntry
    from atoll.wiring.control.assembly import MAIN, assemble
    from atoll.wiring.control.reach import reach_of

    own = settings.server
    reach = reach_of(own, opened.presence.port)
    surface = _app_settings(settings, reach, here=opened.presence.url)
    alone = is_alone(settings.home, opened.replica)
    assembly = assemble(
        settings,
        surface.telemetry,
        replica=opened.replica or MAIN,
        sweep=alone,
        api_url=opened.presence.url,
    )
    async with assembly as services, asyncio.TaskGroup() as group:
        mcp = McpEntry(services, version=version("atoll"))
        app = OpenRequests(create_app(services, replace(surface, mcp=mcp)))
        # What was loaded stays: no later collection has to walk through it.
        gc.freeze()
        gc.enable()
        takes = surface.previews.takes
        servers = opened.servers(app, takes)
        ending = asyncio.Event()
        background = group.create_task(_background(services, settings, ending))
        tools = group.create_task(mcp.run())
        ends = (ending.set, mcp.end, app.end)
        with _ended_by_signals([server for server, _ in servers], ends):
            if welcome.printed or welcome.opened:
                here = own.public_url or opened.presence.url
                welcome.say(here, await services.logins.new_ticket())
                if here != reach.url:
                    welcome.say_outside(reach, await services.logins.new_ticket())
            if welcome.link is not None:
                welcome.link.keep()
            await asyncio.gather(*(server.serve(sockets=[bound]) for server, bound in servers))
        background.cancel()
        tools.cancel()


async def _background(
    services: "Application", settings: "ControlSettings", ending: asyncio.Event
) -> None:
    """Run what runs beside the requests, until cancelled. While it is `ending`, others lead."""
    async with asyncio.TaskGroup() as group:
        if services.background.leadership.shared:
            group.create_task(services.logins.follow())
        group.create_task(services.replication.run())
        group.create_task(services.workers.intake.run())
        group.create_task(services.ssh.gateway.run())
        group.create_task(services.background.run(_leading(services, settings), ending=ending))


def _leading(services: "Application", settings: "ControlSettings") -> "Sequence[Act]":
    """Return what the leader does beside the care for sandboxes."""
    identity, contents = services.tenancy.identity, services.snapshots.contents
    return (
        *(() if identity is None else (identity.refreshes.run,)),
        *(() if contents is None else (contents.run,)),
        services.home.kept.run,
        services.push.delivery.run,
        services.home.pushes.run,
        services.home.end_reports.run,
        services.audit.run,
        services.replication.outbox.run,
        services.dashboards.sweep.run,
        partial(_notices, services, settings),
        services.webhooks.worker.run,
        services.previews.watch.run,
        services.snapshots.upkeep.run,
        services.snapshots.exports.run,
        services.snapshots.schedule.run,
        services.snapshots.turns.run,
        services.backends.pools.upkeep.run,
        services.review.pull_watch.run,
        services.request_watch.run,
        services.workers.driver.run,
        services.workers.heartbeats.run,
        services.workers.summaries.run,
        services.workers.retention.run,
        services.tools.waker.run,
    )


def _app_settings(settings: "ControlSettings", reach: "Reach", *, here: str) -> "AppSettings":
    from atoll.surfaces.http.app import AppSettings
    from atoll.surfaces.http.server.front_end import front_end
    from atoll.surfaces.http.server.host_names import names_for
    from atoll.surfaces.http.server.internal_access import internal_access
    from atoll.surfaces.http.ssh.gateway import SshAccess
    from atoll.wire.contract.ssh import TOKEN_FILE
    from atoll.wiring.control.reach import origins_of
    from atoll.wiring.control.telemetry import metrics_access, open_telemetry

    own = settings.server
    names = names_for(own.host, own.public_url, (*own.hosts, *reach.hosts))
    return AppSettings(
        names=names,
        public_url=own.public_url,
        outside_url=reach.url,
        rate_limit=own.rate_limit,
        front_end=front_end(own.front_end_ranges, own.front_end_secret_file),
        internal=internal_access(own.internal_api_token),
        metrics=metrics_access(settings.telemetry, settings.home),
        telemetry=open_telemetry(settings.telemetry),
        previews=origins_of(own, reach, names, here=here),
        ssh=SshAccess(load_or_make_token(settings.home / TOKEN_FILE)),
    )


async def _notices(services: "Application", settings: "ControlSettings") -> None:
    """Run the person's own command for notifications, if there is one."""
    argv = settings.notices.argv
    if argv:
        from atoll.adapters.notices.command import NoticeCommand
        from atoll.services.people.notices import Notices

        await Notices(services.events, services.sandboxes, NoticeCommand(argv)).run()


def _server(
    app: object, named: "Mapping[str, Any]", context: "ssl.SSLContext | None"
) -> "uvicorn.Server":
    """Return a server; `named` is what its protocols are given."""
    import uvicorn

    from atoll.surfaces.http.server.connections.bounded_head import BoundedHead
    from atoll.surfaces.http.server.connections.handover import HandoverProtocol
    from atoll.surfaces.http.server.connections.tls_entry import TlsEntry

    entry = (
        partial(BoundedHead, **named)
        if context is None
        else partial(TlsEntry, context=context, **named)
    )

    class Server(uvicorn.Server):
        """The server without handlers of its own: it would raise the signal again at its end
        and skip ours."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    return Server(
        uvicorn.Config(
            app,  # type: ignore[arg-type]
            loop="none",
            http=entry,  # type: ignore[arg-type]
            ws=HandoverProtocol,
            ws_max_size=MAX_FRAME_BYTES,
            ws_per_message_deflate=False,
            ws_ping_interval=PING_SECONDS,
            ws_ping_timeout=PING_SECONDS,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEPALIVE_SECONDS,
            timeout_graceful_shutdown=GRACEFUL_SECONDS,
        )
    )


@contextmanager
def _ended_by_signals(
    servers: "Sequence[uvicorn.Server]", ends: Sequence[Callable[[], None]]
) -> Iterator[None]:
    """End the servers by SIGTERM and SIGINT, and call `ends`; a second one waits for no request.
    Once they have ended, the rest ends in a moment, and no signal interrupts it."""
    loop = asyncio.get_running_loop()

    def end() -> None:
        for server in servers:
            server.should_exit = True
        for one in ends:
            one()

    numbers = (signal.SIGTERM, signal.SIGINT)
    for number in numbers:
        loop.add_signal_handler(number, end)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    sys.exit(main())
