"""Attaching by a share link: which terminal, what the guest reads, and the end of their access."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import click

from atoll.client.client import Client
from atoll.client.visit import Visit, begin_visit, end_visit, read_link
from atoll.domain.errors import AtollError, Invalid, NotFound, Unauthenticated
from atoll.surfaces.cli.attach.ending import GUEST_OVER
from atoll.surfaces.cli.console.moments import moment_with_time_left
from atoll.surfaces.cli.console.output import note

WATCHES = "you may watch"
TYPES = "you may watch, and ask to type with the control key"


@contextmanager
def visit_by_link(link: str, name: str | None) -> Iterator[Visit]:
    """Begin a visit and say what it allows; the guest is gone afterwards. Raises what `read_link`
    and `begin_visit` raise."""
    share_link = read_link(link)
    if share_link.plain:
        note(
            f"atoll: {share_link.server.url} is plain http: whoever is on that network can read "
            "and change what passes"
        )
    visit = begin_visit(share_link, name)
    access = visit.access
    by = access.inviter or "somebody"
    may = WATCHES if access.role == "viewer" else TYPES
    until = moment_with_time_left(access.expires_at)
    note(
        f"{by} invited you to {access.sandbox_name}: {may}, until {until}. "
        f"Others see you as {visit.name}"
    )
    try:
        yield visit
    finally:
        with suppress(AtollError):
            end_visit(visit)


def ask_name(given: str | None) -> str | None:
    """Return the guest's name: as given, or as they answer at a terminal; None for a made-up one.
    Raises `Invalid`."""
    if given is None and sys.stdin.isatty():
        given = click.prompt("Your name, as others there see it", default="", err=True)
    name = (given or "").strip()
    if not name:
        return None
    if not name.isprintable():
        raise Invalid("a name has printable characters only", field="name")
    return name


def guest_terminal(api: Client, visit: Visit) -> str:
    """Return the terminal of a visit: that of the link, else the one started last. Raises
    `NotFound`."""
    listed = api.terminals.list(visit.access.sandbox_id).terminals
    open_now = [row for row in listed if row.state == "running"]
    if not open_now:
        raise NotFound("no terminal is open there just now: ask whoever invited you")
    return max(open_now, key=lambda row: row.started_at).terminal_id


def guest_end_reason(api: Client, visit: Visit) -> str:
    """Return why the guest cannot attach again; empty while they can, or that is unknown."""
    try:
        api.terminals.list(visit.access.sandbox_id)
    except (Unauthenticated, NotFound):
        return GUEST_OVER
    except AtollError:
        return ""
    return ""
