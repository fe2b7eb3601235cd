"""Agents of a sandbox in a bring-up: chosen before its wall, then checked, configured and resumed
behind it.

An agent that ran when the sandbox stopped is opened again as it was, in the conversation it had.
One that cannot be is said in the sandbox's log and never keeps the sandbox from starting.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from atoll.domain.agents.agent import needed_programs, split_reference, takes_prompts
from atoll.domain.agents.resumable import ResumeFallback, RunningAgent
from atoll.domain.errors import AtollError, Failed, Forbidden, Invalid
from atoll.domain.interior.entry import MECHANISMS, entry_steps
from atoll.domain.sandboxes.image import HOST
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import AgentLayers, RuntimeClient
from atoll.ports.agents import OfferedAgent
from atoll.services.provisioning.bring_up import BringUp
from atoll.services.provisioning.inside_agents import InsideAgents, Layers, admits, is_inside
from atoll.services.provisioning.seeds import config_of, lay_agents, write_files
from atoll.services.provisioning.steps.workspace import is_new_copy
from atoll.wire.contract.agents import OpenAgentBody, list_agents, open_agent
from atoll.wire.contract.screens import KeptScreen
from atoll.wire.words.sandboxes import TaskState
from atoll.wire.words.terminals import Strictness


class AgentChoice:
    """The agents that a sandbox is to show."""

    def __init__(self, layers: AgentLayers) -> None:
        self._layers = layers

    async def run(self, up: BringUp) -> None:
        """Find the agents. Raises what their layers raise for the sandbox's own agent."""
        spare_layers = up.extension.capabilities().spare_layers
        up.inside = await _find_inside(
            self._layers, up.sandbox, up.report, spare_layers=spare_layers
        )


class OwnAgentCheck:
    """The check that the sandbox's own agent can run behind its wall."""

    async def run(self, up: BringUp) -> None:
        """Leave out an own agent that cannot. Raises `Failed` for that at the first start."""
        up.inside = await _check_own(up.inside, up.sandbox, up.client, up.report)
        agents = _spell_inside(up.inside, up.sandbox.profile.image)
        up.attachment = replace(up.attachment, agents=agents)


class AgentStart:
    """Files of agents in a sandbox's home, and the agents that go on."""

    def __init__(self, layers: Layers) -> None:
        self._layers = layers

    async def run(self, up: BringUp) -> None:
        """Write the files, then resume. Raises `Failed` for files that could not be written."""
        with up.phase("agents"):
            await self._write_config(up)
            await lay_agents(up.client, up.sandbox, up.inside.starting(up.sandbox), up.policy)
            await _resume_agents(up)

    async def _write_config(self, up: BringUp) -> None:
        """Write the config files of agents and log which ones."""
        env = dict(self._layers.env_of(up.sandbox, up.inside))
        config = await config_of(self._layers.configs, up.sandbox)
        await write_files(up.client, config)
        if up.reach.isolation.mechanism in MECHANISMS:
            for line in entry_steps(env, [file.path for file in config]):
                up.report(line)


async def _find_inside(
    layers: AgentLayers, sandbox: Sandbox, report: Callable[[str], None], *, spare_layers: bool
) -> InsideAgents:
    """Return the agents of a sandbox that starts; without `spare_layers` only its own, and those
    that need no layer. Raises what `mounts_for` raises for its own agent at its first start; later
    it starts without, and the log says so."""
    offered = await layers.list_offered()
    try:
        own = await _find_own(layers, sandbox, offered)
    except (Forbidden, Invalid) as error:
        _leave_out(sandbox, error, report)
        own = None
    left = {own.agent.name} if own else set()
    others = (
        offer
        for offer in offered
        if offer.agent.name not in left
        and takes_prompts(offer.agent)
        and admits(sandbox, offer.agent)
        and (spare_layers or not offer.mounts)
    )
    return InsideAgents(own, tuple(others))


async def _check_own(
    inside: InsideAgents, sandbox: Sandbox, client: RuntimeClient, report: Callable[[str], None]
) -> InsideAgents:
    """Return the agents of a sandbox whose wall stands: without its own where no layer brings that
    and its root lacks the program. Raises `Failed` for that at its first start."""
    own = inside.own
    if own is None or not takes_prompts(own.agent):
        return inside
    if (own.mounts and not needed_programs(own.agent)) or await is_inside(client, own.agent):
        return inside
    _leave_out(sandbox, Failed(_lack(sandbox, own), field="agent"), report)
    return replace(inside, own=None)


def _spell_inside(inside: InsideAgents, image: str) -> tuple[str, ...]:
    """Return agents that are certainly inside as `name@version`, or `name` where no version is
    known. A root of another image may lack what the program of another agent needs."""
    others = [
        other
        for other in inside.others
        if image == HOST or (other.mounts and not needed_programs(other.agent))
    ]
    agents = (*([inside.own] if inside.own else ()), *others)
    return tuple(f"{agent.agent.name}@{agent.version}".removesuffix("@") for agent in agents)


def _leave_out(sandbox: Sandbox, error: AtollError, report: Callable[[str], None]) -> None:
    """Report that a sandbox starts without its own agent. Raises the error at its first start."""
    if sandbox.generation == 1 and sandbox.ready_at is None:
        raise error
    report(f"It starts without {sandbox.agent}: {error.message.rstrip('.')}.")


def _lack(sandbox: Sandbox, own: OfferedAgent) -> str:
    agent, image = own.agent, sandbox.profile.image
    root = f"the image {image}" if image != HOST else f"a sandbox of {sandbox.profile.extension}"
    if own.mounts:
        needs = ", ".join(needed_programs(agent))
        why = f"the agent {agent.name} runs on {needs}, which {root} lacks"
        return f"{why}: choose an image that has them"
    more = f", or `atoll agent install {agent.name}`, which brings it" if agent.package else ""
    return f"{root} does not have the agent {agent.name}: choose an image that has it{more}"


async def _find_own(
    layers: AgentLayers, sandbox: Sandbox, offered: Sequence[OfferedAgent]
) -> OfferedAgent | None:
    if not sandbox.agent:
        return None
    mounts = await layers.mounts_for(sandbox.agent)
    agent, version = layers.known(sandbox.agent), split_reference(sandbox.agent)[1]
    if version is None:
        version = next((offer.version for offer in offered if offer.agent == agent), "")
    return OfferedAgent(agent, version, mounts)


async def _resume_agents(up: BringUp) -> None:
    """Open what ran before. Raises nothing: what went wrong is reported."""
    sandbox, client, report = up.sandbox, up.client, up.report
    if not sandbox.resuming or not sandbox.agents:
        return
    try:
        listing = await client.call(list_agents())
    except AtollError as error:
        report(f"No agent was resumed: {error.message}")
        return
    if listing.agents:
        # A start that was broken off had got that far.
        return
    prompt, copy = _first_prompt(sandbox), is_new_copy(sandbox)
    for running in sandbox.agents:
        if running.conversation is None and running.otherwise is ResumeFallback.NEVER:
            report(f"{running.agent} was not resumed: it cannot resume a conversation.")
            continue
        try:
            body = _order_of(running, up.screens.get(running.id), prompt, fork=copy)
            await _open_agent(client, body, running.by)
        except AtollError as error:
            report(f"{running.agent} was not resumed: {error.message}")
        else:
            up.returned.add(running.id)
            report(f"{running.agent} goes on {_where(running, copy=copy)}.")


def _first_prompt(sandbox: Sandbox) -> str | None:
    """Return the words that the agent of a copy goes on with: its task."""
    task = sandbox.task if is_new_copy(sandbox) else None
    return task.prompt if task and task.state is TaskState.WAITING else None


def _order_of(
    running: RunningAgent, screen: KeptScreen | None, prompt: str | None, *, fork: bool
) -> OpenAgentBody:
    """Return the order that resumes an agent, below what its terminal showed. With `fork` it goes
    on in a fork of its conversation."""
    body = OpenAgentBody(
        agent=running.agent,
        mode="machine" if running.mode == "machine" else "tui",
        name=running.name,
        cwd=running.cwd,
        permissions="ask" if running.asks else "allow",
        resume=running.conversation is None and running.otherwise is ResumeFallback.LAST,
        conversation=running.conversation,
        fork=fork and running.conversation is not None,
        prompt=prompt,
        softlock="strict" if running.softlock is Strictness.STRICT else "owner",
    )
    if screen is None:
        return body
    return msgspec.structs.replace(body, screen=screen, cols=screen.cols, rows=screen.rows)


async def _open_agent(client: RuntimeClient, body: OpenAgentBody, by: str | None) -> None:
    """Open an agent. Raises the runtime's refusal."""
    try:
        await client.call(open_agent(body, principal=by))
    except Invalid as error:
        if error.field != "fork":
            raise
        # A runtime of an earlier version, which refuses what it does not know.
        earlier = msgspec.structs.replace(body, fork=False)
        await client.call(open_agent(earlier, principal=by))


def _where(running: RunningAgent, *, copy: bool) -> str:
    if running.conversation is not None:
        which = "a copy of its" if copy else "its"
        return f"in {which} conversation {running.conversation}"
    last = running.otherwise is ResumeFallback.LAST
    return "in its last conversation" if last else "afresh: nothing had been said to it"
