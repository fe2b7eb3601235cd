"""The agents of one sandbox: opened at a terminal or as machines, found, and let go of."""

import asyncio
import logging
import os
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from atoll.domain.agents.card_log import Clean
from atoll.domain.agents.conversation import Restart, Terms
from atoll.domain.agents.registry import canonical_name
from atoll.domain.agents.resumable import ResumeFallback
from atoll.domain.errors import AtollError, Invalid, LimitReached, NotFound
from atoll.domain.ids import ID_ENTROPY_BYTES, TerminalId, spell
from atoll.domain.terminals.softlock import AgentState, Work
from atoll.ports.runtime_boot import Agent, Machine, WatchFile
from atoll.ports.spawner import Spawner
from atoll.runtime.agents.finding import find_at_terminal, find_by_machine
from atoll.runtime.agents.lines import Program, look_inside, run_program
from atoll.runtime.agents.lock import AgentLock, AgentTerminal, RunningWatch, TerminalAnnouncer
from atoll.runtime.agents.machine import (
    MachineChannel,
    end_machine,
    make_conversation,
    run_machine,
)
from atoll.runtime.agents.orders import (
    AgentOrder,
    Instructions,
    first_argv,
    machine_argv,
    name_missing_program,
    shares_server,
    terminal_argv,
)
from atoll.runtime.agents.questions.waiting import TerminalQuestions
from atoll.runtime.agents.register import AgentRegister, AgentStart
from atoll.runtime.agents.screen import Screen
from atoll.runtime.agents.session import AgentSession, SessionContext
from atoll.runtime.agents.status import AgentStatus, Identity
from atoll.runtime.agents.tui import AgentWatch, TuiChannel, WatchSources, report_pipe_path
from atoll.runtime.clock import timestamp
from atoll.runtime.journal.journal import Journal
from atoll.runtime.tasks import Tasks
from atoll.runtime.terminals.terminal import Terminal
from atoll.runtime.terminals.terminals import TerminalRequest, Terminals, fresh_id
from atoll.wire.contract.policy import Policy
from atoll.wire.contract.terminals import End

log = logging.getLogger("atoll.runtime")

MAX_MACHINES = 16
KEPT_MACHINES = 16
"""Ended ones whose cards can still be read."""

TUI, MACHINE = "tui", "machine"


@dataclass(frozen=True, slots=True)
class _MachineStart:
    """A machine that is about to start, and who waits for it."""

    identity: Identity
    agent: Agent
    machine: Machine
    order: AgentOrder
    terms: Terms
    program: Program
    arrival: AgentStart
    started: asyncio.Future[tuple[AgentSession, MachineChannel]]

    def again(self, restart: Restart) -> Program:
        """Return the program that runs after a restart."""
        order = replace(self.order, resume=False, fork=False, conversation=restart.conversation)
        argv = machine_argv(self.agent, self.machine, order, fresh=restart.fresh)
        return replace(self.program, argv=argv)


class Agents:
    """Agents by id, which is the terminal's where there is one."""

    def __init__(
        self,
        spawner: Spawner,
        known: tuple[Agent, ...],
        terminals: Terminals,
        *,
        journal: Journal,
        tasks: Tasks,
        clean: Clean = lambda text: text,
        on_turn: Callable[[str, str], None] = lambda *_: None,
        count: Callable[[str, Callable[[int, int, int], None]], None] = lambda *_: None,
    ) -> None:
        self._spawner = spawner
        self._known = known
        self._terminals = terminals
        self._journal = journal
        self._tasks = tasks
        self._clean = clean
        self._register = AgentRegister(spawner, journal, tasks)
        self._context = SessionContext(
            journal.append,
            clean,
            self._register.converses,
            self._register.left,
            on_turn,
            count,
        )
        self._instructions = Instructions(journal)
        self._sessions: dict[str, AgentSession] = {}
        self._screens: dict[str, Screen] = {}
        self._policy_env: Mapping[str, Mapping[str, str]] = {}

    def apply(self, policy: Policy) -> None:
        """Give agents that start from now on the policy's variables for them alone."""
        self._policy_env = {name: dict(env) for name, env in policy.agent_env}

    def _env(self, agent: Agent) -> dict[str, str]:
        return {**dict(agent.env), **self._policy_env.get(canonical_name(agent.name), {})}

    @property
    def working(self) -> bool:
        """True when an agent is at its turn."""
        locks = (session.lock for session in self._sessions.values())
        return any(
            lock.work is Work.WORKING and lock.state is not AgentState.STOPPED for lock in locks
        )

    def recount(self) -> None:
        """Have the changes counted anew of each agent that runs, and of the last one that ended:
        what it left is reviewed after its end."""
        sessions = list(self._sessions.values())
        ended = [session for session in sessions if not _lives(session)]
        for session in (*filter(_lives, sessions), *ended[-1:]):
            session.recount()

    def all(self) -> list[AgentSession]:
        """Return every agent that can be looked at, oldest first."""
        self._prune()
        return list(self._sessions.values())

    def get(self, agent_id: str) -> AgentSession:
        """Return one agent. Raises `NotFound`, also for a terminal that is no agent's."""
        self._prune()
        session = self._sessions.get(agent_id)
        if session is None:
            raise NotFound(f"no agent runs as {agent_id[:80]}; list them, or open one")
        return session

    def cards_of(self, session_id: str) -> AgentSession | Screen:
        """Return the holder of a session's cards: its agent, or its screen. Raises `NotFound`."""
        self._prune()
        session = self._sessions.get(session_id)
        if session is not None:
            return session
        terminal = self._terminals.get(session_id)
        screen = self._screens.get(session_id)
        if screen is None:
            screen = self._screens[session_id] = Screen(terminal.pty, clean=self._clean)
            terminal.pty.subscribe(screen)
        return screen

    async def open_at_terminal(
        self, name: str, wanted: TerminalRequest, order: AgentOrder | None = None
    ) -> Terminal:
        """Start an agent on a new terminal, below a leader that is no shell. Raises `Invalid`, also
        for a conversation that it must know and does not, `LimitReached`, `Unavailable`."""
        if wanted.argv is not None:
            raise Invalid("name an agent or an argv, not both", field="agent")
        agent = self._find(name)
        with self._instructions.once(order or AgentOrder()) as given, name_missing_program(agent):
            return await self._open_at_terminal(agent, wanted, given)

    async def _open_at_terminal(
        self, agent: Agent, wanted: TerminalRequest, order: AgentOrder
    ) -> Terminal:
        argv = terminal_argv(agent, order)
        identity = Identity(wanted.id or fresh_id(), agent.name, TUI, timestamp(), order.softlock)
        status = AgentStatus(identity, reports_turns=_tells(agent))
        session, channel, terminal = await self._start_at_terminal(
            agent,
            replace(
                wanted,
                argv=argv,
                env={**self._env(agent), **wanted.env},
                name=wanted.name or agent.name,
                id=TerminalId(identity.id),
                lead=True,
                guard=AgentLock(status),
            ),
            status,
        )
        self._register.arrived(
            session,
            AgentStart(
                wanted.name,
                wanted.cwd,
                wanted.creator,
                asks=order.ask,
                otherwise=_otherwise(agent, order),
                conversation=order.conversation,
            ),
        )
        if order.conversation is not None and order.must_know:
            await find_at_terminal(agent.name, channel, terminal, order.conversation)
        if agent.prompt_argv is not None:
            if order.first_prompt:
                session.prompted(order.first_prompt)
            self._instructions.received(identity, order)
        elif order.first_prompt:
            instructing = self._instruct(session, channel, order)
            self._tasks.spawn(instructing, f"instructions of {identity.id}")
        return terminal

    async def _start_at_terminal(
        self, agent: Agent, request: TerminalRequest, status: AgentStatus
    ) -> tuple[AgentSession, TuiChannel, Terminal]:
        """Watch an agent that can report its turns, then start it."""
        questions = TerminalQuestions()
        watching = self._watching(status.identity, agent, questions)
        if watching is not None:
            request = replace(request, env=_watched_env(agent, request))
            await watching.ready()
        try:
            terminal = await self._terminals.open(request)
        except AtollError:
            if watching is not None:
                watching.cancel()
            raise
        return *self._connect(status, terminal, watching, questions), terminal

    async def _instruct(
        self, session: AgentSession, channel: TuiChannel, order: AgentOrder
    ) -> None:
        """Type the first prompt to an agent that takes none as an argument."""
        try:
            await channel.reads_keys()
            await session.ask(order.first_prompt or "")
        except AtollError as error:
            self._instructions.release(order)
            log.warning("agent %s has no first prompt: %s", session.identity.id, error.message)
        else:
            self._instructions.received(session.identity, order)

    async def open_machine(
        self,
        name: str,
        order: AgentOrder,
        *,
        cwd: str | None,
        env: Mapping[str, str],
        by: str | None = None,
    ) -> AgentSession:
        """Start an agent in its machine mode. Raises `Invalid` when it has none, or for a
        conversation that it must know and does not, and what the spawner raises."""
        agent = self._find(name)
        if agent.machine is None:
            raise Invalid(f"{agent.name} has no machine mode: use mode tui", field="mode")
        alive = [
            session
            for session in self.all()
            if session.identity.mode == MACHINE and _lives(session)
        ]
        if len(alive) >= MAX_MACHINES:
            raise LimitReached(f"{MAX_MACHINES} agents run as machines here; stop one first")
        where = cwd or self._terminals.cwd
        terms = _terms_of(agent, order, where)
        known = {**dict(self._terminals.environment), **self._env(agent), **env}
        start = _MachineStart(
            Identity(spell("g", os.urandom(ID_ENTROPY_BYTES)), agent.name, MACHINE, timestamp()),
            agent,
            agent.machine,
            order,
            terms,
            Program(first_argv(agent, agent.machine, order, terms), tuple(known.items()), where),
            AgentStart(
                cwd=cwd,
                by=by,
                asks=order.ask,
                otherwise=_machine_otherwise(agent.machine, order),
                conversation=order.conversation,
            ),
            asyncio.get_running_loop().create_future(),
        )
        self._tasks.spawn(self._run_machine(start), f"agent {start.identity.id}")
        with name_missing_program(agent):
            session, channel = await start.started
        if order.conversation is not None and order.must_know:
            await find_by_machine(session, channel, order.conversation)
        with self._instructions.once(order) as given:
            if given.first_prompt:
                await session.ask(given.first_prompt)
            self._instructions.received(session.identity, given)
        return session

    def is_machine_only(self, name: str) -> bool:
        """Report whether an agent has no mode at a terminal. Raises `Invalid`."""
        return not self._find(name).argv

    def _find(self, name: str) -> Agent:
        """Return the agent called `name`. A sandbox mounts one version of an agent, whichever
        version its reference named."""
        wanted = name.partition("@")[0]
        for agent in self._known:
            if agent.name == wanted:
                return agent
        known = ", ".join(agent.name for agent in self._known) or "none"
        raise Invalid(f"this sandbox has no agent {name[:80]!r}; it has: {known}", field="agent")

    def _watching(
        self, identity: Identity, agent: Agent, questions: TerminalQuestions
    ) -> RunningWatch | None:
        """Begin to watch an agent that can report its turns."""
        if not _tells(agent):
            return None
        program = Program((), self._terminals.environment, "/")
        pipe = report_pipe_path(identity.id)
        server = agent.server if shares_server(agent) else ""
        sources = WatchSources(
            pipe, agent.transcript, _files(agent), agent.held, server, agent.menus
        )
        session = asyncio.get_running_loop().create_future()
        watch = AgentWatch(self._spawner, program, sources, session=session, questions=questions)
        task = self._tasks.spawn(watch.run(), f"watch {identity.id}")
        return RunningWatch(watch, task, session)

    def _connect(
        self,
        status: AgentStatus,
        terminal: Terminal,
        watching: RunningWatch | None,
        questions: TerminalQuestions,
    ) -> tuple[AgentSession, TuiChannel]:
        """Return the session of an agent that was started at this terminal, and its channel."""
        pty = terminal.pty
        channel = TuiChannel(pty, status, questions)
        announcer = TerminalAnnouncer(terminal, status, channel)
        session = AgentSession(status, pty.process, channel, self._context, observers=[announcer])
        pty.subscribe(AgentTerminal(session, channel, watching))
        if watching is not None:
            watching.follow(session)
            watching.watch.watch_screen(pty)
        self._sessions[status.identity.id] = session
        return session, channel

    async def _run_machine(self, start: _MachineStart) -> None:
        """Run one machine from its start to its end."""
        look = partial(look_inside, self._spawner, start.program)
        try:
            conversation = make_conversation(start.machine.protocol, start.terms)
            channel = MachineChannel(start.identity.id, conversation, look)
            async with run_program(self._spawner, start.program, with_input=True) as program:
                status = AgentStatus(start.identity, has_reported=True)
                session = AgentSession(status, program.process, channel, self._context)
                session.apply(await channel.begin(program))
                self._sessions[start.identity.id] = session
                self._register.arrived(session, start.arrival)
                start.started.set_result((session, channel))
                end = await run_machine(session, channel)
        except AtollError as error:
            if start.started.done():
                raise
            start.started.set_exception(error)
            return
        await self._run_again(start, session, channel, end)

    async def _run_again(
        self, start: _MachineStart, session: AgentSession, channel: MachineChannel, end: End
    ) -> None:
        """Run the program of a machine as often as its conversation starts it again."""
        try:
            while (restart := channel.restart) is not None and session.lives:
                program = start.again(restart)
                async with run_program(self._spawner, program, with_input=True) as running:
                    if not await session.continues(running.process):
                        break
                    session.apply(await channel.begin(running))
                    end = await run_machine(session, channel)
        except AtollError as error:
            log.warning("agent %s was not started again: %s", start.identity.id, error.message)
        channel.finish()
        end_machine(session, end)

    def _prune(self) -> None:
        """Forget agents whose terminal is forgotten, and machines that ended long ago."""
        here = {terminal.spec.id for terminal in self._terminals.all()}
        for session_id in [screen for screen in self._screens if TerminalId(screen) not in here]:
            del self._screens[session_id]
        ended = []
        for agent_id, session in list(self._sessions.items()):
            if session.identity.mode == TUI and TerminalId(agent_id) not in here:
                del self._sessions[agent_id]
            elif session.identity.mode == MACHINE and not _lives(session):
                ended.append(agent_id)
        for agent_id in ended[:-KEPT_MACHINES]:
            del self._sessions[agent_id]


def _watched_env(agent: Agent, request: TerminalRequest) -> Mapping[str, str]:
    """Return the environment of an agent that reports into its pipe."""
    pipe = report_pipe_path(str(request.id))
    reported = {file.variable: pipe + file.suffix for file in _files(agent) if file.variable}
    return {**reported, **request.env, "ATOLL_EAR": pipe}


def _files(agent: Agent) -> tuple[WatchFile, ...]:
    """Return the files beside the report pipe: those that name tools have the others' content."""
    setup_files = () if agent.mcp is None else agent.mcp.files
    return tuple({file.suffix: file for file in (*agent.watch_files, *setup_files)}.values())


def _tells(agent: Agent) -> bool:
    """Report whether the agent can report its turns at a terminal."""
    return bool(agent.watch_argv or agent.watch_files or agent.transcript)


def _terms_of(agent: Agent, order: AgentOrder, where: str) -> Terms:
    return Terms(
        where,
        ask=order.ask,
        resume=order.resume,
        conversation=order.conversation,
        fork=order.fork,
        fresh=str(uuid.UUID(bytes=os.urandom(16), version=4)),
        tools_url="" if agent.mcp is None else agent.mcp.machine_url,
        tools_argv=() if agent.mcp is None else agent.mcp.machine_argv,
    )


def _otherwise(agent: Agent, order: AgentOrder) -> ResumeFallback:
    """Return how an agent at a terminal resumes while its conversation is unknown. An agent that
    names its conversation at the first prompt has none before."""
    if _tells(agent) and not order.resume:
        return ResumeFallback.AFRESH
    return ResumeFallback.LAST if agent.resume_argv else ResumeFallback.NEVER


def _machine_otherwise(machine: Machine, order: AgentOrder) -> ResumeFallback:
    """Return the same for a machine: one that can resume by a name names its conversation, too."""
    if machine.conversation_argv is None:
        return ResumeFallback.NEVER
    return ResumeFallback.LAST if order.resume else ResumeFallback.AFRESH


def _lives(session: AgentSession) -> bool:
    return session.lock.state is not AgentState.STOPPED
