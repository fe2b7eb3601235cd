"""`atoll down`: sandboxes, runtimes and the processes of Atoll on this machine end."""

from collections.abc import Callable, Container, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from functools import partial
from pathlib import Path

import click

from atoll.client.client import Client
from atoll.client.organizations import Organizations
from atoll.client.server import find_server
from atoll.client.shapes import SandboxState
from atoll.domain.errors import Conflict, Forbidden, NotFound, Unauthenticated, Unavailable
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.console.options import home_option, yes_option
from atoll.surfaces.cli.console.output import confirmed, note
from atoll.surfaces.cli.console.progress import ProgressNote
from atoll.surfaces.cli.console.waiting import LIVE
from atoll.surfaces.cli.transfer.unpulled import look, tell

_RUNNING: tuple[SandboxState, ...] = ("ready", "active")
AT_ONCE = 16
STOP_SECONDS = 180
"""For one sandbox, whose files may have to be fetched from a rented machine. One that cannot be
reached must not hold `down` for longer."""

_ELSEWHERE = (
    "no control plane answered: sandboxes on other machines were not stopped. Programs there end "
    "after 10 minutes without Atoll, rented machines by their deadline, at most 30 minutes away. "
    "What an extension of another project holds runs on: `atoll up` finds it, then `atoll down` "
    "again"
)


@click.command("down")
@home_option()
@yes_option()
@pass_invocation
def command(invocation: Invocation, *, home: str | None, yes: bool) -> None:
    """Stop every sandbox on this machine, and Atoll itself.

    Workspaces stay: stopped sandboxes can be started after the next `atoll up`.
    """
    place = (Path(home) if home else invocation.home).absolute()
    api = Client(lambda: find_server({"ATOLL_HOME": str(place)}))
    if not yes:
        with suppress(Unavailable, Unauthenticated, Forbidden):
            for sandbox in api.sandboxes.list(states=LIVE):
                if sandbox.state in LIVE:
                    tell(look(api, sandbox))
    if not confirmed(f"Stop Atoll and everything that runs in its sandboxes ({place})?", yes=yes):
        raise click.exceptions.Exit(FAILED)
    try:
        _stop_all(api)
    except (Unavailable, Unauthenticated, Forbidden):
        # No control plane, or not ours to ask: then the machine alone ends what runs.
        note(_ELSEWHERE)
    invocation.host().down(place)


def _stop_all(api: Client) -> None:
    """Stop what runs, so that it is `stopped` and not `failed` after the next `atoll up`. What is
    on another machine is given back while the control plane still knows it."""
    running = [row.sandbox_id for row in api.sandboxes.list(states=LIVE) if row.state in LIVE]
    organizations = Organizations(api.transport)
    stop = partial(api.sandboxes.stop, wait=True, wait_seconds=STOP_SECONDS)
    acts: list[Callable[[], object]] = [partial(stop, one) for one in running]
    with suppress(NotFound):
        for ref, sandbox in _others(organizations, set(running)):
            acts.append(partial(organizations.stop, ref, sandbox, wait_seconds=STOP_SECONDS))
    with (
        ProgressNote(f"stopping {len(acts)} sandboxes") as progress,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        # Each answer comes when all of a sandbox has ended: they stop side by side.
        for done in as_completed([pool.submit(act) for act in acts]):
            with suppress(Conflict, NotFound):
                done.result()
            progress.tell()


def _others(organizations: Organizations, own: Container[str]) -> Iterator[tuple[str, str]]:
    """Yield what runs for other people, as far as the caller administers their organizations."""
    for one in organizations.list().organizations:
        offset = 0
        while True:
            try:
                page = organizations.oversee(one.organization_id, states=_RUNNING, offset=offset)
            except (NotFound, Forbidden):
                break
            for sandbox in page.sandboxes:
                if sandbox.sandbox_id not in own:
                    yield one.organization_id, sandbox.sandbox_id
            offset = page.next
            if not offset:
                break
