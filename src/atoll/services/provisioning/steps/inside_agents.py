"""Agents of a sandbox in a bring-up: chosen before its wall, checked behind it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from atoll.domain.agents.agent import needed_programs, split_reference, takes_prompts
from atoll.domain.errors import AtollError, Failed, Forbidden, Invalid
from atoll.domain.sandboxes.image import HOST
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import AgentLayers, RuntimeClient
from atoll.ports.agents import OfferedAgent
from atoll.services.provisioning.bring_up import BringUp
from atoll.services.provisioning.inside_agents import InsideAgents, admits, is_inside


class AgentChoice:
    """The agents that a sandbox is to show."""

    def __init__(self, layers: AgentLayers) -> None:
        self._layers = layers

    async def run(self, up: BringUp) -> None:
        """Find the agents. Raises what their layers raise for the sandbox's own agent."""
        able = up.extension.capabilities().spare_layers
        up.inside = await find_inside(self._layers, up.sandbox, up.report, spare_layers=able)


class OwnAgentCheck:
    """The check that the sandbox's own agent can run behind its wall."""

    async def run(self, up: BringUp) -> None:
        """Leave out an own agent that cannot. Raises `Failed` for that at the first start."""
        up.inside = await check_own(up.inside, up.sandbox, up.client, up.report)
        agents = spell_inside(up.inside, up.sandbox.profile.image)
        up.attachment = replace(up.attachment, agents=agents)


async def find_inside(
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
        one
        for one in offered
        if one.agent.name not in left
        and takes_prompts(one.agent)
        and admits(sandbox, one.agent)
        and (spare_layers or not one.mounts)
    )
    return InsideAgents(own, tuple(others))


async def check_own(
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


def spell_inside(inside: InsideAgents, image: str) -> tuple[str, ...]:
    """Return agents that are certainly inside as `name@version`, or `name` where no version is
    known. A root of another image may lack what the program of another agent needs."""
    found = [
        one
        for one in inside.others
        if image == HOST or (one.mounts and not needed_programs(one.agent))
    ]
    agents = (*([inside.own] if inside.own else ()), *found)
    return tuple(f"{one.agent.name}@{one.version}".removesuffix("@") for one in agents)


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
        version = next((one.version for one in offered if one.agent == agent), "")
    return OfferedAgent(agent, version, mounts)
