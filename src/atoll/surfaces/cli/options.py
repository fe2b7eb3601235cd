"""The arguments and options that many commands share, and the completion of names."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import click
from click.shell_completion import CompletionItem

from atoll.domain.errors import AtollError
from atoll.surfaces.cli.api import Call, at
from atoll.surfaces.cli.invocation import Invocation

P = ParamSpec("P")
R = TypeVar("R")
Decorator = Callable[[Callable[P, R]], Callable[P, R]]

COMPLETION_SECONDS = 1.0


def _complete(kind: str, names: tuple[str, ...]) -> Callable[..., list[CompletionItem]]:
    def candidates(
        context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        invocation = context.find_object(Invocation)
        if invocation is None:
            return []
        try:
            call = Call("GET", at(kind), timeout=COMPLETION_SECONDS)
            rows = invocation.api().call(call).children(kind)
            found = [row.text(names[0]) or row.text(names[-1]) for row in rows]
        except AtollError:
            return []  # a shell that completes must stay quiet
        return [CompletionItem(name) for name in found if name.startswith(incomplete)]

    return candidates


def sandbox_argument(*, required: bool = True) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """NAME: a sandbox by name or id; completes."""
    return click.argument(
        "name", required=required, shell_complete=_complete("sandboxes", ("name", "sandbox_id"))
    )


def sandboxes_argument(*, required: bool = True) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """NAME…: one or more sandboxes; completes."""
    return click.argument(
        "names",
        metavar="NAME...",
        nargs=-1,
        required=required,
        shell_complete=_complete("sandboxes", ("name", "sandbox_id")),
    )


def profile_argument() -> Callable[[Callable[P, R]], Callable[P, R]]:
    """PROFILE: a profile by id; completes."""
    return click.argument("profile", shell_complete=_complete("profiles", ("id",)))


def profile_option() -> Callable[[Callable[P, R]], Callable[P, R]]:
    """--profile; completes."""
    return click.option(
        "--profile",
        default=None,
        shell_complete=_complete("profiles", ("id",)),
        help="The recipe to make it from  [default: shell]",
    )


def json_option() -> Callable[[Callable[P, R]], Callable[P, R]]:
    """--json."""
    return click.option("--json", "as_json", is_flag=True, help="Print the API's answer as JSON.")


def yes_option() -> Callable[[Callable[P, R]], Callable[P, R]]:
    """--yes."""
    return click.option("--yes", "-y", is_flag=True, help="Answer every question with yes.")


def home_option() -> Callable[[Callable[P, R]], Callable[P, R]]:
    """--home."""
    return click.option(
        "--home",
        type=click.Path(file_okay=False),
        default=None,
        help="The folder of all state  [default: $ATOLL_HOME, else the XDG state folder]",
    )
