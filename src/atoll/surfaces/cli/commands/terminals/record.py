"""`atoll record`: keep what a terminal shows from now on, and look after what was kept."""

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO

import click

from atoll.client.client import Client
from atoll.client.made.recordings import Recording
from atoll.client.transport import get
from atoll.domain.errors import Conflict, Failed, NotFound
from atoll.surfaces.cli.console.guard import GuardedStream
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.moments import moment
from atoll.surfaces.cli.console.options import json_option, sandbox_argument, utc_option
from atoll.surfaces.cli.console.output import note, say, show_json, show_table
from atoll.surfaces.cli.console.references import recording_id, terminal_id
from atoll.surfaces.cli.dispatch.remote_names import inner_recordings, terminals
from atoll.surfaces.cli.transfer.sandbox_files import PIPE

_OWNER_ONLY = 0o600


@needs("recording.manage")
@click.command(
    "record",
    epilog="Everybody at the terminal sees that it is recorded. `atoll play` plays a recording.",
)
@sandbox_argument()
@click.option(
    "--terminal", metavar="ID", default=None, shell_complete=terminals, help="Only this terminal."
)
@click.option("--stop", is_flag=True, help="Stop recording; what was recorded stays.")
@click.option("--list", "listed", is_flag=True, help="List the sandbox's recordings.")
@click.option(
    "--export",
    metavar="REC",
    default=None,
    shell_complete=inner_recordings,
    help="Write a recording as asciicast.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    default=None,
    help="The file to write; stdout for `-`, or if left out.",
)
@click.option(
    "--delete",
    metavar="REC",
    default=None,
    shell_complete=inner_recordings,
    help="Delete a recording for good.",
)
@utc_option()
@json_option()
@pass_invocation
def command(
    invocation: Invocation,
    name: str,
    *,
    terminal: str | None,
    stop: bool,
    listed: bool,
    export: str | None,
    output: str | None,
    delete: str | None,
    as_json: bool,
) -> None:
    """Record a sandbox's terminal from now on."""
    if sum((stop, listed, export is not None, delete is not None)) > 1:
        raise click.UsageError("Give one of --stop, --list, --export and --delete.")
    api = invocation.api()
    if listed:
        _list(api, name, as_json=as_json)
    elif export is not None:
        _export(api, name, export, output)
    elif delete is not None:
        api.terminals.delete_recording(name, recording_id(api, name, delete))
        note(f"{delete} is deleted")
    else:
        _switch(api, name, terminal, stop=stop, as_json=as_json)


def pick_terminal(api: Client, name: str, wanted: str | None, *, recorded: bool = False) -> str:
    """Return the terminal named, else the only one that runs (and is recorded).
    Raises `NotFound`, `Conflict`."""
    if wanted is not None:
        return terminal_id(api, name, wanted)
    ids = [
        each.terminal_id
        for each in api.terminals.list(name).terminals
        if each.state == "running" and (not recorded or each.recording)
    ]
    if not ids:
        raise NotFound(f"no terminal of {name} {'is being recorded' if recorded else 'runs'}")
    if len(ids) > 1:
        raise Conflict(f"{name} has several: choose one with --terminal: {', '.join(ids)}")
    return ids[0]


def _switch(api: Client, name: str, wanted: str | None, *, stop: bool, as_json: bool) -> None:
    terminal = pick_terminal(api, name, wanted, recorded=stop)
    switch = api.terminals.stop_recording if stop else api.terminals.record
    state = switch(name, terminal)
    recording = state.recording_id
    if as_json:
        show_json(state.value)
    elif stop:
        note(f"{terminal} is no longer recorded; `atoll play {name}:{recording}` plays it")
        say(recording)
    else:
        note(f"{terminal} is being recorded, which everybody at it sees; --stop stops it")
        say(recording)


def _list(api: Client, name: str, *, as_json: bool) -> None:
    listing = api.terminals.recordings(name)
    if as_json:
        show_json(listing.value)
        return
    rows = [_recording_row(each) for each in listing.recordings]
    heads = ("RECORDING", "TERMINAL", "NAME", "STATE", "BY", "STARTED", "SECONDS", "KIB")
    show_table(heads, rows)


def _recording_row(each: Recording) -> tuple[str, ...]:
    seconds = each.value.get("seconds")
    shown = f"{seconds:.0f}" if isinstance(seconds, int | float) else ""
    size = str(each.bytes // 1024 + 1)
    place = (each.recording_id, each.terminal_id, each.name)
    return (*place, each.state, each.by, moment(each.started_at), shown, size)


def _export(api: Client, name: str, recording: str, output: str | None) -> None:
    call = get("sandboxes", name, "recordings", recording_id(api, name, recording))
    output = None if output == PIPE else output
    try:
        with api.transport.open(call) as stream, _open_output(output) as file:
            while data := stream.read():
                file.write(data)
    except FileExistsError as error:
        raise Conflict(f"{output} exists already: choose another name") from error
    except OSError as error:
        raise Failed(f"{output or 'stdout'} cannot be written: {error.strerror}") from error


def _open_output(output: str | None) -> AbstractContextManager[BinaryIO | GuardedStream]:
    """Open the output. A new file is its owner's only: it shows what a terminal showed."""
    if output is None:
        return nullcontext(GuardedStream(sys.stdout.buffer))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    return os.fdopen(os.open(Path(output), flags, _OWNER_ONLY), "wb")
