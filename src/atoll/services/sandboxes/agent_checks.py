"""The preparation of an agent's start: checks that it is known, allowed, installed and inside the
sandbox, and the first configuration of those that are not the sandbox's own.

A create lays out its own agent alone. The others are laid out before the first terminal or agent of
each start, so that a create costs no more for them.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Final

import structlog

from atoll.domain.agents.agent import (
    Agent,
    needed_programs,
    split_reference,
    takes_prompts,
)
from atoll.domain.agents.registry import canonical_name
from atoll.domain.errors import AtollError, Conflict, Forbidden, Invalid
from atoll.domain.ids import SandboxId
from atoll.domain.profile.profile import Profile
from atoll.domain.sandboxes.create import read_catalogue
from atoll.domain.sandboxes.sandbox import CreateSandbox, Sandbox
from atoll.ports import AgentLayers, Extension, RuntimeClient
from atoll.services.policies.policies import ComposedPolicy
from atoll.services.provisioning.inside_agents import inside_names, is_inside
from atoll.services.provisioning.seeds import lay_agents
from atoll.wire.contract.execs import ExecBody

NOT_INSIDE = "agent_not_inside"
MAX_REMEMBERED = 10_000
"""The sandboxes of which is remembered that agents were laid out; laying them out again changes
nothing."""

Compose = Callable[[Sandbox], Awaitable[ComposedPolicy]]
"""Composes the policy of a sandbox as of now."""

_NEVER: Final = object()

_log = structlog.get_logger(__name__)


class AgentChecks:
    """Checks of agents by name or alias, with or without a version."""

    def __init__(
        self, layers: AgentLayers, extensions: Mapping[str, Extension], compose: Compose
    ) -> None:
        self._layers = layers
        self._extensions = extensions
        self._compose = compose
        self._laid: dict[SandboxId, datetime | None] = {}

    def check_catalogue(self, request: CreateSandbox, profile: Profile) -> None:
        """Raises `Invalid` for a name that no agent has, `Forbidden` for an agent left out."""
        catalogue, agent = read_catalogue(request, profile), request.agent or profile.agent
        if catalogue is None:
            return
        for name in catalogue:
            if self._layers.known(name).name != name:
                right = self._layers.known(name).name
                raise Invalid(f"write {right} for {name}", field="agent_catalogue")
        if agent is not None:
            _check_admitted(self._layers.known(agent), agent, catalogue)

    async def check_offered(self, agent: str | None, *, prompted: bool = False) -> None:
        """Check an agent that a new sandbox is to have, so that the create is refused instead of a
        sandbox failing. Raises `Invalid` with what to do, `Forbidden`."""
        if agent is None:
            return
        await self._layers.mounts_for(agent)
        if prompted and not takes_prompts(self._layers.known(agent)):
            raise Invalid(
                f"{agent} is no coding agent: it would run the prompt as a command. Name another "
                "agent.",
                field="agent",
            )

    async def check_start(
        self, sandbox: Sandbox, client: RuntimeClient, reference: str | None
    ) -> None:
        """Check an agent that is to start in a sandbox that runs, and have the configuration of
        agents laid out; None starts a shell. Raises `Invalid` with what to do, `Forbidden`, and
        `Conflict` where another version of it is inside."""
        if reference is None:
            await self.lay_out(sandbox, client)
            return
        agent, version = self._layers.known(reference), split_reference(reference)[1]
        catalogue = sandbox.profile.agent_catalogue
        if catalogue is not None:
            _check_admitted(agent, reference, catalogue)
        with suppress(Invalid):
            # One that is not installed may be part of the sandbox's own root.
            await self._layers.mounts_for(agent.name)
        await self._check_inside(sandbox, client, agent, version)
        await self.lay_out(sandbox, client, agent)

    async def prepare_exec(self, sandbox: Sandbox, client: RuntimeClient, body: ExecBody) -> None:
        """Have the configuration of agents laid out for a command that names one."""
        line = " ".join((*(body.argv or ()), body.shell or ""))
        commands = (self._layers.known(name).command for name in inside_names(sandbox))
        if any(command in line for command in commands):
            await self.lay_out(sandbox, client)

    async def lay_out(
        self, sandbox: Sandbox, client: RuntimeClient, agent: Agent | None = None
    ) -> None:
        """Lay out the configuration of the agents that are not the sandbox's own, once in each
        start, and of `agent`, which was just found inside. Raises `Failed` for that one alone."""
        own = canonical_name(sandbox.agent) if sandbox.agent else ""
        known = inside_names(sandbox)
        late = agent is not None and agent.name not in known
        names = {*known, *([agent.name] if agent and late else [])} - {own}
        done = self._laid.get(sandbox.id, _NEVER) == sandbox.ready_at
        if not names or (done and not late):
            return
        try:
            agents = [self._layers.known(name) for name in sorted(names)]
            await lay_agents(client, sandbox, agents, await self._compose(sandbox))
        except AtollError as error:
            if agent is not None and agent.name in names:
                raise
            _log.warning("agents_not_laid_out", sandbox=sandbox.id, reason=error.message)
        else:
            if len(self._laid) >= MAX_REMEMBERED:
                self._laid.pop(next(iter(self._laid)))
            self._laid[sandbox.id] = sandbox.ready_at

    async def _check_inside(
        self, sandbox: Sandbox, client: RuntimeClient, agent: Agent, version: str | None
    ) -> None:
        if sandbox.attachment.agents is None or not takes_prompts(agent):
            return  # nobody looked: the runtime finds out
        here = inside_names(sandbox).get(agent.name)
        if version is not None and here and here != version:
            raise Conflict(
                f"{sandbox.name} has {agent.name} {here}, not {version}: start that, or make a "
                f"sandbox with the agent {agent.name}@{version}",
                code="agent_version",
                field="agent",
            )
        if here is None and not await is_inside(client, agent):
            raise await self._not_inside(sandbox, agent)

    async def _not_inside(self, sandbox: Sandbox, agent: Agent) -> Invalid:
        what = f"the agent {agent.name} is not in {sandbox.name}"
        try:
            mounts = await self._layers.mounts_for(agent.name)
        except AtollError as error:
            return Invalid(f"{what}: {error.message}", code=NOT_INSIDE, field="agent")
        again = f"`atoll stop {sandbox.name}` and `atoll start {sandbox.name}` bring it in"
        if not self._shows_spare(sandbox):
            again = (
                f"{sandbox.profile.extension} brings only the agent that a sandbox was made with: "
                f"make one with the agent {agent.name} (`atoll new … --agent {agent.name}`)"
            )
        elif not mounts:
            again = "its image does not have it: choose another image, or another agent"
        elif needed_programs(agent):
            again += f", if its image has {', '.join(needed_programs(agent))}"
        return Invalid(f"{what}: {again}", code=NOT_INSIDE, field="agent")

    def _shows_spare(self, sandbox: Sandbox) -> bool:
        extension = self._extensions.get(sandbox.profile.extension)
        try:
            return extension is None or extension.capabilities().spare_layers
        except AtollError:
            return True


def _check_admitted(agent: Agent, named: str, catalogue: tuple[str, ...]) -> None:
    if agent.name not in catalogue:
        raise Forbidden(
            f"the agent {named[:80]} is not in this sandbox's agent_catalogue, which allows "
            f"{', '.join(catalogue) or 'none'}",
            field="agent",
        )
