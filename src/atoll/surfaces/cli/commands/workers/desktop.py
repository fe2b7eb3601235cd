"""`atoll desktop`: this machine as a host of its person's own workers."""

import asyncio
import contextlib
import re
import signal
import socket
from collections.abc import Awaitable
from functools import partial
from pathlib import Path

import click

from atoll.client.made.workers.desktops import Desktop, DesktopList, Desktops
from atoll.client.server import find_server
from atoll.domain.errors import AtollError, Invalid
from atoll.ports.outside.local_wall import DesktopOptions, LocalWall
from atoll.surfaces.cli.console.candidates import complete_from
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option
from atoll.surfaces.cli.console.output import note, say, show_json, show_table
from atoll.surfaces.cli.dispatch.verbs import Verbs

_desktop = click.argument(
    "desktop",
    required=False,
    shell_complete=complete_from(
        "desktops", DesktopList, lambda listing: (desktop.name for desktop in listing.desktops)
    ),
)


@click.group("desktop", cls=Verbs)
def command() -> None:
    """Have workers run on this machine, with your own logins."""


@needs("agent.use")
@command.command("link")
@_desktop
@json_option()
@pass_invocation
def link(invocation: Invocation, desktop: str | None, *, as_json: bool) -> None:
    """Link this machine: your workers may run here while `atoll desktop run` does."""
    linked = _desktops(invocation).link(desktop or _machine_name())
    if as_json:
        show_json(linked.value)
    else:
        say(f"{linked.name} is linked: start `atoll desktop run` to have workers here")


@needs("agent.use")
@command.command("unlink")
@_desktop
@pass_invocation
def unlink(invocation: Invocation, desktop: str | None) -> None:
    """Unlink a machine: what its workers still say is refused, their files stay."""
    name = desktop or _machine_name()
    _desktops(invocation).unlink(name)
    say(f"{name} is not linked any more")


@needs("agent.use")
@command.command("list")
@json_option()
@pass_invocation
def list_(invocation: Invocation, *, as_json: bool) -> None:
    """List your linked machines, their walls, and their workers."""
    listing = _desktops(invocation).list()
    if as_json:
        show_json(listing.value)
        return
    rows = [
        (
            desktop.name,
            "yes" if desktop.present else "no",
            _wall(desktop),
            ", ".join(desktop.workers) or "-",
        )
        for desktop in listing.desktops
    ]
    show_table(("DESKTOP", "RUNS", "WALL", "WORKERS"), rows, flexible=("WORKERS",))


@needs("agent.use")
@command.command("run")
@_desktop
@click.option("--bare", is_flag=True, help="Without any wall: agents may do what you may.")
@click.option(
    "--workspace",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=None,
    help="The folder that every worker works in  [default: one for each]",
)
@click.option(
    "--codex",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    default=None,
    help="The program of Codex  [default: the one in PATH]",
)
@click.option("--env", "names", metavar="NAME", multiple=True, help="Pass on a variable; repeated.")
@click.option(
    "--allow-port",
    "ports",
    type=click.IntRange(1, 65535),
    multiple=True,
    help="A port of this machine that agents reach as host.atoll.internal; repeated.",
)
@pass_invocation
def run(
    invocation: Invocation,
    desktop: str | None,
    *,
    bare: bool,
    workspace: Path | None,
    codex: Path | None,
    names: tuple[str, ...],
    ports: tuple[int, ...],
) -> None:
    """Serve your workers on this machine until it is interrupted."""
    options = DesktopOptions(
        bare=bare,
        workspace=None if workspace is None else workspace.absolute(),
        program=codex,
        passed=tuple((name, _variable(invocation, name)) for name in names),
        host_ports=ports,
    )
    wall = invocation.host().desktop(options)
    if wall.isolation.weak:
        note(f"isolation: weak ({'; '.join(wall.isolation.degraded)})")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(invocation, desktop or _machine_name(), wall))


async def _serve(invocation: Invocation, name: str, wall: LocalWall) -> None:
    """Serve until SIGINT or SIGTERM. Raises `NotFound` for a machine that is not linked."""
    from atoll.client.aio.connection import Connection
    from atoll.client.aio.retries import NO_RETRIES
    from atoll.client.desktop.folders import desktops_folder, hold_lane
    from atoll.client.desktop.lane import Lane, LaneRun

    folder = desktops_folder(invocation.environ) / name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    locate = partial(find_server, invocation.environ)
    with hold_lane(folder):
        async with Connection(locate, NO_RETRIES) as connection:
            lane = LaneRun(Lane(connection, name, wall, folder, say))
            async with asyncio.TaskGroup() as tasks:
                serving = tasks.create_task(_failure(lane.run()))
                ending = tasks.create_task(ended.wait())
                await asyncio.wait((serving, ending), return_when=asyncio.FIRST_COMPLETED)
                serving.cancel()
                ending.cancel()
    if not serving.cancelled() and (failure := serving.result()) is not None:
        raise failure


async def _failure(act: Awaitable[None]) -> AtollError | None:
    """Return the error of an act as a value: a group would wrap it."""
    try:
        await act
    except AtollError as err:
        return err
    return None


def _desktops(invocation: Invocation) -> Desktops:
    return Desktops(invocation.api().transport)


def _wall(desktop: Desktop) -> str:
    wall = desktop.isolation
    if not wall.mechanism:
        return "-"
    return f"{wall.level} (weak)" if wall.weak else wall.level


def _machine_name() -> str:
    """Return the name of this machine, as a desktop can be called."""
    name = re.sub(r"[^a-z0-9-]+", "-", socket.gethostname().lower().partition(".")[0]).strip("-")
    return name[:40] or "desktop"


def _variable(invocation: Invocation, name: str) -> str:
    try:
        return invocation.environ[name]
    except KeyError:
        raise Invalid(f"the variable {name[:80]} is not set here", field="env") from None
