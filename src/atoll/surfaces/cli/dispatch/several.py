"""Several things in one command: each is done, and one that fails stops none of the others."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import click

from atoll.domain.errors import AtollError
from atoll.surfaces.cli.console.exits import OK, exit_code
from atoll.surfaces.cli.console.invocation import Invocation
from atoll.surfaces.cli.console.output import note

T = TypeVar("T")
R = TypeVar("R")


class Several:
    """Acts on the things that a command names, and the exit code that they come to: that of the
    first failure. Where one thing is named, its error is raised as it is."""

    def __init__(self, invocation: Invocation, named: int) -> None:
        self._invocation = invocation
        self._alone = named == 1
        self._code = OK

    def each(
        self, things: Iterable[T], act: Callable[[T], R], *, name: Callable[[T], str] = str
    ) -> list[R]:
        """Act on each thing and return the results. Report each failure when it happens."""
        results: list[R] = []
        for thing in things:
            try:
                results.append(act(thing))
            except AtollError as error:
                if self._alone:
                    raise
                self._report(name(thing), error)
        return results

    def end(self) -> None:
        """Leave the command with the code of the first failure, if there was one."""
        if self._code != OK:
            raise click.exceptions.Exit(self._code)

    def _report(self, thing: str, error: AtollError) -> None:
        from atoll.surfaces.cli.dispatch.usage import of_error  # loaded late: most runs have none

        message = of_error(error, self._invocation.api())
        note(f"atoll: {message}" if thing in message else f"atoll: {thing}: {message}")
        self._code = self._code or exit_code(error)
