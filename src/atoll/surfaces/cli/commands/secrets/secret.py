"""`atoll secret`: values go in by standard input or a hidden prompt, never as an argument, and
never come out again."""

import sys
from typing import Unpack

import click

from atoll.client.made.secrets import Purpose as SecretKind
from atoll.client.made.secrets import Secret, SecretBody
from atoll.client.transport import omit_empty
from atoll.domain.errors import Invalid
from atoll.domain.secrets.secret import Use, look_alikes, read_place
from atoll.surfaces.cli.console import candidates
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, yes_option
from atoll.surfaces.cli.console.output import confirm, note, say, show_json, show_table
from atoll.surfaces.cli.console.references import MAX_SHOWN, did_you_mean, whole_name
from atoll.surfaces.cli.dispatch.verbs import Verbs
from atoll.wire.words.secrets import Purpose

MAX_BYTES = 64 * 1024
GITHUB = "https://github.com"


def _whole_scope(
    context: click.Context, _parameter: click.Parameter, scope: str | None
) -> str | None:
    """Return a scope with the whole id of its sandbox, where that was shortened."""
    invocation = context.find_object(Invocation)
    kind, _, name = (scope or "").partition(":")
    if kind != "sandbox" or invocation is None:
        return scope
    return f"sandbox:{whole_name(invocation.api, name)}"


_scope = click.option(
    "--scope",
    default=None,
    callback=_whole_scope,
    help="The scope, when several have this name.",
)


@click.group("secret", cls=Verbs)
def command() -> None:
    """Set, list, rotate and remove secrets."""


@needs("secret.manage")
@command.command("set")
@click.argument("name", shell_complete=candidates.secrets())
@click.option(
    "--provider",
    default=None,
    shell_complete=candidates.providers(),
    help="The key of this model provider.",
)
@click.option("--base-url", default=None, help="With --provider: a gateway of your own.")
@click.option("--custom", is_flag=True, help="For requests to hosts you approve  [default]")
@click.option("--host", "hosts", multiple=True, help="A host it may go to without approval.")
@click.option(
    "--slot",
    type=click.Choice(("bearer", "header", "query", "basic")),
    default=None,
    help="Where it goes in a request  [default: bearer]",
)
@click.option("--slot-name", default=None, help="The header, parameter, or user of --slot.")
@click.option("--header", "headers", multiple=True, help="Another header that requests may have.")
@click.option("--git", "remote", default=None, help="The token of this https:// remote.")
@click.option("--push", multiple=True, help="With --git: refs that may be pushed.")
@click.option(
    "--forge",
    type=click.Choice(("github", "gitea")),
    default=None,
    help="The token for pull requests at --at.",
)
@click.option("--at", default=None, help="With --forge: its address  [default: github.com's]")
@click.option("--extension", default=None, help="The key of this backend's vendor: ext.e2b.")
@click.option("--env", default=None, help="A variable inside: a placeholder for it.")
@click.option("--expose", is_flag=True, help="Put the value itself into --env, readable inside.")
@click.option(
    "--scope",
    default="person",
    callback=_whole_scope,
    help="person, organization, sandbox:NAME or profile:NAME  [default: person]",
)
@yes_option()
@json_option()
@pass_invocation
def set_(
    invocation: Invocation,
    /,
    name: str,
    *,
    custom: bool,
    expose: bool,
    as_json: bool,
    yes: bool,
    at: str | None,
    **options: Unpack[SecretBody],
) -> None:
    """Set the secret NAME; its value comes from stdin or a hidden prompt."""
    body = omit_empty(options)
    if body.get("forge"):
        body["remote"] = at or GITHUB
    elif at is not None:
        raise Invalid("--at is the address of a --forge: name that, too")
    body["kind"] = _choose_kind(body, custom=custom, expose=expose)
    body["broker_protected"] = not expose
    if _note_look_alikes(body):
        if not confirm("Is this the host you mean?", yes=yes):
            raise click.exceptions.Exit(FAILED)
        body["look_alike"] = True
    _check_provider(body.get("provider"))
    body["value"] = _read_secret_value(name)
    answered = invocation.api().secrets.set(name, body)
    if as_json:
        show_json(answered.value)
        return
    say(f"set {_summary(answered)}")
    if not answered.broker_protected:
        note(f"{name} can be read by everything in the sandboxes that have it")


@needs("secret.read")
@command.command("list")
@json_option()
@pass_invocation
def list_(invocation: Invocation, *, as_json: bool) -> None:
    """List the secrets, without their values."""
    answered = invocation.api().secrets.list()
    if as_json:
        show_json(answered.value)
        return
    rows = [_secret_row(secret) for secret in answered.secrets]
    if rows:
        show_table(("NAME", "FOR", "ENV", "SCOPE", "VERSION", "ENDS IN", "FINGERPRINT"), rows)
    else:
        note("no secrets: set one with `atoll secret set NAME`")


@needs("secret.manage")
@command.command("rotate")
@click.argument("name", shell_complete=candidates.secrets())
@_scope
@json_option()
@pass_invocation
def rotate(invocation: Invocation, name: str, *, scope: str | None, as_json: bool) -> None:
    """Rotate the value of NAME, in every running sandbox at once."""
    answered = invocation.api().secrets.rotate(name, _read_secret_value(name), scope=scope or None)
    if as_json:
        show_json(answered.value)
    else:
        say(f"rotated {_summary(answered)}")


@needs("secret.manage")
@command.command("rm")
@click.argument("name", shell_complete=candidates.secrets())
@_scope
@yes_option()
@pass_invocation
def remove(invocation: Invocation, name: str, *, scope: str | None, yes: bool) -> None:
    """Remove NAME, from every running sandbox at once."""
    if not confirm(f"Remove the secret {name}?", yes=yes):
        raise click.exceptions.Exit(FAILED)
    invocation.api().secrets.delete(name, scope=scope or None)
    say(f"removed {name}")


def _check_provider(name: str | None) -> None:
    """Raise a usage error for an unknown provider, before the value is asked for."""
    from atoll.domain.broker.provider import PROVIDERS

    if name and name.lower() not in PROVIDERS:
        near = did_you_mean(name, PROVIDERS) or f": there are {', '.join(sorted(PROVIDERS))}"
        raise click.BadParameter(
            f"no provider is called {name[:MAX_SHOWN]!r}{near}", param_hint="--provider"
        )


def _choose_kind(body: SecretBody, *, custom: bool, expose: bool) -> SecretKind:
    """Return the kind that the options name. Raises `Invalid` when they name several."""
    provider, forge = bool(body.get("provider")), bool(body.get("forge"))
    git, vendor = bool(body.get("remote")) and not forge, bool(body.get("extension"))
    if custom + provider + git + forge + vendor > 1:
        raise Invalid(
            "a secret has one purpose: give only one of --provider, --custom, --git, --forge and "
            "--extension"
        )
    if vendor:
        return "extension"
    if provider or git or forge:
        return "provider" if provider else "forge" if forge else "git"
    return "env" if expose and not custom and "hosts" not in body else "custom"


def _note_look_alikes(body: SecretBody) -> bool:
    """Return whether hosts have letters beyond ASCII; show both spellings of each."""
    use = Use(
        Purpose.CUSTOM,
        target=body.get("remote") or "",
        base_url=body.get("base_url"),
        places=tuple(map(read_place, body.get("hosts", ()))),
    )
    pairs = look_alikes(use)
    for read, asked in pairs:
        note(f"the host {read} is spelled {asked}: some of its letters look like others")
    return bool(pairs)


def _read_secret_value(name: str) -> str:
    """Read a hidden prompt, or standard input without one line end at its end."""
    if sys.stdin.isatty():
        prompted: str = click.prompt(f"Value of {name}", hide_input=True, err=True)
        return prompted
    data = sys.stdin.buffer.read(MAX_BYTES + 3)
    if len(data) > MAX_BYTES + 2:
        raise Invalid(f"the value is too long: it may have at most {MAX_BYTES} bytes")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise Invalid("the value is not UTF-8 text") from None
    value = text.removesuffix("\n").removesuffix("\r")
    if not value:
        raise Invalid(
            f"nothing came on stdin: pipe the value of {name} in, or run this at a terminal"
        )
    return value


def _summary(secret: Secret) -> str:
    tail = secret.last4
    ends = f", ends in {tail}" if tail else ""
    return f"{secret.name} (version {secret.version}{ends})"


def _secret_row(secret: Secret) -> tuple[str, ...]:
    exposed = "" if secret.broker_protected else " EXPOSED"
    about = secret.provider or secret.remote or secret.extension or ", ".join(secret.hosts)
    return (
        secret.name,
        " ".join(filter(None, (secret.kind, about))) + exposed,
        secret.env or "-",
        secret.scope,
        str(secret.version),
        secret.last4 or "-",
        secret.fingerprint[:12],
    )
