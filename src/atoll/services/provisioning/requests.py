"""Requests to backends, and the environment that layers and the sandbox bring to them."""

from dataclasses import dataclass

from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import AgentConfigs, AgentLayers, Mount, Provision, SafetyLayers
from atoll.services.provisioning.inside_agents import InsideAgents


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


def backend_request(
    sandbox: Sandbox,
    mounts: tuple[Mount, ...],
    *,
    env: tuple[tuple[str, str], ...],
    fresh: bool,
) -> Provision:
    """Return the request for a sandbox as it is stored."""
    return Provision(
        sandbox_id=sandbox.id,
        generation=sandbox.generation,
        name=sandbox.name,
        profile=sandbox.profile,
        mounts=mounts,
        env=env,
        fresh=fresh,
        cwd=sandbox.cwd,
        host_mounts=sandbox.mounts,
        host=sandbox.host,
        region=sandbox.region,
    )
