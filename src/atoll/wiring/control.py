"""The control plane's entry: `python -m atoll.wiring.control --home H [--port P] …`.

It binds its socket first, then loads the rest, so a restart refuses nobody. It holds no
sandbox: SIGTERM and SIGKILL end only this process, sandboxes and their terminals go on.
"""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from atoll.domain.errors import AtollError
from atoll.wiring.logs import configure
from atoll.wiring.presence import Presence, present
from atoll.wiring.settings import ControlSettings, read_settings

if TYPE_CHECKING:
    import uvicorn

GRACEFUL_SECONDS = 2
MAX_FRAME_BYTES = 1024 * 1024
PING_SECONDS = 25.0
KEEPALIVE_SECONDS = 75
EXIT_REFUSED = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; the exit code. 1 with a sentence on stderr when it cannot."""
    said = _parser().parse_args(arguments)
    try:
        settings = read_settings(said.home, os.environ, {"host": said.host, "port": said.port})
        configure(settings.log_level)
        with present(settings.home, host=settings.host, port=settings.port) as presence:
            _run(settings, presence, announce=said.print_login)
    except AtollError as error:
        print(f"atoll: {error.message}", file=sys.stderr)
        return EXIT_REFUSED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="atoll-control", description=__doc__)
    parser.add_argument("--home", type=Path, required=True, help="Atoll's state folder")
    parser.add_argument("--host", default=None, help="address to listen on")
    parser.add_argument("--port", type=int, default=None, help="0 takes the last one, else any")
    parser.add_argument(
        "--print-login",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="print the address and a login link once it serves",
    )
    return parser


def _run(settings: ControlSettings, presence: Presence, *, announce: bool) -> None:
    # Loaded only now: clients of a restarted control plane already wait in the socket's queue.
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, presence, announce=announce))


async def _serve(settings: ControlSettings, presence: Presence, *, announce: bool) -> None:
    from atoll.surfaces.http import repositories
    from atoll.surfaces.http.app import Frontage, create_app
    from atoll.surfaces.http.guard import names_for
    from atoll.wiring.assembly import assembled

    names = names_for(settings.host, settings.public_url, settings.hosts)
    front = Frontage(names=names, public_url=settings.public_url)
    async with assembled(settings) as services, asyncio.TaskGroup() as group:
        app = create_app(services, front, more=(repositories.router,))
        server = _server(app)
        background = group.create_task(services.sandboxes.run())
        with _ended_by_signals(server):
            if announce:
                ticket = await services.logins.new_ticket()
                _announce(settings.public_url or presence.url, ticket)
            await server.serve(sockets=[presence.listener])
        background.cancel()


def _server(app: object) -> "uvicorn.Server":
    import uvicorn

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
            http="httptools",
            ws="websockets-sansio",
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
def _ended_by_signals(server: "uvicorn.Server") -> Iterator[None]:
    loop = asyncio.get_running_loop()

    def end() -> None:
        server.should_exit = True

    numbers = (signal.SIGTERM, signal.SIGINT)
    for number in numbers:
        loop.add_signal_handler(number, end)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


def _announce(url: str, ticket: str) -> None:
    address = url.rstrip("/")
    print(
        f"Atoll is ready: {address}\nLog in within 10 minutes: {address}/#login={ticket}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
