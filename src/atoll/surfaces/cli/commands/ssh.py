"""`atoll ssh`: logins to sandboxes by OpenSSH, and the keys and certificates for them."""

import asyncio
import os
import shutil
from functools import partial
from pathlib import Path
from typing import IO

import click

from atoll.client.made.ssh.access import SshCertificateBody, SshGateway
from atoll.client.made.ssh.keys import SshKey, SshKeyBody, SshKeyList, SshKeys
from atoll.client.server import find_server
from atoll.domain.errors import Failed, Invalid
from atoll.surfaces.cli.console.candidates import complete_from
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import LOCAL, Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.moments import (
    age,
    moment_with_age,
    moment_with_time_left,
)
from atoll.surfaces.cli.console.options import (
    duration,
    json_option,
    sandbox_argument,
    utc_option,
    yes_option,
)
from atoll.surfaces.cli.console.output import confirm, note, say, show_json, show_table
from atoll.surfaces.cli.console.references import SSH_KEY, pick_id
from atoll.surfaces.cli.dispatch.verbs import Verbs
from atoll.surfaces.cli.ssh.client_files import (
    SUFFIX,
    ClientFiles,
    include,
    refresh,
    sandbox_name,
)
from atoll.wire.words.people import MAX_KEY_LINE

_USUAL = ("id_ed25519.pub", "id_ed25519_sk.pub", "id_ecdsa.pub", "id_ecdsa_sk.pub", "id_rsa.pub")
"""The files below ~/.ssh where OpenSSH looks for a key, best first."""

_VALUED = frozenset("BbcDEeFIiJLlmOoPpQRSWw")
"""The options of `ssh` that take a value."""

_VERBS = {"--proxy": "proxy", "--renew": "renew"}
"""The verbs that stand in a configuration of OpenSSH."""


class _Logins(Verbs):
    """A group whose words may be those of OpenSSH: then `login` is meant. `atoll ssh -t box top`
    does what `atoll ssh login -t box top` does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the verb where none was given."""
        if args and args[0] in _VERBS:
            args = [_VERBS[args[0]], *args[1:]]
        elif args and args[0] not in (*self.commands, "--help", "-h"):
            args = ["login", *args]
        if args[:1] == ["login"]:
            # The words are those of OpenSSH, whatever they look like.
            args = ["login", "--", *args[1:]]
        return super().parse_args(ctx, args)


@click.group("ssh", cls=_Logins)
def command() -> None:
    """Log in to sandboxes by OpenSSH, and keep the keys for it."""


@needs("terminal.watch")
@command.command("login", add_help_option=False)
@click.argument("words", metavar="[OPTION]... NAME [COMMAND]...", nargs=-1, type=click.UNPROCESSED)
@pass_invocation
def login(invocation: Invocation, words: tuple[str, ...]) -> None:
    """Log in, or run a command there: `ssh` of OpenSSH with its own options."""
    at = _name_index(words)
    name = sandbox_name(words[at])
    files, gateway = ClientFiles(invocation.home), _gateway(invocation)
    files.write(gateway.get())
    refresh(files, gateway, name)
    ssh = shutil.which("ssh")
    if ssh is None:
        raise Failed("OpenSSH is not installed here: there is no `ssh`")
    own = ["-F", str(files.hosts), "-l", name]
    rest = [*words[:at], f"{name}{SUFFIX}", *words[at + 1 :]]
    os.execv(ssh, [ssh, *own, *rest])  # noqa: S606 - OpenSSH takes over this process


@needs("terminal.watch")
@command.command("cert")
@sandbox_argument()
@click.argument("file", required=False, type=click.File("r"))
@click.option("--ttl", default=None, callback=duration, help="How long it holds  [default: 1h]")
@utc_option()
@json_option()
@pass_invocation
def cert(
    invocation: Invocation, name: str, file: IO[str] | None, *, ttl: str | None, as_json: bool
) -> None:
    """Print a certificate of a public key (that of FILE, or the one below ~/.ssh) for a sandbox."""
    key = _usual_key() if file is None else file.read(MAX_KEY_LINE + 1)
    body: SshCertificateBody = {"public_key": key}
    if ttl is not None:
        body["ttl"] = ttl
    made = _gateway(invocation).certify(name, body)
    if as_json:
        show_json(made.value)
        return
    say(made.certificate)
    note(f"atoll: {made.role} of {name} until {moment_with_time_left(made.expires_at)}")


@needs("me.manage")
@command.command("config")
@click.option("--print", "only_print", is_flag=True, help="Print it, and write nothing.")
@pass_invocation
def config(invocation: Invocation, *, only_print: bool) -> None:
    """Have OpenSSH, and every editor built upon it, find sandboxes: `ssh NAME.atoll`."""
    files, gateway = ClientFiles(invocation.home), _gateway(invocation).get()
    if only_print:
        say(files.text(gateway.alias).rstrip("\n"))
        return
    files.write(gateway)
    own = Path.home() / ".ssh" / "config"
    changed = include(own, files.config)
    note(f"atoll: {own} {'now includes' if changed else 'includes'} {files.config}")


@needs("terminal.watch")
@command.command("renew", hidden=True)
@click.argument("name")
@pass_invocation
def renew(invocation: Invocation, name: str) -> None:
    """Get a new certificate for a sandbox; OpenSSH calls it before each login."""
    refresh(ClientFiles(invocation.home), _gateway(invocation), name)


@needs(LOCAL)
@command.command("proxy", hidden=True)
@click.argument("name")
@pass_invocation
def proxy(invocation: Invocation, name: str) -> None:
    """Pass OpenSSH's bytes to the gateway; OpenSSH calls it for each connection."""
    from atoll.surfaces.cli.ssh.proxy import pass_bytes  # it loads the WebSocket client

    locate = partial(find_server, invocation.environ)
    if not asyncio.run(pass_bytes(locate, sandbox_name(name), lambda why: note(f"atoll: {why}"))):
        raise click.exceptions.Exit(FAILED)


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


def _name_index(words: tuple[str, ...]) -> int:
    """Return the place of the name among words of `ssh`. Raises a usage error where there is
    none."""
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if not word.startswith("-") or word == "-":
            break
        # Options without a value may stand together, the last one may take a value.
        takes = next((place for place, letter in enumerate(word[1:], 1) if letter in _VALUED), 0)
        at += 2 if takes == len(word) - 1 and takes else 1
    if at >= len(words):
        raise click.UsageError("name a sandbox: atoll ssh NAME")
    return at


def _gateway(invocation: Invocation) -> SshGateway:
    return SshGateway(invocation.api().transport)


def _keys(invocation: Invocation) -> SshKeys:
    return SshKeys(invocation.api().transport)


def _row(each: SshKey) -> tuple[str, ...]:
    used = f"{age(each.used_at)} ago" if each.used_at else "never"
    return (each.key_id, each.name, each.fingerprint, moment_with_age(each.added_at), used)
