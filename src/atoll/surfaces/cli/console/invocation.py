"""The context of a command: environment, API client and host, each made on first use; and the
permission that the command needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from atoll.client.server import find_server, home_of

if TYPE_CHECKING:  # `atoll --help` must not pay for loading what it never uses
    from atoll.client.client import Client
    from atoll.ports.host import Host

C = TypeVar("C", bound=click.Command)
LOCAL: Final = "local"
"""The permission of a command that calls no API: it works with this machine or with a file."""
_PERMISSION: Final = "permission"


@dataclass(frozen=True, slots=True)
class Invocation:
    """A run of the command line. `host` is called only by commands that touch this machine."""

    host: "Callable[[], Host]"
    environ: Mapping[str, str]

    @property
    def home(self) -> Path:
        """`$ATOLL_HOME` or its default."""
        return home_of(self.environ)

    def api(self) -> "Client":
        """Return the API client; connects at the first request."""
        from atoll.client.client import Client

        return Client(lambda: find_server(self.environ))


pass_invocation = click.make_pass_decorator(Invocation)


def needs(permission: str) -> Callable[[C], C]:
    """Declare the permission of a command: that of the operation which the command is there for.

    The server decides. The words are those of `domain.people.capability`, as text: a command loads
    no more than it needs."""

    def declare(command: C) -> C:
        vars(command)[_PERMISSION] = permission
        return command

    return declare


def permission_of(command: click.Command) -> str | None:
    """Return the permission that a command declares; None where it declares none."""
    permission: str | None = vars(command).get(_PERMISSION)
    return permission
