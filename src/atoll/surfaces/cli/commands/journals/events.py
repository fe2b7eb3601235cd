"""`atoll events`: the event log, listed and followed."""

import json
import time
from contextlib import suppress

import click

from atoll.client.client import Client
from atoll.client.fields import Shape
from atoll.client.made.events import Event, EventPage, Gap
from atoll.client.transport import Call, Stream, api_path, get
from atoll.domain.errors import Unavailable
from atoll.surfaces.cli.console.candidates import sandboxes
from atoll.surfaces.cli.console.event_line import event_line, note_gap
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, utc_option
from atoll.surfaces.cli.console.output import note, say, show_json
from atoll.surfaces.cli.console.references import stream_of
from atoll.wire.http.server_sent import ServerSentLines

PAUSE_SECONDS = 0.5
SILENCE_SECONDS = 20.0
"""The server sends a heartbeat much oftener; after this the line is taken for dead."""


@needs("event.read")
@click.command("events")
@click.option("-f", "--follow", is_flag=True, help="Follow new events, too.")
@click.option(
    "--stream",
    default=None,
    shell_complete=sandboxes(),
    help="One stream (sandbox:ID, auth …), or the name of a sandbox.",
)
@click.option(
    "--after", type=click.IntRange(min=0), default=None, help="Events after this position."
)
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=100,
    show_default=True,
    help="At most this many: the newest, or with --after the next.",
)
@utc_option()
@json_option()
@pass_invocation
def command(
    invocation: Invocation,
    *,
    follow: bool,
    stream: str | None,
    after: int | None,
    limit: int,
    as_json: bool,
) -> None:
    """Show past events, and follow new ones."""
    api = invocation.api()
    query = (("stream", stream_of(api, stream)),) if stream else ()
    if follow:
        _follow(api, query, "" if after is None else str(after), as_json=as_json)
        return
    place = ("latest", "true") if after is None else ("after", str(after))
    asked = (*query, place, ("limit", str(limit)))
    answered = api.transport.read(EventPage, get("events", query=asked))
    if after is not None and answered.value.get("gap") is not None:
        note_gap(answered.gap)
    if as_json:
        show_json(answered.value)
        return
    for event in answered.events:
        say(event_line(event))


def _follow(api: Client, query: tuple[tuple[str, str], ...], last: str, *, as_json: bool) -> None:
    """Show events over as many connections as it takes; each resumes after the last one shown."""
    reported = False
    while True:
        place = (("Last-Event-ID", last),) if last else ()
        headers = (("Accept", "text/event-stream"), *place)
        call = Call("GET", api_path("events", "stream"), query, headers, timeout=SILENCE_SECONDS)
        try:
            with api.transport.open(call) as stream:
                reported = False
                last = _read(stream, last, as_json=as_json)
        except Unavailable as error:
            if not reported:
                note(f"atoll: {error.message}; waiting for the server to come back")
                reported = True
        time.sleep(PAUSE_SECONDS)


def _read(stream: Stream, last: str, *, as_json: bool) -> str:
    """Show events until the line breaks; returns the position reached."""
    lines = ServerSentLines(last)
    with suppress(Unavailable):
        for line in stream.lines():
            if event := lines.read(line):
                _show(event.kind, event.data, as_json=as_json)
    return lines.place


def _show(kind: str, data: bytes, *, as_json: bool) -> None:
    event = Shape.read(json.loads(data))
    if kind == "gap":
        note_gap(Gap(event.value))
    elif as_json:
        click.echo(json.dumps(event.value))
    else:
        say(event_line(Event(event.value)))
