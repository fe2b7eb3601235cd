"""Agents inside a sandbox, and the layers that bring them: every installed agent that its catalogue
admits, whichever starts there.

The sandbox's own agent is one of them. The others cost a create nothing and may be missing: a
backend leaves out what it cannot show.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from atoll.domain.agents.acp.added import is_added
from atoll.domain.agents.agent import (
    Agent,
    layer_path,
    needed_programs,
)
from atoll.domain.agents.registry import canonical_name
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import AgentConfigs, AgentLayers, Mount, RuntimeClient, SafetyLayers
from atoll.ports.agents import OfferedAgent
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
        going = (
            {canonical_name(agent.agent) for agent in sandbox.agents} if sandbox.resuming else set()
        )
        others = (other.agent for other in self.others if other.agent.name in going)
        return (*([self.own.agent] if self.own else ()), *others)

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """Return their layers. The sandbox can do without those of the others."""
        spare = (replace(mount, spare=True) for other in self.others for mount in other.mounts)
        return (*(self.own.mounts if self.own else ()), *spare)

    @property
    def env(self) -> tuple[tuple[str, str], ...]:
        """Return the variables of all of them. Those of its own agent take precedence, and those
        that an administrator chose for an added agent are its own process's alone."""
        shared = (other.agent.env for other in self.others if not is_added(other.agent.name))
        variables = {n: value for env in shared for n, value in env if n not in OF_ONE_AGENT}
        return tuple({**variables, **dict(self.own.agent.env if self.own else ())}.items())


@dataclass(frozen=True, slots=True)
class Layers:
    """Read-only layers of a sandbox: agents' programs, and shims of the safety layers."""

    agents: AgentLayers
    safety: SafetyLayers | None = None
    configs: AgentConfigs | None = None

    def env_of(self, sandbox: Sandbox, inside: InsideAgents) -> tuple[tuple[str, str], ...]:
        """Return the safety layers' settings, then the agents', the profile's, and the
        caller's; the later take precedence."""
        shims = self.safety.env_for(sandbox.profile.safety) if self.safety else ()
        chosen = {
            **dict(shims),
            **dict(inside.env),
            **dict(sandbox.profile.env),
            **dict(sandbox.env),
        }
        return tuple(chosen.items())


async def is_inside(client: RuntimeClient, agent: Agent) -> bool:
    """Report whether a sandbox has an agent's program, and those that it needs."""
    program = f"{layer_path(agent)}/bin/{agent.command}"
    return (await run_inside(client, LOOK, (program, *needed_programs(agent)))).code == 0


def admits(sandbox: Sandbox, agent: Agent) -> bool:
    """Report whether the sandbox's catalogue has an agent."""
    catalogue = sandbox.profile.agent_catalogue
    return catalogue is None or agent.name in catalogue


def inside_names(sandbox: Sandbox) -> Mapping[str, str]:
    """Return agents known to be inside, with their versions; its own where nobody looked."""
    names = sandbox.attachment.agents
    if names is None:
        names = (canonical_name(sandbox.agent),) if sandbox.agent else ()
    return dict(each.partition("@")[::2] for each in names)
