"""`atoll hook`: addresses to which Gitea, GitHub and Flux report by signed requests."""

import click

from atoll.client.made.hooks import Hook, HookList, Hooks, HookSource, MadeHook
from atoll.surfaces.cli.console.candidates import complete_from
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.moments import moment_with_age
from atoll.surfaces.cli.console.options import json_option, utc_option, yes_option
from atoll.surfaces.cli.console.output import confirm, note, say, show_json, show_table
from atoll.surfaces.cli.console.references import HOOK, pick_id
from atoll.surfaces.cli.dispatch.verbs import Verbs

_hook = click.argument(
    "hook",
    shell_complete=complete_from(
        "hooks", HookList, lambda listing: (hook.hook_id for hook in listing.hooks)
    ),
)


@click.group("hook", cls=Verbs)
def command() -> None:
    """Let Gitea, GitHub and Flux report to Atoll."""


@needs("webhook.manage")
@command.command("add")
@click.argument("source", type=click.Choice(["gitea", "github", "flux"]))
@click.argument("name")
@json_option()
@pass_invocation
def add(invocation: Invocation, source: HookSource, name: str, *, as_json: bool) -> None:
    """Make a hook, and print its address and its secret, this once."""
    api = invocation.api()
    made: MadeHook = Hooks(api.transport).create({"source": source, "name": name})
    if as_json:
        show_json(made.value)
        return
    say(f"{made.hook_id}  {made.address}")
    say(made.secret)
    note(
        f"atoll: give {source} this address below the one of Atoll, and the secret; "
        "it is not shown again"
    )


@needs("webhook.manage")
@command.command("list")
@utc_option()
@json_option()
@pass_invocation
def show_all(invocation: Invocation, *, as_json: bool) -> None:
    """List your hooks."""
    listing = Hooks(invocation.api().transport).list()
    if as_json:
        show_json(listing.value)
        return
    rows = [
        (hook.hook_id, hook.source, hook.name, hook.address, moment_with_age(hook.created_at))
        for hook in listing.hooks
    ]
    if rows:
        show_table(("HOOK", "SOURCE", "NAME", "ADDRESS", "MADE"), rows)
    else:
        note("no hooks: make one with `atoll hook add SOURCE NAME`")


@needs("webhook.manage")
@command.command("rm")
@_hook
@yes_option()
@pass_invocation
def remove(invocation: Invocation, hook: str, *, yes: bool) -> None:
    """Remove a hook: its reports are refused from now on."""
    if not confirm(f"Remove the hook {hook}?", yes=yes):
        raise click.exceptions.Exit(FAILED)
    hooks = Hooks(invocation.api().transport)
    hooks.remove(_hook_id(hooks, hook))
    note(f"atoll: {hook} is removed")


@needs("webhook.manage")
@command.command("test")
@_hook
@json_option()
@pass_invocation
def test(invocation: Invocation, hook: str, *, as_json: bool) -> None:
    """Append an event to a hook's stream: who watches its reports learns of it, agents too."""
    hooks = Hooks(invocation.api().transport)
    tested: Hook = hooks.test(_hook_id(hooks, hook))
    if as_json:
        show_json(tested.value)
        return
    say(f"hook:{tested.hook_id} has the event hook.tested")


def _hook_id(hooks: Hooks, hook: str) -> str:
    """Return the id of a hook, which may be named by its name."""
    return pick_id(HOOK, hook, lambda: ((row.hook_id, row.name) for row in hooks.list().hooks))
