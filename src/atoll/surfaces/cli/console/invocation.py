"""The context of a command: environment, API client and host, each made on first use."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from atoll.client.server import find_server, home_of

if TYPE_CHECKING:  # `atoll --help` must not pay for loading what it never uses
    from atoll.client.client import Client
    from atoll.ports.host import Host


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
