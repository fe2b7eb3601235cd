"""Settings of notifications by a command."""

import shlex
from dataclasses import dataclass

from atoll.domain.errors import Invalid


@dataclass(frozen=True, slots=True)
class NoticeSettings:
    """Settings of notifications by a command. Raises `Invalid` for one that cannot be read.

    `notify_command`: a program and its arguments as a shell would split them; the reason and the
    sandbox's name are appended. No shell runs it. Empty runs nothing.
    """

    notify_command: str = ""

    def __post_init__(self) -> None:
        try:
            words = shlex.split(self.notify_command)
        except ValueError as error:
            raise _command_error(str(error)) from error
        if (self.notify_command and not words) or "\0" in self.notify_command:
            raise _command_error("it names no program")

    @property
    def argv(self) -> tuple[str, ...]:
        """The program and its arguments."""
        return tuple(shlex.split(self.notify_command))


def _command_error(why: str) -> Invalid:
    return Invalid(
        f"notify_command cannot be read: {why}. Write a program and its arguments, such as "
        "notify-send Atoll",
        field="notify_command",
    )
