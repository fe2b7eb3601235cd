"""The arguments and options that many commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import click

from atoll.client.made.approvals import ApprovalList
from atoll.domain.duration import parse_duration
from atoll.domain.errors import AtollError
from atoll.surfaces.cli.console.candidates import complete_from, profiles, sandboxes
from atoll.surfaces.cli.console.invocation import Invocation
from atoll.surfaces.cli.console.moments import use_utc
from atoll.surfaces.cli.console.references import whole_name

P = ParamSpec("P")
R = TypeVar("R")


def whole_sandbox(
    context: click.Context, _parameter: click.Parameter, name: str | None
) -> str | None:
    """Return the whole id for the beginning of one, and any other name of a sandbox as it is."""
    invocation = context.find_object(Invocation)
    if not name or invocation is None or context.resilient_parsing:
        return name
    return whole_name(invocation.api, name)


def _whole_sandboxes(
    context: click.Context, parameter: click.Parameter, names: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the names, whole; one that means nothing stays, and fails by itself."""
    whole = []
    for name in names:
        try:
            whole.append(whole_sandbox(context, parameter, name) or name)
        except AtollError:
            whole.append(name)
    return tuple(whole)


def sandbox_argument(*, required: bool = True) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return the argument NAME: a sandbox by name or id; it completes."""
    return click.argument(
        "name", required=required, shell_complete=sandboxes(), callback=whole_sandbox
    )


def sandbox_option(*names: str, help: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return an option that takes a sandbox by name or id; it completes."""
    return click.option(
        *names,
        metavar="NAME",
        default=None,
        shell_complete=sandboxes(),
        callback=whole_sandbox,
        help=help,
    )


def sandboxes_argument(*, required: bool = True) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return the argument NAME…: one or more sandboxes; it completes."""
    return click.argument(
        "names",
        metavar="NAME...",
        nargs=-1,
        required=required,
        shell_complete=sandboxes(),
        callback=_whole_sandboxes,
    )


def approval_argument(state: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return the argument APPROVAL: one that is in `state`, by id; it completes."""
    completion = complete_from(
        "approvals",
        ApprovalList,
        lambda listing: (request.approval_id for request in listing.approvals),
        (("state", state),),
    )
    return click.argument("approval", shell_complete=completion)


def profile_argument() -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return the argument PROFILE: a profile by id; it completes."""
    return click.argument("profile", shell_complete=profiles())


def profile_option() -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return the option --profile; it completes."""
    return click.option(
        "--profile",
        default=None,
        shell_complete=profiles(),
        help="The profile to create it from  [default: shell]",
    )


def json_option() -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return the option --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print the API's answer as JSON.")


def utc_option() -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return the option --utc."""
    return click.option(
        "--utc",
        is_flag=True,
        expose_value=False,
        callback=_utc,
        help="Show times in UTC instead of the zone of this machine (TZ).",
    )


def _utc(_context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        use_utc()


def duration(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    """Check a duration before anything is sent, and leave it as it was written."""
    if text is not None:
        try:
            parse_duration(text)
        except ValueError as problem:
            raise click.BadParameter(str(problem)) from problem
    return text


def yes_option() -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return the option --yes."""
    return click.option("--yes", "-y", is_flag=True, help="Answer every question with yes.")


def lose_option() -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return the option --lose-work."""
    return click.option(
        "--lose-work", is_flag=True, help="Also where its unpulled work cannot be listed."
    )


def keep_options() -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return the options --keep-worktree, --to and --with-secrets."""
    options = (
        click.option(
            "--keep-worktree", is_flag=True, help="First write its files to ~/atoll-kept/NAME."
        ),
        click.option(
            "--to",
            type=click.Path(path_type=Path),
            default=None,
            metavar="DIR",
            help="Keep them in this new folder instead.",
        ),
        click.option(
            "--with-secrets", is_flag=True, help="Keep files that contain a secret of yours, too."
        ),
    )

    def add_options(command: Callable[P, R]) -> Callable[P, R]:
        for option in reversed(options):
            command = option(command)
        return command

    return add_options


def home_option() -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return the option --home."""
    return click.option(
        "--home",
        type=click.Path(file_okay=False),
        default=None,
        help="The folder of all state  [default: $ATOLL_HOME, else the XDG state folder]",
    )
