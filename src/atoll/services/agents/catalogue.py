"""The agents of this installation: which work for a person, and what the others lack.

An agent that is not installed is installed here, where the home is this process's own. The
progress is kept in memory: who looks asks again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from atoll.domain.agents.acp.added import is_added
from atoll.domain.agents.agent import Agent
from atoll.domain.agents.readiness import AgentReadiness, assess
from atoll.domain.agents.registry import AGENTS, find
from atoll.domain.errors import AtollError, Conflict, Forbidden, Invalid
from atoll.domain.people.principal import Principal
from atoll.ports import AgentLayers
from atoll.ports.agents import AgentShelf
from atoll.services.ground import Ground
from atoll.services.journals.events import Events, Note
from atoll.services.logins.lent import is_lent
from atoll.services.task_runner import TaskRunner
from atoll.wire.words.events import ActorKind

STREAM = "agents"


@dataclass(frozen=True, slots=True)
class Installing:
    """An install. `expected` bytes are 0 when nobody knows; `failed` says why it ended."""

    bytes: int = 0
    expected: int = 0
    failed: str | None = None


class AgentCatalogue:
    """Use cases on the agents of the installation."""

    def __init__(
        self,
        ground: Ground,
        layers: AgentLayers,
        shelf: AgentShelf | None,
        *,
        events: Events,
        runner: TaskRunner,
        providers_with_key: Callable[[], Awaitable[frozenset[str]]] | None = None,
    ) -> None:
        """`providers_with_key` returns the providers that the installation has a key for."""
        self._store = ground.store
        self._layers = layers
        self._shelf = shelf
        self._events = events
        self._runner = runner
        self._providers_with_key = providers_with_key
        self._installs: dict[str, Installing] = {}

    async def list(self, caller: Principal) -> Sequence[AgentReadiness]:
        """Return every agent Atoll knows, those that work first."""
        async with self._store.read() as rows:
            secrets = await rows.secrets.visible(caller.org_id, caller.id)
            logins = await rows.agent_logins.of(caller.org_id, caller.id)
        used = frozenset(login.agent for login in logins if is_lent(login))
        providers_with_key = (
            frozenset() if self._providers_with_key is None else await self._providers_with_key()
        )
        readiness = [
            assess(
                agent,
                secrets,
                missing=missing,
                forbidden=forbidden,
                providers_with_key=providers_with_key,
                logged_in=used,
            )
            for agent in (*AGENTS, *self._layers.list_added())
            for missing, forbidden in [await self._find_mount_problem(agent)]
        ]
        order = list(type(readiness[0].state))
        return sorted(readiness, key=lambda agent: order.index(agent.state))

    @property
    def installs(self) -> Mapping[str, Installing]:
        """The installs that run or failed, by the agent's name."""
        return self._installs

    async def install(self, caller: Principal, name: str) -> Installing:
        """Begin to install the pinned version. Raises `NotFound`, `Invalid` for an agent that is
        on no registry, `Forbidden` for everybody but a person, and `Conflict` while it goes on."""
        if caller.kind is not ActorKind.PERSON or caller.guest_access is not None:
            raise Forbidden("Only a person installs programs on this host.")
        agent = self._layers.known(name) if is_added(name) else find(name)
        if self._shelf is None or agent.package is None:
            raise Invalid(
                f"{agent.name} cannot be installed from here: {agent.hint}", field="agent"
            )
        running = self._installs.get(agent.name)
        if running is not None and running.failed is None:
            raise Conflict(f"{agent.name} is being installed already: wait for that to end.")
        begun = self._installs[agent.name] = Installing()
        shelf = self._shelf
        self._runner.start(lambda: self._install(caller, agent, shelf))
        return begun

    async def _install(self, caller: Principal, agent: Agent, shelf: AgentShelf) -> None:
        try:
            layer = await asyncio.to_thread(
                shelf.install,
                agent.name,
                None,
                lambda _line: None,
                headway=lambda done, of: self._progress(agent.name, done, of),
            )
        except AtollError as error:
            self._installs[agent.name] = Installing(failed=error.message)
            note = Note(STREAM, "agent.install_failed", {"agent": agent.name})
            await self._events.record(caller, note)
        else:
            del self._installs[agent.name]
            payload = {"agent": agent.name, "version": layer.version}
            await self._events.record(caller, Note(STREAM, "agent.installed", payload))

    def _progress(self, name: str, done: int, expected: int) -> None:
        self._installs[name] = Installing(done, expected)

    async def _find_mount_problem(self, agent: Agent) -> tuple[str | None, bool]:
        """Return why the program cannot be mounted, and whether that is forbidden."""
        try:
            await self._layers.mounts_for(agent.name)
        except Forbidden as error:
            return error.message, True
        except AtollError as error:
            return error.message, False
        return None, False
