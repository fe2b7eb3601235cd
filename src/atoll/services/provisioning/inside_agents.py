"""Agents inside a sandbox: every installed one that its catalogue admits, whichever starts there.

The sandbox's own agent is one of them. The others cost a create nothing and may be missing: a
backend leaves out what it cannot show.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from atoll.domain.agent.acp.added import is_added
from atoll.domain.agent.agent import (
    Agent,
    layer_path,
    needed_programs,
    split_reference,
    takes_prompts,
)
from atoll.domain.agent.registry import canonical_name
from atoll.domain.errors import AtollError, Failed, Forbidden, Invalid
from atoll.domain.sandbox.image import HOST
from atoll.domain.sandbox.sandbox import Sandbox
from atoll.ports import Mount, RuntimeClient
from atoll.ports.agents import AgentLayers, OfferedAgent
from atoll.services.scripts import Script, run_inside

OF_ONE_AGENT = frozenset({"BASH_ENV"})
"""Variables of an agent that would change other programs: only the agent's own process has them,
and a sandbox whose own agent it is."""

LOOK = Script(
    "look for an agent's program",
    """\
[ -x "$1" ] || command -v "${1##*/}" > /dev/null || exit 1
shift
for each do command -v "$each" > /dev/null || exit 1; done
""",
    seconds=20.0,
    unrecorded=True,
)
"""Words: a program by the path of its layer, and the programs that it needs."""


@dataclass(frozen=True, slots=True)
class InsideAgents:
    """Agents that a sandbox is to show, its own first where it has one."""

    own: OfferedAgent | None = None
    others: tuple[OfferedAgent, ...] = ()

    def starting(self, sandbox: Sandbox) -> tuple[Agent, ...]:
        """Return the agents that may begin with the sandbox: its own, and those that go on."""
        going = {canonical_name(one.agent) for one in sandbox.agents} if sandbox.resuming else set()
        others = (one.agent for one in self.others if one.agent.name in going)
        return (*([self.own.agent] if self.own else ()), *others)

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """Return their layers. The sandbox can do without those of the others."""
        spare = (replace(mount, spare=True) for one in self.others for mount in one.mounts)
        return (*(self.own.mounts if self.own else ()), *spare)

    @property
    def env(self) -> tuple[tuple[str, str], ...]:
        """Return the variables of all of them. Those of its own agent take precedence, and those
        that an administrator chose for an added agent are its own process's alone."""
        shared = (one.agent.env for one in self.others if not is_added(one.agent.name))
        found = {n: value for env in shared for n, value in env if n not in OF_ONE_AGENT}
        return tuple({**found, **dict(self.own.agent.env if self.own else ())}.items())


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


async def is_inside(client: RuntimeClient, agent: Agent) -> bool:
    """Report whether a sandbox has an agent's program, and those that it needs."""
    program = f"{layer_path(agent)}/bin/{agent.command}"
    return (await run_inside(client, LOOK, (program, *needed_programs(agent)))).code == 0


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


def admits(sandbox: Sandbox, agent: Agent) -> bool:
    """Report whether the sandbox's catalogue has an agent."""
    catalogue = sandbox.profile.agent_catalogue
    return catalogue is None or agent.name in catalogue


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


def inside_names(sandbox: Sandbox) -> Mapping[str, str]:
    """Return agents known to be inside, with their versions; its own where nobody looked."""
    found = sandbox.attachment.agents
    if found is None:
        found = (canonical_name(sandbox.agent),) if sandbox.agent else ()
    return dict(each.partition("@")[::2] for each in found)
