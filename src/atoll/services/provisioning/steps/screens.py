"""Terminals of a sandbox that slept: they come back under their ids, with what they showed.

What ran in them has ended. An agent's terminal goes on with its agent; a shell's with a new shell
in its last folder; that of a server which the project names runs it again; any other one gets a
shell, as nobody asked for its program to run twice.
"""

from datetime import datetime

from msgspec.structs import replace

from atoll.domain.duration import spell_duration
from atoll.domain.errors import AtollError, Invalid
from atoll.domain.sandboxes.project import is_ready_for_agent, server_argv
from atoll.domain.unseen import replace_unseen
from atoll.ports import Clock
from atoll.services.lifecycle.screens import Screens
from atoll.services.provisioning.bring_up import BringUp
from atoll.wire.contract.screens import KeptScreen
from atoll.wire.contract.terminals import OpenBody, open_terminal

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "ash"})


class ScreenRead:
    """The screens that a sandbox had when it fell asleep."""

    def __init__(self, screens: Screens, clock: Clock) -> None:
        self._screens = screens
        self._clock = clock

    async def run(self, up: BringUp) -> None:
        """Read them. Raises what the store raises."""
        since = up.sandbox.asleep_since
        if since is None:
            return
        notice = f"This sandbox slept for {_span(since, self._clock.now())}."
        screens = await self._screens.of(up.sandbox)
        up.screens = {
            screen.terminal_id: replace(screen, notice=f"{notice} {_program_notice(up, screen)}")
            for screen in screens
        }


class TerminalReturn:
    """The terminals that no agent goes on in."""

    async def run(self, up: BringUp) -> None:
        """Open them. Raises nothing: what went wrong is reported."""
        left = [screen for screen in up.screens.values() if screen.terminal_id not in up.returned]
        for screen in left:
            try:
                await _open(up, screen)
            except AtollError as error:
                name = replace_unseen(screen.name, 80)
                up.report(f"The terminal {name} did not come back: {error.message}")
        if up.screens:
            up.report(f"{len(up.screens)} terminals are back with what they showed.")


async def _open(up: BringUp, screen: KeptScreen) -> None:
    """Open a terminal as it was. Its folder may be gone."""
    body = OpenBody(
        argv=list(screen.argv) if _is_shell(screen) or _is_server(up, screen) else None,
        cwd=screen.cwd,
        cols=screen.cols,
        rows=screen.rows,
        name=screen.name,
        ring_bytes=screen.ring_bytes,
        screen=screen,
    )
    client, by = up.client, up.sandbox.owner
    try:
        await client.call(open_terminal(body, principal=by))
    except Invalid:
        await client.call(open_terminal(replace(body, cwd=None), principal=by))


def _is_shell(screen: KeptScreen) -> bool:
    return len(screen.argv) <= 2 and screen.argv[0].rsplit("/", 1)[-1] in _SHELLS


def _is_server(up: BringUp, screen: KeptScreen) -> bool:
    """Return whether a server that the project names ran in a terminal, and may run again."""
    project = up.sandbox.project
    if project is None or not is_ready_for_agent(project):
        return False
    return (screen.name, screen.argv) in {
        (name, server_argv(name, command)) for name, command in project.content.servers
    }


def _program_notice(up: BringUp, screen: KeptScreen) -> str:
    """Return the sentence about what ran in a terminal."""
    if _is_server(up, screen):
        return f"{screen.name} is started again."
    if _is_shell(screen):
        return "What ran here has ended; the files are as they were."
    program = replace_unseen(screen.argv[0].rsplit("/", 1)[-1], 80)
    return f"{program} has ended; the files are as they were."


def _span(since: datetime, now: datetime) -> str:
    """Return how long something took, in its two largest units at most."""
    seconds = max(1, int((now - since).total_seconds()))
    for unit, coarse in ((86400, 3600), (3600, 60), (60, 1)):
        if seconds >= unit:
            return spell_duration(seconds - seconds % coarse)
    return spell_duration(seconds)
