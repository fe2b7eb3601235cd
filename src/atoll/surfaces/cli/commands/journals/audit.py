"""`atoll audit`: who did what, exported and verified."""

from collections.abc import Iterator

import click

from atoll.client.audit import Export, export_lines, verify_export
from atoll.client.made.audit import Audit, AuditEntry
from atoll.domain.errors import Failed, Invalid
from atoll.surfaces.cli.console.event_line import details, note_gap
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.moments import moment
from atoll.surfaces.cli.console.options import json_option, utc_option
from atoll.surfaces.cli.console.output import say, show_json

MAX_LINE = 1024 * 1024


@click.group("audit")
def command() -> None:
    """Show who did what, export it, and verify that nothing was changed."""


@needs("audit.read")
@command.command("list")
@click.option("--after", type=click.IntRange(min=0), default=None, help="Entries after this one.")
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=50,
    show_default=True,
    help="At most this many: the newest, or with --after the next.",
)
@utc_option()
@json_option()
@pass_invocation
def list_entries(invocation: Invocation, *, after: int | None, limit: int, as_json: bool) -> None:
    """Show entries of the audit log."""
    place = () if after is None else (("after", str(after)),)
    answered = Audit(invocation.api().transport).page(query=(*place, ("limit", str(limit))))
    if answered.value.get("gap") is not None:
        note_gap(answered.gap)
    if as_json:
        show_json(answered.value)
        return
    for entry in answered.entries:
        say(_entry_line(entry))


@needs("audit.read")
@command.command("export")
@click.option("-o", "--output", default="-", help="A file, or - for standard output.")
@pass_invocation
def export(invocation: Invocation, *, output: str) -> None:
    """Write the whole audit log as JSON lines."""
    lines = export_lines(invocation.api().transport)
    try:
        with click.open_file(output, "wb") as file:
            for line in lines:
                file.write(line + b"\n")
    except OSError as error:
        raise Failed(f"{output} cannot be written: {error.strerror}") from error


@needs("audit.read")
@command.command("verify")
@click.argument("file", required=False)
@click.option("--public-key", default=None, help="The key that signs checkpoints, as you know it.")
@click.option("--head", default=None, help="The newest hash that you noted earlier, as N:HASH.")
@json_option()
@pass_invocation
def verify(
    invocation: Invocation,
    *,
    file: str | None,
    public_key: str | None,
    head: str | None,
    as_json: bool,
) -> None:
    """Follow the chain of the audit log: the server's own, or that of an exported FILE.

    The export is always followed here: the server is not asked whether it is honest.
    """
    lines = export_lines(invocation.api().transport) if file is None else _lines_of(file)
    check = _HeadCheck(_read_head(head))
    summary = verify_export(check.through(lines), public_key=public_key)
    wrong = summary.wrong or check.wrong(summary)
    if as_json:
        show_json({**summary._asdict(), "wrong": wrong})
    if wrong is not None:
        raise Failed(f"the audit log does not hold after entry {summary.n}: {wrong}")
    if not as_json:
        say(f"{summary.entries} entries hold; the newest is {summary.n}:{summary.hash}")
        say(f"checkpoints are signed by {summary.public_key}")


class _HeadCheck:
    """A check that an export still holds the entry that was noted earlier."""

    def __init__(self, head: tuple[int, str] | None) -> None:
        self._head = head
        self._is_held = head is None

    def through(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        for line in lines:
            if self._head is not None and not self._is_held:
                self._is_held = b'"hash":"%s"' % self._head[1].encode() in line
            yield line

    def wrong(self, export: Export) -> str | None:
        if self._is_held or self._head is None:
            return None
        n, _ = self._head
        if export.n < n:
            return f"entry {n}, which you noted, is gone: the end was cut off"
        return f"entry {n} has another hash than you noted: the chain was written anew"


def _read_head(head: str | None) -> tuple[int, str] | None:
    if head is None:
        return None
    number, _, mark = head.partition(":")
    if not (number.isascii() and number.isdigit()) or len(mark) != 64 or not mark.isalnum():
        raise Invalid("--head is written N:HASH, as `atoll audit verify` prints it", field="head")
    return int(number), mark


def _lines_of(file: str) -> Iterator[bytes]:
    try:
        with click.open_file(file, "rb") as opened:
            while line := opened.readline(MAX_LINE):
                yield line.rstrip(b"\n")
    except OSError as error:
        raise Invalid(f"{file} cannot be read: {error.strerror}") from error


def _entry_line(entry: AuditEntry) -> str:
    who = f"{entry.actor_kind}:{entry.actor_id}"
    came = [entry.address, f"token {entry.token_id}" if entry.token_id else ""]
    facts = details(entry.payload)
    words = [str(entry.n), moment(entry.at), who, entry.event_type, *came, entry.reason, facts]
    return "  ".join(word for word in words if word)
