"""Graph of one runtime: its parts, each built from those before it.

Nothing here waits or serves. `wiring.runtime` serves the parts, and closes them in order.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from atoll.domain.wall.interior import HOME
from atoll.ports.runtime_boot import LinkBoot, RuntimeBoot
from atoll.ports.spawner import Spawner
from atoll.runtime.agents.agents import Agents
from atoll.runtime.agents.file_acts import FileActs, ShellCommands
from atoll.runtime.agents.waking import Wakes
from atoll.runtime.api.announced_end import AnnouncedEnd
from atoll.runtime.api.parts import Parts
from atoll.runtime.api.tracing import SpanBuffer
from atoll.runtime.doors.approvals.command_requests import CommandRequests
from atoll.runtime.execs.execs import Execs
from atoll.runtime.files.checkpoints import Checkpoints
from atoll.runtime.files.files import Files
from atoll.runtime.files.script import InsideScripts
from atoll.runtime.files.tree_watch import TreeWatch
from atoll.runtime.health import Activity
from atoll.runtime.idle_end import IdleEnd
from atoll.runtime.journal.control_plane import ControlPlane
from atoll.runtime.journal.journal import Journal
from atoll.runtime.listening import ListeningPorts
from atoll.runtime.policy.policy import StandingPolicy
from atoll.runtime.policy.redactions import Redactions
from atoll.runtime.ports import Ports
from atoll.runtime.recordings.recordings import Recordings
from atoll.runtime.recordings.shelf import RecordingLimits, RecordingStore
from atoll.runtime.settling import Settling
from atoll.runtime.sockets import Sockets
from atoll.runtime.tasks import Tasks
from atoll.runtime.terminals.adoption import TerminalShelf
from atoll.runtime.terminals.terminal import Terminal
from atoll.runtime.terminals.terminals import Defaults, Terminals
from atoll.runtime.workers.workers import Workers


@dataclass(frozen=True, slots=True)
class RuntimeGround:
    """Objects that every part of a runtime uses."""

    spawner: Spawner
    redactions: Redactions
    activity: Activity
    journal: Journal
    tasks: Tasks


def build_parts(
    boot: RuntimeBoot,
    ground: RuntimeGround,
    *,
    settle_audit: Callable[[], None],
    end: Callable[[], None],
) -> Parts:
    """Return the parts of the runtime that `boot` describes. `end` ends it."""
    spawner, journal = ground.spawner, ground.journal
    policy, control_plane, acts = StandingPolicy(), ControlPlane(), FileActs()
    recordings, terminals = _build_terminals(boot, ground, control_plane, acts)
    execs = _build_execs(boot, ground, acts)
    agents = _build_agents(boot, ground, terminals, acts)
    for part in (ground.redactions, terminals, recordings, execs, agents):
        policy.subscribe(part.apply)
    acts.subscribe(agents.recount)
    acts.subscribe(_build_tree_watch(boot, ground).look)
    return Parts(
        terminals=terminals,
        agents=agents,
        file_acts=acts,
        wakes=Wakes(agents, terminals),
        workers=_build_workers(boot, ground),
        execs=execs,
        files=Files(spawner, changed=_file_changed(ground, acts)),
        journal=journal,
        activity=ground.activity,
        asks=CommandRequests(journal.append),
        ports=Ports(spawner),
        sockets=Sockets(spawner, dict(boot.env).get("HOME", HOME)),
        listening=ListeningPorts(
            spawner,
            ground.activity,
            journal.append,
            busy=lambda: bool(terminals.running or execs.running),
        ),
        recordings=recordings,
        control_plane=control_plane,
        policy=policy,
        redactions=ground.redactions,
        own_usage=boot.own_usage,
        settle_audit=settle_audit,
        settling=Settling(boot.settle),
        idle_end=IdleEnd(boot.idle_end_seconds, end),
        ending=AnnouncedEnd(),
        spans=SpanBuffer(),
    )


def _build_tree_watch(boot: RuntimeBoot, ground: RuntimeGround) -> TreeWatch:
    """Return the watch over the working trees, which reports to the journal."""
    scripts = InsideScripts(ground.spawner, boot.env, boot.workspace)
    return TreeWatch(scripts.printed, ground.tasks, ground.journal.append)


def _build_agents(
    boot: RuntimeBoot, ground: RuntimeGround, terminals: Terminals, acts: FileActs
) -> Agents:
    """Return the agents, whose turns begin with a checkpoint of the files and end with a look at
    them."""
    spawner, tasks = ground.spawner, ground.tasks
    checkpoints = Checkpoints(spawner, tasks, env=boot.env, workspace=boot.workspace)

    def count(terminal: str, counted: Callable[[int, int, int], None]) -> None:
        acts.note()
        checkpoints.count(terminal, counted)

    return Agents(
        spawner,
        boot.agents,
        terminals,
        journal=ground.journal,
        tasks=tasks,
        clean=ground.redactions.text,
        on_turn=checkpoints.begin,
        count=count,
    )


def _build_execs(boot: RuntimeBoot, ground: RuntimeGround, acts: FileActs) -> Execs:
    """Return the commands, whose output is redacted."""
    return Execs(
        ground.spawner,
        env=boot.env,
        cwd=boot.cwd,
        journal=ground.journal,
        tasks=ground.tasks,
        make_stage=ground.redactions.stream,
        make_pipe_stage=partial(ground.redactions.stream, binary=True),
        on_end=acts.note,
    )


def _build_workers(boot: RuntimeBoot, ground: RuntimeGround) -> Workers:
    """Return the workers, whose files lie beside the journal."""
    clean, make_stage = ground.redactions.json, ground.redactions.stream
    return Workers(boot.journal_dir / "workers", clean, make_stage=make_stage)


def _build_terminals(
    boot: RuntimeBoot, ground: RuntimeGround, control_plane: ControlPlane, acts: FileActs
) -> tuple[Recordings, Terminals]:
    """Return the terminals, and what may be kept of them."""
    make_stage = ground.redactions.stream
    linked = isinstance(boot.control, LinkBoot)
    shelf = RecordingStore(boot.journal_dir / "recordings", RecordingLimits())
    recordings = Recordings(shelf, journal=ground.journal, make_stage=make_stage)

    def observe(terminal: Terminal) -> None:
        recordings.opened(terminal)
        terminal.pty.subscribe(ShellCommands(terminal.pty, acts))

    terminals = Terminals(
        ground.spawner,
        Defaults(boot.shell, boot.env, boot.cwd),
        journal=ground.journal,
        tasks=ground.tasks,
        make_stage=make_stage,
        on_open=observe,
        held_until=control_plane.held_until,
        shelf=TerminalShelf(boot.journal_dir / "terminals.json" if linked else None),
    )
    control_plane.subscribe(terminals.resume)
    return recordings, terminals


def _file_changed(ground: RuntimeGround, acts: FileActs) -> Callable[[str], None]:
    def note_change(path: str) -> None:
        ground.activity.touch()
        acts.note()
        ground.journal.append("file.changed", {"path": path})

    return note_change
