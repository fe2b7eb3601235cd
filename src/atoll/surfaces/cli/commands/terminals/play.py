"""`atoll play`: show a recording at this terminal, from a file or from a sandbox."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click

from atoll.client.transport import get
from atoll.domain.errors import Failed, Invalid, NotFound
from atoll.surfaces.cli.attach.player import FASTEST, SLOWEST, Pace, play
from atoll.surfaces.cli.attach.rawtty import RawTty
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.output import note
from atoll.surfaces.cli.console.references import recording_id, whole_name
from atoll.surfaces.cli.dispatch.remote_names import recordings
from atoll.wire.terminal.asciicast import (
    MAX_LINE_BYTES,
    BadCast,
    Event,
    Header,
    read_event,
    read_header,
)


@needs("recording.read")
@click.command(
    "play",
    epilog="Space pauses, n goes to the next command, + and - change the speed, q leaves.",
)
@click.argument("recording", metavar="FILE|NAME:REC", shell_complete=recordings)
@click.option(
    "--speed",
    type=click.FloatRange(SLOWEST, FASTEST),
    default=1.0,
    show_default=True,
    help="2 plays twice as fast.",
)
@click.option(
    "--idle-limit",
    type=click.FloatRange(0.0, 3600.0),
    default=2.0,
    show_default=True,
    help="Shorten pauses to at most this many seconds.",
)
@pass_invocation
def command(invocation: Invocation, recording: str, *, speed: float, idle_limit: float) -> None:
    """Play a recording: an asciicast file, or one that lies in a sandbox."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Invalid("play needs a terminal; `atoll record NAME --export REC` prints the file")
    with _open_recording(invocation, recording) as file:
        header = _header(file, recording)
        with RawTty(questions=False) as tty:
            cols, rows = tty.size
            tty.clear()
            play(_events(file), tty, Pace(speed, idle_limit))
        if (cols, rows) < (header.term.cols, header.term.rows):
            note(f"recorded at {header.term.cols} x {header.term.rows}: this terminal is smaller")


def _open_recording(invocation: Invocation, recording: str) -> BinaryIO:
    """Open the file, fetched first when it lies in a sandbox."""
    path = Path(recording)
    name, colon, wanted = recording.partition(":")
    if path.exists() or not colon:
        try:
            return path.open("rb")
        except FileNotFoundError:
            raise NotFound(f"there is no file {recording}: in a sandbox, name NAME:REC") from None
        except OSError as error:
            raise Failed(f"{recording} cannot be read: {error.strerror}") from error
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    api = invocation.api()
    name = whole_name(invocation.api, name)
    place = get("sandboxes", name, "recordings", recording_id(api, name, wanted))
    with api.transport.open(place) as stream:
        while data := stream.read():
            file.write(data)
    file.seek(0)
    return file


def _header(file: BinaryIO, recording: str) -> Header:
    try:
        return read_header(file.readline(MAX_LINE_BYTES))
    except BadCast as error:
        raise Invalid(f"{recording} cannot be played: {error}") from error


def _events(file: BinaryIO) -> Iterator[Event]:
    """Yield the events as they are played: in version 2 times count from the start."""
    file.seek(0)
    absolute = read_header(file.readline(MAX_LINE_BYTES)).version == 2
    last = 0.0
    while line := file.readline(MAX_LINE_BYTES):
        event = read_event(line)
        if event is None:
            continue
        if absolute:
            seconds, last = max(0.0, event.seconds - last), event.seconds
            event = Event(seconds, event.code, event.text)
        yield event
