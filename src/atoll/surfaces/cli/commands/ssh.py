"""`atoll ssh`: the keys by which a person logs in to sandboxes."""

from pathlib import Path
from typing import IO

import click

from atoll.client.made.ssh.keys import SshKey, SshKeyBody, SshKeyList, SshKeys
from atoll.domain.errors import Invalid
from atoll.surfaces.cli.console.candidates import complete_from
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.moments import age, moment_with_age
from atoll.surfaces.cli.console.options import json_option, utc_option, yes_option
from atoll.surfaces.cli.console.output import confirm, note, say, show_json, show_table
from atoll.surfaces.cli.console.references import SSH_KEY, pick_id
from atoll.surfaces.cli.dispatch.verbs import Verbs
from atoll.wire.words.ssh import MAX_KEY_LINE

_USUAL = ("id_ed25519.pub", "id_ed25519_sk.pub", "id_ecdsa.pub", "id_ecdsa_sk.pub", "id_rsa.pub")
"""The files below ~/.ssh where OpenSSH looks for a key, best first."""


@click.group("ssh", cls=Verbs)
def command() -> None:
    """Keep the SSH keys by which you log in to sandboxes."""


@command.group("key", cls=Verbs)
def key() -> None:
    """Add, list and remove your SSH keys."""


@needs("token.manage")
@key.command("add")
@click.argument("file", required=False, type=click.File("r"))
@click.option("--name", default=None, help="What to call it  [default: its comment]")
@json_option()
@pass_invocation
def add(invocation: Invocation, file: IO[str] | None, *, name: str | None, as_json: bool) -> None:
    """Add a public key: that of FILE (`-` is the input), or the one below ~/.ssh."""
    body: SshKeyBody = {"key": _usual_key() if file is None else file.read(MAX_KEY_LINE + 1)}
    if name is not None:
        body["name"] = name
    added: SshKey = _keys(invocation).add(body)
    if as_json:
        show_json(added.value)
    else:
        say(f"{added.key_id}  {added.fingerprint}  {added.name}")


@needs("token.manage")
@key.command("list")
@utc_option()
@json_option()
@pass_invocation
def list_(invocation: Invocation, *, as_json: bool) -> None:
    """List your keys."""
    listing = _keys(invocation).list()
    if as_json:
        show_json(listing.value)
        return
    rows = [_row(each) for each in listing.keys]
    if rows:
        show_table(("KEY", "NAME", "FINGERPRINT", "ADDED", "USED"), rows)
    else:
        note("no keys: add yours with `atoll ssh key add`")


@needs("token.manage")
@key.command("rm")
@click.argument(
    "key",
    metavar="KEY",
    shell_complete=complete_from(
        "ssh/keys", SshKeyList, lambda listing: (each.key_id for each in listing.keys), ()
    ),
)
@yes_option()
@pass_invocation
def remove(invocation: Invocation, key: str, *, yes: bool) -> None:
    """Remove a key: nobody logs in by it from now on."""
    keys = _keys(invocation)
    key_id = pick_id(SSH_KEY, key, lambda: ((each.key_id, each.name) for each in keys.list().keys))
    if not confirm(f"Remove the SSH key {key}?", yes=yes):
        raise click.exceptions.Exit(FAILED)
    keys.remove(key_id)
    note(f"atoll: {key} is removed")


def _usual_key() -> str:
    """Return the text of this person's own key. Raises `Invalid` where there is none."""
    folder = Path.home() / ".ssh"
    for name in _USUAL:
        if (folder / name).is_file():
            return (folder / name).read_text(encoding="utf-8", errors="replace")
    raise Invalid(
        f"there is no key below {folder}: name its file, or make one with `ssh-keygen -t ed25519`"
    )


def _keys(invocation: Invocation) -> SshKeys:
    return SshKeys(invocation.api().transport)


def _row(each: SshKey) -> tuple[str, ...]:
    used = f"{age(each.used_at)} ago" if each.used_at else "never"
    return (each.key_id, each.name, each.fingerprint, moment_with_age(each.added_at), used)
