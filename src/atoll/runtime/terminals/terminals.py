"""The terminals of one sandbox: opening, finding and closing them.

A terminal that ended stays, ring and all, for a minute after its last viewer left.
"""

import asyncio
import os
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from atoll.domain.errors import Conflict, Failed, LimitReached, NotFound
from atoll.domain.ids import ID_ENTROPY_BYTES, TerminalId, spell
from atoll.domain.terminals.size import Size
from atoll.ports.spawner import Process, ProcessSpec, Pty, Spawner
from atoll.runtime.clock import timestamp
from atoll.runtime.journal.journal import Journal
from atoll.runtime.stage import MakeStage, PassThrough
from atoll.runtime.tasks import Tasks
from atoll.runtime.terminals.adoption import AdoptedTerminal, TerminalShelf
from atoll.runtime.terminals.control import HeldUntil
from atoll.runtime.terminals.marks import NONCE_VARIABLE
from atoll.runtime.terminals.record import TerminalSpec, TypingGuard
from atoll.runtime.terminals.terminal import Terminal, TerminalContext
from atoll.runtime.terminals.typing_priority import TypingPriority
from atoll.wire.contract.policy import Policy
from atoll.wire.contract.screens import KeptScreen
from atoll.wire.contract.terminals import MAX_LISTED
from atoll.wire.terminal.palettes import PALETTES
from atoll.wire.terminal.query import Palette

MAX_TERMINALS = 64
LINGER_SECONDS = 60.0
MAX_ENDED = MAX_LISTED - MAX_TERMINALS
"""Ended terminals that still can be looked at: the oldest beyond are forgotten at once."""
REMEMBERED = 1024
NONCE_BYTES = 8
TERMINAL_ENV = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}


@dataclass(frozen=True, slots=True)
class TerminalRequest:
    """A request for a terminal. None takes the sandbox's default, the shell, or a new id. `creator`
    is the principal who asks. With `lead` the program is the foreground job of a leader that is no
    shell. `guard` may refuse keys. It goes on below `screen`, under the id of that."""

    argv: tuple[str, ...] | None
    cwd: str | None
    env: Mapping[str, str]
    size: Size
    name: str | None
    ring_bytes: int
    creator: str | None = None
    id: TerminalId | None = None
    lead: bool = False
    guard: TypingGuard | None = None
    screen: KeptScreen | None = None


@dataclass(frozen=True, slots=True)
class Defaults:
    """Environment and limits the sandbox gives every process."""

    shell: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    cwd: str


class Terminals:
    """All terminals, by id. `make_stage` gives each terminal its own output transform;
    `on_open` is called with each new one before any of its output; `held_until` is `Control`'s."""

    def __init__(
        self,
        spawner: Spawner,
        defaults: Defaults,
        *,
        journal: Journal,
        tasks: Tasks,
        make_stage: MakeStage = PassThrough,
        on_open: Callable[[Terminal], None] = lambda _: None,
        held_until: HeldUntil = lambda _: None,
        shelf: TerminalShelf | None = None,
    ) -> None:
        self._spawner = spawner
        self._defaults = defaults
        self._journal = journal
        self._tasks = tasks
        self._make_stage = make_stage
        self._on_open = on_open
        self._terminals: dict[TerminalId, Terminal] = {}
        self._opening = 0
        self._shelf = shelf or TerminalShelf()
        self.typing_priority = TypingPriority()
        self._palette: Palette | None = None
        self._context = TerminalContext(
            self.typing_priority,
            journal.append,
            held_until,
            self._viewer_left,
            lambda: self._palette,
        )
        self._closed: OrderedDict[str, None] = OrderedDict()
        self._policy_env: Mapping[str, str] = {}
        self._reapers: dict[TerminalId, asyncio.TimerHandle] = {}
        self._loop = asyncio.get_running_loop()

    @property
    def running(self) -> int:
        """Number of terminals that have not ended."""
        return sum(1 for terminal in self._terminals.values() if terminal.ending is None)

    @property
    def cwd(self) -> str:
        """Directory where programs start when no other is requested."""
        return self._defaults.cwd

    @property
    def attached(self) -> int:
        """Number of viewers over all terminals."""
        return sum(terminal.viewers for terminal in self._terminals.values())

    def apply(self, policy: Policy) -> None:
        """Give what is opened from now on the policy's variables, and all its colours."""
        self._policy_env = dict(policy.env)
        palette = None if policy.shade is None else PALETTES[policy.shade]
        if palette != self._palette:
            self._palette = palette
            for terminal in self._terminals.values():
                terminal.tell_scheme()

    def all(self) -> list[Terminal]:
        """Return every terminal that can be looked at, oldest first."""
        return list(self._terminals.values())

    def get(self, terminal_id: str) -> Terminal:
        """Return one terminal. Raises `NotFound`."""
        terminal = self._terminals.get(TerminalId(terminal_id))
        if terminal is None:
            raise NotFound(f"there is no terminal {terminal_id} here; list them, or open one")
        return terminal

    async def open(self, wanted: TerminalRequest) -> Terminal:
        """Start a program on a new terminal. Raises `Invalid`, `LimitReached`, `Unavailable`, and
        `Conflict` for an id that is taken."""
        if wanted.id in self._terminals:
            raise Conflict(f"there is a terminal {wanted.id} already", code="terminal_exists")
        if self.running + self._opening >= MAX_TERMINALS:
            raise LimitReached(f"{MAX_TERMINALS} terminals run in this sandbox; close one first")
        spec = self._spec(wanted)
        self._opening += 1
        try:
            pty = await self._spawner.open_pty(cols=spec.size.cols, rows=spec.size.rows)
            process = await self._spawn(spec, pty)
        finally:
            self._opening -= 1
        self._shelf.add(pty.lasting, spec)
        terminal = self._begin(spec, pty, process)
        self._journal.append("terminal.opened", _payload(spec))
        return terminal

    def adopt(self, adopted: Iterable[AdoptedTerminal]) -> None:
        """Take over terminals that an earlier runtime opened, whose programs still run. What was
        printed before is gone with that runtime: programs of the whole screen repaint it."""
        for former, spec in self._shelf.load(adopted):
            former.pty.close_slave()
            terminal = self._begin(spec, former.pty, former.process)
            terminal.pty.repaint()
            self._journal.append("terminal.adopted", _payload(spec))

    def _begin(self, spec: TerminalSpec, pty: Pty, process: Process) -> Terminal:
        terminal = Terminal(spec, pty, process, stage=self._make_stage(), context=self._context)
        self._terminals[spec.id] = terminal
        if spec.screen is not None and spec.screen.fixed:
            terminal.fix(spec.size)
        self._on_open(terminal)
        self._tasks.spawn(self._watch(terminal, pty.lasting), f"terminal {spec.id}")
        return terminal

    def rename(self, terminal_id: str, name: str) -> Terminal:
        """Give a terminal another name. Raises `NotFound`."""
        terminal = self.get(terminal_id)
        if terminal.spec.name != name:
            terminal.rename(name)
            self._journal.append("terminal.renamed", _payload(terminal.spec))
        return terminal

    async def close(self, terminal_id: str, grace: float) -> None:
        """End a terminal and all it started; closing again is nothing. Raises `NotFound` for one
        that never was, `Failed` when it will not end."""
        if terminal_id in self._closed:
            return
        terminal = self.get(terminal_id)
        try:
            await terminal.pty.terminate(grace)
        except TimeoutError:
            raise Failed(f"terminal {terminal_id} did not end although it was killed") from None
        if terminal_id not in self._closed:
            self._journal.append("terminal.closed", _payload(terminal.spec))
        self._remember(terminal_id)
        if not terminal.viewers:
            self._forget(terminal.spec.id)

    def resume(self) -> None:
        """Begin the grace of each driver who left: the control plane answers again."""
        for terminal in self._terminals.values():
            terminal.control.resume()

    def hang_up(self) -> None:
        """Close every PTY: what runs on them gets a hang-up."""
        for reaper in self._reapers.values():
            reaper.cancel()
        for terminal in self._terminals.values():
            terminal.hang_up()

    async def _spawn(self, spec: TerminalSpec, pty: Pty) -> Process:
        """Start the program. Its side of the PTY is closed here, or the end would never show."""
        wanted = ProcessSpec(
            argv=spec.argv,
            env=spec.env,
            cwd=spec.cwd,
            stdin=pty.slave,
            stdout=pty.slave,
            stderr=pty.slave,
            tty=True,
            lead=spec.lead,
        )
        try:
            return await self._spawner.spawn(wanted)
        except BaseException:
            pty.close()
            raise
        finally:
            pty.close_slave()

    def _spec(self, wanted: TerminalRequest) -> TerminalSpec:
        argv = wanted.argv or self._defaults.shell
        nonce = secrets.token_hex(NONCE_BYTES)
        return TerminalSpec(
            id=wanted.id or fresh_id(),
            name=wanted.name or argv[0].rsplit("/", 1)[-1],
            argv=argv,
            cwd=wanted.cwd or self._defaults.cwd,
            env=tuple({**dict(self.environment), **wanted.env, NONCE_VARIABLE: nonce}.items()),
            size=wanted.size,
            ring_bytes=wanted.ring_bytes,
            started_at=timestamp(),
            creator=wanted.creator,
            lead=wanted.lead,
            nonce=nonce,
            guard=wanted.guard,
            screen=wanted.screen,
        )

    @property
    def environment(self) -> tuple[tuple[str, str], ...]:
        """Environment of every program here: the sandbox's, the policy's and the terminal's own."""
        known = {**dict(self._defaults.env), **self._policy_env, **TERMINAL_ENV}
        return tuple(known.items())

    async def _watch(self, terminal: Terminal, lasting: int | None) -> None:
        """Follow a terminal to its end."""
        end = await terminal.watch()
        self._shelf.drop(lasting)
        self._journal.append("terminal.exited", {**_payload(terminal.spec), "exit": end.words()})
        self._linger(terminal)

    def _viewer_left(self, terminal_id: TerminalId) -> None:
        terminal = self._terminals.get(terminal_id)
        if terminal is not None:
            self._linger(terminal)

    def _linger(self, terminal: Terminal) -> None:
        """Keep an ended terminal for a while after its last viewer left."""
        terminal_id = terminal.spec.id
        if terminal.ending is None or terminal.viewers:
            return
        reaper = self._reapers.pop(terminal_id, None)
        if reaper is not None:
            reaper.cancel()
        seconds = 0.0 if terminal_id in self._closed else LINGER_SECONDS
        self._reapers[terminal_id] = self._loop.call_later(seconds, self._forget, terminal_id)
        while len(self._reapers) > MAX_ENDED:
            self._forget(next(iter(self._reapers)))

    def _forget(self, terminal_id: TerminalId) -> None:
        reaper = self._reapers.pop(terminal_id, None)
        if reaper is not None:
            reaper.cancel()
        self._terminals.pop(terminal_id, None)
        self._remember(terminal_id)

    def _remember(self, terminal_id: str) -> None:
        """Remember closed ids for a while, so that closing again does nothing."""
        self._closed[terminal_id] = None
        while len(self._closed) > REMEMBERED:
            self._closed.popitem(last=False)


def fresh_id() -> TerminalId:
    """Make a new terminal id."""
    return TerminalId(spell("t", os.urandom(ID_ENTROPY_BYTES)))


def _payload(spec: TerminalSpec) -> dict[str, object]:
    """Return the fields that the journal may contain: never arguments, output or environment."""
    return {"id": spec.id, "name": spec.name, "argv0": spec.argv[0][:256]}
