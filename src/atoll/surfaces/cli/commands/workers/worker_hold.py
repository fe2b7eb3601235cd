"""`atoll worker take|give-back`: who has the conversation of a worker."""

from typing import TYPE_CHECKING

import click

from atoll.client.made.workers.workers import WorkerTaken
from atoll.client.workers.workers import Workers
from atoll.domain.errors import Failed, Invalid
from atoll.surfaces.cli.commands.workers.worker_talk import worker_argument
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option
from atoll.surfaces.cli.console.output import note, say, show_json

if TYPE_CHECKING:
    from atoll.client.desktop.folders import WorkerFolder
    from atoll.surfaces.cli.attach.rawtty import RawTty


@needs("agent.use")
@click.command("take")
@worker_argument()
@click.option("--thread", metavar="ID", default=None, help="This thread, not the newest.")
@click.option("--detached", is_flag=True, help="Only say where the terminal is.")
@json_option()
@pass_invocation
def take(
    invocation: Invocation, /, worker: str, *, thread: str | None, detached: bool, as_json: bool
) -> None:
    """Take a worker's conversation to your terminal; give it back with `give-back`."""
    from atoll.client.desktop.folders import desktops_folder, find_worker_folders

    # Found before anything is taken: without one, a conversation that is held waits for nobody.
    tty = None if detached or as_json else _terminal()
    workers = Workers(invocation.api().transport)
    here = find_worker_folders(desktops_folder(invocation.environ), worker)
    desktop = workers.get(worker).sandbox.host if here else None
    taken = workers.take(worker, thread, desktop=desktop if desktop in here else None)
    if as_json:
        show_json(taken.value)
        return
    if tty is None:
        attach = f"atoll attach {taken.sandbox_id} --terminal {taken.terminal_id}"
        say(f"{worker}: `{f'atoll worker take {worker}' if taken.desktop else attach}`")
        return
    code = _attach_terminal(invocation, taken, here.get(taken.desktop), tty=tty)
    note(f"atoll: requests wait until you give it back: `atoll worker give-back {worker}`")
    raise click.exceptions.Exit(code)


def _attach_terminal(
    invocation: Invocation, taken: WorkerTaken, folder: "WorkerFolder | None", *, tty: "RawTty"
) -> int:
    """Attach to a terminal that was taken; returns the exit code. Raises `Failed`."""
    from atoll.client.attach.keys import DetachKeys
    from atoll.surfaces.cli.commands.terminals.attach import (
        AttachOptions,
        attach_here,
        attach_terminal,
    )

    options = AttachOptions(DetachKeys(), taken.terminal_id)
    if not taken.desktop:
        sandbox = invocation.api().sandboxes.get(taken.sandbox_id)
        return attach_terminal(invocation, sandbox, options, tty=tty)
    held = None if folder is None else folder.terminal()
    if folder is None or held is None or held.terminal_id != taken.terminal_id:
        raise Failed(f"the terminal of {taken.worker_id} is not on this machine: give it back")
    return attach_here(folder, held, options, tty=tty)


@needs("agent.use")
@click.command("give-back")
@worker_argument()
@json_option()
@pass_invocation
def give_back(invocation: Invocation, worker: str, *, as_json: bool) -> None:
    """End your terminal's part, and have the worker go on with the conversation."""
    answer = Workers(invocation.api().transport).give_back(worker)
    if as_json:
        show_json(answer.value)
    else:
        say(f"{worker} takes requests again")


def _terminal() -> "RawTty":
    """Return the terminal of this command. Raises `Invalid` without one."""
    from atoll.surfaces.cli.attach.rawtty import RawTty

    try:
        return RawTty()
    except Invalid as error:
        raise Invalid(
            "take needs a terminal on stdin and stdout; with `--detached` it says where the "
            "worker's is"
        ) from error


HOLD = (take, give_back)
"""The commands of who has the conversation."""
